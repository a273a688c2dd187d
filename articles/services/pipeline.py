"""deduplicate(ids): claim -> clean -> fingerprint -> candidates -> judge -> link -> cluster, for a batch.

Fingerprints are committed before the look-up runs: of two articles saved at one moment by two processes
at least one then sees the other. Links and clusters are written under one lock. Every stage may run twice.
"""

import gc
import logging
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic
from typing import Any

from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from articles.dedup.clean import clean_body, clean_title
from articles.dedup.cluster import Member, canonical_key, plausible
from articles.dedup.evidence import Evidence, Text, prepared
from articles.dedup.fingerprint import Fingerprint, fingerprint, hamming_distance, md5, unsigned_to_signed
from articles.dedup.rules import Rules
from articles.dedup.verdict import Item, Verdict, is_distinct, judge
from articles.models import ClusterLock, News, NewsLink, NewsShingle, NewsText, NewsVector
from articles.services import candidates, clustering, furniture, repair, sql
from articles.services.candidates import Found, Query
from articles.services.furniture import FurnitureSet
from articles.services.ingest import identify, rejudge
from articles.services.rules import current_rules

logger = logging.getLogger(__name__)

Pair = tuple[int, int]
BATCH = 500
# A claim older than this belongs to a worker that was killed.
CLAIM = timedelta(minutes=5)
MAX_ATTEMPTS = 3
# Deadlocks, lock waits and lost connections say nothing of the article: the task is run again.
RETRIED = (OperationalError, InterfaceError)


@dataclass(slots=True)
class Summary:
    """What became of the articles of one call, in numbers of articles."""

    judged: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Summary") -> "Summary":
        return Summary(self.judged + other.judged, self.failed + other.failed, self.skipped + other.skipped)


@dataclass(frozen=True, slots=True)
class Article:
    """One claimed row, cleaned and fingerprinted."""

    row: News
    title: str
    body: str
    print: Fingerprint
    key: str

    @property
    def id(self) -> int:
        return self.row.pk


def deduplicate(ids: Sequence[int]) -> Summary:
    """De-duplicate those of the given articles that are pending and not being worked on elsewhere."""
    summary = Summary()
    for chunk in sql.chunks(sorted(set(ids)), BATCH):
        token = uuid.uuid4().hex
        try:
            with _without_collector():
                rows = _claim(chunk, token)
                summary.skipped += len(chunk) - len(rows)
                summary += _run_isolated(rows)
        finally:
            # Also when a person stops the command: its rows would else be taken for five minutes.
            News.objects.filter(pk__in=chunk, claim=token).update(claim="")
    return summary


