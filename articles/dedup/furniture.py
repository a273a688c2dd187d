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
# Passages in force are looked at with each batch. What is remembered of them must not be long (characters).
CACHED_PASSAGE = 300


@dataclass(frozen=True, slots=True)
class Furniture:
    """Passages that are no part of any story, by letters and digits; a version that changes with them."""

    passages: frozenset[str] = field(default=frozenset(), compare=False)
    version: str = ""

    @classmethod
    def of(cls, passages: Iterable[str]) -> "Furniture":
        return cls._of_bare(frozenset(filter(None, map(_bare, passages))))

    @classmethod
    def _of_bare(cls, passages: frozenset[str]) -> "Furniture":
        digest = hashlib.md5("\n".join(sorted(passages)).encode("utf-8", "replace"), usedforsecurity=False)
        return cls(passages, digest.hexdigest()[:8] if passages else "")

    def __or__(self, other: "Furniture") -> "Furniture":
        return self._of_bare(self.passages | other.passages)

    def strip(self, body: str) -> str:
        """A cleaned body without its furniture; as it is where it has none."""
        if not self.passages or self.passages.isdisjoint(skeletons(body)):
            return body
        lines = (
            " ".join(part for part in split(line) if skeleton(part) not in self.passages)
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
    """A recurring passage, the first that has it, how many do, and those of unrelated stories."""

    bare: str
    first: Sample
    articles: int = 0
    sources: set[str] = field(default_factory=set)
    stories: list[tuple[str, Mapping[str, int]]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The passage as it is written."""
        return next((part for part in split(self.first.body) if skeleton(part) == self.bare), self.bare)

    @property
    def hash(self) -> int:
        """0 .. 2**63 - 1, of letters and digits alone: a signed 64-bit column holds it."""
        digest = hashlib.blake2b(self.bare.encode("utf-8", "replace"), digest_size=8).digest()
        return int.from_bytes(digest, "big") >> 1

    @property
    def is_furniture(self) -> bool:
        return len(self.stories) >= STORIES


def learn(samples: Iterable[Sample]) -> list[Passage]:
    """Passages that stand in at least five unrelated stories, the most frequent first.

    Memory grows with the passages of the samples, about 300 bytes each: 20,000 articles at a time are plenty.
    """
    bodies = [(sample, _long_enough(sample.body)) for sample in samples]
    counts = Counter(bare for _, passages in bodies for bare in passages)
    found: dict[str, Passage] = {}
    for sample, passages in bodies:
        if recurring := [bare for bare in passages if counts[bare] >= STORIES]:
            words = tokens.weighted_words(sample.title)
            for bare in recurring:
                _note(found.setdefault(bare, Passage(bare, sample)), sample, words)
    furniture = [passage for passage in found.values() if passage.is_furniture]
    return sorted(furniture, key=lambda passage: (-passage.articles, passage.bare))


def _long_enough(body: str) -> list[str]:
    """The letters and digits of the different passages that say enough, in order."""
    return list(dict.fromkeys(bare for bare in skeletons(body) if len(bare) >= SHORTEST))


def _note(passage: Passage, sample: Sample, words: Mapping[str, int]) -> None:
    passage.articles += 1
    passage.sources.add(sample.source)
    if words and not passage.is_furniture and not _related(sample.story, words, passage):
        passage.stories.append((sample.story, words))


def split(text: str) -> Iterator[str]:
    """The passages of a cleaned text in order."""
    return (part for part in map(str.strip, SENTENCE_END.split(text)) if part)


def _bare(passage: str) -> str:
    return (_bare_cached if len(passage) <= CACHED_PASSAGE else skeleton)(passage)


_bare_cached = lru_cache(1 << 15)(skeleton)


def _related(story: str, words: Mapping[str, int], passage: Passage) -> bool:
    return any(
        (story and story == other_story) or _overlap(words, other) >= RELATED
        for other_story, other in passage.stories
    )


def _overlap(left: Mapping[str, int], right: Mapping[str, int]) -> float:
    shared = sum(min(weight, right[word]) for word, weight in left.items() if word in right)
    return shared / min(sum(left.values()), sum(right.values()))
