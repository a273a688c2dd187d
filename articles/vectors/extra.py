"""The packages of the optional extra: loaded when they are first needed, and told of where they are not."""

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

INSTALL = "pip install -r requirements-semantic.txt"


class UnavailableError(Exception):
    """The semantic scheme cannot be used at present; the message says what to do."""


class MissingPackageError(UnavailableError):
    """A package of the optional extra is not installed."""


def load(package: str) -> Any:
    """A module of a package that may be missing; raises MissingPackageError."""
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingPackageError(
            f"The package {package} is not installed ({error}). Run: {INSTALL}"
        ) from error


def missing(packages: Iterable[str]) -> list[str]:
    return [name for name in packages if find_spec(name) is None]
