"""The judge of this application with its look-up in memory, as a scheme beside the others."""

from collections.abc import Iterator, Sequence

from articles.dedup.evidence import Text
from articles.dedup.furniture import EMPTY, Furniture
from articles.dedup.index import dedupe
from articles.dedup.verdict import Item, judge
from articles.schemes.base import Article, Scheme, cleaned


class Judge(Scheme):
    name = "judge"

    def __init__(self, furniture: Furniture = EMPTY) -> None:
        self.furniture = furniture

    def prepare(self, article: Article) -> Item:
        text = Text(*cleaned(article.title, article.content), self.furniture)
        return Item(text, article.source, article.published_at)

    def folds(self, one: Item, other: Item) -> bool:
        return judge(one, other).folds

    def queues(self, one: Item, other: Item) -> bool:
        return judge(one, other).queued

    def pairs(self, articles: Sequence[Article]) -> Iterator[tuple[int, int]]:
        """Without furniture, which is learnt from a whole collection."""
        found = dedupe(article._asdict() for article in articles)
        yield from (pair for pair, verdict in found.links.items() if verdict.folds)
