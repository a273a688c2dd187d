"""Fingerprints -> the articles that may be their twins: bounded, set-based, for a whole batch at once."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from articles.dedup.cluster import Member, text_nodes
from articles.dedup.fingerprint import (
    BAND_BITS,
    BANDS,
    SKETCH_SIZE,
    Fingerprint,
    band_probes,
    unsigned_to_signed,
)
from articles.dedup.furniture import STORIES
from articles.dedup.rules import DEFAULT_RULES, Rules
from articles.dedup.verdict import within
from articles.models import News
from articles.services import sql

Pair = tuple[int, int]
Route = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Articles that are asked about, and beside each one that may be its twin."""
NONE = np.empty(0, np.int64)
HAMMING_LIMIT = DEFAULT_RULES.hamming_limit
ANCHORS = 4
# Rows read for one hash or title; the hash itself is never dropped, and the latest articles are kept.
ROWS_PER_KEY = 1_000
MANY_ROWS = 200_000
LATEST = f"""
    SELECT {{key}}, {{id}} FROM (
        SELECT {{key}}, {{id}}, ROW_NUMBER() OVER (PARTITION BY {{key}} ORDER BY {{id}} DESC) AS place
        FROM {{table}} WHERE {{key}} IN ({{values}})
    ) latest WHERE place <= {ROWS_PER_KEY}
"""


@dataclass(frozen=True, slots=True)
class Query:
    """One article whose twins are sought."""

    id: int
    print: Fingerprint


@dataclass(frozen=True, slots=True)
class Found:
    """What the look-up gives: pairs (lower id first) to judge; copies: article -> the first of its text.

    `members` describes every article mentioned; `crowds` are sets of articles that share a sketch hash and
    may be of several stories.
    """

    pairs: set[Pair]
    copies: dict[int, int]
    members: dict[int, Member]
    crowds: set[frozenset[int]]


def find(queries: Sequence[Query], linked: dict[int, set[int]], rules: Rules) -> Found:
    """Candidates of a batch: by title, identical text, SimHash bands and sketch, within the window.

    Articles of identical text are one node; only its first article is compared with other texts, so that
    5,000 copies cost 5,000 rows. `linked` are articles already linked, which are judged again.
    """
    asked = {query.id for query in queries}
    crowds: set[frozenset[int]] = set()
    votes = _votes(queries, crowds)
    ids = asked | {other for found in votes.values() for other in found}
    ids |= {other for others in linked.values() for other in others}
    members = load_members(ids)
    nodes = {m.id: node for node in text_nodes(members.values(), rules.window) for m in node}
    first = {id_: node[0].id for id_, node in nodes.items()}
    pairs: set[Pair] = set()
    copies: dict[int, int] = {}
    for query in queries:
        if query.id not in first:
            continue  # deleted meanwhile
        # Copies that are linked to it are linked to the first from now on, be that itself or another.
        known = linked.get(query.id, set()) - asked
        copies |= {m.id: first[m.id] for m in nodes[query.id] if m.id in known and m.id != first[m.id]}
        if first[query.id] != query.id:
            copies[query.id] = first[query.id]
            continue
        # It may have come later than those that it precedes: the former first is linked to it.
        former = next((m.id for m in nodes[query.id][1:] if m.id not in asked), None)
        if former is not None:
            copies[former] = query.id
        found = dict.fromkeys(linked.get(query.id, set()) & members.keys(), 0) | votes.get(query.id, {})
        pairs |= _nearest(query.id, found, first, members, rules)
    return Found(pairs, copies, members, crowds)


class Match(NamedTuple):
    """By what an article was found: its headline, so many sketch hashes in common, a near SimHash."""

    same_title: bool
    shared_hashes: int
    near_simhash: bool

    @property
    def strength(self) -> int:
        """What is found by several routes comes first."""
        return self.shared_hashes + SKETCH_SIZE * self.near_simhash + SKETCH_SIZE // 2 * self.same_title


def matches(print_: Fingerprint) -> dict[int, Match]:
    """Article -> match, for one text that need not be stored, without a window; six queries."""
    query = [Query(0, print_)]
    by_title, by_sketch, by_bands = (
        Counter(other for _, others in route for other in others.tolist())
        for route in (_by_title(query), _by_sketch(query, set()), _by_bands(query))
    )
    return {
        id_: Match(id_ in by_title, by_sketch[id_], id_ in by_bands)
        for id_ in (by_title | by_sketch | by_bands)
    }


def _nearest(
    id_: int, votes: dict[int, int], first: dict[int, int], members: dict[int, Member], rules: Rules
) -> set[Pair]:
    """The best candidates of one article, one for each text, in the window; ties in canonical order."""
    best: dict[int, int] = {}
    for other, count in votes.items():
        rep = first.get(other)
        if rep is not None and rep != id_:
            best[rep] = max(best.get(rep, 0), count)
    me = members[id_]
    inside = [rep for rep in best if within(me.published, members[rep].published, rules.window)]
    if len(inside) > rules.candidate_limit:
        # The first ones lead clusters: whoever is cut off, each newcomer is compared with them.
        inside.sort(key=lambda rep: members[rep].order)
        anchors, others = inside[:ANCHORS], inside[ANCHORS:]
        others.sort(key=lambda rep: (-best[rep], members[rep].order))
        inside = [*anchors, *others[: rules.candidate_limit - ANCHORS]]
    return {(min(id_, rep), max(id_, rep)) for rep in inside}


def load_members(ids: Iterable[int]) -> dict[int, Member]:
    """id -> what clustering and ordering need, for articles that have a fingerprint."""
    found: dict[int, Member] = {}
    fields = ("id", "canonical_key", "title_md5", "content_md5", "published_at")
    for chunk in sql.chunks(sorted(ids), sql.CHUNK):
        known = News.objects.filter(pk__in=chunk).exclude(canonical_key="").order_by()
        for id_, order, title, content, published in known.values_list(*fields):
            found[id_] = Member(id_, order, (title, content), dated(order, published))
    return found


