"""What a person decides -> links and clusters, recorded; each function is one decision, one transaction.

How it is recorded and undone stands in services.decisions.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from itertools import combinations
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone
from django.utils.translation import gettext

from articles.dedup.cluster import Member, text_nodes
from articles.dedup.rules import DEFAULT_RULES
from articles.models import BulkRun, News, NewsCluster, NewsDecision, NewsLink
from articles.reasons import turned
from articles.services import pipeline, sql
from articles.services.candidates import load_members
from articles.services.decisions import (
    LINK_FIELDS,
    Pair,
    Remember,
    decide,
    moment,
    pair_name,
    pair_of,
    stored_links,
)
from articles.services.decisions import BlockedError as BlockedError
from articles.services.decisions import ConflictError as ConflictError
from articles.services.decisions import ReviewError as ReviewError
from articles.services.decisions import left_out as left_out
from articles.services.decisions import undo as undo
from articles.services.rules import current_rules

Action = NewsDecision.Action
Kind, Status = NewsLink.Kind, NewsLink.Status

DUPLICATE, UNSURE = "duplicate", "unsure"
# The verdicts a person may give on a pair. All but the first and the last keep the pair apart for good.
VERDICTS = (DUPLICATE, Kind.UPDATE, Kind.EXCERPT, Kind.SAME_EVENT, Kind.TEMPLATE, Kind.DIFFERENT, UNSURE)
# Links that one decision may add; each is judged, so that it says what the machine thinks of the pair.
NEW_LINKS = 300
# Links that one decision may change: more would hold the lock for long, and make its record as long.
LINKS_AT_ONCE = 20_000
MERGED_AT_ONCE = 20
VERDICT_FIELDS = ("kind", "status", "locked", "text_changed", "unsure")


def judge_pair(
    left_id: int,
    right_id: int,
    verdict: str,
    actor: User | None,
    note: str = "",
    seen: str | None = None,
    bulk: BulkRun | None = None,
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
    pair = pair_of(left_id, right_id)

    def write(remember: Remember) -> None:
        remember(pairs=[pair])
        link = _link(pair)
        if seen is not None and link.status != seen and link.pk:
            raise ConflictError(_changed_message(link))
        _apply_verdict(link, verdict)
        link.save()

    return decide(Action.VERDICT, actor, note, [pair], write, verdict=verdict, bulk=bulk)


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


def _each(judge: Callable[[Any], NewsDecision], items: Sequence[Any]) -> tuple[int, list[str]]:
    refusals = []
    for item in items:
        try:
            judge(item)
        except ReviewError as error:
            refusals.append(str(error))
    return len(items) - len(refusals), refusals


def confirm_cluster(
    cluster_id: int,
    actor: User | None,
    note: str = "",
    *,
    lead: int | None = None,
    seen_at: datetime | None = None,
    bulk: BulkRun | None = None,
) -> NewsDecision:
    """Confirm a whole cluster: its links are locked, and from now on it changes only by proposals.

    Args:
        lead: the member that leads from now on; None leaves the lead as it is.
        seen_at: when the person saw the cluster; None does not check.

    Raises:
        ConflictError: the cluster is gone, or has changed since.
    """
    cluster = _cluster(cluster_id)

    def write(remember: Remember) -> None:
        if seen_at:
            _refuse_changed(_cluster(cluster_id), seen_at)
        links = list(NewsLink.objects.filter(NewsLink.FOLDED, low__cluster=cluster, high__cluster=cluster))
        _refuse_many(links)
        remember(pairs=[(link.low_id, link.high_id) for link in links], clusters=[cluster.pk])
        _confirm([link.pk for link in links])
        changes: dict[str, Any] = {"state": NewsCluster.State.REVIEWED, "reviewed_by": actor}
        if lead:
            _members(cluster, {lead})
            changes |= {"lead": lead, "lead_locked": True}
        NewsCluster.objects.filter(pk=cluster.pk).update(reviewed_at=timezone.now(), **changes)

    seeds = [cluster.lead_id]
    return decide(Action.CONFIRM_CLUSTER, actor, note, [], write, cluster=cluster, seeds=seeds, bulk=bulk)


def set_lead(cluster_id: int, news_id: int, actor: User | None, note: str = "") -> NewsDecision:
    """Choose the lead of a cluster; no earlier article takes its place any more."""
    cluster = _cluster(cluster_id)

    def write(remember: Remember) -> None:
        _members(cluster, {news_id})
        remember(clusters=[cluster.pk])
        NewsCluster.objects.filter(pk=cluster.pk).update(lead=news_id, lead_locked=True)

    return decide(Action.SET_LEAD, actor, note, [], write, cluster=cluster, seeds=[news_id])


def remove_member(cluster_id: int, news_id: int, actor: User | None, note: str = "") -> NewsDecision:
    """Take an article out of its cluster: it stays apart from the lead and from all it was folded with."""
    return _take_out(Action.REMOVE_MEMBER, cluster_id, {news_id}, actor, note)


def split(cluster_id: int, news_ids: Iterable[int], actor: User | None, note: str = "") -> NewsDecision:
    """Members leave together and are a cluster of their own.

    Raises:
        ConflictError: one of them is no longer in the cluster.
        ReviewError: none is chosen, or all of them, or too many to be kept apart one by one.
    """
    return _take_out(Action.SPLIT, cluster_id, set(news_ids), actor, note)


def merge(cluster_ids: Collection[int], actor: User | None, note: str = "") -> NewsDecision:
    """Make one cluster of several, with their earliest lead, or the one that somebody chose.

    Raises:
        BlockedError: two members of different clusters were kept apart by a person; it names them.
        ConflictError: one of the clusters is gone.
    """
    ids = sorted(set(cluster_ids))
    if not 1 < len(ids) <= MERGED_AT_ONCE:
        raise ReviewError(gettext("Choose two to %(number)s clusters.") % {"number": MERGED_AT_ONCE})
    clusters = sorted((_cluster(id_) for id_ in ids), key=lambda c: (not c.lead_locked, c.pk))
    leads = {cluster.pk: cluster.lead_id for cluster in clusters if cluster.lead_id}
    if len(leads) < len(clusters):
        raise ConflictError(gettext("The cluster has changed meanwhile; look at it again."))
    first, *others = leads.values()
    pairs = [pair_of(first, other) for other in others]

    def write(remember: Remember) -> None:
        for one, other in combinations(ids, 2):
            _refuse_rejected(one, other)
        for id_, lead in leads.items():
            _tie(_members(_cluster(id_), {lead}), lead, remember)
        _write_verdicts(pairs, DUPLICATE, remember)

    def check() -> None:
        homes = News.objects.filter(pk__in=leads.values()).values_list("cluster", flat=True)
        if len(set(homes)) > 1:
            raise BlockedError(gettext("An earlier verdict keeps articles of these clusters apart."))

    return decide(
        Action.MERGE, actor, note, pairs, write, cluster=clusters[0], verdict=DUPLICATE, check=check
    )


# --- regrouping -------------------------------------------------------------------------------------------


def _take_out(action: str, cluster_id: int, leaving: set[int], actor: User | None, note: str) -> NewsDecision:
    cluster = _cluster(cluster_id)
    members = _members(cluster, leaving)
    if not leaving or leaving == members.keys():
        raise ReviewError(gettext("Choose some of the articles, but not all of them."))
    one, other = (_first(members, cluster, ids) for ids in (leaving, members.keys() - leaving))

    def write(remember: Remember) -> None:
        members = _members(_cluster(cluster_id), {*leaving, other})
        staying = members.keys() - leaving
        apart = _apart(members, leaving, other)
        remember(clusters=[cluster.pk])
        for ids in (leaving, staying):
            _pass_on(members, ids, remember)
        _tie(leaving, one, remember)
        _write_verdicts(sorted(apart), Kind.DIFFERENT, remember)

    pairs = [pair_of(one, other)]
    return decide(action, actor, note, pairs, write, cluster=cluster, seeds=members, verdict=Kind.DIFFERENT)


def _first(members: dict[int, Member], cluster: NewsCluster, ids: Collection[int]) -> int:
    """Who leads some of the members: the cluster's lead, else the first in canonical order."""
    if cluster.lead_id is not None and cluster.lead_id in ids:
        return cluster.lead_id
    return min(ids, key=lambda id_: (members[id_].order, id_))


