"""Links -> clusters: a pure function of one connected component, the same for every order of arrival."""

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from articles.dedup.verdict import within

Pair = tuple[Hashable, Hashable]
DATED, UNDATED = "0", "1"
EARLIEST = 1990


@dataclass(frozen=True, slots=True)
class Member:
    """One article as clustering sees it. Members are ordered by `order`, their canonical key."""

    id: Any
    order: str
    text_key: tuple[str, str]
    published: datetime | None = None


def plausible(published: datetime | None, now: datetime) -> datetime | None:
    """The date, or None where it is impossible: before 1990, 1970 by default, or more than a day ahead."""
    if published is None or published.year < EARLIEST or published > now + timedelta(days=1):
        return None
    return published


def canonical_key(published: datetime | None, text: str, identity: str) -> str:
    """What orders articles: dated before undated, then date, then content hash; never arrival or id.

    `identity` tells identical texts of one moment apart. At most 64 characters.
    """
    date = published.strftime("%Y%m%d%H%M%S%f") if published else ""
    return f"{DATED if published else UNDATED}{date:0>20}-{text[:24]}-{identity[:16]}"


def text_nodes(members: Iterable[Member], window: timedelta) -> list[list[Member]]:
    """Articles of identical cleaned text as one node each, within the window of its first article."""
    nodes: list[list[Member]] = []
    open_node: dict[tuple[str, str], list[Member]] = {}
    for member in sorted(members, key=lambda member: member.order):
        node = open_node.get(member.text_key)
        if node and any(member.text_key) and within(node[0].published, member.published, window):
            node.append(member)
        else:
            open_node[member.text_key] = [member]
            nodes.append(open_node[member.text_key])
    return nodes


@dataclass(slots=True)
class _Group:
    """Nodes that are folded so far: `reps` are their first articles, the group's first one being the lead."""

    reps: list[Any]
    members: list[Member] = field(default_factory=list)


def partition(
    members: Collection[Member],
    folded: Collection[Pair],
    confirmed: Collection[Pair] = (),
    apart: Collection[Pair] = (),
    rejected: Collection[Pair] = (),
    partial: Collection[Pair] = (),
    linked: Collection[Pair] = (),
    window: timedelta = timedelta(days=30),
) -> list[list[Any]]:
    """Clusters of one component: lists of ids in canonical order, the lead first; single articles too.

    A node joins the cluster whose lead it matches, or most of whose nodes it matches, unless one of
    them must stay apart: chains A-B, B-C do not make A-C one story.

    Args:
        folded: pairs the machine found to be one article.
        confirmed: pairs a person declared duplicates: always together, unless also rejected by way of others.
        apart: pairs whose facts differ by the machine's judgement.
        rejected: pairs a person wants apart.
        partial: those of `folded` in which one text is less than half of the other. Two such cuts of one
            text may share nothing, so where cuts are about each article must be linked to each other one.
        linked: all pairs that share a good part of their text, of whatever kind.
    """
    strict = _neighbours(rejected)
    nodes = [part for node in text_nodes(members, window) for part in _split_rejected(node, strict)]
    groups = _join_confirmed(nodes, confirmed, strict)
    matches, facts = _neighbours([*folded, *confirmed]), _neighbours(apart)
    cuts, akin = _neighbours(partial), _neighbours([*linked, *folded, *confirmed])
    clusters: list[_Group] = []
    for group in groups:
        free = [
            cluster
            for cluster in clusters
            if not _facts_differ(group, cluster, facts)
            and not _conflict(group, cluster, strict)
            and not _strangers(group, cluster, cuts, akin)
        ]
        home = _home(group, free, matches)
        if home is None:
            clusters.append(group)
        else:
            home.reps += group.reps
            home.members += group.members
    return [[m.id for m in sorted(cluster.members, key=lambda m: m.order)] for cluster in clusters]


def _neighbours(pairs: Iterable[Pair]) -> dict[Any, set[Any]]:
    neighbours: dict[Any, set[Any]] = {}
    for one, other in pairs:
        neighbours.setdefault(one, set()).add(other)
        neighbours.setdefault(other, set()).add(one)
    return neighbours


def _split_rejected(node: list[Member], rejected: dict[Any, set[Any]]) -> list[list[Member]]:
    """Identical texts that a person keeps apart are nodes of their own."""
    parts: list[list[Member]] = []
    for member in node:
        enemies = rejected.get(member.id, set())
        home = next((part for part in parts if not any(other.id in enemies for other in part)), None)
        if home is None:
            parts.append([member])
        else:
            home.append(member)
    return parts


def _join_confirmed(
    nodes: list[list[Member]], confirmed: Collection[Pair], rejected: dict[Any, set[Any]]
) -> list[_Group]:
    """Nodes that a person declared one come together first, in canonical order."""
    groups = [_Group([node[0].id], list(node)) for node in nodes]
    home = {member.id: group for group in groups for member in group.members}
    order = {member.id: member.order for node in nodes for member in node}
    known = [pair for pair in confirmed if pair[0] in order and pair[1] in order]
    for one, other in sorted(known, key=lambda pair: sorted((order[pair[0]], order[pair[1]]))):
        first, second = sorted((home[one], home[other]), key=lambda group: group.members[0].order)
        if first is second or _conflict(first, second, rejected):
            continue
        first.reps += second.reps
        first.members = sorted(first.members + second.members, key=lambda member: member.order)
        home.update({member.id: first for member in second.members})
        groups.remove(second)
    return groups


def _conflict(one: _Group, other: _Group, enemies: dict[Any, set[Any]]) -> bool:
    ids = {member.id for member in other.members}
    return any(not ids.isdisjoint(enemies.get(member.id, ())) for member in one.members)


def _facts_differ(one: _Group, other: _Group, facts: dict[Any, set[Any]]) -> bool:
    """Only the first article of each text speaks here: links of the others depend on the order of arrival."""
    return any(not facts.get(rep, set()).isdisjoint(other.reps) for rep in one.reps)


def _strangers(one: _Group, other: _Group, cuts: dict[Any, set[Any]], akin: dict[Any, set[Any]]) -> bool:
    """Whether a cut of a text would meet another article that shares none of it."""
    together = {*one.reps, *other.reps}
    for rep in one.reps:
        for mate in other.reps:
            is_cut = not together.isdisjoint(cuts.get(rep, ())) or not together.isdisjoint(cuts.get(mate, ()))
            if is_cut and mate not in akin.get(rep, ()):
                return True
    return False


def _home(group: _Group, clusters: Sequence[_Group], matches: dict[Any, set[Any]]) -> _Group | None:
    """The cluster that a group belongs to: one whose lead it matches, else the one it matches most of."""
    friends = set().union(*(matches.get(rep, set()) for rep in group.reps))
    best: tuple[bool, float] = (False, 0.5)
    home = None
    for cluster in clusters:
        share = sum(rep in friends for rep in cluster.reps) / len(cluster.reps)
        rank = (cluster.reps[0] in friends, share)
        if rank > best:
            best, home = rank, cluster
    return home
