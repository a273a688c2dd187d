"""Passages that recur among unrelated stories: photo captions, menus, notices, advertisements in the body.

A passage is a sentence or a line. What makes it furniture is not how often it occurs, for a story that is
reprinted 500 times has all its sentences 500 times, but under how many headlines that have nothing in common.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from articles.dedup import tokens
from articles.dedup.clean import SENTENCE_END, skeleton, skeletons

# Letters and digits from which a passage says enough to be told from a common phrase.
SHORTEST = 8
# Unrelated stories that must have a passage.
STORIES = 5
# Headlines that share less of their weighted words, in 0..1, are of unrelated stories.
RELATED = 0.15
# Passages are measured again with each crowd. What is remembered of them must not be long (characters).
CACHED_PASSAGE = 300


@dataclass(frozen=True, slots=True)
class Furniture:
    """Hashes of passages that are no part of any story, and a version that changes with them."""

    hashes: frozenset[int] = field(default=frozenset(), compare=False)
    version: str = ""

    @classmethod
    def of(cls, hashes: Iterable[int]) -> "Furniture":
        known = frozenset(hashes)
        digest = hashlib.md5(repr(sorted(known)).encode(), usedforsecurity=False)
        return cls(known, digest.hexdigest()[:8] if known else "")

    def strip(self, body: str) -> str:
        """A cleaned body without its furniture; as it is where it has none."""
        if not self.hashes or self.hashes.isdisjoint(map(_hash, skeletons(body))):
            return body
        lines = (
            " ".join(part for part in split(line) if passage_hash(part) not in self.hashes)
            for line in body.split("\n")
        )
        return "\n".join(line for line in lines if line)


EMPTY = Furniture()


class Sample(NamedTuple):
    """A cleaned article to learn from; those of one non-empty `story` are one, whatever their titles."""

    title: str
    body: str
    story: str = ""
    source: str = ""


@dataclass(slots=True)
class Passage:
    """A recurring passage as it is written, how many articles have it, and those of unrelated stories."""

    text: str
    hash: int
    articles: int = 0
    sources: set[str] = field(default_factory=set)
    stories: list[tuple[str, Mapping[str, int]]] = field(default_factory=list)

    @property
    def is_furniture(self) -> bool:
        return len(self.stories) >= STORIES


def learn(samples: Iterable[Sample]) -> list[Passage]:
    """Passages that stand in at least five unrelated stories, the most frequent first.

    Memory grows with the passages of the samples, about 200 bytes each: 20,000 articles at a time are plenty.
    """
    bodies = [
        (sample, {passage_hash(part): part for part in split(sample.body) if _says_enough(part)})
        for sample in samples
    ]
    counts = Counter(key for _, passages in bodies for key in passages)
    found: dict[int, Passage] = {}
    for sample, passages in bodies:
        if recurring := [key for key in passages if counts[key] >= STORIES]:
            words = tokens.weighted_words(sample.title)
            for key in recurring:
                _note(found.setdefault(key, Passage(passages[key], key)), sample, words)
    furniture = [passage for passage in found.values() if passage.is_furniture]
    return sorted(furniture, key=lambda passage: (-passage.articles, passage.text))


def _note(passage: Passage, sample: Sample, words: Mapping[str, int]) -> None:
    passage.articles += 1
    passage.sources.add(sample.source)
    if words and not passage.is_furniture and not _related(sample.story, words, passage):
        passage.stories.append((sample.story, words))


def split(text: str) -> Iterator[str]:
    """The passages of a cleaned text in order."""
    return (part for part in map(str.strip, SENTENCE_END.split(text)) if part)


def passage_hash(passage: str) -> int:
    """0 .. 2**63 - 1, of letters and digits alone: a signed 64-bit column holds it."""
    return _measured(passage)[0]


def _measured(passage: str) -> tuple[int, int]:
    return (_measure_cached if len(passage) <= CACHED_PASSAGE else _measure)(passage)


def _measure(passage: str) -> tuple[int, int]:
    """Hash and length of a passage's letters and digits."""
    bare = skeleton(passage)
    return _hash(bare), len(bare)


def _hash(bare: str) -> int:
    digest = hashlib.blake2b(bare.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


_measure_cached = lru_cache(1 << 15)(_measure)


def _says_enough(passage: str) -> bool:
    return _measured(passage)[1] >= SHORTEST


def _related(story: str, words: Mapping[str, int], passage: Passage) -> bool:
    return any(
        (story and story == other_story) or _overlap(words, other) >= RELATED
        for other_story, other in passage.stories
    )


def _overlap(left: Mapping[str, int], right: Mapping[str, int]) -> float:
    shared = sum(min(weight, right[word]) for word, weight in left.items() if word in right)
    return shared / min(sum(left.values()), sum(right.values()))
