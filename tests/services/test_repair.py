"""Rows that only SQLite takes: they are made readable, judged like others, and stop nothing."""

from datetime import UTC, datetime

import pytest
from django.db import connection

from articles.models import News
from articles.services import exports, pipeline
from tests.stories import BODY, NOON, TITLE, article, clusters, run

pytestmark = pytest.mark.django_db
GBK = f"CAST(X'{TITLE.encode('gbk').hex()}' AS TEXT)", f"CAST(X'{BODY.encode('gbk').hex()}' AS TEXT)"
BLOB = f"X'{TITLE.encode().hex()}'", f"X'{BODY.encode().hex()}'"


@pytest.fixture(autouse=True)
def _only_sqlite() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("the server refuses such values")


def insert(title: str, content: str, date: str = "NULL") -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO news (title, content, external_id, published_at) "
            f"VALUES ({title}, {content}, 'x', {date})"
        )


@pytest.mark.parametrize(("title", "content"), [GBK, BLOB, (BLOB[0], GBK[1])], ids=["gbk", "blob", "both"])
def test_text_stored_as_bytes_is_read_and_judged(title: str, content: str) -> None:
    run(article("a"))
    insert(title, content)
    run(article("b"))
    assert clusters() == {frozenset({"a", "b", "x"})}
    news = News.objects.get(external_id="x")
    assert (news.title, news.content) == (TITLE, BODY)


def test_text_that_is_none_in_any_encoding_keeps_what_can_be_read() -> None:
    insert("CAST(X'41fffe' AS TEXT)", f"'{BODY}'")
    pipeline.deduplicate_pending()
    news = News.objects.get()
    assert (news.title[0], news.state) == ("A", "done")


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ("'2026-13-45 10:00:00'", None),
        ("'昨天'", None),
        ("''", None),
        ("'9999-12-31 23:59:59'", None),
        ("1795828500", None),
        ("'2026-11-28 01:15:00'", datetime(2026, 11, 28, 1, 15, tzinfo=UTC)),
    ],
)
def test_date_that_is_none_becomes_no_date(date: str, expected: datetime | None, tmp_path: object) -> None:
    run(article("a", published_at=NOON))
    insert(f"'{TITLE}'", f"'{BODY}'", date)
    pipeline.deduplicate_pending()
    assert News.objects.get(external_id="x").published_at == expected
    assert clusters() == {frozenset({"a", "x"})}
    assert exports.export_news(tmp_path / "news.csv") == 2  # type: ignore[operator]


def test_row_changed_by_sql_to_bytes_is_read_too() -> None:
    run(article("a"), article("b"))
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE news SET content = {GBK[1]}, state = 'pending' WHERE external_id = 'b'")
    pipeline.deduplicate_pending()
    assert clusters() == {frozenset({"a", "b"})}
