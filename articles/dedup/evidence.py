"""Two cleaned articles -> Evidence: numbers only, no judgement."""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from articles.dedup import tokens
from articles.dedup.clean import SENTENCE_END, skeleton
from articles.dedup.fingerprint import Hashes, shingle_hashes, unique
from articles.dedup.furniture import EMPTY, Furniture

GRAM = 5
# Longer texts are compared by their first characters: a bound on time, far beyond any news story.
COMPARED = 50_000
LEAD = 200
# Hashes that are looked for first.
SAMPLE = 64
# A stretch of the longer text that holds the shorter may be longer than it by one part in so many.
STRETCH = 7


class Text:
    """One cleaned article without furniture, prepared for comparison; each part is computed once.

    `only_furniture`: there was a body, and nothing of it is left.
    """

    def __init__(self, title: str, body: str, furniture: Furniture = EMPTY) -> None:
        self.title = title
        self.body = furniture.strip(body[:COMPARED])
        self.only_furniture = bool(body and not self.body)

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
    def shingles(self) -> Hashes:
        """Hashes of the body's 5-character shingles in order."""
        return shingle_hashes(self.bare_body, GRAM)

    @cached_property
    def grams(self) -> Hashes:
        """The different ones of them, ascending."""
        return unique(self.shingles)

    @cached_property
    def lead_grams(self) -> Hashes:
        return unique(self.shingles[: LEAD - GRAM + 1])

    @cached_property
    def title_words(self) -> dict[str, int]:
        return tokens.weighted_words(self.title)

    @cached_property
    def title_in_body(self) -> float:
        """Share of the headline's weighted words that the body speaks of, 0..1."""
        total = sum(self.title_words.values())
        found = sum(weight for word, weight in self.title_words.items() if word in self.bare_body)
        return found / total if total else 1.0


def prepared(title: str, body: str, furniture: Furniture = EMPTY) -> Text:
    """A Text that is kept for a while: an article is compared with one batch of newcomers after another."""
    return (_prepared if len(body) <= KEPT_BODY else Text)(title, body, furniture)


# Of longer texts a thousand would take hundreds of megabytes (characters).
KEPT_BODY = 4_000
_prepared = lru_cache(1_024)(Text)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Shares are in 0..1; lengths in characters without punctuation.

    Attributes:
        containment_*: share of this text's shingles that the other has.
        lead_*: the same of its first 200 characters.
        title_ratio, title_overlap: likeness of the headlines' letters, and of their weighted words.
        title_in_body_*, title_in_other_*: share of this headline's words in its own and the other body.
    """

    same_title: bool
    same_body: bool
    left_length: int
    right_length: int
    containment_left: float
    containment_right: float
    title_ratio: float
    lead_left: float = 0.0
    lead_right: float = 0.0
    title_overlap: float = 0.0
    title_in_other_left: float = 0.0
    title_in_other_right: float = 0.0
    title_in_body_left: float = 0.0
    title_in_body_right: float = 0.0

    @property
    def containment(self) -> float:
        """Share of the shorter text that stands in the longer one, or of the longer where that is more."""
        return max(self.containment_left, self.containment_right)

    @property
    def shares(self) -> tuple[float, float]:
        """How much of the shorter and of the longer text stands in the other."""
        if self.left_length == self.right_length:
            return self.containment, min(self.containment_left, self.containment_right)
        if self.left_length < self.right_length:
            return self.containment_left, self.containment_right
        return self.containment_right, self.containment_left

    @property
    def lead(self) -> float:
        """How much of the openings is shared, by the side that shares less."""
        return min(self.lead_left, self.lead_right)

    @property
    def shorter(self) -> int:
        return min(self.left_length, self.right_length)

    @property
    def longer(self) -> int:
        return max(self.left_length, self.right_length)

    @property
    def length_ratio(self) -> float:
        return self.shorter / self.longer if self.longer else 1.0


def shares_less(left: Text, right: Text, floor: float) -> bool:
    """Whether less than `floor` (0..1) of either body's shingles stands in the other.

    First the 64 smallest hashes of the shorter text, which are a random sample of it, are looked for: where
    half of all are shared, less than 8 of these are in one pair out of 10**10.
    """
    fewer, more = sorted((left.grams, right.grams), key=len)
    if not len(fewer):
        return floor > 0
    sample = fewer[:SAMPLE]
    if np.count_nonzero(_is_in(sample, more)) < floor * len(sample) / 4:
        return True
    return _shared(fewer, more) < floor * len(fewer)


def gather(left: Text, right: Text, floor: float = 0.0) -> Evidence:
    """What the judge looks at. Swapping the texts swaps left and right and changes nothing else.

    Where less than `floor` of either text stands in the other, what the bodies say of the headlines is not
    looked into: nearly all candidates end here.
    """
    shared = _shared(left.grams, right.grams)
    containment_left, containment_right = _share(shared, left.grams), _share(shared, right.grams)
    beginning = Evidence(
        same_title=left.bare_title == right.bare_title,
        same_body=left.bare_body == right.bare_body,
        left_length=len(left.bare_body),
        right_length=len(right.bare_body),
        containment_left=containment_left,
        containment_right=containment_right,
        title_ratio=fuzz.ratio(left.bare_title, right.bare_title) / 100,
    )
    return beginning if beginning.containment < floor else _whole(beginning, left, right)


def _whole(beginning: Evidence, left: Text, right: Text) -> Evidence:
    return replace(
        beginning,
        lead_left=_share(_shared(left.lead_grams, right.grams), left.lead_grams),
        lead_right=_share(_shared(right.lead_grams, left.grams), right.lead_grams),
        title_overlap=_word_overlap(left.title_words, right.title_words),
        title_in_other_left=_spoken_of(left.title_words, right.bare_body),
        title_in_other_right=_spoken_of(right.title_words, left.bare_body),
        title_in_body_left=left.title_in_body,
        title_in_body_right=right.title_in_body,
    )


@dataclass(frozen=True, slots=True)
class Placement:
    """How the shorter text stands in the longer one, in shares of 0..1.

    Attributes:
        opening: of the longer text's opening, as long as the shorter text, what the shorter has.
        densest: the same of the stretch of the longer text that has most of the shorter.
        verbatim: of the shorter text, what the longer has word for word in whole sentences.
    """

    opening: float = 0.0
    densest: float = 0.0
    verbatim: float = 0.0


def place(left: Text, right: Text) -> Placement:
    """As dear as all the evidence, so only for those that may be one text; the same for swapped sides."""
    shorter, longer = sorted((left, right), key=lambda text: (len(text.bare_body), text.bare_body))
    if not len(shorter.shingles):
        return Placement()
    found = np.concatenate(([0], np.cumsum(_is_in(longer.shingles, shorter.grams))))
    length = len(shorter.shingles)
    window = min(length + length // STRETCH, len(longer.shingles))
    densest = float((found[window:] - found[:-window]).max()) / window
    kept = sum(len(bare) for bare in shorter.sentences if bare in longer.sentences)
    return Placement(float(found[length]) / length, densest, kept / max(1, sum(map(len, shorter.sentences))))


def _is_in(hashes: Hashes, known: Hashes) -> NDArray[np.bool_]:
    """Which of the hashes are among the known ones, which are ascending."""
    return known.take(known.searchsorted(hashes), mode="clip") == hashes


def _shared(left: Hashes, right: Hashes) -> int:
    """How many hashes two ascending sets have in common; the fewer are looked up among the more."""
    if len(left) > len(right):
        left, right = right, left
    if not len(left) or not len(right):
        return 0
    return int(np.count_nonzero(_is_in(left, right)))


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
