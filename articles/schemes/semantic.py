"""The semantic scheme beside the others: it suggests pairs that mean the same to a person, and folds none."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from articles.dedup.rules import DEFAULT_RULES
from articles.dedup.verdict import Item
from articles.schemes.base import Article, Scheme
from articles.schemes.judge import Judge
from articles.vectors import embedders, indexes
from articles.vectors.embedders import Embedder, Options, Vectors
from articles.vectors.scheme import NEIGHBOURS, suggestion


class Meant(NamedTuple):
    item: Item
    vector: Vectors


class Semantic(Scheme):
    """Every method raises UnavailableError where the model or a package is not there."""

    name = "semantic"
    suggests = True
    # A model takes about as long for each text, and long.
    most = 100

    def __init__(self, kind: str, threshold: float, options: Options) -> None:
        self.kind, self.threshold, self.options = kind, threshold, options
        self.judge = Judge()

    @property
    def embedder(self) -> Embedder:
        return embedders.shared(self.kind, self.options)

    def prepare(self, article: Article) -> Meant:
        return self._prepared([article])[0]

    def folds(self, one: Meant, other: Meant) -> bool:
        return False

    def queues(self, one: Meant, other: Meant) -> bool:
        cosine = float(one.vector @ other.vector)
        return suggestion(one.item, other.item, cosine, self.threshold) is not None

    def pairs(self, articles: Sequence[Article]) -> Iterator[tuple[int, int]]:
        """Of the nearest of each within the window, as the application does it."""
        if not articles:
            return
        prepared = self._prepared(articles)
        days = [one.item.published.date() if one.item.published else None for one in prepared]
        with tempfile.TemporaryDirectory(prefix="newsdedup-") as folder:
            index = indexes.make("", Path(folder), self.embedder.name, self.embedder.dimension)
            index.add(range(len(prepared)), np.stack([one.vector for one in prepared]), days)
            for place, (one, day) in enumerate(zip(prepared, days, strict=True)):
                span = indexes.span_of(day, DEFAULT_RULES.window)
                near = sorted(other for other, _ in index.nearest(one.vector, NEIGHBOURS + 1, span))
                yield from (
                    (other, place) for other in near if other < place and self.queues(prepared[other], one)
                )

    def _prepared(self, articles: Sequence[Article]) -> list[Meant]:
        items = list(map(self.judge.prepare, articles))
        texts = [embedders.passage(item.text.title, item.text.body) for item in items]
        return [Meant(*pair) for pair in zip(items, self.embedder.embed(texts), strict=True)]
