"""Reads for pages and API. Every list is bounded, and its cost does not grow with the page number."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery
from django.shortcuts import get_object_or_404
from django.utils import timezone

from articles.dedup import diff
from articles.dedup.clean import drop_invisible, replace_surrogates, squeeze_spaces, strip_markup
from articles.models import News, NewsCluster, NewsDecision, NewsLink, SchemeComparison, Upload
from articles.reasons import turned

PAGE_SIZE = 50
MEMBERS_SIZE = 100
# Beyond this a count says "more than"; counting a million rows would cost more than the list itself.
COUNT_UP_TO = 1_000
# Titles have no full-text index that knows Chinese on both databases: a search reads the newest articles.
SEARCH_ROWS = 100_000
SOURCES_SHOWN = 300
SOURCES_SECONDS = 60
LINKS_SHOWN = 50
# Links of one kind: up to the first number their articles are named one by one, up to the second looked up in
# a list of them.
LINKS_FEW = 5_000
LINKS_SOME = 30_000
DECISIONS_SHOWN = 50
# A chain of merges is short; the bound is against rows that point in a circle.
MERGES = 20
Reason = dict[str, Any]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


# -- pages of long lists -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows, and the cursors of the pages around them ('' where there is none)."""

    rows: list[Any]
    newer: str = ""
    older: str = ""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A count that stops counting."""

    number: int
    more: bool


def read_page(rows: QuerySet[Any], moment: str, after: str = "", before: str = "") -> Page:
    """Newest first by (moment, id), those without a moment last; cursors instead of offsets."""
    cursor = _read_cursor(after or before)
    backwards = bool(before and not after and cursor)
    if cursor:
        rows = rows.filter(_newer(moment, *cursor) if backwards else _older(moment, *cursor))
    order = (moment, "id") if backwards else (f"-{moment}", "-id")
    found = list(rows.order_by(*order)[: PAGE_SIZE + 1])
    more, found = len(found) > PAGE_SIZE, found[:PAGE_SIZE]
    if backwards:
        found.reverse()
    if not found:
        return Page([])
    return Page(
        found,
        newer=_write_cursor(found[0], moment) if (more if backwards else cursor) else "",
        older=_write_cursor(found[-1], moment) if (backwards or more) else "",
    )


def _older(moment: str, when: datetime | None, pk: int) -> Q:
    if when is None:
        return Q(**{f"{moment}__isnull": True}, id__lt=pk)
    return Q(**{f"{moment}__lt": when}) | Q(**{moment: when}, id__lt=pk) | Q(**{f"{moment}__isnull": True})


def _newer(moment: str, when: datetime | None, pk: int) -> Q:
    if when is None:
        return Q(**{f"{moment}__isnull": False}) | Q(**{f"{moment}__isnull": True}, id__gt=pk)
    return Q(**{f"{moment}__gt": when}) | Q(**{moment: when}, id__gt=pk)


def _write_cursor(row: Any, moment: str) -> str:
    when = getattr(row, moment)
    return f"{(when - EPOCH) // timedelta(microseconds=1) if when else ''}_{row.pk}"


def _read_cursor(text: str) -> tuple[datetime | None, int] | None:
    """The place a cursor stands for; a mangled one is none, so that an old bookmark shows the first page."""
    when, _, pk = text.partition("_")
    try:
        moment = EPOCH + timedelta(microseconds=int(when)) if when else None
        number = int(pk)
    except (ValueError, OverflowError):
        return None
    return (moment, number) if 0 <= number < 2**63 else None


def count(rows: QuerySet[Any]) -> Bounded:
    number = rows.order_by()[: COUNT_UP_TO + 1].count()
    return Bounded(min(number, COUNT_UP_TO), number > COUNT_UP_TO)


def published_between(
    rows: QuerySet[Any], moment: str, since: date | None, until: date | None
) -> QuerySet[Any]:
    """Whole days in the desk's time zone. Not __date: MySQL finds nothing with it without zone tables."""
    if since:
        rows = rows.filter(**{f"{moment}__gte": _midnight(since)})
    if until:
        rows = rows.filter(**{f"{moment}__lt": _midnight(until + timedelta(days=1))})
    return rows


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))


# -- news --------------------------------------------------------------------------------------------------


