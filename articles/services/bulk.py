"""One action on many clusters or pairs: previewed, carried out one by one, undone as a whole.

Each item is a decision of its own in a transaction of its own, stored together with how far the run is: a
worker that takes over from a killed one repeats nothing. What somebody changed since the preview is left
alone and reported, and so is what somebody changed since the run when that is undone.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Case, IntegerField, Sum, Value, When
from django.db.models.functions import Coalesce, Length
from django.utils import timezone
from django.utils.translation import gettext

from articles.models import BulkRun, News, NewsCluster, NewsDecision, NewsLink
from articles.services import dispatch, review, sql

State, Subject = BulkRun.State, BulkRun.Subject

CONFIRM = "confirm"
ACTIONS: dict[str, Collection[str]] = {Subject.CLUSTERS: (CONFIRM,), Subject.PAIRS: review.VERDICTS}
EARLIEST, LONGEST, SOURCES = "earliest", "longest", "sources"
# More than this is done in several steps, each with its own preview and undo.
MOST = 5_000
# So many are done while the person waits.
AT_ONCE = 50
SAMPLE = 10
# Without a sign of life for so long, a run is sent to the workers again.
SILENT = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Keeper:
    """Which member of a cluster leads. A lead that somebody chose stays, as does one that no rule names."""

    rule: str = EARLIEST
    sources: tuple[str, ...] = ()

    def lead(self, cluster: NewsCluster) -> int | None:
        """The member that leads from now on; None: the lead stays as it is elected, the earliest."""
        members = News.objects.filter(cluster=cluster).order_by()
        if cluster.lead_locked:
            return None
        if self.rule == LONGEST:
            long = members.annotate(length=Coalesce(Length("text__body"), 0))
            return long.order_by("-length", "canonical_key", "id").values_list("pk", flat=True).first()
        if self.rule == SOURCES and self.sources:
            places = [When(source=name, then=Value(place)) for place, name in enumerate(self.sources)]
            ranked = members.filter(source__in=self.sources).annotate(
                place=Case(*places, default=Value(len(places)), output_field=IntegerField())
            )
            return ranked.order_by("place", "canonical_key", "id").values_list("pk", flat=True).first()
        return None

    def as_json(self) -> dict[str, Any]:
        return {"rule": self.rule, "sources": list(self.sources)}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Keeper":
        return cls(stored.get("rule", EARLIEST), tuple(stored.get("sources", ())))


@dataclass(frozen=True, slots=True)
class Example:
    """One of the things that would change. `lead` is the article that would lead instead."""

    cluster: NewsCluster | None = None
    link: NewsLink | None = None
    lead: News | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """What would happen: `count` of the items would change, `settled` are no longer open."""

    count: int
    settled: int
    articles: int
    examples: list[Example] = field(default_factory=list)


def preview(subject: str, ids: Sequence[int], keeper: Keeper) -> Preview:
    """What an action would change, with the first of it as examples. Writes nothing."""
    open_ids = _open(subject, ids)
    if subject == Subject.PAIRS:
        links = NewsLink.objects.select_related("low", "high").defer("low__content", "high__content")
        found = links.in_bulk(open_ids[:SAMPLE])
        examples = [Example(link=found[id_]) for id_ in open_ids[:SAMPLE] if id_ in found]
        return Preview(len(open_ids), len(ids) - len(open_ids), 2 * len(open_ids), examples)
    clusters = NewsCluster.objects.select_related("lead").defer("lead__content").in_bulk(open_ids[:SAMPLE])
    examples = [_example(clusters[id_], keeper) for id_ in open_ids[:SAMPLE] if id_ in clusters]
    sizes = (
        NewsCluster.objects.filter(pk__in=chunk).aggregate(sum=Sum("size"))["sum"] or 0
        for chunk in sql.chunks(open_ids, sql.PARAMETERS)
    )
    return Preview(len(open_ids), len(ids) - len(open_ids), sum(sizes), examples)


def apply_bulk(
    subject: str,
    ids: Sequence[int],
    action: str,
    keeper: Keeper,
    actor: User | None,
    note: str = "",
    seen_at: datetime | None = None,
) -> BulkRun:
    """Start an action: a short one is done when this returns, a long one by the workers.

    Args:
        seen_at: when the person saw the preview; what changed since is left alone. None: now.

    Raises:
        ReviewError: an unknown action, nothing to do, or too much for one step.
    """
    if action not in ACTIONS.get(subject, ()):
        raise review.ReviewError(gettext("“%(action)s” is no action.") % {"action": action})
    wanted = _open(subject, ids)
    if not wanted:
        raise review.ReviewError(gettext("Nothing is left to do: all of it has been decided."))
    if len(wanted) > MOST:
        raise review.ReviewError(gettext("At most %(number)s at once.") % {"number": f"{MOST:,}"})
    now = timezone.now()
    started = BulkRun.objects.create(
        actor=actor,
        subject=subject,
        action=action,
        keeper=keeper.as_json() if subject == Subject.CLUSTERS else {},
        note=note.strip()[:500],
        items=wanted,
        seen_at=min(seen_at or now, now),
        created_at=now,
        alive_at=now,
    )
    _start(started, len(wanted))
    return BulkRun.objects.get(pk=started.pk)


def undo_bulk(run_id: UUID, actor: User | None) -> BulkRun:
    """Take a whole action back, the last decision first; what somebody changed since stays and is reported.

    Raises:
        ConflictError: it is still at work, or was undone already.
    """
    undoing = {"state": State.UNDOING, "position": 0, "undone_by": actor, "alive_at": timezone.now()}
    if not BulkRun.objects.filter(pk=run_id, state=State.DONE).update(**undoing):
        raise review.ConflictError(gettext("This bulk action is still at work, or has been undone already."))
    started = BulkRun.objects.get(pk=run_id)
    _start(started, started.applied)
    return BulkRun.objects.get(pk=run_id)


def run(run_id: UUID | str) -> None:
    """Carry on with a run until it is done."""
    started = BulkRun.objects.filter(pk=run_id).first()
    if started is None or not started.is_active:
        return
    decisions = NewsDecision.objects.filter(bulk=started).order_by("-pk").values_list("pk", flat=True)
    todo = started.items if started.state == State.WORKING else list(decisions)
    while _step(started, todo):
        pass


def resume() -> None:
    """Send again what nobody works on: the worker was killed, or the broker was away."""
    silent = BulkRun.objects.filter(state__in=BulkRun.ACTIVE, alive_at__lt=timezone.now() - SILENT)
    for run_id in silent.order_by("created_at").values_list("pk", flat=True):
        BulkRun.objects.filter(pk=run_id).update(alive_at=timezone.now())
        dispatch.send_bulk(str(run_id))


def is_waiting(started: BulkRun) -> bool:
    """Nobody has worked on it for a while."""
    return bool(started.is_active and started.alive_at and timezone.now() - started.alive_at > SILENT)


# --- one after the other ----------------------------------------------------------------------------------


def _open(subject: str, ids: Sequence[int]) -> list[int]:
    """Those that nobody has decided on yet, in the order given."""
    ids = list(dict.fromkeys(ids))
    found: set[int] = set()
    for chunk in sql.chunks(ids, sql.PARAMETERS):
        if subject == Subject.PAIRS:
            pairs = NewsLink.objects.filter(pk__in=chunk, status=NewsLink.Status.PENDING).order_by()
            found.update(pairs.values_list("pk", flat=True))
        else:
            clusters = NewsCluster.objects.filter(pk__in=chunk, state=NewsCluster.State.OPEN, size__gt=1)
            found.update(clusters.order_by().values_list("pk", flat=True))
    return [id_ for id_ in ids if id_ in found]


def _example(cluster: NewsCluster, keeper: Keeper) -> Example:
    lead = keeper.lead(cluster)
    if lead is None or lead == cluster.lead_id:
        return Example(cluster=cluster, lead=None)
    return Example(cluster=cluster, lead=News.objects.defer("content").get(pk=lead))


def _start(started: BulkRun, length: int) -> None:
    if length <= AT_ONCE:
        run(started.pk)
    else:
        transaction.on_commit(lambda: dispatch.send_bulk(str(started.pk)))


def _step(started: BulkRun, todo: Sequence[int]) -> bool:
    """The next item, stored together with how far the run is; whether there is another one."""
    with transaction.atomic():
        # Whoever else works on it waits here, and then finds this item done.
        rows = BulkRun.objects.select_for_update().defer("items")
        now = rows.get(pk=started.pk)
        if now.state != started.state:
            return False
        if now.position < len(todo):
            (_apply if now.state == State.WORKING else _undo)(now, todo[now.position])
            now.position += 1
        if now.position >= len(todo):
            now.state = State.DONE if now.state == State.WORKING else State.UNDONE
        now.alive_at = timezone.now()
        now.save(
            update_fields=["state", "position", "applied", "restored", "refused", "kept", "apart", "alive_at"]
        )
        return now.is_active


def _apply(now: BulkRun, item: int) -> None:
    try:
        with transaction.atomic():
            _confirm(now, item) if now.subject == Subject.CLUSTERS else _judge(now, item)
        now.applied += 1
    except review.ReviewError as error:
        now.refused.append([item, "changed" if isinstance(error, review.ConflictError) else "refused"])


def _confirm(now: BulkRun, cluster_id: int) -> None:
    cluster = NewsCluster.objects.filter(pk=cluster_id, state=NewsCluster.State.OPEN).first()
    if cluster is None:
        raise review.ConflictError
    lead = Keeper.from_json(now.keeper).lead(cluster)
    review.confirm_cluster(cluster_id, now.actor, now.note, lead=lead, seen_at=now.seen_at, bulk=now)


def _judge(now: BulkRun, link_id: int) -> None:
    link = NewsLink.objects.filter(pk=link_id, status=NewsLink.Status.PENDING).first()
    if link is None or link.created_at > now.seen_at:
        raise review.ConflictError
    pair = (link.low_id, link.high_id)
    decision = review.judge_pair(
        *pair, now.action, now.actor, now.note, seen=NewsLink.Status.PENDING, bulk=now
    )
    if review.left_out(decision):
        now.apart.append(link_id)


def _undo(now: BulkRun, decision_id: int) -> None:
    if NewsDecision.objects.filter(undoes=decision_id).exists():
        return
    try:
        with transaction.atomic():
            review.undo(decision_id, now.undone_by)
        now.restored += 1
    except review.ReviewError:
        now.kept.append(decision_id)
