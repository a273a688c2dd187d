"""Reads for the review desk: what waits, in its order, and what a person sees of one item.

Every list starts at a place in an index and is cut, so that its cost does not grow with the queue.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from math import isfinite

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone

from articles import selectors
from articles.models import BulkRun, News, NewsCluster, NewsDecision, NewsLink, ReviewItem
from articles.models.waiting import PRIORITY_ABOVE, PRIORITY_BELOW, QUEUE_START
from articles.selectors import PairLink

SHOWN = 40
SHOWN_BEFORE = 5
MEMBERS_SHOWN = 30
BLOCKERS_SHOWN = 3
# Words that very many titles have are looked for in the items that came last.
SEARCH_ITEMS = 20_000
# Counting so many takes a while: the numbers of a longer queue may be a little old.
COUNTED_EACH_TIME = 10_000
COUNTS_SECONDS = 15
# How long one's last decision stays under the key for undoing it.
UNDO_HOURS = 12
KINDS = (ReviewItem.CLUSTER, *NewsLink.Kind.values, ReviewItem.CHANGED)
KEY = re.compile(r"([pc])([0-9]{1,18})")


# -- the queue ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Window:
    """The part of the queue around an item; `after` is the place of its last row where more follow."""

    rows: list[ReviewItem]
    from_top: bool
    after: str = ""


def waiting(
    *,
    q: str = "",
    kind: str = "",
    source: str = "",
    since: date | None = None,
    until: date | None = None,
    lowest: float | None = None,
    highest: float | None = None,
    size: int | None = None,
    mine: bool = False,
    user: User | None = None,
) -> QuerySet[ReviewItem]:
    """What fits a filter, what needs a person most first."""
    rows = ReviewItem.objects.select_related("lead", "claimed_by").defer("lead__content")
    exact = {"kind": kind, "source": source, "score__gte": lowest, "score__lte": highest, "size__gte": size}
    rows = rows.filter(**{name: value for name, value in exact.items() if value not in ("", None)})
    rows = _published_between(rows, since, until)
    if mine:
        rows = rows.filter(claimed_by=user, claimed_until__gt=timezone.now())
    if q:
        rows = _titled(rows, q)
    return rows.order_by("-priority", "-id")


def _published_between(
    rows: QuerySet[ReviewItem], since: date | None, until: date | None
) -> QuerySet[ReviewItem]:
    """By the priorities that those days can have as well: the index is entered where these begin."""
    if since:
        rows = rows.filter(priority__gte=_days(since) - PRIORITY_BELOW)
    if until:
        rows = rows.filter(priority__lte=_days(until) + 1 + PRIORITY_ABOVE)
    return selectors.published_between(rows, "published", since, until)


def _days(day: date) -> float:
    midnight = timezone.make_aware(datetime.combine(day, time.min))
    return (midnight - QUEUE_START) / timedelta(days=1)


def _titled(rows: QuerySet[ReviewItem], q: str) -> QuerySet[ReviewItem]:
    ids = selectors.titled(q)
    if ids is not None:
        return rows.filter(Q(lead__in=ids) | Q(other__in=ids))
    newest = ReviewItem.objects.aggregate(newest=Max("pk"))["newest"] or 0
    titled = Q(lead__title__icontains=q) | Q(other__title__icontains=q)
    return rows.filter(titled, pk__gt=newest - SEARCH_ITEMS)


def count_by_kind() -> dict[str, int]:
    """How many wait of each kind, in an order that stays; of a long queue a few seconds old."""
    counts: dict[str, int] | None = cache.get("queue")
    if counts is None:
        found = dict(ReviewItem.objects.order_by().values_list("kind").annotate(Count("pk")))
        counts = {kind: found[kind] for kind in KINDS if kind in found}
        if sum(counts.values()) > COUNTED_EACH_TIME:
            cache.set("queue", counts, COUNTS_SECONDS)
    return counts


def find_item(key: str) -> ReviewItem | None:
    """The item of that key, if it still waits."""
    named = KEY.fullmatch(key)
    if named is None:
        return None
    column = "link" if named[1] == "p" else "cluster"
    rows = ReviewItem.objects.select_related("lead", "claimed_by").defer("lead__content")
    return rows.filter(**{column: int(named[2])}).first()


def top_of(rows: QuerySet[ReviewItem]) -> list[ReviewItem]:
    """The first rows, and one more where they are not all: read once, as a rare kind is long looked for."""
    return list(rows[: SHOWN + 1])


def count(rows: QuerySet[ReviewItem], top: list[ReviewItem]) -> selectors.Bounded:
    return selectors.count(rows) if len(top) > SHOWN else selectors.Bounded(len(top), False)


def first_free(
    rows: QuerySet[ReviewItem], top: list[ReviewItem], user: User, place: str = ""
) -> ReviewItem | None:
    """The first item behind a place that nobody else has open; from the top again where none follows."""
    now = timezone.now()
    free = rows.filter(Q(claimed_until=None) | Q(claimed_until__lt=now) | Q(claimed_by=user))
    if place and (found := following(free, place).first()):
        return found
    found = next((item for item in top if item.is_free_for(user)), None)
    return found or (free.first() if len(top) > SHOWN else None)


def window(rows: QuerySet[ReviewItem], top: list[ReviewItem], item: ReviewItem | None) -> Window:
    """The top of the queue where the item is there, else what surrounds it."""
    if item is None or item in top[:SHOWN]:
        return Window(top[:SHOWN], True, top[SHOWN - 1].place if len(top) > SHOWN else "")
    before = list(_preceding(rows, item.place)[:SHOWN_BEFORE])
    after = list(following(rows, item.place)[: SHOWN + 1])
    shown = [*reversed(before), item, *after[:SHOWN]]
    return Window(shown, not before, shown[-1].place if len(after) > SHOWN else "")


def following(rows: QuerySet[ReviewItem], place: str) -> QuerySet[ReviewItem]:
    priority, pk = _read_place(place)
    # The first condition alone lets the index be entered at the place.
    return rows.filter(Q(priority__lte=priority), Q(priority__lt=priority) | Q(pk__lt=pk))


def _preceding(rows: QuerySet[ReviewItem], place: str) -> QuerySet[ReviewItem]:
    priority, pk = _read_place(place)
    behind = rows.filter(Q(priority__gte=priority), Q(priority__gt=priority) | Q(pk__gt=pk))
    return behind.order_by("priority", "id")


def _read_place(place: str) -> tuple[float, int]:
    """A mangled one stands for the top, so that an old bookmark still opens the queue."""
    first, _, second = place.partition("_")
    try:
        priority, pk = float(first), int(second)
    except ValueError:
        return 1e9, 0
    return (priority, pk) if isfinite(priority) and 0 <= pk < 2**63 else (1e9, 0)


# -- one item ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Group:
    """A cluster beside the comparison: its first members, each with its link to the lead."""

    cluster: NewsCluster
    members: list[News]
    links: dict[int, PairLink]

    @property
    def hidden(self) -> int:
        return max(self.cluster.size - len(self.members), 0)


@dataclass(frozen=True, slots=True)
class Subject:
    """What an item is about. Of a cluster the lead stands beside its least similar member."""

    key: str
    left: News
    right: News | None
    link: NewsLink | None = None
    cluster: NewsCluster | None = None
    groups: list[Group] = field(default_factory=list)
    decisions: Sequence[NewsDecision] = ()
    # Pairs kept apart by a person, between the groups that this pair would join.
    blockers: list[NewsLink] = field(default_factory=list)

    @property
    def reviewed(self) -> NewsCluster | None:
        """The reviewed cluster that only a person's word lets the other article into."""
        clusters = (group.cluster for group in self.groups if self.link)
        return next((cluster for cluster in clusters if cluster.state == NewsCluster.State.REVIEWED), None)

    @property
    def settled(self) -> NewsDecision | None:
        """What was decided on it last."""
        standing = (decision for decision in self.decisions if not hasattr(decision, "undone_by"))
        return next((d for d in standing if d.action != NewsDecision.Action.UNDO), None)


