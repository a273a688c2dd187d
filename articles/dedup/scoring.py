"""Evidence and kind -> likelihood in 0..1 that two articles are one: a logistic regression over few numbers.

The kind is decided by rules; what is fitted only says how sure it is. The weights and the figures of their
training stand in weights.json, written by `fit` from labelled pairs.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from math import exp
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from articles.dedup.evidence import Evidence
from articles.dedup.rules import RULES_VERSION

WEIGHTS = Path(__file__).with_name("weights.json")
KINDS = ("near", "rewrite", "excerpt", "update", "template", "furniture", "suspect", "distinct")
SHARES = ("longer_share", "title_ratio")
FEATURES = KINDS + SHARES
RIDGE = 0.5
STEPS = 50
BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


class Example(NamedTuple):
    """A labelled pair; `weight` 0..1 says how sure its label is."""

    kind: str
    evidence: Evidence
    duplicate: bool
    weight: float = 1.0


def features(kind: str, evidence: Evidence) -> list[float]:
    shares = [evidence.shares[1], evidence.title_ratio]
    return [float(kind == one) for one in KINDS] + shares


def likelihood(kind: str, evidence: Evidence, weights: Sequence[float] | None = None) -> float:
    """0..1, to four places; `weights` in the order of FEATURES, without them those of weights.json."""
    values = features(kind, evidence)
    total = sum(weight * value for weight, value in zip(weights or _weights(), values, strict=True))
    return round(1 / (1 + exp(-total)), 4)


@cache
def _weights() -> list[float]:
    stored = json.loads(WEIGHTS.read_text(encoding="utf-8"))["weights"]
    return [stored[name] for name in FEATURES]


def fit(examples: Iterable[Example]) -> dict[str, Any]:
    """Weights for weights.json, with the training's figures and rules; Newton's method with a ridge.

    Raises:
        ValueError: there are no duplicates or nothing else among the examples.
    """
    examples = list(examples)
    truth = np.array([example.duplicate for example in examples], float)
    if not 0 < truth.sum() < len(truth):
        raise ValueError("examples of duplicates and of others are both needed")
    values = np.array([features(example.kind, example.evidence) for example in examples])
    sure = np.array([example.weight for example in examples])
    weights = np.zeros(len(FEATURES))
    for _ in range(STEPS):
        guess = 1 / (1 + np.exp(-values @ weights))
        gradient = values.T @ (sure * (guess - truth)) + RIDGE * weights
        curvature = (values.T * (sure * guess * (1 - guess))) @ values + RIDGE * np.eye(len(weights))
        weights -= np.linalg.solve(curvature, gradient)
    guess = 1 / (1 + np.exp(-values @ weights))
    return {
        "rules": RULES_VERSION,
        "weights": {name: round(float(weight), 4) for name, weight in zip(FEATURES, weights, strict=True)},
        "pairs": len(examples),
        "duplicates": int(truth.sum()),
        "brier": round(float(np.average((guess - truth) ** 2, weights=sure)), 4),
        "calibration": calibration(guess.tolist(), [example.duplicate for example in examples]),
    }


def calibration(scores: Sequence[float], duplicate: Sequence[bool]) -> list[dict[str, float]]:
    """How many of the pairs with a score between two bounds are duplicates."""
    table = []
    for low, high in pairwise(BINS):
        inside = [
            is_one
            for score, is_one in zip(scores, duplicate, strict=True)
            if low <= score < high or score == high == 1
        ]
        if inside:
            share = round(sum(inside) / len(inside), 3)
            table.append({"from": low, "to": high, "pairs": len(inside), "duplicates": share})
    return table
