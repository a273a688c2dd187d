"""The dashboard: its figures are those of the rows, bounded by the period; and the daily audit of folds."""

from datetime import date, datetime, timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from articles import statistics
from articles.models import AuditSample, DayCount, News, NewsDecision, NewsLink, ReviewItem
from articles.services import audit, review, rollup
from articles.services import queue as waiting
from tests.views.factories import make_cluster, make_link, make_news, make_user

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">'


def month() -> statistics.Period:
    cache.clear()
    return statistics.period(30)


def days_ago(number: int, hour: int = 12) -> datetime:
    day = timezone.localdate() - timedelta(days=number)
    return timezone.make_aware(datetime(day.year, day.month, day.day, hour))


def page(client, name: str = "dashboard", **query) -> str:
    cache.clear()
    response = client.get(reverse(name), query)
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.parametrize(
    ("asked", "days"),
    [
        ("7", 7),
        ("30", 30),
        ("90", 90),
        (None, 30),
        ("8", 30),
        ("x", 30),
        ("9" * 20, 30),
        ("７", 30),
        ("-7", 30),
    ],
)
def test_periods(asked, days):
    assert statistics.period(asked).days == days
    assert len(statistics.period(asked).dates) == days


@pytest.mark.database
def test_intake_by_the_desks_days(db):
    today = timezone.localdate()
    # In Shanghai one minute past midnight is still yesterday's afternoon in UTC.
    midnight = timezone.make_aware(datetime(today.year, today.month, today.day, 0, 1))
    make_news(created_at=midnight, verdict="duplicate")
    make_news(created_at=midnight - timedelta(minutes=2), verdict="unique")
    make_news(created_at=days_ago(29, 0), verdict="suspected")
    make_news(created_at=days_ago(30, 23), verdict="unique")
    lines = statistics.intake(month())
    assert [line.articles for line in lines] == [1, *[0] * 27, 1, 1]
    assert (lines[-1].duplicates, lines[-1].kept, lines[-1].waiting) == (1, 0, 0)
    assert (lines[-2].duplicates, lines[-2].kept, lines[-2].waiting) == (0, 1, 0)
    assert lines[0].waiting == 1


def test_sources_by_what_they_brought(db):
    make_news(source="江城日报", verdict="duplicate", created_at=days_ago(1))
    make_news(source="江城日报", created_at=days_ago(2))
    make_news(source="", created_at=days_ago(2))
    make_news(source="旧报", created_at=days_ago(40))
    rows = [(line.source, line.articles, line.duplicates) for line in statistics.sources(month())]
    assert rows == [("江城日报", 2, 1), ("", 1, 0)]


def test_the_queue_and_its_age(db):
    cluster = make_cluster(2)
    ages = {"update": timedelta(minutes=5), "excerpt": timedelta(hours=5), "near": timedelta(days=9)}
    for kind in ages:
        make_link(cluster.lead, make_news(), status="pending", kind=kind)
    waiting.refresh(list(News.objects.values_list("pk", flat=True)))
    for kind, age in ages.items():
        ReviewItem.objects.filter(kind=kind).update(created_at=timezone.now() - age)
    cache.clear()
    queue = statistics.queue()
    assert (queue.total, queue.hour, queue.day, queue.week, queue.older) == (4, 2, 1, 0, 1)
    assert dict(queue.kinds) == {"update": 1, "excerpt": 1, "near": 1, "cluster": 1}
    assert queue.oldest == ReviewItem.objects.get(kind="near").created_at


# --- days counted beforehand -------------------------------------------------------------------------------


def counts(lines) -> list[tuple[int, int, int]]:
    return [(line.articles, line.duplicates, line.waiting) for line in lines]


@pytest.mark.database
def test_figures_are_the_same_counted_before_or_now(db):
    for back in (0, 1, 2, 40):
        make_news(created_at=days_ago(back), source="江城日报", verdict="duplicate")
        make_news(created_at=days_ago(back), source="", verdict="suspected")
        make_news(created_at=days_ago(back), source="江城日报 ", verdict="lead")
    chosen = month()
    now = counts(statistics.intake(chosen)), statistics.sources(chosen)
    assert rollup.refresh() == 89
    cache.clear()
    assert (counts(statistics.intake(chosen)), statistics.sources(chosen)) == now