def get_subject(key: str, left: int | None = None, right: int | None = None) -> Subject | None:
    """What waits, or waited, under a key; None where it is gone. Of a cluster any two may be side by side."""
    named = KEY.fullmatch(key)
    if named is None:
        return None
    number = int(named[2])
    return _pair(key, number) if named[1] == "p" else _cluster(key, number, left, right)


def _pair(key: str, number: int) -> Subject | None:
    link = NewsLink.objects.filter(pk=number).first()
    if link is None:
        return None
    left, right = selectors.pair_of(link)
    homes = [news.cluster_id for news in (left, right) if news.cluster_id]
    clusters = NewsCluster.objects.filter(pk__in=homes)
    groups = [_group(cluster) for cluster in clusters.select_related("lead").defer("lead__content")]
    groups.sort(key=lambda group: group.cluster.pk != left.cluster_id)
    decisions = list(selectors.pair_decisions(link))
    return Subject(key, left, right, link, None, groups, decisions, _blockers(left, right))


def _cluster(key: str, number: int, left_id: int | None, right_id: int | None) -> Subject | None:
    clusters = NewsCluster.objects.exclude(state=NewsCluster.State.MERGED).select_related("lead__text")
    cluster = clusters.filter(pk=number).first()
    if cluster is None or cluster.lead is None:
        return None
    left = selectors.member(cluster, left_id) or cluster.lead
    right = selectors.member(cluster, right_id or _least_similar(cluster))
    if right == left:
        right = selectors.member(cluster, cluster.lead_id)
    decisions = list(selectors.cluster_decisions(cluster))
    return Subject(key, left, right, None, cluster, [_group(cluster)], decisions)


