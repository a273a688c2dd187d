"""The story of a group: who was first, who kept what, who named the source; what changed since a review."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from articles import stories
from articles.models import News, NewsCluster, NewsLink
from articles.services import review
from tests.views.factories import BODY, NOON, make_cluster, make_link, make_news, make_user

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">'


def page(client, cluster, **query) -> str:
    response = client.get(reverse("cluster_story", args=[cluster.pk]), query)
    assert response.status_code == 200
    return response.content.decode()


def make_story(*copies: dict, **lead) -> NewsCluster:
    """A lead of 江城日报 at noon, and copies of it; each is linked to the lead unless linked=False."""
    first = make_news(**{"source": "江城日报", "published_at": NOON, "verdict": "lead", **lead})
    cluster = NewsCluster.objects.create(lead=first, size=1 + len(copies))
    members = [first]
    for fields in copies:
        linked = fields.pop("linked", True)
        copy = make_news(**{"source": "北岸新闻网", "verdict": "duplicate", **fields})
        members.append(copy)
        if linked:
            make_link(first, copy, containment_low=0.75, containment_high=0.9)
    dates = sorted(news.published_at for news in members if news.published_at)
    NewsCluster.objects.filter(pk=cluster.pk).update(first_published=dates[0], last_published=dates[-1])
    News.objects.filter(pk__in=[news.pk for news in members]).update(cluster=cluster)
    cluster.refresh_from_db()
    return cluster


def test_who_was_first_and_who_followed(viewer):
    cluster = make_story(
        {"published_at": NOON + timedelta(minutes=26)},
        {"published_at": NOON + timedelta(hours=3), "source": "晨光客户端"},
        {"published_at": None, "source": "观澜财经"},
    )
    shown = page(viewer, cluster)
    for text in (
        "江城日报",
        "首发",
        "+26 分",
        "+3 小时",
        "晨光客户端",
        "4 家来源",
        "75%",
        "另有 1 篇没有发布时间",
    ):
        assert text in shown
    sources = [line.source for line in stories.sources_of(cluster)]
    assert sources == ["江城日报", "北岸新闻网", "晨光客户端", "观澜财经"]


def test_how_much_was_kept_and_what_is_new(viewer):
    cluster = make_story({}, {"linked": False, "content": BODY}, {"linked": False, "content": ""})
    copies = list(stories.copies_of(cluster))
    assert [copy.kept for copy in copies] == [1.0, 0.75, 1.0, None]
    assert copies[1].own == pytest.approx(0.1)
    assert copies[0].is_lead
    shown = page(viewer, cluster)
    assert "无正文" in shown
    assert "10%" in shown


def test_who_dropped_the_attribution(viewer):
    cluster = make_story(
        {"content": f"据江城日报报道，{BODY}"},
        {"content": f"<p>{BODY}</p><p>来源：晨光客户端</p>"},
        {"content": BODY},
        {"content": f"本报讯 {BODY}"},
        {"content": BODY, "source": "江城日报客户端"},
    )
    copies = list(stories.copies_of(cluster))
    assert [copy.attribution and copy.attribution.kind for copy in copies] == [
        *(None, "source", "other", "dropped", "itself", "own")
    ]
    assert stories.credit_counts(copies) == {"source": 1, "other": 1, "dropped": 1, "itself": 1}
    shown = page(viewer, cluster)
    for text in (
        "注明首发",
        "据江城日报报道",
        "注明他家",
        "来源:晨光客户端",
        "未注明出处",
        "署自家名",
        "自家稿件",
    ):
        assert text in shown


def test_credits_at_the_end_of_a_long_text_are_seen(viewer):
    cluster = make_story({"content": BODY * 400 + "\n来源：江城日报"})
    assert list(stories.copies_of(cluster))[1].attribution.kind == "source"


def test_a_group_of_many_is_shown_page_by_page(viewer, monkeypatch):
    monkeypatch.setattr(stories, "COPIES_SIZE", 2)
    cluster = make_story({}, {}, {"title": "末页的稿"})
    assert "末页的稿" not in page(viewer, cluster)
    assert "末页的稿" in page(viewer, cluster, page=2)
    assert "1 / 2" in page(viewer, cluster, page="x")


def queries(client, address: str) -> int:
    client.get(address)
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


@pytest.mark.parametrize("linked", [True, False])
def test_one_and_three_copies_cost_the_same(viewer, linked):
    costs = [
        queries(viewer, reverse("cluster_story", args=[make_story(*({"linked": linked},) * number).pk]))
        for number in (1, 3)
    ]
    assert costs[0] == costs[1]


@pytest.mark.database
def test_the_stretches_of_the_chart(viewer):
    later = [timedelta(minutes=4, seconds=59), timedelta(minutes=5), timedelta(minutes=61)]
    cluster = make_story(*({"published_at": NOON + after} for after in later), {"published_at": None})
    timeline = stories.timeline_of(cluster)
    assert timeline.step == timedelta(minutes=5)
    assert [slot.copies for slot in timeline.slots] == [2, 1, *[0] * 10, 1]
    assert timeline.slots[0].start == timezone.localtime(NOON)
    assert timeline.slots[-1].total == 4
    assert timeline.undated == 1


@pytest.mark.parametrize("days", [0, 1, 29, 400, 9_000])
def test_a_chart_has_few_stretches_however_long_it_took(days):
    span = timedelta(days=days)
    assert span / stories._step(span) < stories.BARS


@pytest.mark.parametrize(
    ("later", "labels"),
    [
        (timedelta(minutes=40), "12-01 12:00,12:05,12:10,12:15,12:20,12:25,12:30,12:35,12:40"),
        (timedelta(hours=14), "12-01 12:00,13:30,15:00,16:30,18:00,19:30,21:00,22:30,12-02 00:00,01:30"),
        (timedelta(days=20), "12-01,12-04,12-07,12-10,12-13,12-16,12-19"),
    ],
)
def test_the_chart_says_the_day_where_it_changes(viewer, later, labels):
    cluster = make_story({"published_at": NOON + later})
    svg = viewer.get(reverse("cluster_story_chart", args=[cluster.pk])).content.decode()
    shown = re.findall(r">(\d\d-\d\d(?: \d\d:\d\d)?|\d\d:\d\d)</text>", svg)
    assert shown == labels.split(",")


def test_the_chart_is_an_image_without_actions(viewer):
    cluster = make_story({"source": HOSTILE, "title": HOSTILE})
    response = viewer.get(reverse("cluster_story_chart", args=[cluster.pk]))
    svg = response.content.decode()
    assert response["Content-Type"] == "image/svg+xml"
    assert "script-src" not in response["Content-Security-Policy"]
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert "sandbox" in response["Content-Security-Policy"]
    assert "<script" not in svg
    assert "prefers-color-scheme" in svg
    viewer.cookies["theme"] = "dark"
    assert "prefers-color-scheme" not in viewer.get(response.request["PATH_INFO"]).content.decode()


def test_an_address_keeps_working_after_merges(viewer):
    cluster = make_cluster(2)
    old = NewsCluster.objects.create(state=NewsCluster.State.MERGED, merged_into=cluster)
    response = viewer.get(reverse("cluster_story", args=[old.pk]))
    assert response.url == reverse("cluster_story", args=[cluster.pk])
    assert viewer.get(reverse("cluster_story_chart", args=[old.pk])).status_code == 200
    assert viewer.get(reverse("cluster_story", args=[10**9])).status_code == 404


def test_an_empty_group_and_undated_articles(viewer):
    assert "这个转载群里没有稿件" in page(viewer, NewsCluster.objects.create())
    cluster = make_cluster(2)
    News.objects.update(published_at=None)
    assert "稿件都没有发布时间" in page(viewer, cluster)


def test_the_group_leads_to_its_story(viewer):
    cluster = make_cluster(2)
    shown = viewer.get(reverse("cluster_detail", args=[cluster.pk])).content.decode()
    assert reverse("cluster_story", args=[cluster.pk]) in shown


def test_hostile_text_is_shown_as_text(viewer):
    hostile = {"source": HOSTILE[:90], "title": HOSTILE, "content": f"来源：{HOSTILE}\n{BODY}"}
    shown = page(viewer, make_story(hostile, **hostile))
    assert "<script>alert" not in shown
    assert "<img src=x" not in shown


def test_in_english(as_role):
    shown = page(as_role("viewer", language="en"), make_story({"content": BODY}))
    for text in ("Who kept what", "attribution dropped", "Published first"):
        assert text in shown


# --- changed since the review -----------------------------------------------------------------------------


def changes(client, cluster) -> str:
    """The notice, on the story and on the group's page alike."""
    pages = [client.get(reverse(name, args=[cluster.pk])) for name in ("cluster_story", "cluster_detail")]
    shown = ["审核之后有变化" in response.content.decode() for response in pages]
    assert shown[0] == shown[1]
    return pages[0].content.decode() if shown[0] else ""


