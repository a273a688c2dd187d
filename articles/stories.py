"""Reads for the story of a group: who was first, who copied what, and what changed since its review."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, F, Func, IntegerField, Max, Min
from django.db.models.functions import Left, Length, Right
from django.utils import timezone

from articles import selectors
from articles.dedup import attribution
from articles.models import News, NewsCluster, NewsDecision, NewsLink, NewsText

COPIES_SIZE = 50
SOURCES_SHOWN = 20
# Of one text: credits stand at its ends, and markup takes its share.
TEXT_ENDS = 6_000
BARS = 30
MEMBERS_NAMED = 5
PROPOSALS_COUNTED = 100


# -- copies ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Copy:
    """One article of a group beside its lead.

    Attributes:
        kept: share of the lead that it has; None where one of them has no text to compare.
        own: share of it that the lead does not have.
        attribution: what it says of the lead's outlet; of the lead itself whose report it says it is.
    """

    news: News
    kept: float | None
    own: float | None
    attribution: attribution.Attribution | None
    is_lead: bool = False


@dataclass(frozen=True, slots=True)
class SourceLine:
    source: str
    copies: int
    first: datetime | None
    last: datetime | None


@dataclass(frozen=True, slots=True)
class Slot:
    """A stretch of time and how many articles came out in it."""

    start: datetime
    copies: int
    total: int


@dataclass(frozen=True, slots=True)
class Timeline:
    step: timedelta
    slots: list[Slot]
    undated: int

    @property
    def by_day(self) -> bool:
        return self.step >= timedelta(days=1)


def copies_of(cluster: NewsCluster, page: Any = None) -> Page[Any]:
    """A page of the group's articles, the lead's order, each with what it kept; a Page of Copy."""
    # Their numbers alone first, in the order of an index: a sort would carry all texts of the group.
    ids = selectors.members_of(cluster).values_list("pk", flat=True)
    shown: Page = Paginator(ids, COPIES_SIZE).get_page(page)
    found = (
        News.objects.filter(pk__in=list(shown.object_list))
        .defer("content")
        .annotate(start=Left("content", TEXT_ENDS), end=Right("content", TEXT_ENDS), length=Length("content"))
    )
    members = sorted(found, key=lambda news: (news.canonical_key, news.pk))
    lead = _origin(cluster.lead) if cluster.lead else None
    shares = _shares(cluster.lead, members)
    shown.object_list = [_copy(news, cluster, lead, shares.get(news.pk)) for news in members]
    return shown


def credit_counts(copies: Iterable[Copy]) -> Counter[str]:
    """How many of the copies shown say what of their origin; the lead and its own outlet's are none."""
    kinds = (copy.attribution.kind for copy in copies if copy.attribution and not copy.is_lead)
    return Counter(kind for kind in kinds if kind not in (attribution.OWN, attribution.UNKNOWN))


def _copy(
    news: News,
    cluster: NewsCluster,
    lead: attribution.Article | None,
    shares: tuple[float, float] | None,
) -> Copy:
    if news.pk == cluster.lead_id:
        return Copy(news, 1.0, 0.0, attribution.signature(lead) if lead else None, is_lead=True)
    said = attribution.attribute(lead, _article(news)) if lead else None
    kept, taken = shares or (None, None)
    return Copy(news, kept, None if taken is None else 1 - taken, said)


def _article(news: Any) -> attribution.Article:
    text = news.start if news.length <= TEXT_ENDS else f"{news.start}\n{news.end}"
    return attribution.Article(news.source, news.title, selectors.readable(text))


def _origin(lead: News) -> attribution.Article:
    return attribution.Article(lead.source, lead.title, selectors.readable(lead.content[: 2 * TEXT_ENDS]))


def _shares(lead: News | None, members: Sequence[News]) -> dict[int, tuple[float, float]]:
    """For each article: share of the lead in it, share of it in the lead; from links, else from the texts.

    Not every article is linked to its lead: of a text's copies only the first is compared with others.
    """
    if lead is None:
        return {}
    links = selectors.links_to(lead, members)
    shares = {pk: (pair.containment_left, pair.containment_right) for pk, pair in links.items()}
    unknown = [news.pk for news in members if news.pk not in shares and news.pk != lead.pk]
    if unknown and hasattr(lead, "text"):
        shares |= _measured(lead.text, NewsText.objects.filter(news__in=unknown))
    return shares


def _measured(lead: NewsText, others: Iterable[NewsText]) -> dict[int, tuple[float, float]]:
    from articles.dedup import evidence  # It loads the dictionaries.

    origin = evidence.Text(lead.title, lead.body)
    if not origin.bare_body:
        return {}
    found = {}
    for other in others:
        text = evidence.Text(other.title, other.body)
        if text.bare_body:
            # Above 1 nothing more than the shares is looked into.
            shares = evidence.gather(origin, text, floor=1.1)
            found[other.news_id] = shares.containment_left, shares.containment_right
    return found


def sources_of(cluster: NewsCluster) -> list[SourceLine]:
    """Outlets by the time of their first copy, undated ones last."""
    rows = (
        cluster.members.order_by()
        .values("source")
        .annotate(copies=Count("pk"), first=Min("published_at"), last=Max("published_at"))
        .order_by(F("first").asc(nulls_last=True), "source")[:SOURCES_SHOWN]
    )
    return [SourceLine(**row) for row in rows]


