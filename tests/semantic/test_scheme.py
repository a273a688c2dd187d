"""The semantic scheme beside the others: it suggests and folds nothing, and is compared where it is on."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from articles.models import SchemeComparison
from articles.schemes import growth
from articles.schemes.base import Article
from articles.schemes.registry import available
from articles.services import comparison, comparisons, semantic
from tests.semantic.stories import FIRST, OTHER, RETOLD
from tests.views.factories import make_user

pytestmark = [pytest.mark.semantic, pytest.mark.usefixtures("switched_on")]
STORIES = (FIRST, RETOLD, OTHER)


@pytest.fixture
def files(tmp_path) -> list[Path]:
    """The stories, a copy of the first, and the labels of three pairs."""
    articles, pairs = tmp_path / "news.csv", tmp_path / "pairs.csv"
    with articles.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(("external_id", "title", "content", "published_at"))
        for story in (*STORIES, replace(FIRST, external_id="copy")):
            writer.writerow((story.external_id, story.title, story.content, story.published_at))
    pairs.write_text("a,b,label\nfirst,copy,D\nfirst,retold,S\nfirst,other,N\n", encoding="utf-8")
    return [articles, pairs]


def scheme():
    found = semantic.scheme()
    assert found is not None
    return found


def as_article(story) -> Article:
    return Article(story.external_id, story.title, story.content, story.source, story.published_at)


def test_two_reports_of_one_event_are_suggested_and_never_folded():
    first, retold, other = map(scheme().prepare, map(as_article, STORIES))
    assert scheme().queues(first, retold)
    assert scheme().queues(retold, first)
    assert not scheme().queues(first, other)
    assert not scheme().folds(first, first)


def test_pairs_among_many_are_those_that_are_suggested_one_by_one():
    articles = [as_article(story) for story in (OTHER, FIRST, RETOLD)]
    assert list(scheme().pairs(articles)) == [(1, 2)]
    assert list(scheme().pairs([])) == []


def test_its_cost_is_measured_in_a_process_of_its_own(tmp_path):
    path = tmp_path / "articles.jsonl"
    growth.write_articles(path, map(as_article, STORIES))
    found = growth.cost(scheme(), 6, path, 120)
    assert (found.articles, found.measured) == (6, True)
    assert found.seconds > 0


def test_it_is_compared_last_and_only_where_it_is_on(settings):
    assert [one.name for one in available(semantic.scheme())][-2:] == ["judge", "semantic"]
    settings.NEWSDEDUP_SEMANTIC = "off"
    assert semantic.scheme() is None
    assert [one.name for one in available(semantic.scheme())][-1] == "judge"


def test_comparison_counts_what_it_suggests_and_gives_it_no_precision(files):
    *_, judge, found = comparison.compare(*files, ())["schemes"]
    assert (found["name"], found["suggests"], found["problem"], found["pairs"]) == ("semantic", True, "", 3)
    assert (found["figures"]["precision"], found["figures"]["f1"]) == (None, None)
    assert (found["figures"]["caught"], found["figures"]["others_queued"]) == (1, 0)
    suggested = {label: (row["folded"], row["queued"]) for label, row in found["by_label"].items()}
    assert suggested == {"D": (0, 1), "N": (0, 0), "S": (0, 1)}
    assert judge["figures"]["precision"] == 1


def test_command_says_how_many_it_suggests_of_each_label(files, capsys):
    call_command("compare_schemes", "--articles", str(files[0]), "--pairs", str(files[1]), "--sizes")
    lines = capsys.readouterr().out.splitlines()
    assert next(line for line in lines if line.startswith("semantic")).split()[:4] == ["semantic", *"---"]
    start = next(place for place, line in enumerate(lines) if "queued of D (1)" in line)
    counts = {line.split()[0]: line.split()[1:] for line in lines[start + 1 : start + 3] if line}
    assert counts["semantic"] == ["1", "0", "1"]


def test_model_that_does_not_answer_is_a_problem_of_its_own_alone(files, settings, capsys):
    settings.NEWSDEDUP_SEMANTIC = "http"
    settings.NEWSDEDUP_SEMANTIC_URL = "http://127.0.0.1:9/v1"
    settings.NEWSDEDUP_SEMANTIC_MODEL = "m"
    settings.NEWSDEDUP_SEMANTIC_RETRIES = 0
    arguments = ("--articles", str(files[0]), "--pairs", str(files[1]), "--sizes")
    call_command("compare_schemes", *arguments, "10", "--json")
    *others, found = json.loads(capsys.readouterr().out)["schemes"]
    assert "does not answer" in found["problem"]
    assert (found["pairs"], found["costs"], set(found["figures"].values())) == (0, [], {None})
    assert all(other["pairs"] == 3 and other["costs"] for other in others)
    call_command("compare_schemes", *arguments)
    assert "semantic cannot be used: http://127.0.0.1:9/v1" in capsys.readouterr().out


@pytest.fixture
def page(files, db):
    """Runs a comparison of the files, and gives its page and its other addresses."""

    def run() -> tuple[str, SchemeComparison, Client]:
        client = Client(headers={"accept-language": "zh-hans"})
        client.force_login(make_user("chief"))
        with files[0].open("rb") as articles, files[1].open("rb") as pairs:
            client.post(reverse("schemes_create"), {"articles": articles, "pairs": pairs, "form": "x"})
        row = SchemeComparison.objects.get()
        comparisons.run(row.pk)
        row.refresh_from_db()
        assert row.state == "done", row.problem
        return client.get(reverse("schemes_detail", args=[row.pk])).content.decode(), row, client

    return run


def test_page_says_that_it_suggests(page, monkeypatch):
    monkeypatch.setattr(comparisons, "SIZES", ())
    text, row, client = page()
    assert "语义（只建议）" in text
    assert "建议 1" in text
    assert "S 同一事件 (1)" in text
    assert "只提建议，从不归并" in text
    svg = client.get(reverse("schemes_chart", args=[row.pk, "quality"])).content.decode()
    assert "本系统" in svg
    assert "语义" not in svg
    table = client.get(reverse("schemes_file", args=[row.pk, "csv"])).content.decode()
    (line,) = [line for line in csv.DictReader(io.StringIO(table)) if line["scheme"] == "semantic"][:1]
    assert (line["precision"], line["caught"]) == ("", "1.0")


def test_page_says_where_it_cannot_be_used(page, settings, monkeypatch):
    monkeypatch.setattr(comparisons, "SIZES", (10,))
    settings.NEWSDEDUP_SEMANTIC = "http"
    settings.NEWSDEDUP_SEMANTIC_URL = "http://127.0.0.1:9/v1"
    settings.NEWSDEDUP_SEMANTIC_MODEL = "m"
    settings.NEWSDEDUP_SEMANTIC_RETRIES = 0
    text, row, client = page()
    assert "暂不可用" in text
    for name in ("quality", "growth"):
        assert client.get(reverse("schemes_chart", args=[row.pk, name])).status_code == 200


def test_page_says_of_how_many_pairs_where_time_was_short(page, monkeypatch):
    monkeypatch.setattr(comparisons, "SIZES", ())
    monkeypatch.setattr(comparisons, "SECONDS", 0.0)
    text, _, _ = page()
    assert "限时内测了 1 对" in text
