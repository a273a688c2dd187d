"""Waiting no longer than promised for what may load, compute or ask elsewhere for long."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class TooLateError(Exception):
    """There is no answer in time."""


class Patience:
    """Runs calls one at a time in a thread of its own, which must not use the database.

    Who calls waits for a bounded time. A call that takes longer goes on, so that a model is loaded for the
    next one; until it ends nobody waits at all, and nothing is queued behind it.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._late: Future[Any] | None = None

    def call(self, work: Callable[[], Answer], seconds: float) -> Answer:
        """Raises TooLateError, and whatever `work` raises."""
        if self._late and not self._late.done():
            raise TooLateError("an earlier call is not done yet")
        future = self._pool.submit(work)
        try:
            return future.result(seconds)
        except TimeoutError as error:
            if not future.cancel():
                self._late = future
            raise TooLateError(f"no answer within {seconds:g} s") from error
