"""The schemes that are compared."""

from articles.schemes.base import Scheme
from articles.schemes.classic import Classic
from articles.schemes.exact import Exact
from articles.schemes.judge import Judge
from articles.schemes.minhash import MinHashLsh
from articles.schemes.semantic import Semantic
from articles.schemes.sequence import SequenceRatio


def available(semantic: Semantic | None = None) -> list[Scheme]:
    """In the order of the tables; the semantic one where it is given."""
    return [
        Exact(),
        Classic(),
        MinHashLsh(),
        SequenceRatio(),
        Judge(),
        *([semantic] if semantic else []),
    ]
