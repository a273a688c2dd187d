"""Reads for bulk actions, and for linking and regrouping by hand. Every list is bounded."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from articles import desk, selectors
from articles.models import BulkRun, News, NewsCluster, NewsDecision, NewsLink, ReviewItem

PAGE_SIZE = 50
SHOWN = 50
FOUND = 30
RUNS_SHOWN = 50
SPLIT_SHOWN = 300


def pair_list(**chosen: Any) -> QuerySet[ReviewItem]:
    """Pairs that wait, what needs a person most first."""
    rows = desk.waiting(**chosen).filter(link__isnull=False).exclude(kind=ReviewItem.CHANGED)
    return rows.select_related("lead", "other", "link").defer("lead__content", "other__content")


def read_places(rows: QuerySet[ReviewItem], after: str) -> selectors.Page:
    found = list((desk.following(rows, after) if after else rows)[: PAGE_SIZE + 1])
    more, found = len(found) > PAGE_SIZE, found[:PAGE_SIZE]
    return selectors.Page(found, older=found[-1].place if more else "")


def matching(subject: str, chosen: dict[str, Any], most: int) -> list[int]:
    """The ids of all that match a list's filter and are still open, in the list's order."""
    if subject == BulkRun.Subject.PAIRS:
        return list(pair_list(**chosen).values_list("link_id", flat=True)[:most])
    clusters = selectors.cluster_list(**chosen).filter(state=NewsCluster.State.OPEN)
    return list(clusters.order_by("-last_published", "-id").values_list("pk", flat=True)[:most])


def recent_runs() -> QuerySet[BulkRun]:
    return BulkRun.objects.select_related("actor").defer("items", "refused", "kept", "apart")[:RUNS_SHOWN]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that was left alone, and why."""

    why: str
    cluster: NewsCluster | None = None
    link: NewsLink | None = None


def refused(run: BulkRun) -> list[Refusal]:
    rows = run.refused[:SHOWN]
    ids = [id_ for id_, _ in rows]
    if run.subject == BulkRun.Subject.PAIRS:
        links = NewsLink.objects.select_related("low", "high").defer("low__content", "high__content")
        found = links.in_bulk(ids)
        return [Refusal(why, link=found[id_]) for id_, why in rows if id_ in found]
    clusters = NewsCluster.objects.select_related("lead").defer("lead__content").in_bulk(ids)
    return [Refusal(why, cluster=clusters[id_]) for id_, why in rows if id_ in clusters]


def apart(run: BulkRun) -> list[NewsLink]:
    """Pairs that a run called duplicates, and whose groups did not become one; the first ones."""
    links = NewsLink.objects.select_related("low", "high").defer("low__content", "high__content")
    return list(links.filter(pk__in=run.apart[:SHOWN]).order_by("pk"))


def kept(run: BulkRun) -> list[NewsDecision]:
    """Decisions of a run that could not be undone."""
    return list(
        NewsDecision.objects.filter(pk__in=run.kept[:SHOWN]).select_related("left", "right", "cluster")
    )


# -- by hand -----------------------------------------------------------------------------------------------


def search_news(news: News, q: str) -> list[News]:
    """Other articles that a person may mean: by number, id or address, else by words of the title."""
    exact = [found.pk for found in selectors.find_news(q)]
    rows = News.objects.select_related("cluster").defer("content").exclude(pk=news.pk)
    if exact:
        return list(rows.filter(pk__in=exact))
    return list(selectors.search(rows, q).order_by("-pk")[:FOUND])


def links_with(news: News, others: list[News]) -> dict[int, selectors.PairLink]:
    """What is known already of the article and each of the others."""
    ids = [other.pk for other in others]
    links = NewsLink.objects.filter(Q(low=news, high__in=ids) | Q(high=news, low__in=ids))
    pairs = [selectors.PairLink(link, left_is_low=link.low_id == news.pk) for link in links]
    return {pair.right_id: pair for pair in pairs}


def members_to_split(cluster: NewsCluster) -> list[News]:
    return list(selectors.members_of(cluster)[:SPLIT_SHOWN])
