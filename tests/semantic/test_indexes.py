import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from articles.vectors.indexes import IndexFailureError, make, span_of

pytestmark = pytest.mark.semantic

ROOT = Path(__file__).resolve().parents[2]
MODEL, DIMENSION = "a model", 32
DAY = date(2026, 3, 1)


@pytest.fixture(params=["faiss", "milvus"])
def place(request, tmp_path):
    """What opens the same index again and again."""
    return ("" if request.param == "faiss" else str(tmp_path / "milvus.db")), tmp_path


@pytest.fixture
def index(place):
    return make(*place, MODEL, DIMENSION)


def vectors(count, seed=1):
    rows = np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def days(count, apart=1):
    return [DAY + timedelta(days=apart * n) for n in range(count)]


def found(near):
    return [id_ for id_, _ in near]


def test_nearest_is_the_vector_itself_and_then_by_cosine(index):
    rows = vectors(200)
    index.add(range(1, 201), rows, [DAY] * 200)
    near = index.nearest(rows[6], 5)[:5]
    right = np.argsort(-(rows @ rows[6]))[:5] + 1
    assert found(near) == right.tolist()
    assert near[0] == (7, pytest.approx(1, abs=1e-4))


def test_empty_index_finds_nothing(index):
    assert index.nearest(vectors(1)[0], 5) == []
    assert index.ids().tolist() == []
    assert index.count() == 0


def test_window_leaves_out_what_is_far_and_keeps_what_has_no_date(index):
    row = vectors(1)
    index.add([1, 2, 3], np.repeat(row, 3, axis=0), [DAY, DAY + timedelta(days=200), None])
    near = index.nearest(row[0], 5, span_of(DAY, timedelta(days=30)))
    assert sorted(found(near)) == [1, 3]
    assert sorted(found(index.nearest(row[0], 5, span_of(None, timedelta(days=30))))) == [1, 2, 3]


def test_removed_vector_is_found_no_more(index):
    rows = vectors(40)
    index.add(range(40), rows, days(40))
    index.remove([3, 4, 777])
    assert index.count() == 38
    assert index.ids().tolist() == [n for n in range(40) if n not in (3, 4)]
    assert 3 not in found(index.nearest(rows[3], 40))


def test_removing_nearly_all_keeps_the_others(index):
    rows = vectors(40)
    index.add(range(40), rows, [DAY] * 40)
    index.remove(list(range(38)))
    assert sorted(found(index.nearest(rows[0], 5))) == [38, 39]


def test_vector_that_is_there_already_is_there_once(index):
    rows = vectors(3)
    index.add([1, 2], rows[:2], days(2))
    index.add([2, 3], rows[1:], days(3)[1:])
    assert index.ids().tolist() == [1, 2, 3]
    assert index.count() == 3
    assert sorted(found(index.nearest(rows[1], 10))) == [1, 2, 3]


def test_cleared_index_is_empty_and_can_be_filled(index):
    index.add([1], vectors(1), [DAY])
    index.clear()
    assert index.ids().tolist() == []
    index.add([2], vectors(1), [DAY])
    assert found(index.nearest(vectors(1)[0], 3)) == [2]


def test_models_and_dimensions_have_indexes_of_their_own(index, place):
    index.add([1], vectors(1), [DAY])
    assert make(*place, "another model", DIMENSION).ids().tolist() == []
    assert make(*place, MODEL, DIMENSION + 1).ids().tolist() == []
    assert make(*place, "a_model", DIMENSION).ids().tolist() == []


def test_few_live_vectors_are_found_among_many_removed_ones(tmp_path):
    index = make("", tmp_path, MODEL, DIMENSION)
    rows = vectors(100)
    index.add(range(100), rows, [DAY] * 100)
    index.remove(list(range(24)))
    assert len(index.nearest(rows[0], 60)) == 60


# --- files of FAISS ---------------------------------------------------------------------------------------


def test_index_is_there_when_opened_again(tmp_path):
    rows = vectors(5)
    make("", tmp_path, MODEL, DIMENSION).add(range(5), rows, days(5, apart=20))
    again = make("", tmp_path, MODEL, DIMENSION)
    assert found(again.nearest(rows[3], 1))[0] == 3


def test_what_another_process_adds_and_removes_is_seen(tmp_path):
    mine, other = (make("", tmp_path, MODEL, DIMENSION) for _ in range(2))
    rows = vectors(3)
    mine.add([1], rows[:1], [DAY])
    other.add([2], rows[1:2], [DAY])
    assert mine.ids().tolist() == [1, 2]
    other.remove([1])
    assert found(mine.nearest(rows[0], 5)) == [2]
    other.clear()
    assert mine.nearest(rows[0], 5) == []


ADDS = """
import sys
from pathlib import Path
from tests.semantic.test_indexes import DAY, DIMENSION, MODEL, make, vectors
first = int(sys.argv[2])
index = make("", Path(sys.argv[1]), MODEL, DIMENSION)
for id_, row in enumerate(vectors(40, seed=first), start=first):
    index.add([id_], row[None], [DAY])
"""


def test_processes_that_add_at_once_lose_nothing(tmp_path):
    command = [sys.executable, "-c", ADDS, str(tmp_path)]
    running = [subprocess.Popen([*command, str(first)], cwd=ROOT) for first in (0, 100, 200)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    right = [first + n for first in (0, 100, 200) for n in range(40)]
    assert make("", tmp_path, MODEL, DIMENSION).ids().tolist() == right


@pytest.mark.parametrize("damage", [b"", b"\0" * 7, b"\xff" * 400, b"\x01" + b"\0" * 400])
def test_damaged_file_counts_as_lost(tmp_path, damage):
    index = make("", tmp_path, MODEL, DIMENSION)
    index.add(range(4), vectors(4), days(4, apart=20))
    (file, *_) = sorted(tmp_path.glob("*/*.faiss"))
    file.write_bytes(damage)
    assert index.ids().tolist() == [1, 2, 3]
    assert index.count() == 3
    index.add([0], vectors(1), [DAY])
    assert index.ids().tolist() == [0, 1, 2, 3]


def test_cut_file_counts_as_lost(tmp_path):
    index = make("", tmp_path, MODEL, DIMENSION)
    index.add(range(40), vectors(40), [DAY] * 40)
    (file,) = tmp_path.glob("*/*.faiss")
    file.write_bytes(file.read_bytes()[:-100])
    assert index.ids().tolist() == []


def test_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(IndexFailureError, match="file"):
        make("", tmp_path / "file", MODEL, DIMENSION)


def test_milvus_that_is_not_there_is_named():
    with pytest.raises(IndexFailureError, match=r"127\.0\.0\.1:9"):
        make("http://127.0.0.1:9", Path(), MODEL, DIMENSION)
