"""The whole round in a browser with a real worker: upload, progress, group, differences, verdict, undo."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from articles.models import NewsDecision, NewsLink, Upload
from tests.e2e.test_reading import HOSTILE, TOO_WIDE, open_page, violations
from tests.factories import CONTENT, TITLE
from tests.views.factories import make_cluster, make_decision, make_news

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

SECONDS = 1_000
WORK = 60 * SECONDS


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two reprints, a story of its own, a row that comes twice, one that cannot be used, and hostile text."""
    changed = CONTENT.replace("\n", " ")
    rows = [
        ("1", TITLE, changed, "江城日报", "2026-03-05 08:00"),
        ("2", f"【快讯】{TITLE}！", changed.replace("十八座", "十九座"), "北岸新闻网", "2026-03-05 09:00"),
        (
            "3",
            "山城缆车停运检修十天",
            "缆车公司贴出告示，检修期间改乘轮渡。",
            "晨光客户端",
            "2026-03-05 09:30",
        ),
        (
            "3",
            "山城缆车停运检修十天",
            "缆车公司贴出告示，检修期间改乘轮渡。",
            "晨光客户端",
            "2026-03-05 09:30",
        ),
        ("4", "", "", "晨光客户端", "2026-03-05 10:00"),
        ("5", HOSTILE.replace('"', '""'), HOSTILE.replace('"', '""'), "晨光客户端", "2026-03-05 10:00"),
    ]
    lines = ['"' + '","'.join(row) + '"' for row in rows]
    path = tmp_path / "今天的稿件.csv"
    path.write_text("\n".join(["编号,标题,正文,来源,发布时间", *lines]) + "\n")
    return path


def upload(page, file: Path) -> None:
    page.goto(reverse("upload_list"))
    page.get_by_label("文件").set_input_files(file)
    page.get_by_role("button", name="上传并去重").click()
    page.wait_for_url(re.compile(r"/uploads/\d+/"))


def figures(page) -> dict[str, str]:
    names = page.locator(".figures dt").all_inner_texts()
    numbers = page.locator(".figures dd").all_inner_texts()
    return {name.split()[0]: number for name, number in zip(names, numbers, strict=True)}


@pytest.mark.worker
def test_from_the_file_to_the_verdict(site, worker, file):
    page = site("editor")
    upload(page, file)
    expect(page.locator(".upload-head .tag")).to_have_text("已完成", timeout=WORK)
    shown = figures(page)
    assert {name: shown[name] for name in ("新增", "更新", "退回")} == {"新增": "4", "更新": "0", "退回": "1"}
    assert [number for name, number in shown.items() if name.startswith("未变")] == ["1"]
    with page.expect_download() as download:
        page.get_by_role("link", name="下载退回行").click()
    assert download.value.suggested_filename == "今天的稿件.csv.rejects.csv"
    # Another number of stations is for a person to decide: the pair waits, or it is folded.
    page.get_by_role("link", name="查看这批稿件").click()
    expect(page.locator("[data-row]")).to_have_count(4)
    assert page.title() != "taken"
    link = NewsLink.objects.get(kind__in=("near", "rewrite", "exact", "update", "template"))
    page.goto(f"{reverse('why')}?left={link.low_id}&right={link.high_id}")
    expect(page.locator("mark, del, ins").first).to_be_visible()
    page.keyboard.press("d")
    expect(page.get_by_role("status")).to_contain_text("已记录：转载")
    page.goto(reverse("cluster_list"))
    page.locator("[data-row] a").first.click()
    page.wait_for_url(re.compile(r"/clusters/\d+/"))
    page.keyboard.press("x")
    expect(page.get_by_role("status")).to_contain_text("已记录：不同")
    page.keyboard.press("z")
    expect(page.get_by_role("status")).to_contain_text("已撤销")
    link.refresh_from_db()
    assert (link.status, link.locked) == ("confirmed", True)
    assert NewsDecision.objects.count() == 3
    expect(page.locator(".health")).to_contain_text("工作进程 2")