@pytest.mark.database
def test_days_that_were_counted_are_not_read_again(db):
    make_news(created_at=days_ago(2))
    rollup.refresh()
    News.objects.filter(created_at__lt=days_ago(1)).delete()
    assert sum(line.articles for line in statistics.intake(month())) == 1


@pytest.mark.parametrize("change", ["delete", "edit", "judge", "back-date"])
@pytest.mark.database
def test_a_count_follows_what_changed(db, change):
    first, second = make_news(created_at=days_ago(2), source="甲报"), make_news(created_at=days_ago(9))
    rollup.refresh()
    if change == "delete":
        first.delete()
    elif change == "edit":
        News.objects.filter(pk=first.pk).update(source="乙报")
    elif change == "judge":
        News.objects.filter(pk=first.pk).update(verdict="duplicate")
    else:
        News.objects.filter(pk=second.pk).update(created_at=days_ago(5))
    assert rollup.refresh() == 0
    DayCount.objects.update(counted_at=timezone.now() - rollup.HOLDS_FOR * 2)
    assert rollup.refresh() == 89
    stored = set(
        DayCount.objects.filter(articles__gt=0).values_list("day", "source", "articles", "duplicates")
    )
    now = statistics.count_days(statistics.period(90).dates)
    assert stored == {(c.day, c.source, c.articles, c.duplicates) for c in now if c.articles}


def test_counts_that_a_dead_worker_left_are_not_shown(db):
    make_news(created_at=days_ago(2))
    rollup.refresh()
    make_news(created_at=days_ago(2))
    DayCount.objects.update(counted_at=timezone.now() - statistics.COUNT_HOLDS)
    assert sum(line.articles for line in statistics.intake(month())) == 2


def test_late_days_are_counted_more_often(db):
    rollup.refresh()
    DayCount.objects.update(counted_at=timezone.now() - 2 * rollup.LATELY_FOR)
    assert rollup.refresh() == rollup.LATELY_DAYS


def test_verdicts_by_editor_count_what_still_holds(db):
    one, other = make_user("editor", username="周晴"), make_user("editor", username="方晓")
    clusters = [make_cluster(2) for _ in range(4)]
    pairs = [(cluster.lead_id, cluster.members.order_by("pk").last().pk) for cluster in clusters]
    review.judge_pair(*pairs[0], "duplicate", one)
    review.judge_pair(*pairs[1], "update", one)
    review.undo(review.judge_pair(*pairs[2], "different", one).pk, one)
    review.confirm_cluster(clusters[3].pk, other)
    old = review.judge_pair(*pairs[2], "different", other)
    NewsDecision.objects.filter(pk=old.pk).update(created_at=days_ago(31))
    found = statistics.verdicts(month())
    assert [(line.name, dict(line.counts)) for line in found.editors] == [
        ("周晴", {"duplicate": 1, "update": 1}),
        ("方晓", {"confirm": 1}),
    ]
    assert found.columns == ["duplicate", "update", "confirm"]


def test_the_overturn_rate(db):
    editor = make_user("editor")
    clusters = [make_cluster(2) for _ in range(3)]
    pairs = [(cluster.lead_id, cluster.members.order_by("pk").last().pk) for cluster in clusters]
    review.judge_pair(*pairs[0], "duplicate", editor)
    review.judge_pair(*pairs[1], "different", editor)
    review.remove_member(clusters[2].pk, pairs[2][1], editor)
    # What the machine had not folded says nothing of its folds; nor does a doubt.
    waiting = make_link(make_news(), make_news(), status="pending", kind="update")
    review.judge_pair(waiting.low_id, waiting.high_id, "different", editor)
    unsure = make_cluster(2)
    review.judge_pair(unsure.lead_id, unsure.members.order_by("pk").last().pk, "unsure", editor)
    # Two that leave together stay folded with each other: that they were taken from the lead counts.
    parted = make_cluster(4)
    review.split(parted.pk, list(parted.members.order_by("-pk").values_list("pk", flat=True)[:2]), editor)
    found = statistics.overturns(month())
    assert (found.overall.right, found.overall.wrong) == (1, 3)
    assert [(line.name, line.right, line.wrong) for line in found.kinds] == [("near", 1, 3)]
    assert sum(line.wrong for line in found.sources) == 6


def test_overturns_are_read_from_the_newest_decisions(db, monkeypatch):
    monkeypatch.setattr(statistics, "DECISIONS_READ", 1)
    editor = make_user("editor")
    for said in ("different", "duplicate"):
        cluster = make_cluster(2)
        review.judge_pair(cluster.lead_id, cluster.members.order_by("pk").last().pk, said, editor)
    found = statistics.overturns(month())
    assert (found.overall.right, found.overall.wrong, found.more) == (1, 0, True)


