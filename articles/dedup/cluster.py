"""Links -> clusters: a pure function of one connected component, the same for every order of arrival."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from articles.dedup.verdict import within

Pair = tuple[Any, Any]
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
    folded: Mapping[Pair, float],
    confirmed: Collection[Pair] = (),
    apart: Collection[Pair] = (),
    rejected: Collection[Pair] = (),
    partial: Collection[Pair] = (),
    linked: Collection[Pair] = (),
    window: timedelta = timedelta(days=30),
) -> list[list[Any]]:
    """Clusters of one component: lists of ids in canonical order, the lead first; single articles too.

    The surest links come first, equal ones in canonical order. Two groups become one where the one matches
    the lead or most of the other, unless articles of theirs must stay apart: chains A-B, B-C do not make
    A-C one story. Article by article in canonical order would be simpler, but then a flash that came first
    takes in some copies of a story and keeps them from the others.

    Args:
        folded: pairs the machine found to be one article, with their scores.
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
    # What a person declared one is one text from here on, spoken for by its first article.
    home = {group.reps[0]: group for group in groups}
    first = {rep: group.reps[0] for group in groups for rep in group.reps}
    for group in groups:
        del group.reps[1:]
    scores = _lifted(folded, first)
    limits = _Limits(
        matches=_neighbours(scores),
        facts=_neighbours(_lifted(dict.fromkeys(apart, 0.0), first)),
        rejected=strict,
        cuts=_neighbours(_lifted(dict.fromkeys(partial, 0.0), first)),
        akin=_neighbours(_lifted(dict.fromkeys([*linked, *folded], 0.0), first)),
    )
    order = {member.id: member.order for member in members}
    pairs = sorted(scores, key=lambda pair: (-scores[pair], sorted((order[pair[0]], order[pair[1]]))))
    while _join_once(pairs, home, order, limits):
        pass  # What grew may now take in what it could not before.
    clusters = {id(group): group for group in home.values()}.values()
    return [[m.id for m in sorted(cluster.members, key=lambda m: m.order)] for cluster in clusters]


def _lifted(pairs: Mapping[Pair, float], first: Mapping[Any, Any]) -> dict[Pair, float]:
    """Pairs of articles as pairs of the texts that they speak for, with the best score of each."""
    lifted: dict[Pair, float] = {}
    for (one, other), score in pairs.items():
        if one in first and other in first and first[one] != first[other]:
            pair = (first[one], first[other])
            lifted[pair] = max(score, lifted.get(pair, 0.0))
    return lifted


@dataclass(frozen=True, slots=True)
class _Limits:
    """article -> articles: what it matches, contradicts, must not meet, is a cut of, shares text with."""

    matches: dict[Any, set[Any]]
    facts: dict[Any, set[Any]]
    rejected: dict[Any, set[Any]]
    cuts: dict[Any, set[Any]]
    akin: dict[Any, set[Any]]


def _join_once(
    pairs: Sequence[Pair], home: dict[Any, _Group], order: Mapping[Any, str], limits: _Limits
) -> bool:
    """Go through the links once, joining the groups of their ends; whether any were joined."""
    joined = False
    # Groups that may not join are not asked again until one of them has grown.
    refused: set[tuple[int, int, int, int]] = set()
    for one, other in pairs:
        first, second = home[one], home[other]
        if first is second:
            continue
        key = (id(first), len(first.reps), id(second), len(second.reps))
        if key in refused:
            continue
        if not _may_join(first, second, order, limits):
            refused.add(key)
            continue
        first.reps += second.reps
        first.members += second.members
        home.update(dict.fromkeys(second.reps, first))
        joined = True
    return joined


def _may_join(one: _Group, other: _Group, order: Mapping[Any, str], limits: _Limits) -> bool:
    return (
        _belong_together(one, other, order, limits.matches)
        and not _facts_differ(one, other, limits.facts)
        and not _conflict(one, other, limits.rejected)
        and not _strangers(one, other, limits.cuts, limits.akin)
    )


def _belong_together(
    one: _Group, other: _Group, order: Mapping[Any, str], matches: dict[Any, set[Any]]
) -> bool:
    """Whether one group matches the lead of both, or most of the other group."""
    lead = min((*one.reps, *other.reps), key=lambda rep: order[rep])
    followers = other.reps if lead in one.reps else one.reps
    if matches.get(lead, set()).issuperset(followers):
        return True
    mates = set(other.reps)
    return 2 * sum(len(mates & matches.get(rep, set())) for rep in one.reps) > len(one.reps) * len(mates)


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
