"""Hands ids to the workers. A broker that is away costs a saved article nothing: the sweep finds it."""

import logging
import time
from collections.abc import Iterable, Sequence
from typing import Any

from celery import current_app
from django.db import transaction
from kombu.connection import Connection
from kombu.exceptions import OperationalError
from kombu.pools import producers

logger = logging.getLogger(__name__)

TASK_SIZE = 500
CONNECT_SECONDS = 2
# After a failure the broker is left alone for so long, or else each of many saves would wait for it.
REST_SECONDS = 30.0


class _Outage:
    until = 0.0


def enqueue(ids: Iterable[int]) -> None:
    """Send articles to the workers once the transaction is committed, at once where there is none."""
    ids = list(ids)
    if not ids:
        return
    waiting = _waiting_send()
    if waiting is not None:
        waiting.ids += ids
    else:
        transaction.on_commit(_Send(ids))


def send_upload(upload_id: int) -> bool:
    """Send an upload to the workers now; tells whether the broker took it."""
    from articles import tasks

    return _publish(tasks.import_upload, upload_id)


def send_bulk(run_id: str) -> bool:
    """Send a bulk action to the workers now; tells whether the broker took it."""
    from articles import tasks

    return _publish(tasks.run_bulk, run_id)


def send_comparison(comparison_id: int) -> bool:
    """Send a comparison of schemes to the workers now; tells whether the broker took it."""
    from articles import tasks

    return _publish(tasks.run_comparison, comparison_id)


def forget_outage() -> None:
    """Try the broker again at the next send, however lately it failed."""
    _Outage.until = 0.0


def connect() -> Connection:
    """A connection to the broker that gives up soon. Celery's own tries again for six seconds."""
    connection = current_app.connection_for_write(connect_timeout=CONNECT_SECONDS)
    options = dict(connection.transport_options or {})
    # Redis has its own; a broker that takes the connection and then says nothing must not hold a save up.
    options |= dict.fromkeys({"socket_timeout", "socket_connect_timeout"} & options.keys(), CONNECT_SECONDS)
    connection.transport_options = options | {"max_retries": 1, "interval_start": 0, "interval_step": 0.1}
    return connection


class _Send:
    """A callback for on_commit. Later saves of its transaction join it, so that they make one task."""

    def __init__(self, ids: list[int]) -> None:
        self.ids = ids

    def __call__(self) -> None:
        ids = list(dict.fromkeys(self.ids))
        for start in range(0, len(ids), TASK_SIZE):
            if not _send(ids[start : start + TASK_SIZE]):
                return


def _waiting_send() -> _Send | None:
    """What this transaction will send already; None inside a savepoint begun since, which may be undone."""
    connection: Any = transaction.get_connection()
    if not connection.in_atomic_block or not connection.run_on_commit:
        return None
    savepoints, callback, _ = connection.run_on_commit[-1]
    same = savepoints == set(connection.savepoint_ids)
    return callback if same and isinstance(callback, _Send) else None


def _send(ids: Sequence[int]) -> bool:
    from articles import tasks

    return _publish(tasks.deduplicate, ids)


def _publish(task: Any, *arguments: Any) -> bool:
    if time.monotonic() < _Outage.until:
        return False
    try:
        with producers[connect()].acquire(block=True) as producer:
            task.apply_async(arguments, retry=False, producer=producer)
    except (OperationalError, OSError) as error:
        _Outage.until = time.monotonic() + REST_SECONDS
        logger.warning("Broker away (%s): what was saved waits for the next sweep.", error)
        return False
    return True
