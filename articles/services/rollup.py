"""Articles by day and source, counted from the news again and again, so that the dashboard adds up days.

Counting anew is right after edits, deletions, late verdicts and back-dated rows alike, whoever wrote them; it
costs one range of an index a day. Whoever is not satisfied with what the sweep left counts by himself.
"""

from collections.abc import Sequence
from datetime import date, timedelta

from django.db import connection
from django.utils import timezone

from articles.models import DayCount
from articles.services import sql
from articles.statistics import COUNTED, PERIODS, count_days, period

# Most changes are to what came in lately.
LATELY_DAYS = 3
LATELY_FOR = timedelta(minutes=1)
HOLDS_FOR = timedelta(minutes=15)
DAYS_AT_ONCE = 10


def refresh() -> int:
    """Count the days again whose counts are too old; returns how many."""
    due = _due()
    for days in sql.chunks(due, DAYS_AT_ONCE):
        _store(days, count_days(days))
    return len(due)


def _due() -> list[date]:
    now = timezone.now()
    # Today is counted whenever somebody asks.
    dates = period(max(PERIODS)).dates[:-1]
    known = DayCount.objects.filter(source="", day__gte=dates[0]).order_by()
    counted = dict(known.values_list("day", "counted_at"))
    lately = dates[-LATELY_DAYS:]
    return [
        day
        for day in dates
        if day not in counted or now - counted[day] > (LATELY_FOR if day in lately else HOLDS_FOR)
    ]


def _store(days: Sequence[date], counts: list[DayCount]) -> None:
    """Sources first seen before and gone since go last: two sweeps may do this at one moment."""
    targeted = connection.features.supports_update_conflicts_with_target
    DayCount.objects.bulk_create(
        counts,
        batch_size=sql.PARAMETERS,
        update_conflicts=True,
        update_fields=[*COUNTED, "counted_at"],
        unique_fields=["day", "source"] if targeted else None,
    )
    DayCount.objects.filter(day__in=days, counted_at__lt=counts[0].counted_at).delete()
