from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from articles.models.fields import ExactCharField, UnsignedBigIntegerField, UtcNow

TITLE_LENGTH = 512
SOURCE_LENGTH = 100
URL_LENGTH = 1000
EXTERNAL_ID_LENGTH = 190


class News(models.Model):
    """One article as it came in, with its fingerprint and what de-duplication made of it.

    Every column but title and content has a database default, so that a crawler may INSERT by SQL.
    """

    class State(models.TextChoices):
        PENDING = "pending", _("waiting")
        DONE = "done", _("judged")
        FAILED = "failed", _("failed")

    class Verdict(models.TextChoices):
        NONE = "", _("not judged yet")
        UNIQUE = "unique", _("unique")
        LEAD = "lead", _("lead of a cluster")
        DUPLICATE = "duplicate", _("duplicate")
        SUSPECTED = "suspected", _("waits for an editor")

    title = models.CharField(_("title"), max_length=TITLE_LENGTH, blank=True)
    content = models.TextField(_("content"), blank=True)
    source = ExactCharField(_("source"), max_length=SOURCE_LENGTH, blank=True, default="", db_default="")
    url = models.CharField(_("link"), max_length=URL_LENGTH, blank=True, default="", db_default="")
    external_id = ExactCharField(
        _("external id"), max_length=EXTERNAL_ID_LENGTH, blank=True, default="", db_default=""
    )
    published_at = models.DateTimeField(_("published"), null=True, blank=True)
    created_at = models.DateTimeField(_("first seen"), db_default=UtcNow(), editable=False)
    upload = models.ForeignKey(
        "articles.Upload", models.SET_NULL, null=True, blank=True, editable=False, verbose_name=_("upload")
    )

    identity = ExactCharField(max_length=64, null=True, unique=True, editable=False)
    canonical_key = ExactCharField(max_length=64, default="", db_default="", editable=False)
    title_md5 = ExactCharField(
        _("MD5 of the title"), max_length=32, default="", db_default="", editable=False
    )
    content_md5 = ExactCharField(
        _("MD5 of the text"), max_length=32, default="", db_default="", editable=False
    )
    simhash_fp = UnsignedBigIntegerField(_("simhash"), null=True, editable=False)
    band_0 = models.PositiveSmallIntegerField(null=True, editable=False)
    band_1 = models.PositiveSmallIntegerField(null=True, editable=False)
    band_2 = models.PositiveSmallIntegerField(null=True, editable=False)
    band_3 = models.PositiveSmallIntegerField(null=True, editable=False)
    fingerprint_version = ExactCharField(
        _("version of the fingerprint"), max_length=32, default="", db_default="", editable=False
    )

    state = ExactCharField(
        _("state"),
        max_length=8,
        choices=State,
        default=State.PENDING,
        db_default=State.PENDING,
        editable=False,
    )
    # Raised by every edit: a run marks done only what it read, so an edit in between is judged again.
    revision = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    # Who works on the row and since when, so that the sweep does not repeat what a worker is doing.
    claim = ExactCharField(max_length=32, default="", db_default="", editable=False)
    claimed_at = models.DateTimeField(null=True, editable=False)
    attempts = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    last_error = models.CharField(_("error"), max_length=500, default="", db_default="", editable=False)
    judged_at = models.DateTimeField(_("judged"), null=True, editable=False)
    verdict = ExactCharField(
        _("verdict"), max_length=10, choices=Verdict, blank=True, default="", db_default="", editable=False
    )
    cluster = models.ForeignKey(
        "articles.NewsCluster",
        models.SET_NULL,
        null=True,
        editable=False,
        # idx_cluster_order begins with it.
        db_index=False,
        related_name="members",
        verbose_name=_("cluster"),
    )
    duplicate_of = models.ForeignKey(
        "self",
        models.SET_NULL,
        null=True,
        editable=False,
        related_name="duplicates",
        verbose_name=_("duplicate of"),
    )

    class Meta:
        db_table = "news"
        verbose_name = _("news")
        verbose_name_plural = _("news")
        ordering = ("-id",)
        indexes = (
            models.Index(fields=["title_md5", "content_md5"], name="idx_md5"),
            models.Index(fields=["band_0", "simhash_fp"], name="idx_band_0"),
            models.Index(fields=["band_1", "simhash_fp"], name="idx_band_1"),
            models.Index(fields=["band_2", "simhash_fp"], name="idx_band_2"),
            models.Index(fields=["band_3", "simhash_fp"], name="idx_band_3"),
            models.Index(fields=["state", "id"], name="idx_state"),
            models.Index(fields=["source", "published_at"], name="idx_source_published"),
            models.Index(fields=["published_at"], name="idx_published"),
            models.Index(fields=["verdict", "id"], name="idx_verdict"),
            models.Index(fields=["external_id"], name="idx_external"),
            # All that statistics of a day and a search for titles read: whole rows are ten times as wide.
            models.Index(fields=["created_at", "verdict", "source", "title"], name="idx_arrived"),
            # The pages of a group in its order, and its timeline and sources.
            models.Index(fields=["cluster", "canonical_key"], name="idx_cluster_order"),
            models.Index(fields=["cluster", "published_at", "source"], name="idx_cluster_story"),
        )

    # What crawlers and people write; all other columns belong to the pipeline.
    OWN_FIELDS = ("title", "content", "source", "url", "external_id", "published_at", "upload_id")

    def __str__(self) -> str:
        return self.title or f"#{self.pk}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save; of a stored article only OWN_FIELDS, unless update_fields names others.

        An instance read a while ago holds the verdict, cluster and revision of then, and a plain save would
        write them over those that the pipeline has found since.
        """
        stored = self.pk is not None and not self._state.adding
        if stored and not args and not kwargs.get("force_insert") and kwargs.get("update_fields") is None:
            kwargs["update_fields"] = set(self.OWN_FIELDS) - self.get_deferred_fields()
        super().save(*args, **kwargs)

    @property
    def public_id(self) -> str:
        """What exports and people call this article: its external id, else its number."""
        return self.external_id or str(self.pk)


class NewsText(models.Model):
    """The cleaned text, stored so that judging and showing never clean again."""

    news = models.OneToOneField(News, models.CASCADE, primary_key=True, related_name="text")
    title = models.TextField(_("cleaned title"))
    body = models.TextField(_("cleaned text"))

    class Meta:
        db_table = "news_text"
        verbose_name = _("cleaned text")
        verbose_name_plural = _("cleaned texts")

    def __str__(self) -> str:
        return self.title or f"#{self.news_id}"


class NewsShingle(models.Model):
    """The sketch index: one row for each of an article's smallest shingle hashes."""

    pk = models.CompositePrimaryKey("hash", "news_id")
    # Signed: MySQL ignores an index when an IN list holds literals above 2**63.
    hash = models.BigIntegerField()
    news = models.ForeignKey(News, models.CASCADE, related_name="shingles")

    class Meta:
        db_table = "news_shingle"

    def __str__(self) -> str:
        return f"{self.hash} #{self.news_id}"
