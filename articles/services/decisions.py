"""How one decision is carried out, recorded and taken back; what may be decided stands in services.review.

A decision stores the rows it touches as they were before and after. An undo restores the former ones exactly,
and refuses where the later ones are no longer there: somebody else decided since.

    links       "low-high" -> deciding columns, None where there was no link
    clusters    id -> deciding columns of the clusters that the decision is about
    retired     id -> the same of those that went up in another one by it
    homes       article -> cluster, of all articles that changed theirs by it
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Protocol

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from articles.models import BulkRun, ClusterLock, News, NewsCluster, NewsDecision, NewsLink
from articles.services import clustering, sql

Action = NewsDecision.Action
Pair = tuple[int, int]
Columns = dict[str, Any]

MAX_NOTE = 500
UPDATE_BATCH = 500
LINK_FIELDS = (
    *("kind", "status", "locked", "score", "hamming", "containment_low", "containment_high"),
    *("reasons", "rules_version", "text_changed", "unsure"),
)
# What settles pairs one by one. To confirm a whole group says little of each.
OVERTURNING = (Action.VERDICT, Action.REMOVE_MEMBER, Action.SPLIT)
CLUSTER_FIELDS = ("state", "lead_locked", "lead_id", "reviewed_by_id", "reviewed_at")


class ReviewError(Exception):
    """A decision that cannot be carried out; the message tells the person why and what to do."""


class ConflictError(ReviewError):
    """What the person saw is no longer what is there: somebody else decided meanwhile."""


class BlockedError(ReviewError):
    """Somebody's earlier verdict stands against it."""


@dataclass(slots=True)
class _Snapshot:
    links: dict[str, Columns | None] = field(default_factory=dict)
    clusters: dict[str, Columns | None] = field(default_factory=dict)
    retired: dict[str, Columns] = field(default_factory=dict)
    homes: dict[str, int | None] = field(default_factory=dict)


class Remember(Protocol):
    """Keeps rows as they are now, before they are changed."""

    def __call__(self, pairs: Iterable[Pair] = (), clusters: Iterable[int] = ()) -> None: ...


def decide(
    action: str,
    actor: User | None,
    note: str,
    pairs: Sequence[Pair],
    write: Callable[[Remember], None],
    *,
    cluster: NewsCluster | None = None,
    seeds: Iterable[int | None] = (),
    verdict: str = "",
    bulk: BulkRun | None = None,
    check: Callable[[], None] | None = None,
) -> NewsDecision:
    """Run `write` under the lock, with what it names kept before and after, and cluster anew.

    Args:
        pairs: the first one is named in the record; else the cluster's lead is.
        seeds: articles to cluster anew besides those of the links that were remembered.
        check: called at last; what it raises takes all back.
    """
    with transaction.atomic():
        ClusterLock.take()
        before = _Snapshot()

        def remember(pairs: Iterable[Pair] = (), clusters: Iterable[int] = ()) -> None:
            before.links |= _links(list(pairs))
            before.clusters |= _clusters(list(clusters))

        write(remember)
        touched = _pairs_of(before.links)
        ids = {id_ for pair in touched for id_ in pair} | {id_ for id_ in seeds if id_}
        homes = _homes(ids)
        whole = _clusters({home for home in homes.values() if home})
        clustering.recluster(ids)
        if check:
            check()
        after = _Snapshot(_links(touched), _clusters([int(pk) for pk in before.clusters]))
        _note_moves(before, after, homes, whole)
        return _record(action, actor, note, pairs, before, after, cluster, verdict, bulk)


def undo(decision_id: int, actor: User | None) -> NewsDecision:
    """Restore exactly what was before a decision.

    Raises:
        ConflictError: it was undone already, or somebody changed the same rows since; nothing is changed.
    """
    with transaction.atomic():
        ClusterLock.take()
        decision = NewsDecision.objects.get(pk=decision_id)
        if decision.action == Action.UNDO or hasattr(decision, "undone_by"):
            raise ConflictError(gettext("This decision has been undone already."))
        if not _stands(decision.after):
            raise ConflictError(_who_changed(decision))
        left = _restore(decision.before, decision.after)
        undone = NewsDecision.objects.create(
            actor=actor,
            action=Action.UNDO,
            verdict=decision.verdict,
            left=decision.left,
            right=decision.right,
            left_title=decision.left_title,
            right_title=decision.right_title,
            cluster=decision.cluster,
            before=decision.after,
            after=decision.before,
            undoes=decision,
            created_at=timezone.now(),
        )
        clustering.recluster(_seeds(decision))
        clustering.retire_empty(left)
    return undone