def _least_similar(cluster: NewsCluster) -> int | None:
    """The member with the lowest score beside the lead, else any other."""
    lead = cluster.lead_id
    links = NewsLink.objects.filter(Q(low=lead, high__cluster=cluster) | Q(high=lead, low__cluster=cluster))
    weakest = links.order_by("score", "pk").first()
    if weakest is not None:
        return weakest.high_id if weakest.low_id == lead else weakest.low_id
    return cluster.members.exclude(pk=lead or 0).order_by("pk").values_list("pk", flat=True).first()


def _group(cluster: NewsCluster) -> Group:
    members = list(selectors.members_of(cluster)[:MEMBERS_SHOWN])
    return Group(cluster, members, selectors.links_to(cluster.lead, members))


def _blockers(left: News, right: News) -> list[NewsLink]:
    if left.cluster_id == right.cluster_id:
        return []
    apart = NewsLink.objects.filter(status=NewsLink.Status.REJECTED).select_related("low", "high")
    found: list[NewsLink] = []
    for one, other in ((left, right), (right, left)):
        rows = apart.filter(**_side("low", one), **_side("high", other)).exclude(
            low__in=(left, right), high__in=(left, right)
        )
        found += rows.defer("low__content", "high__content").order_by()[:BLOCKERS_SHOWN]
    return found[:BLOCKERS_SHOWN]


def _side(name: str, news: News) -> dict[str, int]:
    return {f"{name}__cluster": news.cluster_id} if news.cluster_id else {name: news.pk}


def keeps_apart(news_ids: Sequence[int], other: int | None) -> NewsLink | None:
    """A person's verdict between some articles and the group of another one."""
    home = News.objects.filter(pk=other or 0).values("cluster")
    rejected = NewsLink.objects.filter(status=NewsLink.Status.REJECTED).select_related("low", "high")
    links = rejected.defer("low__content", "high__content").order_by()
    return (
        links.filter(low__in=news_ids, high__cluster__in=home).first()
        or links.filter(high__in=news_ids, low__cluster__in=home).first()
    )


def last_decision(user: User) -> NewsDecision | None:
    """The person's own last decision that still stands: what the key for undoing takes back."""
    since = timezone.now() - timedelta(hours=UNDO_HOURS)
    # A bulk action is taken back as a whole, and once: what could not be undone then stays.
    mine = NewsDecision.objects.filter(
        Q(bulk=None) | Q(bulk__state=BulkRun.State.DONE), actor=user, created_at__gte=since, undone_by=None
    )
    standing = mine.exclude(action=NewsDecision.Action.UNDO).select_related("bulk")
    return standing.defer("bulk__items", "bulk__refused", "bulk__kept", "bulk__apart").order_by("-pk").first()


def key_of(decision: NewsDecision) -> str:
    """The item that waits again once a decision is undone."""
    if decision.action != NewsDecision.Action.VERDICT:
        return f"c{decision.cluster_id}" if decision.cluster_id else ""
    link = NewsLink.objects.filter(low=decision.left_id, high=decision.right_id).values_list("pk").first()
    return f"p{link[0]}" if link else ""
