from datetime import UTC, datetime

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from articles.models.fields import ExactCharField, UtcNow

# The queue's priorities are days since then, and so near to the day of publication: see services.queue.
QUEUE_START = datetime(2020, 1, 1, tzinfo=UTC)
PRIORITY_BELOW, PRIORITY_ABOVE = 7, 14


class ReviewItem(models.Model):
    """One thing that waits for a person: a pair, or a cluster nobody has reviewed.

    Derived from links and clusters by services.queue; only the claim is its own. Its columns are those by
    which the queue is ordered and filtered, so that a page of it costs the same however long it is.
    """

    # Besides the kinds of links: a cluster, and a pair whose text was edited after a person's verdict.
    CLUSTER, CHANGED = "cluster", "changed"

    link = models.OneToOneField(
        "articles.NewsLink", models.CASCADE, null=True, related_name="waiting", verbose_name=_("relation")
    )
    cluster = models.OneToOneField(
        "articles.NewsCluster", models.CASCADE, null=True, related_name="waiting", verbose_name=_("cluster")
    )
    # The earlier article of a pair, whose title stands for it, and the later one; of a cluster the lead.
    lead = models.ForeignKey("articles.News", models.CASCADE, related_name="+", verbose_name=_("lead"))
    other = models.ForeignKey(
        "articles.News", models.CASCADE, null=True, related_name="+", verbose_name=_("the other")
    )
    kind = ExactCharField(_("kind"), max_length=10)
    # See services.queue.priority; the higher the sooner.
    priority = models.FloatField(_("priority"))
    score = models.FloatField(_("score"))
    size = models.PositiveIntegerField(_("articles"))
    source = ExactCharField(_("source"), max_length=100, blank=True, default="")
    published = models.DateTimeField(_("published"))
    unsure = models.BooleanField(_("unsure"), default=False)
    created_at = models.DateTimeField(_("waits since"), db_default=UtcNow())
    # Who has it open. It expires by itself, so that nobody has to give anything back.
    claimed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", verbose_name=_("open at")
    )
    claimed_until = models.DateTimeField(null=True)

    class Meta:
        db_table = "news_review_item"
        verbose_name = _("waiting item")
        verbose_name_plural = _("waiting items")
        ordering = ("-priority", "-id")
        default_permissions = ()
        constraints = (
            models.CheckConstraint(
                condition=Q(link=None, cluster__isnull=False) | Q(link__isnull=False, cluster=None),
                name="pair_or_cluster",
            ),
        )
        indexes = (
            models.Index(fields=["priority", "id"], name="idx_item_priority"),
            models.Index(fields=["kind", "priority", "id"], name="idx_item_kind"),
            models.Index(fields=["source", "priority", "id"], name="idx_item_source"),
            # For the few of a day and the few large ones; whatever is frequent is met on the way down anyway.
            models.Index(fields=["published"], name="idx_item_published"),
            models.Index(fields=["size"], name="idx_item_size"),
            models.Index(fields=["claimed_by", "claimed_until"], name="idx_item_claim"),
            models.Index(fields=["created_at"], name="idx_item_created"),
        )

    def __str__(self) -> str:
        return self.key

    @property
    def key(self) -> str:
        """How addresses name it: by what waits, as the row is made anew when an undo brings it back."""
        return f"c{self.cluster_id}" if self.cluster_id else f"p{self.link_id}"

    def is_free_for(self, user: User) -> bool:
        """Nobody else has it open."""
        open_ = self.claimed_until is not None and self.claimed_until > timezone.now()
        return not open_ or self.claimed_by_id == user.pk

    @property
    def place(self) -> str:
        """Where it stands in the queue, as addresses say it."""
        return f"{self.priority}_{self.pk}"
