"""Comparisons started from a page: files stored, compared by a worker, and removed when that is done."""

import logging
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.files import File
from django.db import IntegrityError, InterfaceError, OperationalError, transaction
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from articles.models import SchemeComparison
from articles.schemes import growth
from articles.services import comparison as core
from articles.services import jobs
from articles.services.dispatch import send_comparison
from articles.services.evaluation import PROBLEMS as PAIR_PROBLEMS
from articles.services.evaluation import EvaluationError, read_pairs
from articles.services.readers import FILE_PROBLEMS, JSON_SUFFIXES, FileProblemError, read_head

logger = logging.getLogger(__name__)

MAX_ARTICLES = 20_000
MAX_PAIRS = 5_000
SECONDS = 30.0
"""For one scheme at one size, of a comparison that was started from a page."""
STALE = timedelta(minutes=5)
"""Of a worker without a sign of life: no step takes that long."""
MAX_ATTEMPTS = 3
KEPT = timedelta(days=90)
SWEPT_AT_ONCE = 100
SIZES = growth.SIZES
SAMPLES = ("news.csv", "pairs.csv")

OWN_PROBLEMS = {
    "gone": gettext_noop("The stored files are gone: upload them again."),
    "stopped": gettext_noop(
        "Comparing was interrupted %(count)s times. Try fewer articles, or ask the administrator."
    ),
    "unexpected": gettext_noop("Comparing failed: %(error)s. Try again, or ask the administrator."),
}
TEXTS = {"file": FILE_PROBLEMS, "pairs": PAIR_PROBLEMS, "own": OWN_PROBLEMS}


JOBS = jobs.Jobs(SchemeComparison, SchemeComparison.State.RUNNING, STALE, send_comparison)


def receive(articles: File | None, pairs: File | None, user: User | None, form: str = "") -> SchemeComparison:
    """Store two files and have them compared; without files, the samples.

    Args:
        form: what distinguishes one form from the next.

    Raises:
        FileProblemError, EvaluationError: a file cannot be read; nothing is kept of either.
    """
    names = [
        Path(file.name or "").name if file else name
        for file, name in zip((articles, pairs), SAMPLES, strict=True)
    ]
    row = SchemeComparison(
        name=names[0][-255:],
        pairs_name=names[1][-255:],
        user=user,
        token=form or None,
        created_at=timezone.now(),
    )
    if articles and pairs:
        row.stored = f"{uuid.uuid4().hex}{'.jsonl' if names[0].lower().endswith(JSON_SUFFIXES) else '.csv'}"
    try:
        if articles and pairs:
            jobs.keep(articles, _paths(row)[0])
            jobs.keep(pairs, _paths(row)[1])
        _check(row)
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        remove_files(row)
        return SchemeComparison.objects.get(token=row.token)
    except BaseException:
        remove_files(row)
        raise
    transaction.on_commit(lambda: JOBS.send(row.pk))
    return row


def run(comparison_id: int) -> None:
    """Compare, unless that has been done or somebody else is at it.

    Raises:
        OperationalError, InterfaceError: the database is in trouble; the next call begins anew.
    """
    row = JOBS.claim(comparison_id)
    if row is None:
        return
    try:
        if row.attempts > MAX_ATTEMPTS:
            _finish(row, state=row.State.FAILED, problem=_problem("own", "stopped", count=MAX_ATTEMPTS))
        else:
            _compare(row)
    except jobs.LostClaimError:
        logger.info("Comparison %s is run by another worker.", comparison_id)
    except (OperationalError, InterfaceError):
        JOBS.release(row)
        raise


def problem_text(row: SchemeComparison) -> str:
    """What is wrong and what to do, in the reader's language; '' if nothing is."""
    template = TEXTS.get(row.problem.get("of", ""), {}).get(row.problem.get("code", ""))
    return gettext(template) % jobs.Parameters(row.problem) if template else ""


def sweep() -> None:
    """Send what nobody works at to the workers, and remove what is old."""
    JOBS.send_abandoned()
    old = SchemeComparison.objects.filter(created_at__lt=timezone.now() - KEPT)
    for row in old.filter(state__in=SchemeComparison.FINISHED).order_by("pk")[:SWEPT_AT_ONCE]:
        row.delete()


def remove_files(row: SchemeComparison) -> None:
    if row.stored:
        for path in _paths(row):
            path.unlink(missing_ok=True)


def _paths(row: SchemeComparison) -> tuple[Path, Path]:
    if not row.stored:
        return Path(settings.BASE_DIR) / "samples" / SAMPLES[0], Path(
            settings.BASE_DIR
        ) / "samples" / SAMPLES[1]
    folder = Path(settings.VAR_DIR) / "comparisons"
    return folder / row.stored, folder / f"{Path(row.stored).stem}.pairs.csv"


def _check(row: SchemeComparison) -> None:
    """What can be seen at once is said at once, with the names that the person knows."""
    articles, pairs = _paths(row)
    try:
        read_head(articles)
        for number, _ in enumerate(read_pairs(pairs), 1):
            if number > MAX_PAIRS:
                raise EvaluationError("many", path=pairs.name, limit=MAX_PAIRS)
    except (FileProblemError, EvaluationError) as error:
        error.params = _with_names(row, error.params)
        raise


def _with_names(row: SchemeComparison, params: dict[str, Any]) -> dict[str, Any]:
    names = {path.name: name for path, name in zip(_paths(row), (row.name, row.pairs_name), strict=True)}
    return {
        key: names.get(value, value) if isinstance(value, str) else value for key, value in params.items()
    }


def _compare(row: SchemeComparison) -> None:
    def progress(done: int, total: int) -> None:
        JOBS.change(row, steps=done, steps_total=total, alive_at=timezone.now())

    try:
        results = core.compare(*_paths(row), SIZES, seconds=SECONDS, limit=MAX_ARTICLES, progress=progress)
    except FileProblemError as error:
        gone = error.code == "missing"
        params = _with_names(row, error.params)
        problem = _problem("own", "gone") if gone else _problem("file", error.code, **params)
        _finish(row, state=row.State.FAILED, problem=problem)
    except EvaluationError as error:
        problem = _problem("pairs", error.code, **_with_names(row, error.params))
        _finish(row, state=row.State.FAILED, problem=problem)
    except (OperationalError, InterfaceError, jobs.LostClaimError):
        raise
    except Exception as error:
        logger.exception("Comparison %s failed.", row.pk)
        text = f"{type(error).__name__}: {error}"[:300]
        _finish(row, state=row.State.FAILED, problem=_problem("own", "unexpected", error=text))
    else:
        _finish(row, state=row.State.DONE, results=results)


def _problem(of: str, code: str, **params: Any) -> dict[str, Any]:
    shown = {key: value if isinstance(value, int) else str(value) for key, value in params.items()}
    return {"of": of, "code": code, **shown}


def _finish(row: SchemeComparison, **columns: Any) -> None:
    JOBS.finish(row, **columns)
    remove_files(row)
