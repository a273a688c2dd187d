"""The classic recipe, written from its description: MD5 of the headline, or unweighted SimHash at distance 4.

Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002; Manku, Jain and Das Sarma,
"Detecting Near-Duplicates for Web Crawling", WWW 2007.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import jieba

from articles.schemes.base import Article, Scheme, cleaned

LEAD = 200
DISTANCE = 4
SPACE = re.compile(r"\s+")

Print = tuple[str, int]


def classic_simhash(text: str) -> int:
    """jieba's words, unweighted; each votes with the 64 lowest bits of its MD5."""
    votes = [0] * 64
    for word in jieba.lcut(text):
        digest = int(hashlib.md5(word.encode("utf-8", "replace"), usedforsecurity=False).hexdigest(), 16)
        for bit in range(64):
            votes[bit] += 1 if digest >> bit & 1 else -1
    return sum(1 << bit for bit in range(64) if votes[bit] > 0)


class Classic(Scheme):
    name = "classic simhash"

    def prepare(self, article: Article) -> Print:
        """MD5 of the headline and SimHash of an article that is cleaned as this application does it."""
        title, body = (SPACE.sub("", part) for part in cleaned(article.title, article.content))
        md5 = hashlib.md5(title.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
        return md5, classic_simhash(title + body[:LEAD])

    def folds(self, one: Print, other: Print) -> bool:
        return one[0] == other[0] or (one[1] ^ other[1]).bit_count() <= DISTANCE

    def pairs(self, articles: Sequence[Article]) -> Iterator[tuple[int, int]]:
        """Same MD5 of the headline, or one of four bands in common and a distance of at most 4."""
        hashes: list[int] = []
        seen: dict[str, int] = {}
        bands: dict[tuple[int, int], list[int]] = defaultdict(list)
        for place, article in enumerate(articles):
            md5, simhash = self.prepare(article)
            hashes.append(simhash)
            found = {seen.setdefault(md5, place)} - {place}
            for number in range(4):
                band = bands[number, simhash >> 16 * number & 0xFFFF]
                found.update(other for other in band if (simhash ^ hashes[other]).bit_count() <= DISTANCE)
                band.append(place)
            yield from ((other, place) for other in sorted(found))
