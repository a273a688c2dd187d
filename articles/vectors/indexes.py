"""Vectors by number -> the nearest to a vector, behind one small interface. An index can always be made anew.

The numbers are those of stored vectors, never of articles: a vector does not change under its number, so an
index is up to date exactly if it holds the same numbers as the table. Each model has an index of its own.
"""

import fcntl
import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from hashlib import md5
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from articles.vectors.embedders import Vectors
from articles.vectors.extra import UnavailableError, load, missing

Ids = NDArray[np.int64]
Near = list[tuple[int, float]]
"""Number and cosine, the nearest first."""
Days = Sequence[date | None]
Span = tuple[date, date] | None
"""First and last day of publication, both included; what has no date is near to every day."""

SLICE_DAYS = 10
UNDATED = 0


class IndexFailureError(UnavailableError):
    """The index cannot be read or reached; the message says why."""


class VectorIndex(Protocol):
    """Every method may raise IndexFailureError."""

    def add(self, ids: Sequence[int], vectors: Vectors, days: Days) -> None:
        """Add vectors of length 1 under numbers that are not there yet, each with the day of publication."""
        ...

    def remove(self, ids: Sequence[int]) -> None:
        """Numbers that are not there are no error."""
        ...

    def nearest(self, vector: Vectors, count: int, span: Span = None) -> Near:
        """At least the `count` nearest to one vector, published within the span if one is given.

        The span may be kept roughly, by days too many, and a few of the nearest may be missed.
        """
        ...

    def ids(self) -> Ids:
        """The numbers of all vectors, ascending."""
        ...

    def count(self) -> int:
        """How many vectors there are, in little time."""
        ...

    def clear(self) -> None: ...


def make(uri: str, folder: Path, model: str, dimension: int, token: str = "") -> VectorIndex:
    """The index of one model: by Milvus where `uri` names one (address or file), else by FAISS in the folder.

    Raises:
        MissingPackageError: the engine's package is not installed.
        IndexFailureError: it cannot be opened.
    """
    readable = re.sub(r"[^a-z0-9]+", "_", model.lower())[:40]
    name = f"{readable}_{md5(f'{model} {dimension}'.encode()).hexdigest()[:8]}"
    if uri:
        return MilvusIndex(uri, token, f"news_{name}", dimension)
    return FaissIndex(folder / name, dimension)


def is_exclusive(uri: str) -> bool:
    """Whether one process alone can open the index, for as long as it lives: Milvus Lite locks its file."""
    return bool(uri) and "://" not in uri


def missing_packages(uri: str) -> list[str]:
    local = ["milvus_lite"] if is_exclusive(uri) else []
    return missing(["pymilvus", *local] if uri else ["faiss"])


# --- FAISS ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Slice:
    """Vectors of some days of publication; `ids` says whose each is."""

    index: Any
    ids: Ids = field(default_factory=lambda: np.empty(0, np.int64))
    stamp: tuple[int, int] = (0, 0)


