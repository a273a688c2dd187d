"""Fingerprints -> the articles that may be their twins: bounded, set-based, for a whole batch at once."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from articles.dedup.cluster import Member, text_nodes
from articles.dedup.fingerprint import BAND_BITS, BANDS, Fingerprint, band_probes, unsigned_to_signed
from articles.dedup.furniture import STORIES
from articles.dedup.rules import DEFAULT_RULES, Rules
from articles.dedup.verdict import within
from articles.models import News
from articles.services import sql

Pair = tuple[int, int]
HAMMING_LIMIT = DEFAULT_RULES.hamming_limit
ANCHORS = 4
# Rows read for one hash or title; the hash itself is never dropped, and the latest articles are kept.
ROWS_PER_KEY = 1_000
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
        found = votes.get(query.id, Counter())
        found.update({other: 0 for other in linked.get(query.id, ()) if other in members})
        pairs |= _nearest(query.id, found, first, members, rules)
    return Found(pairs, copies, members, crowds)


def _nearest(
    id_: int, votes: Counter[int], first: dict[int, int], members: dict[int, Member], rules: Rules
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


def _votes(queries: Sequence[Query], crowds: set[frozenset[int]]) -> dict[int, Counter[int]]:
    """article -> candidate -> number of shared hashes."""
    votes: dict[int, Counter[int]] = defaultdict(Counter)
    for found in (_by_title(queries), _by_sketch(queries, crowds), _by_bands(queries)):
        for id_, other in found:
            if id_ != other:
                votes[id_][other] += 1
    return votes


def _by_title(queries: Sequence[Query]) -> Iterable[Pair]:
    """Articles with the same headline."""
    wanted: dict[str, list[int]] = defaultdict(list)
    for query in queries:
        if query.print.title_md5:
            wanted[query.print.title_md5].append(query.id)
    for chunk in sql.chunks(sorted(wanted), sql.PARAMETERS):
        marks = ",".join(["%s"] * len(chunk))
        for title, other in sql.rows(
            LATEST.format(key="title_md5", id="id", table="news", values=marks), chunk
        ):
            for id_ in wanted[title]:
                yield id_, other


def _by_sketch(queries: Sequence[Query], crowds: set[frozenset[int]]) -> Iterable[Pair]:
    """Articles that share one of the smallest shingle hashes; those that many share go to `crowds`."""
    wanted: dict[int, list[int]] = defaultdict(list)
    for query in queries:
        for value in unsigned_to_signed(query.print.sketch):
            wanted[value].append(query.id)
    statement = LATEST.format(key="hash", id="news_id", table="news_shingle", values="{values}")
    sharing: dict[int, list[int]] = defaultdict(list)
    for value, other in sql.select_in(statement, wanted):
        sharing[value].append(other)
    for value, others in sharing.items():
        if len(others) >= STORIES:
            crowds.add(frozenset(others))
        for id_ in wanted[value]:
            for other in others:
                yield id_, other


def _by_bands(queries: Sequence[Query]) -> Iterable[Pair]:
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
            yield from _near(ids, simhashes, probes, rows)


# A band and its one-bit neighbours, as masks.
PROBES = np.array(band_probes(0), np.uint16)
UNSIGNED = (1 << 64) - 1


def _near(
    ids: NDArray[np.int64],
    simhashes: NDArray[np.uint64],
    probes: NDArray[np.uint16],
    rows: Sequence[tuple[int, int, int]],
) -> Iterable[Pair]:
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
    return zip(ids[owners[close]].tolist(), others[places[close]].tolist(), strict=True)
