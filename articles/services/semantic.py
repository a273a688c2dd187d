"""The semantic scheme: vectors of articles, their index, and the pairs it suggests to editors.

Switched on by NEWSDEDUP_SEMANTIC. The table of vectors is the truth, the index follows it and may be lost at
any time. What is suggested is a pending link of kind "related": it joins no clusters, and any verdict of a
person, or of the judge, stands before it.
"""

import fcntl
import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet
from django.utils import timezone

from articles.dedup.evidence import prepared
from articles.dedup.verdict import Item, Verdict
from articles.models import ClusterLock, News, NewsLink, NewsText, NewsVector
from articles.schemes.semantic import Semantic
from articles.services import furniture, queue, sql
from articles.services.candidates import dated
from articles.services.patience import Patience
from articles.services.rules import current_rules
from articles.vectors import embedders, indexes
from articles.vectors.embedders import Embedder, Vectors
from articles.vectors.extra import UnavailableError
from articles.vectors.indexes import Near, VectorIndex
from articles.vectors.scheme import NEIGHBOURS, SHORTEST, suggestion

logger = logging.getLogger(__name__)

Pair = tuple[int, int]
OFF = "off"
QUEUE = "semantic"
BATCH = 64
# Seconds that a page waits.
PATIENCE = 3.0
SYNC_ROWS = 2_000
DISCARDED_AT_ONCE = 5_000
WITHDRAWN_AT_ONCE = 500
# Seconds that a look takes after which no other follows for so many times as long.
SLOW, RESTS = 0.2, 50


class _Article(NamedTuple):
    item: Item
    cluster: int | None


def enabled() -> bool:
    return bool(settings.NEWSDEDUP_SEMANTIC != OFF)


def threshold() -> float:
    """The cosine from which on a pair is suggested: the setting, else the one measured for the embedder."""
    return _threshold() or 1.0


def has_threshold() -> bool:
    return _threshold() is not None


def _threshold() -> float | None:
    return settings.NEWSDEDUP_SEMANTIC_THRESHOLD or embedders.KINDS[settings.NEWSDEDUP_SEMANTIC].threshold


def missing_packages() -> list[str]:
    """What the settings ask for and is not installed."""
    if not enabled():
        return []
    return [
        *embedders.missing_packages(settings.NEWSDEDUP_SEMANTIC),
        *indexes.missing_packages(settings.NEWSDEDUP_MILVUS_URI),
    ]


def is_exclusive() -> bool:
    """Whether the index is the worker's alone, which a look at it would stop."""
    return indexes.is_exclusive(settings.NEWSDEDUP_MILVUS_URI)


def scheme() -> Semantic | None:
    """To be compared with the other schemes; None where it is off or its packages are not installed."""
    if not enabled() or missing_packages():
        return None
    return Semantic(settings.NEWSDEDUP_SEMANTIC, threshold(), _options())


def nearest(title: str, body: str, count: int = NEIGHBOURS) -> dict[int, float]:
    """Article -> cosine, of the stored articles nearest to a cleaned text, whatever their dates.

    At most `count`, and only those that reach the threshold; it takes no longer than a page may wait.

    Raises:
        UnavailableError: the embedder or the index cannot be used, is lost, or does not answer in time.
    """
    text = embedders.passage(title, body)
    if len(text) < SHORTEST:
        return {}
    if is_exclusive():
        raise UnavailableError("The worker alone can open Milvus Lite; a Milvus server can be asked by all.")
    try:
        hits = _patience.call(lambda: _look_up(text, count), PATIENCE)
    except UnavailableError:
        raise
    except Exception as error:  # Each library raises its own.
        raise UnavailableError(f"{type(error).__name__}: {error}") from error
    if not hits and _current().exists():
        raise UnavailableError("The index is empty; the next sweep fills it.")
    near = {pk: similarity for pk, similarity in hits if similarity >= threshold()}
    owners = NewsVector.objects.filter(pk__in=near).values_list("pk", "news_id")
    return {news: near[pk] for pk, news in owners}


def sweep(limit_seconds: float) -> int:
    """Embed what has no vector yet, newest first, and suggest; returns how many articles were embedded.

    One worker at a time, in batches, until nothing is behind or the time is over; a call while another one
    works returns at once. So nothing piles up, however much comes in.
    """
    if not enabled():
        return 0
    done, end = 0, monotonic() + limit_seconds
    with _alone() as mine:
        if not mine:
            return 0
        try:
            index = _index()
            _discard()
            _withdraw_old()
            _ask_anew()
            sync(index)
            working = True
            while working and monotonic() < end:
                embedded = _embed(_next(), index)
                done += embedded
                working = bool(_ask(index) or embedded)
            _remember(index)
        except UnavailableError as error:
            logger.warning("No suggestions for now: %s", error)
    return done


