"""Links -> clusters, derived at any time from those of a connected component; the only writer of clusters."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from django.db import transaction
from django.utils import timezone

from articles.dedup.cluster import Member, partition
from articles.dedup.verdict import APART, PARTIAL
from articles.models import ClusterLock, News, NewsCluster, NewsLink
from articles.services import queue, sql
from articles.services.candidates import load_members
from articles.services.rules import current_rules

Pair = tuple[int, int]
REBUILD_BATCH = 2_000
# Rows of the database, as model instances take ten times as long; and of the reasons only what
# `Verdict.keeps_apart` looks for, as JSON takes as long to read as all the rest.
LINKS = """
    SELECT id, low_id, high_id, kind, status, score, unsure,
        CASE WHEN containment_low < containment_high THEN containment_low ELSE containment_high END,
        INSTR(reasons, '_differs"') > 0
    FROM news_link WHERE low_id IN ({values}) AND kind <> 'related'
"""


class _Link(NamedTuple):
    id: int
    low: int
    high: int
    kind: str
    status: str
    score: float
    unsure: bool
    containment: float
    fact_differs: bool


@dataclass(slots=True)
class _Links:
    """The links among a set of articles, by what they mean to clustering.

    machine: id, pair and status of each link by which the machine would fold; scores: of all that fold.
    """

    folded: dict[Pair, float] = field(default_factory=dict)
    confirmed: set[Pair] = field(default_factory=set)
    apart: set[Pair] = field(default_factory=set)
    rejected: set[Pair] = field(default_factory=set)
    partial: set[Pair] = field(default_factory=set)
    linked: set[Pair] = field(default_factory=set)
    machine: list[tuple[int, Pair, str]] = field(default_factory=list)
    scores: dict[int, list[tuple[int, float, int]]] = field(default_factory=lambda: defaultdict(list))


def recluster(seeds: Collection[int]) -> set[int]:
    """Cluster anew every component that the given articles touch or belonged to.

    Must run inside a transaction that holds the ClusterLock. Returns the ids of all articles looked at.
    """
    ids = _closure(set(seeds))
    reviewed = _reviewed(ids)
    _derive(ids, reviewed)
    if set(reviewed.values()) != set(_reviewed(ids).values()):
        # A reviewed cluster that is no more bars nothing any longer.
        _derive(ids, _reviewed(ids))
    queue.refresh(ids)
    return ids


def _derive(ids: set[int], reviewed: dict[int, int]) -> None:
    members = _members(ids, reviewed)
    links = _load_links(ids, reviewed)
    window = current_rules().window
    wanted = [
        cluster
        for component, inside in _components(members, links)
        for cluster in partition(
            component,
            inside.folded,
            inside.confirmed,
            inside.apart,
            inside.rejected,
            inside.partial,
            inside.linked,
            window,
        )
        if len(cluster) > 1
    ]
    _derive_status(links, wanted)
    _store(wanted, ids, links, members)


def rebuild_all(progress: Callable[[int], None] | None = None) -> int:
    """Derive all clusters again from the links; returns how many there are. Stable ids, batch by batch."""
    last = 0
    while True:
        batch = list(
            News.objects.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:REBUILD_BATCH]
        )
        if not batch:
            break
        last = batch[-1]
        with transaction.atomic():
            ClusterLock.take()
            recluster(batch)
        if progress:
            progress(len(batch))
    queue.remove_stray()
    return NewsCluster.objects.exclude(state=NewsCluster.State.MERGED).count()


def retire_deserted(clusters: Collection[int]) -> int:
    """Close those of the clusters all of whose articles were deleted. Returns how many.

    Without the ClusterLock, for which a deletion that holds its rows must not wait: nothing joins a cluster
    that has no articles.
    """
    deserted = NewsCluster.objects.filter(pk__in=clusters, members=None)
    return deserted.exclude(state=NewsCluster.State.MERGED).update(
        state=NewsCluster.State.MERGED,
        size=0,
        lead=None,
        weakest_link=None,
        merged_into=None,
        changed_at=timezone.now(),
    )


def retire_empty(homes: Mapping[int, int | None]) -> None:
    """Clusters that lost all their articles lead on to where these went; must follow a recluster."""
    clusters = NewsCluster.objects.filter(pk__in=homes).exclude(state=NewsCluster.State.MERGED)
    _retire({cluster.pk: cluster for cluster in clusters}, set(), homes)


def _closure(seeds: set[int]) -> set[int]:
    """The articles of every component and cluster that the seeds are part of."""
    found: set[int] = set()
    new = set(seeds)
    while new:
        found |= new
        statement = "SELECT DISTINCT cluster_id FROM news WHERE id IN ({values}) AND cluster_id IS NOT NULL"
        clusters = [cluster for (cluster,) in sql.select_in(statement, new)]
        mates = sql.select_in("SELECT id FROM news WHERE cluster_id IN ({values})", clusters)
        new = (_joined_to(new) | {id_ for (id_,) in mates}) - found
    return found


def _joined_to(ids: set[int]) -> set[int]:
    neighbours: set[int] = set()
    for near, far in (("low_id", "high_id"), ("high_id", "low_id")):
        for chunk in sql.chunks(sorted(ids), sql.CHUNK):
            links = NewsLink.objects.filter(NewsLink.JOINING, **{f"{near}__in": chunk}).order_by()
            neighbours.update(links.values_list(far, flat=True))
    return neighbours


def _reviewed(ids: set[int]) -> dict[int, int]:
    """article -> its cluster, where a person has reviewed that: it takes in nothing more by itself."""
    found: dict[int, int] = {}
    for chunk in sql.chunks(sorted(ids), sql.CHUNK):
        rows = News.objects.filter(pk__in=chunk, cluster__state=NewsCluster.State.REVIEWED).order_by()
        found.update(rows.values_list("id", "cluster_id"))
    return found


def _members(ids: set[int], reviewed: dict[int, int]) -> dict[int, Member]:
    """Copies of a text in a reviewed cluster are a node apart from copies that came since."""
    members = load_members(ids)
    for id_ in reviewed.keys() & members.keys():
        title, content = members[id_].text_key
        members[id_] = replace(members[id_], text_key=(title, f"{content}@{reviewed[id_]}"))
    return members


def _load_links(ids: set[int], reviewed: dict[int, int]) -> _Links:
    links = _Links()
    for row in sql.select_in(LINKS, ids):
        link = _Link(*row)
        if link.high in ids:
            _sort_in(link, links, reviewed)
    return links


def _sort_in(link: _Link, links: _Links, reviewed: dict[int, int]) -> None:
    pair = (link.low, link.high)
    links.linked.add(pair)
    joins = link.status == NewsLink.Status.CONFIRMED
    if link.status == NewsLink.Status.REJECTED:
        links.rejected.add(pair)
    elif joins:
        links.confirmed.add(pair)
    elif link.kind in NewsLink.FOLDING_KINDS and not link.unsure:
        joins = True
        links.machine.append((link.id, pair, link.status))
        if reviewed.get(link.low) == reviewed.get(link.high):
            links.folded[pair] = link.score
            if link.containment < PARTIAL:
                links.partial.add(pair)
    elif link.fact_differs and link.kind in APART:
        links.apart.add(pair)
    if joins:
        links.scores[link.low].append((link.high, link.score, link.id))


def _components(members: dict[int, Member], links: _Links) -> list[tuple[list[Member], _Links]]:
    """Connected components of more than one article, by union-find, each with its own links."""
    parent = {id_: id_ for id_ in members}

    def root(id_: int) -> int:
        while parent[id_] != id_:
            parent[id_] = parent[parent[id_]]
            id_ = parent[id_]
        return id_

    for low, high in (*links.folded, *links.confirmed):
        if low in parent and high in parent:
            parent[root(low)] = root(high)
    groups: dict[int, tuple[list[Member], _Links]] = defaultdict(lambda: ([], _Links()))
    for id_, member in members.items():
        groups[root(id_)][0].append(member)
    for (low, high), score in links.folded.items():
        if low in parent and high in parent:
            groups[root(low)][1].folded[low, high] = score
    for name in ("confirmed", "apart", "rejected", "partial", "linked"):
        for low, high in getattr(links, name):
            if low in parent and high in parent and root(low) == root(high):
                getattr(groups[root(low)][1], name).add((low, high))
    return [group for group in groups.values() if len(group[0]) > 1]


def _derive_status(links: _Links, wanted: Sequence[list[int]]) -> None:
    """A machine's link whose articles did not meet waits for a person; one whose articles met does not."""
    home = {id_: number for number, ids_ in enumerate(wanted) for id_ in ids_}
    changed: dict[str, list[int]] = defaultdict(list)
    for id_, (low, high), status in links.machine:
        met = low in home and home[low] == home.get(high)
        right = NewsLink.Status.AUTO if met else NewsLink.Status.PENDING
        if status != right:
            changed[right].append(id_)
    for status, ids in changed.items():
        for chunk in sql.chunks(ids, sql.CHUNK):
            NewsLink.objects.filter(pk__in=chunk).update(status=status)