def news_list(
    *,
    q: str = "",
    source: str = "",
    since: date | None = None,
    until: date | None = None,
    verdict: str = "",
    kind: str = "",
    state: str = "",
    upload: int | None = None,
) -> QuerySet[News]:
    """Leads and singles; duplicates show only when they are asked for, or the articles of one upload."""
    rows = News.objects.select_related("cluster").defer("content")
    if verdict:
        rows = rows.filter(verdict=verdict)
    elif upload is None:
        rows = rows.exclude(verdict=News.Verdict.DUPLICATE)
    if upload is not None:
        rows = rows.filter(upload=upload)
    rows = published_between(rows, "published_at", since, until)
    if q:
        rows = search(rows, q)
    if source:
        rows = rows.filter(source=source)
    if state:
        rows = rows.filter(state=state)
    if kind:
        rows = _linked(rows, kind)
    return rows


def _linked(rows: QuerySet[News], kind: str) -> QuerySet[News]:
    """Those with a link of a kind, in the way that reads least: rows of news are wide, and links are many."""
    links = NewsLink.objects.filter(kind=kind).order_by()
    number = links[: LINKS_SOME + 1].count()
    if number <= LINKS_FEW:
        return rows.filter(pk__in={pk for pair in links.values_list("low", "high") for pk in pair})
    if number <= LINKS_SOME:
        return rows.filter(Q(pk__in=links.values("low")) | Q(pk__in=links.values("high")))
    # Many: article by article until a page is full. Not by EXISTS, which MariaDB would make a list of all.
    low, high = (links.filter(**{side: OuterRef("pk")}).values("pk")[:1] for side in ("low", "high"))
    found = rows.alias(as_low=Subquery(low), as_high=Subquery(high))
    return found.filter(Q(as_low__isnull=False) | Q(as_high__isnull=False))


def titled(q: str) -> list[int] | None:
    """The newest articles whose title holds the words; None: too many, so a list of them fills soon.

    Looked for by the time of arrival, as an index has that beside the title: rows are ten times as wide.
    """
    newest = News.objects.aggregate(newest=Max("pk"))["newest"] or 0
    first = (
        News.objects.filter(pk__gt=newest - SEARCH_ROWS).order_by("pk").values_list("created_at", flat=True)
    )
    # A little earlier: SQLite compares moments as texts, and its own ones are shorter than Django's.
    oldest = (first.first() or timezone.now()) - timedelta(milliseconds=1)
    found = News.objects.filter(created_at__gte=oldest, title__icontains=q).order_by("-created_at")
    ids = [pk for pk in found.values_list("pk", flat=True)[: COUNT_UP_TO + 1] if pk > newest - SEARCH_ROWS]
    return ids if len(ids) <= COUNT_UP_TO else None


def search(rows: QuerySet[News], q: str) -> QuerySet[News]:
    ids = titled(q)
    return recent(rows).filter(title__icontains=q) if ids is None else rows.filter(pk__in=ids)


def recent(rows: QuerySet[News]) -> QuerySet[News]:
    """Those among the newest: what a search looks through."""
    newest = News.objects.aggregate(newest=Max("pk"))["newest"] or 0
    return rows.filter(pk__gt=newest - SEARCH_ROWS)


def sources() -> list[str]:
    """Names to choose from; a minute old at most."""
    names = News.objects.exclude(source="").order_by("source").values_list("source", flat=True).distinct()
    return cache.get_or_set("sources", lambda: list(names[:SOURCES_SHOWN]), SOURCES_SECONDS) or []


def get_news(pk: int) -> News:
    return get_object_or_404(News.objects.select_related("text", "cluster", "duplicate_of", "upload"), pk=pk)


def find_news(reference: str) -> list[News]:
    """Articles that a person calls so: our number (also as #12), the source's id, or an address."""
    rows = News.objects.select_related("text")
    number = reference.removeprefix("#")
    if number.isascii() and number.isdigit() and int(number) < 2**63:
        by_number = rows.filter(pk=int(number))
        if reference.startswith("#") or by_number:
            return list(by_number)
    named = list(rows.filter(external_id=reference)[:5])
    # No index is as long as an address: looked for only where one is given.
    return named or (list(recent(rows).filter(url=reference)[:5]) if "://" in reference else [])