def behind() -> int:
    """How many articles have no vector yet."""
    return _behind().count()


def idle_since() -> datetime | None:
    """Since when no vector was made though there are articles without; None where all have one."""
    first = _behind().aggregate(first=Min("judged_at"))["first"]
    last = _current().aggregate(last=Max("created_at"))["last"]
    return max(first, last or first) if first else None


def indexed() -> tuple[int, int]:
    """How many vectors the index holds, and how many there are.

    Raises:
        UnavailableError: the embedder or the index cannot be used.
    """
    return _index().count(), _current().count()


def try_out() -> None:
    """Have the model make one vector; raises UnavailableError."""
    _embedder().embed(["新闻"])


def rebuild() -> int:
    """Make the index anew from the stored vectors; returns how many it holds.

    Raises:
        UnavailableError: the embedder or the index cannot be used.
    """
    index = _index()
    index.clear()
    sync(index)
    return index.count()


def sync(index: VectorIndex) -> None:
    """Bring the index in line with the table, whatever was lost, deleted or half done.

    All numbers are compared only where something changed since they last agreed.
    """
    stored = _stored()
    if _agreed.get(index) == stored and index.count() == stored[0]:
        return
    wanted = np.array(sorted(_current().values_list("pk", flat=True)), np.int64)
    known = index.ids()
    index.remove(np.setdiff1d(known, wanted).tolist())
    missing = np.setdiff1d(wanted, known).tolist()
    for chunk in sql.chunks(missing, SYNC_ROWS):
        _add(index, list(_current().filter(pk__in=chunk)))
    _remember(index)


def _look_up(text: str, count: int) -> Near:
    vector = _embedder().embed([text])[0]
    return _index().nearest(vector, count)[:count]


_patience = Patience()


# How many vectors the table had and the last one's number, when an index held the same numbers.
_agreed: WeakKeyDictionary[VectorIndex, tuple[int, int]] = WeakKeyDictionary()


def _stored() -> tuple[int, int]:
    """Numbers only grow and vectors never change: so these two change whenever a vector comes or goes."""
    found = _current().aggregate(count=Count("pk"), last=Max("pk"))
    return found["count"], found["last"] or 0


def _remember(index: VectorIndex) -> None:
    """After a comparison, and after additions to both: where one has lost something the counts differ."""
    stored = _stored()
    if index.count() == stored[0]:
        _agreed[index] = stored


# --- vectors ----------------------------------------------------------------------------------------------


def _embedder() -> Embedder:
    return embedders.shared(settings.NEWSDEDUP_SEMANTIC, _options())


def _options() -> embedders.Options:
    return embedders.Options(
        model=settings.NEWSDEDUP_SEMANTIC_MODEL,
        url=settings.NEWSDEDUP_SEMANTIC_URL,
        key=settings.NEWSDEDUP_SEMANTIC_KEY,
        batch=settings.NEWSDEDUP_SEMANTIC_BATCH,
        timeout=settings.NEWSDEDUP_SEMANTIC_TIMEOUT,
        retries=settings.NEWSDEDUP_SEMANTIC_RETRIES,
    )


def _index() -> VectorIndex:
    embedder = _embedder()
    place = (settings.NEWSDEDUP_MILVUS_URI, _folder())
    return _opened(*place, embedder.name, embedder.dimension, settings.NEWSDEDUP_MILVUS_TOKEN)


_opened = lru_cache(1)(indexes.make)


def _current() -> QuerySet[NewsVector]:
    """The vectors of the model in use: those of two models are never compared."""
    embedder = _embedder()
    rows = NewsVector.objects.filter(model=embedder.name, dimension=embedder.dimension)
    return rows.select_related("news").defer("news__content")


def _kept() -> Q:
    """Articles that still may have neighbours among those to come."""
    return Q(published_at=None) | Q(published_at__gte=_oldest())


def _oldest() -> datetime:
    return timezone.now() - timedelta(days=settings.NEWSDEDUP_SEMANTIC_DAYS)


def _behind() -> QuerySet[News]:
    """Judged articles without a vector. Copies have none: they tell what their lead tells."""
    done = News.objects.filter(_kept(), state=News.State.DONE).exclude(verdict=News.Verdict.DUPLICATE)
    vector = _current().select_related(None).filter(news=OuterRef("pk"))
    return done.filter(~Exists(vector)).only("revision").order_by("-pk")


