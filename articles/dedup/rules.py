"""The frozen thresholds. A change of any value raises RULES_VERSION, and `dedup_all` judges anew."""

from dataclasses import dataclass
from datetime import timedelta

RULES_VERSION = "1"


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
    # The shorter text stands in the longer one; and the longer one is not much more than that ...
    cover: float = 0.65
    cover_longer: float = 0.5
    # ... or at least opens in the same way.
    shared_lead: float = 0.5
    # Both texts stand in each other: near-identical.
    near: float = 0.8
    # Bounds on one article's candidates: nodes of identical text, and rows read for one hash.
    candidate_limit: int = 200


DEFAULT_RULES = Rules()
