"""The review desk in a real browser: a day's queue by keyboard alone, two editors, and no script."""

import re
from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.utils import timezone
from playwright.sync_api import expect

from articles.models import News, NewsCluster, NewsDecision, NewsLink, ReviewItem
from articles.services import queue
from tests.views.factories import BODY, make_cluster, make_link, make_news, make_user

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

HOSTILE = '<img src="x" onerror="document.title=\'taken\'"><script>document.title="taken"</script>'
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SERIOUS = ("serious", "critical")
# What the queue does every fifteen seconds.
POLL = """() => {
  const queue = document.querySelector("#queue");
  const swap = {source: queue, target: queue, select: "#queue", swap: "outerHTML"};
  htmx.ajax("GET", queue.getAttribute("hx-get"), swap);
}"""


def make_pairs(number: int, kind: str = "suspect", **fields) -> list[NewsLink]:
    """Pairs that wait, the first one first."""
    links = []
    now = timezone.now().replace(microsecond=0)
    for place in range(number):
        shared = {"published_at": now - timedelta(hours=2 * place)} | fields
        left = make_news(f"渡口通航第{place + 1}日", BODY, source="江城日报", **shared)
        right = make_news(f"渡口通航第{place + 1}日（图）", BODY.replace("首班", "头班"), **shared)
        links.append(make_link(left, right, kind=kind, status="pending", score=0.7))
    queue.refresh(list(News.objects.values_list("pk", flat=True)))
    return links


def title(page):
    return page.locator("#pair .head h2").first


def settled(page, number: int) -> None:
    """The desk is there again after a decision: so many are left."""
    expect(page.locator("#queue .left-over b")).to_have_text(str(number))
    expect(page.locator("body")).not_to_have_class("loading")


def test_a_queue_of_twenty_is_cleared_by_twenty_keys(site):
    make_pairs(12, kind="near")
    for _ in range(8):
        make_cluster(2)
    queue.refresh(list(News.objects.values_list("pk", flat=True)))
    page = site("editor")
    page.goto("/desk/")
    keys = 0
    for left in range(20, 0, -1):
        settled(page, left)
        page.keyboard.press("Enter")
        keys += 1
    expect(page.get_by_text("全部处理完了")).to_be_visible()
    assert keys == 20
    assert NewsDecision.objects.count() == 20
    assert NewsLink.objects.filter(status="confirmed").count() == 20
    # What was judged a duplicate one by one has become groups, which needed no second look.
    assert not ReviewItem.objects.exists()


def test_suggestions_by_meaning_are_answered_by_enter(site):
    links = make_pairs(2, kind="related")
    NewsLink.objects.update(reasons=[{"code": "same_event_likely", "score": 0.951, "model": "a-model"}])
    page = site("editor")
    page.goto("/desk/?kind=related")
    settled(page, 2)
    expect(page.locator("#pair")).to_contain_text("意思相近（余弦 0.951）")
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in SERIOUS] == []
    page.keyboard.press("Enter")
    settled(page, 1)
    page.keyboard.press("x")
    expect(page.get_by_text("全部处理完了").or_(page.get_by_text("没有符合"))).to_be_visible()
    kinds = [NewsLink.objects.get(pk=link.pk).kind for link in links]
    assert kinds == ["same_event", "different"]
    assert not NewsCluster.objects.exists()


def test_each_verdict_has_its_key_and_undo_goes_back(site):
    links = make_pairs(5)
    page = site("editor")
    page.goto("/desk/")
    kinds = {"u": "update", "e": "excerpt", "s": "same_event", "t": "template", "x": "different"}
    for left, (key, kind) in enumerate(kinds.items()):
        settled(page, 5 - left)
        page.keyboard.press(key)
        expect(page.locator(".messages")).to_contain_text("已记录")
        settled(page, 4 - left)
        assert NewsLink.objects.get(pk=links[left].pk).kind == kind
    expect(page.get_by_text("全部处理完了")).to_be_visible()
    page.keyboard.press("z")
    expect(title(page)).to_have_text("渡口通航第5日")
    settled(page, 1)
    page.keyboard.press("z")
    expect(title(page)).to_have_text("渡口通航第4日")
    assert list(ReviewItem.objects.values_list("link", flat=True)) == [links[3].pk, links[4].pk]


