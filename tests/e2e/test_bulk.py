"""Many at once in a real browser: select, preview, apply, undo; with script and without."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from articles.models import BulkRun, NewsCluster, NewsLink
from articles.services import bulk
from tests.e2e.test_reading import HOSTILE, TOO_WIDE, open_page, violations
from tests.views.factories import make_cluster
from tests.views.test_bulk import make_pair

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("script", [True, False])
def test_from_the_list_to_the_undo(site, script):
    for size in (2, 3, 4):
        make_cluster(size)
    page = site("editor", java_script_enabled=script)
    page.goto(reverse("cluster_list"))
    boxes = page.get_by_role("checkbox", name="选择“")
    boxes.nth(0).check()
    boxes.nth(1).check()
    page.get_by_role("button", name="处理所选").click()
    page.wait_for_url("**/bulk/preview/**")
    expect(page.get_by_role("heading", level=1)).to_have_text("批量确认 2 个转载群")
    page.get_by_label("主稿").select_option("longest")
    page.get_by_role("button", name="预览", exact=True).click()
    page.wait_for_url("**keeper=longest**")
    assert not BulkRun.objects.exists()
    page.get_by_label("备注").fill("周末补审")
    page.get_by_role("button", name="确认 2 群").click()
    page.wait_for_url(re.compile(r"/bulk/[0-9a-f-]+/"))
    expect(page.get_by_role("status")).to_contain_text("已作出 2 项判定")
    assert NewsCluster.objects.filter(state="reviewed").count() == 2
    page.get_by_role("button", name="全部撤销").click()
    expect(page.get_by_role("status")).to_contain_text("已撤销 2 项判定")
    assert not NewsCluster.objects.filter(state="reviewed").exists()


def test_all_on_the_page_and_by_keyboard(site):
    for _ in range(3):
        make_pair()
    page = site("editor")
    open_page(page, reverse("pair_list"))
    page.get_by_label("本页全选").check()
    page.keyboard.press("b")
    page.wait_for_url("**/bulk/preview/**")
    page.get_by_label("判定").select_option("update")
    page.get_by_role("button", name="预览", exact=True).click()
    page.get_by_role("button", name="将 3 对判为“更新稿”").click()
    expect(page.get_by_role("status")).to_contain_text("已作出 3 项判定")
    assert NewsLink.objects.filter(status="rejected").count() == 3
    page.keyboard.press("z")
    expect(page.get_by_role("status")).to_contain_text("已撤销 3 项判定")


@pytest.mark.worker
def test_many_are_done_and_undone_by_a_worker(site, worker):
    for number in range(bulk.AT_ONCE + 10):
        make_pair(f"第{number}号渡口通航")
    page = site("editor")
    page.goto(reverse("bulk_preview", query={"of": "pairs", "all": "on", "action": "different"}))
    page.get_by_role("button", name="将 60 对判为“不同”").click()
    page.wait_for_url(re.compile(r"/bulk/[0-9a-f-]+/"))
    expect(page.get_by_role("status")).to_contain_text("已作出 60 项判定", timeout=60_000)
    assert NewsLink.objects.filter(status="rejected", kind="different").count() == 60
    page.get_by_role("button", name="全部撤销").click()
    expect(page.get_by_role("status")).to_contain_text("已撤销 60 项判定", timeout=60_000)
    assert NewsLink.objects.filter(status="pending", kind="update").count() == 60


def test_the_progress_follows_without_a_new_page(site):
    run = BulkRun.objects.create(
        subject="pairs",
        action="update",
        items=list(range(80)),
        seen_at=timezone.now(),
        alive_at=timezone.now(),
    )
    page = site("editor")
    page.goto(reverse("bulk_detail", args=[run.pk]))
    page.evaluate("window.same = true")
    for position in (20, 60):
        BulkRun.objects.update(position=position)
        expect(page.locator("#done")).to_have_js_property("value", position)
    BulkRun.objects.update(state="done", applied=80)
    expect(page.get_by_role("status")).to_contain_text("已作出 80 项判定")
    assert page.evaluate("window.same")


@pytest.mark.parametrize("script", [True, False])
def test_splitting_and_merging_by_hand(site, script):
    cluster = make_cluster(4)
    page = site("editor", java_script_enabled=script)
    page.goto(reverse("cluster_detail", args=[cluster.pk]))
    page.get_by_role("link", name="拆分").click()
    page.wait_for_url("**/split/")
    boxes = page.get_by_role("checkbox")
    boxes.nth(2).check()
    boxes.nth(3).check()
    page.get_by_role("button", name="拆分所选").click()
    expect(page.get_by_role("status")).to_contain_text("已拆分")
    assert sorted(NewsCluster.objects.values_list("size", flat=True)) == [2, 2]
    page.get_by_role("link", name="合并或关联").click()
    page.get_by_label("另一篇稿件").fill("渡口")
    page.get_by_role("button", name="搜索").click()
    page.get_by_role("button", name="合并两群").first.click()
    # The split stands against it, and the page says so.
    expect(page.get_by_role("status")).to_contain_text("请先撤销该判定")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_are_accessible_and_fit(site, theme):
    cluster = make_cluster(3)
    long = make_pair("a" * 120)
    link = make_pair(HOSTILE)
    run = BulkRun.objects.create(
        subject="pairs",
        action="update",
        state="done",
        applied=1,
        seen_at=timezone.now(),
        refused=[[long.pk, "changed"]],
    )
    page = site("editor", color_scheme=theme)
    faults = []
    for address in (
        reverse("pair_list"),
        reverse("cluster_list"),
        reverse("bulk_list"),
        reverse("bulk_preview", query={"of": "pairs", "id": [link.pk, long.pk], "action": "update"}),
        reverse("bulk_preview", query={"of": "clusters", "id": cluster.pk, "keeper": "longest"}),
        reverse("bulk_detail", args=[run.pk]),
        reverse("cluster_split", args=[cluster.pk]),
        reverse("news_link", args=[cluster.lead_id], query={"q": "渡口"}),
    ):
        for width in (1440, 1024, 390):
            page.set_viewport_size({"width": width, "height": 800})
            open_page(page, address)
            if (wide := page.evaluate(TOO_WIDE)) > 0:
                faults.append(f"{address} at {width}: {wide} pixels too wide")
        faults += [f"{address}: {fault}" for fault in violations(page)]
        assert page.title() != "taken"
    assert faults == []
