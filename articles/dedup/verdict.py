"""Evidence + facts + Rules -> Verdict(kind, score, reasons). Symmetric; knows no clock and no database."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from articles.dedup.evidence import Evidence, Text, gather
from articles.dedup.facts import Difference, differences
from articles.dedup.rules import DEFAULT_RULES, Rules

Reason = dict[str, Any]

FOLDING = frozenset({"exact", "near", "rewrite"})
# What only a person can settle; template and furniture are kept apart by the machine alone.
QUEUED = frozenset({"excerpt", "update", "suspect"})
APART = frozenset({"update", "template", "furniture", "suspect"})
KINDS = ("exact", "near", "rewrite", "excerpt", "update", "template", "furniture", "suspect", "distinct")


@dataclass(frozen=True, slots=True)
class Verdict:
    """kind: one of KINDS; score: likelihood in 0..1 that both are one article; reasons: codes with parameters."""

    kind: str
    score: float
    reasons: tuple[Reason, ...]
    evidence: Evidence

    @property
    def folds(self) -> bool:
        return self.kind in FOLDING

    @property
    def queued(self) -> bool:
        return self.kind in QUEUED

    @property
    def keeps_apart(self) -> bool:
        """Whether the two must not meet in one cluster by way of others either: facts or stories differ."""
        return self.kind in APART


@dataclass(frozen=True, slots=True)
class Item:
    """One article as the judge sees it; published is None where undated, source '' where unknown."""

    text: Text
    source: str = ""
    published: datetime | None = None


def within(left: datetime | None, right: datetime | None, window: timedelta) -> bool:
    """Whether two articles are near enough in time to be compared; an undated one matches any date."""
    return left is None or right is None or abs(left - right) <= window


def judge(left: Item, right: Item, rules: Rules = DEFAULT_RULES) -> Verdict:
    """Judge two articles on their texts.

    Swapping the articles swaps the sides of evidence and reasons and changes neither kind nor score.
    """
    evidence = gather(left.text, right.text)
    if not within(left.published, right.published, rules.window):
        return Verdict("distinct", 0.0, (_reason("out_of_window"),), evidence)
    if not left.text.bare_body or not right.text.bare_body:
        return _judge_titles(left, right, evidence)
    if evidence.same_title and evidence.same_body:
        return Verdict("exact", 1.0, (_reason("same_text"),), evidence)
    if evidence.containment < rules.floor:
        return Verdict("distinct", evidence.containment / 4, _shares(evidence), evidence)
    found = differences(left.text, right.text)
    kind = _kind(left, right, evidence, found, rules)
    return Verdict(kind, _score(kind, evidence), (*_shares(evidence), *map(_fact_reason, found)), evidence)


def _kind(left: Item, right: Item, evidence: Evidence, found: list[Difference], rules: Rules) -> str:
    blocking = [difference for difference in found if _blocks(difference, evidence)]
    if _only_furniture(evidence):
        return "suspect" if evidence.same_body or min(evidence.lead_left, evidence.lead_right) > 0.5 else "furniture"
    if blocking:
        return _kind_of_twins(left, right, evidence, blocking)
    if _covers(evidence, rules):
        both = min(evidence.containment_left, evidence.containment_right)
        return "near" if both >= rules.near else "rewrite"
    return _kind_of_part(evidence, rules)


def _blocks(difference: Difference, evidence: Evidence) -> bool:
    """Whether a difference in facts forbids folding: both sides state it, and not the same."""
    if difference.kind == "negation":
        return min(evidence.containment_left, evidence.containment_right) > 0.7
    return bool(difference.left and difference.right)


def _only_furniture(evidence: Evidence) -> bool:
    """Shared text that neither headline speaks of, between articles of different headlines."""
    if evidence.title_ratio >= 0.5 or evidence.title_overlap >= 0.6:
        return False
    unspoken = max(evidence.title_in_other_left, evidence.title_in_other_right) < 0.4
    apart = max(evidence.lead_left, evidence.lead_right) < 0.3
    return unspoken or (apart and evidence.title_overlap < 0.4)


def _kind_of_twins(left: Item, right: Item, evidence: Evidence, blocking: list[Difference]) -> str:
    numbers_only = all(difference.kind == "number" for difference in blocking)
    near_in_time = within(left.published, right.published, timedelta(days=2))
    return "update" if numbers_only and near_in_time and evidence.title_overlap >= 0.5 else "template"


def _covers(evidence: Evidence, rules: Rules) -> bool:
    """Whether one text stands in the other as a whole, and the other is not much more than that."""
    shorter, longer = sorted((evidence.containment_left, evidence.containment_right), reverse=True)
    if shorter < rules.cover:
        return False
    if longer >= rules.cover_longer:
        return True
    # Trimmed: the longer text opens as the shorter does, and does not come to it later.
    return min(evidence.lead_left, evidence.lead_right) >= rules.shared_lead


def _kind_of_part(evidence: Evidence, rules: Rules) -> str:
    longer_lead = evidence.lead_left if evidence.left_length > evidence.right_length else evidence.lead_right
    return "excerpt" if longer_lead < 0.2 and evidence.length_ratio < 0.5 else "update"


def _judge_titles(left: Item, right: Item, evidence: Evidence) -> Verdict:
    """At least one article is a headline alone: only the headlines can be compared."""
    reasons = [_reason("title_similar", score=round(evidence.title_ratio, 3))]
    neither = not left.text.bare_body and not right.text.bare_body
    if evidence.same_title and neither and len(left.text.bare_title) >= 8:
        return Verdict("exact", 1.0, (_reason("same_title"),), evidence)
    found = differences(Text(left.text.title, ""), Text(right.text.title, ""))
    reasons += map(_fact_reason, found)
    if any(d.left and d.right or d.kind == "negation" for d in found):
        kind = "template" if evidence.title_ratio >= 0.8 else "distinct"
        return Verdict(kind, 0.1, tuple(reasons), evidence)
    if evidence.title_ratio >= 0.9 and len(left.text.bare_title) >= 8:
        kind = "near" if neither else "excerpt"
        return Verdict(kind, 0.9 if neither else 0.6, tuple(reasons), evidence)
    return Verdict("distinct", evidence.title_ratio / 4, tuple(reasons), evidence)


def _score(kind: str, evidence: Evidence) -> float:
    low, high = {
        "near": (0.9, 1.0),
        "rewrite": (0.7, 0.95),
        "update": (0.3, 0.7),
        "excerpt": (0.2, 0.6),
    }.get(kind, (0.0, 0.3))
    share = (evidence.containment_left + evidence.containment_right) / 2
    return round(low + (high - low) * share, 4)


def _shares(evidence: Evidence) -> tuple[Reason, ...]:
    share = _reason(
        "containment", left=round(evidence.containment_left, 3), right=round(evidence.containment_right, 3)
    )
    return (share, _reason("title_similar", score=round(evidence.title_ratio, 3)))


def _fact_reason(difference: Difference) -> Reason:
    return _reason(f"{difference.kind}_differs", left=difference.left, right=difference.right)


def _reason(code: str, **parameters: Any) -> Reason:
    return {"code": code, **parameters}
