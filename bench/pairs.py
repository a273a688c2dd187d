"""Judge labelled pairs of articles one by one and print what the judge made of each label.

    python bench/pairs.py --articles events.jsonl wires.jsonl --pairs pairs.tsv [--errors] [--all]

Articles: JSONL with external_id, title, content, source, published_at.
Pairs: TSV with a, b, label, confidence, reason.
Labels: D duplicate, U update, E excerpt, S same event, T template twins, B furniture, N other story.
"""

import argparse
import csv
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from articles.dedup.clean import clean_body, clean_title
from articles.dedup.evidence import Text
from articles.dedup.rules import DEFAULT_RULES, Rules
from articles.dedup.verdict import FOLDING, KINDS, QUEUED, Item, Verdict, judge
from articles.schemes.base import Article
from articles.schemes.classic import Classic
from articles.schemes.minhash import MinHashLsh

NOT_DUPLICATE = "TBN"
Judged = tuple[dict[str, str], Verdict]


def read_pairs(path: str, sure_only: bool) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    return [row for row in rows if not sure_only or row["confidence"] == "sure"]


def read_items(paths: Iterable[str], wanted: set[str]) -> dict[str, Item]:
    items = {}
    for path in paths:
        with Path(path).open(encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                if row["external_id"] in wanted:
                    items[row["external_id"]] = item(row)
    return items


def item(row: dict[str, str]) -> Item:
    published = datetime.fromisoformat(row["published_at"]) if row.get("published_at") else None
    return Item(
        Text(clean_title(row["title"]), clean_body(row["content"])), row.get("source") or "", published
    )


def judge_pairs(
    pairs: list[dict[str, str]], items: dict[str, Item], rules: Rules = DEFAULT_RULES
) -> list[Judged]:
    return [(pair, judge(items[pair["a"]], items[pair["b"]], rules)) for pair in pairs]


def figures(judged: list[Judged]) -> dict[str, float]:
    """Precision and recall of folding, share of duplicates folded or queued, of others queued."""
    folded: Counter[str] = Counter()
    queued: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for pair, verdict in judged:
        total[pair["label"]] += 1
        folded[pair["label"]] += verdict.folds
        queued[pair["label"]] += verdict.queued
    right, wrong = folded["D"], sum(folded[label] for label in NOT_DUPLICATE)
    others = sum(total[label] for label in NOT_DUPLICATE)
    return {
        "precision": right / (right + wrong) if right + wrong else 0.0,
        "recall": right / total["D"] if total["D"] else 0.0,
        "caught": (right + queued["D"]) / total["D"] if total["D"] else 0.0,
        "others_queued": sum(queued[label] for label in NOT_DUPLICATE) / others if others else 0.0,
    }


def print_peers(pairs: list[dict[str, str]], items: dict[str, Item]) -> None:
    """What the usual recipe and MinHash fold of the same pairs: neither queues anything."""
    texts = {key: items[key].text for pair in pairs for key in (pair["a"], pair["b"])}
    classic, minhash = Classic(), MinHashLsh()
    articles = {key: Article(key, text.title, text.body) for key, text in texts.items()}
    prints = {key: classic.prepare(article) for key, article in articles.items()}
    sketches = {key: minhash.prepare(article) for key, article in articles.items()}
    deciders = {
        "classic SimHash": lambda a, b: classic.folds(prints[a], prints[b]),
        "MinHash": lambda a, b: minhash.folds(sketches[a], sketches[b]),
    }
    for name, folds in deciders.items():
        folded: Counter[str] = Counter(pair["label"] for pair in pairs if folds(pair["a"], pair["b"]))
        total = Counter(pair["label"] for pair in pairs)
        wrong = sum(folded[label] for label in NOT_DUPLICATE)
        precision = folded["D"] / max(1, folded["D"] + wrong)
        print(f"\n{name}: precision {precision:.3f}  recall {folded['D'] / max(1, total['D']):.3f}")
        print("  folded: " + "  ".join(f"{label} {folded[label]}/{total[label]}" for label in "DUESTBN"))


def print_table(name: str, judged: list[Judged]) -> None:
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for pair, verdict in judged:
        kinds[pair["label"]][verdict.kind] += 1
    print(f"\n{name}: " + "  ".join(f"{key} {value:.3f}" for key, value in figures(judged).items()))
    for label in "DUESTBN":
        counts = kinds[label]
        row = [
            sum(counts.values()),
            sum(counts[kind] for kind in FOLDING),
            sum(counts[kind] for kind in QUEUED),
        ]
        print(f"  {label}  n {row[0]:4}  folded {row[1]:4}  queued {row[2]:4}  {dict(counts.most_common())}")


def print_confusion(judged: list[Judged]) -> None:
    """Labels by kinds, as a table for a document."""
    counts = Counter((pair["label"], verdict.kind) for pair, verdict in judged)
    print("\n| label | pairs |", " | ".join(KINDS), "|")
    print("| --- | --- |", " | ".join(["---"] * len(KINDS)), "|")
    for label in "DUESTBN":
        row = [counts[label, kind] for kind in KINDS]
        print(f"| {label} | {sum(row)} |", " | ".join(str(count or "") for count in row), "|")


def is_error(pair: dict[str, str], verdict: Verdict) -> bool:
    label = pair["label"]
    if label == "D":
        return not verdict.folds
    return verdict.folds or (verdict.queued and label in NOT_DUPLICATE)


def print_error(pair: dict[str, str], verdict: Verdict, items: dict[str, Item]) -> None:
    evidence = verdict.evidence
    print(
        f"{pair['a']} {pair['b']} {pair['label']} -> {verdict.kind} {verdict.score:.2f} "
        f"c {evidence.containment_left:.2f}/{evidence.containment_right:.2f} "
        f"len {evidence.left_length}/{evidence.right_length} "
        f"lead {evidence.lead_left:.2f}/{evidence.lead_right:.2f} "
        f"t {evidence.title_ratio:.2f}/{evidence.title_overlap:.2f} {pair['reason']} | "
        f"{items[pair['a']].text.title} || {items[pair['b']].text.title} "
        + str([(r["code"], r["left"], r["right"]) for r in verdict.reasons if "differs" in r["code"]])
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--articles", nargs="+", required=True)
    parser.add_argument("--pairs", required=True)
    parser.add_argument("--all", action="store_true", help="unsure pairs too")
    parser.add_argument("--peers", action="store_true", help="the usual recipe and MinHash as well")
    parser.add_argument("--errors", action="store_true", help="print each wrong pair")
    arguments = parser.parse_args()
    pairs = read_pairs(arguments.pairs, not arguments.all)
    items = read_items(arguments.articles, {pair[side] for pair in pairs for side in "ab"})
    judged = judge_pairs([pair for pair in pairs if pair["a"] in items and pair["b"] in items], items)
    print_table("all", judged)
    corpora = sorted({pair["a"].partition("-")[0] for pair, _ in judged})
    for name in corpora if len(corpora) > 1 else []:
        print_table(name, [(pair, verdict) for pair, verdict in judged if pair["a"].startswith(name)])
    print_confusion(judged)
    if arguments.peers:
        print_peers([pair for pair, _ in judged], items)
    if arguments.errors:
        for pair, verdict in judged:
            if is_error(pair, verdict):
                print_error(pair, verdict, items)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        os.close(sys.stderr.fileno())
