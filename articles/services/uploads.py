"""Uploaded files: stored, read by a worker, and removed again when they are old.

A reader may be killed at any moment. Its counts are committed together with the articles they count, so the
next reader goes on after the last row stored; two at once exclude each other by the claim.
"""

import hashlib
import logging
import uuid
from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.files import File
from django.db import IntegrityError, InterfaceError, OperationalError, transaction
from django.db.models import Count, F, Q
from django.utils import timezone
from django.utils.translation import get_language, gettext, gettext_noop, override

from articles.models import News, Upload
from articles.services import jobs
from articles.services.dispatch import send_upload
from articles.services.ingest import BATCH_BYTES, BATCH_ROWS, ingest
from articles.services.readers import (
    FILE_PROBLEMS,
    JSON_SUFFIXES,
    FileProblemError,
    Reject,
    Row,
    read_head,
    read_rows,
)
from articles.services.rejects import RejectsFile

logger = logging.getLogger(__name__)

STALE = timedelta(seconds=60)
"""Of a reader without a sign of life. SQLite's writers wait so long for each other."""
MAX_ATTEMPTS = 5
REMOVED_AT_ONCE = 100

PROBLEMS = {
    **FILE_PROBLEMS,
    "missing": gettext_noop(
        "The stored copy of %(path)s is gone: upload it again. If that happens often, the administrator "
        "must give web server and workers one common folder (NEWSDEDUP_VAR)."
    ),
    "stopped": gettext_noop(
        "Reading %(path)s was interrupted %(count)s times at the same place. What was read before is "
        "stored. Try again; if it stops again, split the file or ask the administrator."
    ),
    "unexpected": gettext_noop(
        "Reading %(path)s failed: %(error)s. What was read before is stored. Try again; if it fails again, "
        "ask the administrator."
    ),
}
JOBS = jobs.Jobs(Upload, Upload.State.READING, STALE, send_upload)
RETRIABLE = ("stopped", "unexpected", "unreadable")


# --- Receiving --------------------------------------------------------------------------------------------


def receive(file: File, user: User | None, source: str = "", form: str = "") -> Upload:
    """Store a file and have it imported. The same content from the same form is one upload.

    Args:
        source: of the rows that name none.
        form: what distinguishes one form from the next.

    Raises:
        FileProblemError: it holds nothing that could be read; nothing is kept of it.
    """
    name = Path(file.name or "").name
    stored = f"{uuid.uuid4().hex}{'.jsonl' if name.lower().endswith(JSON_SUFFIXES) else '.csv'}"
    path = file_path(stored)
    try:
        content = _write(file, path)
        read_head(path)
        upload = Upload(
            name=name[-255:],
            source=source,
            user=user,
            language=get_language() or "",
            stored=stored,
            total_bytes=path.stat().st_size,
            token=hashlib.sha256(f"{form} {content}".encode()).hexdigest(),
            created_at=timezone.now(),
        )
        return _add(upload)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def may_retry(upload: Upload) -> bool:
    """Whether reading the same file again may help; most problems are in the file."""
    failed = upload.state == Upload.State.FAILED and upload.stored != ""
    return failed and upload.problem.get("code") in RETRIABLE


def retry(upload_id: int) -> bool:
    """Have a failed file read again, from where it stopped. Tells whether it was one."""
    count = (
        Upload.objects.filter(pk=upload_id, state=Upload.State.FAILED)
        .exclude(stored="")
        .update(**JOBS.waiting, problem={}, attempts=0, finished_at=None)
    )
    if count:
        transaction.on_commit(lambda: JOBS.send(upload_id))
    return bool(count)


def remove(upload_ids: Iterable[int]) -> int:
    """Remove uploads with their files; the articles stay. Returns how many."""
    count = 0
    for upload in Upload.objects.filter(pk__in=list(upload_ids)):
        # Before the row goes: Django would load all of the articles to do the same.
        News.objects.filter(upload=upload).update(upload=None)
        upload.delete()
        transaction.on_commit(partial(remove_files, upload))
        count += 1
    return count


def problem_text(upload: Upload) -> str:
    """What is wrong with an upload and what to do, in the reader's language; '' if nothing is."""
    template = PROBLEMS.get(upload.problem.get("code", ""))
    if template is None:
        return ""
    return gettext(template) % jobs.Parameters(upload.problem | {"path": upload.name})


def tally(upload: Upload) -> dict[str, int]:
    """What became of an upload's new and changed articles so far."""
    verdicts = News.Verdict
    return News.objects.filter(upload=upload).aggregate(
        articles=Count("pk"),
        judged=Count("pk", filter=~Q(state=News.State.PENDING)),
        failed=Count("pk", filter=Q(state=News.State.FAILED)),
        duplicates=Count("pk", filter=Q(verdict=verdicts.DUPLICATE)),
        suspected=Count("pk", filter=Q(verdict=verdicts.SUSPECTED)),
        leads=Count("pk", filter=Q(verdict=verdicts.LEAD)),
    )


def file_path(name: str) -> Path:
    return Path(settings.VAR_DIR) / "uploads" / name


def rejects_file(upload: Upload) -> Path | None:
    """The rows of an upload that could not be used; None: there are none, or they are gone by now."""
    path = _rejects_path(upload)
    return path if upload.stored and upload.is_finished and path.is_file() else None


