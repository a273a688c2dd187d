"""manage.py sequence_pairs: what goes in, what comes out, and what its bounds say."""

import csv
import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import translation

from articles.management.commands import sequence_pairs
from articles.services import evaluation
from tests.stories import SAMPLES

NEWS = SAMPLES / "news.csv"


@pytest.fixture(autouse=True)
def english():
    with translation.override("en"):
        yield


def output(*arguments):
    out = io.StringIO()
    call_command("sequence_pairs", *map(str, arguments), stdout=out)
    return out.getvalue()


@pytest.fixture
def news(tmp_path):
    """Writes a file of articles."""

    def news(*rows, head="external_id,title,content"):
        path = tmp_path / "news.csv"
        path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
        return path

    return news


def test_help_shows_an_example(capsys):
    with pytest.raises(SystemExit) as ended:
        call_command("sequence_pairs", "--help")
    assert ended.value.code == 0
    assert "\n  manage.py sequence_pairs samples/news.csv" in capsys.readouterr().out


def test_pairs_are_written_as_csv_that_evaluate_reads_once_labelled(tmp_path):
    path = tmp_path / "found.csv"
    summary = json.loads(output(NEWS, "--output", path, "--json"))
    rows = list(csv.DictReader(path.open(encoding="utf-8", newline="")))
    assert summary["pairs"] == len(rows) > 100
    assert (summary["articles"], summary["complete"], summary["cuts"]) == (212, True, [])
    assert [row["ratio"] for row in rows] == sorted((row["ratio"] for row in rows), key=float, reverse=True)
    labelled = tmp_path / "labelled.csv"
    labelled.write_text("a,b,label\n" + "".join(f"{row['a']},{row['b']},D\n" for row in rows))
    assert len(evaluation.judge_files(NEWS, labelled)) == len(rows)


def test_without_output_the_pairs_are_printed(news):
    path = news("a,油价迎来年内第七次上调,", ",【快讯】油价年内第七次上调,", "c,央行宣布降准,")
    text = output(path)
    assert text.startswith("1 pairs among 3 articles\n  0.900  a  row 3  ")
    (found,) = json.loads(output(path, "--json"))["found"]
    assert (found["a"], found["b"], found["ratio"]) == ("a", "row 3", 0.9)


def test_many_pairs_are_named_by_number(news, monkeypatch):
    monkeypatch.setattr(sequence_pairs, "SHOWN", 2)
    text = output(news(*(f"{letter},油价迎来年内第七次上调," for letter in "abcd")))
    assert text.rstrip().endswith("and 4 more: --output writes all")


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        (("--limit", "2"), "only the first 2 articles were read: --limit"),
        (
            ("--length", "100"),
            "of 1 articles only the first 100 characters were compared: --length",
        ),
        (
            ("--seconds", "0"),
            "time was over when the 0 shortest of 3 articles were compared: --seconds",
        ),
    ],
)
def test_what_a_bound_left_out_is_said(news, bound, said):
    path = news(f"a,油价上调,{'字' * 120}", "b,油价上调,", "c,油价上调,")
    assert said in output(path, *bound)
    summary = json.loads(output(path, *bound, "--json"))
    assert (summary["complete"], summary["cuts"]) == (False, [said])


def test_too_many_pairs_are_said(news, monkeypatch):
    monkeypatch.setattr("articles.schemes.sequence.MAX_PAIRS", 2)
    monkeypatch.setattr(sequence_pairs, "MAX_PAIRS", 2)
    text = output(news(*(f"{letter},油价迎来年内第七次上调," for letter in "abcd")))
    assert "it stopped at 2 pairs: raise --threshold" in text


def test_rows_that_cannot_be_used_are_counted(news):
    assert "1 rows could not be used" in output(news("a,油价上调,", "b,,", "c,央行降准,"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--threshold", "2"), "argument --threshold: “2” is no number from 0.5 to 1"),
        (("--threshold", "nan"), "argument --threshold: “nan” is no number"),
        (("--limit", "1"), "argument --limit: “1” is no number from 2 to 20000"),
        (("--limit", "many"), "argument --limit: “many” is no number"),
        (("--length", "6000"), "argument --length: “6000” is no number from 100 to 5000"),
    ],
)
def test_an_option_out_of_its_range_is_named(arguments, said):
    with pytest.raises(CommandError, match=said):
        output(NEWS, *arguments)


def test_a_bad_file_is_a_message(tmp_path, news):
    with pytest.raises(CommandError, match=r"^none\.csv: there is no such file$"):
        output(tmp_path / "none.csv")
    with pytest.raises(CommandError, match="lacks a column for"):
        output(news("1,2", head="x,y"))
    with pytest.raises(CommandError, match=r"has 1 usable articles, and two are needed. Unusable rows: 1\."):
        output(news("a,油价上调,", "b,,"))
    with pytest.raises(CommandError, match="cannot be written"):
        output(NEWS, "--output", tmp_path / "none" / "pairs.csv")