@contextmanager
def _without_collector() -> Iterator[None]:
    """A batch makes many objects and no cycles: looking for cycles would take an eighth of its time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def deduplicate_pending(
    limit_seconds: float | None = None, progress: Callable[[int], None] | None = None
) -> Summary:
    """De-duplicate whatever is pending and unclaimed, oldest first, until none is left or time is over."""
    summary, started = Summary(), monotonic()
    while limit_seconds is None or monotonic() - started < limit_seconds:
        ids = list(_claimable().order_by("id").values_list("id", flat=True)[:BATCH])
        if not ids:
            break
        done = deduplicate(ids)
        summary += done
        if progress:
            progress(done.judged + done.failed)
    return summary


def mark_all_pending() -> int:
    """Have every article judged anew; what a person decided stays. Returns how many."""
    return News.objects.update(state=News.State.PENDING, attempts=0, claim="", revision=F("revision") + 1)


# --- claiming ---------------------------------------------------------------------------------------------


def _claimable() -> Any:
    stale = timezone.now() - CLAIM
    return News.objects.filter(state=News.State.PENDING).filter(Q(claim="") | Q(claimed_at__lt=stale))


def _claim(ids: Sequence[int], token: str) -> list[News]:
    """Take the pending rows among the ids, so that no other process works on them too."""
    _claimable().filter(pk__in=ids).update(claim=token, claimed_at=timezone.now())
    fields = ("title", "content", "source", "url", "external_id", "published_at", "created_at", "identity")
    stored = ("title_md5", "content_md5", "fingerprint_version", "canonical_key", "revision", "attempts")
    claimed = News.objects.filter(pk__in=ids, claim=token).only(*fields, *stored, "claim").order_by("pk")
    return repair.read(claimed, ids)


def _run_isolated(rows: list[News]) -> Summary:
    """Run a batch; where it fails, run its rows one by one, so that one bad article stops no other."""
    if not rows:
        return Summary()
    try:
        judged = _run(rows)
        return Summary(judged=judged, skipped=len(rows) - judged)
    except RETRIED:
        raise
    except Exception as error:
        if len(rows) > 1:
            logger.warning("batch of %d failed (%s); articles are judged one by one", len(rows), error)
            return sum((_run_isolated([row]) for row in rows), Summary())
        logger.exception("article %d could not be judged", rows[0].pk)
        _fail(rows[0], error)
        return Summary(failed=1)


def _still_claimed(rows: Sequence[News]) -> QuerySet[News]:
    """Those of the claimed rows that nobody edited, and no other worker took for abandoned, meanwhile."""
    return News.objects.filter(pk__in=[row.pk for row in rows], claim__in={row.claim for row in rows})


def _fail(row: News, error: Exception) -> None:
    attempts = row.attempts + 1
    state = News.State.FAILED if attempts >= MAX_ATTEMPTS else News.State.PENDING
    message = f"{type(error).__name__}: {error}"[:500]
    _still_claimed([row]).update(state=state, attempts=attempts, last_error=message, claim="")


# --- the stages -------------------------------------------------------------------------------------------


def _run(rows: Sequence[News]) -> int:
    """Returns how many were judged: not those that were edited or taken over in the meantime."""
    rules = current_rules()
    _identify(rows)
    passages = furniture.current()
    prepared = [_prepare(row, passages) for row in rows]
    with transaction.atomic():
        articles = _unchanged(prepared)
        _store_fingerprints(articles)
    linked = _linked(articles)
    found = candidates.find([Query(a.id, a.print) for a in articles], linked, rules)
    verdicts = _judge_pairs(found, articles, passages, rules)
    with transaction.atomic():
        ClusterLock.take()
        touched = _store_links(articles, found, linked, verdicts, rules)
        clustering.recluster({article.id for article in articles} | touched)
        _mark_done(articles)
    furniture.learn_from(found.crowds, found.members, {article.id for article in articles})
    return len(articles)


def _identify(rows: Sequence[News]) -> None:
    """Rows written by SQL have no identity yet; the canonical order needs one."""
    nameless = {row.pk: row for row in rows if not row.identity}
    if nameless:
        identify(list(nameless))
        for pk, identity in News.objects.filter(pk__in=nameless).values_list("pk", "identity"):
            nameless[pk].identity = identity


def _prepare(row: News, passages: FurnitureSet) -> Article:
    title, body = clean_title(row.title), clean_body(row.content)
    print_ = fingerprint(title, body, passages.of(row.source))
    published = plausible(row.published_at, row.created_at)
    key = canonical_key(published, md5(print_.title_md5 + print_.content_md5), row.identity or "")
    return Article(row, title, body, print_, key)


def _unchanged(articles: Sequence[Article]) -> list[Article]:
    """Those whose rows are still what was read, locked: an old text must not be stored over a newer one."""
    rows = _still_claimed([a.row for a in articles]).select_for_update().order_by("pk")
    revisions = dict(rows.values_list("pk", "revision"))
    return [a for a in articles if revisions.get(a.id) == a.row.revision]


def _store_fingerprints(articles: Sequence[Article]) -> None:
    """Text, fingerprint and sketch; what an edit made stale is replaced, and all it concerns is told."""
    _store_texts(articles)
    changed = [a for a in articles if not _is_stored(a)]
    sql.write_many(
        "UPDATE news SET canonical_key = %s, title_md5 = %s, content_md5 = %s, simhash_fp = %s, band_0 = %s, "
        "band_1 = %s, band_2 = %s, band_3 = %s, fingerprint_version = %s WHERE id = %s",
        [_columns(article) for article in changed],
    )
    edited = [article for article in changed if article.row.fingerprint_version]
    if edited:
        NewsShingle.objects.filter(news__in=[article.id for article in edited]).delete()
        _mark_changed_texts(edited)
        _judge_relatives_again(edited, {article.id for article in articles})
    sketches = sorted((h, a.id) for a in changed for h in unsigned_to_signed(a.print.sketch))
    sql.write_many("INSERT INTO news_shingle (hash, news_id) VALUES (%s, %s)", sketches)


def _store_texts(articles: Sequence[Article]) -> None:
    """The MD5s do not tell whether a text changed: they are blind to punctuation and case."""
    known = [article.id for article in articles if article.row.fingerprint_version]
    stored = {
        id_: (title, body)
        for id_, title, body in NewsText.objects.filter(pk__in=known).values_list("pk", "title", "body")
    }
    changed = [a for a in articles if stored.get(a.id) != (a.title, a.body)]
    NewsText.objects.filter(pk__in=stored.keys() & {a.id for a in changed}).delete()
    sql.write_many(
        "INSERT INTO news_text (news_id, title, body) VALUES (%s, %s, %s)",
        [(article.id, article.title, article.body) for article in changed],
    )


def _judge_relatives_again(edited: Sequence[Article], batch: set[int]) -> None:
    """Of identical texts only the first is linked with others: once it has another text or date, who follows
    it must be found anew, in the transaction that takes the first away."""
    linked = _linked(edited)
    members = candidates.load_members({id_ for article in edited for id_ in linked[article.id]})
    again: set[int] = set()
    for article in edited:
        former = (article.row.title_md5, article.row.content_md5)
        relatives = linked[article.id] & members.keys()
        if any(members[id_].text_key == former for id_ in relatives):
            again |= relatives
    rejudge(again - batch)


def _is_stored(article: Article) -> bool:
    row, print_ = article.row, article.print
    stored = (row.fingerprint_version, row.title_md5, row.content_md5, row.canonical_key)
    return stored == (print_.version, print_.title_md5, print_.content_md5, article.key)


def _columns(article: Article) -> tuple[Any, ...]:
    print_ = article.print
    simhash = News._meta.get_field("simhash_fp").get_db_prep_value(print_.simhash, connection)
    bands = print_.bands or (None,) * 4
    return (article.key, print_.title_md5, print_.content_md5, simhash, *bands, print_.version, article.id)


def _linked(articles: Sequence[Article]) -> dict[int, set[int]]:
    """article -> articles it is linked to by an earlier run."""
    ids = [article.id for article in articles if article.row.fingerprint_version]
    linked: dict[int, set[int]] = defaultdict(set)
    if ids:
        links = NewsLink.objects.filter(Q(low__in=ids) | Q(high__in=ids)).order_by()
        # Suggested by vectors: the judge has nothing to say of them.
        links = links.exclude(kind=NewsLink.Kind.RELATED, locked=False)
        for low, high in links.values_list("low_id", "high_id"):
            linked[low].add(high)
            linked[high].add(low)
    return linked


def _judge_pairs(
    found: Found, articles: Sequence[Article], passages: FurnitureSet, rules: Rules
) -> dict[Pair, Verdict]:
    """Verdicts for all pairs but the distinct ones, identical texts included."""
    pairs = found.pairs | {(min(pair), max(pair)) for pair in found.copies.items()}
    items = _load_items({id_ for pair in pairs for id_ in pair}, found, articles, passages)
    verdicts: dict[Pair, Verdict] = {}
    for low, high in pairs:
        if low in items and high in items and not is_distinct(items[low], items[high], rules):
            verdicts[low, high] = judge(items[low], items[high], rules)
    return verdicts


def _load_items(
    ids: set[int], found: Found, articles: Sequence[Article], passages: FurnitureSet
) -> dict[int, Item]:
    texts = {article.id: (article.title, article.body) for article in articles if article.id in ids}
    for chunk in sql.chunks(sorted(ids - texts.keys()), sql.PARAMETERS):
        for id_, title, body in NewsText.objects.filter(pk__in=chunk).values_list("news_id", "title", "body"):
            texts[id_] = (title, body)
    sources: dict[int, str] = {}
    for chunk in sql.chunks(sorted(texts), sql.CHUNK):
        sources.update(News.objects.filter(pk__in=chunk).values_list("id", "source"))
    return {
        id_: Item(prepared(*texts[id_], passages.of(source)), source, found.members[id_].published)
        for id_, source in sources.items()
        if id_ in found.members
    }


# --- links ------------------------------------------------------------------------------------------------


def _store_links(
    articles: Sequence[Article],
    found: Found,
    linked: dict[int, set[int]],
    verdicts: dict[Pair, Verdict],
    rules: Rules,
) -> set[int]:
    """Write the batch's links; returns the articles whose links changed. Locked links stay as they are."""
    judged = {article.id for article in articles}
    wanted = {pair: verdict for pair, verdict in verdicts.items() if verdict.kind != "distinct"}
    simhashes = _lock_read({id_ for pair in wanted for id_ in pair}, found.members)
    demoted = found.copies.keys() - judged
    known = _existing(judged | demoted, wanted)
    for pair in [pair for pair in wanted if not simhashes.keys() >= set(pair)]:
        known.pop(pair, None)
        del wanted[pair]  # Whoever judges the new text of the one comes to the other.
    new, changed = [], []
    for pair, verdict in wanted.items():
        old = known.pop(pair, None)
        row = _link(pair, verdict, simhashes, rules, old)
        if old is None:
            new.append(row)
        elif not old.locked and _differs(old, row):
            row.pk = old.pk
            changed.append(row)
    gone = [link for link in known.values() if _is_stale(link, linked, demoted)]
    _insert_links(sorted(new, key=lambda link: (link.low_id, link.high_id)))
    _update_links(changed)
    NewsLink.objects.filter(pk__in=[link.pk for link in gone]).delete()
    return {id_ for link in (*new, *changed, *gone) for id_ in (link.low_id, link.high_id)}


