"""The stored articles that are most like a text, whatever their dates. Reads alone; nothing is stored."""

from collections.abc import Mapping
from dataclasses import dataclass

from articles.dedup.clean import clean_body, clean_title
from articles.dedup.evidence import Text, prepared
from articles.dedup.fingerprint import Fingerprint, fingerprint, hamming_distance
from articles.dedup.verdict import Item, Verdict, judge
from articles.models import News
from articles.services import candidates, furniture
from articles.services.candidates import Match
from articles.services.furniture import FurnitureSet
from articles.services.rules import current_rules

# Candidates that are judged, those with most in common first; and articles that are named.
JUDGED, SHOWN = 100, 20


@dataclass(frozen=True, slots=True)
class Similar:
    """A stored article beside the text that was asked about, which is the left side of the verdict.

    match: by which routes it was found; hamming: distance of the SimHashes, None where one has none;
    copies: how many more of the candidates have the same text.
    """

    news: News
    verdict: Verdict
    match: Match
    hamming: int | None
    copies: int


def similar_to_text(title: str, content: str) -> list[Similar]:
    """The closest articles to a text as it came in, the closest first, at most 20."""
    return _similar(clean_title(title), clean_body(content))


def similar_to_news(news: News) -> list[Similar]:
    """The closest articles to a stored one."""
    return _similar(clean_title(news.title), clean_body(news.content), news.source, exclude=news.pk)


def _similar(title: str, body: str, source: str = "", exclude: int | None = None) -> list[Similar]:
    passages = furniture.current()
    print_ = fingerprint(title, body, passages.of(source))
    matches = candidates.matches(print_)
    matches.pop(exclude or 0, None)
    asked = Item(prepared(title, body, passages.of(source)), source)
    found = [
        Similar(
            news,
            judge(asked, Item(_text(news, passages), news.source), current_rules()),
            matches[news.pk],
            _distance(print_, news),
            copies,
        )
        for news, copies in _texts(matches)
    ]
    close = [similar for similar in found if _says_something(similar)]
    return sorted(close, key=_nearest_first)[:SHOWN]


def _texts(matches: Mapping[int, Match]) -> list[tuple[News, int]]:
    """The best candidates, of equal texts the first, with how many more there are of each."""
    best = sorted(matches, key=lambda id_: (-matches[id_].strength, id_))[:JUDGED]
    rows = News.objects.filter(pk__in=best).select_related("text", "cluster").defer("content")
    groups: dict[tuple[str, str], list[News]] = {}
    for news in sorted(rows, key=lambda news: (news.canonical_key, news.pk)):
        groups.setdefault((news.title_md5, news.content_md5), []).append(news)
    return [(group[0], len(group) - 1) for group in groups.values()]


def _text(news: News, passages: FurnitureSet) -> Text:
    return prepared(news.text.title, news.text.body, passages.of(news.source))


def _distance(print_: Fingerprint, news: News) -> int | None:
    if print_.simhash is None or news.simhash_fp is None:
        return None
    return hamming_distance(print_.simhash, news.simhash_fp)


def _says_something(similar: Similar) -> bool:
    """A hash in common may be all that is."""
    evidence = similar.verdict.evidence
    return similar.verdict.kind != "distinct" or evidence.containment >= 0.05 or evidence.title_ratio >= 0.5


def _nearest_first(similar: Similar) -> tuple[float, float, str]:
    evidence = similar.verdict.evidence
    return -similar.verdict.score, -evidence.containment, similar.news.canonical_key
