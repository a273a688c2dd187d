"""Saving an article through the ORM ends in its de-duplication, after the transaction is committed."""

from collections.abc import Collection
from typing import Any

from django.db.models.signals import post_delete, post_save, pre_delete
from django.dispatch import receiver

from articles.models import News


@receiver(post_save, sender=News)
def enqueue_saved(instance: News, raw: bool, update_fields: Collection[str] | None, **kwargs: Any) -> None:
    from articles.services.ingest import saved

    # A fixture (raw) may refer to rows that are not loaded yet; the sweep takes its articles.
    if not raw and (update_fields is None or set(update_fields) & set(News.OWN_FIELDS)):
        saved([instance.pk])


@receiver(pre_delete, sender=News)
def release_neighbours(instance: News, **kwargs: Any) -> None:
    from articles.services.ingest import deleting

    deleting([instance.pk])


@receiver(post_delete, sender=News)
def retire_deserted_cluster(instance: News, **kwargs: Any) -> None:
    from articles.services.clustering import retire_deserted

    if instance.cluster_id:
        retire_deserted([instance.cluster_id])
