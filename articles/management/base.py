"""What all commands of this project share: an example in --help, --json, and a bar on a terminal only."""

import gc
import json
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError, DjangoHelpFormatter
from django.db import InterfaceError, OperationalError, connection
from tqdm import tqdm

from articles.models import News
from articles.services import pipeline

ATTEMPTS = 5


def steps(bar: "tqdm[Any]") -> Callable[[int], None]:
    """A callback that moves a bar on by what it is given."""

    def step(count: int) -> None:
        bar.update(count)

    return step


def number(kind: type[int] | type[float], low: float, high: float) -> Callable[[str], float]:
    """The type of an option that is a number from low to high."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not low <= value <= high:
            raise ArgumentTypeError(f"“{text}” is no number from {low:g} to {high:g}")
        return value

    return read


def _judge_patiently(progress: Callable[[int], None]) -> int:
    """Judge what is pending; returns the number of attempts that failed.

    Other processes write at the same time: after a deadlock the work only has to be taken up again.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return pipeline.deduplicate_pending(progress=progress).failed
        except (OperationalError, InterfaceError) as error:
            if attempt == ATTEMPTS:
                left = "What is left stays pending: manage.py dedup_all --resume goes on with it."
                raise CommandError(f"The database gave up: {error}. {left}") from error
            connection.close()  # One that the server closed would fail for ever.
            time.sleep(attempt)  # A server that starts again needs a while, the longer the later.
    raise AssertionError


class _Formatter(DjangoHelpFormatter, RawDescriptionHelpFormatter):
    """Leaves the example's lines as they are."""


class ServiceCommand(BaseCommand):
    """A thin door to one service. Subclasses say `example` and, at the end, `report()` a summary."""

    example = ""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> Any:
        epilog = f"example:\n  manage.py {subcommand} {self.example}".rstrip()
        return super().create_parser(
            prog_name, subcommand, epilog=epilog, formatter_class=_Formatter, **kwargs
        )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the summary as one JSON object")

    def report(self, options: Mapping[str, Any], summary: Mapping[str, Any], text: str) -> None:
        """Print the summary, as words or as JSON; then nothing else may go to standard output."""
        self.stdout.write(json.dumps(summary, ensure_ascii=False) if options["json"] else text)

    def judge(self, total: int | None = None) -> dict[str, int]:
        """Judge all that is pending, here and now.

        Returns how many were judged, how many failed for good, and how many are taken: another process
        judges them, or did until it was killed, and then they are free again after five minutes.
        """
        # What has been loaded stays: looking through it for cycles, again and again, costs 5 % of the time.
        gc.freeze()
        broken = News.objects.filter(state=News.State.FAILED)
        before = broken.count()
        judged = 0

        with self.bar("articles", total, desc="judging") as bar:

            def progress(count: int) -> None:
                nonlocal judged
                judged += count
                bar.update(count)

            attempts_failed = _judge_patiently(progress)
        # A failed attempt is repeated, and mostly ends well.
        taken = News.objects.filter(state=News.State.PENDING).count()
        if taken:
            self.stderr.write(
                f"{taken} articles are taken by another process, or by one that was killed: these are free "
                "again after five minutes; manage.py dedup_all --resume then judges what is left."
            )
        failed = max(0, broken.count() - before)
        return {"judged": judged - attempts_failed, "failed": failed, "taken": taken}

    def finish(self, failed: int) -> None:
        if failed:
            raise CommandError(f"{failed} articles could not be judged; manage.py doctor tells why.")

    def bar(self, unit: str, total: int | None = None, **kwargs: Any) -> "tqdm[Any]":
        """A progress bar on standard error; nothing where that is no terminal."""
        return tqdm(total=total, unit=unit, disable=not sys.stderr.isatty(), dynamic_ncols=True, **kwargs)