def left_out(decision: NewsDecision) -> list[int]:
    """Of a pair called a duplicate: articles of its two groups that are in none with it all the same.

    A person keeps them apart from one of the others, or a fact does.
    """
    if (decision.action, decision.verdict) != (Action.VERDICT, "duplicate"):
        return []
    homes: dict[int, int | None] = dict(
        News.objects.filter(pk__in=[id_ for id_ in (decision.left_id, decision.right_id) if id_]).values_list(
            "pk", "cluster"
        )
    )
    home = homes.get(decision.left_id or 0)
    moved = decision.after["homes"].items()
    out = {int(id_) for id_, where in moved if where != home and decision.before["homes"].get(id_)}
    return sorted(out | {id_ for id_, where in homes.items() if where is None or where != home})


def pair_of(one: int, other: int) -> Pair:
    if one == other:
        raise ReviewError(gettext("Choose two different articles."))
    return min(one, other), max(one, other)


def pair_name(pair: Pair) -> str:
    return f"{pair[0]}-{pair[1]}"


def _record(
    action: str,
    actor: User | None,
    note: str,
    pairs: Sequence[Pair],
    before: _Snapshot,
    after: _Snapshot,
    cluster: NewsCluster | None,
    verdict: str,
    bulk: BulkRun | None,
) -> NewsDecision:
    left_id, right_id = pairs[0] if pairs else (cluster.lead_id if cluster else None, None)
    rows = News.objects.filter(pk__in=[left_id, right_id]).values_list("pk", "title")
    titles: dict[int | None, str] = dict(rows)
    folded_kind, upheld = _outcome(before, after) if action in OVERTURNING else ("", None)
    return NewsDecision.objects.create(
        actor=actor,
        action=action,
        verdict=verdict,
        note=note.strip()[:MAX_NOTE],
        left_id=left_id,
        right_id=right_id,
        left_title=titles.get(left_id, ""),
        right_title=titles.get(right_id, ""),
        cluster=cluster,
        bulk=bulk,
        folded_kind=folded_kind,
        upheld=upheld,
        before=asdict(before),
        after=asdict(after),
        created_at=timezone.now(),
    )


def _outcome(before: _Snapshot, after: _Snapshot) -> tuple[str, bool | None]:
    """(the machine's kind, whether a person agrees) of a fold that was settled; once a decision.

    Of articles that leave a group together the links are confirmed: what was taken apart counts.
    """
    settled = {NewsLink.Status.CONFIRMED: True, NewsLink.Status.REJECTED: False}
    found = [
        (link["kind"], settled[now["status"]])
        for name, link in before.links.items()
        if link and link["status"] == NewsLink.Status.AUTO and link["kind"] in NewsLink.FOLDING_KINDS
        if (now := after.links.get(name)) and now["status"] in settled
    ]
    return min(found, key=lambda outcome: outcome[1], default=("", None))


# --- what is there ----------------------------------------------------------------------------------------


def _links(pairs: Sequence[Pair]) -> dict[str, Columns | None]:
    found: dict[str, Columns | None] = {pair_name(pair): None for pair in pairs}
    for link in stored_links(pairs):
        found[pair_name((link.low_id, link.high_id))] = {name: getattr(link, name) for name in LINK_FIELDS}
    return found


def stored_links(pairs: Sequence[Pair]) -> list[NewsLink]:
    """Those of the pairs that have a link."""
    wanted = set(pairs)
    return [
        link
        for chunk in sql.chunks(sorted({low for low, _ in pairs}), sql.PARAMETERS)
        for link in NewsLink.objects.filter(low__in=chunk).order_by()
        if (link.low_id, link.high_id) in wanted
    ]


def _clusters(ids: Collection[int]) -> dict[str, Columns | None]:
    found: dict[str, Columns | None] = {str(pk): None for pk in ids}
    for cluster in NewsCluster.objects.filter(pk__in=ids).order_by():
        columns = {name: getattr(cluster, name) for name in CLUSTER_FIELDS}
        if cluster.reviewed_at:
            columns["reviewed_at"] = cluster.reviewed_at.isoformat()
        found[str(cluster.pk)] = columns
    return found


def _homes(ids: Collection[int]) -> dict[int, int | None]:
    """The cluster of each of these articles, and of all others of those clusters."""
    homes: dict[int, int | None] = dict(
        sql.select_in("SELECT id, cluster_id FROM news WHERE id IN ({values})", ids)
    )
    clusters = {home for home in homes.values() if home}
    return homes | dict(
        sql.select_in("SELECT id, cluster_id FROM news WHERE cluster_id IN ({values})", clusters)
    )