# --- storing ----------------------------------------------------------------------------------------------


def _store(wanted: Sequence[list[int]], ids: set[int], links: _Links, members: dict[int, Member]) -> None:
    """Write what changed: cluster rows first, then the articles' columns."""
    current: dict[int, int | None] = {}
    lead_of_row: dict[int, tuple[str, int | None, int | None]] = {}
    for chunk in sql.chunks(sorted(ids), sql.CHUNK):
        rows = News.objects.filter(pk__in=chunk).order_by()
        for id_, cluster, verdict, lead in rows.values_list("id", "cluster_id", "verdict", "duplicate_of_id"):
            current[id_] = cluster
            lead_of_row[id_] = (verdict, cluster, lead)
    known = {
        cluster.pk: cluster
        for cluster in NewsCluster.objects.filter(pk__in={c for c in current.values() if c}).order_by("pk")
    }
    assigned = _assign(wanted, current, known)
    pending = _with_pending_links(ids)
    changes: list[tuple[str, int | None, int | None, int]] = []
    clustered: set[int] = set()
    for kept, ids_ in assigned:
        lead = kept.lead_id if kept.lead_locked and kept.lead_id in ids_ else ids_[0]
        saved = _save_cluster(kept, lead, ids_, links, members)
        clustered.update(ids_)
        for id_ in ids_:
            row = ("lead", saved.pk, None) if id_ == lead else ("duplicate", saved.pk, lead)
            if lead_of_row.get(id_) != row:
                changes.append((*row, id_))
    for id_ in ids - clustered:
        alone = ("suspected" if id_ in pending else "unique", None, None)
        if id_ in lead_of_row and lead_of_row[id_] != alone and id_ in members:
            changes.append((*alone, id_))
    _write_articles(changes, {id_ for id_, (_, *home) in lead_of_row.items() if home == [None, None]})
    _retire(known, {cluster.pk for cluster, _ in assigned}, dict(_new_homes(assigned, current)))


