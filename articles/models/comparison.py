from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.models.fields import ExactCharField, UtcNow
from articles.models.job import FileJob


class SchemeComparison(FileJob):
    """One comparison of the schemes on a file of articles and one of labelled pairs."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        RUNNING = "running", _("being measured")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")

    FINISHED = (State.DONE, State.FAILED)

    name = models.CharField(_("articles"), max_length=255)
    pairs_name = models.CharField(_("labelled pairs"), max_length=255)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", verbose_name=_("by")
    )
    # The start of its files' names in their folder, never built from those the browser sent; '': the samples.
    stored = ExactCharField(max_length=40, default="", db_default="")
    state = ExactCharField(
        _("state"), max_length=8, choices=State, default=State.WAITING, db_default=State.WAITING
    )
    steps = models.PositiveSmallIntegerField(default=0, db_default=0)
    steps_total = models.PositiveSmallIntegerField(default=1, db_default=1)
    # As services.comparison.compare gives it; {} until it is done.
    results = models.JSONField(default=dict)
    created_at = models.DateTimeField(_("started"), db_default=UtcNow())

    class Meta:
        db_table = "news_comparison"
        verbose_name = _("comparison of schemes")
        verbose_name_plural = _("comparisons of schemes")
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.name
