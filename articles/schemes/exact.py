"""MD5 alone: two articles are one if nothing but punctuation, width, script or markup differs."""

from collections.abc import Iterator, Sequence

from articles.dedup.clean import skeleton
from articles.dedup.fingerprint import md5
from articles.schemes.base import Article, Scheme, cleaned


class Exact(Scheme):
    name = "md5"

    def prepare(self, article: Article) -> str:
        return md5("\n".join(map(skeleton, cleaned(article.title, article.content))))

    def folds(self, one: str, other: str) -> bool:
        return one == other

    def pairs(self, articles: Sequence[Article]) -> Iterator[tuple[int, int]]:
        seen: dict[str, int] = {}
        for place, article in enumerate(articles):
            first = seen.setdefault(self.prepare(article), place)
            if first != place:
                yield first, place
