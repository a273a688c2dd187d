import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.models.fields import ExactCharField, UtcNow


class BulkRun(models.Model):
    """One action on many things: how far it got, what was refused, and whether it was undone as a whole."""

    class Subject(models.TextChoices):
        CLUSTERS = "clusters", _("clusters")
        PAIRS = "pairs", _("pairs")

    class State(models.TextChoices):
        WORKING = "working", _("at work")
        DONE = "done", _("carried out")
        UNDOING = "undoing", _("being undone")
        UNDONE = "undone", _("undone")

    ACTIVE = (State.WORKING, State.UNDOING)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", verbose_name=_("who")
    )
    subject = ExactCharField(_("what"), max_length=8, choices=Subject)
    # For clusters "confirm", for pairs a person's verdict.
    action = ExactCharField(_("action"), max_length=10)
    # Which member leads, see services.bulk; {} leaves the leads alone.
    keeper = models.JSONField(_("lead"), default=dict)
    note = models.CharField(_("note"), max_length=500, blank=True, default="", db_default="")
    # What is acted upon, in order; of pairs the links. Changed after this moment, it is left alone.
    items = models.JSONField(_("items"), default=list)
    seen_at = models.DateTimeField(_("previewed"))
    state = ExactCharField(_("state"), max_length=8, choices=State, default=State.WORKING)
    # How many of the items, or when undoing of the decisions, are behind it. Stored with each of them.
    position = models.PositiveIntegerField(default=0, db_default=0)
    applied = models.PositiveIntegerField(_("carried out"), default=0, db_default=0)
    restored = models.PositiveIntegerField(_("undone"), default=0, db_default=0)
    # [id, why] of each item that was refused, and of each decision that could not be undone.
    refused = models.JSONField(_("refused"), default=list)
    kept = models.JSONField(_("not undone"), default=list)
    # Pairs called duplicates whose groups did not become one, see decisions.left_out.
    apart = models.JSONField(default=list)
    undone_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", verbose_name=_("undone by")
    )
    created_at = models.DateTimeField(_("when"), db_default=UtcNow())
    # The last sign of life of who works on it.
    alive_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "news_bulk"
        verbose_name = _("bulk action")
        verbose_name_plural = _("bulk actions")
        ordering = ("-created_at",)
        default_permissions = ()
        indexes = (models.Index(fields=["state", "alive_at"], name="idx_bulk_state"),)

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def is_active(self) -> bool:
        return self.state in self.ACTIVE
