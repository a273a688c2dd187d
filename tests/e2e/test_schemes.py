"""Comparing schemes in a real browser: files of one's own, the progress, tables and charts."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import expect

from articles.models import SchemeComparison
from articles.services import comparisons
from tests.factories import take_tasks

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
SERIOUS = ("serious", "critical")
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
DRAWN = "images => images.length && images.every(image => image.complete && image.naturalWidth > 0)"
ARTICLES = (
    "external_id,title,content\n"
    "a,渡轮今晨复航,首班渡轮今晨载客八十六人，码头秩序井然，票价没有变化。\n"
    "b,【快讯】渡轮今晨复航,首班渡轮今晨载客八十六人，码头秩序井然，票价没有变化。\n"
    "c,油价迎来年内第七次上调,国内汽油和柴油价格今晚上调，加满一箱油约多花七元。\n"
)
FILES = {"articles": ARTICLES, "pairs": "a,b,label\na,b,D\na,c,N\n"}


@pytest.fixture(autouse=True)
def _small(settings, tmp_path, monkeypatch):
    settings.VAR_DIR = tmp_path
    monkeypatch.setattr(comparisons, "SIZES", (10,))
    yield
    take_tasks()


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (1024, "dark")])
def test_files_of_ones_own_become_tables_and_charts(site, width, theme):
    page = site("chief", viewport={"width": width, "height": 768}, color_scheme=theme)
    page.goto(reverse("schemes"))
    for name, text in FILES.items():
        file = {"name": f"{name}.csv", "mimeType": "text/csv", "buffer": text.encode()}
        page.locator(f"input[type=file][name={name}]").set_input_files(file)
    page.get_by_role("button", name="对比", exact=True).click()
    expect(page.get_by_role("heading", name="方案对比 · articles.csv")).to_be_visible()
    comparisons.run(SchemeComparison.objects.get().pk)
    # The page asks by itself.
    expect(page.get_by_role("heading", name="成本及其增长")).to_be_visible(timeout=10_000)
    expect(page.locator("#schemes")).to_contain_text("D 转载 (1)")
    page.locator("img").last.scroll_into_view_if_needed()
    page.wait_for_function(f"() => ({DRAWN})([...document.querySelectorAll('img')])")
    assert page.evaluate(TOO_WIDE) == 0
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in SERIOUS] == []


def test_without_script_the_figures_are_there_when_the_page_is_opened_again(site, monkeypatch):
    monkeypatch.setattr(comparisons, "SIZES", ())
    page = site("chief", java_script_enabled=False)
    page.goto(reverse("schemes"))
    page.get_by_label("改用项目自带的样例").check()
    page.get_by_role("button", name="对比", exact=True).click()
    expect(page.get_by_role("heading", name="方案对比 · news.csv")).to_be_visible()
    row = SchemeComparison.objects.get()
    comparisons.run(row.pk)
    page.goto(reverse("schemes_detail", args=[row.pk]))
    expect(page.get_by_role("rowheader", name="本系统").first).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="下载 CSV").click()
    assert waiting.value.suggested_filename == f"schemes-{row.pk}.csv"