def _write_articles(changes: list[tuple[str, int | None, int | None, int]], homeless: set[int]) -> None:
    """Articles that stand alone are most of a batch: one statement for all of the same kind.

    Those that never were in a cluster (`homeless`) keep their places in the indexes of the clusters.
    """
    alone: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for verdict, cluster, _lead, id_ in changes:
        if cluster is None:
            alone[verdict, id_ in homeless].append(id_)
    for (verdict, is_homeless), ids in alone.items():
        left: dict[str, None] = {} if is_homeless else {"cluster": None, "duplicate_of": None}
        for chunk in sql.chunks(ids, sql.CHUNK):
            News.objects.filter(pk__in=chunk).update(verdict=verdict, **left)
    sql.write_many(
        "UPDATE news SET verdict = %s, cluster_id = %s, duplicate_of_id = %s WHERE id = %s",
        sorted((row for row in changes if row[1] is not None), key=lambda row: row[3]),
    )


def _assign(
    wanted: Sequence[list[int]], current: dict[int, int | None], known: dict[int, NewsCluster]
) -> list[tuple[NewsCluster, list[int]]]:
    """Give each wanted cluster its row: the one of its lead, else of its largest part, else a new one."""
    taken: set[int] = set()
    assigned: list[tuple[NewsCluster, list[int]]] = []
    homeless: list[list[int]] = []
    leads = {cluster.lead_id: cluster.pk for cluster in known.values()}
    for ids_ in wanted:
        # Of several, first the one whose lead somebody chose.
        owns = (leads[id_] for id_ in ids_ if id_ in leads and current.get(id_) == leads[id_])
        own = min(owns, key=lambda pk: not known[pk].lead_locked, default=None)
        if own is not None and own not in taken:
            taken.add(own)
            assigned.append((known[own], ids_))
        else:
            homeless.append(ids_)
    for ids_ in homeless:
        parts: dict[int, int] = defaultdict(int)
        for id_ in ids_:
            cluster = current.get(id_)
            if cluster in known and cluster not in taken:
                parts[cluster] += 1
        if parts:
            own = min(parts, key=lambda pk: (-parts[pk], pk))
            taken.add(own)
            assigned.append((known[own], ids_))
        else:
            assigned.append((NewsCluster(), ids_))
    return assigned