class FaissIndex:
    """Vectors in files, one for each ten days of publication, read again where another process wrote.

    So a question in a window opens few files, an addition writes one or two, and old days go as files. Each
    vector of these is compared: of some thousands that is as quick as to follow a graph, misses none, and
    numbers of 16 bits halve both time and memory.
    Writers take turns by a lock on the folder; each file is replaced whole, so a reader needs no lock.
    """

    def __init__(self, folder: Path, dimension: int) -> None:
        self._faiss = load("faiss")
        self._folder, self._dimension = folder, dimension
        self._slices: dict[int, _Slice] = {}
        self._mutex = threading.Lock()
        with _failures(folder):
            folder.mkdir(parents=True, exist_ok=True)

    def add(self, ids: Sequence[int], vectors: Vectors, days: Days) -> None:
        keys = np.array([_slice_of(day) for day in days])
        with self._writing():
            for key in np.unique(keys).tolist():
                part = self._read(key) or _Slice(self._empty())
                mine = np.flatnonzero(keys == key)
                # Two workers may add the same.
                fresh = mine[~np.isin(np.asarray(ids, np.int64)[mine], part.ids)]
                part.index.add(np.ascontiguousarray(vectors[fresh]))
                part.ids = np.concatenate((part.ids, np.asarray(ids, np.int64)[fresh]))
                self._write(key, part)

    def remove(self, ids: Sequence[int]) -> None:
        with self._writing():
            for key in self._keys():
                part = self._read(key)
                gone = np.isin(part.ids, ids) if part else np.empty(0, bool)
                if part and gone.any():
                    part.index.remove_ids(np.flatnonzero(gone))
                    part.ids = part.ids[~gone]
                    self._write(key, part)

    def nearest(self, vector: Vectors, count: int, span: Span = None) -> Near:
        found: Near = []
        with self._mutex, _failures(self._folder):
            # Of this thread. On a busy machine several wait for each other far longer than one takes.
            self._faiss.omp_set_num_threads(1)
            for key in self._keys():
                if span is None or key == UNDATED or _slice_of(span[0]) <= key <= _slice_of(span[1]):
                    found += self._search(key, vector, count)
        return sorted(found, key=lambda near: (-near[1], near[0]))

    def ids(self) -> Ids:
        with self._mutex, _failures(self._folder):
            parts = [part.ids for key in self._keys() if (part := self._read(key))]
        return np.sort(np.concatenate([np.empty(0, np.int64), *parts]))

    def count(self) -> int:
        with self._mutex, _failures(self._folder):
            return sum(len(part.ids) for key in self._keys() if (part := self._read(key)))

    def clear(self) -> None:
        with self._writing():
            for key in self._keys():
                self._path(key).unlink(missing_ok=True)
            self._slices.clear()

    def _search(self, key: int, vector: Vectors, count: int) -> Near:
        part = self._read(key)
        if part is None:
            return []
        asked = np.atleast_2d(vector).astype(np.float32)
        scores, places = part.index.search(asked, min(count, len(part.ids)))
        return list(zip(part.ids[places[0]].tolist(), scores[0].tolist(), strict=True))

    def _empty(self) -> Any:
        kind, metric = self._faiss.ScalarQuantizer.QT_fp16, self._faiss.METRIC_INNER_PRODUCT
        return self._faiss.IndexScalarQuantizer(self._dimension, kind, metric)

    def _path(self, key: int) -> Path:
        return self._folder / f"{key}.faiss"

    def _keys(self) -> list[int]:
        return sorted(int(path.stem) for path in self._folder.glob("*.faiss"))

    def _read(self, key: int) -> _Slice | None:
        """The slice as its file has it; a file that cannot be read is as good as none, and is filled anew."""
        try:
            raw = self._path(key).stat()
        except FileNotFoundError:
            self._slices.pop(key, None)
            return None
        stamp, known = (raw.st_mtime_ns, raw.st_ino), self._slices.get(key)
        if known and known.stamp == stamp:
            return known
        part = self._parsed(self._path(key).read_bytes())
        if part is None:
            self._path(key).unlink(missing_ok=True)
            return None
        part.stamp = stamp
        self._slices[key] = part
        return part

    def _parsed(self, raw: bytes) -> _Slice | None:
        """A file is the number of vectors, whose each is, and FAISS's own bytes."""
        try:
            count = int(np.frombuffer(raw, np.int64, 1)[0])
            ids = np.frombuffer(raw, np.int64, count, offset=8).copy()
            index = self._faiss.deserialize_index(np.frombuffer(raw, np.uint8, offset=8 * (count + 1)))
        except (ValueError, IndexError, RuntimeError, MemoryError):
            return None
        ours = isinstance(index, self._faiss.IndexScalarQuantizer)
        whole = ours and index.ntotal == count and index.d == self._dimension
        return _Slice(index, ids) if whole else None

    def _write(self, key: int, part: _Slice) -> None:
        path = self._path(key)
        if not len(part.ids):
            path.unlink(missing_ok=True)
            self._slices.pop(key, None)
            return
        draft = path.with_suffix(f".{os.getpid()}.draft")
        head = np.concatenate(([len(part.ids)], part.ids)).astype(np.int64)
        draft.write_bytes(head.tobytes() + self._faiss.serialize_index(part.index).tobytes())
        draft.replace(path)
        raw = path.stat()
        part.stamp = (raw.st_mtime_ns, raw.st_ino)
        self._slices[key] = part

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._mutex, _failures(self._folder):
            # Somebody may have deleted it since.
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._locked():
                yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield
            except BaseException:
                # What was changed in memory is not what the files have.
                self._slices.clear()
                raise


