"""Which workers live: each touches a file of its own below var/, and the pages count the fresh ones.

Files and no table: a worker's main process shall not hold a connection to the database.
"""

import time
from pathlib import Path
from urllib.parse import quote

from django.conf import settings

BEAT_SECONDS = 5.0
DEAD_SECONDS = 30.0


class _Own:
    """Of this process: its file, and when it was last written."""

    file: Path | None = None
    written = 0.0


def started(hostname: str, processes: int) -> None:
    """A worker is ready, with so many processes."""
    _folder().mkdir(parents=True, exist_ok=True)
    _Own.file = _folder() / quote(hostname, safe="@")
    _Own.file.write_text(str(processes))
    _Own.written = time.monotonic()


def alive() -> None:
    """This worker still lives; written now and then however often it is called."""
    if _Own.file and time.monotonic() - _Own.written >= BEAT_SECONDS:
        _Own.file.touch()
        _Own.written = time.monotonic()


def stopped() -> None:
    if _Own.file:
        _Own.file.unlink(missing_ok=True)
        _Own.file = None


def count() -> int:
    """The number of processes of all living workers."""
    if not _folder().is_dir():
        return 0
    return sum(_processes(file) for file in _folder().iterdir())


def _processes(file: Path) -> int:
    try:
        fresh = time.time() - file.stat().st_mtime < DEAD_SECONDS
        return int(file.read_text() or 1) if fresh else 0
    except (OSError, ValueError):
        return 0  # It ended just now.


def _folder() -> Path:
    return Path(settings.VAR_DIR) / "workers"
