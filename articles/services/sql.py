"""Whole numbers written into a statement: thousands of parameters cost more than the query itself.

SQLite binds at most 32,766 of them and mysqlclient escapes each one in Python.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db import connection

CHUNK = 10_000
# Where values are text they are bound, this many at a time.
PARAMETERS = 500


def integers(values: Iterable[int]) -> str:
    """A list for IN (...), of whole numbers alone, so that nothing can be injected."""
    return ",".join(str(int(value)) for value in values)


def rows(statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall()


def select_in(statement: str, values: Iterable[int]) -> list[tuple[Any, ...]]:
    """Run a statement with one `{values}` for chunks of a long list."""
    found: list[tuple[Any, ...]] = []
    for chunk in chunks(sorted(set(values)), CHUNK):
        found += rows(statement.format(values=integers(chunk)))
    return found


def write_many(statement: str, parameters: Sequence[Sequence[Any]]) -> None:
    if parameters:
        with connection.cursor() as cursor:
            cursor.executemany(statement, parameters)


def chunks(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