class _Rest:
    until = 0.0


def _next() -> list[News]:
    """The newest articles without a vector.

    To see that there is none, all must be looked at. Where that takes long it is done the more seldom.
    """
    started = monotonic()
    if started < _Rest.until:
        return []
    rows = list(_behind()[:BATCH])
    took = monotonic() - started
    if not rows and took > SLOW:
        _Rest.until = started + RESTS * took
    return rows


def _discard() -> None:
    """Vectors of another model, and of articles too old for neighbours to come."""
    embedder = _embedder()
    other = ~Q(model=embedder.name) | ~Q(dimension=embedder.dimension)
    for gone in (other, Q(news__published_at__lt=_oldest())):
        ids = list(NewsVector.objects.filter(gone).values_list("pk", flat=True)[:DISCARDED_AT_ONCE])
        if ids:
            NewsVector.objects.filter(pk__in=ids).delete()


def _embed(rows: Sequence[News], index: VectorIndex) -> int:
    if not rows:
        return 0
    ids = [row.pk for row in rows]
    texts = {
        id_: embedders.passage(title, body)
        for id_, title, body in NewsText.objects.filter(pk__in=ids).values_list("news_id", "title", "body")
    }
    different = list(dict.fromkeys(texts.values()))
    embedder = _embedder()
    vectors = dict(zip(different, embedder.embed(different), strict=True))
    with transaction.atomic():
        # An old text must not be stored over a newer one's absence.
        now = News.objects.filter(pk__in=texts, state=News.State.DONE).select_for_update().order_by("pk")
        revisions = dict(now.values_list("pk", "revision"))
        same = [row.pk for row in rows if revisions.get(row.pk) == row.revision]
        NewsVector.objects.filter(news__in=same).delete()
        NewsVector.objects.bulk_create(
            NewsVector(
                news_id=id_,
                model=embedder.name,
                dimension=embedder.dimension,
                data=vectors[texts[id_]].astype("<f4").tobytes(),
                created_at=timezone.now(),
            )
            for id_ in same
        )
    _add(index, list(_current().filter(news__in=same)))
    return len(same)


def _add(index: VectorIndex, rows: Sequence[NewsVector]) -> None:
    if rows:
        days = [_day(row.news) for row in rows]
        index.add([row.pk for row in rows], np.stack([_vector(row) for row in rows]), days)


def _vector(row: NewsVector) -> Vectors:
    return np.frombuffer(row.data, "<f4").astype(np.float32)


def _day(news: News) -> date | None:
    moment = dated(news.canonical_key, news.published_at)
    return moment.date() if moment else None


# --- suggestions ------------------------------------------------------------------------------------------


def _ask(index: VectorIndex) -> int:
    """Suggest pairs for articles whose neighbours were not looked for yet, the newest; returns how many."""
    rows = list(_current().filter(asked=False).order_by("-pk")[:BATCH])
    if rows:
        _suggest(rows, index)
        NewsVector.objects.filter(pk__in=[row.pk for row in rows]).update(asked=True)
    return len(rows)


def _ask_anew() -> None:
    """Look for the neighbours of all articles again where what decides on pairs has changed since."""
    file = _folder() / "asked-by"
    rules = current_rules()
    by = f"threshold {threshold()}, rules {rules.version}, window {rules.window.days} days"
    if not file.exists() or file.read_text() != by:
        NewsVector.objects.filter(asked=True).update(asked=False)
        file.write_text(by)


def _withdraw_old() -> None:
    """Suggestions that nobody answered, of articles that are too old to be suggested."""
    pending = NewsLink.objects.filter(status=NewsLink.Status.PENDING, kind=NewsLink.Kind.RELATED)
    old = pending.filter(Q(low__published_at__lt=_oldest()) | Q(high__published_at__lt=_oldest()))
    if old.exists():
        with transaction.atomic():
            ClusterLock.take()
            _withdraw(list(old.filter(locked=False)[:WITHDRAWN_AT_ONCE]))


def _withdraw(links: Collection[NewsLink]) -> None:
    NewsLink.objects.filter(pk__in=[link.pk for link in links]).delete()
    queue.refresh({id_ for link in links for id_ in (link.low_id, link.high_id)})