def timeline_of(cluster: NewsCluster) -> Timeline:
    """How many articles came out when, in at most BARS stretches of equal, round length."""
    dated = cluster.members.exclude(published_at=None).order_by()
    ends = dated.aggregate(first=Min("published_at"), last=Max("published_at"))
    if ends["first"] is None:
        return Timeline(timedelta(days=1), [], cluster.size)
    step = _step(ends["last"] - ends["first"])
    start = _aligned(ends["first"], step)
    # Counted by the database: to read the moments of thousands of copies takes longer than all the rest.
    numbered = dated.annotate(number=_Stretch("published_at", start, step)).values("number")
    counts = Counter(dict(numbered.annotate(copies=Count("pk")).values_list("number", "copies")))
    slots, total = [], 0
    for number in range(max(counts) + 1):
        total += counts[number]
        slots.append(Slot(timezone.localtime(start + number * step), counts[number], total))
    return Timeline(step, slots, max(cluster.size - total, 0))


class _Stretch(Func):
    """In which stretch after `start` a moment lies, from 0 on; `step` is of whole minutes."""

    output_field = IntegerField()
    # Not UNIX_TIMESTAMP, which knows no years after 2038.
    template = "TIMESTAMPDIFF(SECOND, '%(start)s', %(expressions)s) DIV %(seconds)s"

    def __init__(self, moment: Any, start: datetime, step: timedelta) -> None:
        utc = start.astimezone(UTC).replace(tzinfo=None)
        super().__init__(moment, start=utc.isoformat(" "), seconds=step // timedelta(seconds=1))

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        seconds = "CAST(strftime('%%%%s', %(expressions)s) AS INTEGER) - strftime('%%%%s', '%(start)s')"
        return self.as_sql(compiler, connection, template=f"({seconds}) / %(seconds)s", **context)


STEPS = tuple(
    timedelta(minutes=minutes)
    for minutes in (5, 10, 30, 60, 120, 360, 720, 1440, 2 * 1440, 7 * 1440, 30 * 1440, 365 * 1440)
)


def _step(span: timedelta) -> timedelta:
    return next((step for step in STEPS if span / step < BARS - 1), STEPS[-1])


def _aligned(moment: datetime, step: timedelta) -> datetime:
    """The full step before a moment, counted from the desk's midnight."""
    local = timezone.localtime(moment)
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + (local - midnight) // step * step


# -- what changed since the review -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Changes:
    """What is not as it was when a person reviewed a group. Articles are named up to MEMBERS_NAMED."""

    cluster: NewsCluster
    added: list[News] = field(default_factory=list)
    added_count: int = 0
    removed: list[News] = field(default_factory=list)
    removed_count: int = 0
    proposals: list[News] = field(default_factory=list)
    proposal_count: int = 0

    @property
    def more_proposals(self) -> bool:
        return self.proposal_count > PROPOSALS_COUNTED


def changes_since_review(cluster: NewsCluster) -> Changes | None:
    """None where nobody reviewed the group, or where it is as it was and nothing is proposed."""
    if cluster.state != NewsCluster.State.REVIEWED or cluster.reviewed_at is None:
        return None
    proposed = _proposed(cluster)
    added, removed = _moved(cluster) if cluster.changed_at > cluster.reviewed_at else (set(), set())
    if not (proposed or added or removed):
        return None
    named = [*sorted(added)[:MEMBERS_NAMED], *sorted(removed)[:MEMBERS_NAMED], *proposed[:MEMBERS_NAMED]]
    found = News.objects.defer("content").in_bulk(named)

    def name(ids: Iterable[int]) -> list[News]:
        return [found[id_] for id_ in ids if id_ in found][:MEMBERS_NAMED]

    return Changes(
        cluster,
        name(sorted(added)),
        len(added),
        name(sorted(removed)),
        len(removed),
        name(proposed),
        len(proposed),
    )


def _proposed(cluster: NewsCluster) -> list[int]:
    """Articles that the machine would fold into the group, and a person has to decide on."""
    waiting = NewsLink.objects.filter(status=NewsLink.Status.PENDING, kind__in=NewsLink.FOLDING_KINDS)
    found: set[int] = set()
    # Each side on its own: an OR over two joins would read all that waits.
    for inside, outside in (("low", "high"), ("high", "low")):
        links = waiting.filter(**{f"{inside}__cluster": cluster}).exclude(**{f"{outside}__cluster": cluster})
        found.update(links.order_by().values_list(f"{outside}_id", flat=True)[: PROPOSALS_COUNTED + 1])
    return sorted(found)


def _moved(cluster: NewsCluster) -> tuple[set[int], set[int]]:
    """Articles that came and went since the group was confirmed, by the links that were confirmed then."""
    confirmed = cluster.decisions.filter(action=NewsDecision.Action.CONFIRM_CLUSTER, undone_by=None)
    after = confirmed.order_by("-pk").values_list("after", flat=True).first()
    pairs = (after or {}).get("links", {})
    then = {int(id_) for pair in pairs for id_ in pair.split("-")}
    if not then:
        return set(), set()
    now = set(cluster.members.order_by().values_list("pk", flat=True))
    return now - then, then - now
