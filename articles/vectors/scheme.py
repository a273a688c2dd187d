"""Two articles and the cosine of their vectors -> whether they may tell of one event. It never folds."""

from articles.dedup.facts import differences
from articles.dedup.rules import DEFAULT_RULES, Rules
from articles.dedup.verdict import Item, Verdict, judge, within

# How many of the nearest of an article are looked at.
NEIGHBOURS = 20
# A shorter headline with its opening says too little of an event (characters without punctuation).
SHORTEST = 12
# What the judge says of a pair that is not of one event, however alike the openings are.
APART = frozenset({"template", "furniture"})


def suggestion(
    left: Item, right: Item, similarity: float, threshold: float, rules: Rules = DEFAULT_RULES
) -> Verdict | None:
    """The judge's verdict on a pair that an editor should be asked about, else None.

    A model finds 上调 and 下调 nearly the same, so the window and every fact have their say: what differs in
    a number, date, name or opposite is not suggested.

    Args:
        similarity, threshold: cosines, -1..1.
    """
    if similarity < threshold or not within(left.published, right.published, rules.window):
        return None
    if min(len(item.text.bare_title) + len(item.text.bare_body) for item in (left, right)) < SHORTEST:
        return None
    verdict = judge(left, right, rules)
    if verdict.kind in APART or differences(left.text, right.text):
        return None
    return verdict