def test_moving_through_the_queue_keeps_its_place_and_the_address_names_the_item(site):
    links = make_pairs(30)
    page = site("editor")
    page.goto("/desk/")
    for number in range(2, 22):
        page.keyboard.press("j")
        expect(title(page)).to_have_text(f"渡口通航第{number}日")
    page.keyboard.press("k")
    expect(title(page)).to_have_text("渡口通航第20日")
    assert f"item=p{links[19].pk}" in page.url
    row = page.locator("#queue [aria-current='true'][id]")
    expect(row).to_be_in_viewport()
    before = row.bounding_box()["y"]
    urgent = make_pairs(1, published_at=timezone.now() + timedelta(hours=3))
    page.evaluate(POLL)
    expect(page.locator(f"#item-p{urgent[0].pk}")).to_have_count(1)
    assert abs(row.bounding_box()["y"] - before) < 2
    page.reload()
    expect(title(page)).to_have_text("渡口通航第20日")


@pytest.mark.parametrize("script", [True, False])
def test_the_steps_in_the_bar_lead_there_and_back_and_stay_in_sight(site, script):
    links = make_pairs(3)
    News.objects.filter(pk=links[1].low_id).update(content="\n".join(f"第{n}段。" for n in range(300)))
    page = site("editor", java_script_enabled=script)
    page.goto("/desk/")
    steps = page.locator(".verdicts .steps")
    onward, back = (steps.locator(f"a[rel={name}]") for name in ("next", "prev"))
    undo = steps.get_by_role("button", name="撤销")
    expect(onward).to_have_text("下一条J")
    expect(back).to_have_count(0)
    expect(undo).to_have_count(0)
    onward.click()
    expect(title(page)).to_have_text("渡口通航第2日")
    expect(back).to_have_text("上一条K")
    # However long the texts are, the bar stays at the foot of the window.
    expect(back).to_be_in_viewport(ratio=1)
    back.click()
    expect(title(page)).to_have_text("渡口通航第1日")
    onward.click()
    expect(title(page)).to_have_text("渡口通航第2日")
    page.get_by_role("button", name="不同", exact=False).last.click()
    expect(title(page)).to_have_text("渡口通航第3日")
    expect(onward).to_have_count(0)
    undo.click()
    expect(title(page)).to_have_text("渡口通航第2日")
    expect(onward).to_have_count(1)
    expect(undo).to_have_count(0)
    assert NewsLink.objects.filter(status="pending").count() == 3


def test_who_only_reads_steps_through_the_queue_and_decides_nothing(site):
    make_pairs(2)
    page = site("viewer")
    page.goto("/desk/")
    expect(page.locator(".verdicts button")).to_have_count(0)
    page.locator(".steps a[rel=next]").click()
    expect(title(page)).to_have_text("渡口通航第2日")
    for key in ("Enter", "x", "d", "z"):
        page.keyboard.press(key)
    page.locator(".steps a[rel=prev]").click()
    expect(title(page)).to_have_text("渡口通航第1日")
    assert not NewsDecision.objects.exists()


def test_the_next_comparison_is_there_before_it_is_asked_for(site):
    make_pairs(3)
    page = site("editor")
    with page.expect_response("**/desk/ahead/**") as ahead:
        page.goto("/desk/")
    assert "渡口通航第2日" in ahead.value.text()
    page.wait_for_load_state("networkidle")
    held = []
    page.route("**/verdict/", lambda route: held.append(route))
    page.keyboard.press("x")
    expect(title(page)).to_have_text("渡口通航第2日")
    page.keyboard.press("x")  # Too early: it would be said of the former pair.
    assert len(held) == 1
    held[0].continue_()
    settled(page, 2)
    assert NewsDecision.objects.count() == 1


