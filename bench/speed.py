"""Cleaning, fingerprint and judge apart, beside the classic recipe and datasketch's MinHash, in one process.

    python bench/speed.py ARTICLES.jsonl [--count 1000] [--rounds 5]

Each step runs over the same articles again and again, the steps in turn; the fastest round of each counts, in
processor time, so that other programs on the machine disturb the ratios little.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import jieba

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from articles.dedup.clean import clean_body, clean_title
from articles.dedup.evidence import Text
from articles.dedup.fingerprint import fingerprint
from articles.dedup.verdict import Item, judge
from articles.schemes.classic import LEAD, classic_simhash
from articles.schemes.minhash import sketch

# The texts of judgements: long enough to be work, and of one length.
SHORTEST, LONGEST = 700, 1_400
TYPICAL = 1_000


class Article(NamedTuple):
    title: str
    body: str

    @property
    def whole(self) -> str:
        return f"{self.title}{self.body}"


class Step(NamedTuple):
    """`characters`: of all the text that a round reads; `items`: articles or judgements in it."""

    name: str
    run: Callable[[], object]
    items: int
    characters: int


def read(path: Path, count: int) -> list[Article]:
    """Every n-th article that has a body, so that all parts of the file are in."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rows = [row for row in rows if row["content"].strip()]
    return [Article(row["title"], row["content"]) for row in rows[:: max(1, len(rows) // count)][:count]]


def steps(raw: Sequence[Article]) -> Iterator[Step]:
    clean = [Article(clean_title(title), clean_body(body)) for title, body in raw]
    size = sum(len(article.whole) for article in raw)
    cleaned = sum(len(article.whole) for article in clean)
    yield Step("clean", lambda: [(clean_title(a.title), clean_body(a.body)) for a in raw], len(raw), size)
    yield Step("fingerprint", lambda: [fingerprint(*article) for article in clean], len(raw), cleaned)
    # The classic recipe hashes the first 200 characters alone; here also the whole text, as the sketch does.
    leads = [f"{title}{body[:LEAD]}" for title, body in clean]
    yield Step(
        "classic SimHash, lead", lambda: [classic_simhash(t) for t in leads], len(raw), sum(map(len, leads))
    )
    yield Step("classic SimHash, whole", lambda: [classic_simhash(a.whole) for a in clean], len(raw), cleaned)
    yield Step("datasketch MinHash", lambda: [sketch(a.whole) for a in clean], len(raw), cleaned)
    yield from judgements([a for a in clean if SHORTEST <= len(a.body) <= LONGEST][:200])


def judgements(articles: Sequence[Article]) -> Iterator[Step]:
    """Both texts are prepared anew each time, as if they had never been compared."""
    bodies = [(title, (body * 2)[:TYPICAL]) for title, body in articles]
    size = 2 * sum(len(title) + len(body) for title, body in bodies)
    yield Step("judge: other story", lambda: compare(bodies, bodies[1:] + bodies[:1]), len(bodies), size)
    copies = [(f"{title}（图）", body[: round(TYPICAL * 0.8)]) for title, body in bodies]
    yield Step("judge: cut copy", lambda: compare(bodies, copies), len(bodies), size)
    spun = [(title, respell(body)) for title, body in bodies]
    yield Step("judge: every sentence changed", lambda: compare(bodies, spun), len(bodies), size)


def respell(body: str) -> str:
    """A word in every sentence is another one: the dearest case, for each is searched for facts."""
    return body.replace("。", "呢。").replace("的", "之")


def compare(ours: Iterable[tuple[str, str]], theirs: Iterable[tuple[str, str]]) -> list[str]:
    pairs = zip(ours, theirs, strict=True)
    return [judge(Item(Text(*one)), Item(Text(*other))).kind for one, other in pairs]


def measure(planned: Sequence[Step], rounds: int) -> list[float]:
    """Seconds of processor time of the fastest round of each step."""
    best = [float("inf")] * len(planned)
    for _ in range(rounds):
        for place, step in enumerate(planned):
            started = time.process_time()
            step.run()
            best[place] = min(best[place], time.process_time() - started)
    return best


def print_table(planned: Sequence[Step], seconds: Sequence[float]) -> None:
    per_character = {step.name: spent / step.characters for step, spent in zip(planned, seconds, strict=True)}
    ours = per_character["fingerprint"]
    print("| step | ms each | characters each | ns a character | times our fingerprint |")
    print("| --- | --- | --- | --- | --- |")
    for step, spent in zip(planned, seconds, strict=True):
        each, cost = spent / step.items * 1000, per_character[step.name]
        times = "" if step.name.startswith("judge") else f"{cost / ours:.1f}"
        print(
            f"| {step.name} | {each:.3f} | {step.characters / step.items:.0f} | {cost * 1e9:.0f} | {times} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("articles", type=Path, help="JSON lines with title and content")
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    jieba.initialize()
    planned = list(steps(read(arguments.articles, arguments.count)))
    print_table(planned, measure(planned, arguments.rounds))


if __name__ == "__main__":
    main()
