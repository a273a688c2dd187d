"""What waits for a person, one row for each: derived wherever links and clusters are written, and claimed.

priority = days + UNCERTAIN_DAYS * 4 * score * (1 - score) + SPREAD_DAYS * log2(articles)
    days: when the newest article of it was published, in days since 2020
so that a pair the machine knows nothing of (score 0.5) comes before a sure one three days fresher, and a
cluster of 16 before a pair one and a half days fresher. Time passes for all alike: nothing is computed anew.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from math import log2
from typing import Any

from django.contrib.auth.models import User
from django.db import OperationalError, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from articles.dedup.cluster import plausible
from articles.models import NewsCluster, NewsLink, ReviewItem
from articles.models.waiting import QUEUE_START
from articles.services import sql

UNCERTAIN_DAYS = 3
SPREAD_DAYS = 0.5
# What a person could not tell, and what is only suggested, comes again once what is easier has been done.
UNSURE_DAYS = -7
CLAIM = timedelta(minutes=3)
BATCH = 2_000

# Waits by itself: a pair that no cluster holds together, or one whose text is no longer what was decided on.
WAITING_LINKS = Q(text_changed=True) | Q(status=NewsLink.Status.PENDING) & (
    Q(low__cluster=None) | Q(high__cluster=None) | ~Q(low__cluster=F("high__cluster"))
)
WAITING_CLUSTERS = Q(state=NewsCluster.State.OPEN, size__gt=1, lead__isnull=False)
ARTICLE = ("id", "source", "published_at", "created_at", "canonical_key", "cluster", "cluster__size")
SIDES = ("low", "high")
COLUMNS = ("lead_id", "other_id", "kind", "priority", "score", "size", "source", "published", "unsure")
Row = dict[str, Any]


def priority(published: datetime, score: float, size: int, unsure: bool = False) -> float:
    """Place in the queue, the higher the sooner; see above."""
    days = (published - QUEUE_START) / timedelta(days=1)
    uncertain = UNCERTAIN_DAYS * 4 * score * (1 - score)
    spread = SPREAD_DAYS * log2(max(size, 1))
    return round(days + uncertain + spread + (UNSURE_DAYS if unsure else 0), 4)


def refresh(news_ids: Collection[int]) -> None:
    """Bring the items of these articles in line with their links and clusters; claims stay.

    Must run in the transaction that wrote those, under the ClusterLock.
    """
    for chunk in sql.chunks(sorted(news_ids), sql.CHUNK):
        clusters = _clusters_of(chunk)
        wanted = [*_pairs(chunk), *_clusters(clusters)]
        _store(wanted, _known({"lead": chunk, "other": chunk, "cluster": clusters}))


def remove_stray() -> int:
    """Delete items that nothing waits behind any more; returns how many. A rebuild has written the others."""
    right = Q(link__in=NewsLink.objects.filter(WAITING_LINKS).values("pk")) | Q(
        cluster__in=NewsCluster.objects.filter(WAITING_CLUSTERS).values("pk")
    )
    removed, last = 0, 0
    while ids := list(
        ReviewItem.objects.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:BATCH]
    ):
        last = ids[-1]
        with transaction.atomic():
            items = ReviewItem.objects.filter(pk__in=ids)
            stray = set(ids) - set(items.filter(right).order_by().values_list("pk", flat=True))
            removed += ReviewItem.objects.filter(pk__in=stray).delete()[0]
    return removed


# --- claims -----------------------------------------------------------------------------------------------


def claim(item: ReviewItem, user: User) -> None:
    """Show others that this person has the item open; what the person had open before is free again.

    Nothing depends on it: where somebody else has it, or the database is busy, the item is just shown.
    """
    now = timezone.now()
    if item.claimed_by_id == user.pk and item.claimed_until and item.claimed_until - now > CLAIM / 2:
        return
    free = Q(claimed_by=None) | Q(claimed_by=user) | Q(claimed_until__lt=now)
    try:
        with transaction.atomic():
            ReviewItem.objects.filter(claimed_by=user).exclude(pk=item.pk).update(
                claimed_by=None, claimed_until=None
            )
            taken = ReviewItem.objects.filter(free, pk=item.pk).update(
                claimed_by=user, claimed_until=now + CLAIM
            )
    except OperationalError:
        return
    if taken:
        item.claimed_by, item.claimed_until = user, now + CLAIM


# --- deriving ---------------------------------------------------------------------------------------------


def _clusters_of(ids: Collection[int]) -> list[int]:
    statement = "SELECT DISTINCT cluster_id FROM news WHERE id IN ({values}) AND cluster_id IS NOT NULL"
    return [cluster for (cluster,) in sql.select_in(statement, ids)]


def _known(columns: dict[str, Collection[int]]) -> dict[int, ReviewItem]:
    """Items by any of some columns: one query each, as an OR of long lists makes MySQL read the table."""
    return {
        item.pk: item
        for name, ids in columns.items()
        for item in ReviewItem.objects.filter(**{f"{name}__in": ids}).order_by()
    }


def _pairs(ids: Collection[int]) -> Iterator[Row]:
    sides = [f"{side}__{name}" for side in SIDES for name in ARTICLE]
    links = NewsLink.objects.filter(WAITING_LINKS).order_by()
    rows = _touching(links, ids, "id", "kind", "score", "unsure", "text_changed", *sides)
    for link in _foremost(rows, ids):
        articles = [{name: link[f"{side}__{name}"] for name in ARTICLE} for side in SIDES]
        left, right = sorted(articles, key=lambda news: (news["canonical_key"], news["id"]))
        published = max(_moment(left), _moment(right))
        size = sum(news["cluster__size"] or 1 for news in articles)
        yield {
            "link_id": link["id"],
            "cluster_id": None,
            "lead_id": left["id"],
            "other_id": right["id"],
            "kind": ReviewItem.CHANGED if link["text_changed"] else link["kind"],
            "priority": priority(published, link["score"], size, link["unsure"] or _is_related(link)),
            "score": link["score"],
            "size": size,
            "source": left["source"],
            "published": published,
            "unsure": link["unsure"],
        }


def _touching(links: Any, ids: Collection[int], *columns: str) -> list[Row]:
    rows = links.values("pk", *columns)
    return list({row["pk"]: row for side in SIDES for row in rows.filter(**{f"{side}__in": ids})}.values())


def _foremost(links: list[Row], ids: Collection[int]) -> Iterator[Row]:
    """One pair of the several between the same two groups, and none where a person keeps these apart.

    The articles of a group tell one story in one text: what is said of one of them is said of all.
    """
    columns = [f"{side}__{name}" for side in SIDES for name in ("id", "cluster")]
    rejected = NewsLink.objects.filter(status=NewsLink.Status.REJECTED).order_by()
    met = {_between(link) for link in _touching(rejected, ids, *columns)}
    # What the texts say comes before what is only suggested.
    for link in sorted(links, key=lambda link: (_is_related(link), -link["score"], link["id"])):
        if link["text_changed"]:
            yield link
        elif (groups := _between(link)) not in met:
            met.add(groups)
            yield link


def _is_related(link: Row) -> bool:
    return bool(link["kind"] == NewsLink.Kind.RELATED)


def _between(link: Row) -> frozenset[tuple[bool, int]]:
    """The two groups, or articles without one, that a pair is of."""
    sides = ((link[f"{side}__cluster"], link[f"{side}__id"]) for side in SIDES)
    return frozenset((cluster is None, cluster or news) for cluster, news in sides)


def _clusters(ids: Collection[int]) -> Iterator[Row]:
    own = ("id", "lead_id", "lead__source", "size", "lowest_score", "last_published", "created_at")
    clusters = NewsCluster.objects.filter(WAITING_CLUSTERS, pk__in=ids).order_by()
    confirmed = _confirmed(ids)
    for cluster in clusters.values(*own):
        if _is_settled(cluster["size"], confirmed[cluster["id"]]):
            continue
        published = cluster["last_published"] or cluster["created_at"]
        score = 1.0 if cluster["lowest_score"] is None else cluster["lowest_score"]
        yield {
            "link_id": None,
            "cluster_id": cluster["id"],
            "lead_id": cluster["lead_id"],
            "other_id": None,
            "kind": ReviewItem.CLUSTER,
            "priority": priority(published, score, cluster["size"]),
            "score": score,
            "size": cluster["size"],
            "source": cluster["lead__source"],
            "published": published,
            "unsure": False,
        }


def _confirmed(clusters: Collection[int]) -> dict[int, list[set[int]]]:
    """The pairs within each cluster that a person declared duplicates."""
    links = NewsLink.objects.filter(status=NewsLink.Status.CONFIRMED, low__cluster__in=clusters).order_by()
    found: dict[int, list[set[int]]] = defaultdict(list)
    rows = links.filter(high__cluster=F("low__cluster")).values_list("low__cluster", "low", "high")
    for cluster, low, high in rows:
        found[cluster].append({low, high})
    return found


def _is_settled(size: int, confirmed: list[set[int]]) -> bool:
    """Persons' verdicts alone hold the cluster together: nobody needs to be asked again."""
    if len(confirmed) < size - 1:
        return False
    groups: list[set[int]] = []
    for pair in confirmed:
        met = [group for group in groups if group & pair]
        groups = [group for group in groups if not group & pair] + [pair.union(*met)]
    return len(groups) == 1 and len(groups[0]) == size


