"""Is the installation well? Findings for `manage.py doctor` and the dashboard, each with its remedy."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from celery import current_app
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Count, Exists, Min, Model, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from kombu.connection import Connection

from articles.dedup import fingerprint
from articles.models import News, NewsCluster, NewsLink, NewsShingle, NewsText
from articles.services import semantic, workers
from articles.services.dispatch import connect
from articles.vectors.extra import UnavailableError

PENDING_LIMIT = timedelta(minutes=10)
"""A new article that waits longer than this waits for nobody: the sweep runs every few seconds."""
PING_SECONDS = 2.0
PAGE = 500
READING_SECONDS = 10
READING_ROWS = 9_999
READING_ROWS_LOOKED_AT = 100
PACKET_BYTES = 16 * 1024 * 1024

# code -> (what was looked at, what is wrong, what to do)
FINDINGS = {
    "database": (
        gettext_noop("database"),
        gettext_noop("cannot be reached: %(error)s"),
        gettext_noop("start it, or correct DATABASE_URL"),
    ),
    "migrations": (
        gettext_noop("tables"),
        gettext_noop("%(count)s migrations are not applied"),
        gettext_noop("run: manage.py migrate"),
    ),
    "charset": (
        gettext_noop("character set"),
        gettext_noop("not utf8mb4: %(names)s"),
        gettext_noop("ALTER DATABASE and ALTER TABLE ... CONVERT TO CHARACTER SET utf8mb4"),
    ),
    "strict": (
        gettext_noop("strict mode"),
        gettext_noop("values that are too long are cut without a word"),
        gettext_noop("add STRICT_TRANS_TABLES to sql_mode"),
    ),
    "packet": (
        gettext_noop("statement size"),
        gettext_noop("max_allowed_packet is %(bytes)s bytes"),
        gettext_noop("set it to 16M or more"),
    ),
    "time_zones": (
        gettext_noop("time zone tables"),
        gettext_noop("empty: the database finds nothing by local date"),
        gettext_noop("run: mariadb-tzinfo-to-sql /usr/share/zoneinfo | mariadb mysql"),
    ),
    "broker": (
        gettext_noop("broker"),
        gettext_noop("cannot be reached: %(error)s"),
        gettext_noop("start it, or correct CELERY_BROKER_URL; until then the sweep cannot run either"),
    ),
    "worker": (
        gettext_noop("worker"),
        gettext_noop("none answers"),
        gettext_noop("start one: celery -A newsdedup_site worker --beat"),
    ),
    "pending": (
        gettext_noop("waiting articles"),
        gettext_noop("%(count)s wait, the oldest since %(minutes)s minutes"),
        gettext_noop("start a worker with --beat, or run: manage.py dedup_all --resume"),
    ),
    "failed": (
        gettext_noop("failed articles"),
        gettext_noop("%(count)s could not be judged, such as number %(first)s: %(error)s"),
        gettext_noop("correct the cause, then run: manage.py dedup_all --failed"),
    ),
    "fingerprints": (
        gettext_noop("fingerprints"),
        gettext_noop("%(count)s are of another version and are not compared with new ones"),
        gettext_noop("run: manage.py dedup_all"),
    ),
    "semantic": (
        gettext_noop("semantic scheme"),
        gettext_noop("cannot be used: %(error)s"),
        gettext_noop("correct the cause, see docs/semantic.md, or set NEWSDEDUP_SEMANTIC=off"),
    ),
    "semantic_packages": (
        gettext_noop("semantic scheme"),
        gettext_noop("not installed: %(names)s"),
        gettext_noop("run: pip install -r requirements-semantic.txt, or set NEWSDEDUP_SEMANTIC=off"),
    ),
    "semantic_threshold": (
        gettext_noop("semantic scheme"),
        gettext_noop("suggests nothing: no threshold was measured for this model"),
        gettext_noop("measure one, see docs/semantic.md, and set NEWSDEDUP_SEMANTIC_THRESHOLD"),
    ),
    "semantic_index": (
        gettext_noop("vector index"),
        gettext_noop("holds %(held)s of %(count)s vectors"),
        gettext_noop(
            "let the worker of the queue semantic run, or without it run: manage.py rebuild_vectors"
        ),
    ),
    "semantic_behind": (
        gettext_noop("articles without a vector"),
        gettext_noop("%(count)s, and none was made for %(minutes)s minutes"),
        gettext_noop("start its worker: celery -A newsdedup_site worker --queues semantic --concurrency 1"),
    ),
    "semantic_worker": (
        gettext_noop("worker of the semantic scheme"),
        gettext_noop("none answers; %(count)s calls wait for it"),
        gettext_noop("start its worker: celery -A newsdedup_site worker --queues semantic --concurrency 1"),
    ),
    "orphans": (
        gettext_noop("links and clusters"),
        gettext_noop("%(count)s name articles that are gone"),
        gettext_noop("run: manage.py rebuild_clusters"),
    ),
}
# What is worth saying of something that is well.
NOTES = {
    "semantic_index": gettext_noop("%(held)s of %(count)s vectors"),
    "semantic_behind": "%(count)s",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    `detail` says what is wrong and `remedy` what to do, both '' if well; `note` what else there is to say.
    """

    code: str
    ok: bool
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        return gettext(FINDINGS[self.code][0])

    @property
    def detail(self) -> str:
        return "" if self.ok else gettext(FINDINGS[self.code][1]) % self.params

    @property
    def note(self) -> str:
        return gettext(NOTES[self.code]) % self.params if self.ok and self.code in NOTES else ""

    @property
    def remedy(self) -> str:
        return "" if self.ok else gettext(FINDINGS[self.code][2])


