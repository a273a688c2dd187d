"""The schemes that are compared."""

from articles.schemes.base import Scheme
from articles.schemes.classic import Classic
from articles.schemes.exact import Exact
from articles.schemes.judge import Judge
from articles.schemes.minhash import MinHashLsh
from articles.schemes.sequence import SequenceRatio


def available() -> list[Scheme]:
    """In the order of the tables. One that needs what is not installed is left out here."""
    return [Exact(), Classic(), MinHashLsh(), SequenceRatio(), Judge()]


def named(name: str) -> Scheme:
    """Raises KeyError."""
    return {scheme.name: scheme for scheme in available()}[name]
