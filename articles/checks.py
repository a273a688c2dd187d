"""System checks: what would let duplicates slip through unnoticed stops the start or is said aloud."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import OperationalError, ProgrammingError, connections

from articles.models import News

# Nothing of the core is imported here: every command runs the checks, and would load the dictionaries.
BANDS = sum(field.name.startswith("band_") for field in News._meta.get_fields())
GUARANTEED_DISTANCE = 2 * BANDS - 1
"""Bands are looked up with their one-bit neighbours; of so many bits one band gets no more than one."""


@register(Tags.models)
def check_hamming_limit(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    from articles.dedup.rules import DEFAULT_RULES

    return hamming_messages(DEFAULT_RULES.hamming_limit)


def hamming_messages(limit: int) -> list[CheckMessage]:
    if limit <= GUARANTEED_DISTANCE:
        return []
    return [
        Error(
            f"The Hamming limit is {limit}, but the look-up finds all pairs up to {GUARANTEED_DISTANCE}.",
            hint=f"Set Rules.hamming_limit to {GUARANTEED_DISTANCE} or less.",
            id="newsdedup.E001",
        )
    ]


@register(Tags.models)
def check_semantic(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Switched on without what it needs, it would be silently off."""
    from django.conf import settings

    chosen = settings.NEWSDEDUP_SEMANTIC
    if chosen == "off":
        return []
    from articles.services import semantic
    from articles.vectors.extra import INSTALL

    faults = []
    if missing := semantic.missing_packages():
        large = f" and pip install {chosen}" if chosen in ("sentence-transformers", "fastembed") else ""
        faults.append(
            (f"needs packages that are not installed: {', '.join(missing)}.", f"Run: {INSTALL}{large}")
        )
    if not semantic.has_threshold():
        faults.append(
            ("has no measured threshold.", "Set NEWSDEDUP_SEMANTIC_THRESHOLD, see docs/semantic.md")
        )
    if chosen == "http" and not (settings.NEWSDEDUP_SEMANTIC_URL and settings.NEWSDEDUP_SEMANTIC_MODEL):
        faults.append(("needs a server.", "Set NEWSDEDUP_SEMANTIC_URL and NEWSDEDUP_SEMANTIC_MODEL"))
    return [
        Error(
            f"NEWSDEDUP_SEMANTIC={chosen} {fault}",
            hint=f"{hint}; or NEWSDEDUP_SEMANTIC=off",
            id="newsdedup.E004",
        )
        for fault, hint in faults
    ]


@register(Tags.database)
def check_charset(app_configs: Any, databases: Sequence[str] | None, **kwargs: Any) -> list[CheckMessage]:
    return [message for alias in databases or () for message in _charset(alias)]


@register(Tags.database)
def check_fingerprints(
    app_configs: Any, databases: Sequence[str] | None, **kwargs: Any
) -> list[CheckMessage]:
    if "default" not in (databases or ()):
        return []
    from articles.services.health import stale_fingerprints

    try:
        stale = stale_fingerprints()
    except (OperationalError, ProgrammingError):
        return []  # Before the first migration there is no table.
    if not stale:
        return []
    return [
        Warning(
            f"{stale} articles have fingerprints of another version: new ones are not compared with them.",
            hint="Run: manage.py dedup_all",
            obj=News,
            id="newsdedup.W003",
        )
    ]


def _charset(alias: str) -> list[CheckMessage]:
    connection = connections[alias]
    if connection.vendor != "mysql":
        return []
    charset = connection.settings_dict["OPTIONS"].get("charset", "utf8mb4")
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@character_set_connection, @@character_set_database")
        used, stored = cursor.fetchone()
    if {charset, used, stored} == {"utf8mb4"}:
        return []
    return [
        Error(
            f"The database “{alias}” speaks {used} and stores {stored}: it cannot hold every character.",
            hint="Make the database with CHARACTER SET utf8mb4 and connect with charset utf8mb4.",
            id="newsdedup.E002",
        )
    ]