# Not by bulk_create and bulk_update, which spend a millisecond and more on each row.
def _insert_links(links: Sequence[NewsLink]) -> None:
    columns = ("low_id", "high_id", *LINK_FIELDS, "created_at")
    marks = ", ".join(["%s"] * len(columns))
    statement = f"INSERT INTO news_link ({', '.join(columns)}) VALUES ({marks})"
    sql.write_many(statement, [_values(link, columns) for link in links])


def _update_links(links: Sequence[NewsLink]) -> None:
    columns = ", ".join(f"{name} = %s" for name in LINK_FIELDS)
    statement = f"UPDATE news_link SET {columns} WHERE id = %s AND NOT locked"
    sql.write_many(statement, [_values(link, (*LINK_FIELDS, "id")) for link in links])


def _values(link: NewsLink, columns: Iterable[str]) -> list[Any]:
    by_name = {field.attname: field for field in NewsLink._meta.concrete_fields}
    fields = [by_name[name] for name in columns]
    return [field.get_db_prep_save(getattr(link, field.attname), connection) for field in fields]


def _is_stale(link: NewsLink, linked: dict[int, set[int]], demoted: set[int]) -> bool:
    """A machine's link that this run knew and did not find again, or one of a copy that is first no longer.

    A link that another process made since the look-up is neither.
    """
    if link.locked or link.kind == NewsLink.Kind.RELATED:
        return False
    if link.high_id in linked.get(link.low_id, ()):
        return True
    return link.kind != NewsLink.Kind.EXACT and not demoted.isdisjoint((link.low_id, link.high_id))


