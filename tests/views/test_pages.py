"""Single pages: articles, groups, pairs; languages, themes, errors, headers."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.db import DatabaseError
from django.test import Client, override_settings
from django.urls import reverse

from articles.forms import DecisionForm
from articles.models import News, NewsCluster
from tests.trouble import failing
from tests.views.factories import BODY, make_cluster, make_decision, make_link, make_news, make_user

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">{{ 7|add:7 }}&amp;"\''


def page(client: Client, name: str, *args: object, **query: str | int) -> str:
    response = client.get(reverse(name, args=args), query)
    assert response.status_code == 200
    return response.content.decode()


def test_an_article_shows_what_is_known_of_it(viewer):
    cluster = make_cluster(2)
    make_decision(cluster, note="同一家通讯社的稿")
    lead, other = cluster.members.order_by("pk")
    shown = page(viewer, "news_detail", lead.pk)
    for text in (
        lead.title,
        "船工老周说",
        lead.external_id,
        f"{lead.simhash_fp:016x}",
        "0001 0002 0003 ffff",
        lead.title_md5,
        lead.content_md5,
        "test-1",
        "近乎相同",
        other.source,
        "本文 98% 见于对方",
        "同一家通讯社的稿",
    ):
        assert text in shown


def test_an_article_shows_its_text_as_read_as_judged_and_as_it_came(viewer):
    news = make_news(content="<p>第一段。</p><p>第二段。</p>")
    news.text.body = "清洗后的段落。"
    news.text.save()
    assert "第一段。\n第二段。" in page(viewer, "news_detail", news.pk)
    assert "清洗后的段落。" in page(viewer, "news_detail", news.pk, text="clean")
    assert "&lt;p&gt;第一段。&lt;/p&gt;" in page(viewer, "news_detail", news.pk, text="source")


def test_an_article_that_was_not_judged_yet(viewer):
    news = make_news("", "", state="pending", simhash_fp=None, fingerprint_version="", verdict="")
    news.text.delete()
    shown = page(viewer, "news_detail", news.pk, text="clean")
    assert "（无标题）" in shown
    assert "尚未计算" in shown
    assert "尚未清洗" in shown


def test_only_web_addresses_become_links(viewer):
    news = make_news(url="javascript:alert(1)")
    assert 'href="javascript:' not in page(viewer, "news_detail", news.pk)


def test_a_very_long_text_is_cut(viewer):
    news = make_news(content="长" * 60_000)
    assert "只显示前 50,000 字" in page(viewer, "news_detail", news.pk)


def test_a_group_compares_its_lead_with_the_first_other(viewer):
    cluster = make_cluster(3)
    response = viewer.get(reverse("cluster_detail", args=[cluster.pk]))
    comparison = response.context["comparison"]
    assert comparison.left.pk == cluster.lead_id
    assert comparison.right.pk != cluster.lead_id
    assert comparison.link.containment_left == 0.98
    assert "<del>十二</del>" in response.content.decode() or "<ins>" in response.content.decode()


def test_any_two_members_side_by_side(viewer):
    cluster = make_cluster(4)
    ids = list(cluster.members.order_by("pk").values_list("pk", flat=True))
    query = {"left": ids[3], "right": ids[1]}
    comparison = viewer.get(reverse("cluster_detail", args=[cluster.pk]), query).context["comparison"]
    assert (comparison.left.pk, comparison.right.pk) == (ids[3], ids[1])
    assert comparison.link is None


@pytest.mark.parametrize("value", ["x", "-1", "9" * 30, "0", "１"])
def test_a_member_that_is_none_is_passed_over(viewer, value):
    cluster = make_cluster(2)
    response = viewer.get(reverse("cluster_detail", args=[cluster.pk]), {"left": value, "page": value})
    assert response.context["comparison"].left.pk == cluster.lead_id


def test_articles_of_other_groups_cannot_be_drawn_in(viewer):
    cluster, stranger = make_cluster(2), make_news("别的稿")
    response = viewer.get(reverse("cluster_detail", args=[cluster.pk]), {"right": stranger.pk})
    assert stranger.pk not in (response.context["left"].pk, response.context["right"].pk)


def test_a_groups_address_keeps_working_after_merges(viewer):
    last = make_cluster(2)
    middle = make_cluster(2, state=NewsCluster.State.MERGED, merged_into=last)
    first = make_cluster(2, state=NewsCluster.State.MERGED, merged_into=middle)
    response = viewer.get(reverse("cluster_detail", args=[first.pk]))
    assert response.status_code == 302
    assert response.url == reverse("cluster_detail", args=[last.pk])


def test_an_empty_group(viewer):
    cluster = NewsCluster.objects.create()
    assert "没有可以对照的" in page(viewer, "cluster_detail", cluster.pk)


def test_facts_that_differ_are_marked_on_their_side(viewer):
    left = make_news("矿井透水", "矿井昨夜透水，四人获救，三人失联。救援仍在继续。")
    right = make_news("矿井透水", "矿井昨夜透水，五人获救，三人失联。救援仍在继续。")
    make_link(
        left, right, reasons=[{"code": "number_differs", "left": "四人", "right": "五人"}], status="pending"
    )
    cluster = NewsCluster.objects.create(lead=right, size=2)
    News.objects.filter(pk__in=[left.pk, right.pk]).update(cluster=cluster)
    shown = page(viewer, "cluster_detail", cluster.pk, left=right.pk, right=left.pk)
    assert "<mark>五人</mark> → <mark>四人</mark>" in shown
    assert "透水，<mark>五人</mark>获救" in shown


def test_what_is_ignored_can_be_made_to_count(viewer):
    left, right = make_news("甲稿", "學校今天開學，共２个班。"), make_news("甲稿", "学校今天开学，共2个班！")
    names = {"left": left.pk, "right": right.pk}
    assert "两文相同" in page(viewer, "why", **names)
    for option in ("punctuation", "width", "script"):
        assert "1 处不同" in page(viewer, "why", **names, exact=option)


def test_why_any_two_articles(viewer):
    left, right = make_news(), make_news(content=BODY + "\n（责任编辑：何平）")
    shown = page(viewer, "why", left=left.pk, right=right.external_id)
    for text in ("汉明距离", "共有特征片段", "左文见于右文", "依据", "完全相同"):
        assert text in shown


@pytest.mark.parametrize("name", ["number", "hash", "id", "address", "page"])
def test_an_article_has_many_names(viewer, name):
    left, right = make_news(), make_news("另一篇", "说的是另一件事，与渡口无关。")
    names = {
        "number": str(left.pk),
        "hash": f"#{left.pk}",
        "id": left.external_id,
        "address": left.url,
        "page": f"http://desk.example{reverse('news_detail', args=[left.pk])}?text=clean",
    }
    response = viewer.get(reverse("why"), {"left": names[name], "right": right.pk})
    assert {response.context["left"].pk, response.context["right"].pk} == {left.pk, right.pk}


@pytest.mark.parametrize(
    ("left", "right", "says"),
    [
        ("没有的", "1", "没有这样的稿件"),
        ("twice", "1", "有几篇稿件都符合"),
        ("#%(pk)s", "%(pk)s", "这是同一篇稿件"),
        ("#99999999999999999999", "1", "没有这样的稿件"),
        ("http://[bad", "1", "没有这样的稿件"),
    ],
)
def test_why_says_what_it_does_not_know(viewer, left, right, says):
    news = make_news()
    make_news(external_id="twice", source="甲报")
    make_news(external_id="twice", source="乙报")
    assert says in page(viewer, "why", left=left % {"pk": news.pk}, right=right % {"pk": news.pk})


def test_hostile_text_is_shown_as_text(viewer):
    left = make_news(HOSTILE, HOSTILE, source=HOSTILE, external_id=HOSTILE, last_error=HOSTILE)
    right = make_news(HOSTILE + "二", HOSTILE + "二", source=HOSTILE)
    reasons = [{"code": "number_differs", "left": HOSTILE, "right": "二"}, {"code": HOSTILE}]
    make_link(left, right, reasons=reasons)
    cluster = NewsCluster.objects.create(lead=left, size=2)
    News.objects.filter(pk__in=[left.pk, right.pk]).update(cluster=cluster, verdict="lead")
    make_decision(cluster, note=HOSTILE)
    pages = [
        page(viewer, "news_list", q="<script>"),
        page(viewer, "news_list", source=HOSTILE),
        page(viewer, "news_detail", left.pk),
        page(viewer, "news_detail", left.pk, text="source"),
        page(viewer, "cluster_list", q="<script>"),
        page(viewer, "cluster_detail", cluster.pk),
        page(viewer, "why", left=left.pk, right=right.pk),
        page(viewer, "why", left=HOSTILE, right=right.pk),
    ]
    for shown in pages:
        assert "<script>alert" not in shown
        assert "<img src=x" not in shown
        assert 'onerror="alert' not in shown
        assert "{{ 7|add:7 }}" in shown or "add%3A7" in shown or "&lt;script&gt;" in shown


def test_languages(as_role):
    english = as_role("viewer", language="en")
    assert "Reprint groups" in page(english, "news_list")
    chinese = as_role("viewer")
    assert "转载群" in page(chinese, "news_list")
    chinese.post(reverse("set_language"), {"language": "en", "next": reverse("news_list")})
    shown = page(chinese, "news_list")
    assert "Reprint groups" in shown
    assert '<html lang="en"' in shown


def test_themes(viewer):
    assert "data-theme" not in page(viewer, "news_list")
    response = viewer.post(reverse("theme"), {"theme": "dark", "next": reverse("cluster_list")})
    assert response.url == reverse("cluster_list")
    assert 'data-theme="dark"' in page(viewer, "news_list")
    viewer.post(reverse("theme"), {"theme": ""})
    assert "data-theme" not in page(viewer, "news_list")
    viewer.cookies["theme"] = '"><script>'
    assert "data-theme" not in page(viewer, "news_list")


def test_a_theme_leads_to_no_other_site(viewer):
    assert viewer.post(reverse("theme"), {"next": "https://evil.example/"}).url == reverse("home")


def test_pages_allow_no_inline_script_or_style(viewer):
    response = viewer.get(reverse("news_list"))
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    shown = response.content.decode()
    assert "<style" not in shown
    assert " style=" not in shown
    assert "<script>" not in shown


def test_errors_in_the_sites_own_design(viewer, as_role, settings):
    missing = viewer.get("/nothing/here/")
    assert missing.status_code == 404
    assert "没有找到" in missing.content.decode()
    forbidden = as_role("").get(reverse("news_list"))
    assert "没有权限" in forbidden.content.decode()


def test_a_fault_shows_a_page_and_no_details(viewer):
    viewer.raise_request_exception = False
    with failing("SELECT COUNT(*)", DatabaseError("secret")):
        response = viewer.get(reverse("news_list"))
    assert response.status_code == 500
    assert "出错了" in response.content.decode()
    assert "secret" not in response.content.decode()


@override_settings(AXES_FAILURE_LIMIT=3)
def test_guessing_passwords_is_throttled(db):
    make_user("viewer", username="qing", password="long-and-right")
    client = Client()
    for _ in range(3):
        response = client.post(reverse("login"), {"username": "qing", "password": "wrong"})
    assert response.status_code == 429
    assert "尝试次数过多" in response.content.decode()
    assert (
        client.post(reverse("login"), {"username": "qing", "password": "long-and-right"}).status_code == 429
    )
    # Another name from the same address may still come in.
    make_user("viewer", username="ping", password="also-long-and-right")
    other = client.post(reverse("login"), {"username": "ping", "password": "also-long-and-right"})
    assert other.status_code == 302


def test_the_help_names_every_key():
    templates = Path(settings.BASE_DIR, "templates")
    sources = {path: path.read_text() for path in templates.rglob("*.html")}
    script = Path(str(finders.find("articles/site.js")))
    named = re.findall(r'aria-keyshortcuts="([^"]*)"', "".join(sources.values()))
    used = {key.upper() for keys in named for key in re.sub(r"{[{%].*?[%}]}", " ", keys).split()}
    used |= {key.upper() for key in re.findall(r"^    (\w): \w+", script.read_text(), re.M)}
    told = {key.upper() for key in re.findall(r"<kbd>(.*?)</kbd>", sources[templates / "base.html"])}
    # The verdicts' own keys stand on their buttons; the help shows three of them.
    assert used - told == set()
    assert {key.upper() for key in list(DecisionForm.KEYS.values())[:3]} < told
