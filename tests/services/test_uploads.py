"""Uploads: stored once, read by whoever claims them, gone on with after a crash, removed when old."""

import tracemalloc
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.db import OperationalError, transaction
from django.utils import timezone
from django.utils.translation import override

from articles.models import News, Upload
from articles.services import dispatch, uploads, workers
from articles.services.readers import FileProblemError
from tests.factories import take_tasks
from tests.trouble import before_statement, failing

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

HEADER = "title,content,source,external_id\n"
STORE = "INSERT INTO news ("


@pytest.fixture(autouse=True)
def _own_folder(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    take_tasks()
    yield
    take_tasks()
    dispatch.forget_outage()


def rows(count: int, start: int = 0) -> str:
    return "".join(
        f"第{n}号渡轮复航,第{n}号渡轮今晨复航，载客八十六人。,江城日报,{n}\n"
        for n in range(start, start + count)
    )


def received(text: str, name: str = "news.csv", form: str = "f", **values) -> Upload:
    return uploads.receive(ContentFile(text.encode(), name=name), None, form=form, **values)


def read(upload: Upload) -> Upload:
    uploads.import_upload(upload.pk)
    upload.refresh_from_db()
    return upload


def counts(upload: Upload) -> tuple[int, int, int, int]:
    return upload.added, upload.updated, upload.unchanged, upload.rejected


def test_a_file_is_stored_under_a_name_of_its_own():
    upload = received(HEADER + rows(1), name="../../etc/标题.csv")
    assert upload.name == "标题.csv"
    path = uploads.file_path(upload.stored)
    assert path.read_text() == HEADER + rows(1)
    assert "标题" not in path.name
    assert path.stat().st_mode & 0o777 == 0o600


def test_long_rejects_are_not_all_held_at_once(monkeypatch):
    monkeypatch.setattr(uploads, "BATCH_BYTES", 100_000)
    upload = received("title,content\n" + f"标题,正文{',' * 60_000}多\n" * 40)
    tracemalloc.start()
    assert counts(read(upload)) == (0, 0, 0, 40)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000  # All 40 have 40 MB of cells.


def test_reading_counts_what_became_of_the_rows():
    read(received(HEADER + rows(3)))
    text = HEADER + rows(5) + rows(1, 4) + "一号,改过的正文,江城日报,0\n" + ",,江城日报,99\n"
    upload = read(received(text, form="g"))
    # Three are there, of which one is then changed; one of the two new ones comes twice.
    assert upload.state == Upload.State.DONE
    assert sum(counts(upload)) == upload.rows == 8
    assert (upload.added, upload.rejected, upload.read_bytes) == (2, 1, upload.total_bytes)
    assert upload.finished_at
    rejects = uploads.rejects_file(upload)
    assert rejects.read_text(encoding="utf-8-sig").splitlines()[1].startswith("9,")
    assert News.objects.filter(upload=upload).count() == upload.added + upload.updated


def test_repeated_rows_count_as_unchanged():
    upload = read(received(HEADER + rows(2) + rows(2)))
    assert counts(upload) == (2, 0, 2, 0)


def test_rows_without_a_source_get_that_of_the_upload():
    read(received("title,content\n渡轮复航,今晨复航。\n", source="北岸新闻网"))
    assert News.objects.get().source == "北岸新闻网"


def test_one_form_sent_twice_is_one_upload():
    first, second = received(HEADER + rows(1)), received(HEADER + rows(1))
    assert first.pk == second.pk
    assert len(list(uploads.file_path("").iterdir())) == 1
    # The same form with another file, as after "back" in the browser, is another upload.
    assert received(HEADER + rows(2)).pk != first.pk


def test_reading_twice_changes_nothing():
    upload = read(received(HEADER + rows(3)))
    before = Upload.objects.values().get()
    read(upload)
    assert Upload.objects.values().get() == before


class _Killed(BaseException):
    """As a killed worker: nothing is tidied up."""


def test_who_goes_on_after_a_crash_counts_no_row_twice(monkeypatch):
    monkeypatch.setattr(uploads, "BATCH_ROWS", 2)
    upload = received(HEADER + rows(2) + ",,,bad\n" + rows(3, 2))
    with failing(STORE, _Killed(), number=3), pytest.raises(_Killed):
        uploads.import_upload(upload.pk)
    upload.refresh_from_db()
    assert (upload.state, upload.rows, upload.added) == ("reading", 4, 3)
    # A reader that may still live is left alone.
    assert read(upload).rows == 4
    Upload.objects.update(alive_at=timezone.now() - timedelta(minutes=2))
    assert read(upload).state == "done"
    assert counts(upload) == (5, 0, 0, 1)
    assert News.objects.count() == 5
    assert len(uploads.rejects_file(upload).read_text().splitlines()) == 2


def test_a_reader_that_lost_its_claim_stores_nothing_more(monkeypatch):
    monkeypatch.setattr(uploads, "BATCH_ROWS", 2)
    upload = received(HEADER + rows(6))

    def overtake():
        transaction.on_commit(lambda: Upload.objects.update(claim="another"))

    with before_statement(STORE, overtake):
        assert read(upload).state == "reading"
    assert (upload.rows, News.objects.count()) == (2, 2)


def test_a_database_in_trouble_leaves_the_file_to_the_next_attempt():
    upload = received(HEADER + rows(2))
    with failing(STORE, OperationalError("deadlock")), pytest.raises(OperationalError):
        uploads.import_upload(upload.pk)
    upload.refresh_from_db()
    assert (upload.state, upload.rows) == ("waiting", 0)
    assert counts(read(upload)) == (2, 0, 0, 0)


def test_what_stops_its_readers_again_and_again_is_given_up():
    upload = received(HEADER + rows(2))
    Upload.objects.update(attempts=uploads.MAX_ATTEMPTS)
    assert read(upload).state == "failed"
    assert "再试一次" in uploads.problem_text(upload)
    assert uploads.may_retry(upload)
    assert uploads.retry(upload.pk)
    assert read(upload).state == "done"


def test_what_nobody_thought_of_is_said_and_may_be_tried_again():
    upload = received(HEADER + rows(2) + ",,,bad\n")
    in_the_way = uploads.file_path(f"{upload.stored.removesuffix('.csv')}.rejects.csv")
    in_the_way.mkdir()
    assert read(upload).state == "failed"
    assert in_the_way.name in uploads.problem_text(upload)
    assert uploads.may_retry(upload)
    in_the_way.rmdir()
    assert uploads.retry(upload.pk)
    assert read(upload).state == "done"
    assert counts(upload) == (2, 0, 0, 1)


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("名字,年龄\n张三,3\n", "a.csv", "a.csv"),
        ('[{"title": "x", "content": "y"}]', "a.json", "JSON"),
    ],
)
def test_a_file_without_news_says_what_to_do(text, name, said):
    upload = read(received(text, name=name))
    assert upload.state == "failed"
    assert said in uploads.problem_text(upload)
    # Its stored name would say nothing to anybody.
    assert upload.stored not in uploads.problem_text(upload)
    assert not uploads.may_retry(upload)
    assert not uploads.rejects_file(upload)


