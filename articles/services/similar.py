"""The stored articles that are most like a text, whatever their dates. Reads alone; nothing is stored."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from articles.dedup.clean import clean_body, clean_title
from articles.dedup.evidence import Text, prepared
from articles.dedup.fingerprint import Fingerprint, fingerprint, hamming_distance
from articles.dedup.verdict import Item, Verdict, judge
from articles.models import News
from articles.services import candidates, furniture, semantic
from articles.services.candidates import Match
from articles.services.furniture import FurnitureSet
from articles.services.rules import current_rules
from articles.vectors.extra import UnavailableError

logger = logging.getLogger(__name__)

# Candidates that are judged, those with most in common first; and articles that are named.
JUDGED, SHOWN = 100, 20
# Articles that are alike in meaning and share no text, named besides.
MEANT = 5
NOT_MATCHED = Match(same_title=False, shared_hashes=0, near_simhash=False)


@dataclass(frozen=True, slots=True)
class Similar:
    """A stored article beside the text that was asked about, which is the left side of the verdict.

    match: by which routes it was found; hamming: distance of the SimHashes, None where one has none;
    copies: how many more of the candidates have the same text; cosine: of the vectors where it was found by
    its meaning, else None.
    """

    news: News
    verdict: Verdict
    match: Match
    hamming: int | None
    copies: int
    cosine: float | None

    @property
    def says_something(self) -> bool:
        """A hash in common may be all that is."""
        evidence = self.verdict.evidence
        return self.verdict.kind != "distinct" or evidence.containment >= 0.05 or evidence.title_ratio >= 0.5


class Found(NamedTuple):
    """What is like a text.

    alike: the closest first, at most 20; meant: alike in meaning alone, the nearest first, at most 5;
    complete: False where the search by meaning is switched on and gave no answer.
    """

    alike: list[Similar]
    meant: list[Similar]
    complete: bool


def similar_to_text(title: str, content: str) -> Found:
    """The closest articles to a text as it came in."""
    return _similar(clean_title(title), clean_body(content))


def similar_to_news(news: News) -> Found:
    """The closest articles to a stored one."""
    return _similar(clean_title(news.title), clean_body(news.content), news.source, exclude=news.pk)


def _similar(title: str, body: str, source: str = "", exclude: int | None = None) -> Found:
    passages = furniture.current()
    print_ = fingerprint(title, body, passages.of(source))
    matches = candidates.matches(print_)
    cosines, complete = _by_meaning(title, body)
    matches.pop(exclude or 0, None)
    cosines.pop(exclude or 0, None)
    asked = Item(prepared(title, body, passages.of(source)), source)
    found = [
        Similar(
            news,
            judge(asked, Item(_text(news, passages), news.source), current_rules()),
            matches.get(news.pk, NOT_MATCHED),
            _distance(print_, news),
            copies,
            cosine,
        )
        for news, copies, cosine in _texts(matches, cosines)
    ]
    alike = sorted((one for one in found if one.says_something), key=_nearest_first)
    meant = [one for one in found if one.cosine is not None and not one.says_something]
    meant.sort(key=lambda one: (-(one.cosine or 0), one.news.canonical_key))
    return Found(alike[:SHOWN], meant[:MEANT], complete)


def _by_meaning(title: str, body: str) -> tuple[dict[int, float], bool]:
    """Article -> cosine, and whether that is all: without an answer the others are shown none the less."""
    if not semantic.enabled():
        return {}, True
    try:
        return semantic.nearest(title, body), True
    except UnavailableError as error:
        logger.warning("No search by meaning: %s", error)
        return {}, False


def _texts(
    matches: Mapping[int, Match], cosines: Mapping[int, float]
) -> list[tuple[News, int, float | None]]:
    """The best candidates, of equal texts the first, with how many more there are of each, and its cosine."""
    best = sorted(matches, key=lambda id_: (-matches[id_].strength, id_))[:JUDGED]
    rows = News.objects.filter(pk__in={*best, *cosines}).select_related("text", "cluster").defer("content")
    groups: dict[tuple[str, str], list[News]] = {}
    for news in sorted(rows, key=lambda news: (news.canonical_key, news.pk)):
        groups.setdefault((news.title_md5, news.content_md5), []).append(news)
    return [
        (group[0], len(group) - 1, max((cosines[one.pk] for one in group if one.pk in cosines), default=None))
        for group in groups.values()
    ]


def _text(news: News, passages: FurnitureSet) -> Text:
    return prepared(news.text.title, news.text.body, passages.of(news.source))


def _distance(print_: Fingerprint, news: News) -> int | None:
    if print_.simhash is None or news.simhash_fp is None:
        return None
    return hamming_distance(print_.simhash, news.simhash_fp)


def _nearest_first(similar: Similar) -> tuple[float, float, str]:
    evidence = similar.verdict.evidence
    return -similar.verdict.score, -evidence.containment, similar.news.canonical_key