def _apart(members: dict[int, Member], leaving: Collection[int], lead: int) -> set[Pair]:
    """Pairs to keep apart, so that those who leave meet none of the others again, nor their copies."""
    pairs = {pair_of(id_, lead) for id_ in leaving}
    links = {(link.low_id, link.high_id) for link in _joining(members)}
    pairs |= {pair for pair in links if (pair[0] in leaving) != (pair[1] in leaving)}
    # Copies of one text count as one article unless the first of those who stay is apart from each who
    # leaves, and where it is the later one, the first of those who leave from each who stays.
    for node in text_nodes(members.values(), DEFAULT_RULES.window):
        out = [member.id for member in node if member.id in leaving]
        stay = [member.id for member in node if member.id not in leaving]
        if out and stay:
            pairs |= {pair_of(stay[0], id_) for id_ in out}
            if node[0].id in leaving:
                pairs |= {pair_of(out[0], id_) for id_ in stay}
    return pairs


def _pass_on(members: dict[int, Member], ids: Collection[int], remember: Remember) -> None:
    """Copies of a text are linked by its first one alone: give these articles links with their own first one.

    The text is the same, and so is what is known of the pair.
    """
    heirs: dict[int, int] = {}
    for node in text_nodes(members.values(), DEFAULT_RULES.window):
        own = [member.id for member in node if member.id in ids]
        heirs |= {member.id: own[0] for member in node if own and member.id not in ids}
    links = [link for link in _joining(members) if (link.low_id in ids) != (link.high_id in ids)]
    wanted: dict[Pair, NewsLink] = {}
    for link in links:
        here, there = (link.low_id, link.high_id) if link.low_id in ids else (link.high_id, link.low_id)
        heir = heirs.get(there, here)
        if heir != here:
            wanted.setdefault(pair_of(here, heir), _with_heir(link, here, heir))
    known = {(link.low_id, link.high_id) for link in stored_links(list(wanted))}
    missing = {pair: link for pair, link in wanted.items() if pair not in known}
    _refuse_many(missing)
    remember(pairs=missing)
    NewsLink.objects.bulk_create(missing.values(), batch_size=sql.PARAMETERS)


