"""Reads for the dashboard: bounded in time or in rows, set by set."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from math import sqrt
from typing import Any

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db.models import Count, Min, Q, QuerySet, Sum, Value
from django.utils import timezone

from articles import desk
from articles.models import AuditSample, DayCount, News, NewsDecision, NewsLink, ReviewItem

SOURCES_SHOWN = 20
PERIODS = (7, 30, 90)
# Figures of whole days hardly change within a minute, and many people look at them.
FRESH_SECONDS = 60
# A stored count that is older was left behind by a worker that is gone: such days are counted anew.
COUNT_HOLDS = timedelta(hours=1)
# Decisions on folds of the machine that are tallied; the newest of a period.
DECISIONS_READ = 1_000
UNDECIDED = (News.Verdict.SUSPECTED, News.Verdict.NONE)
COUNTED = ("articles", "duplicates", "undecided")
SETTLED = (NewsLink.Status.CONFIRMED, NewsLink.Status.REJECTED)


# -- days --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Period:
    """Whole days of the desk, today included."""

    days: int
    today: date

    @property
    def dates(self) -> list[date]:
        return [self.today - timedelta(days=back) for back in reversed(range(self.days))]

    @property
    def start(self) -> datetime:
        return _midnight(self.dates[0])

    @property
    def end(self) -> datetime:
        return _midnight(self.today + timedelta(days=1))


def period(days: str | int | None) -> Period:
    """One of PERIODS; whatever else is asked for is the middle one."""
    said = str(days)
    wanted = int(said) if said.isascii() and said.isdigit() and len(said) < 4 else 0
    return Period(wanted if wanted in PERIODS else PERIODS[1], timezone.localdate())


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))


def _fresh(name: str, chosen: Period, read: Callable[[], Any]) -> Any:
    return cache.get_or_set(f"statistics:{name}:{chosen.days}:{chosen.today}", read, FRESH_SECONDS)


# -- intake ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IntakeDay:
    """Articles first seen on a day, by what became of them until now."""

    day: date
    articles: int
    duplicates: int
    waiting: int

    @property
    def kept(self) -> int:
        """Told apart: singles and leads."""
        return self.articles - self.duplicates - self.waiting


@dataclass(frozen=True, slots=True)
class SourceIntake:
    source: str
    articles: int
    duplicates: int

    @property
    def share(self) -> float | None:
        return self.duplicates / self.articles if self.articles else None


def intake(chosen: Period) -> list[IntakeDay]:
    return _fresh("intake", chosen, lambda: _intake(chosen))[0]


def sources(chosen: Period) -> list[SourceIntake]:
    """The outlets that brought most in the period."""
    return _fresh("intake", chosen, lambda: _intake(chosen))[1]


def _intake(chosen: Period) -> tuple[list[IntakeDay], list[SourceIntake]]:
    """The same articles by day and by source: today's counted here, those of days that are over added up."""
    counted = _counted_days(chosen)
    others = count_days([day for day in chosen.dates if day not in counted])
    stored = DayCount.objects.filter(day__in=counted).order_by()
    by_day: dict[Any, Counter[str]] = defaultdict(Counter)
    by_source: dict[Any, Counter[str]] = defaultdict(Counter)
    for found, name in ((by_day, "day"), (by_source, "source")):
        added = stored.values(name).annotate(**{f"sum_{column}": Sum(column) for column in COUNTED})
        for row in added:
            found[row[name]].update({column: row[f"sum_{column}"] for column in COUNTED})
        for line in others:
            found[getattr(line, name)].update({column: getattr(line, column) for column in COUNTED})
    days = [IntakeDay(day, *(by_day[day][column] for column in COUNTED)) for day in chosen.dates]
    brought = [
        SourceIntake(source, count["articles"], count["duplicates"])
        for source, count in by_source.items()
        if count["articles"]
    ]
    return days, sorted(brought, key=lambda line: (-line.articles, line.source))[:SOURCES_SHOWN]


def _counted_days(chosen: Period) -> list[date]:
    """Days of the period that are over, and that the sweep has counted not long ago."""
    fresh = DayCount.objects.filter(source="", counted_at__gt=timezone.now() - COUNT_HOLDS)
    return list(
        fresh.filter(day__gte=chosen.dates[0], day__lt=chosen.today).order_by().values_list("day", flat=True)
    )


