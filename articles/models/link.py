from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from articles.models.fields import ExactCharField, UtcNow


class NewsLink(models.Model):
    """What is known of one unordered pair of articles. Links are the truth; clusters follow from them."""

    class Kind(models.TextChoices):
        EXACT = "exact", _("identical")
        NEAR = "near", _("near-identical")
        REWRITE = "rewrite", _("rewritten")
        EXCERPT = "excerpt", _("excerpt")
        UPDATE = "update", _("update")
        TEMPLATE = "template", _("template")
        FURNITURE = "furniture", _("shared furniture only")
        SUSPECT = "suspect", _("body does not fit the title")
        DISTINCT = "distinct", _("distinct")
        # Only the semantic scheme says this, and it joins nothing: see services.semantic.
        RELATED = "related", _("same event suggested")
        # Only a person says these:
        DUPLICATE = "duplicate", _("duplicate")
        SAME_EVENT = "same_event", _("same event, other report")
        DIFFERENT = "different", _("different")

    class Status(models.TextChoices):
        AUTO = "auto", _("decided by machine")
        PENDING = "pending", _("waits for an editor")
        CONFIRMED = "confirmed", _("confirmed by a person")
        REJECTED = "rejected", _("kept apart by a person")

    FOLDING_KINDS = (Kind.EXACT, Kind.NEAR, Kind.REWRITE)
    # Both articles count as one: the machine's folding kinds, or a person's word on any kind.
    FOLDED = Q(status=Status.CONFIRMED) | Q(status=Status.AUTO, kind__in=FOLDING_KINDS)
    # What clusters are made from. A machine's link whose articles do not meet in one cluster waits for a
    # person; it counts all the same, or clusters would depend on what they were before.
    JOINING = Q(status=Status.CONFIRMED) | Q(
        status__in=(Status.AUTO, Status.PENDING), kind__in=FOLDING_KINDS, unsure=False
    )

    low = models.ForeignKey(
        "articles.News", models.CASCADE, related_name="links_high", verbose_name=_("article")
    )
    high = models.ForeignKey(
        "articles.News", models.CASCADE, related_name="links_low", verbose_name=_("article")
    )
    kind = ExactCharField(_("kind"), max_length=10, choices=Kind)
    status = ExactCharField(_("status"), max_length=9, choices=Status)
    # A person's verdict: no re-run, re-import or rule change may alter the row.
    locked = models.BooleanField(_("locked"), default=False, db_default=False)
    score = models.FloatField(_("score"))
    hamming = models.PositiveSmallIntegerField(_("Hamming distance"), null=True)
    containment_low = models.FloatField(_("share of the first found in the second"))
    containment_high = models.FloatField(_("share of the second found in the first"))
    reasons = models.JSONField(_("reasons"), default=list)
    rules_version = ExactCharField(_("rules version"), max_length=32)
    text_changed = models.BooleanField(_("text changed since the verdict"), default=False, db_default=False)
    # A person looked and could not tell: the pair waits on, and the machine may still settle it.
    unsure = models.BooleanField(_("unsure"), default=False, db_default=False)
    created_at = models.DateTimeField(_("created"), db_default=UtcNow())

    class Meta:
        db_table = "news_link"
        verbose_name = _("relation")
        verbose_name_plural = _("links")
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(fields=["low", "high"], name="one_link_per_pair"),
            models.CheckConstraint(condition=Q(low__lt=F("high")), name="low_before_high"),
        )
        indexes = (
            models.Index(fields=["status", "score", "id"], name="idx_link_queue"),
            models.Index(fields=["status", "kind", "id"], name="idx_link_kind"),
            models.Index(fields=["status", "created_at", "kind"], name="idx_link_age"),
            # Which articles have a link of a kind.
            models.Index(fields=["kind", "low"], name="idx_link_kind_low"),
            models.Index(fields=["kind", "high"], name="idx_link_kind_high"),
        )

    def __str__(self) -> str:
        return f"{self.low_id} – {self.high_id}"
