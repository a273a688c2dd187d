from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from articles import tasks
from articles.models import News
from articles.services import dispatch, health
from articles.services.ingest import ingest
from tests.factories import CONTENT, TITLE, make_news, make_payload
from tests.services import wait_until

NOON = datetime(2026, 3, 5, 4, tzinfo=UTC)
REPRINT = "【快讯】" + TITLE + "！"


@pytest.fixture(scope="module")
def quick_sweep():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEWSDEDUP_SWEEP_SECONDS", "1")
        yield


@pytest.fixture(autouse=True)
def forget_outage():
    dispatch.forget_outage()


def pending():
    return News.objects.filter(state=News.State.PENDING).count()


def state(row):
    row.refresh_from_db()
    return row.verdict, row.cluster_id, row.duplicate_of_id


# --- Without a worker -------------------------------------------------------------------------------------


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_a_task_that_runs_twice_changes_nothing():
    ids = [make_news(external_id=name, title=title).pk for name, title in (("a", TITLE), ("b", REPRINT))]
    tasks.deduplicate(ids)
    before = list(News.objects.order_by("pk").values())
    tasks.deduplicate(ids)
    tasks.sweep()
    assert list(News.objects.order_by("pk").values()) == before
    assert {row["verdict"] for row in before} == {"lead", "duplicate"}


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_a_task_for_articles_that_are_gone_does_nothing():
    tasks.deduplicate([1, 2, 10**9])


# --- With a worker ----------------------------------------------------------------------------------------


@pytest.mark.worker
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("worker", [["--beat"]], indirect=True)
class TestWorker:
    def test_saved_articles_are_judged(self, quick_sweep, worker):
        first = News.objects.create(title=TITLE, content=CONTENT, published_at=NOON)
        second = News.objects.create(title=REPRINT, content=CONTENT, published_at=NOON + timedelta(hours=1))
        assert wait_until(lambda: not pending(), 30), worker.tail()
        assert state(first)[0] == News.Verdict.LEAD
        assert state(second)[2] == first.pk

    def test_imported_articles_are_judged(self, quick_sweep, worker):
        result = ingest([make_payload(external_id=str(n), title=f"{n}号{TITLE}") for n in range(30)])
        assert wait_until(lambda: not pending(), 30), worker.tail()
        assert News.objects.filter(pk__in=result.ids, state=News.State.DONE).count() == 30

    def test_articles_inserted_by_sql_are_judged(self, quick_sweep, worker):
        with connection.cursor() as cursor:
            for title in (TITLE, REPRINT):
                cursor.execute("INSERT INTO news (title, content) VALUES (%s, %s)", [title, CONTENT])
        assert wait_until(lambda: not pending(), 30), worker.tail()
        assert sorted(News.objects.values_list("verdict", flat=True)) == ["duplicate", "lead"]
        assert not News.objects.filter(identity=None).exists()

    def test_an_article_changed_by_sql_is_judged_anew(self, quick_sweep, worker):
        with connection.cursor() as cursor:
            for title in (TITLE, REPRINT):
                cursor.execute("INSERT INTO news (title, content) VALUES (%s, %s)", [title, CONTENT])
        assert wait_until(lambda: not pending(), 30), worker.tail()
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE news SET title = %s, content = %s, state = 'pending', revision = revision + 1 "
                "WHERE title = %s",
                ["山城缆车停运检修十天", "缆车公司贴出告示，检修期间改乘轮渡。告示没有说原因。", REPRINT],
            )
        assert wait_until(lambda: not pending(), 30), worker.tail()
        assert set(News.objects.values_list("verdict", flat=True)) == {"unique"}

    def test_a_deleted_lead_is_replaced_by_the_next(self, quick_sweep, worker):
        first, second, third = (
            News.objects.create(
                title=title, content=CONTENT, external_id=name, published_at=f"2026-03-05T0{name}:00Z"
            )
            for name, title in (("1", TITLE), ("2", REPRINT), ("3", "(图)" + TITLE))
        )
        assert wait_until(lambda: not pending(), 30), worker.tail()
        assert [state(row)[2] for row in (first, second, third)] == [None, first.pk, first.pk]
        first.delete()
        assert wait_until(lambda: not pending(), 30), worker.tail()
        assert state(second)[0] == News.Verdict.LEAD
        assert state(third)[2] == second.pk

    def test_the_doctor_finds_the_worker(self, quick_sweep, worker):
        assert [finding.code for finding in health.examine() if not finding.ok] == []
