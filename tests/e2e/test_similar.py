"""Looking for what is like a text of one's own, in a real browser."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import expect

from tests.stories import BODY, TITLE, article, run

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
SERIOUS = ("serious", "critical")


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_pasted_text_finds_its_twins_and_stands_beside_one(site, script):
    run(article("a"), article("b", title="旧粮仓变身图书馆", content=BODY[:150]))
    page = site("viewer", java_script_enabled=script)
    page.goto(reverse("similar"))
    page.get_by_label("标题").fill(TITLE)
    page.get_by_label("正文").fill(BODY.replace("一万二千册", "两万册"))
    page.get_by_role("button", name="查找相似稿").click()
    rows = page.locator(".similar > li")
    expect(rows).to_have_count(2)
    rows.first.get_by_role("button", name="左右对照").click()
    expect(page.locator(".diff mark, .diff ins").first).to_be_visible()
    expect(page.get_by_label("正文")).to_have_value(BODY.replace("一万二千册", "两万册"))
    if script:
        found = Axe().run(page).response["violations"]
        assert [one["id"] for one in found if one["impact"] in SERIOUS] == []