def _with_heir(link: NewsLink, here: int, heir: int) -> NewsLink:
    """The link of `here` with another copy of the text at its other end; a re-run does not know of it."""
    own = NewsLink(**{name: getattr(link, name) for name in LINK_FIELDS}, created_at=timezone.now())
    own.low_id, own.high_id = pair_of(here, heir)
    own.status, own.locked = Status.CONFIRMED, True
    if (link.low_id == here) != (own.low_id == here):
        own.containment_low, own.containment_high = own.containment_high, own.containment_low
        own.reasons = turned(own.reasons)
    return own


def _tie(ids: Collection[int], lead: int, remember: Remember) -> None:
    """Confirm as few links as hold these articles together, adding those with the lead that are missing."""
    first = {id_: id_ for id_ in ids}

    def root(id_: int) -> int:
        while first[id_] != id_:
            first[id_] = first[first[id_]]
            id_ = first[id_]
        return id_

    needed: list[NewsLink] = []
    for link in sorted(_joining(ids), key=lambda link: lead not in (link.low_id, link.high_id)):
        low, high = root(link.low_id), root(link.high_id)
        if low != high:
            first[high] = low
            needed.append(link)
    remember(pairs=[(link.low_id, link.high_id) for link in needed])
    _confirm([link.pk for link in needed if link.status != Status.CONFIRMED])
    strays = [id_ for id_ in ids if root(id_) == id_ != root(lead)]
    _write_verdicts([pair_of(lead, id_) for id_ in strays], DUPLICATE, remember)


def _joining(ids: Collection[int]) -> list[NewsLink]:
    """The links that hold some articles together, the surest first."""
    found = [
        link
        for chunk in sql.chunks(sorted(ids), sql.PARAMETERS)
        for link in NewsLink.objects.filter(NewsLink.JOINING, low__in=chunk).order_by()
        if link.high_id in ids
    ]
    return sorted(found, key=lambda link: (-link.score, link.low_id, link.high_id))