def test_what_is_no_text_is_refused_and_not_kept():
    with pytest.raises(FileProblemError):
        uploads.receive(ContentFile(b"PK\x03\x04" + b"x" * 100, name="a.csv"), None)
    assert not Upload.objects.exists()
    assert list(uploads.file_path("").iterdir()) == []


def test_a_stored_file_that_is_gone_is_a_problem_with_a_remedy():
    upload = received(HEADER + rows(1))
    uploads.file_path(upload.stored).unlink()
    assert "重新上传" in uploads.problem_text(read(upload))


@pytest.mark.parametrize(("language", "said"), [("zh-hans", "既无标题也无正文"), ("en", "neither a title")])
def test_rejected_rows_speak_the_language_of_who_sent_them(language, said):
    with override(language):
        upload = received(HEADER + ",,江城日报,1\n")
    # The worker has another one, or none.
    with override("en" if language == "zh-hans" else "zh-hans"):
        uploads.import_upload(upload.pk)
    assert said in uploads.rejects_file(Upload.objects.get(pk=upload.pk)).read_text()


def test_a_file_without_rows_is_done():
    upload = read(received(HEADER))
    assert (upload.state, upload.rows) == ("done", 0)


def sent() -> list[int]:
    """The uploads that were sent to the workers since this was asked last."""
    return [arguments[0] for name, arguments in take_tasks() if name == "import_upload"]


def test_the_sweep_sends_what_nobody_reads(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("CELERY_BROKER_URL", "redis://127.0.0.1:1/0")
        away = received(HEADER + rows(1))
    dispatch.forget_outage()
    abandoned, alive = received(HEADER + rows(2)), received(HEADER + rows(3))
    old = timezone.now() - timedelta(minutes=2)
    Upload.objects.filter(pk=abandoned.pk).update(state="reading", claim="x", alive_at=old)
    Upload.objects.filter(pk=alive.pk).update(state="reading", claim="y", alive_at=timezone.now())
    assert away.pk not in sent()
    uploads.sweep()
    assert sent() == [away.pk, abandoned.pk]
    assert Upload.objects.get(pk=abandoned.pk).state == "waiting"


def test_what_was_sent_is_not_sent_again_at_once():
    upload = received(HEADER + rows(1))
    uploads.sweep()
    assert sent() == [upload.pk]
    Upload.objects.update(alive_at=timezone.now() - timedelta(minutes=2))
    uploads.sweep()
    assert sent() == [upload.pk]


def test_old_files_are_removed_and_the_rows_stay():
    upload = read(received(HEADER + rows(1) + ",,,\n"))
    waiting = received(HEADER + rows(2))
    Upload.objects.update(created_at=timezone.now() - timedelta(days=31))
    uploads.sweep()
    assert [file.name for file in uploads.file_path("").iterdir()] == [waiting.stored]
    upload.refresh_from_db()
    assert (upload.stored, upload.added) == ("", 1)
    assert not uploads.rejects_file(upload)
    assert not uploads.retry(upload.pk)


def test_a_removed_upload_leaves_its_articles():
    upload = read(received(HEADER + rows(2)))
    assert uploads.remove([upload.pk]) == 1
    assert not Upload.objects.exists()
    assert News.objects.filter(upload=None).count() == 2
    assert list(uploads.file_path("").iterdir()) == []


def test_workers_are_counted_while_they_live(monkeypatch):
    assert workers.count() == 0
    workers.started("desk@host/1", 3)
    assert workers.count() == 3
    with monkeypatch.context() as patch:
        patch.setattr(workers, "DEAD_SECONDS", -1.0)
        assert workers.count() == 0
    workers.stopped()
    assert workers.count() == 0
