"""Figures of the judge on labelled pairs, from files and from what editors decided."""

import csv
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.utils import translation

from articles.services import evaluation, review
from articles.services.evaluation import EvaluationError
from articles.services.readers import FileProblemError
from tests.stories import SAMPLES, article, run

NEWS = SAMPLES / "news.csv"
PAIRS = SAMPLES / "pairs.csv"


@pytest.fixture(scope="module")
def judged():
    return evaluation.judge_files(NEWS, PAIRS)


@pytest.fixture
def pairs(tmp_path):
    """Writes a file of pairs."""

    def pairs(text, name="pairs.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_text(text, encoding=encoding)
        return path

    return pairs


# --- figures ----------------------------------------------------------------------------------------------


def test_the_samples_are_told_apart(judged):
    found = evaluation.evaluate(judged)
    assert found["pairs"] == len(judged) == 218
    assert found["precision"] == 1.0
    assert found["recall"] >= 0.95
    assert found["f1"] >= 0.97
    assert found["caught"] >= 0.99
    assert found["others_queued"] <= 0.05
    assert [found["by_label"][label]["folded"] for label in "TBNES"] == [0, 0, 0, 0, 0]


def test_every_pair_is_counted_once_in_each_table(judged):
    found = evaluation.evaluate(judged)
    assert sum(band["pairs"] for band in found["by_length"].values()) == 218
    assert sum(kind["pairs"] for kind in found["by_kind"].values()) == 218
    assert sum(label["pairs"] for label in found["by_label"].values()) == 218
    assert list(found["by_length"]) == ["< 100", "100-500", "> 500"]
    for kind in found["by_kind"].values():
        assert sum(kind["labels"].values()) == kind["pairs"]
    for label in found["by_label"].values():
        assert sum(label["kinds"].values()) == label["pairs"] >= label["folded"] + label["queued"]


def test_labels_and_kinds_have_precision_and_recall_of_their_own(judged):
    """By hand: two updates judged so of three, and one excerpt that was taken for an update."""

    def pairs(label, kind, count):
        verdict = replace(judged[0].verdict, kind=kind)
        return [replace(judged[0], label=label, verdict=verdict) for _ in range(count)]

    found = evaluation.evaluate(
        [
            *(*pairs("U", "update", 2), *pairs("U", "template", 1), *pairs("E", "update", 1)),
            *(*pairs("D", "near", 1), *pairs("D", "rewrite", 3), *pairs("S", "distinct", 1)),
            *(*pairs("N", "distinct", 2), *pairs("N", "suspect", 1)),
        ]
    )

    def figures(row):
        return row["precision"], row["recall"], row["f1"]

    assert figures(found["by_label"]["U"]) == (0.6667, 0.6667, 0.6667)
    assert figures(found["by_label"]["E"]) == (0.0, 0.0, 0.0)
    assert figures(found["by_label"]["D"]) == (1.0, 1.0, 1.0)
    assert figures(found["by_label"]["N"]) == (1.0, 0.6667, 0.8)
    assert figures(found["by_kind"]["update"]) == (0.6667, 0.6667, 0.6667)
    assert figures(found["by_kind"]["near"]) == (1.0, 0.25, 0.4)
    assert figures(found["by_kind"]["suspect"]) == (0.0, 0.0, 0.0)
    assert found["by_kind"]["update"]["labels"] == {"U": 2, "E": 1}


def test_errors_are_duplicates_not_folded_and_others_folded_or_queued(judged):
    errors = {(error["a"], error["b"]): error for error in evaluation.evaluate(judged)["errors"]}
    for pair in judged:
        wrong = pair.verdict.folds != (pair.label == "D")
        bothers = pair.label in "TBN" and pair.verdict.queued
        assert ((pair.left, pair.right) in errors) == (wrong or bothers)


def test_pairs_labelled_unsure_do_not_count(judged):
    unsure = [replace(pair, sure=False) for pair in judged[1:]]
    assert evaluation.evaluate([judged[0], *unsure])["pairs"] == 1


def test_no_pair_at_all_gives_zeros():
    assert evaluation.evaluate([])["precision"] == 0.0


# --- files ------------------------------------------------------------------------------------------------


def test_tabs_separate_as_well_and_skipped_pairs_are_left_out(pairs):
    path = pairs("a\tb\tlabel\tconfidence\ns01-a\ts01-b\tD\tunsure\ns01-a\ts01-c\tX\tsure\n", "pairs.tsv")
    (pair,) = evaluation.judge_files(NEWS, path)
    assert (pair.left, pair.right, pair.label, pair.sure) == ("s01-a", "s01-b", "D", False)


def test_pairs_of_unknown_articles_are_left_out(pairs):
    path = pairs("a,b,label\ns01-a,s01-b,D\ns01-a,nobody,D\n")
    assert len(evaluation.judge_files(NEWS, path)) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\ns01-a,s01-b\n", "lacks the column label. Found: a, b. Wanted: a, b, label."),
        ("", "lacks the column a, b, label."),
        ("a,b,label\ns01-a,s01-b,D\ns01-a,s01-c,Q\n", "row 3, column label: “Q” is no label"),
        ("a,b,label\ns01-a,s01-b,DU\n", "row 2, column label: “DU” is no label. Write one of D, U, E"),
        ("a,b,label\ns01-a,s01-b\n", "row 2, column label: “” is no label"),
        ("a,b,label\nx1,x2,D\n", "none of its 1 pairs names two articles of news.csv"),
        ("a,b,label\n", "none of its 0 pairs"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_row_and_column(pairs, text, said):
    path = pairs(text)
    with pytest.raises(EvaluationError) as caught:
        evaluation.judge_files(NEWS, path)
    with translation.override("en"):
        message = str(caught.value)
    assert message.startswith("pairs.csv")
    assert said in message


def test_a_cell_beyond_all_bounds_is_named(pairs):
    path = pairs(f"a,b,label\ns01-a,s01-b,{'长' * 200}\n")
    usual = csv.field_size_limit(100)
    try:
        with translation.override("en"), pytest.raises(EvaluationError, match="row 2 cannot be read"):
            next(evaluation.read_pairs(path))
    finally:
        csv.field_size_limit(usual)


def test_problems_are_said_in_chinese(pairs):
    with (
        translation.override("zh-hans"),
        pytest.raises(EvaluationError, match="第 2 行 label 列：“Q”不是标签"),
    ):
        evaluation.judge_files(NEWS, pairs("a,b,label\ns01-a,s01-b,Q\n"))


def test_each_problem_has_a_translation():
    for problem in evaluation.PROBLEMS.values():
        with translation.override("zh-hans"):
            assert translation.gettext(problem) != problem


def test_another_encoding_is_named(pairs):
    path = pairs("a,b,label,reason\ns01-a,s01-b,D,重复\n", encoding="gb18030")
    with translation.override("en"), pytest.raises(EvaluationError, match="save it as UTF-8"):
        evaluation.judge_files(NEWS, path)


def test_too_many_pairs_are_refused(pairs, monkeypatch):
    monkeypatch.setattr(evaluation, "MAX_PAIRS", 2)
    with translation.override("en"), pytest.raises(EvaluationError, match="more than 2 pairs"):
        evaluation.judge_files(NEWS, pairs("a,b,label\n" + "s01-a,s01-b,D\n" * 3))


def test_missing_files_are_named(tmp_path):
    for files in ((NEWS, tmp_path / "none.csv"), (tmp_path / "none.csv", PAIRS)):
        with translation.override("en"), pytest.raises(FileProblemError, match=r"none.csv: there is no such"):
            evaluation.judge_files(*files)
    with translation.override("en"), pytest.raises(FileProblemError, match="is not a file"):
        evaluation.judge_files(NEWS, tmp_path)


# --- editors' verdicts ------------------------------------------------------------------------------------


@pytest.mark.database
@pytest.mark.django_db
def test_editors_verdicts_are_labels():
    editor = User.objects.create_user("zhouqing")
    ids = run(
        article("a"),
        article("b"),
        article("c", title="江城港口吞吐量创新高", content="江城港上月吞吐量创下新高，集装箱增加两成。" * 4),
    )
    review.judge_pair(ids[0], ids[1], "duplicate", editor)
    review.judge_pair(ids[0], ids[2], "different", editor)
    review.judge_pair(ids[1], ids[2], "unsure", editor)
    judged = evaluation.judge_verdicts()
    assert {(pair.left, pair.right, pair.label) for pair in judged} == {("a", "b", "D"), ("a", "c", "N")}
    found = evaluation.evaluate(judged)
    assert (found["precision"], found["recall"], found["others_queued"]) == (1.0, 1.0, 0.0)


@pytest.mark.database
@pytest.mark.django_db
@pytest.mark.parametrize(("verdict", "label"), [("update", "U"), ("excerpt", "E"), ("template", "T")])
def test_each_verdict_has_its_label(verdict, label):
    ids = run(article("a"), article("b"))
    review.judge_pair(*ids, verdict, User.objects.create_user("zhouqing"))
    (pair,) = evaluation.judge_verdicts()
    assert (pair.label, pair.is_error) == (label, True)


@pytest.mark.database
@pytest.mark.django_db
def test_without_verdicts_there_is_nothing_to_judge():
    run(article("a"), article("b"))
    assert evaluation.judge_verdicts() == []


# --- fitting ----------------------------------------------------------------------------------------------


def test_scores_need_duplicates_and_others(judged):
    with translation.override("en"), pytest.raises(EvaluationError, match="Add pairs of the kind"):
        evaluation.fit([pair for pair in judged if pair.label == "D"])


def test_fitted_scores_tell_duplicates_from_others(judged):
    fitted = evaluation.fit(judged)
    assert fitted["duplicates"] < fitted["pairs"] < 218
    assert fitted["brier"] < 0.1


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with translation.override("en"), pytest.raises(EvaluationError, match=r"weights.json cannot be written"):
        evaluation.write_weights({}, tmp_path / "none" / "weights.json")
