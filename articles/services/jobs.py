"""Work on a stored file that a page asked for: done by one worker at a time, resumed when that one is killed.

A job's row waits, is claimed, and gives signs of life until it is finished. Whoever works writes through
`change`, which fails once another worker has taken over.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Generic, TypeVar

from django.core.files import File
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from articles.models import SchemeComparison, Upload

Job = TypeVar("Job", Upload, SchemeComparison)
SENT_AT_ONCE = 100


class LostClaimError(Exception):
    """Another worker took over."""


class Parameters(dict[str, Any]):
    """Of a stored problem. What another version stored may lack one; that must not break a page."""

    def __missing__(self, key: str) -> str:
        return "–"


@dataclass(frozen=True, slots=True)
class Jobs(Generic[Job]):
    """All jobs of a model.

    working: the state of one that is claimed; stale: without a sign of life for so long, it is abandoned;
    publish: hands an id to the workers and tells whether the broker took it.
    """

    model: type[Job]
    working: str
    stale: timedelta
    publish: Callable[[int], bool]

    def send(self, pk: int) -> None:
        # What the broker took is left to the workers for a while; what it did not take is the next sweep's.
        if self.publish(pk):
            self._rows(pk=pk, state=self.model.State.WAITING).update(alive_at=timezone.now())

    def send_abandoned(self) -> None:
        """Send what nobody works at to the workers."""
        before = timezone.now() - self.stale
        self._rows(state=self.working, alive_at__lt=before).update(**self.waiting)
        unsent = Q(alive_at=None) | Q(alive_at__lt=before)
        stuck = self._rows(unsent, state=self.model.State.WAITING).order_by("pk")
        for pk in stuck.values_list("pk", flat=True)[:SENT_AT_ONCE]:
            self.send(pk)

    def is_stalled(self, job: Job) -> bool:
        """Whether nobody seems to work at what is not finished; the next sweep sends it again."""
        since = job.alive_at or job.created_at
        return not job.is_finished and since < timezone.now() - self.stale

    def claim(self, pk: int) -> Job | None:
        """Take a job that waits or is abandoned; None: there is nothing to do, or somebody is at it."""
        claim = uuid.uuid4().hex
        abandoned = Q(state=self.working, alive_at__lt=timezone.now() - self.stale)
        taken = self._rows(Q(state=self.model.State.WAITING) | abandoned, pk=pk).update(
            state=self.working, claim=claim, alive_at=timezone.now(), attempts=F("attempts") + 1
        )
        return self._rows(pk=pk, claim=claim).first() if taken else None

    def release(self, job: Job) -> None:
        self._own(job).update(**self.waiting)

    def change(self, job: Job, **columns: Any) -> None:
        """Raises LostClaimError."""
        if not self._own(job).update(**columns):
            raise LostClaimError

    def finish(self, job: Job, **columns: Any) -> None:
        """Raises LostClaimError."""
        self.change(job, **columns, finished_at=timezone.now(), claim="")

    @property
    def waiting(self) -> dict[str, Any]:
        """The columns of a job that the next sweep will send."""
        return {"state": self.model.State.WAITING, "claim": "", "alive_at": None}

    def _own(self, job: Job) -> QuerySet[Job]:
        return self._rows(pk=job.pk, claim=job.claim)

    def _rows(self, *conditions: Q, **chosen: Any) -> QuerySet[Job]:
        return self.model._default_manager.filter(*conditions, **chosen)


def keep(file: File, path: Path, on_chunk: Callable[[bytes], object] | None = None) -> None:
    """Store an uploaded file for this user alone; what stands there already is never overwritten."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as stored:
        path.chmod(0o600)
        for chunk in file.chunks():
            stored.write(chunk)
            if on_chunk:
                on_chunk(chunk)
