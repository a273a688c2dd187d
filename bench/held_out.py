"""Choose the main thresholds, and fit the score, on all corpora but one; print what the one left out gets.

    python bench/held_out.py --articles A.jsonl B.jsonl C.jsonl --pairs pairs.tsv

A pair's corpus is what stands before the first dash of its ids. The search begins in the middle of every
range, so that the thresholds of rules.py, chosen with all corpora in sight, have no part in it.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median_low
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from articles.dedup.rules import DEFAULT_RULES, Rules
from articles.dedup.scoring import FEATURES, Example, fit, likelihood
from articles.dedup.verdict import Item
from bench.pairs import NOT_DUPLICATE, Judged, figures, judge_pairs, read_items, read_pairs

# Threshold -> first and last value tried, in steps of STEP.
RANGES = {
    "floor": (0.3, 0.7),
    "cover": (0.5, 0.9),
    "cover_longer": (0.5, 0.9),
    "cover_one_source": (0.4, 0.9),
    "one_piece": (0.5, 0.9),
    "opening": (0.4, 0.9),
    "verbatim": (0.1, 0.7),
    "shared_lead": (0.3, 0.9),
    "own_news_share": (0.5, 0.9),
    "spoken": (0.1, 0.7),
}
STEP = 0.05
ROUNDS = 3
# Updates and excerpts folded up to this share cost nothing; each one more counts as a wrong fold.
SPARED = 0.1
Pair = dict[str, str]


def values(name: str) -> list[float]:
    first, last = RANGES[name]
    return [round(first + STEP * step, 2) for step in range(round((last - first) / STEP) + 1)]


def corpus(pair: Pair) -> str:
    return pair["a"].partition("-")[0]


def worth(pairs: list[Pair], items: dict[str, Item], rules: Rules) -> tuple[float, ...]:
    """Few wrong folds first, then many right ones, then few others queued."""
    total: Counter[str] = Counter()
    folded: Counter[str] = Counter()
    queued: Counter[str] = Counter()
    for pair, verdict in judge_pairs(pairs, items, rules):
        total[pair["label"]] += 1
        folded[pair["label"]] += verdict.folds
        queued[pair["label"]] += verdict.queued
    beyond = sum(max(0.0, folded[label] - SPARED * total[label]) for label in "UE")
    wrong = sum(folded[label] for label in NOT_DUPLICATE) + beyond
    return -wrong, folded["D"], -sum(queued[label] for label in NOT_DUPLICATE)


def choose(pairs: list[Pair], items: dict[str, Item]) -> Rules:
    """Coordinate search: one threshold after another, until a round changes none."""
    rules = replace(DEFAULT_RULES, **{name: median_low(values(name)) for name in RANGES})
    for _ in range(ROUNDS):
        before = rules
        for name in RANGES:
            tried = {value: replace(rules, **{name: value}) for value in values(name)}
            worths = {value: worth(pairs, items, one) for value, one in tried.items()}
            best = max(worths.values())
            # Of equally good values the middle one: the edge of a plateau fits these pairs alone.
            rules = tried[median_low(value for value, found in worths.items() if found == best)]
        if rules == before:
            break
    return rules


def examples(judged: list[Judged]) -> list[Example]:
    """What the score is fitted to, as `manage.py fit_judge` takes it."""
    return [
        Example(verdict.kind, verdict.evidence, pair["label"] == "D")
        for pair, verdict in judged
        if verdict.kind != "exact" and verdict.evidence.containment >= DEFAULT_RULES.floor
    ]


def squared_error(seen: list[Judged], unseen: list[Judged]) -> float:
    """Mean squared error (Brier score) on unseen pairs of a score that was fitted to seen ones."""
    fitted = fit(examples(seen))["weights"]
    weights = [fitted[name] for name in FEATURES]
    return fmean(
        (likelihood(one.kind, one.evidence, weights) - one.duplicate) ** 2 for one in examples(unseen)
    )


def row(cells: Sequence[Any]) -> str:
    return f"| {' | '.join(f'{cell:.3f}' if isinstance(cell, float) else str(cell) for cell in cells)} |"


def print_thresholds(pairs: list[Pair], items: dict[str, Item], corpora: list[str]) -> None:
    """What each corpus gets by thresholds chosen without it, and the thresholds."""
    print("\n" + row(["left out", "precision", "recall", "caught", "others queued", "U folded", "E folded"]))
    chosen = {}
    unseen: list[Judged] = []
    for name in corpora:
        chosen[name] = choose([pair for pair in pairs if corpus(pair) != name], items)
        judged = judge_pairs([pair for pair in pairs if corpus(pair) == name], items, chosen[name])
        print(figures_row(name, judged), flush=True)
        unseen += judged
    print(figures_row("each, together", unseen))
    chosen["none"] = choose(pairs, items)
    print(figures_row("none", judge_pairs(pairs, items, chosen["none"])))
    print(figures_row("none, by rules.py", judge_pairs(pairs, items)))
    print("\n" + row(["threshold", "rules.py", *(f"{name} left out" for name in chosen)]))
    for name in RANGES:
        print(row([name, getattr(DEFAULT_RULES, name), *(getattr(rules, name) for rules in chosen.values())]))


def print_scores(judged: list[Judged], corpora: list[str]) -> None:
    """How far off a score is that was fitted without the corpus."""
    print(row(["left out", "mean squared error of the score"]))
    for name in corpora:
        seen = [one for one in judged if corpus(one[0]) != name]
        unseen = [one for one in judged if corpus(one[0]) == name]
        print(row([name, squared_error(seen, unseen)]))
    print(row(["none", squared_error(judged, judged)]))


def figures_row(name: str, judged: list[Judged]) -> str:
    folded = Counter(pair["label"] for pair, verdict in judged if verdict.folds)
    total = Counter(pair["label"] for pair, _ in judged)
    return row([name, *figures(judged).values(), *(f"{folded[label]} of {total[label]}" for label in "UE")])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--articles", nargs="+", required=True)
    parser.add_argument("--pairs", required=True)
    arguments = parser.parse_args()
    pairs = read_pairs(arguments.pairs, sure_only=True)
    items = read_items(arguments.articles, {pair[side] for pair in pairs for side in "ab"})
    pairs = [pair for pair in pairs if pair["a"] in items and pair["b"] in items]
    corpora = sorted({corpus(pair) for pair in pairs})
    print_scores(judge_pairs(pairs, items), corpora)
    print_thresholds(pairs, items, corpora)


if __name__ == "__main__":
    main()