def _rejects_path(upload: Upload) -> Path:
    return file_path(f"{Path(upload.stored).stem}.rejects.csv")


def _write(file: File, path: Path) -> str:
    """Returns the digest of the content."""
    digest = hashlib.sha256()
    jobs.keep(file, path, digest.update)
    return digest.hexdigest()


def _add(upload: Upload) -> Upload:
    try:
        with transaction.atomic():
            upload.save(force_insert=True)
    except IntegrityError:
        first = Upload.objects.get(token=upload.token)
        file_path(upload.stored).unlink(missing_ok=True)
        return first
    transaction.on_commit(lambda: JOBS.send(upload.pk))
    return upload


# --- Reading ----------------------------------------------------------------------------------------------


def import_upload(upload_id: int) -> None:
    """Read an upload to its end, unless it has been read or somebody else is reading it.

    Raises:
        OperationalError, InterfaceError: the database is in trouble; the next call goes on from here.
    """
    upload = JOBS.claim(upload_id)
    if upload is None:
        return
    try:
        if upload.attempts > MAX_ATTEMPTS:
            _fail(upload, {"code": "stopped", "count": MAX_ATTEMPTS})
        else:
            with override(upload.language or settings.LANGUAGE_CODE):
                _read(upload)
    except jobs.LostClaimError:
        logger.info("Upload %s is read by another worker.", upload_id)
    except FileProblemError as error:
        shown = {name: str(value) for name, value in error.params.items()}
        _fail(upload, {"code": error.code, **shown})
    except (OperationalError, InterfaceError):
        JOBS.release(upload)
        raise
    except Exception as error:
        logger.exception("Upload %s could not be read.", upload_id)
        _fail(upload, {"code": "unexpected", "error": f"{type(error).__name__}: {error}"[:300]})


def _read(upload: Upload) -> None:
    reached = 0

    def on_bytes(total: int) -> None:
        nonlocal reached
        reached = total

    _rejects_path(upload).unlink(missing_ok=True)
    with RejectsFile(_rejects_path(upload)) as rejects:
        rows = read_rows(file_path(upload.stored), on_bytes, upload.source)
        # Stored by an earlier reader; their rejects are written again, for that file may have been cut off.
        for row in islice(rows, upload.rows):
            _keep_reject(row, rejects)
        for batch in _batches(rows):
            _store(upload, batch, rejects, reached)
    JOBS.finish(
        upload,
        state=Upload.State.DONE,
        rejected=rejects.count,
        read_bytes=upload.total_bytes,
    )


def _keep_reject(row: Row | Reject, rejects: RejectsFile) -> None:
    if isinstance(row, Reject):
        rejects.add(row)


def _batches(rows: Iterable[Row | Reject]) -> Iterator[list[Row | Reject]]:
    """What is held in memory and stored at a time."""
    batch: list[Row | Reject] = []
    length = 0
    for row in rows:
        batch.append(row)
        length += _weight(row)
        if len(batch) == BATCH_ROWS or length > BATCH_BYTES:
            yield batch
            batch, length = [], 0
    if batch:
        yield batch


def _weight(row: Row | Reject) -> int:
    # A reject may be as long as a line may be, and have a cell for each character.
    return len(row.payload.content) if isinstance(row, Row) else sum(map(len, row.cells)) + len(row.cells)


def _store(upload: Upload, batch: list[Row | Reject], rejects: RejectsFile, reached: int) -> None:
    """Articles and counts in one transaction: killed before or after it, no row counts twice or never."""
    for row in batch:
        _keep_reject(row, rejects)
    with transaction.atomic():
        result = ingest([row.payload for row in batch if isinstance(row, Row)], upload)
        JOBS.change(
            upload,
            rows=F("rows") + len(batch),
            added=F("added") + result.added,
            updated=F("updated") + result.updated,
            # A row that comes again further down is one that changes nothing.
            unchanged=F("unchanged") + result.unchanged + result.repeated,
            rejected=rejects.count,
            read_bytes=min(reached, upload.total_bytes),
            alive_at=timezone.now(),
            attempts=0,
        )


def _fail(upload: Upload, problem: dict[str, Any]) -> None:
    try:
        JOBS.finish(upload, state=Upload.State.FAILED, problem=problem)
    except jobs.LostClaimError:
        logger.info("Upload %s is read by another worker.", upload.pk)


# --- Sweeping ---------------------------------------------------------------------------------------------


def sweep() -> None:
    """Send what nobody reads to the workers, and remove the files of old uploads."""
    JOBS.send_abandoned()
    remove_old()


def remove_old() -> int:
    """Remove the files of uploads that are older than the setting says; the rows stay. Returns how many."""
    limit = timezone.now() - timedelta(days=settings.NEWSDEDUP_UPLOAD_DAYS)
    old = Upload.objects.filter(created_at__lt=limit, state__in=Upload.FINISHED).exclude(stored="")
    uploads = list(old[:REMOVED_AT_ONCE])
    for upload in uploads:
        remove_files(upload)
        Upload.objects.filter(pk=upload.pk).update(stored="")
    return len(uploads)


def remove_files(upload: Upload) -> None:
    if upload.stored:
        file_path(upload.stored).unlink(missing_ok=True)
        _rejects_path(upload).unlink(missing_ok=True)