def test_two_editors_in_conflict(site):
    link, _ = make_pairs(2)
    first, second = site("editor"), site("editor")
    first.goto("/desk/")
    expect(title(first)).to_have_text("渡口通航第1日")
    second.goto("/desk/")
    expect(title(second)).to_have_text("渡口通航第2日")
    second.keyboard.press("k")
    expect(second.locator("#state")).to_contain_text("也在看这一条")
    first.keyboard.press("d")
    expect(first.locator(".messages")).to_contain_text("已记录：转载")
    second.keyboard.press("x")
    expect(second.locator(".messages")).to_contain_text("再看一遍")
    expect(second.locator("#state")).to_contain_text("不再等待")
    expect(title(second)).to_have_text("渡口通航第1日")
    assert NewsLink.objects.get(pk=link.pk).status == "confirmed"
    assert NewsDecision.objects.count() == 1


def test_a_group_by_keyboard(site):
    cluster = make_cluster(4)
    queue.refresh(list(News.objects.values_list("pk", flat=True)))
    page = site("editor")
    page.goto("/desk/")
    page.keyboard.press("r")
    expect(page.locator(".side h2").first).to_contain_text("3 篇")
    page.keyboard.press("z")
    expect(page.locator(".side h2").first).to_contain_text("4 篇")
    page.keyboard.press("a")
    expect(page.get_by_text("全部处理完了")).to_be_visible()
    assert NewsCluster.objects.get(pk=cluster.pk).state == "reviewed"


def test_the_filter_by_keyboard(site):
    make_pairs(3)
    page = site("editor")
    page.goto("/desk/")
    page.keyboard.press("/")
    page.keyboard.type("第2日")
    page.keyboard.press("Enter")
    expect(page.locator(".waiting li")).to_have_count(1)
    expect(title(page)).to_have_text("渡口通航第2日")
    page.keyboard.press("Enter")
    expect(page.get_by_text("没有符合")).to_be_visible()
    assert "q=" in page.url


def test_without_script(site):
    make_pairs(3)
    page = site("editor", java_script_enabled=False)
    page.goto("/desk/")
    page.locator(".waiting a").nth(1).click()
    expect(title(page)).to_have_text("渡口通航第2日")
    page.get_by_label("备注").fill("图注不同")
    page.get_by_role("button", name="更新稿").click()
    expect(title(page)).to_have_text("渡口通航第3日")
    expect(page.locator(".messages")).to_contain_text("已记录：更新稿")
    page.get_by_role("button", name="撤销").last.click()
    expect(title(page)).to_have_text("渡口通航第2日")
    page.locator(".narrow summary").click()
    page.get_by_label("标题").fill("第3日")
    page.get_by_role("button", name="筛选").click()
    expect(page.locator(".waiting li")).to_have_count(1)
    page.locator(".narrow summary").click()
    page.get_by_role("link", name="清除").click()
    expect(page.locator(".waiting li")).to_have_count(3)


def test_hostile_text_stays_text(site):
    make_pairs(1, url=HOSTILE)
    News.objects.update(title=HOSTILE, content=HOSTILE + BODY, source=HOSTILE[:90])
    queue.refresh(list(News.objects.values_list("pk", flat=True)))
    page = site("editor", locale="en-GB")
    page.goto("/desk/")
    page.wait_for_load_state("networkidle")
    assert page.title() == "Review desk · News de-duplication"
    assert page.locator("main img, main script").count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_accessible_and_no_wider_than_the_screen(site, theme):
    make_pairs(45)
    make_cluster(5)
    queue.refresh(list(News.objects.values_list("pk", flat=True)))
    page = site("editor", color_scheme=theme)
    for address in ("/desk/", "/desk/?kind=cluster", "/desk/?q=没有&lowest=7"):
        page.goto(address)
        for width in (1440, 1024, 390):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate(TOO_WIDE) <= 0, (address, width)
            found = Axe().run(page).response["violations"]
            serious = [rule for rule in found if rule["impact"] in SERIOUS]
            assert [(rule["id"], node["html"][:120]) for rule in serious for node in rule["nodes"]] == []