LINK_FIELDS = (
    "kind",
    "status",
    "score",
    "hamming",
    "containment_low",
    "containment_high",
    "reasons",
    "rules_version",
    "unsure",
)


def _existing(ids: Collection[int], wanted: Collection[Pair]) -> dict[Pair, NewsLink]:
    """Links of the batch's articles, and those of the wanted pairs that another process made meanwhile."""
    ids = sorted(ids)
    # Two look-ups: an OR of two lists makes MySQL read the table.
    touching = (NewsLink.objects.filter(**{f"{side}__in": ids}).order_by() for side in ("low", "high"))
    others = NewsLink.objects.filter(low__in={low for low, high in wanted if not {low, high} & set(ids)})
    return {(link.low_id, link.high_id): link for links in (*touching, others) for link in links}


def _link(
    pair: Pair, verdict: Verdict, simhashes: dict[int, int | None], rules: Rules, old: NewsLink | None
) -> NewsLink:
    left, right = simhashes.get(pair[0]), simhashes.get(pair[1])
    status = NewsLink.Status.PENDING if verdict.queued else NewsLink.Status.AUTO
    # A person could not tell: so it waits on, until the machine has come to see it otherwise.
    unsure = old is not None and old.unsure and old.kind == verdict.kind
    if unsure:
        status = NewsLink.Status.PENDING
    elif verdict.folds and old is not None and old.kind in NewsLink.FOLDING_KINDS:
        status = NewsLink.Status(old.status)  # follows from the clusters, see clustering
    return NewsLink(
        low_id=pair[0],
        high_id=pair[1],
        kind=verdict.kind,
        status=status,
        score=verdict.score,
        hamming=None if left is None or right is None else hamming_distance(left, right),
        containment_low=round(verdict.evidence.containment_left, 4),
        containment_high=round(verdict.evidence.containment_right, 4),
        reasons=list(verdict.reasons),
        rules_version=rules.version,
        unsure=unsure,
        created_at=timezone.now(),
    )