def _note_moves(
    before: _Snapshot, after: _Snapshot, homes: dict[int, int | None], whole: dict[str, Columns | None]
) -> None:
    """Which articles changed their cluster, and which clusters are gone."""
    now = dict(sql.select_in("SELECT id, cluster_id FROM news WHERE id IN ({values})", homes))
    for id_, home in homes.items():
        if now.get(id_) != home:
            before.homes[str(id_)], after.homes[str(id_)] = home, now.get(id_)
    merged = NewsCluster.objects.filter(pk__in=[int(pk) for pk in whole], state=NewsCluster.State.MERGED)
    for pk in merged.order_by().values_list("pk", flat=True):
        before.retired[str(pk)] = whole[str(pk)] or {}


# --- undoing ----------------------------------------------------------------------------------------------


def _stands(after: dict[str, Any]) -> bool:
    """Whether what a decision left is still there."""
    if _links(_pairs_of(after["links"])) != after["links"]:
        return False
    now = _clusters([int(pk) for pk in after["clusters"]])
    return all(_same(now[pk], columns) for pk, columns in after["clusters"].items())


def _same(now: Columns | None, then: Columns | None) -> bool:
    """Whether a cluster is as it was left. A lead that nobody chose may have given way to another one."""
    if now is None or then is None:
        return now is then
    names = then.keys() - (set() if then["lead_locked"] else {"lead_id"})
    return all(now[name] == then[name] for name in names)


def _who_changed(decision: NewsDecision) -> str:
    same = Q(left=decision.left_id, right=decision.right_id) if decision.right_id else Q(pk=None)
    if decision.cluster_id:
        same |= Q(cluster=decision.cluster_id)
    later = (
        NewsDecision.objects.filter(same, pk__gt=decision.pk).select_related("actor").order_by("-pk").first()
    )
    if later is None or later.actor is None:
        return gettext("Somebody changed this since; look at it again before you change it.")
    return gettext(
        "%(who)s changed this since (%(what)s, %(when)s); look at it again before you change it."
    ) % {
        "who": later.actor.get_username(),
        "what": later.get_action_display(),
        "when": moment(later.created_at),
    }


def moment(when: datetime) -> str:
    return timezone.localtime(when).strftime("%Y-%m-%d %H:%M")


def _restore(before: dict[str, Any], after: dict[str, Any]) -> dict[int, int | None]:
    """Returns the clusters that articles left by it, and where these went."""
    _restore_links(before["links"])
    for pk, columns in before["clusters"].items():
        _restore_cluster(NewsCluster.objects.filter(pk=int(pk)), columns)
    for pk, columns in before.get("retired", {}).items():
        retired = NewsCluster.objects.filter(pk=int(pk), state=NewsCluster.State.MERGED)
        _restore_cluster(retired, columns)
    return _bring_home(before.get("homes", {}), after.get("homes", {}))


def _restore_links(links: dict[str, Columns | None]) -> None:
    stored = stored_links(_pairs_of(links))
    changed, gone = [], []
    for link in stored:
        columns = links[pair_name((link.low_id, link.high_id))]
        if columns is None:
            gone.append(link.pk)
            continue
        for name, value in columns.items():
            setattr(link, name, value)
        changed.append(link)
    NewsLink.objects.filter(pk__in=gone).delete()
    NewsLink.objects.bulk_update(changed, LINK_FIELDS, batch_size=UPDATE_BATCH)


def _restore_cluster(cluster: QuerySet[NewsCluster], columns: Columns | None) -> None:
    if columns is not None:
        lead = News.objects.filter(pk=columns["lead_id"]).values_list("pk", flat=True).first()
        cluster.update(**columns | {"lead_id": lead})


def _bring_home(before: dict[str, int | None], after: dict[str, int | None]) -> dict[int, int | None]:
    """Articles that are where the decision put them go back.

    Clusters are derived as ever after this; but where an article was decides which of a reviewed cluster's
    copies it belongs to, and which id is kept.
    """
    ways: dict[tuple[int | None, int | None], list[int]] = defaultdict(list)
    for id_, home in before.items():
        ways[home, after.get(id_)].append(int(id_))
    there = set(NewsCluster.objects.filter(pk__in=[h for h, _ in ways if h]).values_list("pk", flat=True))
    for (home, left_at), ids in ways.items():
        if home is None or home in there:
            for chunk in sql.chunks(ids, sql.PARAMETERS):
                News.objects.filter(pk__in=chunk, cluster=left_at).update(cluster=home)
    return {left_at: home for home, left_at in ways if left_at}


def _seeds(decision: NewsDecision) -> set[int]:
    ids = {id_ for pair in _pairs_of(decision.before["links"]) for id_ in pair}
    ids |= {int(id_) for id_ in decision.before.get("homes", {})}
    if decision.cluster_id:
        ids |= set(News.objects.filter(cluster=decision.cluster_id).values_list("pk", flat=True)[:1])
    return ids


def _pairs_of(links: dict[str, Any]) -> list[Pair]:
    pairs = []
    for name in links:
        low, high = name.split("-")
        pairs.append((int(low), int(high)))
    return pairs