def test_groups_are_regrouped_from_the_desk_by_keyboard(site):
    cluster = make_cluster(5)
    queue.refresh(list(News.objects.values_list("pk", flat=True)))
    members = list(cluster.members.order_by("canonical_key").values_list("pk", flat=True))
    page = site("editor")
    page.goto(f"/desk/?item=c{cluster.pk}&right={members[1]}")
    page.keyboard.press("]")
    expect(page.locator(".side .members li.on").last).to_have_text(
        re.compile(News.objects.get(pk=members[2]).source)
    )
    page.keyboard.press("l")
    expect(page.locator(".messages")).to_contain_text("已记录")
    assert NewsCluster.objects.get(pk=cluster.pk).lead_id == members[2]
    page.keyboard.press("g")
    page.wait_for_url("**/split/**")
    for key in "jxjxg":
        page.keyboard.press(key)
    expect(page.locator("#desk .messages")).to_contain_text("已拆分")
    assert sorted(NewsCluster.objects.values_list("size", flat=True)) == [2, 3]
    page.keyboard.press("z")
    expect(page.locator(".messages")).to_contain_text("已撤销")
    assert NewsCluster.objects.get(pk=cluster.pk).size == 5
    page.keyboard.press("m")
    page.wait_for_url("**/link/**")
    page.get_by_role("link", name="返回").click()
    expect(page.locator("#desk")).to_be_visible()


def make_two_groups() -> NewsLink:
    left, right = make_cluster(2), make_cluster(2)
    link = make_link(left.lead, right.lead, kind="update", status="pending", score=0.8)
    queue.refresh(list(News.objects.values_list("pk", flat=True)))
    return link


@pytest.mark.parametrize("script", [True, False])
def test_two_groups_become_one_by_one_key_or_button(site, script):
    link = make_two_groups()
    page = site("editor", java_script_enabled=script)
    page.goto(f"/desk/?item=p{link.pk}")
    if script:
        page.keyboard.press("b")
    else:
        page.get_by_role("button", name="合并两群").click()
    expect(page.locator(".messages")).to_contain_text("已合并")
    assert sorted(NewsCluster.objects.values_list("size", "state")) == [(0, "merged"), (4, "open")]
    if script:
        page.keyboard.press("z")
    else:
        page.get_by_role("button", name="撤销").first.click()
    expect(page.locator(".messages")).to_contain_text("已撤销")
    assert list(NewsCluster.objects.values_list("size", "state")) == [(2, "open"), (2, "open")]


def test_a_group_without_script(site):
    cluster = make_cluster(4)
    queue.refresh(list(News.objects.values_list("pk", flat=True)))
    page = site("editor", java_script_enabled=False)
    page.goto(f"/desk/?item=c{cluster.pk}")
    page.get_by_role("button", name="移出右文").click()
    expect(page.locator(".side h2").first).to_contain_text("3 篇")
    page.get_by_role("button", name="右文为主稿").click()
    assert NewsCluster.objects.get(pk=cluster.pk).lead_locked
    page.get_by_role("link", name="拆分").click()
    page.get_by_role("checkbox").last.check()
    page.get_by_role("button", name="拆分所选").click()
    expect(page.locator("#desk .messages")).to_contain_text("已拆分")
    page.get_by_role("button", name="确认整群").click()
    assert NewsCluster.objects.get(pk=cluster.pk).state == "reviewed"


