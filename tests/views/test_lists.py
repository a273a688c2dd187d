"""Lists: what they show, how they filter and page, and that their cost does not grow with their rows."""

from datetime import timedelta
from itertools import chain

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from articles import selectors
from articles.models import News, NewsCluster
from tests.views.factories import NOON, make_cluster, make_decision, make_link, make_news


def titles(response) -> list[str]:
    return [row.title for row in response.context["page"].rows]


def queries(client, address: str) -> int:
    client.get(address)  # The first answer also fills caches.
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


@pytest.mark.parametrize("name", ["news_list", "cluster_list"])
def test_one_and_three_rows_cost_the_same(viewer, name):
    make_cluster()
    one = queries(viewer, reverse(name))
    make_cluster(3)
    make_cluster(4)
    make_news()
    assert queries(viewer, reverse(name)) == one


def test_one_and_three_members_cost_the_same(viewer):
    small, large = make_cluster(2), make_cluster(4)
    make_decision(small)
    make_decision(large)
    make_decision(large)
    costs = [queries(viewer, reverse("cluster_detail", args=[cluster.pk])) for cluster in (small, large)]
    assert costs[0] == costs[1]


def test_one_and_three_links_cost_the_same(viewer):
    news = make_news()
    make_link(news, make_news())
    address = reverse("news_detail", args=[news.pk])
    one = queries(viewer, address)
    make_link(make_news(), news)
    make_link(news, make_news())
    assert queries(viewer, address) == one


def test_news_are_folded_to_leads_and_singles(viewer):
    cluster = make_cluster(4)
    single = make_news("一座桥的一百年")
    response = viewer.get(reverse("news_list"))
    assert [row.pk for row in response.context["page"].rows] == [single.pk, cluster.lead_id]
    assert "+3 转载" in response.content.decode()


def test_duplicates_show_when_asked_for(viewer):
    make_cluster(3)
    response = viewer.get(reverse("news_list"), {"verdict": "duplicate"})
    assert len(titles(response)) == 2


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"q": "豆浆"}, ["豆浆涨价"]),
        ({"q": "%"}, []),
        ({"source": "晚潮报"}, ["晚潮报的稿"]),
        ({"source": "晚潮"}, []),
        ({"since": "2025-12-03"}, ["后天的稿"]),
        ({"until": "2025-11-30"}, ["昨天的稿"]),
        ({"state": "failed"}, ["失败的稿"]),
        ({"verdict": "suspected"}, ["待审的稿"]),
        ({"kind": "update"}, ["更新稿之二", "更新稿之一"]),
        ({"since": "不是日期", "q": "豆浆"}, ["豆浆涨价"]),
        ({"verdict": "不存在", "q": "豆浆"}, ["豆浆涨价"]),
        ({"q": "没有"}, []),
    ],
)
def test_news_filters(viewer, query, expected):
    make_news("豆浆涨价")
    make_news("晚潮报的稿", source="晚潮报")
    make_news("后天的稿", published_at=NOON + timedelta(days=2))
    make_news("昨天的稿", published_at=NOON - timedelta(days=1))
    make_news("失败的稿", state=News.State.FAILED)
    make_news("待审的稿", verdict=News.Verdict.SUSPECTED)
    make_link(make_news("更新稿之一"), make_news("更新稿之二"), kind="update")
    response = viewer.get(reverse("news_list"), query)
    assert response.status_code == 200
    assert titles(response) == expected


def test_a_day_is_the_desks_day(viewer):
    make_news("零点一分", published_at=NOON.replace(hour=16, minute=1))  # 00:01 on the 2nd in Shanghai
    assert titles(viewer.get(reverse("news_list"), {"since": "2025-12-02"})) == ["零点一分"]
    assert titles(viewer.get(reverse("news_list"), {"until": "2025-12-01"})) == []


def test_cluster_filters(viewer):
    make_cluster(2)
    large = make_cluster(5, state=NewsCluster.State.REVIEWED)
    gone = make_cluster(3, state=NewsCluster.State.MERGED)
    for query in ({"size": 4}, {"state": "reviewed"}):
        rows = viewer.get(reverse("cluster_list"), query).context["page"].rows
        assert [row.pk for row in rows] == [large.pk]
    assert gone not in viewer.get(reverse("cluster_list")).context["page"].rows