def examine(worker: bool = True) -> Iterator[Finding]:
    """Look at everything, the quickest first; what cannot be looked at for an earlier fault is left out.

    Args:
        worker: whether a worker is expected to run.
    """
    database = _database()
    yield database
    if database.ok:
        yield from _examine_database()
    broker = _broker()
    yield broker
    if worker and broker.ok:
        yield from _workers()


@dataclass(frozen=True, slots=True)
class Reading:
    """The state of the queue at a glance: articles that wait, processes that work, the longest wait."""

    waiting: int
    more: bool
    workers: int
    seconds: int

    @property
    def ok(self) -> bool:
        return not self.waiting or (self.workers > 0 and self.seconds < PENDING_LIMIT.total_seconds())


def reading() -> Reading | None:
    """A few seconds old at most, and cheap however many articles wait; None: the database says nothing."""
    try:
        return cache.get_or_set("health", _read, READING_SECONDS)
    except DatabaseError:
        return None


def _read() -> Reading:
    waiting = News.objects.filter(state=News.State.PENDING).order_by()
    count = waiting[: READING_ROWS + 1].count()
    # The oldest have the lowest numbers. Of an article judged before it is not known since when it waits.
    first = waiting.order_by("pk").values_list("created_at", "judged_at")[:READING_ROWS_LOOKED_AT]
    oldest = min((created for created, judged in first if judged is None), default=None)
    seconds = int((timezone.now() - oldest).total_seconds()) if oldest else 0
    return Reading(min(count, READING_ROWS), count > READING_ROWS, workers.count(), max(seconds, 0))


def stale_fingerprints() -> int:
    """The number of judged articles whose fingerprint was made by another version."""
    return (
        News.objects.filter(state=News.State.DONE).exclude(fingerprint_version=fingerprint.version()).count()
    )


def remove_orphans() -> int:
    """Delete what belongs to articles that are gone, as a DELETE past foreign keys leaves it behind.

    Clusters that lost their lead so only lose its number: a rebuild elects another one.
    """
    removed = 0
    for orphans in (_orphan_links(), _orphan_parts(NewsShingle), _orphan_parts(NewsText)):
        # A statement that deletes from a table and selects from it as well is an error on MySQL.
        while keys := list(orphans.values_list("pk", flat=True)[:PAGE]):
            removed += orphans.model._default_manager.filter(pk__in=keys).delete()[0]
    while keys := list(_orphan_clusters().values_list("pk", flat=True)[:PAGE]):
        removed += NewsCluster.objects.filter(pk__in=keys).update(lead=None)
    return removed


# --- Database ---------------------------------------------------------------------------------------------


def _examine_database() -> Iterator[Finding]:
    if connection.vendor == "mysql":
        yield from _examine_mysql()
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    yield Finding("migrations", not plan, {"count": len(plan)})
    if not plan:
        yield from (look() for look in (_pending, _failed, _fingerprints, _orphans))
        yield from _semantic()


def _database() -> Finding:
    try:
        connection.ensure_connection()
        _value("SELECT 1")
    except DatabaseError as error:
        return Finding("database", False, {"error": error})
    return Finding("database", True)


def _examine_mysql() -> Iterator[Finding]:
    mode = _value("SELECT @@sql_mode")
    packet = int(_value("SELECT @@max_allowed_packet"))
    local = _value("SELECT CONVERT_TZ('2000-01-01 00:00:00', 'UTC', 'Asia/Shanghai')")
    foreign = [*_foreign_tables()]
    yield Finding("charset", not foreign, {"names": ", ".join(foreign)})
    yield Finding("strict", "STRICT_TRANS_TABLES" in mode or "STRICT_ALL_TABLES" in mode)
    yield Finding("packet", packet >= PACKET_BYTES, {"bytes": packet})
    yield Finding("time_zones", local is not None)