def test_what_was_done_to_many_is_undone_by_the_same_key(site):
    links = make_pairs(3)
    page = site("editor")
    page.goto("/pairs/")
    for key in "jxjx":
        page.keyboard.press(key)
    page.keyboard.press("b")
    page.wait_for_url("**/bulk/preview/**")
    page.get_by_label("判定").select_option("different")
    page.get_by_role("button", name="预览", exact=True).click()
    page.get_by_role("button", name="将 2 对判为“不同”").click()
    expect(page.get_by_role("status")).to_contain_text("2 项判定")
    page.goto("/desk/")
    page.keyboard.press("z")
    page.wait_for_url("**/bulk/*/")
    expect(page.get_by_role("status")).to_contain_text("已撤销 2")
    assert set(NewsLink.objects.values_list("status", flat=True)) == {"pending"}
    assert ReviewItem.objects.count() == len(links)


def test_an_editors_day_begins_at_the_desk_and_numbers_lead_everywhere(site):
    make_user("editor", username="周晴", password="long-and-right")
    page = site(role="")
    page.goto("/")
    page.get_by_label("用户名").fill("周晴")
    page.get_by_label("密码").fill("long-and-right")
    page.get_by_role("button", name="登录").click()
    page.wait_for_url("**/desk/")
    addresses = ("desk", "news", "clusters", "why", "similar", "uploads", "dashboard")
    for number, address in enumerate(addresses, start=1):
        page.keyboard.press(str(number))
        page.wait_for_url(f"**/{address}/")


CHINESE = """() => {
  const page = document.body.cloneNode(true);
  page.querySelectorAll("[lang^=zh], script").forEach((part) => part.remove());
  return page.textContent.match(/[\\u4e00-\\u9fff]+/g) || [];
}"""


@pytest.mark.parametrize(
    "address", ["/desk/", "/desk/?kind=cluster", "/desk/?q=nothing", "/pairs/", "/dashboard/"]
)
def test_in_english_only_the_news_are_chinese(site, address):
    make_pairs(2)
    make_cluster(3)
    queue.refresh(list(News.objects.values_list("pk", flat=True)))
    page = site("editor", locale="en-GB")
    page.goto(address)
    assert page.evaluate(CHINESE) == []


SIDES = """() => [...document.querySelectorAll("#pair .row.replace p")].slice(0, 2).map((text) => {
  const box = text.getBoundingClientRect();
  return {left: box.left, top: box.top};
})"""


def test_the_comparison_is_walked_toggled_and_stacked_where_it_is_narrow(site):
    (link,) = make_pairs(1)
    long = "\n".join(f"第{number}段说的是渡口的第{number}件事。" for number in range(60))
    News.objects.filter(pk=link.low_id).update(
        content=f"{long}全长３１．４公里，设站２２座。{long}首班船六点开。"
    )
    News.objects.filter(pk=link.high_id).update(content=f"{long}全长31.4公里,设站22座。{long}头班船六点开。")
    page = site("editor")
    page.goto("/desk/")
    expect(page.locator("[data-change]")).to_have_count(1)
    page.keyboard.press("n")
    expect(page.locator("[data-change].at")).to_be_in_viewport()
    # Both sides are in one box: whatever scrolls one of them scrolls the other.
    left, right = page.evaluate(SIDES)
    assert left["top"] == right["top"]
    page.get_by_role("switch", name="全半角").click()
    expect(page.locator("[data-change]")).to_have_count(2)
    assert f"item=p{link.pk}" in page.url
    page.keyboard.press("n")
    page.keyboard.press("n")
    expect(page.locator("[data-change].at del").first).to_have_text("首")
    page.keyboard.press("p")
    expect(page.locator("[data-change].at")).to_contain_text("公里")
    page.set_viewport_size({"width": 390, "height": 800})
    left, right = page.evaluate(SIDES)
    assert left["left"] == right["left"]
    assert left["top"] < right["top"]
