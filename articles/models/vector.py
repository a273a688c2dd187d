from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.models.fields import ExactCharField, UtcNow


class NewsVector(models.Model):
    """What a model made of an article's headline and opening; the vector index is derived from these rows.

    A row never changes: what is edited gets a new row, and so a new number in the index.
    """

    news = models.OneToOneField(
        "articles.News", models.CASCADE, related_name="vector", verbose_name=_("article")
    )
    model = ExactCharField(_("model"), max_length=190)
    dimension = models.PositiveIntegerField(_("dimension"))
    # 32-bit floats, little-endian, of length 1.
    data = models.BinaryField()
    # Its neighbours were looked for.
    asked = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField(_("created"), db_default=UtcNow())

    class Meta:
        db_table = "news_vector"
        verbose_name = _("vector")
        verbose_name_plural = _("vectors")
        default_permissions = ()
        # Counting those of a model, and finding its newest that were not asked about, reads no vectors.
        indexes = (models.Index(fields=["model", "dimension", "asked", "id"], name="idx_vector_model_asked"),)

    def __str__(self) -> str:
        return f"#{self.news_id} {self.model}"
