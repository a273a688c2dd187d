from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.models.fields import ExactCharField, UtcNow


class NewsPassage(models.Model):
    """Furniture: a passage that recurs among unrelated stories and is no part of any of them."""

    class State(models.TextChoices):
        LEARNT = "learnt", _("learnt, applied")
        APPROVED = "approved", _("approved, applied")
        REJECTED = "rejected", _("rejected, not applied")

    # Of the letters and digits alone, see dedup.furniture.Passage.
    hash = models.BigIntegerField(unique=True, editable=False)
    text = models.TextField(_("passage"), editable=False)
    # Applied to this source's articles alone; '' where several sources, or one that is not named, have it.
    source = ExactCharField(
        _("source"), max_length=100, blank=True, default="", db_default="", editable=False
    )
    articles = models.PositiveIntegerField(
        _("articles seen with it"), default=0, db_default=0, editable=False
    )
    examples = models.JSONField(_("examples"), default=list, editable=False)
    state = ExactCharField(
        _("state"), max_length=8, choices=State, default=State.LEARNT, db_default=State.LEARNT, editable=False
    )
    # Decided, but the articles that have it have still to be judged again; the sweep does so.
    unsettled = models.BooleanField(default=False, db_default=False, editable=False)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        editable=False,
        related_name="+",
        verbose_name=_("decided by"),
    )
    created_at = models.DateTimeField(_("learnt"), db_default=UtcNow(), editable=False)

    class Meta:
        db_table = "news_passage"
        verbose_name = _("recurring passage")
        verbose_name_plural = _("recurring passages")
        ordering = ("-articles", "id")
        indexes = (models.Index(fields=["state", "-articles"], name="idx_passage_state"),)

    def __str__(self) -> str:
        return self.text[:60]