@pytest.mark.parametrize(
    ("hits", "total", "low", "high"), [(19, 20, 0.76, 0.99), (20, 20, 0.84, 1.0), (0, 1, 0.0, 0.79)]
)
def test_the_interval_of_a_share(hits, total, low, high):
    assert statistics.wilson(hits, total) == pytest.approx((low, high), abs=0.01)


def test_no_trials_have_no_interval():
    assert statistics.wilson(0, 0) is None


# --- the audit --------------------------------------------------------------------------------------------


def make_folds(number: int, **fields) -> list[NewsLink]:
    return [make_link(make_news(), make_news(), **fields) for _ in range(number)]


def drawn(day: date) -> list[int]:
    return list(AuditSample.objects.filter(day=day).order_by("pk").values_list("link", flat=True))


@pytest.mark.database
def test_a_sample_is_settled_by_day_and_number(db):
    make_folds(40)
    make_folds(3, status="pending")
    make_folds(3, kind="update", status="auto")
    today = timezone.localdate()
    audit.draw(today)
    first = drawn(today)
    assert len(first) == audit.SAMPLE_SIZE
    assert set(NewsLink.objects.filter(pk__in=first).values_list("status", "kind")) == {("auto", "near")}
    audit.draw(today)
    assert drawn(today) == first
    AuditSample.objects.all().delete()
    audit.draw(today)
    assert set(drawn(today)) == set(first)


def test_no_pair_is_drawn_twice(db):
    make_folds(30)
    today = timezone.localdate()
    audit.draw(today)
    audit.draw(today + timedelta(days=1))
    assert len(drawn(today + timedelta(days=1))) == 10
    assert not set(drawn(today)) & set(drawn(today + timedelta(days=1)))


def test_old_folds_are_not_drawn(db):
    (link,) = make_folds(1)
    NewsLink.objects.filter(pk=link.pk).update(created_at=days_ago(3))
    audit.draw(timezone.localdate())
    assert drawn(timezone.localdate()) == []


def test_the_kinds_take_turns(db):
    make_folds(60, kind="exact")
    make_folds(4, kind="rewrite")
    audit.draw(timezone.localdate())
    kinds = list(AuditSample.objects.values_list("kind", flat=True))
    assert sorted(kinds) == ["exact"] * 16 + ["rewrite"] * 4


def test_a_sample_is_filled_as_folds_come_in(db):
    make_folds(3)
    audit.draw(timezone.localdate())
    make_folds(30)
    audit.draw(timezone.localdate())
    assert len(drawn(timezone.localdate())) == audit.SAMPLE_SIZE


def test_an_editor_answers_and_the_precision_follows(as_role):
    make_folds(3)
    client = as_role("editor")
    said = {"duplicate": "正确", "different": "错误"}
    for verdict, words in said.items():
        response = client.get(reverse("dashboard_audit"))
        chosen = response.context["chosen"]
        form = {"verdict": verdict, "seen": "auto", "next": reverse("dashboard_audit")}
        address = reverse("judge_pair", args=[chosen.link.low_id, chosen.link.high_id])
        assert address in response.content.decode()
        assert client.post(address, form).url == reverse("dashboard_audit")
        assert words in page(client, "dashboard_audit")
    found = statistics.audit(month())
    assert (found.tallies.overall.right, found.tallies.overall.wrong) == (1, 1)
    assert found.today.sample == 3
    assert "今日已答 2 / 3 对" in page(client)
    review.undo(NewsDecision.objects.latest("pk").pk, None)
    assert statistics.audit(month()).tallies.overall.total == 1


def test_a_pair_may_be_chosen_and_what_is_none_is_passed_over(viewer):
    make_folds(3)
    page(viewer, "dashboard_audit")
    last = AuditSample.objects.last()
    assert viewer.get(reverse("dashboard_audit"), {"pair": last.pk}).context["chosen"] == last
    for wrong in ("x", "0", "9" * 30):
        assert viewer.get(reverse("dashboard_audit"), {"pair": wrong}).context["chosen"].is_open


def test_a_link_that_goes_takes_its_sample_along(db):
    make_folds(1)
    audit.draw(timezone.localdate())
    NewsLink.objects.all().delete()
    assert statistics.audit(month()).days == []


