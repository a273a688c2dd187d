"""The reading pages in a real browser: keys, htmx, no script, hostile text, accessibility, widths."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import expect

from articles.models import News, NewsCluster
from articles.services import queue
from tests.views.factories import BODY, make_cluster, make_decision, make_link, make_news, make_user

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

HOSTILE = (
    '<img src="/static/articles/icon.svg" onload="document.title=\'taken\'">'
    '<script>document.title="taken"</script>'
)
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SERIOUS = ("serious", "critical")


@pytest.fixture
def pages(db):
    """The address of each page, with rows that fill it."""
    cluster = make_cluster(4)
    make_decision(cluster, note="同一家通讯社")
    left = make_news("寒潮预警", "今夜最低气温2度。阵风6级。", verdict="suspected")
    right = make_news("寒潮预警" * 30, "今夜最低气温-3度。阵风6级。" + "没有标点也没有空格的长句子" * 60)
    make_link(
        left,
        right,
        kind="update",
        status="pending",
        reasons=[
            {"code": "number_differs", "left": "2度", "right": "-3度"},
            {"code": "title_similar", "score": 0.8},
        ],
    )
    unbroken = {"source": "s" * 90, "state": "failed", "last_error": "e" * 300}
    make_news("a" * 300, "https://very-long.example/" + "x" * 400, **unbroken)
    queue.refresh(list(News.objects.values_list("pk", flat=True)))
    return {
        "desk": f"{reverse('desk')}?kind=update",
        "desk-group": f"{reverse('desk')}?item=c{cluster.pk}",
        "desk-nothing": f"{reverse('desk')}?q=没有",
        "news": reverse("news_list"),
        "none": reverse("news_list") + "?q=没有",
        "clusters": reverse("cluster_list"),
        "cluster": reverse("cluster_detail", args=[cluster.pk]),
        "article": reverse("news_detail", args=[left.pk]),
        "unbroken": reverse("news_detail", args=[News.objects.get(state="failed").pk]),
        "why": f"{reverse('why')}?left={left.pk}&right={right.pk}",
        "why-empty": reverse("why"),
        "why-wrong": f"{reverse('why')}?left=x&right=y",
        "missing": "/nothing/",
    }


def violations(page) -> list[str]:
    found = Axe().run(page).response["violations"]
    serious = [rule for rule in found if rule["impact"] in SERIOUS]
    return [f"{rule['id']}: {node['html'][:120]}" for rule in serious for node in rule["nodes"]]


def open_page(page, address: str) -> None:
    page.goto(address)
    page.wait_for_load_state("networkidle")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_is_accessible_and_fits(site, pages, theme):
    page = site("viewer", color_scheme=theme)
    faults = []
    for name, address in pages.items():
        for width in (1024, 1440, 390):
            page.set_viewport_size({"width": width, "height": 800})
            open_page(page, address)
            wide = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            if wide > 0:
                faults.append(f"{name} at {width}: {wide} pixels too wide")
        faults += [f"{name}: {fault}" for fault in violations(page)]
    assert faults == []


def test_logging_in_and_out(site):
    make_user("viewer", username="周晴", password="long-and-right")
    page = site(role="")
    open_page(page, "/clusters/")
    assert violations(page) == []
    page.get_by_label("用户名").fill("周晴")
    page.get_by_label("密码").fill("wrong")
    page.get_by_role("button", name="登录").click()
    assert page.get_by_role("alert").first.is_visible()
    page.get_by_label("密码").fill("long-and-right")
    page.get_by_role("button", name="登录").click()
    page.wait_for_url("**/clusters/")
    page.get_by_text("周晴").click()
    page.get_by_role("button", name="退出").click()
    page.wait_for_url("**/login/")


def test_by_keyboard_from_the_list_to_the_differences(site, pages):
    page = site("viewer")
    open_page(page, pages["clusters"])
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/clusters/*/")
    changes = page.locator("[data-change]")
    page.keyboard.press("n")
    assert page.locator("[data-change].at").count() == 1
    assert "at" in (changes.first.get_attribute("class") or "")
    page.keyboard.press("f")
    assert page.locator("details.same[open]").count() == page.locator("details.same").count()
    first = page.locator(".heads .head").nth(1).inner_text()
    page.keyboard.press("]")
    page.wait_for_url("**right=*")
    expect(page.locator(".heads .head").nth(1)).not_to_have_text(first, use_inner_text=True)
    page.keyboard.press("2")
    page.wait_for_url("**/news/")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    page.keyboard.type("j寒潮")  # A letter typed into a field is no command.
    assert page.locator("input[name=q]").input_value() == "j寒潮"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("dialog.help").is_visible()


def test_filters_answer_without_a_new_page_and_the_address_follows(site, pages):
    page = site("viewer")
    open_page(page, pages["news"])
    page.evaluate("window.same = true")
    page.get_by_label("判定").select_option("suspected")
    page.wait_for_url("**verdict=suspected**")
    expect(page.locator("#results [data-row]")).to_have_count(1)
    assert page.evaluate("window.same")
    page.go_back()
    expect(page.locator("#results [data-row]")).to_have_count(4)


def test_an_ended_session_shows_the_log_in_page(site, pages):
    page = site("viewer")
    open_page(page, pages["news"])
    page.context.clear_cookies()
    page.get_by_label("判定").select_option("suspected")
    page.wait_for_url("**/login/**")
    assert page.locator("header.top").count() == 1


def test_everything_can_be_read_without_script(site, pages):
    page = site("viewer", java_script_enabled=False)
    page.goto(pages["news"])
    page.get_by_label("标题").fill("寒潮")
    page.get_by_role("button", name="筛选").click()
    assert page.locator("[data-row]").count() == 2
    page.goto(pages["cluster"])
    page.get_by_role("group", name="放在哪边").nth(2).get_by_text("右").click()
    page.wait_for_url("**right=*")
    page.get_by_text("清洗文").click()
    page.wait_for_url("**text=clean**")
    page.locator("header details.menu summary").click()
    page.get_by_role("button", name="深色").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.wait_for_load_state()
    page.locator("header details.menu summary").click()
    page.get_by_role("button", name="English").click()
    assert page.get_by_role("link", name="Reprint groups").is_visible()


def test_hostile_text_stays_text(site):
    left, right = make_news(HOSTILE, HOSTILE), make_news(HOSTILE + "二", HOSTILE + BODY, source=HOSTILE)
    make_link(left, right)
    cluster = NewsCluster.objects.create(lead=left, size=2)
    News.objects.filter(pk__in=[left.pk, right.pk]).update(cluster=cluster)
    page = site("viewer")
    for address in (
        reverse("news_list"),
        reverse("news_detail", args=[left.pk]),
        reverse("cluster_detail", args=[cluster.pk]),
        f"{reverse('why')}?left={left.pk}&right={right.pk}",
    ):
        open_page(page, address)
        assert page.title() != "taken"
        assert page.locator("main img, main script").count() == 0
        assert page.get_by_text("document.title").count() > 0
