import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier

import pytest
from django.db import connection, transaction

from articles.models import News
from articles.services import dispatch, ingest
from tests.factories import CONTENT, TITLE, make_link, make_news, make_payload, take_sent

pytestmark = [pytest.mark.django_db, pytest.mark.database]
NOON = datetime(2026, 3, 5, 4, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def empty_queue():
    dispatch.forget_outage()
    take_sent()


def counts(result):
    return result.added, result.updated, result.unchanged, result.repeated


def judged(**values):
    """A stored article as the pipeline leaves it."""
    return make_news(state=News.State.DONE, verdict=News.Verdict.UNIQUE, attempts=1, claim="x", **values)


# --- What is stored ---------------------------------------------------------------------------------------


def test_new_articles_are_stored_as_they_came():
    given = make_payload(title="🚋 电车来了", source="江城日报", external_id="a-1", published_at=NOON)
    result = ingest.ingest([given])

    row = News.objects.get()
    assert counts(result) == (1, 0, 0, 0)
    assert result.ids == result.changed == [row.pk]
    assert (row.title, row.content, row.source, row.external_id) == (
        "🚋 电车来了",
        CONTENT,
        "江城日报",
        "a-1",
    )
    assert (row.published_at, row.state, row.revision) == (NOON, News.State.PENDING, 0)
    assert abs(row.created_at.timestamp() - time.time()) < 60


def test_an_import_repeated_changes_nothing():
    given = [make_payload(external_id=f"a-{n}", published_at=NOON) for n in range(3)]
    first = ingest.ingest(given)
    before = list(News.objects.order_by("pk").values())
    second = ingest.ingest(given)

    assert counts(second) == (0, 0, 3, 0)
    assert second.ids == first.ids
    assert second.changed == []
    assert list(News.objects.order_by("pk").values()) == before


@pytest.mark.parametrize(
    "change",
    [
        {"title": "滨江新区电车今晨开通"},
        {"content": CONTENT + "（完）"},
        {"content": CONTENT + " "},
        {"url": "https://news.example/2"},
        {"published_at": NOON},
    ],
)
def test_a_changed_article_is_updated_and_judged_anew(change):
    ingest.ingest([make_payload(external_id="a")])
    News.objects.update(state=News.State.DONE, claim="x", attempts=2, last_error="e", revision=4)
    result = ingest.ingest([make_payload(external_id="a", **change)])

    row = News.objects.get()
    assert counts(result) == (0, 1, 0, 0)
    assert all(getattr(row, name) == value for name, value in change.items())
    assert (row.state, row.revision, row.claim, row.attempts) == (News.State.PENDING, 5, "", 0)


def test_a_large_body_and_many_large_bodies_fit_into_statements():
    body = "滨江新区" * 90_000  # 1.08 MB each; quoting must not take one statement over MySQL's limit
    given = [make_payload(content=f"{n}'{body}", external_id=str(n)) for n in range(9)]
    assert counts(ingest.ingest(given)) == (9, 0, 0, 0)
    assert counts(ingest.ingest(given)) == (0, 0, 9, 0)
    assert News.objects.get(external_id="3").content == f"3'{body}"


# --- Identity ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"external_id": "7", "title": "甲"}, {"external_id": "7", "title": "乙"}, True),
        ({"external_id": "7", "source": "甲"}, {"external_id": "7", "source": "乙"}, False),
        ({"external_id": "7", "source": "甲"}, {"external_id": "7", "source": ""}, False),
        ({"external_id": "7"}, {"external_id": "7 "}, False),
        ({"external_id": "abc"}, {"external_id": "Abc"}, False),
        ({"external_id": "é"}, {"external_id": "e"}, False),
        ({"external_id": "🐼"}, {"external_id": "🐨"}, False),
        (
            {"external_id": "7", "url": "https://a.example"},
            {"external_id": "8", "url": "https://a.example"},
            False,
        ),
        ({"url": "https://a.example", "title": "甲"}, {"url": "https://a.example", "title": "乙"}, True),
        ({"url": "https://a.example", "source": "甲"}, {"url": "https://a.example", "source": "乙"}, True),
        ({"source": "甲"}, {"source": "甲"}, True),
        ({"source": "甲"}, {"source": "乙"}, False),
        ({"source": "甲"}, {"source": "甲", "title": "另题"}, False),
        ({"title": "ab", "content": "c"}, {"title": "a", "content": "bc"}, False),
    ],
)
def test_identity_is_source_and_id_else_url_else_source_and_text(one, other, same):
    ingest.ingest([make_payload(**one)])
    ingest.ingest([make_payload(**other)])
    assert News.objects.count() == (1 if same else 2)


def test_of_one_identity_twice_in_a_batch_the_last_counts():
    result = ingest.ingest([make_payload(external_id="a", title=title) for title in ("旧题", "中题", "新题")])
    assert counts(result) == (1, 0, 0, 2)
    assert result.ids == [News.objects.get().pk] * 3
    assert News.objects.get().title == "新题"


def test_an_article_inserted_by_sql_is_known_to_an_import():
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO news (title, content, source, external_id) VALUES (%s, %s, %s, %s)",
            [TITLE, CONTENT, "江城日报", "a"],
        )
    assert counts(ingest.ingest([make_payload(source="江城日报", external_id="a")])) == (0, 0, 1, 0)


def test_two_articles_of_one_identity_inserted_by_sql_both_stay():
    first, second = (make_news(external_id="a", title=title) for title in ("甲", "乙"))
    assert ingest.identify() == 2
    result = ingest.ingest([make_payload(external_id="a", title="丙")])

    assert counts(result) == (0, 1, 0, 0)
    assert result.ids == [first.pk]
    assert News.objects.get(pk=second.pk).title == "乙"