def links_of(news: News) -> list["PairLink"]:
    """The article's links, those that stay and the likeliest first, each seen from this article."""
    links = (
        NewsLink.objects.filter(Q(low=news) | Q(high=news))
        .select_related("low", "high")
        .defer("low__content", "high__content")
        .order_by("-score", "-id")[:LINKS_SHOWN]
    )
    return [PairLink(link, left_is_low=link.low_id == news.pk) for link in links]


def decisions_on(news: News) -> QuerySet[NewsDecision]:
    return (
        NewsDecision.objects.filter(Q(left=news) | Q(right=news))
        .select_related("actor", "undone_by")
        .order_by("-id")[:DECISIONS_SHOWN]
    )


# -- clusters ----------------------------------------------------------------------------------------------


def cluster_list(
    *,
    q: str = "",
    state: str = "",
    since: date | None = None,
    until: date | None = None,
    size: int | None = None,
) -> QuerySet[NewsCluster]:
    rows = NewsCluster.objects.select_related("lead").defer("lead__content").filter(size__gte=size or 2)
    rows = rows.filter(state=state) if state else rows.exclude(state=NewsCluster.State.MERGED)
    if q:
        ids = titled(q)
        newest = NewsCluster.objects.aggregate(newest=Max("pk"))["newest"] or 0
        frequent = Q(pk__gt=newest - SEARCH_ROWS, lead__title__icontains=q)
        rows = rows.filter(frequent if ids is None else Q(lead__in=ids))
    return published_between(rows, "last_published", since, until)


def source_counts(clusters: Iterable[NewsCluster]) -> dict[int, int]:
    """How many outlets each cluster has."""
    rows = News.objects.filter(cluster__in=[cluster.pk for cluster in clusters]).order_by()
    return dict(rows.values_list("cluster").annotate(Count("source", distinct=True)))


def get_cluster(pk: int) -> NewsCluster:
    """The cluster, or the one it went into: its address keeps working after merges."""
    clusters = NewsCluster.objects.select_related("lead__text", "reviewed_by")
    cluster = get_object_or_404(clusters, pk=pk)
    for _ in range(MERGES):
        if cluster.merged_into_id is None:
            break
        cluster = get_object_or_404(clusters, pk=cluster.merged_into_id)
    return cluster


def members_of(cluster: NewsCluster) -> QuerySet[News]:
    return cluster.members.defer("content").order_by("canonical_key", "id")


def member(cluster: NewsCluster, pk: int | None = None) -> News | None:
    return cluster.members.select_related("text").filter(pk=pk).first() if pk else None


def links_to(lead: News | None, members: Iterable[News]) -> dict[int, "PairLink"]:
    """Each member's link with the lead, seen from the lead."""
    if lead is None:
        return {}
    ids = [news.pk for news in members]
    links = NewsLink.objects.filter(Q(low=lead, high__in=ids) | Q(high=lead, low__in=ids))
    pairs = [PairLink(link, left_is_low=link.low_id == lead.pk) for link in links]
    return {pair.right_id: pair for pair in pairs}


def cluster_decisions(cluster: NewsCluster) -> QuerySet[NewsDecision]:
    return cluster.decisions.select_related("actor", "undone_by").order_by("-id")[:DECISIONS_SHOWN]


def pair_decisions(link: NewsLink) -> QuerySet[NewsDecision]:
    return (
        NewsDecision.objects.filter(left=link.low_id, right=link.high_id)
        .select_related("actor", "undone_by")
        .order_by("-id")[:DECISIONS_SHOWN]
    )


# -- uploads -----------------------------------------------------------------------------------------------


def upload_list() -> QuerySet[Upload]:
    return Upload.objects.select_related("user")


def get_upload(pk: int) -> Upload:
    return get_object_or_404(Upload.objects.select_related("user"), pk=pk)


def find_upload(pk: int | None) -> Upload | None:
    return Upload.objects.filter(pk=pk).first() if pk else None


# -- comparisons of schemes --------------------------------------------------------------------------------


def comparison_list() -> QuerySet[SchemeComparison]:
    return SchemeComparison.objects.select_related("user").defer("results")


def get_comparison(pk: int) -> SchemeComparison:
    return get_object_or_404(SchemeComparison.objects.select_related("user"), pk=pk)


