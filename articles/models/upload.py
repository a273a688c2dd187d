from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.models.fields import ExactCharField, UtcNow
from articles.models.job import FileJob


class Upload(FileJob):
    """One imported file: how far it got and what became of its rows."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        READING = "reading", _("reading")
        DONE = "done", _("read")
        FAILED = "failed", _("failed")

    FINISHED = (State.DONE, State.FAILED)

    name = models.CharField(_("file"), max_length=255)
    source = ExactCharField(_("source"), max_length=100, blank=True, default="", db_default="")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", verbose_name=_("uploaded by")
    )
    # The person's, in which the rejected rows will say what is wrong with them.
    language = ExactCharField(max_length=10, blank=True, default="", db_default="")
    # Its name in the folder of uploads, never built from the one that the browser sent; '' once removed.
    stored = ExactCharField(max_length=64, default="", db_default="")
    state = ExactCharField(
        _("state"), max_length=8, choices=State, default=State.WAITING, db_default=State.WAITING
    )
    total_bytes = models.PositiveBigIntegerField(default=0, db_default=0)
    read_bytes = models.PositiveBigIntegerField(default=0, db_default=0)
    # Stored together with their articles, so that whoever goes on counts no row twice.
    rows = models.PositiveIntegerField(_("rows"), default=0, db_default=0)
    added = models.PositiveIntegerField(_("added"), default=0, db_default=0)
    updated = models.PositiveIntegerField(_("updated"), default=0, db_default=0)
    unchanged = models.PositiveIntegerField(_("unchanged"), default=0, db_default=0)
    rejected = models.PositiveIntegerField(_("rejected"), default=0, db_default=0)
    created_at = models.DateTimeField(_("uploaded"), db_default=UtcNow())

    class Meta:
        db_table = "news_upload"
        verbose_name = _("upload")
        verbose_name_plural = _("uploads")
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.name
