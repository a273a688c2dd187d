"""The rules in force: those of the core with what the administrator set."""

from dataclasses import replace
from datetime import timedelta

from django.conf import settings

from articles.dedup.rules import DEFAULT_RULES, Rules


def current_rules() -> Rules:
    return replace(DEFAULT_RULES, window=timedelta(days=settings.NEWSDEDUP_WINDOW_DAYS))
