from django.db import models
from django.utils.translation import gettext_lazy as _


class AuditSample(models.Model):
    """A pair that the machine folded, drawn for a person to look at. What came of it is the link's status."""

    # The desk's day, and not the server's.
    day = models.DateField(_("day"))
    link = models.OneToOneField(
        "articles.NewsLink", models.CASCADE, related_name="audit", verbose_name=_("relation")
    )
    # As the machine had them: a person's verdict takes their place in the link.
    kind = models.CharField(_("kind"), max_length=10)
    score = models.FloatField(_("score"))

    class Meta:
        db_table = "news_audit"
        verbose_name = _("sampled pair")
        verbose_name_plural = _("sampled pairs")
        ordering = ("day", "id")
        indexes = (models.Index(fields=["day", "id"], name="idx_audit_day"),)

    def __str__(self) -> str:
        return f"{self.day} #{self.link_id}"

    @property
    def is_open(self) -> bool:
        """Nobody has settled it yet."""
        return not self.link.locked
