from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.models.fields import ExactCharField


class DayCount(models.Model):
    """Articles that a source brought on a day of the desk, by what became of them.

    Derived from the news by services.rollup. A day that was counted has a row for the source '', if only of
    zeros: else a quiet day would look like one that nobody has counted.
    """

    pk = models.CompositePrimaryKey("day", "source")
    day = models.DateField(_("day"))
    source = ExactCharField(_("source"), max_length=100, blank=True, default="")
    articles = models.PositiveIntegerField(_("articles"))
    duplicates = models.PositiveIntegerField(_("duplicates"))
    undecided = models.PositiveIntegerField(_("not settled"))
    counted_at = models.DateTimeField(_("counted"))

    class Meta:
        db_table = "news_day"
        verbose_name = _("count of a day")
        verbose_name_plural = _("counts of days")
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.day} {self.source}"