def test_an_article_that_gets_an_id_is_known_by_it():
    news = News.objects.create(title=TITLE, content=CONTENT)
    news.external_id = "a"
    news.save()
    assert ingest.ingest([make_payload(external_id="a")]).ids == [news.pk]


# --- Several processes ------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_two_processes_bringing_the_same_articles_lose_and_double_nothing():
    given = [make_payload(external_id=str(n), title=f"{TITLE}{n}") for n in range(400)]
    barrier = Barrier(2)

    def bring(payloads):
        try:
            barrier.wait()
            return [ingest.ingest(payloads[start : start + 40]) for start in range(0, len(payloads), 40)]
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        results = [result for part in pool.map(bring, [given, given[::-1]]) for result in part]

    assert sum(result.added for result in results) == 400
    assert sum(result.unchanged for result in results) == 400
    assert sorted(News.objects.values_list("external_id", flat=True)) == sorted(p.external_id for p in given)


# --- Saved, sent ------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_saved_article_is_sent_to_the_workers():
    news = News.objects.create(title=TITLE, content=CONTENT)
    assert take_sent() == [[news.pk]]
    news.refresh_from_db()
    assert (news.state, news.revision) == (News.State.PENDING, 1)


@pytest.mark.django_db(transaction=True)
def test_an_edited_article_is_judged_anew():
    news = judged(revision=3)
    news.content = "另一段正文。"
    news.save()

    assert take_sent() == [[news.pk]]
    row = News.objects.get()
    assert (row.content, row.state, row.revision) == ("另一段正文。", News.State.PENDING, 4)
    assert (row.claim, row.attempts) == ("", 0)


@pytest.mark.django_db(transaction=True)
def test_saving_an_old_instance_keeps_what_the_pipeline_found_since():
    old = make_news()
    lead = make_news(external_id="lead")
    News.objects.filter(pk=old.pk).update(verdict=News.Verdict.DUPLICATE, duplicate_of=lead, revision=7)
    old.source = "江城日报"
    old.save()

    row = News.objects.get(pk=old.pk)
    assert (row.source, row.verdict, row.duplicate_of, row.revision) == ("江城日报", "duplicate", lead, 8)


@pytest.mark.django_db(transaction=True)
def test_saving_columns_of_the_pipeline_alone_sends_nothing():
    news = judged()
    news.verdict = News.Verdict.LEAD
    news.save(update_fields=["verdict"])
    assert take_sent() == []
    assert News.objects.get().state == News.State.DONE


@pytest.mark.django_db(transaction=True)
def test_many_saves_in_one_transaction_make_one_task():
    with transaction.atomic():
        ids = [News.objects.create(title=f"{TITLE}{n}", content=CONTENT).pk for n in range(5)]
        assert take_sent() == []
    assert take_sent() == [ids]


@pytest.mark.django_db(transaction=True)
def test_what_is_rolled_back_is_not_sent():
    with transaction.atomic():
        kept = News.objects.create(title=TITLE, content=CONTENT)
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            News.objects.create(title="退回", content=CONTENT)
            raise ZeroDivisionError
        later = News.objects.create(title="之后", content=CONTENT)
    assert sorted(pk for ids in take_sent() for pk in ids) == [kept.pk, later.pk]


@pytest.mark.django_db(transaction=True)
def test_an_import_is_sent_in_tasks_of_bounded_size():
    result = ingest.ingest([make_payload(external_id=str(n)) for n in range(dispatch.TASK_SIZE + 1)])
    sent = take_sent()
    assert sorted(pk for ids in sent for pk in ids) == result.changed
    assert max(map(len, sent)) <= dispatch.TASK_SIZE


@pytest.mark.django_db(transaction=True)
def test_an_import_that_is_judged_by_its_caller_is_not_sent():
    ingest.ingest([make_payload()], enqueue=False)
    assert take_sent() == []


@pytest.mark.django_db(transaction=True)
def test_a_save_survives_a_broker_that_is_away_and_does_not_wait_for_it(monkeypatch):
    monkeypatch.setenv("CELERY_BROKER_URL", "redis://127.0.0.1:1/0")
    begin = time.monotonic()
    for number in range(20):
        News.objects.create(title=f"{TITLE}{number}", content=CONTENT)
    assert time.monotonic() - begin < 5
    assert News.objects.filter(state=News.State.PENDING).count() == 20


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_back_gets_tasks_again(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("CELERY_BROKER_URL", "redis://127.0.0.1:1/0")
        News.objects.create(title=TITLE, content=CONTENT)
    dispatch.forget_outage()
    news = News.objects.create(title="之后", content=CONTENT)
    assert take_sent() == [[news.pk]]


# --- Deleted ----------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_deleting_an_article_has_those_judged_anew_that_were_linked_to_it():
    lead, linked, chained, other = (judged(external_id=name) for name in ("a", "b", "c", "d"))
    make_link(lead, linked)
    News.objects.filter(pk=chained.pk).update(duplicate_of=lead)
    lead.delete()

    assert take_sent() == [[linked.pk, chained.pk]]
    rows = {row.pk: (row.state, row.revision) for row in News.objects.all()}
    assert rows == {linked.pk: ("pending", 1), chained.pk: ("pending", 1), other.pk: ("done", 0)}


@pytest.mark.django_db(transaction=True)
def test_deleting_many_articles_at_once_is_one_task_for_the_rest():
    first, second, kept = (judged(external_id=name) for name in ("a", "b", "c"))
    make_link(first, kept)
    make_link(second, kept)
    News.objects.filter(pk__in=[first.pk, second.pk]).delete()

    assert take_sent() == [[kept.pk]]
    assert News.objects.get().state == News.State.PENDING