def _save_cluster(
    cluster: NewsCluster, lead: int, ids_: list[int], links: _Links, members: dict[int, Member]
) -> NewsCluster:
    inside = set(ids_)
    scores = [(score, link) for id_ in ids_ for other, score, link in links.scores[id_] if other in inside]
    weakest = min(scores, default=(1.0, None))
    dates = sorted(members[id_].published for id_ in ids_ if members[id_].published)  # type: ignore[type-var]
    values: dict[str, Any] = {
        "lead_id": lead,
        "lead_locked": cluster.lead_locked and lead == cluster.lead_id,
        "size": len(ids_),
        "lowest_score": weakest[0],
        "weakest_link_id": weakest[1],
        "first_published": dates[0] if dates else None,
        "last_published": dates[-1] if dates else None,
        "merged_into_id": None,
    }
    if cluster.state == NewsCluster.State.MERGED:
        values["state"] = NewsCluster.State.OPEN
    if cluster.pk and all(getattr(cluster, name) == value for name, value in values.items()):
        return cluster
    for name, value in values.items():
        setattr(cluster, name, value)
    cluster.changed_at = timezone.now()
    if cluster.pk:
        cluster.save(update_fields=[*(name.removesuffix("_id") for name in values), "changed_at"])
    else:
        cluster.created_at = cluster.changed_at
        cluster.save(force_insert=True)
    return cluster


def _new_homes(
    assigned: Sequence[tuple[NewsCluster, list[int]]], current: dict[int, int | None]
) -> Iterable[tuple[int, int]]:
    for cluster, ids_ in assigned:
        for id_ in ids_:
            old = current.get(id_)
            if old and old != cluster.pk:
                yield old, cluster.pk


def _retire(known: dict[int, NewsCluster], kept: set[int], homes: Mapping[int, int | None]) -> None:
    """Clusters without members: their ids lead on to where their articles went, so links keep working."""
    for pk, cluster in known.items():
        if pk not in kept and not News.objects.filter(cluster_id=pk).exists():
            cluster.state, cluster.size = NewsCluster.State.MERGED, 0
            cluster.merged_into_id, cluster.lead_id, cluster.weakest_link_id = homes.get(pk), None, None
            cluster.changed_at = timezone.now()
            cluster.save(update_fields=["state", "size", "merged_into", "lead", "weakest_link", "changed_at"])


def _with_pending_links(ids: set[int]) -> set[int]:
    found: set[int] = set()
    for side in ("low", "high"):
        for chunk in sql.chunks(sorted(ids), sql.CHUNK):
            links = NewsLink.objects.filter(status=NewsLink.Status.PENDING, **{f"{side}__in": chunk}).exclude(
                kind=NewsLink.Kind.RELATED
            )
            found.update(links.order_by().values_list(f"{side}_id", flat=True))
    return found
