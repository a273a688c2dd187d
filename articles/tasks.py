"""Ids in, one service called. A task may run twice, and a failed one is tried again later."""

from collections.abc import Sequence
from typing import Any

from celery import shared_task
from django.db import InterfaceError, OperationalError

# Deadlocks, locks waited for too long, and a database that restarts.
RETRY: dict[str, Any] = {
    "autoretry_for": (OperationalError, InterfaceError),
    "retry_backoff": 2,
    "retry_backoff_max": 60,
    "retry_jitter": True,
    "max_retries": 5,
}
SWEEP_SECONDS = 20.0


@shared_task(**RETRY)
def deduplicate(ids: Sequence[int]) -> None:
    """Judge these articles, as far as they are still pending."""
    from articles.services import pipeline

    pipeline.deduplicate(ids)


# A sweep that no worker took in time is dropped: the next one does its work.
@shared_task(expires=SWEEP_SECONDS)
def sweep() -> None:
    """Judge what no task names: rows inserted by SQL, and those saved while the broker was away."""
    from articles.services import bulk, furniture, pipeline, rollup

    bulk.resume()
    furniture.settle()
    rollup.refresh()
    pipeline.deduplicate_pending(limit_seconds=SWEEP_SECONDS)


@shared_task(expires=SWEEP_SECONDS)
def suggest() -> None:
    """Embed what is behind and suggest pairs to editors; in a queue of its own, so that nothing waits."""
    from articles.services import semantic

    semantic.sweep(limit_seconds=SWEEP_SECONDS)


@shared_task(**RETRY)
def import_upload(upload_id: int) -> None:
    """Store the articles of an uploaded file, as far as that is still to be done."""
    from articles.services import uploads

    uploads.import_upload(upload_id)


@shared_task(expires=SWEEP_SECONDS)
def sweep_uploads() -> None:
    """Send again what nobody reads or compares, and remove what is old."""
    from articles.services import comparisons, uploads

    uploads.sweep()
    comparisons.sweep()


@shared_task(**RETRY)
def run_bulk(run_id: str) -> None:
    """Carry on with a bulk action, as far as that is still to be done."""
    from articles.services import bulk

    bulk.run(run_id)


@shared_task(**RETRY)
def run_comparison(comparison_id: int) -> None:
    """Compare the schemes on two files, as far as that is still to be done."""
    from articles.services import comparisons

    comparisons.run(comparison_id)
