"""An in-memory index of fingerprints, and de-duplication of a list with it: for notebooks and scripts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from articles.dedup.clean import clean_body, clean_title
from articles.dedup.cluster import Member, canonical_key, partition
from articles.dedup.evidence import Text
from articles.dedup.fingerprint import Fingerprint, band_probes, fingerprint, hamming_distance, md5
from articles.dedup.rules import DEFAULT_RULES, Rules
from articles.dedup.verdict import Item, Verdict, judge


@dataclass(slots=True)
class Index:
    """Finds an article's possible twins by title, by SimHash bands and by sketch, never by all pairs."""

    hamming_limit: int = DEFAULT_RULES.hamming_limit
    prints: list[Fingerprint] = field(default_factory=list)
    _buckets: dict[tuple[Any, ...], list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, print_: Fingerprint) -> int:
        """Store a fingerprint; returns its place, counted from 0."""
        place = len(self.prints)
        self.prints.append(print_)
        for key in self._keys(print_):
            self._buckets[key].append(place)
        return place

    def candidates(self, print_: Fingerprint) -> set[int]:
        """Places of all fingerprints that share a hash with this one or are within the Hamming limit."""
        found = {place for key in self._keys(print_, bands=False) for place in self._buckets.get(key, ())}
        if print_.simhash is not None and print_.bands is not None:
            for number, band in enumerate(print_.bands):
                for probe in band_probes(band):
                    found.update(self._near(print_.simhash, self._buckets.get(("band", number, probe), ())))
        return found

    def _near(self, simhash: int, places: Iterable[int]) -> Iterable[int]:
        for place in places:
            other = self.prints[place].simhash
            if other is not None and hamming_distance(simhash, other) <= self.hamming_limit:
                yield place

    @staticmethod
    def _keys(print_: Fingerprint, bands: bool = True) -> Iterable[tuple[Any, ...]]:
        if print_.title_md5:
            yield ("title", print_.title_md5)
        if print_.content_md5:
            yield ("content", print_.content_md5)
        for value in print_.sketch:
            yield ("shingle", value)
        if bands and print_.bands is not None:
            for number, band in enumerate(print_.bands):
                yield ("band", number, band)


@dataclass(frozen=True, slots=True)
class Result:
    """Clusters of two or more items, and every judged pair that is not simply distinct.

    Both name items by their place in the input, counted from 0; a cluster's first is its lead.
    """

    clusters: list[list[int]]
    links: dict[tuple[int, int], Verdict]


def dedupe(items: Iterable[Mapping[str, Any] | str], rules: Rules = DEFAULT_RULES) -> Result:
    """De-duplicate articles in memory, with the rules of the application.

    Args:
        items: texts, or mappings with title, content, source and published_at (a datetime); all optional.

    >>> found = dedupe([
    ...     {"title": "央行宣布下调存款准备金率0.5个百分点"},
    ...     {"title": "油价迎来年内第七次上调"},
    ...     {"title": "【快讯】央行宣布下调存款准备金率0.5个百分点！"},
    ... ])
    >>> found.clusters
    [[0, 2]]
    """
    index = Index(rules.hamming_limit)
    judged: list[Item] = []
    members: list[Member] = []
    links: dict[tuple[int, int], Verdict] = {}
    for payload in items:
        item, print_, member = _prepare(payload, len(judged))
        for place in sorted(index.candidates(print_)):
            verdict = judge(judged[place], item, rules)
            if verdict.kind != "distinct":
                links[place, len(judged)] = verdict
        judged.append(item)
        members.append(member)
        index.add(print_)
    folded = {pair: verdict.score for pair, verdict in links.items() if verdict.folds}
    apart = [pair for pair, verdict in links.items() if verdict.keeps_apart]
    partial = [pair for pair in folded if links[pair].partial]
    clusters = partition(members, folded, apart=apart, partial=partial, linked=links, window=rules.window)
    return Result([cluster for cluster in clusters if len(cluster) > 1], links)


def _prepare(payload: Mapping[str, Any] | str, place: int) -> tuple[Item, Fingerprint, Member]:
    if isinstance(payload, str):
        payload = {"content": payload}
    title, body = clean_title(payload.get("title") or ""), clean_body(payload.get("content") or "")
    published: datetime | None = payload.get("published_at")
    print_ = fingerprint(title, body)
    text_key = (print_.title_md5, print_.content_md5)
    order = canonical_key(published, md5("".join(text_key)), f"{place:016d}")
    member = Member(place, order, text_key, published)
    return Item(Text(title, body), payload.get("source") or "", published), print_, member