def test_whoever_only_reads_gets_no_buttons(viewer):
    make_folds(1)
    assert 'name="verdict"' not in page(viewer, "dashboard_audit")
    assert "查看今日抽检" in page(viewer)


# --- pages ------------------------------------------------------------------------------------------------


def fill(number: int) -> None:
    for _ in range(number):
        editor = make_user("editor")
        first, second = make_cluster(3), make_cluster(2)
        make_link(first.lead, make_news(), status="pending", kind="update")
        review.judge_pair(first.lead_id, first.members.order_by("pk").last().pk, "different", editor)
        review.confirm_cluster(second.pk, editor)
    audit.draw(timezone.localdate())


def queries(client, name: str) -> int:
    address = reverse(name)
    client.get(address)
    cache.clear()
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


@pytest.mark.parametrize("name", ["dashboard", "dashboard_audit"])
def test_one_and_three_of_all_cost_the_same(viewer, name, monkeypatch):
    monkeypatch.setattr(audit, "SAMPLE_SIZE", 1)
    fill(1)
    one = queries(viewer, name)
    AuditSample.objects.all().delete()
    monkeypatch.setattr(audit, "SAMPLE_SIZE", 3)
    fill(2)
    assert queries(viewer, name) == one


def test_a_full_dashboard(viewer):
    fill(2)
    shown = page(viewer)
    for text in (
        "每日进稿",
        "更新稿",
        "editor-",
        "自动归并抽检",
        "不到 1 小时",
        "进稿最多的来源",
        "2 对中推翻 2 对",
    ):
        assert text in shown
    assert shown.count("<img") == 2  # The audit has no answer yet.
    assert shown.count("<table") >= 7


def test_an_empty_dashboard(viewer):
    shown = page(viewer)
    for text in ("没有进稿", "没有待审", "没有判定", "尚未抽样"):
        assert text in shown
    assert "昨日以来没有" in page(viewer, "dashboard_audit")


@pytest.mark.parametrize("name", ["intake", "verdicts", "audit"])
def test_charts(viewer, name):
    address = reverse("dashboard_chart", args=[name])
    assert viewer.get(address).status_code == 200
    cache.clear()
    fill(1)
    make_user("editor", username="x", last_name=HOSTILE)
    NewsDecision.objects.update(actor=make_user("editor", first_name=HOSTILE[:150]))
    response = viewer.get(address, {"days": 7})
    svg = response.content.decode()
    assert response["Content-Type"] == "image/svg+xml"
    assert "<script" not in svg
    assert "<img" not in svg


def test_a_chart_that_is_none(viewer):
    assert viewer.get(reverse("dashboard_chart", args=["nothing"])).status_code == 404


def test_a_chart_follows_the_theme_and_the_language(viewer, as_role):
    fill(1)
    assert "theme=&amp;language=zh-hans" in page(viewer)
    viewer.cookies["theme"] = "dark"
    assert "theme=dark" in page(viewer)
    english = as_role("viewer", language="en")
    assert "duplicates" in english.get(reverse("dashboard_chart", args=["intake"])).content.decode()


def test_hostile_names_are_shown_as_text(viewer):
    make_news(source=HOSTILE[:90], verdict="duplicate")
    link = make_link(make_news(HOSTILE, source=HOSTILE[:90]), make_news(HOSTILE))
    review.judge_pair(link.low_id, link.high_id, "different", make_user("editor", first_name=HOSTILE[:150]))
    make_folds(1)
    News.objects.filter(pk=NewsLink.objects.last().low_id).update(title=HOSTILE, source=HOSTILE[:90])
    for name in ("dashboard", "dashboard_audit", "dashboard"):
        shown = page(viewer, name)
        assert "<script>alert" not in shown
        assert "<img src=x" not in shown


def test_in_english(as_role):
    fill(1)
    client = as_role("editor", language="en")
    for text in ("Statistics", "Articles a day", "of them duplicates caught", "Answer today&#x27;s sample"):
        assert text in page(client) or text.replace("&#x27;", "'") in page(client)
    assert "Are both one article?" in page(client, "dashboard_audit")


def test_no_style_or_script_stands_in_the_pages(viewer):
    fill(1)
    for name in ("dashboard", "dashboard_audit"):
        shown = page(viewer, name)
        assert " style=" not in shown
        assert "<style" not in shown
        assert "<script>" not in shown