def _moment(news: Row) -> datetime:
    """When the article was published; one with no date, or an impossible one, is as old as its row."""
    return plausible(news["published_at"], news["created_at"]) or news["created_at"]


def _store(wanted: list[Row], known: dict[int, ReviewItem]) -> None:
    items = {(item.link_id, item.cluster_id): item for item in known.values()}
    new, changed = [], []
    for row in wanted:
        item = items.pop((row["link_id"], row["cluster_id"]), None)
        if item is None:
            new.append(row)
        elif any(getattr(item, name) != row[name] for name in COLUMNS):
            changed.append((item.pk, row))
    ReviewItem.objects.filter(pk__in=[item.pk for item in items.values()]).delete()
    _update(changed)
    _insert(new)


def _insert(rows: list[Row]) -> None:
    columns = ("link_id", "cluster_id", *COLUMNS, "created_at")
    marks = ", ".join(["%s"] * len(columns))
    statement = f"INSERT INTO news_review_item ({', '.join(columns)}) VALUES ({marks})"
    now = timezone.now()
    sql.write_many(statement, [_values(row | {"created_at": now}, columns) for row in rows])


def _update(rows: list[tuple[int, Row]]) -> None:
    columns = ", ".join(f"{name} = %s" for name in COLUMNS)
    statement = f"UPDATE news_review_item SET {columns} WHERE id = %s"
    sql.write_many(statement, [[*_values(row, COLUMNS), pk] for pk, row in rows])


def _values(row: Row, columns: Collection[str]) -> list[Any]:
    fields = {field.attname: field for field in ReviewItem._meta.concrete_fields}
    return [fields[name].get_db_prep_save(row[name], connection) for name in columns]