def _foreign_tables() -> Iterator[str]:
    if _value("SELECT @@character_set_connection") != "utf8mb4":
        yield gettext("connection")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() "
            "AND table_name LIKE 'news%%' AND table_collation NOT LIKE 'utf8mb4%%'"
        )
        yield from (name for (name,) in cursor.fetchall())


def _value(sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


# --- Articles ---------------------------------------------------------------------------------------------


def _pending() -> Finding:
    # Only of a new article is it known since when it waits.
    new = Q(judged_at=None)
    found = News.objects.filter(state=News.State.PENDING).aggregate(
        count=Count("pk"), oldest=Min("created_at", filter=new)
    )
    waited = timezone.now() - found["oldest"] if found["oldest"] else timedelta()
    params = {"count": found["count"], "minutes": int(waited.total_seconds() // 60)}
    return Finding("pending", waited <= PENDING_LIMIT, params)


def _failed() -> Finding:
    failed = News.objects.filter(state=News.State.FAILED)
    first = failed.order_by("pk").values("pk", "last_error").first()
    if first is None:
        return Finding("failed", True)
    return Finding(
        "failed", False, {"count": failed.count(), "first": first["pk"], "error": first["last_error"]}
    )


def _fingerprints() -> Finding:
    count = stale_fingerprints()
    return Finding("fingerprints", count == 0, {"count": count})


def _orphans() -> Finding:
    orphans = (_orphan_links(), _orphan_parts(NewsShingle), _orphan_parts(NewsText), _orphan_clusters())
    count = sum(rows.count() for rows in orphans)
    return Finding("orphans", count == 0, {"count": count})


def _orphan_links() -> Any:
    return NewsLink.objects.filter(~_exists("low_id") | ~_exists("high_id"))


def _orphan_parts(model: type[Model]) -> Any:
    return model._default_manager.filter(~_exists("news_id"))


def _orphan_clusters() -> Any:
    # A cluster whose lead was deleted properly has none until its members are judged, a moment later.
    return NewsCluster.objects.exclude(lead=None).filter(~_exists("lead_id"))


def _exists(key: str) -> Exists:
    return Exists(News.objects.filter(pk=OuterRef(key)))


# --- The semantic scheme ----------------------------------------------------------------------------------


def _semantic() -> Iterator[Finding]:
    """Nothing where it is off; what needs what is ill is left out."""
    if not semantic.enabled():
        return
    missing = semantic.missing_packages()
    if missing:
        yield Finding("semantic_packages", False, {"names": ", ".join(missing)})
        return
    if not semantic.has_threshold():
        yield Finding("semantic_threshold", False)
    try:
        semantic.try_out()
        yield Finding("semantic", True)
        if not semantic.is_exclusive():
            held, count = semantic.indexed()
            yield Finding("semantic_index", held == count, {"held": held, "count": count})
    except UnavailableError as error:
        yield Finding("semantic", False, {"error": error})
        return
    idle = semantic.idle_since()
    waited = timezone.now() - idle if idle else timedelta()
    params = {"count": semantic.behind(), "minutes": int(waited.total_seconds() // 60)}
    yield Finding("semantic_behind", waited <= PENDING_LIMIT, params)


# --- Broker and worker ------------------------------------------------------------------------------------


def _broker() -> Finding:
    try:
        with connect() as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=2)
            broker.default_channel  # noqa: B018 - opening a channel is what a send begins with
    except Exception as error:  # Each transport raises its own.
        return Finding("broker", False, {"error": error})
    return Finding("broker", True)


def _workers() -> Iterator[Finding]:
    """Whether each queue has somebody who takes from it."""
    with connect() as broker:
        inspect = current_app.control.inspect(timeout=PING_SECONDS, connection=broker)
        answers = (inspect.active_queues() or {}).values()
        served = {queue["name"] for queues in answers for queue in queues}
        yield Finding("worker", current_app.conf.task_default_queue in served)
        if semantic.enabled():
            yield Finding("semantic_worker", semantic.QUEUE in served, {"count": _waiting(broker)})


def _waiting(broker: Connection) -> int:
    """Messages in the queue of the semantic scheme."""
    try:
        return int(broker.default_channel.queue_declare(semantic.QUEUE, passive=True).message_count)
    except broker.channel_errors:
        return 0  # Nothing was ever sent there.