def _suggest(rows: Sequence[NewsVector], index: VectorIndex) -> None:
    found = _neighbours(rows, index)
    articles = _articles({id_ for pair in found for id_ in pair})
    limit = threshold()
    wanted: dict[Pair, tuple[Verdict, float]] = {}
    for pair, similarity in found.items():
        if pair[0] in articles and pair[1] in articles and not _one_group(pair, articles):
            left, right = (articles[id_].item for id_ in pair)
            verdict = suggestion(left, right, similarity, limit, current_rules())
            if verdict is not None:
                wanted[pair] = verdict, similarity
    _store(wanted, found.keys() - wanted.keys())


def _neighbours(rows: Sequence[NewsVector], index: VectorIndex) -> dict[Pair, float]:
    """Pair -> cosine: those near enough, and those suggested before, which may be so no longer."""
    window, limit = current_rules().window, threshold()
    near: dict[int, set[int]] = {}
    for row in rows:
        span = indexes.span_of(_day(row.news), window)
        hits = index.nearest(_vector(row), NEIGHBOURS + 1, span)
        near[row.news_id] = {pk for pk, similarity in hits if similarity >= limit}
    others = list(_current().filter(pk__in={pk for pks in near.values() for pk in pks}))
    owners = {other.pk: other.news_id for other in others}
    pairs = {_pair(id_, owners[pk]) for id_, pks in near.items() for pk in pks & owners.keys()}
    pairs |= _suggested(near.keys())
    known = _current().filter(news__in={id_ for pair in pairs for id_ in pair})
    vectors = {row.news_id: _vector(row) for row in known}
    return {
        (low, high): float(vectors[low] @ vectors[high])
        for low, high in pairs
        if low != high and low in vectors and high in vectors
    }


def _pair(one: int, other: int) -> Pair:
    return min(one, other), max(one, other)


def _suggested(ids: Collection[int]) -> set[Pair]:
    links = NewsLink.objects.filter(kind=NewsLink.Kind.RELATED, locked=False).order_by()
    return {
        pair
        for side in ("low", "high")
        for pair in links.filter(**{f"{side}__in": list(ids)}).values_list("low_id", "high_id")
    }


def _articles(ids: Collection[int]) -> dict[int, _Article]:
    passages = furniture.current()
    rows = News.objects.filter(pk__in=ids, state=News.State.DONE).exclude(verdict=News.Verdict.DUPLICATE)
    found = {}
    for news in rows.select_related("text").defer("content"):
        text = prepared(news.text.title, news.text.body, passages.of(news.source))
        item = Item(text, news.source, dated(news.canonical_key, news.published_at))
        found[news.pk] = _Article(item, news.cluster_id)
    return found


def _one_group(pair: Pair, articles: dict[int, _Article]) -> bool:
    one, other = (articles[id_].cluster for id_ in pair)
    return one is not None and one == other


def _store(wanted: dict[Pair, tuple[Verdict, float]], refuted: Collection[Pair]) -> None:
    """A pair that has a link has been judged, by the machine on its texts or by a person: that stands."""
    with transaction.atomic():
        ClusterLock.take()
        lows = {low for low, _ in (*wanted, *refuted)}
        linked = {
            (link.low_id, link.high_id): link for link in NewsLink.objects.filter(low__in=lows).order_by()
        }
        gone = [
            link
            for pair in refuted
            if (link := linked.get(pair)) and link.kind == NewsLink.Kind.RELATED and not link.locked
        ]
        _withdraw(gone)
        new = [
            _link(pair, verdict, similarity)
            for pair, (verdict, similarity) in sorted(wanted.items(), key=lambda row: row[0])
            if pair not in linked
        ]
        NewsLink.objects.bulk_create(new, batch_size=sql.PARAMETERS)
        queue.refresh({id_ for link in new for id_ in (link.low_id, link.high_id)})


def _link(pair: Pair, verdict: Verdict, similarity: float) -> NewsLink:
    reason = {"code": "same_event_likely", "score": round(similarity, 3), "model": _embedder().name}
    return NewsLink(
        low_id=pair[0],
        high_id=pair[1],
        kind=NewsLink.Kind.RELATED,
        status=NewsLink.Status.PENDING,
        score=round(min(max(similarity, 0.0), 1.0), 4),
        containment_low=round(verdict.evidence.containment_left, 4),
        containment_high=round(verdict.evidence.containment_right, 4),
        reasons=[reason],
        rules_version=current_rules().version,
        created_at=timezone.now(),
    )


def _folder() -> Path:
    return Path(settings.VAR_DIR) / "vectors"


@contextmanager
def _alone() -> Iterator[bool]:
    """Whether no other worker embeds at present; a worker that is killed gives its place up."""
    _folder().mkdir(parents=True, exist_ok=True)
    with (_folder() / "worker.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True
