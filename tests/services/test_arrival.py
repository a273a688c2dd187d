"""In whatever order articles arrive, alone or in batches: one outcome, with its leads and weakest links."""

import random
from datetime import timedelta
from typing import Any

import pytest

from articles.dedup.verdict import FOLDING
from articles.models import News, NewsCluster, NewsLink, NewsPassage
from articles.services.payloads import Payload
from tests.stories import BODY, NOON, TITLE, article, clusters, leads, run

pytestmark = [pytest.mark.database, pytest.mark.django_db]

PARAGRAPHS = BODY.split("\n")
FERRY = (
    "河口县的渡船今天起改用电池，单程十二分钟，票价仍是两元。首航的乘客都免了票，码头上挤满了人。\n"
    "船工老邢说，再也不用每天清早去加柴油了，夜里靠岸后插上电，天亮正好充满。\n"
    "县交通局介绍，另外三条航线明年夏天以前也要换船，旧船将送去博物馆。"
)


def family() -> list[Payload]:
    """Reprints, cuts, an undated copy, one with other figures and its own reprint, one too old."""

    def at(hours: float, name: str, **values: Any) -> Payload:
        return article(name, published_at=NOON + timedelta(hours=hours), **values)

    flipped = BODY.replace("一万二千册", "一万八千册").replace("一百六十个", "三百二十个")
    return [
        at(0, "first", content=f"江城晚报讯 {BODY}"),
        at(1, "labelled", title=f"【快讯】{TITLE}！"),
        at(2, "retitled", title="旧粮仓变身图书馆 谷仓滑道成了台阶", content=f"{BODY}\n责任编辑：吴敏"),
        at(3, "cut", content="\n".join(PARAGRAPHS[:3])),
        at(4, "lead cut", content="\n".join(PARAGRAPHS[1:])),
        at(5, "half", content="\n".join(PARAGRAPHS[:2])),
        at(6, "flipped", content=flipped),
        at(7, "flipped too", content=f"据江城晚报消息，{flipped}"),
        article("undated", content=BODY.replace("，", ","), published_at=None),
        at(-24 * 70, "long before"),
        at(2, "ferry", title="河口县渡船改用电池", content=FERRY),
        at(3, "ferry cut", title="河口县渡船改用电池", content="\n".join(FERRY.split("\n")[:2])),
    ]


def outcome() -> dict[str, Any]:
    # Which of two copies a third one is linked to depends on the order; that it is linked does not.
    links = NewsLink.objects.exclude(kind="exact").values_list(
        "low__external_id", "high__external_id", "kind", "status", "score"
    )
    return {
        "clusters": clusters(),
        "leads": leads(),
        "links": sorted((*sorted((low, high)), *rest) for low, high, *rest in links),
        "lowest scores": sorted(NewsCluster.objects.exclude(lead=None).values_list("size", "lowest_score")),
    }


def test_fifty_random_orders_of_arrival_have_one_outcome() -> None:
    payloads = family()
    run(*payloads)
    expected = outcome()
    assert {"first", "labelled", "retitled", "cut", "lead cut", "undated"} <= max(
        expected["clusters"], key=len
    )
    assert not any(
        {"first", other} <= one for other in ("flipped", "long before") for one in expected["clusters"]
    )
    for seed in range(50):
        for model in (News, NewsCluster, NewsPassage):
            model.objects.all().delete()
        order = random.Random(seed)
        shuffled = order.sample(payloads, len(payloads))
        while shuffled:
            size = order.choice((1, 2, 5, 12))
            run(*shuffled[:size])
            shuffled = shuffled[size:]
        assert outcome() == expected, f"order {seed}"


def test_the_weakest_link_of_a_cluster_is_kept() -> None:
    run(*family())
    found = list(NewsCluster.objects.exclude(lead=None).select_related("weakest_link"))
    assert len(found) >= 2
    for cluster in found:
        inside = NewsLink.objects.filter(low__cluster=cluster, high__cluster=cluster, kind__in=FOLDING)
        assert cluster.weakest_link in inside
        assert cluster.lowest_score == min(inside.values_list("score", flat=True))
        assert cluster.weakest_link.score == cluster.lowest_score


def test_the_lead_is_the_earliest_whatever_comes_first() -> None:
    reprints = [article(f"n{hour}", published_at=NOON + timedelta(hours=hour)) for hour in range(6)]
    for payload in reversed(reprints):
        run(payload)
        assert leads() - {payload.external_id} == set()
    run(article("undated", published_at=None))
    assert leads() == {"n0"}
