"""Evidence + facts + Rules -> Verdict(kind, score, reasons). Symmetric; knows no clock and no database."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from articles.dedup.evidence import Evidence, Placement, Text, gather, place, shares_less
from articles.dedup.facts import Difference, differences
from articles.dedup.rules import DEFAULT_RULES, Rules
from articles.dedup.scoring import likelihood
from articles.dedup.sequence import ratio

Reason = dict[str, Any]

FOLDING = frozenset({"exact", "near", "rewrite"})
# What only a person can settle; template and furniture are kept apart by the machine alone.
QUEUED = frozenset({"excerpt", "update", "suspect"})
# Where facts differ, no third article may bring the two together.
APART = frozenset({"update", "template", "suspect"})
# What changes while an event goes on: 上午 and 下午 are opposites.
MOVING = frozenset({"number", "date", "opposite"})
PARTIAL = 0.5
KINDS = ("exact", "near", "rewrite", "excerpt", "update", "template", "furniture", "suspect", "distinct")


@dataclass(frozen=True, slots=True)
class Verdict:
    """kind: one of KINDS; score: likelihood in 0..1 that both are one article; reasons: codes."""

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
        """Whether a fact differs that keeps them from meeting in one cluster by way of others, too."""
        return self.kind in APART and any(reason["code"].endswith("_differs") for reason in self.reasons)

    @property
    def partial(self) -> bool:
        """Whether one text is less than half of the other: a cut, which says nothing of the rest."""
        return min(self.evidence.containment_left, self.evidence.containment_right) < PARTIAL


@dataclass(frozen=True, slots=True)
class Item:
    """One article as the judge sees it; published is None where undated, source '' where unknown."""

    text: Text
    source: str = ""
    published: datetime | None = None


def within(left: datetime | None, right: datetime | None, window: timedelta) -> bool:
    """Whether two articles are near enough in time to be compared; an undated one matches any date."""
    return left is None or right is None or abs(left - right) <= window


def is_distinct(left: Item, right: Item, rules: Rules = DEFAULT_RULES) -> bool:
    """Whether `judge` would find two bodies that share next to nothing, as with nearly all candidates.

    True only where its kind is distinct, and then in a sixth of its time.
    """
    one, other = left.text.bare_body, right.text.bare_body
    return bool(one and other) and one != other and shares_less(left.text, right.text, rules.floor)


def judge(left: Item, right: Item, rules: Rules = DEFAULT_RULES) -> Verdict:
    """Judge two articles on their texts.

    Swapping the articles swaps the sides of evidence and reasons and changes neither kind nor score.
    """
    evidence = gather(left.text, right.text, rules.floor)
    if not within(left.published, right.published, rules.window):
        return Verdict("distinct", 0.0, (_reason("out_of_window"),), evidence)
    if left.text.only_furniture or right.text.only_furniture:
        return Verdict("furniture", 0.0, (_reason("only_furniture"),), evidence)
    if not left.text.bare_body or not right.text.bare_body:
        return _judge_titles(left, right, evidence, rules)
    if evidence.same_title and evidence.same_body:
        return Verdict("exact", 1.0, (_reason("same_text"),), evidence)
    if evidence.containment < rules.floor:
        return Verdict("distinct", round(evidence.containment / 10, 4), _shares(evidence), evidence)
    strange = _strange_body(evidence, rules)
    found = [] if strange else differences(left.text, right.text)
    decide = _kind_of_strange_body if strange else _kind
    kind = decide(left, right, evidence, found, rules)
    reasons = (*_shares(evidence), *_circumstances(kind, evidence, rules), *map(_fact_reason, found))
    return Verdict(kind, likelihood(kind, evidence), reasons, evidence)


def _kind(left: Item, right: Item, evidence: Evidence, found: list[Difference], rules: Rules) -> str:
    if found:
        return _kind_of_twins(left, right, evidence, found, rules)
    if _covers(left, right, evidence, rules):
        return "near" if min(evidence.shares) >= rules.near else "rewrite"
    return _kind_of_part(evidence, rules)


def _one_source(left: Item, right: Item) -> bool:
    """An unknown source equals no other."""
    return bool(left.source) and left.source == right.source


def _strange_body(evidence: Evidence, rules: Rules) -> bool:
    """Shared text that is not what the headlines announce, between articles of different headlines."""
    if evidence.title_ratio < rules.unlike_title:
        own = evidence.title_in_body_left, evidence.title_in_body_right
        if max(own) < rules.spoken or (evidence.same_body and min(own) < rules.spoken):
            return True
    if evidence.title_ratio >= 0.5 or evidence.title_overlap >= 0.6:
        return False
    unspoken = max(evidence.title_in_other_left, evidence.title_in_other_right) < 0.4
    apart = max(evidence.lead_left, evidence.lead_right) < 0.3 and min(evidence.shares) < rules.near
    return unspoken or (apart and evidence.title_overlap < 0.4)


def _kind_of_strange_body(
    left: Item, right: Item, evidence: Evidence, found: list[Difference], rules: Rules
) -> str:
    """A body that speaks of one of two headlines may be a wrong extraction of a real story.

    Bodies that both speak of both headlines share the background of one event, which has gone on.
    """
    own = evidence.title_in_body_left, evidence.title_in_body_right
    if max(own) >= rules.spoken and (evidence.same_body or evidence.lead > 0.5):
        return "suspect"
    of_both = min(*own, evidence.title_in_other_left, evidence.title_in_other_right) >= rules.both_spoken
    return "update" if of_both and _one_time(left, right, rules) else "furniture"


def _one_time(left: Item, right: Item, rules: Rules) -> bool:
    return within(left.published, right.published, rules.update_window)


def _kind_of_twins(left: Item, right: Item, evidence: Evidence, found: list[Difference], rules: Rules) -> str:
    """Texts that differ in facts: one event told again, or two events in one form of words."""
    event = _has_moved(left, right, evidence, found, rules) or _is_fuller(left, right, evidence, found, rules)
    if event and _one_time(left, right, rules):
        return "update"
    one_text = min(evidence.shares) >= rules.same_but_fact and evidence.shorter >= rules.same_but_fact_length
    return "suspect" if one_text and len(found) <= 2 and not _one_source(left, right) else "template"


def _has_moved(left: Item, right: Item, evidence: Evidence, found: list[Difference], rules: Rules) -> bool:
    """Whether both headlines name one event, of which the figures have changed and the names have not."""
    if evidence.title_overlap < rules.one_event:
        return False
    kinds = {difference.kind for difference in found}
    if kinds == {"number"} or _one_source(left, right):
        return kinds == {"number"}
    return kinds == {"date"} or ("number" in kinds and kinds <= MOVING and len(found) <= rules.moved_facts)


def _is_fuller(left: Item, right: Item, evidence: Evidence, found: list[Difference], rules: Rules) -> bool:
    """Twins are as long as each other: one or two facts in a much longer text are of a fuller account."""
    few = len(found) <= rules.fuller_facts and not _one_source(left, right)
    return few and evidence.length_ratio < rules.twin_length


def _covers(left: Item, right: Item, evidence: Evidence, rules: Rules) -> bool:
    """Whether one text is the other, cut or slightly rewritten, and not a part or another state of it."""
    of_shorter, of_longer = evidence.shares
    one_source = _one_source(left, right)
    same_title = evidence.title_ratio >= rules.same_title
    if of_shorter < (rules.cover_same_title if same_title and not one_source else rules.cover):
        return False
    if one_source and not same_title and of_longer < rules.cover_one_source:
        return False
    if evidence.longer - evidence.shorter > rules.longest_cut or _news_in_both(evidence, rules):
        return False
    if of_longer >= (rules.near if evidence.shorter < rules.short else rules.cover_longer):
        return True
    placement = place(left.text, right.text)
    if evidence.shorter < rules.short:
        return same_title and not one_source and placement.opening >= rules.opening
    return _is_cut(evidence, placement, one_source, rules)


def _news_in_both(evidence: Evidence, rules: Rules) -> bool:
    of_shorter, of_longer = evidence.shares
    own = min((1 - of_shorter) * evidence.shorter, (1 - of_longer) * evidence.longer)
    return max(of_shorter, of_longer) < rules.own_news_share and own >= rules.own_news


def _is_cut(evidence: Evidence, placement: Placement, one_source: bool, rules: Rules) -> bool:
    """Whether the shorter text is the longer one with something left out, mostly at its end."""
    _, of_longer = evidence.shares
    same_title = evidence.title_ratio >= rules.same_title
    if of_longer >= rules.half and placement.opening >= rules.half:
        return True
    if of_longer >= rules.one_piece_longer and placement.densest >= rules.one_piece:
        return True
    if evidence.lead >= rules.shared_lead and (same_title or of_longer >= rules.shared_lead_longer):
        return True
    if one_source or placement.opening < rules.opening:
        return False
    return same_title or placement.verbatim >= rules.verbatim


def _kind_of_part(evidence: Evidence, rules: Rules) -> str:
    of_shorter, _ = evidence.shares
    if evidence.shorter < rules.shortest_excerpt and of_shorter < rules.whole_excerpt:
        return "distinct"
    longer_lead = evidence.lead_left if evidence.left_length > evidence.right_length else evidence.lead_right
    if evidence.longer - evidence.shorter > rules.longest_cut:
        return "excerpt"
    in_longer = longer_lead < 0.2 and evidence.length_ratio < 0.5
    return "excerpt" if in_longer and not _same_news(evidence, rules) else "update"


def _same_news(evidence: Evidence, rules: Rules) -> bool:
    """Whether both headlines name one piece of news, which the longer text tells more fully."""
    return evidence.title_overlap >= rules.same_news and evidence.length_ratio >= rules.same_news_length


def _circumstances(kind: str, evidence: Evidence, rules: Rules) -> tuple[Reason, ...]:
    """What decided, where it was not a fact."""
    if kind in ("furniture", "suspect") and evidence.title_ratio < rules.unlike_title:
        return (_reason("body_not_about_title"),)
    if kind == "excerpt":
        return (_reason("short_in_long"),)
    if kind == "update" and evidence.longer > evidence.shorter:
        return (_reason("text_added", chars=evidence.longer - evidence.shorter),)
    if kind == "distinct" and evidence.shorter < rules.shortest_excerpt:
        return (_reason("too_short"),)
    return ()


def _judge_titles(left: Item, right: Item, evidence: Evidence, rules: Rules) -> Verdict:
    """At least one article is a headline alone: only the headlines can be compared.

    difflib's ratio of two headlines is named and decides nothing: with 0.85 to 0.9 and no other fact one half
    are one piece of news, the other half 访问开始 and 访问结束.
    """
    neither = not left.text.bare_body and not right.text.bare_body
    long_enough = min(len(left.text.bare_title), len(right.text.bare_title)) >= rules.shortest_title
    if evidence.same_title and neither and long_enough:
        return Verdict("exact", 1.0, (_reason("same_title"),), evidence)
    found = differences(Text(left.text.title, ""), Text(right.text.title, ""))
    reasons = (
        _reason("title_similar", score=round(evidence.title_ratio, 3)),
        *(_sequence(left, right) if neither else ()),
        *map(_fact_reason, found),
    )
    if found:
        kind = "template" if evidence.title_ratio >= 0.8 else "distinct"
        return Verdict(kind, 0.1, reasons, evidence)
    if evidence.title_ratio >= rules.same_title and long_enough:
        kind = "near" if neither else "excerpt"
        return Verdict(kind, 0.9 if neither else 0.6, reasons, evidence)
    return Verdict("distinct", round(evidence.title_ratio / 10, 4), reasons, evidence)


def _sequence(left: Item, right: Item) -> tuple[Reason, ...]:
    return (_reason("sequence", score=round(ratio(left.text.bare_title, right.text.bare_title), 3)),)


def _shares(evidence: Evidence) -> tuple[Reason, ...]:
    share = _reason(
        "containment", left=round(evidence.containment_left, 3), right=round(evidence.containment_right, 3)
    )
    return (share, _reason("title_similar", score=round(evidence.title_ratio, 3)))


def _fact_reason(difference: Difference) -> Reason:
    return _reason(f"{difference.kind}_differs", left=difference.left, right=difference.right)


def _reason(code: str, **parameters: Any) -> Reason:
    return {"code": code, **parameters}
