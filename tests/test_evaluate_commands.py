"""manage.py evaluate and fit_judge: thin doors, so only what goes in and comes out."""

import io
import json

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import translation

from articles.dedup import scoring
from articles.dedup.evidence import Text
from articles.dedup.verdict import Item, judge
from articles.services import review
from tests.stories import BODY, SAMPLES, TITLE, article, run

pytestmark = [pytest.mark.django_db]

FILES = ("--articles", SAMPLES / "news.csv", "--pairs", SAMPLES / "pairs.csv")


@pytest.fixture(autouse=True)
def english():
    with translation.override("en"):
        yield


def output(*arguments):
    out = io.StringIO()
    call_command(*map(str, arguments), stdout=out)
    return out.getvalue()


@pytest.mark.parametrize("command", ["evaluate", "fit_judge"])
def test_help_shows_an_example(command, capsys):
    with pytest.raises(SystemExit):
        call_command(command, "--help")
    assert f"\n  manage.py {command} --articles" in capsys.readouterr().out


def test_evaluate_prints_figures_and_errors():
    text = output("evaluate", *FILES)
    assert text.startswith("218 pairs: precision 1.000  recall 0.9")
    assert "\n  > 500 " in text
    assert "\n  U  " in text.split("by label:")[1]
    assert "\n  excerpt  " in text.split("by kind:")[1]
    assert "\n  D -> " in text.split("errors:")[1]


def test_evaluate_prints_one_json_object():
    found = json.loads(output("evaluate", *FILES, "--json"))
    assert found["precision"] == 1.0
    assert found["recall"] >= 0.95
    assert found["caught"] >= 0.99
    assert {"by_label", "by_length", "by_kind", "errors"} <= found.keys()


@pytest.mark.database
def test_evaluate_without_files_takes_the_editors_verdicts():
    with pytest.raises(CommandError, match="not decided on any pair yet"):
        output("evaluate")
    ids = run(article("a"), article("b"))
    review.judge_pair(*ids, "duplicate", User.objects.create_user("zhouqing"))
    assert output("evaluate").startswith("1 pairs: precision 1.000  recall 1.000")


def test_one_file_alone_is_refused():
    with pytest.raises(CommandError, match="go together"):
        output("evaluate", *FILES[:2])


@pytest.mark.parametrize("command", ["evaluate", "fit_judge"])
def test_a_bad_file_is_a_message(command, tmp_path):
    path = tmp_path / "pairs.csv"
    with pytest.raises(CommandError, match=r"^pairs\.csv: there is no such file$"):
        output(command, *FILES[:2], "--pairs", path)
    path.write_text("a,b,label\ns01-a,s01-b,maybe\n")
    with pytest.raises(CommandError, match="row 2, column label: “maybe” is no label"):
        output(command, *FILES[:2], "--pairs", path)


def test_fitted_weights_load_and_score(tmp_path, monkeypatch):
    path = tmp_path / "weights.json"
    summary = json.loads(output("fit_judge", *FILES, "--output", path, "--json"))
    assert summary == json.loads(path.read_text(encoding="utf-8"))
    one, other = Item(Text(TITLE, BODY)), Item(Text(f"{TITLE}了", BODY[:-30]))
    monkeypatch.setattr(scoring, "WEIGHTS", path)
    scoring._weights.cache_clear()
    try:
        verdict = judge(one, other)
    finally:
        monkeypatch.undo()
        scoring._weights.cache_clear()
    assert verdict.folds
    assert verdict.score > 0.8
    assert judge(one, other).kind == verdict.kind


def test_fit_says_what_it_wrote(tmp_path):
    path = tmp_path / "weights.json"
    text = output("fit_judge", *FILES, "--output", path)
    assert text.rstrip().endswith(f"written to {path}")
    assert "Brier score 0.0" in text


def test_fit_needs_pairs_of_both_kinds_and_a_place_to_write(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("a,b,label\ns01-a,s01-b,D\n")
    with pytest.raises(CommandError, match="Add pairs of the kind that is missing"):
        output("fit_judge", *FILES[:2], "--pairs", path, "--output", tmp_path / "weights.json")
    assert not (tmp_path / "weights.json").exists()
    with pytest.raises(CommandError, match="cannot be written"):
        output("fit_judge", *FILES, "--output", tmp_path / "none" / "weights.json")
