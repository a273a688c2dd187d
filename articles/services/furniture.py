"""Furniture learnt from the data: passages that recur among unrelated stories, found while articles come in.

Where a sketch hash is shared by articles of several stories, their texts are read for the passages in common.
What is learnt applies at once; the articles that have it are judged again without it.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from math import log

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from articles.dedup.cluster import Member
from articles.dedup.furniture import STORIES, Furniture, Passage, Sample, learn
from articles.models import News, NewsPassage, NewsText
from articles.services import sql
from articles.services.dispatch import enqueue

logger = logging.getLogger(__name__)

# Articles read of one crowd, in canonical order; and crowds looked at for one batch.
SAMPLES = 24
CROWDS = 200
GROWTH = 1.5
# Share of a crowd, 0..1, that makes it a part of another one.
SAME = 0.8
EXAMPLES = 10
SCAN = 2_000


class FurnitureSet:
    """The passages in force, by source; '' holds those of all sources."""

    def __init__(self, rows: Iterable[tuple[str, str]]) -> None:
        self._passages: dict[str, list[str]] = defaultdict(list)
        for passage, source in rows:
            self._passages[source].append(passage)
        self._everywhere = Furniture.of(self._passages.pop("", ()))
        self._of_source: dict[str, Furniture] = {}

    def of(self, source: str) -> Furniture:
        if source not in self._passages:
            return self._everywhere
        if source not in self._of_source:
            self._of_source[source] = self._everywhere | Furniture.of(self._passages[source])
        return self._of_source[source]


def current() -> FurnitureSet:
    """What is in force now; one small query."""
    rows = NewsPassage.objects.exclude(state=NewsPassage.State.REJECTED).order_by()
    return FurnitureSet(rows.values_list("text", "source"))


def learn_from(
    crowds: Collection[frozenset[int]], members: dict[int, Member], newcomers: Collection[int]
) -> int:
    """Learn from sets of articles that share a sketch hash; have those judged again whose furniture is new.

    Returns the number of new passages.
    """
    grown = [crowd for crowd in crowds if _step(len(crowd)) > _step(len(crowd.difference(newcomers)))]
    stories = _stories({id_ for crowd in grown for id_ in crowd})
    mixed = [crowd for crowd in grown if len({stories.get(id_, "") for id_ in crowd}) >= STORIES]
    chosen = [
        sorted(crowd & members.keys(), key=lambda id_: members[id_].order)
        for crowd in _different(sorted(mixed, key=lambda crowd: (-len(crowd), min(crowd))))[:CROWDS]
    ]
    samples = _samples({id_ for ids in chosen for id_ in ids[:SAMPLES]}, stories)
    found: dict[int, tuple[Passage, list[int]]] = {}
    for ids in chosen:
        for passage in learn([samples[id_] for id_ in ids[:SAMPLES] if id_ in samples]):
            found.setdefault(passage.hash, (passage, []))[1].extend(ids)
    new = _new(found)
    if new:
        _store(new)
        judge_again({id_ for _, ids in new for id_ in ids})
    return len(new)


def decide(passage_ids: Collection[int], approve: bool, actor: AbstractBaseUser | None) -> int:
    """Approve or reject passages; where that changes what applies, `settle` has the articles judged again.

    Returns how many were not decided so before.
    """
    state = NewsPassage.State.APPROVED if approve else NewsPassage.State.REJECTED
    with transaction.atomic():
        passages = list(
            NewsPassage.objects.select_for_update().filter(pk__in=passage_ids).exclude(state=state)
        )
        changed = [p.pk for p in passages if (p.state == NewsPassage.State.REJECTED) == approve]
        NewsPassage.objects.filter(pk__in=[p.pk for p in passages]).update(state=state, decided_by=actor)
        NewsPassage.objects.filter(pk__in=changed).update(unsettled=True)
    return len(passages)


def settle() -> int:
    """Have the articles judged again whose furniture a person changed; returns the number of passages.

    No index finds a part of a text, so all texts are read: work for the sweep, not for a request.
    """
    passages = list(NewsPassage.objects.filter(unsettled=True))
    if passages:
        judge_again(_articles_with([passage.text for passage in passages]))
        NewsPassage.objects.filter(pk__in=[p.pk for p in passages]).update(unsettled=False)
    return len(passages)


def judge_again(ids: Collection[int]) -> None:
    for chunk in sql.chunks(sorted(ids), sql.PARAMETERS):
        News.objects.filter(pk__in=chunk).update(
            state=News.State.PENDING, revision=F("revision") + 1, claim="", claimed_at=None
        )
        enqueue(chunk)


def _step(size: int) -> int:
    """A crowd is looked at when it has become half as large again.

    Those that teach nothing would else be looked at with each newcomer, and stand before the others: the more
    articles there are, the more of them.
    """
    return int(log(size / STORIES, GROWTH)) + 1 if size >= STORIES else 0


def _different(crowds: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """Without crowds that are nearly another one's part: one passage has several sketch hashes."""
    kept: list[frozenset[int]] = []
    for crowd in crowds:
        if not any(len(crowd & other) >= SAME * len(crowd) for other in kept):
            kept.append(crowd)
    return kept


def _stories(ids: set[int]) -> dict[int, str]:
    """article -> what story it tells, as far as known: its cluster, else itself."""
    found: dict[int, str] = {}
    for chunk in sql.chunks(sorted(ids), sql.CHUNK):
        for id_, cluster in News.objects.filter(pk__in=chunk).order_by().values_list("id", "cluster_id"):
            found[id_] = f"c{cluster}" if cluster else f"a{id_}"
    return found


def _samples(ids: set[int], stories: dict[int, str]) -> dict[int, Sample]:
    found: dict[int, Sample] = {}
    for chunk in sql.chunks(sorted(ids), sql.CHUNK):
        rows = NewsText.objects.filter(pk__in=chunk).values_list("news_id", "title", "body", "news__source")
        found |= {id_: Sample(title, body, stories[id_], source) for id_, title, body, source in rows}
    return found


def _new(found: dict[int, tuple[Passage, list[int]]]) -> list[tuple[Passage, list[int]]]:
    """Those that are not known yet, with the articles that have them."""
    known: set[int] = set()
    for chunk in sql.chunks(sorted(found), sql.CHUNK):
        known.update(NewsPassage.objects.filter(hash__in=chunk).values_list("hash", flat=True))
    return [found[hash_] for hash_ in found if hash_ not in known]


def _store(new: Sequence[tuple[Passage, list[int]]]) -> None:
    rows = [
        NewsPassage(
            hash=passage.hash,
            text=passage.text,
            source=next(iter(passage.sources)) if len(passage.sources) == 1 else "",
            articles=passage.articles,
            examples=ids[:EXAMPLES],
            created_at=timezone.now(),
        )
        for passage, ids in new
    ]
    try:
        with transaction.atomic():
            NewsPassage.objects.bulk_create(rows)
    except IntegrityError:
        return  # Another process learnt some of them just now; the next batch finds the others.
    logger.info("furniture learnt: %d passages, such as %s", len(rows), rows[0])


def _articles_with(passages: Sequence[str]) -> list[int]:
    found: list[int] = []
    last = 0
    while True:
        rows = list(NewsText.objects.filter(pk__gt=last).order_by("pk").values_list("pk", "body")[:SCAN])
        if not rows:
            return found
        found += [pk for pk, body in rows if any(passage in body for passage in passages)]
        last = rows[-1][0]