def count_days(days: Sequence[date]) -> list[DayCount]:
    """Counts of these days, read from the news and not stored; for each day one of the source '' at least.

    One range of an index for each day: the database knows neither the desk's days nor its time zone.
    """
    now = timezone.now()

    def zero(day: date, source: str) -> DayCount:
        return DayCount(day=day, source=source, articles=0, duplicates=0, undecided=0, counted_at=now)

    counts = {(day, ""): zero(day, "") for day in days}
    parts = [_seen_on(day).annotate(day=Value(number)) for number, day in enumerate(days)]
    for row in parts[0].union(*parts[1:], all=True) if parts else ():
        # To MariaDB's keys, "江城日报 " and "江城日报" are one, as to whoever reads them.
        day, source, number = days[row["day"]], row["source"].rstrip(" "), row["number"]
        count = counts.get((day, source)) or counts.setdefault((day, source), zero(day, source))
        count.articles += number
        count.duplicates += number * (row["verdict"] == News.Verdict.DUPLICATE)
        count.undecided += number * (row["verdict"] in UNDECIDED)
    return list(counts.values())


def _seen_on(day: date) -> Any:
    seen = News.objects.filter(
        created_at__gte=_midnight(day), created_at__lt=_midnight(day + timedelta(days=1))
    )
    return seen.order_by().values("verdict", "source").annotate(number=Count("pk"))


# -- what waits --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Queue:
    """What waits for an editor, by how long it has waited and by kind; kinds as (kind, number)."""

    total: int
    hour: int
    day: int
    week: int
    older: int
    oldest: datetime | None
    kinds: list[tuple[str, int]]


def queue() -> Queue:
    found: Queue = cache.get_or_set("statistics:queue", _queue, FRESH_SECONDS)  # type: ignore[assignment]
    return found


def _queue() -> Queue:
    now, items = timezone.now(), ReviewItem.objects.order_by()

    def since(**span: int) -> Count:
        return Count("pk", filter=Q(created_at__gt=now - timedelta(**span)))

    # What has waited longer is the rest: it may be very many.
    ages = items.filter(created_at__gt=now - timedelta(days=7)).aggregate(
        hour=since(hours=1), day=since(days=1), week=Count("pk")
    )
    kinds = sorted(desk.count_by_kind().items(), key=lambda row: (-row[1], row[0]))
    total = sum(number for _, number in kinds)
    return Queue(
        total,
        ages["hour"],
        ages["day"] - ages["hour"],
        ages["week"] - ages["day"],
        max(total - ages["week"], 0),
        items.aggregate(oldest=Min("created_at"))["oldest"],
        kinds,
    )


# -- what people decide ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EditorLine:
    """What a person decided. counts: by verdict on pairs, or by action on groups."""

    name: str
    counts: Counter[str]

    @property
    def total(self) -> int:
        return self.counts.total()


@dataclass(frozen=True, slots=True)
class Verdicts:
    columns: list[str]
    editors: list[EditorLine]

    @property
    def total(self) -> int:
        return sum(line.total for line in self.editors)


def verdicts(chosen: Period) -> Verdicts:
    """Decisions of the period that still hold, by editor and kind; who decided most is first."""
    return _fresh("verdicts", chosen, lambda: _verdicts(chosen))


def _made(chosen: Period) -> QuerySet[NewsDecision]:
    rows = NewsDecision.objects.filter(created_at__gte=chosen.start, created_at__lt=chosen.end)
    return rows.exclude(action=NewsDecision.Action.UNDO).order_by()


def _undone(chosen: Period) -> list[tuple[int | None, str, str, int]]:
    """Of the period's decisions those that were undone, one by one."""
    start, end = chosen.start, chosen.end
    # By the few that undo something, not by all of the period.
    undone = NewsDecision.objects.filter(undoes__isnull=False, created_at__gte=start)
    columns = ("undoes__actor", "undoes__action", "undoes__verdict", "undoes__created_at")
    return [
        (actor, action, verdict, 1)
        for actor, action, verdict, when in undone.order_by().values_list(*columns)
        if when and start <= when < end
    ]


def _verdicts(chosen: Period) -> Verdicts:
    counts: dict[int | None, Counter[str]] = defaultdict(Counter)
    made = _made(chosen).values_list("actor", "action", "verdict").annotate(number=Count("pk"))
    # Few are undone: taken off again, the count of all needs nothing but its index.
    taken_back = _undone(chosen)
    for rows, sign in ((made, 1), (taken_back, -1)):
        for actor, action, verdict, number in rows:
            is_verdict = action == NewsDecision.Action.VERDICT
            counts[actor][verdict if is_verdict else action] += sign * number
    counts = {actor: +count for actor, count in counts.items() if +count}
    people = User.objects.in_bulk([actor for actor in counts if actor])
    editors = [
        EditorLine(_name(people[actor]) if actor in people else "", count) for actor, count in counts.items()
    ]
    used = {name for count in counts.values() for name in count}
    return Verdicts(
        [name for name in VERDICT_ORDER if name in used] + sorted(used - set(VERDICT_ORDER)),
        sorted(editors, key=lambda line: (-line.total, line.name)),
    )


