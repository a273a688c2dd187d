"""Pairs of a file's articles that are alike by difflib's ratio, within bounds of number, length and time."""

import csv
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from articles.dedup.clean import clean_body, clean_title
from articles.dedup.sequence import LENGTH
from articles.schemes import sequence
from articles.services.readers import Row, read_rows

SECONDS = 300.0
COLUMNS = ("a", "b", "ratio", "title_a", "title_b")


@dataclass(frozen=True, slots=True)
class Search:
    """What was found among the articles that were read.

    Attributes:
        names: of each article its external_id, or "row 7" where it has none.
        rejected: rows that could not be used.
        more: whether the file has more articles than the limit.
        length: characters of each text that were compared.
    """

    names: list[str]
    titles: list[str]
    rejected: int
    more: bool
    length: int
    found: sequence.Found

    def rows(self) -> list[tuple[str, str, float, str, str]]:
        """One row for each pair, under COLUMNS, the most alike first."""
        return [
            (self.names[a], self.names[b], round(ratio, 4), self.titles[a], self.titles[b])
            for a, b, ratio in self.found.pairs
        ]


def search(
    path: Path,
    threshold: float = sequence.THRESHOLD,
    *,
    limit: int = sequence.MAX_TEXTS,
    length: int = LENGTH,
    seconds: float = SECONDS,
    progress: Callable[[int], None] = lambda count: None,
) -> Search:
    """Compare the first `limit` articles of a file with each other for so many seconds at most.

    Raises:
        FileProblemError: the file cannot be read.
    """
    names: list[str] = []
    titles: list[str] = []
    texts: list[str] = []
    rejected, more = 0, False
    for row in read_rows(path):
        if not isinstance(row, Row):
            rejected += 1
            continue
        if len(texts) == limit:
            more = True
            break
        title = clean_title(row.payload.title)
        names.append(row.payload.external_id or f"row {row.number}")
        titles.append(title)
        texts.append(f"{title}\n{clean_body(row.payload.content)}".strip())
    end = time.monotonic() + seconds
    found = sequence.find(texts, threshold, length, lambda: time.monotonic() >= end, progress)
    return Search(names, titles, rejected, more, length, found)


def write(search: Search, path: Path) -> None:
    """Write the pairs as CSV. Raises OSError."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(search.rows())
