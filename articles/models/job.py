from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.models.fields import ExactCharField


class FileJob(models.Model):
    """Work on a stored file that a worker does; `state` and its two last values are the model's own."""

    FINISHED: tuple[str, ...]
    state: Any

    # Of the form: sent twice, it is one job.
    token = ExactCharField(max_length=64, null=True, unique=True)
    # Who works at it, and the last sign of life: of the worker, or of the last attempt to find one.
    claim = ExactCharField(max_length=32, default="", db_default="")
    alive_at = models.DateTimeField(null=True)
    # A file that stops its workers again and again must not do so for ever.
    attempts = models.PositiveSmallIntegerField(default=0, db_default=0)
    # A code with its parameters, see problem_text of the service; {} where nothing is wrong.
    problem = models.JSONField(_("error"), default=dict)
    finished_at = models.DateTimeField(_("finished"), null=True)

    class Meta:
        abstract = True

    @property
    def is_finished(self) -> bool:
        return self.state in self.FINISHED
