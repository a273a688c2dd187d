"""Articles in, from whatever door: each is stored once, and what is new or changed will be judged.

Import twice and nothing changes: an article is known again by its identity, see `identity()`.
"""

import hashlib
import random
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import F, Q
from django.db.models.functions import SHA256

from articles.models import News, NewsLink, Upload
from articles.services import repair, sql
from articles.services.dispatch import enqueue
from articles.services.payloads import LAST_YEAR, Payload

__all__ = [
    "IngestResult",
    "Payload",
    "deleting",
    "enqueue",
    "identify",
    "identity",
    "ingest",
    "rejudge",
    "saved",
]

BATCH_ROWS = 500
BATCH_BYTES = 4 * 1024 * 1024
"""Of content. MySQL takes statements of at most 16 MiB, and quoting may double what is sent."""
ATTEMPTS = 6

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class IngestResult:
    """What became of payloads.

    Attributes:
        repeated: of one identity with a later payload of the same batch, which counted instead.
        ids: of the articles, one for each payload, in their order.
        changed: ids of the added and updated articles, which will be judged.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    repeated: int = 0
    ids: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)

    def __add__(self, other: "IngestResult") -> "IngestResult":
        return IngestResult(
            added=self.added + other.added,
            updated=self.updated + other.updated,
            unchanged=self.unchanged + other.unchanged,
            repeated=self.repeated + other.repeated,
            ids=self.ids + other.ids,
            changed=self.changed + other.changed,
        )


def identity(payload: Payload) -> str:
    """By what an article is known again: source and id; without an id the URL; else source and text.

    Returns:
        64 hex digits.
    """
    if payload.external_id:
        return _digest("id", payload.source, payload.external_id)
    if payload.url:
        return _digest("url", payload.url)
    return _digest("text", payload.source, payload.title, payload.content)


def ingest(payloads: Sequence[Payload], upload: Upload | None = None, enqueue: bool = True) -> IngestResult:
    """Store payloads: add what is new, update what has changed, leave the rest alone.

    Each batch is one transaction. Another process may bring the same articles at the same time.

    Args:
        upload: the file they come from.
        enqueue: send what is new or changed to the workers; without, the caller or the sweep judges it.

    Raises:
        IntegrityError, OperationalError: the database refused a batch several times; earlier ones stay.
    """
    identify()
    total = IngestResult()
    for batch in _batches(payloads):
        total += _retried(partial(_write, batch, upload, enqueue))
    return total


def saved(ids: Sequence[int]) -> None:
    """Have articles judged that were written through the ORM; called after each save."""
    identify(ids)
    News.objects.filter(pk__in=ids).update(**_anew())
    enqueue(ids)


def rejudge(ids: Collection[int]) -> int:
    """Have articles judged again, whatever became of them before. Returns their number."""
    count = 0
    for chunk in _chunks(sorted(ids), BATCH_ROWS):
        count += News.objects.filter(pk__in=chunk).update(**_anew())
        enqueue(chunk)
    return count


def deleting(ids: Sequence[int]) -> None:
    """Have the articles judged anew that were linked to articles about to be deleted."""
    neighbours: set[int] = set()
    for low, high in NewsLink.objects.filter(Q(low__in=ids) | Q(high__in=ids)).values_list(
        "low_id", "high_id"
    ):
        neighbours |= {low, high}
    neighbours.update(News.objects.filter(duplicate_of__in=ids).values_list("pk", flat=True))
    neighbours.difference_update(ids)
    for chunk in _chunks(sorted(neighbours), BATCH_ROWS):
        News.objects.filter(pk__in=chunk).update(**_anew())
        enqueue(chunk)


def retry_failed() -> int:
    """Have the articles judged again that failed before. Returns their number; nothing is sent to workers."""
    return News.objects.filter(state=News.State.FAILED).update(**_anew())


def identify(ids: Sequence[int] | None = None) -> int:
    """Give articles that were not written by `ingest` the identity under which an import looks for them.

    Args:
        ids: which; None: those that have no identity yet, as an INSERT by SQL leaves them.

    Returns:
        The number of articles that got another identity.
    """
    if ids is not None:
        return _identify(ids)
    nameless = News.objects.filter(identity=None).order_by("pk").values_list("pk", flat=True)
    count = 0
    while found := list(nameless[:BATCH_ROWS]):
        count += _retried(partial(_identify, found))
    return count


# --- A batch ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Item:
    payload: Payload
    identity: str
    content_sha: str
    size: int


def _item(payload: Payload) -> _Item:
    content = payload.content.encode()
    return _Item(payload, identity(payload), hashlib.sha256(content).hexdigest(), len(content))


def _batches(payloads: Iterable[Payload]) -> Iterator[list[_Item]]:
    batch: list[_Item] = []
    size = 0
    for item in map(_item, payloads):
        if batch and (len(batch) == BATCH_ROWS or size + item.size > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += item.size
    if batch:
        yield batch


def _retried(write: Callable[[], T]) -> T:
    """Run a transaction until no other process is in its way.

    A row that two processes insert at once fails in one of them, which then finds it; a deadlock or a lock
    waited for too long undoes the whole transaction. Inside a caller's transaction that is all of the
    caller's, so only the caller can try again.
    """
    nested = transaction.get_connection().in_atomic_block
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with transaction.atomic():
                return write()
        except (IntegrityError, OperationalError) as error:
            if attempt == ATTEMPTS or (nested and isinstance(error, OperationalError)):
                raise
        # By chance: two that were in each other's way would meet again after equal pauses.
        time.sleep(random.uniform(0, 0.05 * 2**attempt))
    raise AssertionError


def _write(batch: Sequence[_Item], upload: Upload | None, send: bool) -> IngestResult:
    last = {item.identity: item for item in batch}
    known = _existing(list(last))
    new = [item for key, item in last.items() if key not in known]
    stale = [item for key, item in last.items() if key in known and known[key][1] != _contents(item)]
    ids = {key: pk for key, (pk, _) in known.items()} | _add(new, upload)
    for item in stale:
        _update(ids[item.identity], item.payload, upload)
    changed = sorted(ids[item.identity] for item in (*new, *stale))
    if send:
        enqueue(changed)
    return IngestResult(
        added=len(new),
        updated=len(stale),
        unchanged=len(last) - len(new) - len(stale),
        repeated=len(batch) - len(last),
        ids=[ids[item.identity] for item in batch],
        changed=changed,
    )


Contents = tuple[str, str, str, str, datetime | None, str]


def _contents(item: _Item) -> Contents:
    row = item.payload
    return (row.title, row.source, row.url, row.external_id, row.published_at, item.content_sha)


def _existing(identities: Sequence[str]) -> dict[str, tuple[int, Contents]]:
    # The database hashes the contents: stored ones may be far larger than those of the batch.
    rows = News.objects.filter(identity__in=identities).values_list(
        "identity", "pk", "title", "source", "url", "external_id", "published_at", SHA256("content")
    )
    return {row[0]: (row[1], row[2:]) for row in rows}


# Model instances with their thirty columns would take three times as long; the database has the defaults.
INSERT = (
    "INSERT INTO news (title, content, source, url, external_id, published_at, identity, upload_id) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
)


def _add(items: Sequence[_Item], upload: Upload | None) -> dict[str, int]:
    upload_id = upload.pk if upload else None
    sql.write_many(INSERT, [(*_cells(item.payload), item.identity, upload_id) for item in items])
    rows = News.objects.filter(identity__in=[item.identity for item in items])
    return {str(key): pk for key, pk in rows.values_list("identity", "pk")}


def _cells(row: Payload) -> tuple[Any, ...]:
    published = connection.ops.adapt_datetimefield_value(row.published_at)
    return (row.title, row.content, row.source, row.url, row.external_id, published)


def _update(pk: int, payload: Payload, upload: Upload | None) -> None:
    source = {"upload": upload} if upload else {}
    News.objects.filter(pk=pk).update(**_columns(payload), **source, **_anew())


def _columns(payload: Payload) -> dict[str, Any]:
    return {
        "title": payload.title,
        "content": payload.content,
        "source": payload.source,
        "url": payload.url,
        "external_id": payload.external_id,
        "published_at": payload.published_at,
    }


def _anew() -> dict[str, Any]:
    """What an UPDATE sets so that the article is judged anew, even by whom it is being judged just now."""
    return {
        "state": News.State.PENDING,
        "revision": F("revision") + 1,
        "claim": "",
        "claimed_at": None,
        "attempts": 0,
        "last_error": "",
    }


# --- Identities -------------------------------------------------------------------------------------------


def _identify(ids: Sequence[int]) -> int:
    columns = ("pk", "identity", "published_at", "title", "content", "source", "url", "external_id")
    count = 0
    for pk, stored, published, *texts in repair.read(
        News.objects.filter(pk__in=ids).order_by("pk").values_list(*columns), ids
    ):
        wanted = identity(Payload(*texts))
        if wanted != stored:
            count += _set_identity(pk, wanted)
        if published and published.year > LAST_YEAR:
            News.objects.filter(pk=pk).update(published_at=None)
    return count


def _set_identity(pk: int, wanted: str) -> int:
    """The second article of an identity gets one of its own: it is another row, and no import's to update."""
    try:
        with transaction.atomic():
            return News.objects.filter(pk=pk).update(identity=wanted)
    except IntegrityError:
        return News.objects.filter(pk=pk).update(identity=_digest("row", str(pk)))


def _digest(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogatepass")
        # With its length, or ("ab", "c") would equal ("a", "bc").
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


def _chunks(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