# -- pairs -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PairLink:
    """A stored link, seen from one of its two articles."""

    link: NewsLink
    left_is_low: bool

    @property
    def right_id(self) -> int:
        return self.link.high_id if self.left_is_low else self.link.low_id

    @property
    def right(self) -> News:
        return self.link.high if self.left_is_low else self.link.low

    @property
    def reasons(self) -> list[Reason]:
        """The stored reasons, whose left is the lower id, with the sides as they are shown."""
        return self.link.reasons if self.left_is_low else turned(self.link.reasons)

    @property
    def other_reasons(self) -> list[Reason]:
        """Those that the link's own columns do not say already."""
        return [reason for reason in self.reasons if reason.get("code") not in ("containment", "simhash")]

    @property
    def containment_left(self) -> float:
        return self.link.containment_low if self.left_is_low else self.link.containment_high

    @property
    def containment_right(self) -> float:
        return self.link.containment_high if self.left_is_low else self.link.containment_low


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two articles side by side."""

    left: News
    right: News
    title: diff.Segment
    body: diff.Diff
    link: PairLink | None = None
    facts: list[tuple[str, str]] = field(default_factory=list)

    @property
    def other_reasons(self) -> list[Reason]:
        """The stored reasons that neither the link's columns nor the facts say already."""
        reasons = self.link.other_reasons if self.link else []
        return [reason for reason in reasons if not _is_fact(reason)]


def pair_link(left: News, right: News) -> PairLink | None:
    low, high = sorted((left.pk, right.pk))
    link = NewsLink.objects.filter(low=low, high=high).first()
    return PairLink(link, left_is_low=low == left.pk) if link else None


def pair_of(link: NewsLink) -> tuple[News, News]:
    """A link's articles with their texts, in canonical order: left is the earlier one."""
    pair = News.objects.select_related("text").filter(pk__in=(link.low_id, link.high_id))
    left, right = sorted(pair, key=lambda news: (news.canonical_key, news.pk))
    return left, right


def compare(
    left: News,
    right: News,
    ignore: diff.Ignore,
    cleaned: bool = False,
    reasons: Iterable[Reason] | None = None,
) -> Comparison:
    """What a person sees of a pair. `cleaned` shows the texts as they were judged, else as they came in.

    `reasons` of a judgement made just now count instead of the stored link's.
    """
    link = pair_link(left, right)
    if reasons is None and link:
        reasons = link.reasons
    return side_by_side(left, right, ignore, cleaned, reasons, link)


def side_by_side(
    left: News,
    right: News,
    ignore: diff.Ignore,
    cleaned: bool = False,
    reasons: Iterable[Reason] | None = None,
    link: PairLink | None = None,
) -> Comparison:
    """The same of articles that need not be stored."""
    facts = differing_facts(reasons or ())

    def find(*texts: str) -> tuple[list[diff.Range], list[diff.Range]]:
        one, other = (
            diff.occurrences(text, [fact[side] for fact in facts]) for side, text in enumerate(texts)
        )
        return one, other

    titles = [_title(news, cleaned) for news in (left, right)]
    bodies = [_body(news, cleaned) for news in (left, right)]
    return Comparison(
        left,
        right,
        title=diff.diff_line(titles[0], titles[1], ignore, find),
        body=diff.diff(bodies[0], bodies[1], ignore, find),
        link=link,
        facts=facts,
    )


def differing_facts(reasons: Iterable[Reason]) -> list[tuple[str, str]]:
    """The facts that the judge found to differ, as (left, right)."""
    return [
        (str(reason.get("left", "")), str(reason.get("right", ""))) for reason in reasons if _is_fact(reason)
    ]


def _is_fact(reason: Reason) -> bool:
    return str(reason.get("code", "")).endswith("_differs")


def _title(news: News, cleaned: bool) -> str:
    return news.text.title if cleaned and hasattr(news, "text") else news.title


def _body(news: News, cleaned: bool) -> str:
    if cleaned and hasattr(news, "text"):
        return news.text.body
    return readable(news.content)


def readable(content: str) -> str:
    """A raw body as a person reads it: markup gone, nothing else."""
    return squeeze_spaces(strip_markup(drop_invisible(replace_surrogates(content))))
