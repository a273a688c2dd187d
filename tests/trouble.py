"""A database in trouble, at the place where Django hands statements to it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from django.db import connection


def before_statement(words: str, act: Callable[[], None], number: int = 1) -> AbstractContextManager[None]:
    """Act before the statement that has these words for the n-th time; quotes around names do not count."""
    seen = 0

    def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal seen
        if words in sql.replace('"', "").replace("`", ""):
            seen += 1
            if seen == number:
                act()
        return execute(sql, params, many, context)

    return connection.execute_wrapper(watch)


def failing(words: str, error: BaseException, number: int = 1) -> AbstractContextManager[None]:
    """The database fails the statement that has these words for the n-th time."""

    def fail() -> None:
        raise error

    return before_statement(words, fail, number)