def walk(client, address: str, direction: str, cursor: str = "") -> list[list[int]]:
    pages = []
    while True:
        query = {"after" if direction == "older" else "before": cursor} if cursor else {}
        page = client.get(address, query).context["page"]
        pages.append([row.pk for row in page.rows])
        cursor = getattr(page, direction)
        if not cursor:
            return pages


def test_pages_cover_everything_once_in_both_directions(viewer, monkeypatch):
    monkeypatch.setattr(selectors, "PAGE_SIZE", 3)
    moments = [NOON, NOON, NOON, NOON, NOON + timedelta(1), NOON - timedelta(1), None, None, None, None]
    made = [make_news(published_at=moment) for moment in moments]
    made.sort(key=lambda n: (n.published_at is not None, n.published_at or NOON, n.pk), reverse=True)
    expected = [news.pk for news in made]
    last = selectors._write_cursor(made[-1], "published_at")
    pages = walk(viewer, reverse("news_list"), "older")
    assert [len(page) for page in pages] == [3, 3, 3, 1]
    assert list(chain(*pages)) == expected
    assert not viewer.get(reverse("news_list"), {"after": last}).context["page"].rows
    back = walk(viewer, reverse("news_list"), "newer", last)
    assert list(chain(*reversed(back))) == expected[:-1]


@pytest.mark.parametrize("cursor", ["x", "_", "1_x", "9" * 40 + "_1", "_-1", "1_" + "9" * 30, "\x00_1"])
def test_a_mangled_cursor_shows_the_first_page(viewer, cursor):
    make_news()
    response = viewer.get(reverse("news_list"), {"after": cursor, "before": cursor})
    assert len(response.context["page"].rows) == 1


def test_counting_stops(viewer, monkeypatch):
    monkeypatch.setattr(selectors, "COUNT_UP_TO", 2)
    for _ in range(3):
        make_news()
    assert "2 以上" in viewer.get(reverse("news_list")).content.decode()


@pytest.mark.database
@pytest.mark.parametrize("some", [1, 100], ids=["many", "some"])
def test_many_links_of_a_kind_are_filtered_as_few_are(viewer, monkeypatch, some):
    first = make_news("先")
    for title in ("甲", "乙"):
        make_link(first, make_news(title), kind="update")
    make_link(first, make_news("丙"), kind="suspect")
    found = titles(viewer.get(reverse("news_list"), {"kind": "update"}))
    monkeypatch.setattr(selectors, "LINKS_FEW", 1)
    monkeypatch.setattr(selectors, "LINKS_SOME", some)
    response = viewer.get(reverse("news_list"), {"kind": "update"})
    assert titles(response) == found == ["乙", "甲", "先"]
    assert response.context["count"].number == 3


def test_a_frequent_word_is_searched_as_a_rare_one_is(viewer, monkeypatch):
    for number in range(3):
        make_news(f"{number}号渡口")
    make_news("豆浆")
    found = titles(viewer.get(reverse("news_list"), {"q": "渡口"}))
    monkeypatch.setattr(selectors, "COUNT_UP_TO", 1)
    assert titles(viewer.get(reverse("news_list"), {"q": "渡口"})) == found
    assert len(found) == 3


def test_search_reads_only_the_newest(viewer, monkeypatch):
    make_news("旧豆浆")
    make_news("新豆浆")
    monkeypatch.setattr(selectors, "SEARCH_ROWS", 1)
    assert titles(viewer.get(reverse("news_list"), {"q": "豆浆"})) == ["新豆浆"]


def test_htmx_gets_the_list_alone(viewer):
    make_news()
    response = viewer.get(reverse("news_list"), headers={"HX-Request": "true"})
    assert response.content.decode().strip().startswith('<section id="results"')
    assert "HX-Request" in response.headers["Vary"]


@pytest.mark.parametrize("name", ["news_list", "cluster_list"])
def test_empty_lists_say_so(viewer, name):
    assert "还没有" in viewer.get(reverse(name)).content.decode()
    assert "没有符合条件的内容" in viewer.get(reverse(name), {"q": "空"}).content.decode()
