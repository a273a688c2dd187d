"""All pairs of a small set of texts by difflib's ratio: exact, and a matter of thousands of texts.

Three upper bounds come before each ratio, the cheapest first: by length (`real_quick_ratio`), by characters
counted in buckets for many pairs at once, and by characters (`quick_ratio`). None of them loses a pair.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from articles.dedup.sequence import LENGTH, matcher, ratio
from articles.schemes.base import Article, Scheme, cleaned

THRESHOLD = 0.85
MAX_TEXTS = 5_000
MAX_PAIRS = 100_000
BUCKETS = 1_021
# So many rows of counts at a time stay in the processor's cache.
ROWS = 256

Counts = NDArray[np.uint16]


class Pair(NamedTuple):
    """Two places in the input, the lower first, and the ratio of their texts."""

    left: int
    right: int
    ratio: float


@dataclass(frozen=True, slots=True)
class Found:
    """What was found, the most alike first, and what was left out.

    Attributes:
        texts: how many were to be compared; empty ones are like nothing.
        done: how many of them were compared with all shorter ones.
        shortened: texts of which only the beginning was compared.
        full: whether it stopped because there were MAX_PAIRS.
    """

    pairs: list[Pair]
    texts: int
    done: int
    shortened: int
    full: bool

    @property
    def complete(self) -> bool:
        return self.done == self.texts and not self.shortened


def find(
    texts: Sequence[str],
    threshold: float = THRESHOLD,
    length: int = LENGTH,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda count: None,
) -> Found:
    """All pairs of texts whose ratio is at least the threshold (0.5..1), the same in every order of input.

    Args:
        length: characters of each text that are compared.
        stop: asked before each text is compared with the shorter ones; True ends the search there.
        progress: called with 1 after each text.

    >>> find(["油价年内第七次上调", "央行宣布降准", "油价迎来年内第七次上调"]).pairs
    [Pair(left=0, right=2, ratio=0.9)]
    """
    cut = [text[:length] for text in texts]
    order = sorted((place for place, text in enumerate(cut) if text), key=lambda i: (len(cut[i]), cut[i], i))
    ordered = [cut[place] for place in order]
    lengths = np.array([len(text) for text in ordered])
    counts = _counts(ordered)
    pairs: list[Pair] = []
    done = 0
    for number, text in enumerate(ordered):
        if stop() or len(pairs) > MAX_PAIRS:
            break
        shortest = threshold * len(text) / (2 - threshold)
        start = min(int(np.searchsorted(lengths, shortest - 1)), number)
        near = _candidates(counts, lengths, start, number, threshold)
        for other, value in _ratios(ordered, near, text, threshold):
            left, right = sorted((order[number], order[other]))
            pairs.append(Pair(left, right, value))
        done += 1
        progress(1)
    pairs.sort(key=lambda pair: (-pair.ratio, pair.left, pair.right))
    shortened = sum(len(text) > length for text in texts)
    return Found(pairs[:MAX_PAIRS], len(ordered), done, shortened, len(pairs) > MAX_PAIRS)


def _counts(texts: Sequence[str]) -> Counts:
    """How often the characters of each bucket occur. Two that share one only make texts more alike."""
    counts = np.zeros((len(texts), BUCKETS), np.uint16)
    for row, text in zip(counts, texts, strict=True):
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        row[:] = np.bincount(codes % BUCKETS, minlength=BUCKETS)
    return counts


def _candidates(
    counts: Counts, lengths: NDArray[Any], start: int, number: int, threshold: float
) -> Iterator[int]:
    """Of the texts from start to number, those that may reach the threshold with the text of that number."""
    own = counts[number]
    for low in range(start, number, ROWS):
        high = min(low + ROWS, number)
        shared = np.minimum(counts[low:high], own).sum(axis=1, dtype=np.int64)
        # As difflib computes it, so that what is exactly at the threshold is not lost.
        reached = 2.0 * shared / (lengths[low:high] + lengths[number]) >= threshold
        yield from (low + np.flatnonzero(reached)).tolist()


def _ratios(
    texts: Sequence[str], near: Iterator[int], second: str, threshold: float
) -> Iterator[tuple[int, float]]:
    """Those of them that reach it, in difflib's own values."""
    found = None
    for other in near:
        first = texts[other]
        if first == second:
            yield other, 1.0
            continue
        found = found or matcher(second)
        found.set_seq1(first)
        if found.quick_ratio() >= threshold and (value := float(found.ratio())) >= threshold:
            yield other, value


class SequenceRatio(Scheme):
    name = "sequence"
    most = MAX_TEXTS
    power = 2.0

    def prepare(self, article: Article) -> str:
        return "\n".join(cleaned(article.title, article.content)).strip()

    def folds(self, one: str, other: str) -> bool:
        return bool(one and other) and ratio(one, other) >= THRESHOLD

    def pairs(self, articles: Sequence[Article]) -> Iterator[tuple[int, int]]:
        yield from ((pair.left, pair.right) for pair in find(list(map(self.prepare, articles))).pairs)
