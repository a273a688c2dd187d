"""What is alike in meaning stands on the page of similar articles, and never keeps the others from it."""

import shutil
import socket
from dataclasses import replace

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from articles.models import News
from articles.services import semantic
from articles.services.similar import MEANT, similar_to_news, similar_to_text
from tests.semantic.stories import FIRST, OTHER, RETOLD, embed
from tests.stories import BODY, TITLE, run
from tests.views.factories import make_user

pytestmark = [pytest.mark.semantic, pytest.mark.django_db, pytest.mark.usefixtures("switched_on")]
NOT_NOW = "按意思查找暂不可用"


@pytest.fixture
def viewer(db) -> Client:
    client = Client(headers={"accept-language": "zh-hans"})
    client.force_login(make_user("viewer"))
    return client


def names(found) -> list[str]:
    return [similar.news.external_id for similar in found]


def cosines(found) -> list[float]:
    return [similar.cosine or 0.0 for similar in found]


def post(client, title, content) -> str:
    return client.post(reverse("similar_text"), {"title": title, "content": content}).content.decode()


def test_report_in_other_words_is_found_by_its_meaning_with_the_cosine(viewer):
    ids = run(FIRST, RETOLD, OTHER)
    embed()
    found = similar_to_news(News.objects.get(pk=ids[0]))
    assert (names(found.alike), names(found.meant), found.complete) == ([], ["retold"], True)
    (retold,) = found.meant
    assert retold.verdict.kind == "distinct"
    assert 0.93 <= cosines(found.meant)[0] < 1
    page = viewer.get(reverse("similar"), {"news": ids[0]}).content.decode()
    assert f"意思（余弦 {retold.cosine:.3f}）" in page
    assert "意思相近" in page
    assert NOT_NOW not in page


def test_twin_by_its_text_says_that_its_meaning_is_alike_too():
    run(FIRST, RETOLD, OTHER)
    embed()
    found = similar_to_text(FIRST.title, FIRST.content)
    assert (names(found.alike), names(found.meant)) == (["first"], ["retold"])
    assert cosines(found.alike) > cosines(found.meant)


def test_text_that_means_something_else_finds_none(viewer):
    run(FIRST, RETOLD)
    embed()
    assert similar_to_text(TITLE, BODY) == ([], [], True)
    assert "库中没有与之相似的稿件" in post(viewer, TITLE, BODY)


@pytest.mark.parametrize("text", ["", "。", "养老"])
def test_text_too_short_to_mean_something_asks_no_model(text):
    run(FIRST)
    embed()
    assert similar_to_text("", text).meant == []


def test_article_in_other_words_stands_beside_the_text_where_chosen(viewer):
    _, retold = run(FIRST, RETOLD)
    embed()
    given = {"title": FIRST.title, "content": FIRST.content, "right": retold}
    response = viewer.post(reverse("similar_text"), given)
    assert response.context["comparison"].right.pk == retold
    page = response.content.decode()
    assert "意思余弦" in page
    assert "不相关" not in page


def retellings(count) -> list:
    """Each names its place, so none is the copy of another."""
    return [
        replace(
            RETOLD,
            external_id=f"retold-{place}",
            source=place,
            content=RETOLD.content.replace("国办近日发文", f"国办近日发文，{place}转发", 1),
        )
        for place in ("江城", "河口", "柳溪", "石桥", "东山", "南岭", "西坪")[:count]
    ]


def test_no_more_are_named_by_meaning_alone_than_can_be_read(settings):
    settings.NEWSDEDUP_SEMANTIC_THRESHOLD = 0.9
    run(*retellings(MEANT + 2))
    embed()
    found = similar_to_text(FIRST.title, FIRST.content)
    assert len(found.meant) == MEANT
    assert cosines(found.meant) == sorted(cosines(found.meant), reverse=True)


def test_query_count_does_not_grow_with_what_is_found_by_meaning(settings, django_assert_num_queries):
    settings.NEWSDEDUP_SEMANTIC_THRESHOLD = 0.9
    run(*retellings(1))
    embed()
    similar_to_text(FIRST.title, FIRST.content)
    with CaptureQueriesContext(connection) as one:
        assert len(similar_to_text(FIRST.title, FIRST.content).meant) == 1
    run(*retellings(3)[1:])
    embed()
    with django_assert_num_queries(len(one)):
        assert len(similar_to_text(FIRST.title, FIRST.content).meant) == 3


def test_deleted_article_is_not_named():
    _, retold = run(FIRST, RETOLD)
    embed()
    News.objects.get(pk=retold).delete()
    found = similar_to_text(FIRST.title, FIRST.content)
    assert (names(found.alike), names(found.meant), found.complete) == (["first"], [], True)


# --- what goes wrong --------------------------------------------------------------------------------------


def assert_texts_alone(viewer) -> None:
    page = post(viewer, FIRST.title, FIRST.content)
    assert NOT_NOW in page
    assert FIRST.title in page
    assert RETOLD.title not in page


def test_lost_index_is_told_and_the_others_are_found(viewer, tmp_path):
    run(FIRST, RETOLD)
    embed()
    shutil.rmtree(tmp_path / "vectors")
    assert_texts_alone(viewer)
    embed()
    assert NOT_NOW not in post(viewer, FIRST.title, FIRST.content)


def test_index_that_cannot_be_opened_is_told(viewer, tmp_path):
    run(FIRST, RETOLD)
    (tmp_path / "vectors").write_text("no folder")
    assert_texts_alone(viewer)


def test_model_that_does_not_answer_is_not_waited_for(viewer, settings, monkeypatch):
    run(FIRST, RETOLD)
    monkeypatch.setattr(semantic, "PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.NEWSDEDUP_SEMANTIC = "http"
        settings.NEWSDEDUP_SEMANTIC_URL = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        settings.NEWSDEDUP_SEMANTIC_MODEL = "m"
        settings.NEWSDEDUP_SEMANTIC_RETRIES = 0
        settings.NEWSDEDUP_SEMANTIC_TIMEOUT = 1
        assert_texts_alone(viewer)
        assert_texts_alone(viewer)
        # So that the next test need not wait for it.
        assert semantic._patience._late.exception(30) is not None


def test_index_of_the_worker_alone_is_left_to_it(viewer, settings, tmp_path):
    run(FIRST, RETOLD)
    settings.NEWSDEDUP_MILVUS_URI = str(tmp_path / "milvus.db")
    assert_texts_alone(viewer)
    assert not (tmp_path / "milvus.db").exists()


def test_model_that_fails_is_told(viewer, settings):
    run(FIRST, RETOLD)
    settings.NEWSDEDUP_SEMANTIC = "sentence-transformers"
    settings.NEWSDEDUP_SEMANTIC_MODEL = "/no/such/model"
    assert_texts_alone(viewer)


def test_switched_off_nothing_is_said_of_it(viewer, settings):
    run(FIRST, RETOLD)
    embed()
    settings.NEWSDEDUP_SEMANTIC = "off"
    page = post(viewer, FIRST.title, FIRST.content)
    assert "意思" not in page