def _refuse_rejected(one: int, other: int) -> None:
    """Say which pair a person has kept apart, if any between two clusters: that verdict comes first."""
    apart = NewsLink.objects.filter(status=Status.REJECTED).select_related("low", "high")
    sides = ((one, other), (other, one))
    for low, high in sides:
        link = apart.filter(low__cluster=low, high__cluster=high).order_by("pk").first()
        if link is not None:
            raise BlockedError(_blocked_message(link))


def _blocked_message(link: NewsLink) -> str:
    decision = _decision_on((link.low_id, link.high_id))
    named = {"one": link.low.title, "other": link.high.title, "kind": link.get_kind_display()}
    if decision is None:
        return gettext("“%(one)s” and “%(other)s” are kept apart (%(kind)s). Undo that first.") % named
    named |= {"who": str(decision.actor or "–"), "when": moment(decision.created_at)}
    return (
        gettext("%(who)s kept “%(one)s” and “%(other)s” apart on %(when)s (%(kind)s). Undo that first.")
        % named
    )


def _decision_on(pair: Pair) -> NewsDecision | None:
    """The last decision that wrote a pair's link: a verdict on it, or one on a cluster."""
    standing = NewsDecision.objects.filter(undone_by=None).exclude(action=Action.UNDO).select_related("actor")
    verdict = standing.filter(left=pair[0], right=pair[1]).order_by("-pk").first()
    others = standing.filter(action__in=(Action.SPLIT, Action.REMOVE_MEMBER))
    return verdict or others.filter(after__links__has_key=pair_name(pair)).order_by("-pk").first()


# --- links ------------------------------------------------------------------------------------------------


def _cluster(cluster_id: int) -> NewsCluster:
    cluster = NewsCluster.objects.filter(pk=cluster_id).exclude(state=NewsCluster.State.MERGED).first()
    if cluster is None:
        raise ConflictError(gettext("This cluster no longer exists; it was merged or dissolved."))
    return cluster


def _refuse_changed(cluster: NewsCluster, seen_at: datetime) -> None:
    if cluster.changed_at > seen_at:
        raise ConflictError(gettext("The cluster has changed meanwhile; look at it again."))
    if cluster.reviewed_by and cluster.reviewed_at and cluster.reviewed_at > seen_at:
        raise ConflictError(
            gettext("%(who)s has confirmed this cluster meanwhile.")
            % {"who": cluster.reviewed_by.get_username()}
        )


def _members(cluster: NewsCluster, wanted: Collection[int] = ()) -> dict[int, Member]:
    """All members of a cluster, among them those that are wanted."""
    members = load_members(cluster.members.order_by().values_list("pk", flat=True))
    if not members.keys() >= set(wanted):
        raise ConflictError(gettext("The article is no longer in this cluster."))
    return members


def _confirm(link_ids: Sequence[int]) -> None:
    for chunk in sql.chunks(link_ids, sql.PARAMETERS):
        NewsLink.objects.filter(pk__in=chunk).update(
            status=Status.CONFIRMED, locked=True, text_changed=False, unsure=False
        )


def _refuse_many(links: Collection[Any], most: int | None = None) -> None:
    if len(links) > (LINKS_AT_ONCE if most is None else most):
        raise ReviewError(gettext("Too many articles for one decision; do it in smaller steps."))


def _write_verdicts(pairs: Sequence[Pair], verdict: str, remember: Remember) -> None:
    _refuse_many(pairs)
    remember(pairs=pairs)
    links = stored_links(pairs)
    known = {(link.low_id, link.high_id) for link in links}
    missing = [pair for pair in pairs if pair not in known]
    _refuse_many(missing, NEW_LINKS)
    for link in links:
        _apply_verdict(link, verdict)
    NewsLink.objects.bulk_update(links, VERDICT_FIELDS, batch_size=sql.PARAMETERS)
    for pair in missing:
        link = _link(pair)
        _apply_verdict(link, verdict)
        link.save()


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
        reasons=turned(found.verdict.reasons) if mirrored else list(found.verdict.reasons),
        rules_version=current_rules().version,
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
