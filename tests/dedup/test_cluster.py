"""Clusters follow from links, the same in whatever order these are given."""

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from articles.dedup.cluster import Member, canonical_key, partition, plausible

CASES = json.loads((Path(__file__).parent.parent / "cases" / "clusters.json").read_text(encoding="utf-8"))
KINDS = ("folded", "confirmed", "apart", "rejected", "partial", "linked")
START = datetime(2026, 11, 1, tzinfo=UTC)


def members_of(case: dict[str, Any]) -> list[Member]:
    days, texts = case.get("days", {}), case.get("texts", {})
    return [
        Member(name, f"{place:04d}", ("", texts.get(name, name)), START + timedelta(days=days.get(name, 0)))
        for place, name in enumerate(case["order"])
    ]


def pairs(names: list[str]) -> list[tuple[str, str]]:
    return [(name[0], name[1]) for name in names]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_partition(case: dict[str, Any]) -> None:
    links = {kind: pairs(case.get(kind, [])) for kind in KINDS}
    members = members_of(case)
    for seed in range(50):
        shuffle = random.Random(seed)
        mixed = {
            kind: shuffle.sample(
                [pair if shuffle.random() < 0.5 else pair[::-1] for pair in found], len(found)
            )
            for kind, found in links.items()
        }
        scores = case.get("scores", {})
        folded = {pair: scores.get("".join(sorted(pair)), 0.9) for pair in mixed.pop("folded")}
        clusters = partition(shuffle.sample(members, len(members)), folded, **mixed)
        assert sorted("".join(cluster) for cluster in clusters) == case["clusters"], f"order {seed}"


def test_partition_of_random_graphs_depends_on_no_order_and_keeps_rejected_pairs_apart() -> None:
    for seed in range(50):
        graph = random.Random(seed)
        names = list(range(12))
        members = [Member(n, f"{n:04d}", ("", str(graph.randrange(9))), None) for n in names]
        every = [(a, b) for a in names for b in names if a < b]
        pairs_, apart, rejected = (graph.sample(every, k) for k in (20, 4, 4))
        folded = {pair: round(graph.random(), 1) for pair in pairs_}
        expected = partition(members, folded, (), apart, rejected)
        links = list(folded.items())
        assert sorted(id_ for cluster in expected for id_ in cluster) == names
        assert not any({a, b} <= set(cluster) for a, b in rejected for cluster in expected)
        for _ in range(5):
            shuffled = partition(
                graph.sample(members, 12),
                dict(graph.sample(links, len(links))),
                (),
                graph.sample(apart, 4),
                rejected[::-1],
            )
            assert sorted(shuffled) == sorted(expected)


def test_canonical_key_orders_dated_before_undated_then_by_date_then_by_text() -> None:
    early, late = START, START + timedelta(seconds=1)
    keys = [
        canonical_key(early, "aa", "x"),
        canonical_key(early, "ab", "a"),
        canonical_key(late, "aa", "x"),
        canonical_key(None, "aa", "x"),
    ]
    assert keys == sorted(keys)
    assert max(map(len, keys)) <= 64


@pytest.mark.parametrize(
    ("published", "kept"),
    [
        (START, True),
        (datetime(1970, 1, 1, tzinfo=UTC), False),
        (datetime(1989, 12, 31, tzinfo=UTC), False),
        (START + timedelta(hours=20), True),
        (START + timedelta(days=2), False),
        (None, False),
    ],
)
def test_impossible_dates_count_as_undated(published: datetime | None, kept: bool) -> None:
    assert (plausible(published, START) is not None) is kept
