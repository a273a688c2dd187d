"""What the doctor says of the semantic scheme."""

import io
import shutil
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone, translation

from articles.models import News, NewsVector
from articles.services import health
from tests.semantic.stories import FIRST, OTHER, RETOLD, embed
from tests.stories import run

pytestmark = [pytest.mark.semantic, pytest.mark.django_db, pytest.mark.usefixtures("switched_on")]
LONG_AGO = timedelta(minutes=11)


def ill(worker: bool = False) -> dict[str, str]:
    """What is ill, by code, with its detail."""
    return {finding.code: finding.detail for finding in health.examine(worker) if not finding.ok}


def lines() -> str:
    out = io.StringIO()
    with translation.override("zh-hans"):
        call_command("doctor", "--no-worker", "--no-color", stdout=out)
    return out.getvalue()


def test_all_well_says_how_many_vectors_there_are():
    run(FIRST, RETOLD)
    embed()
    assert "ok  语义方案\nok  向量索引: 2 / 2 个向量\nok  尚无向量的稿件: 0" in lines()


def test_articles_that_wait_for_a_short_time_are_told_and_well():
    run(FIRST, RETOLD)
    assert "ok  尚无向量的稿件: 2" in lines()


def test_articles_that_wait_for_nobody_are_ill():
    run(FIRST, RETOLD)
    News.objects.update(judged_at=timezone.now() - LONG_AGO)
    with translation.override("en"):
        assert ill() == {"semantic_behind": "2, and none was made for 11 minutes"}


def test_articles_that_wait_while_others_are_embedded_are_well():
    run(FIRST, RETOLD, OTHER)
    embed()
    NewsVector.objects.first().delete()
    News.objects.update(judged_at=timezone.now() - LONG_AGO)
    assert "semantic_behind" not in ill()
    NewsVector.objects.update(created_at=timezone.now() - LONG_AGO)
    assert "semantic_behind" in ill()


def test_lost_index_is_ill_until_it_is_made_again(tmp_path):
    run(FIRST, RETOLD)
    embed()
    shutil.rmtree(tmp_path / "vectors")
    with translation.override("zh-hans"):
        assert ill() == {"semantic_index": "共 2 个向量，索引中只有 0 个"}
        with pytest.raises(CommandError, match="向量索引"):
            call_command("doctor", "--no-worker", stdout=io.StringIO())
    call_command("rebuild_vectors", stdout=io.StringIO())
    assert ill() == {}


def test_model_that_does_not_answer_is_ill_with_its_reason(settings):
    settings.NEWSDEDUP_SEMANTIC = "http"
    settings.NEWSDEDUP_SEMANTIC_URL = "http://127.0.0.1:9/v1"
    settings.NEWSDEDUP_SEMANTIC_MODEL = "m"
    settings.NEWSDEDUP_SEMANTIC_RETRIES = 0
    (detail,) = ill().values()
    assert "127.0.0.1:9" in detail


def test_model_without_a_threshold_is_ill(settings, server):
    settings.NEWSDEDUP_SEMANTIC = "http"
    settings.NEWSDEDUP_SEMANTIC_URL = server.url
    settings.NEWSDEDUP_SEMANTIC_MODEL = "e5-query"
    settings.NEWSDEDUP_SEMANTIC_THRESHOLD = 0.0
    assert list(ill()) == ["semantic_threshold"]


def test_index_of_the_worker_alone_is_not_opened(settings, tmp_path):
    settings.NEWSDEDUP_MILVUS_URI = str(tmp_path / "milvus.db")
    assert ill() == {}
    assert not (tmp_path / "milvus.db").exists()


@pytest.mark.worker
@pytest.mark.django_db(transaction=True)
class TestWithAWorker:
    def test_worker_that_judges_alone_leaves_the_queue_of_the_scheme_to_nobody(self, worker):
        assert list(ill(worker=True)) == ["semantic_worker"]

    @pytest.mark.parametrize("worker", [["--queues", "semantic"]], indirect=True)
    def test_worker_that_embeds_alone_judges_nothing(self, worker):
        assert list(ill(worker=True)) == ["worker"]