VERDICT_ORDER = (
    *("duplicate", "update", "excerpt", "same_event", "template", "different", "unsure"),
    *(NewsDecision.Action.CONFIRM_CLUSTER, NewsDecision.Action.REMOVE_MEMBER, NewsDecision.Action.SPLIT),
    *(NewsDecision.Action.MERGE, NewsDecision.Action.SET_LEAD),
)


def _name(user: User) -> str:
    return user.get_full_name() or user.get_username()


@dataclass(frozen=True, slots=True)
class Tally:
    """Folds of the machine that a person looked at."""

    name: str
    right: int
    wrong: int

    @property
    def total(self) -> int:
        return self.right + self.wrong

    @property
    def precision(self) -> float | None:
        return self.right / self.total if self.total else None

    @property
    def overturned(self) -> float | None:
        return self.wrong / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float] | None:
        return wilson(self.right, self.total)


def wilson(hits: int, total: int) -> tuple[float, float] | None:
    """Where the true share lies with 95 % confidence; honest with few trials, unlike share ± error."""
    if not total:
        return None
    z = 1.96
    share, spread = hits / total, z * z / total
    centre = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * sqrt(share * (1 - share) / total + spread / total / 4)
    return max(centre - half, 0.0), min(centre + half, 1.0)


@dataclass(frozen=True, slots=True)
class Tallies:
    """Right and wrong folds: all, by the machine's kind, by source; a pair counts for both of its sources."""

    overall: Tally
    kinds: list[Tally]
    sources: list[Tally]
    more: bool = False


def overturns(chosen: Period) -> Tallies:
    """What people said, at the desk, of pairs that the machine had folded: by decisions that still hold."""
    return _fresh("overturns", chosen, lambda: _overturns(chosen))


def _overturns(chosen: Period) -> Tallies:
    rows = (
        _made(chosen)
        .filter(undone_by=None, upheld__in=(True, False))
        .order_by("-created_at", "-pk")
        .values_list("folded_kind", "upheld", "left__source", "right__source")[: DECISIONS_READ + 1]
    )
    found = list(rows)
    outcomes = [
        (kind, bool(right), {name for name in names if name})
        for kind, right, *names in found[:DECISIONS_READ]
    ]
    return _tallies(outcomes, len(found) > DECISIONS_READ)


def _tallies(outcomes: Sequence[tuple[str, bool, set[str]]], more: bool = False) -> Tallies:
    kinds: dict[str, Counter[bool]] = defaultdict(Counter)
    by_source: dict[str, Counter[bool]] = defaultdict(Counter)
    overall: Counter[bool] = Counter()
    for kind, right, names in outcomes:
        overall[right] += 1
        kinds[kind][right] += 1
        for name in names:
            by_source[name][right] += 1

    def line(name: str, counts: Counter[bool]) -> Tally:
        return Tally(name, counts[True], counts[False])

    worst = sorted(by_source, key=lambda name: (-by_source[name][False], -by_source[name].total(), name))
    return Tallies(
        line("", overall),
        [line(kind, kinds[kind]) for kind in NewsLink.FOLDING_KINDS if kind in kinds],
        [line(name, by_source[name]) for name in worst[:SOURCES_SHOWN]],
        more,
    )


# -- the audit ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AuditDay:
    day: date
    sample: int
    tally: Tally


@dataclass(frozen=True, slots=True)
class Audit:
    """What came of the samples: by day, newest first, and all in all."""

    days: list[AuditDay]
    tallies: Tallies

    @property
    def today(self) -> AuditDay | None:
        return next((line for line in self.days if line.day == timezone.localdate()), None)


def audit(chosen: Period) -> Audit:
    """Not kept: whoever answers wants to see it counted, and a period has few samples."""
    rows = AuditSample.objects.filter(day__gte=chosen.dates[0], day__lte=chosen.today).order_by("-day")
    found = list(rows.values_list("day", "kind", "link__status", "link__low__source", "link__high__source"))
    days: dict[date, Counter[str]] = defaultdict(Counter)
    outcomes = []
    for day, kind, status, *names in found:
        days[day][status] += 1
        if status in SETTLED:
            outcomes.append((kind, status == NewsLink.Status.CONFIRMED, {name for name in names if name}))
    right, wrong = SETTLED
    lines = [
        AuditDay(day, counts.total(), Tally("", counts[right], counts[wrong])) for day, counts in days.items()
    ]
    return Audit(lines, _tallies(outcomes))


def audit_samples(day: date) -> list[AuditSample]:
    return list(
        AuditSample.objects.filter(day=day)
        .select_related("link__low", "link__high")
        .defer("link__low__content", "link__high__content")
    )
