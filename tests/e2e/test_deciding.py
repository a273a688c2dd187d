"""Verdicts in a real browser: one key to decide, one to undo; and the same without script."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from articles.models import NewsDecision, NewsLink
from tests.views.factories import make_cluster

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def test_one_key_decides_and_one_undoes(site):
    cluster = make_cluster(3)
    page = site("editor")
    page.goto(reverse("cluster_detail", args=[cluster.pk]))
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("已记录：转载")
    assert NewsLink.objects.filter(status="confirmed", locked=True).count() == 1
    page.keyboard.press("x")
    expect(page.get_by_role("status")).to_contain_text("已记录：不同")
    page.keyboard.press("z")
    expect(page.get_by_role("status")).to_contain_text("已撤销")
    assert NewsLink.objects.filter(status="confirmed", locked=True).count() == 1
    assert list(NewsDecision.objects.order_by("pk").values_list("action", flat=True)) == [
        "verdict",
        "verdict",
        "undo",
    ]


def test_deciding_without_script(site):
    cluster = make_cluster(3)
    page = site("editor", java_script_enabled=False)
    page.goto(reverse("cluster_detail", args=[cluster.pk]))
    page.get_by_label("备注").fill("标题不同，正文一样")
    page.get_by_role("button", name="更新稿").click()
    expect(page.get_by_role("status")).to_contain_text("已记录：更新稿")
    assert NewsDecision.objects.get().note == "标题不同，正文一样"
    page.get_by_role("status").get_by_role("button", name="撤销").click()
    expect(page.get_by_role("status")).to_contain_text("已撤销")
    page.get_by_role("button", name="确认整群").click()
    expect(page.get_by_role("status")).to_contain_text("已记录：确认整群")
