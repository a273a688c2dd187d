"""MinHash LSH by datasketch: 5-character shingles, 128 permutations, estimated Jaccard of 0.5 or more.

Broder, "On the Resemblance and Containment of Documents", SEQUENCES 1997.
"""

import re
from collections.abc import Iterator, Sequence

from datasketch import MinHash, MinHashLSH

from articles.schemes.base import Article, Scheme

PERMUTATIONS = 128
GRAM = 5
JACCARD = 0.5
SPACE = re.compile(r"\s+")


def sketch(text: str) -> MinHash:
    """Of the text without white space."""
    text = SPACE.sub("", text)
    found = MinHash(num_perm=PERMUTATIONS)
    found.update_batch(
        [text[i : i + GRAM].encode("utf-8", "replace") for i in range(max(1, len(text) - GRAM + 1))]
    )
    return found


class MinHashLsh(Scheme):
    name = "minhash lsh"

    def prepare(self, article: Article) -> MinHash:
        return sketch(article.title + article.content)

    def folds(self, one: MinHash, other: MinHash) -> bool:
        return one.jaccard(other) >= JACCARD

    def pairs(self, articles: Sequence[Article]) -> Iterator[tuple[int, int]]:
        index = MinHashLSH(threshold=JACCARD, num_perm=PERMUTATIONS)
        sketches: list[MinHash] = []
        for place, article in enumerate(articles):
            sketches.append(self.prepare(article))
            for other in sorted(index.query(sketches[place])):
                if self.folds(sketches[place], sketches[other]):
                    yield other, place
            index.insert(place, sketches[place])
