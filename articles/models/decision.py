from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.models.fields import ExactCharField, UtcNow


class NewsDecision(models.Model):
    """What a person decided, when and why. Rows are added, never changed; an undo is a row as well."""

    class Action(models.TextChoices):
        VERDICT = "verdict", _("verdict on a pair")
        CONFIRM_CLUSTER = "confirm", _("cluster confirmed")
        REMOVE_MEMBER = "remove", _("article removed from cluster")
        SET_LEAD = "lead", _("lead chosen")
        SPLIT = "split", _("articles split off")
        MERGE = "merge", _("clusters merged")
        UNDO = "undo", _("undone")

    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", verbose_name=_("who")
    )
    created_at = models.DateTimeField(_("when"), db_default=UtcNow())
    action = ExactCharField(_("action"), max_length=8, choices=Action)
    verdict = ExactCharField(_("verdict"), max_length=10, blank=True, default="", db_default="")
    note = models.CharField(_("note"), max_length=500, blank=True, default="", db_default="")
    left = models.ForeignKey(
        "articles.News", models.SET_NULL, null=True, related_name="+", verbose_name=_("one article")
    )
    right = models.ForeignKey(
        "articles.News", models.SET_NULL, null=True, related_name="+", verbose_name=_("the other")
    )
    left_title = models.CharField(max_length=512, default="", db_default="")
    right_title = models.CharField(max_length=512, default="", db_default="")
    cluster = models.ForeignKey(
        "articles.NewsCluster",
        models.SET_NULL,
        null=True,
        related_name="decisions",
        verbose_name=_("cluster"),
    )
    # Together with others, see services.bulk.
    bulk = models.ForeignKey(
        "articles.BulkRun",
        models.SET_NULL,
        null=True,
        editable=False,
        related_name="decisions",
        verbose_name=_("bulk action"),
    )
    # Of a fold of the machine that it settled: the machine's kind, and whether the person agreed.
    folded_kind = ExactCharField(max_length=10, blank=True, default="", db_default="", editable=False)
    upheld = models.BooleanField(null=True, editable=False)
    # The rows as they were before and after: what an undo restores, and what it must still find.
    before = models.JSONField(_("before"), default=dict)
    after = models.JSONField(_("after"), default=dict)
    undoes = models.OneToOneField(
        "self", models.SET_NULL, null=True, related_name="undone_by", verbose_name=_("undoes")
    )

    class Meta:
        db_table = "news_decision"
        verbose_name = _("decision")
        verbose_name_plural = _("decisions")
        ordering = ("-id",)
        # All that the statistics of a period count.
        indexes = (
            models.Index(fields=["created_at", "action", "verdict", "actor"], name="idx_decision_created"),
            models.Index(fields=["upheld", "created_at"], name="idx_decision_upheld"),
        )

    def __str__(self) -> str:
        return f"{self.get_action_display()} #{self.pk}"