@contextmanager
def _failures(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise IndexFailureError(f"The vector index in {folder} cannot be used: {error}") from error


def _slice_of(day: date | None) -> int:
    return UNDATED if day is None else day.toordinal() // SLICE_DAYS


# --- Milvus -----------------------------------------------------------------------------------------------

# HNSW (Malkov and Yashunin 2016): neighbours of each vector, breadth of building and of asking.
NEIGHBOURS, BUILT_WITH, ASKED_WITH = 24, 80, 64
# What is undated has this day, which every span takes in.
NO_DAY = 0
ROWS_AT_ONCE = 1_000
MOST_ASKED = 1_000


class MilvusIndex:
    """A Milvus collection: Milvus Lite where the URI is a file, a server or a cluster where it is an address.

    An HNSW index is asked for and what is added is flushed: until then Milvus compares with every vector.
    """

    def __init__(self, uri: str, token: str, collection: str, dimension: int) -> None:
        self._milvus = load("pymilvus")
        self._name, self._dimension, self._uri = collection, dimension, uri
        with self._failures():
            self._client = self._milvus.MilvusClient(uri=uri, token=token)
            self._open()

    def add(self, ids: Sequence[int], vectors: Vectors, days: Days) -> None:
        rows = [
            {"id": int(id_), "vector": vector.tolist(), "day": day.toordinal() if day else NO_DAY}
            for id_, vector, day in zip(ids, vectors, days, strict=True)
        ]
        with self._failures():
            for start in range(0, len(rows), ROWS_AT_ONCE):
                self._client.upsert(self._name, rows[start : start + ROWS_AT_ONCE])
            self._client.flush(self._name)

    def remove(self, ids: Sequence[int]) -> None:
        with self._failures():
            for start in range(0, len(ids), ROWS_AT_ONCE):
                self._client.delete(self._name, ids=[int(id_) for id_ in ids[start : start + ROWS_AT_ONCE]])
            self._client.flush(self._name)

    def nearest(self, vector: Vectors, count: int, span: Span = None) -> Near:
        asked = min(count, MOST_ASKED)
        inside = ""
        if span:
            inside = f"day == {NO_DAY} or (day >= {span[0].toordinal()} and day <= {span[1].toordinal()})"
        with self._failures():
            (hits,) = self._client.search(
                self._name,
                [np.ravel(vector).tolist()],
                filter=inside,
                limit=asked,
                search_params={"metric_type": "IP", "params": {"ef": max(ASKED_WITH, asked)}},
            )
        return [(int(hit["id"]), float(hit["distance"])) for hit in hits]

    def ids(self) -> Ids:
        with self._failures():
            rows = self._client.query_iterator(
                self._name, batch_size=ROWS_AT_ONCE, filter="id >= 0", output_fields=["id"]
            )
            found: list[int] = []
            while part := rows.next():
                found += [row["id"] for row in part]
            rows.close()
        return np.sort(np.array(found, np.int64))

    def count(self) -> int:
        with self._failures():
            rows = self._client.query(self._name, output_fields=["count(*)"], consistency_level="Strong")
        return int(rows[0]["count(*)"])

    def clear(self) -> None:
        with self._failures():
            self._client.drop_collection(self._name)
            self._open()

    def _open(self) -> None:
        kind = self._milvus.DataType
        if not self._client.has_collection(self._name):
            schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field("id", kind.INT64, is_primary=True)
            schema.add_field("vector", kind.FLOAT_VECTOR, dim=self._dimension)
            schema.add_field("day", kind.INT64)
            params = self._client.prepare_index_params()
            params.add_index(
                "vector",
                index_type="HNSW",
                metric_type="IP",
                params={"M": NEIGHBOURS, "efConstruction": BUILT_WITH},
            )
            self._client.create_collection(self._name, schema=schema, index_params=params)
        self._client.load_collection(self._name)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (self._milvus.MilvusException, OSError) as error:
            raise IndexFailureError(f"Milvus at {self._uri} cannot be used: {error}") from error


def span_of(day: date | None, window: timedelta) -> Span:
    """The days that are near to one; None, that is all, where it has no date."""
    return None if day is None else (day - window, day + window)
