"""The frozen thresholds. A change of any value raises RULES_VERSION, and `dedup_all` judges anew."""

from dataclasses import dataclass
from datetime import timedelta

RULES_VERSION = "2"


@dataclass(frozen=True, slots=True)
class Rules:
    """What turns evidence into a verdict. Shares are in 0..1, lengths in characters without punctuation."""

    version: str = RULES_VERSION
    # Two dated articles further apart are never compared; an undated one matches any date.
    window: timedelta = timedelta(days=30)
    # What the band probes guarantee; a larger limit would promise pairs that no look-up finds.
    hamming_limit: int = 7
    # Share of the shorter text found in the longer one, below which two texts are simply different.
    floor: float = 0.5
    # A fold needs this much of the shorter text in the longer one ...
    cover: float = 0.65
    # ... and this much of the longer one in the shorter, or signs that the shorter is a cut of the longer:
    cover_longer: float = 0.7
    # texts that share half of each other and open alike,
    half: float = 0.5
    # the shorter one found in one piece,
    one_piece: float = 0.75
    one_piece_longer: float = 0.3
    # the longer one's opening kept, in whole sentences or under the same headline,
    opening: float = 0.63
    verbatim: float = 0.3
    same_title: float = 0.9
    # both openings kept and a good part of the rest.
    shared_lead: float = 0.5
    shared_lead_longer: float = 0.4
    # Under the same headline at another source a lighter cover will do.
    cover_same_title: float = 0.6
    # Series and editions of one source are alike: there the longer one must stand in the shorter, too.
    cover_one_source: float = 0.6
    # Characters that each text has for itself, with less than the share in common: two states of a story.
    own_news: int = 150
    own_news_share: float = 0.75
    # Both texts stand in each other: near-identical.
    near: float = 0.8
    # A text longer than the other by more characters than this is a collection that holds it.
    longest_cut: int = 5_000
    # Shorter texts say too little: only what stands in each other is one text, and none is an excerpt.
    short: int = 40
    shortest_excerpt: int = 60
    whole_excerpt: float = 0.9
    # Under headlines that share this much a text longer by no more than so much is a fuller account, not a
    # collection: an update.
    same_news: float = 0.4
    same_news_length: float = 0.12
    # A body that speaks of less of its headline than this is not the headline's story.
    spoken: float = 0.35
    unlike_title: float = 0.7
    # With a differing fact, texts of at least this length that stand in each other go to a person.
    same_but_fact: float = 0.85
    same_but_fact_length: int = 150
    # Numbers that differ between texts no further apart than this may be an update of one event.
    one_event: float = 0.35
    update_window: timedelta = timedelta(days=2)
    # Figures and times that one event may change between two sources; more are of two events in one form.
    moved_facts: int = 4
    # No twins: the shorter text is less than this share of the longer one, and so few facts differ.
    fuller_facts: int = 2
    twin_length: float = 0.4
    # Between unlike headlines of which both bodies speak this much, shared background belongs to one event.
    both_spoken: float = 0.45
    # Of shorter headlines without a body nothing can be said.
    shortest_title: int = 8
    # Bounds on one article's candidates: nodes of identical text, and rows read for one hash.
    candidate_limit: int = 200


DEFAULT_RULES = Rules()