def until(page, is_true: Callable[[], bool]) -> None:
    """What a person without JavaScript does: follows the link that shows the present state."""
    for _ in range(WORK // SECONDS):
        if is_true():
            return
        page.get_by_role("link", name="刷新进度").click()
        page.wait_for_timeout(SECONDS)
    raise AssertionError("never came true")


@pytest.mark.worker
def test_the_same_without_script(site, worker, file):
    page = site("editor", java_script_enabled=False)
    upload(page, file)
    until(page, lambda: page.locator(".upload-head .tag").inner_text() == "已完成")
    page.get_by_role("link", name="查看这批稿件").click()
    assert page.locator("[data-row]").count() == 4
    link = NewsLink.objects.get(kind__in=("near", "rewrite", "exact", "update", "template"))
    page.goto(f"{reverse('why')}?left={link.low_id}&right={link.high_id}")
    page.locator(".verdicts button[value=duplicate]").click()
    expect(page.get_by_role("status")).to_contain_text("已记录：转载")
    page.goto(reverse("cluster_list"))
    page.locator("[data-row] a").first.click()
    page.locator(".verdicts button[value=different]").click()
    expect(page.get_by_role("status")).to_contain_text("已记录：不同")
    page.get_by_role("status").get_by_role("button", name="撤销").click()
    expect(page.get_by_role("status")).to_contain_text("已撤销")
    link.refresh_from_db()
    assert (link.status, link.locked) == ("confirmed", True)


def test_the_progress_follows_without_a_new_page(site):
    row = Upload.objects.create(name="a.csv", total_bytes=100, state="reading", alive_at="2026-01-01T00:00Z")
    page = site("editor")
    open_page(page, reverse("upload_detail", args=[row.pk]))
    page.evaluate("window.same = true")
    for done in (40, 80):
        Upload.objects.update(read_bytes=done, rows=done)
        expect(page.locator("#read")).to_have_js_property("value", done)
        expect(page.locator(".step output").first).to_have_text(f"{done}% · {done} 行")
    Upload.objects.update(state="done", read_bytes=100)
    expect(page.locator(".upload-head .tag")).to_have_text("已完成")
    assert page.evaluate("window.same")
    assert page.locator("[hx-trigger]").count() == 0


def test_a_double_click_uploads_once(site, file):
    page = site("editor")
    page.goto(reverse("upload_list"))
    page.get_by_label("文件").set_input_files(file)
    page.get_by_role("button", name="上传并去重").dblclick()
    page.wait_for_url(re.compile(r"/uploads/\d+/"))
    assert Upload.objects.count() == 1


def test_a_wrong_file_is_explained_where_it_was_chosen(site, tmp_path):
    page = site("editor")
    page.goto(reverse("upload_list"))
    wrong = tmp_path / "稿件.docx"
    wrong.write_bytes(b"PK\x03\x04")
    page.get_by_label("文件").set_input_files(wrong)
    page.get_by_role("button", name="上传并去重").click()
    expect(page.get_by_role("alert").filter(has_text="不是 CSV")).to_be_visible()
    assert violations(page) == []


def make_uploads() -> list[str]:
    """The addresses of an upload in each state."""
    problem = {
        "code": "columns",
        "missing": "content",
        "found": "名字, " + "x" * 80,
        "wanted": "title, content",
    }
    rows = [
        Upload.objects.create(name="x" * 120 + ".csv", total_bytes=3_000_000, state="reading", token="1"),
        Upload.objects.create(
            name="今天.csv", total_bytes=3_000_000, state="done", rows=3, added=2, token="2"
        ),
        Upload.objects.create(name="坏.csv", total_bytes=9, state="failed", problem=problem, token="3"),
    ]
    make_news(upload=rows[1], verdict="suspected")
    return [reverse("upload_detail", args=[row.pk]) for row in rows]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_editors_and_chiefs_see_is_accessible_and_fits(site, theme):
    cluster = make_cluster(3)
    make_decision(cluster, note="同一家通讯社")
    link = NewsLink.objects.first()
    addresses = {
        "editor": [
            *make_uploads(),
            reverse("upload_list"),
            reverse("cluster_detail", args=[cluster.pk]),
            f"{reverse('why')}?left={link.low_id}&right={link.high_id}",
        ],
        "chief": [
            reverse("admin:articles_newslink_change", args=[link.pk]),
            reverse("admin:articles_newslink_changelist"),
            reverse("admin:articles_news_changelist"),
            reverse("admin:articles_news_change", args=[link.low_id]),
            reverse("admin:articles_upload_changelist"),
        ],
    }
    faults = []
    for role, wanted in addresses.items():
        page = site(role, color_scheme=theme, staff=role == "chief")
        for address in wanted:
            for width in (1024, 1440):
                page.set_viewport_size({"width": width, "height": 800})
                # An upload that is being read asks again and again: the network is never idle.
                page.goto(address)
                wide = page.evaluate(TOO_WIDE)
                if wide > 0:
                    faults.append(f"{address} at {width}: {wide} pixels too wide")
            faults += [f"{address}: {fault}" for fault in violations(page)]
    assert faults == []


def test_overriding_a_verdict_in_the_administration(site):
    make_cluster(2)
    link = NewsLink.objects.get()
    page = site("chief", staff=True)
    open_page(page, reverse("admin:articles_newslink_change", args=[link.pk]))
    expect(page.locator(".diff del, .diff ins").first).to_be_visible()
    page.get_by_label("更新稿").check()
    page.get_by_label("理由").fill("船员人数不同")
    page.get_by_role("button", name="记录判定").click()
    expect(page.get_by_text("已记录：更新稿")).to_be_visible()
    link.refresh_from_db()
    assert (link.kind, link.status, link.locked) == ("update", "rejected", True)
    page.get_by_role("button", name="撤销").click()
    expect(page.locator(".messagelist")).to_contain_text("已撤销")
    link.refresh_from_db()
    assert (link.status, link.locked) == ("auto", False)
