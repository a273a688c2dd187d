from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.models.fields import ExactCharField, UtcNow


class NewsCluster(models.Model):
    """Articles that tell one story in one text. Derived from the links; can be rebuilt at any time."""

    class State(models.TextChoices):
        OPEN = "open", _("not reviewed")
        REVIEWED = "reviewed", _("reviewed")
        MERGED = "merged", _("merged into another")

    lead = models.ForeignKey(
        "articles.News", models.SET_NULL, null=True, related_name="+", verbose_name=_("lead")
    )
    # A lead chosen by a person stays; one that was elected gives way to an earlier article.
    lead_locked = models.BooleanField(_("lead chosen"), default=False, db_default=False)
    state = ExactCharField(_("state"), max_length=8, choices=State, default=State.OPEN, db_default=State.OPEN)
    size = models.PositiveIntegerField(_("size"), default=0, db_default=0)
    lowest_score = models.FloatField(_("lowest score"), null=True)
    weakest_link = models.ForeignKey(
        "articles.NewsLink", models.SET_NULL, null=True, related_name="+", verbose_name=_("weakest link")
    )
    first_published = models.DateTimeField(_("first published"), null=True)
    last_published = models.DateTimeField(_("last published"), null=True)
    merged_into = models.ForeignKey("self", models.SET_NULL, null=True, verbose_name=_("merged into"))
    reviewed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", verbose_name=_("reviewed by")
    )
    reviewed_at = models.DateTimeField(_("reviewed"), null=True)
    created_at = models.DateTimeField(_("created"), db_default=UtcNow())
    changed_at = models.DateTimeField(_("changed"), db_default=UtcNow())

    class Meta:
        db_table = "news_cluster"
        verbose_name = _("cluster")
        verbose_name_plural = _("clusters")
        ordering = ("-id",)
        indexes = (
            models.Index(fields=["state", "-last_published", "-id"], name="idx_cluster_recent"),
            # Those of every state, and the few large ones.
            models.Index(fields=["-last_published", "-id"], name="idx_cluster_latest"),
            models.Index(fields=["size"], name="idx_cluster_size"),
            models.Index(fields=["state", "lowest_score", "id"], name="idx_cluster_score"),
        )

    def __str__(self) -> str:
        return f"#{self.pk}"