def test_a_review_by_itself_is_no_change(as_role):
    cluster = make_cluster(3)
    assert changes(as_role("editor"), cluster) == ""
    review.confirm_cluster(cluster.pk, make_user("editor"))
    assert changes(as_role("editor"), cluster) == ""


def test_what_came_and_went_since_the_review(as_role):
    cluster = make_cluster(3)
    editor = make_user("editor", username="周晴")
    review.confirm_cluster(cluster.pk, editor)
    gone = cluster.members.order_by("-pk").first()
    review.remove_member(cluster.pk, gone.pk, editor)
    new = make_news("后来的稿")
    review.judge_pair(cluster.lead_id, new.pk, "duplicate", editor)
    cluster.refresh_from_db()
    found = stories.changes_since_review(cluster)
    assert [news.pk for news in found.added] == [new.pk]
    assert [news.pk for news in found.removed] == [gone.pk]
    shown = changes(as_role("viewer"), cluster)
    for text in ("周晴 审核之后有变化", "新增 1 篇", "移出 1 篇", "后来的稿"):
        assert text in shown


def test_proposals_since_the_review(as_role, client):
    cluster = make_cluster(2)
    editor = make_user("editor")
    review.confirm_cluster(cluster.pk, editor)
    proposed = make_news("提议的稿")
    link = make_link(cluster.lead, proposed, status=NewsLink.Status.PENDING)
    other = make_link(
        cluster.members.order_by("pk").last(), make_news(), status=NewsLink.Status.PENDING, kind="update"
    )
    client.force_login(editor)
    shown = changes(client, cluster)
    assert "您审核之后有变化" in shown
    assert "1 篇待定是否并入" in shown
    assert f"left={cluster.lead_id}&amp;right={proposed.pk}" in shown
    assert stories.changes_since_review(NewsCluster.objects.get(pk=cluster.pk)).proposal_count == 1
    NewsLink.objects.filter(pk__in=[link.pk, other.pk]).delete()
    assert changes(client, cluster) == ""


def test_an_undone_review_leaves_nothing_to_compare_with(as_role):
    cluster = make_cluster(2)
    editor = make_user("editor")
    decision = review.confirm_cluster(cluster.pk, editor)
    review.undo(decision.pk, editor)
    make_link(cluster.lead, make_news(), status=NewsLink.Status.PENDING)
    assert changes(as_role("viewer"), cluster) == ""