def dated(canonical_key: str, published: datetime | None) -> datetime | None:
    """The date as ordering sees it: impossible dates were found out when the key was made."""
    return published if canonical_key.startswith("0") else None


def _votes(queries: Sequence[Query], crowds: set[frozenset[int]]) -> dict[int, dict[int, int]]:
    """article -> candidate -> number of shared hashes."""
    routes = [*_by_title(queries), *_by_sketch(queries, crowds), *_by_bands(queries)]
    ids, others = (np.concatenate([NONE, *(route[side] for route in routes)]) for side in (0, 1))
    if not len(ids):
        return {}
    order = np.lexsort((others, ids))
    pairs = np.stack((ids[order], others[order]))
    # Where another pair begins; the way to the next such place is how often the pair occurs.
    starts = np.flatnonzero(np.append(True, (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)))
    counts = np.diff(np.append(starts, pairs.shape[1]))
    votes: dict[int, dict[int, int]] = defaultdict(dict)
    for id_, other, count in zip(*pairs[:, starts].tolist(), counts.tolist(), strict=True):
        if id_ != other:
            votes[id_][other] = count
    return votes


def _by_title(queries: Sequence[Query]) -> Iterable[Route]:
    """Articles with the same headline."""
    wanted: dict[str, list[int]] = defaultdict(list)
    for query in queries:
        if query.print.title_md5:
            wanted[query.print.title_md5].append(query.id)
    sharing: dict[str, list[int]] = defaultdict(list)
    for chunk in sql.chunks(sorted(wanted), sql.PARAMETERS):
        marks = ",".join(["%s"] * len(chunk))
        for title, other in sql.rows(
            LATEST.format(key="title_md5", id="id", table="news", values=marks), chunk
        ):
            sharing[title].append(other)
    return [_each_with_each(wanted[title], others) for title, others in sharing.items()]


def _each_with_each(ids: Sequence[int], others: Sequence[int]) -> Route:
    return np.repeat(ids, len(others)), np.tile(others, len(ids))


def _by_sketch(queries: Sequence[Query], crowds: set[frozenset[int]]) -> Iterable[Route]:
    """Articles that share one of the smallest shingle hashes; those that many share go to `crowds`."""
    wanted: dict[int, list[int]] = defaultdict(list)
    for query in queries:
        for value in unsigned_to_signed(query.print.sketch):
            wanted[value].append(query.id)
    sharing: dict[int, list[int]] = defaultdict(list)
    for value, other in _sharing(wanted):
        sharing[value].append(other)
    crowds.update(frozenset(others) for others in sharing.values() if len(others) >= STORIES)
    # Most hashes are an article's own: nothing is found by them.
    found = ((wanted[value], others) for value, others in sharing.items())
    return [_each_with_each(ids, others) for ids, others in found if len(others) > 1 or others != ids]


def _sharing(hashes: Collection[int]) -> Iterable[tuple[int, int]]:
    """(hash, article) for all of the hashes, or the latest articles where there are too many."""
    statement = "SELECT hash, news_id FROM news_shingle WHERE hash IN ({values})"
    for chunk in sql.chunks(sorted(hashes), sql.CHUNK):
        # Numbering the rows of each hash takes longer than reading them, and few hashes have many.
        rows = sql.select_in(f"{statement} LIMIT {MANY_ROWS}", chunk)
        if len(rows) == MANY_ROWS:
            rows = sql.select_in(
                LATEST.format(key="hash", id="news_id", table="news_shingle", values="{values}"), chunk
            )
        yield from rows


def _by_bands(queries: Sequence[Query]) -> Iterable[Route]:
    """Articles whose SimHash differs in at most seven bits."""
    asked = [query for query in queries if query.print.simhash is not None]
    if not asked:
        return
    ids = np.array([query.id for query in asked])
    simhashes = np.array([query.print.simhash for query in asked], np.uint64)
    for number in range(BANDS):
        keys = (simhashes >> np.uint64(BAND_BITS * number)).astype(np.uint16)
        probes = keys[:, None] ^ PROBES
        statement = f"SELECT band_{number}, simhash_fp, id FROM news WHERE band_{number} IN ({{values}})"
        rows = sql.select_in(statement, np.unique(probes).tolist())
        if rows:
            yield _near(ids, simhashes, probes, rows)


# A band and its one-bit neighbours, as masks.
PROBES = np.array(band_probes(0), np.uint16)
UNSIGNED = (1 << 64) - 1


def _near(
    ids: NDArray[np.int64],
    simhashes: NDArray[np.uint64],
    probes: NDArray[np.uint16],
    rows: Sequence[tuple[int, int, int]],
) -> Route:
    """Of the rows with a probed band, those within the Hamming limit of the article that probed it."""
    bands = np.array([row[0] for row in rows], np.uint16)
    order = np.argsort(bands, kind="stable")
    bands = bands[order]
    others = np.array([row[2] for row in rows])[order]
    hashes = np.array([row[1] & UNSIGNED for row in rows], np.uint64)[order]
    starts, ends = (np.searchsorted(bands, probes.ravel(), side) for side in ("left", "right"))
    counts = ends - starts
    # For each probe its run of rows, all runs behind each other: one comparison for the whole batch.
    places = np.repeat(starts - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
    owners = np.repeat(np.repeat(np.arange(len(ids)), probes.shape[1]), counts)
    close = np.bitwise_count(hashes[places] ^ simhashes[owners]) <= HAMMING_LIMIT
    return ids[owners[close]], others[places[close]]
