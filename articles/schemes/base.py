"""What a scheme is: it tells of two articles whether they are one, and finds such pairs among many."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from articles.dedup.clean import clean_body, clean_title


class Article(NamedTuple):
    """As it came in; published_at is None where undated."""

    external_id: str
    title: str
    content: str
    source: str = ""
    published_at: datetime | None = None


class Scheme(ABC):
    """One way to find duplicates.

    Attributes:
        name: by which commands and results know it.
        most: articles beyond which it is not run, its cost is then extrapolated; None: any number.
        power: of the number of articles its cost grows with, where that cannot be measured.
        suggests: whether it folds nothing and only asks a person.
    """

    name: str
    most: int | None = None
    power: float = 1.0
    suggests: bool = False

    @abstractmethod
    def prepare(self, article: Article) -> Any:
        """What `folds` looks at."""

    @abstractmethod
    def folds(self, one: Any, other: Any) -> bool:
        """Whether two prepared articles are one."""

    def queues(self, one: Any, other: Any) -> bool:
        """Whether a person is asked about two prepared articles."""
        return False

    @abstractmethod
    def pairs(self, articles: Sequence[Article]) -> Iterator[tuple[int, int]]:
        """The pairs it folds (or suggests) among articles, by their places.

        A pair may be left out that others imply.
        """


def cleaned(title: str, content: str) -> tuple[str, str]:
    return clean_title(title), clean_body(content)
