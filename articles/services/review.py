"""A person's decision -> Decision row, links and clusters, in one transaction; and its undo.

A decision stores the rows it touches as they were before and after. An undo restores the former ones exactly,
and refuses where the later ones are no longer there: somebody else decided since.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from articles.models import ClusterLock, News, NewsCluster, NewsDecision, NewsLink
from articles.services import clustering, pipeline

Action = NewsDecision.Action
Kind, Status = NewsLink.Kind, NewsLink.Status
Pair = tuple[int, int]

DUPLICATE, UNSURE = "duplicate", "unsure"
# The verdicts a person may give on a pair. All but the first and the last keep the pair apart for good.
VERDICTS = (DUPLICATE, Kind.UPDATE, Kind.EXCERPT, Kind.SAME_EVENT, Kind.TEMPLATE, Kind.DIFFERENT, UNSURE)
MAX_NOTE = 500
LINK_FIELDS = (
    *("kind", "status", "locked", "score", "hamming", "containment_low", "containment_high"),
    *("reasons", "rules_version", "text_changed", "unsure"),
)
CLUSTER_FIELDS = ("state", "lead_locked", "lead_id", "reviewed_by_id")


class ReviewError(Exception):
    """A decision that cannot be carried out; the message tells the person why and what to do."""


class ConflictError(ReviewError):
    """What the person saw is no longer what is there: somebody else decided meanwhile."""


@dataclass(slots=True)
class _Snapshot:
    """Links by "low-high" and clusters by id, each as a dict of its deciding columns; None: no such row."""

    links: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    clusters: dict[str, dict[str, Any] | None] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"links": self.links, "clusters": self.clusters}


def judge_pair(
    left_id: int,
    right_id: int,
    verdict: str,
    actor: User | None,
    note: str = "",
    seen: str | None = None,
) -> NewsDecision:
    """Record a person's verdict on two articles; it is locked against any later run, except UNSURE.

    Args:
        verdict: one of VERDICTS.
        seen: the link's status as the person saw it; None does not check.

    Raises:
        ConflictError: the link has another status by now.
        ReviewError: an unknown verdict, a pair of one article, or an article that is gone.
    """
    if verdict not in VERDICTS:
        raise ReviewError(gettext("“%(verdict)s” is no verdict.") % {"verdict": verdict})
    pair = _pair(left_id, right_id)

    def write(snapshot: Callable[..., None]) -> None:
        snapshot(pairs=[pair])
        link = _link(pair)
        if seen is not None and link.status != seen and link.pk:
            raise ConflictError(_changed_message(link))
        _apply_verdict(link, verdict)
        link.save()

    return _decide(Action.VERDICT, actor, note, [pair], write, verdict=verdict)


def judge_links(
    link_ids: Sequence[int], verdict: str, actor: User | None, note: str = ""
) -> tuple[int, list[str]]:
    """One verdict on many links, each a decision of its own. Returns their number, and why others failed."""
    links = NewsLink.objects.filter(pk__in=link_ids).order_by("pk").values_list("low_id", "high_id", "status")
    return _each(
        lambda row: judge_pair(row[0], row[1], verdict, actor, note, seen=row[2]),
        list(links),
    )


def confirm_clusters(cluster_ids: Sequence[int], actor: User | None, note: str = "") -> tuple[int, list[str]]:
    """Confirm many clusters, each a decision of its own. Returns how many, and why others were refused."""
    return _each(lambda cluster_id: confirm_cluster(cluster_id, actor, note), sorted(cluster_ids))


def _each(decide: Callable[[Any], NewsDecision], items: Sequence[Any]) -> tuple[int, list[str]]:
    refusals = []
    for item in items:
        try:
            decide(item)
        except ReviewError as error:
            refusals.append(str(error))
    return len(items) - len(refusals), refusals


def confirm_cluster(cluster_id: int, actor: User | None, note: str = "") -> NewsDecision:
    """Confirm a whole cluster: its links are locked, and from now on it changes only by proposals."""
    cluster = _cluster(cluster_id)

    def write(snapshot: Callable[..., None]) -> None:
        links = list(NewsLink.objects.filter(NewsLink.FOLDED, low__cluster=cluster, high__cluster=cluster))
        snapshot(pairs=[(link.low_id, link.high_id) for link in links], clusters=[cluster.pk])
        NewsLink.objects.filter(pk__in=[link.pk for link in links]).update(
            status=Status.CONFIRMED, locked=True, text_changed=False
        )
        NewsCluster.objects.filter(pk=cluster.pk).update(
            state=NewsCluster.State.REVIEWED, reviewed_by=actor, reviewed_at=timezone.now()
        )

    return _decide(Action.CONFIRM_CLUSTER, actor, note, [], write, cluster=cluster, seeds=[cluster.lead_id])


def remove_member(cluster_id: int, news_id: int, actor: User | None, note: str = "") -> NewsDecision:
    """Take an article out of its cluster: it stays apart from the lead and from all it was folded with."""
    cluster = _cluster(cluster_id)
    if not News.objects.filter(pk=news_id, cluster=cluster).exists():
        raise ConflictError(gettext("The article is no longer in this cluster."))

    def write(snapshot: Callable[..., None]) -> None:
        mine = Q(low=news_id, high__cluster=cluster) | Q(high=news_id, low__cluster=cluster)
        pairs = {
            (link.low_id, link.high_id) for link in NewsLink.objects.filter(NewsLink.FOLDED).filter(mine)
        }
        if cluster.lead_id and cluster.lead_id != news_id:
            pairs.add(_pair(news_id, cluster.lead_id))
        snapshot(pairs=sorted(pairs), clusters=[cluster.pk])
        for pair in sorted(pairs):
            link = _link(pair)
            _apply_verdict(link, Kind.DIFFERENT)
            link.save()

    pairs = [_pair(news_id, cluster.lead_id)] if cluster.lead_id and cluster.lead_id != news_id else []
    return _decide(
        Action.REMOVE_MEMBER,
        actor,
        note,
        pairs,
        write,
        cluster=cluster,
        seeds=[news_id],
        verdict=Kind.DIFFERENT,
    )


def set_lead(cluster_id: int, news_id: int, actor: User | None, note: str = "") -> NewsDecision:
    """Choose the lead of a cluster; no earlier article takes its place any more."""
    cluster = _cluster(cluster_id)
    if not News.objects.filter(pk=news_id, cluster=cluster).exists():
        raise ConflictError(gettext("The article is no longer in this cluster."))

    def write(snapshot: Callable[..., None]) -> None:
        snapshot(clusters=[cluster.pk])
        NewsCluster.objects.filter(pk=cluster.pk).update(lead=news_id, lead_locked=True)

    return _decide(Action.SET_LEAD, actor, note, [], write, cluster=cluster, seeds=[news_id])


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
        now = _snapshot(_pairs_of(decision.after["links"]), [int(pk) for pk in decision.after["clusters"]])
        if now.as_json() != decision.after:
            raise ConflictError(
                gettext("Somebody changed this since; look at it again before you change it.")
            )
        _restore(decision.before)
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
        clustering.recluster(_seeds(decision.before, decision))
    return undone


# --- one decision -----------------------------------------------------------------------------------------


def _decide(
    action: str,
    actor: User | None,
    note: str,
    pairs: Sequence[Pair],
    write: Callable[[Callable[..., None]], None],
    *,
    cluster: NewsCluster | None = None,
    seeds: Iterable[int | None] = (),
    verdict: str = "",
) -> NewsDecision:
    """Run `write` under the lock, with what it names kept before and after, and cluster anew."""
    with transaction.atomic():
        ClusterLock.take()
        before = _Snapshot()

        def snapshot(pairs: Iterable[Pair] = (), clusters: Iterable[int] = ()) -> None:
            taken = _snapshot(list(pairs), list(clusters))
            before.links |= taken.links
            before.clusters |= taken.clusters

        write(snapshot)
        touched = _pairs_of(before.links)
        clustering.recluster({id_ for pair in touched for id_ in pair} | {id_ for id_ in seeds if id_})
        after = _snapshot(touched, [int(pk) for pk in before.clusters])
        return _record(action, actor, note, pairs, before, after, cluster, verdict)


def _record(
    action: str,
    actor: User | None,
    note: str,
    pairs: Sequence[Pair],
    before: _Snapshot,
    after: _Snapshot,
    cluster: NewsCluster | None,
    verdict: str,
) -> NewsDecision:
    left_id, right_id = pairs[0] if pairs else (cluster.lead_id if cluster else None, None)
    rows = News.objects.filter(pk__in=[left_id, right_id]).values_list("pk", "title")
    titles: dict[int | None, str] = dict(rows)
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
        before=before.as_json(),
        after=after.as_json(),
        created_at=timezone.now(),
    )


def _pair(one: int, other: int) -> Pair:
    if one == other:
        raise ReviewError(gettext("Choose two different articles."))
    return min(one, other), max(one, other)


def _cluster(cluster_id: int) -> NewsCluster:
    cluster = NewsCluster.objects.filter(pk=cluster_id).exclude(state=NewsCluster.State.MERGED).first()
    if cluster is None:
        raise ConflictError(gettext("This cluster no longer exists; it was merged or dissolved."))
    return cluster


def _link(pair: Pair) -> NewsLink:
    """The pair's link, or a new one with the machine's evidence, not saved yet."""
    link = NewsLink.objects.filter(low=pair[0], high=pair[1]).first()
    if link is not None:
        return link
    try:
        found = pipeline.explain(*pair)
    except News.DoesNotExist:
        raise ConflictError(gettext("One of the articles no longer exists.")) from None
    mirrored = found.left_id != pair[0]
    shares = found.evidence.containment_left, found.evidence.containment_right
    low, high = reversed(shares) if mirrored else shares
    return NewsLink(
        low_id=pair[0],
        high_id=pair[1],
        kind=found.verdict.kind,
        status=Status.PENDING,
        score=found.verdict.score,
        hamming=found.hamming,
        containment_low=round(low, 4),
        containment_high=round(high, 4),
        reasons=list(found.verdict.reasons),
        rules_version=pipeline.current_rules().version,
        created_at=timezone.now(),
    )


def _apply_verdict(link: NewsLink, verdict: str) -> None:
    link.text_changed = False
    link.unsure = verdict == UNSURE
    if verdict == UNSURE:
        link.status, link.locked = Status.PENDING, False
    elif verdict == DUPLICATE:
        link.status, link.locked = Status.CONFIRMED, True
        link.kind = link.kind if link.kind in NewsLink.FOLDING_KINDS else Kind.DUPLICATE
    else:
        link.status, link.locked, link.kind = Status.REJECTED, True, verdict


def _changed_message(link: NewsLink) -> str:
    return gettext("Somebody decided on this pair meanwhile: %(status)s (%(kind)s). Look at it again.") % {
        "status": link.get_status_display(),
        "kind": link.get_kind_display(),
    }


# --- snapshots --------------------------------------------------------------------------------------------


def _snapshot(pairs: Sequence[Pair], clusters: Sequence[int]) -> _Snapshot:
    taken = _Snapshot({_name(pair): None for pair in pairs}, {str(pk): None for pk in clusters})
    lows = {pair[0] for pair in pairs}
    for link in NewsLink.objects.filter(low__in=lows):
        name = _name((link.low_id, link.high_id))
        if name in taken.links:
            taken.links[name] = {column: getattr(link, column) for column in LINK_FIELDS}
    for cluster in NewsCluster.objects.filter(pk__in=clusters):
        taken.clusters[str(cluster.pk)] = {column: getattr(cluster, column) for column in CLUSTER_FIELDS}
    return taken


def _restore(before: dict[str, Any]) -> None:
    for name, columns in before["links"].items():
        low, high = _pair_of(name)
        if columns is None:
            NewsLink.objects.filter(low=low, high=high).delete()
        else:
            NewsLink.objects.update_or_create(low_id=low, high_id=high, defaults=columns)
    for pk, columns in before["clusters"].items():
        if columns is not None:
            NewsCluster.objects.filter(pk=int(pk)).update(**columns)


def _name(pair: Pair) -> str:
    return f"{pair[0]}-{pair[1]}"


def _pair_of(name: str) -> Pair:
    low, high = name.split("-")
    return int(low), int(high)


def _pairs_of(links: dict[str, Any]) -> list[Pair]:
    return [_pair_of(name) for name in links]


def _seeds(snapshot: dict[str, Any], decision: NewsDecision) -> set[int]:
    ids = {id_ for pair in _pairs_of(snapshot["links"]) for id_ in pair}
    if decision.cluster_id:
        ids |= set(News.objects.filter(cluster=decision.cluster_id).values_list("pk", flat=True)[:1])
    return ids