def _differs(old: NewsLink, new: NewsLink) -> bool:
    return any(getattr(old, name) != getattr(new, name) for name in LINK_FIELDS)


def _lock_read(ids: set[int], members: dict[int, Member]) -> dict[int, int | None]:
    """The SimHashes of those articles whose texts and dates are still what was judged, locked.

    Unlocked, an edit could be committed after this look and before the links, and its own run would not
    know of links that did not exist when it began.
    """
    found: dict[int, int | None] = {}
    for chunk in sql.chunks(sorted(ids), sql.CHUNK):
        rows = News.objects.filter(pk__in=chunk).select_for_update().order_by("pk")
        for id_, simhash, order, *text in rows.values_list(
            "id", "simhash_fp", "canonical_key", "title_md5", "content_md5"
        ):
            if (order, tuple(text)) == (members[id_].order, members[id_].text_key):
                found[id_] = simhash
    return found


def _mark_changed_texts(edited: Sequence[Article]) -> None:
    """A person's verdict outlives an edit of the text; the editors are told of it."""
    ids = [
        article.id
        for article in edited
        if (article.row.title_md5, article.row.content_md5)
        != (article.print.title_md5, article.print.content_md5)
    ]
    NewsLink.objects.filter(Q(low__in=ids) | Q(high__in=ids), locked=True).update(text_changed=True)
    NewsVector.objects.filter(news__in=ids + _redated(edited)).delete()


def _redated(edited: Sequence[Article]) -> list[int]:
    return [article.id for article in edited if article.row.canonical_key != article.key]


def _mark_done(articles: Sequence[Article]) -> None:
    """Done is what was read: an article edited meanwhile stays pending for the next run."""
    revisions: dict[int, list[News]] = defaultdict(list)
    for article in articles:
        revisions[article.row.revision].append(article.row)
    for revision, rows in revisions.items():
        _still_claimed(rows).filter(revision=revision).update(
            state=News.State.DONE, judged_at=timezone.now(), claim="", attempts=0, last_error=""
        )


# --- explaining -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why two articles were or were not found and folded.

    left_id, right_id: in canonical order, the sides of evidence and verdict; hamming: distance of the
    SimHashes or None; shared_hashes: number of sketch hashes both have (0..16).
    """

    left_id: int
    right_id: int
    hamming: int | None
    shared_hashes: int
    same_title: bool
    evidence: Evidence
    verdict: Verdict


def explain(left_id: int, right_id: int) -> Explanation:
    """Judge any two articles as the pipeline would, in canonical order, writing nothing.

    Raises:
        News.DoesNotExist: one of the articles is not there.
    """
    rows = sorted(
        (News.objects.get(pk=left_id), News.objects.get(pk=right_id)), key=lambda r: r.canonical_key
    )
    passages = furniture.current()
    left, right = (_prepare(row, passages) for row in rows)
    items = [
        Item(
            Text(a.title, a.body, passages.of(a.row.source)),
            a.row.source,
            plausible(a.row.published_at, a.row.created_at),
        )
        for a in (left, right)
    ]
    verdict = judge(items[0], items[1], current_rules())
    hashes = left.print.simhash, right.print.simhash
    return Explanation(
        left_id=left.id,
        right_id=right.id,
        hamming=None if None in hashes else hamming_distance(*hashes),  # type: ignore[arg-type]
        shared_hashes=len(set(left.print.sketch) & set(right.print.sketch)),
        same_title=left.print.title_md5 == right.print.title_md5,
        evidence=verdict.evidence,
        verdict=verdict,
    )
