"""Articles and links out, as CSV. Values are raw, for machines: a spreadsheet may take "=..." for a formula.

Memory stays the same however many there are: rows are read in pages by id. Django's iterator() would not
do, since the MySQL client fetches a whole result before its first row.
"""

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db.models import F, QuerySet
from django.utils import timezone

from articles.models import News, NewsCluster, NewsLink
from articles.reasons import render

PAGE = 1000
NEWS_COLUMNS = (
    *("id", "external_id", "title", "source", "url", "published_at", "verdict", "cluster_id", "is_lead"),
    *("duplicate_of", "hamming", "score", "reason"),
)
LINK_COLUMNS = (
    *("left_external_id", "right_external_id", "kind", "status", "hamming", "score"),
    *("containment_left", "containment_right", "reason"),
)

Progress = Callable[[int], None]


def export_news(path: str | Path, progress: Progress | None = None) -> int:
    """Write one row per article; the file appears whole or not at all.

    Args:
        progress: called with the number of rows written since the last call.

    Returns:
        The number of rows.

    Raises:
        OSError: the file cannot be written.
    """
    pages = _pages(News.objects.order_by("pk"), _NEWS_FIELDS)
    return _write(Path(path), NEWS_COLUMNS, map(_news_rows, pages), progress)


def export_links(path: str | Path, progress: Progress | None = None) -> int:
    """Write one row per link, left before right in canonical order; otherwise like `export_news`."""
    pages = _pages(NewsLink.objects.order_by("pk"), _LINK_FIELDS)
    return _write(Path(path), LINK_COLUMNS, map(_link_rows, pages), progress)


def _pages(rows: QuerySet[Any], fields: Sequence[str]) -> Iterator[list[dict[str, Any]]]:
    last = 0
    while page := list(rows.filter(pk__gt=last).values(*fields)[:PAGE]):
        yield page
        last = page[-1]["pk"]


def _write(
    path: Path, columns: Sequence[str], pages: Iterable[Sequence[Sequence[Any]]], progress: Progress | None
) -> int:
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    count = 0
    try:
        with partial.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            for page in pages:
                writer.writerows(page)
                count += len(page)
                if progress:
                    progress(len(page))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return count


def _date(value: datetime | None) -> str:
    return timezone.localtime(value).isoformat() if value else ""


# --- Articles ---------------------------------------------------------------------------------------------

_NEWS_FIELDS = (
    *("pk", "external_id", "title", "source", "url", "published_at", "verdict", "cluster_id"),
    *("cluster__lead_id", "cluster__lead__external_id"),
)
_BEST_FIELDS = ("low_id", "high_id", "score", "hamming", "reasons")


def _news_rows(page: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    best = _best_links([row for row in page if row["cluster_id"] and row["pk"] != row["cluster__lead_id"]])
    return [_news_row(row, best.get(row["pk"])) for row in page]


def _news_row(row: dict[str, Any], link: dict[str, Any] | None) -> tuple[Any, ...]:
    lead = row["cluster__lead_id"]
    return (
        row["pk"],
        row["external_id"] or row["pk"],
        row["title"],
        row["source"],
        row["url"],
        _date(row["published_at"]),
        row["verdict"],
        row["cluster_id"],
        int(lead == row["pk"]),
        "" if lead in (None, row["pk"]) else row["cluster__lead__external_id"] or lead,
        *((link["hamming"], link["score"], render(link["reasons"])) if link else ("", "", "")),
    )


def _best_links(rows: Sequence[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """For each article its folded link to the lead, else its strongest one within the cluster."""
    folded = NewsLink.objects.filter(NewsLink.FOLDED)
    ids = [row["pk"] for row in rows]
    best = _by_article(folded.filter(low__in=ids, high=F("low__cluster__lead")), "low_id")
    best |= _by_article(folded.filter(high__in=ids, low=F("high__cluster__lead")), "high_id")
    others = [pk for pk in ids if pk not in best]
    within = folded.filter(low__cluster=F("high__cluster"))
    # The strongest comes last and stays. Ties are broken so that two exports say the same.
    found = [
        (link["score"], -link["low_id"], -link["high_id"], pk, link)
        for pk in ("low_id", "high_id")
        for link in within.filter(**{f"{pk.removesuffix('_id')}__in": others}).values(*_BEST_FIELDS)
    ]
    for *_, pk, link in sorted(found, key=lambda item: item[:3]):
        best[link[pk]] = link
    return best


def _by_article(links: QuerySet[NewsLink], key: str) -> dict[int, dict[str, Any]]:
    return {link[key]: link for link in links.values(*_BEST_FIELDS)}


# --- Links ------------------------------------------------------------------------------------------------

_LINK_FIELDS = (
    *("pk", "kind", "status", "hamming", "score", "containment_low", "containment_high", "reasons"),
    *(
        "low_id",
        "low__external_id",
        "low__canonical_key",
        "high_id",
        "high__external_id",
        "high__canonical_key",
    ),
)


def _link_rows(page: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [_link_row(link) for link in page]


def _link_row(link: dict[str, Any]) -> tuple[Any, ...]:
    left, right = sorted(
        ("low", "high"), key=lambda side: (link[f"{side}__canonical_key"], link[f"{side}_id"])
    )
    return (
        link[f"{left}__external_id"] or link[f"{left}_id"],
        link[f"{right}__external_id"] or link[f"{right}_id"],
        link["kind"],
        link["status"],
        link["hamming"],
        link["score"],
        link[f"containment_{left}"],
        link[f"containment_{right}"],
        render(link["reasons"]),
    )


# --- Clusters ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Member:
    """An article in a cluster, under the id that exports use."""

    id: str
    title: str
    source: str
    published_at: str
    is_lead: bool


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster as the command line shows it; the lead is its first member."""

    id: int
    size: int
    members: list[Member]


def clusters(limit: int, members: int = 20) -> list[Cluster]:
    """The largest clusters, each with its lead and at most `members` articles."""
    found = (
        NewsCluster.objects.exclude(state=NewsCluster.State.MERGED).filter(size__gt=1).order_by("-size", "pk")
    )
    return [Cluster(row.pk, row.size, _members(row, members)) for row in found[:limit]]


def _members(cluster: NewsCluster, limit: int) -> list[Member]:
    lead_id = cluster.lead_id or 0
    rows = News.objects.filter(cluster=cluster).only("title", "source", "external_id", "published_at")
    lead = rows.filter(pk=lead_id)
    others = rows.exclude(pk=lead_id).order_by("canonical_key", "pk")[: limit - 1]
    return [
        Member(row.public_id, row.title, row.source, _date(row.published_at), row.pk == lead_id)
        for row in (*lead, *others)
    ]
