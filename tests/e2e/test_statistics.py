"""The story of a group, the dashboard and the audit in a real browser: accessible, and never too wide."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from articles.models import News
from articles.services import review
from tests.e2e.test_reading import TOO_WIDE, open_page, violations
from tests.views.factories import BODY, make_cluster, make_link, make_news, make_user

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def pages(db):
    cluster = make_cluster(4)
    editor = make_user("editor", username="周晴")
    texts = (f"据江城日报报道，{BODY}", f"{BODY}\n来源：晨光客户端", BODY)
    for news, text in zip(cluster.members.order_by("-pk")[:3], texts, strict=True):
        News.objects.filter(pk=news.pk).update(content=text, source="s" * 90)
    make_link(cluster.lead, make_news("寒潮预警" * 30), status="pending")
    review.confirm_cluster(cluster.pk, editor)
    for said in ("duplicate", "different", "update", "excerpt"):
        link = make_link(make_news(), make_news())
        review.judge_pair(link.low_id, link.high_id, said, editor)
    for _ in range(3):
        make_link(make_news(content=BODY), make_news(content=f"{BODY}完"))
    return {
        "story": reverse("cluster_story", args=[cluster.pk]),
        "cluster": reverse("cluster_detail", args=[cluster.pk]),
        "audit": reverse("dashboard_audit"),
        "dashboard": reverse("dashboard"),
    }


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_is_accessible_and_fits(site, pages, theme):
    page = site("editor", color_scheme=theme)
    faults = []
    for name, address in pages.items():
        for width in (1024, 1440, 390):
            page.set_viewport_size({"width": width, "height": 800})
            open_page(page, address)
            if page.evaluate(TOO_WIDE) > 0:
                faults.append(f"{name} at {width}: {page.evaluate(TOO_WIDE)} pixels too wide")
        for details in page.locator("main details").all():
            details.evaluate("details => { details.open = true; }")
        faults += [f"{name}: {fault}" for fault in violations(page)]
    assert faults == []


def test_the_charts_are_drawn(site, pages):
    page = site("viewer")
    for name, charts in (("story", 1), ("dashboard", 2)):
        open_page(page, pages[name])
        images = page.locator("img.chart")
        expect(images).to_have_count(charts)
        assert images.evaluate_all(
            "images => images.every(image => image.complete && image.naturalWidth > 600)"
        )
        assert all(image.get_attribute("alt") for image in images.all())


def test_a_sample_is_answered_key_by_key(site, pages):
    page = site("editor")
    open_page(page, pages["audit"])
    expect(page.get_by_text("剩 3 对")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_text("剩 2 对")).to_be_visible()
    page.keyboard.press("x")
    expect(page.get_by_text("剩 1 对")).to_be_visible()
    page.keyboard.press("z")
    expect(page.get_by_text("剩 2 对")).to_be_visible()
    open_page(page, pages["dashboard"])
    expect(page.get_by_text("今日已答 1 / 3 对")).to_be_visible()


def test_everything_can_be_read_and_answered_without_script(site, pages):
    page = site("editor", java_script_enabled=False)
    page.goto(pages["story"])
    page.get_by_text("数字").click()
    expect(page.get_by_role("columnheader", name="累计")).to_be_visible()
    page.goto(pages["dashboard"])
    page.get_by_role("link", name="7 天").click()
    page.wait_for_url("**days=7**")
    page.get_by_role("link", name="去做今日抽检").click()
    page.get_by_role("button", name="建议").click()
    expect(page.get_by_text("剩 2 对")).to_be_visible()
