"""Two cleaned articles -> Evidence: numbers only, no judgement."""

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from rapidfuzz import fuzz

from articles.dedup import tokens
from articles.dedup.clean import skeleton
from articles.dedup.fingerprint import Hashes, shingle_hashes

GRAM = 5
SENTENCE_END = re.compile(r"(?<=[。!?;])(?=[^”’」』)\]])|\n")
# Longer texts are compared by their first characters: a bound on time, far beyond any news story.
COMPARED = 50_000
LEAD = 200


class Text:
    """One cleaned article, prepared for comparison; each part is computed once, when first asked for."""

    def __init__(self, title: str, body: str) -> None:
        self.title = title
        self.body = body[:COMPARED]

    @cached_property
    def bare_title(self) -> str:
        return skeleton(self.title)

    @cached_property
    def bare_body(self) -> str:
        return skeleton(self.body)

    @cached_property
    def bare(self) -> str:
        return f"{self.bare_title}\n{self.bare_body}"

    @cached_property
    def sentences(self) -> dict[str, str]:
        """The body's different sentences in order: letters and digits alone -> as written."""
        parts = (part.strip() for part in SENTENCE_END.split(self.body))
        return {bare: part for part in parts if part and (bare := skeleton(part))}

    @cached_property
    def grams(self) -> Hashes:
        """Ascending hashes of the body's different 5-character shingles."""
        return np.unique(shingle_hashes(self.bare_body, GRAM))

    @cached_property
    def lead_grams(self) -> Hashes:
        return np.unique(shingle_hashes(self.bare_body[:LEAD], GRAM))

    @cached_property
    def title_words(self) -> dict[str, int]:
        return tokens.weighted_words(self.title)

    @cached_property
    def title_in_body(self) -> float:
        """Share of the headline's weighted words that the body speaks of, 0..1."""
        total = sum(self.title_words.values())
        found = sum(weight for word, weight in self.title_words.items() if word in self.bare_body)
        return found / total if total else 1.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """Shares are in 0..1; lengths in characters without punctuation."""

    same_title: bool
    same_body: bool
    left_length: int
    right_length: int
    containment_left: float
    containment_right: float
    lead_left: float
    lead_right: float
    title_ratio: float
    title_overlap: float
    title_in_other_left: float
    title_in_other_right: float
    title_in_body_left: float
    title_in_body_right: float

    @property
    def containment(self) -> float:
        """Share of the shorter text that stands in the longer one."""
        return max(self.containment_left, self.containment_right)

    @property
    def length_ratio(self) -> float:
        longer = max(self.left_length, self.right_length)
        return min(self.left_length, self.right_length) / longer if longer else 1.0


def gather(left: Text, right: Text) -> Evidence:
    """What the judge looks at. Swapping the texts swaps left and right and changes nothing else."""
    shared = _shared(left.grams, right.grams)
    return Evidence(
        same_title=left.bare_title == right.bare_title,
        same_body=left.bare_body == right.bare_body,
        left_length=len(left.bare_body),
        right_length=len(right.bare_body),
        containment_left=_share(shared, left.grams),
        containment_right=_share(shared, right.grams),
        lead_left=_share(_shared(left.lead_grams, right.grams), left.lead_grams),
        lead_right=_share(_shared(right.lead_grams, left.grams), right.lead_grams),
        title_ratio=fuzz.ratio(left.bare_title, right.bare_title) / 100,
        title_overlap=_word_overlap(left.title_words, right.title_words),
        title_in_other_left=_spoken_of(left.title_words, right.bare_body),
        title_in_other_right=_spoken_of(right.title_words, left.bare_body),
        title_in_body_left=left.title_in_body,
        title_in_body_right=right.title_in_body,
    )


def _shared(left: Hashes, right: Hashes) -> int:
    if not len(left) or not len(right):
        return 0
    places = np.searchsorted(right, left)
    places[places == len(right)] = 0
    return int(np.count_nonzero(right[places] == left))


def _share(shared: int, grams: Hashes) -> float:
    return shared / len(grams) if len(grams) else 0.0


def _word_overlap(left: dict[str, int], right: dict[str, int]) -> float:
    """Weighted share of the words of the shorter headline that the other has too."""
    if not left or not right:
        return 0.0
    shared = sum(min(weight, right[word]) for word, weight in left.items() if word in right)
    return shared / min(sum(left.values()), sum(right.values()))


def _spoken_of(words: dict[str, int], bare_body: str) -> float:
    total = sum(words.values())
    return sum(weight for word, weight in words.items() if word in bare_body) / total if total else 1.0
