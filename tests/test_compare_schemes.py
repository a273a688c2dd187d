"""manage.py compare_schemes and what it is made of: schemes, growth, figures."""

import csv
import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import translation

from articles.schemes import growth
from articles.schemes.base import Article
from articles.schemes.growth import Cost, estimated, grown
from articles.schemes.registry import available
from articles.services import comparison, evaluation
from articles.services.comparison import Outcome
from tests.stories import BODY, SAMPLES, TITLE

FILES = ("--articles", SAMPLES / "news.csv", "--pairs", SAMPLES / "pairs.csv")
NAMES = ["md5", "classic simhash", "minhash lsh", "sequence", "judge"]
COPY = Article("a", TITLE, BODY)
OTHER = Article("c", "江城港口吞吐量创新高", "江城港上月吞吐量创下新高，集装箱增加两成，码头工人忙到深夜。")


@pytest.fixture(autouse=True)
def english():
    with translation.override("en"):
        yield


def named(name):
    return {scheme.name: scheme for scheme in available()}[name]


def output(*arguments):
    out = io.StringIO()
    call_command("compare_schemes", *map(str, arguments), stdout=out)
    return out.getvalue()


# --- schemes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_scheme_folds_a_copy_and_no_other_story(name):
    scheme = named(name)
    one, copy, other = map(scheme.prepare, (COPY, COPY._replace(external_id="b"), OTHER))
    assert scheme.folds(one, copy)
    assert not scheme.folds(one, other)
    assert not scheme.folds(other, one)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_scheme_finds_among_many_it_folds_by_itself(name):
    scheme = named(name)
    articles = [COPY, OTHER, COPY._replace(external_id="b"), OTHER._replace(title="江城港口上月创新高了")]
    pairs = list(scheme.pairs(articles))
    assert (0, 2) in pairs
    prepared = list(map(scheme.prepare, articles))
    assert all(left < right and scheme.folds(prepared[left], prepared[right]) for left, right in pairs)
    assert all((left in (0, 2)) == (right in (0, 2)) for left, right in pairs)


@pytest.mark.parametrize("name", NAMES)
def test_a_scheme_finds_nothing_among_none(name):
    assert list(named(name).pairs([])) == []


def test_schemes_have_names_of_their_own():
    assert [scheme.name for scheme in available()] == NAMES
    assert set(NAMES) <= comparison.ADVICE.keys()


# --- growth -----------------------------------------------------------------------------------------------


def test_copies_share_no_text_with_the_original_and_keep_its_duplicates():
    articles = [COPY, COPY._replace(external_id="b"), OTHER]
    made = grown(articles, 8)
    assert [article.external_id for article in made] == ["a", "b", "c", "a#1", "b#1", "c#1", "a#2", "b#2"]
    assert made[3].content == made[4].content != made[6].content == made[7].content
    assert made[:3] == articles
    assert {len(article.content) for article in made[:2]} == {len(article.content) for article in made[3:5]}
    assert grown(articles, 8) == made


def test_a_large_file_is_cut_and_an_empty_one_stays_empty():
    assert grown([COPY, OTHER], 1) == [COPY]
    assert grown([], 5) == []


def test_cost_is_measured_in_a_process_of_its_own(tmp_path):
    path = tmp_path / "articles.jsonl"
    growth.write_articles(path, [COPY, OTHER])
    found = growth.cost(named("sequence"), 30, path, 120)
    assert (found.articles, found.measured) == (30, True)
    assert found.seconds > 0
    assert found.memory is not None
    assert found.memory >= 0


def test_what_takes_too_long_is_not_measured(tmp_path):
    path = tmp_path / "articles.jsonl"
    growth.write_articles(path, [COPY])
    assert growth.cost(named("judge"), 100, path, 0.001) is None


def test_estimates_grow_by_the_power_that_was_measured():
    assert estimated(20_000, [], 1.0) is None
    assert estimated(2_000, [Cost(1_000, 3.0, 10.0, True)], 2.0) == Cost(2_000, 12.0, 20.0, False)
    measured = [Cost(1_000, 1.0, 10.0, True), Cost(2_000, 2.0, 20.0, True)]
    assert estimated(4_000, measured, 1.0) == Cost(4_000, 4.0, 40.0, False)
    steep = [Cost(1_000, 1.0, 10.0, True), Cost(2_000, 4.0, 20.0, True)]
    assert estimated(4_000, steep, 1.0) == Cost(4_000, 16.0, 40.0, False)


def test_sizes_beyond_a_scheme_are_estimated_and_marked(tmp_path, monkeypatch):
    monkeypatch.setattr(type(named("sequence")), "most", 20)
    path = tmp_path / "articles.jsonl"
    growth.write_articles(path, [COPY, OTHER])
    costs = list(comparison._costs(named("sequence"), (10, 20, 40), path, 120))
    assert [(cost.articles, cost.measured) for cost in costs] == [(10, True), (20, True), (40, False)]


# --- figures ----------------------------------------------------------------------------------------------


def test_a_scheme_that_takes_too_long_for_all_sizes_is_measured_at_a_smaller_one(tmp_path, monkeypatch):
    monkeypatch.setattr(type(named("sequence")), "most", 20)
    path = tmp_path / "articles.jsonl"
    growth.write_articles(path, [COPY, OTHER])
    costs = list(comparison._costs(named("sequence"), (40, 80), path, 120))
    assert [(cost.articles, cost.measured) for cost in costs] == [(40, False), (80, False)]
    assert costs[1].seconds > costs[0].seconds > 0
    assert [cost.memory for cost in costs] == [None, None]
    assert list(comparison._costs(named("sequence"), (), path, 120)) == []


def test_pairs_that_there_is_no_time_for_are_left_out_evenly():
    labelled = comparison.read(SAMPLES / "news.csv", SAMPLES / "pairs.csv")
    found = comparison.quality(named("md5"), labelled, seconds=0)
    assert found["pairs"] == 1 < len(labelled.pairs)
    every = comparison.quality(named("md5"), labelled)
    assert every["pairs"] == len(labelled.pairs)
    # The file has them by label; the first half of those that are taken does not.
    half = [outcome.label for outcome in comparison.judge_by(named("md5"), labelled)][: every["pairs"] // 2]
    assert set(half) == every["by_label"].keys()


def test_the_judge_asks_about_what_it_queues():
    labelled = comparison.read(SAMPLES / "news.csv", SAMPLES / "pairs.csv")
    outcomes = comparison.judge_by(named("judge"), labelled)
    assert any(outcome.queued for outcome in outcomes if outcome.label == "U")
    assert not any(outcome.queued and outcome.folds for outcome in outcomes)


def test_figures_by_hand():
    outcomes = [
        *(Outcome("D", True), Outcome("D", True), Outcome("D", False, True), Outcome("D", False)),
        *(Outcome("T", True), Outcome("T", False), Outcome("N", False, True), Outcome("U", True)),
    ]
    found = comparison.figures(outcomes)
    assert found == {
        "precision": 0.6667,
        "recall": 0.5,
        "f1": 0.5714,
        "caught": 0.75,
        "others_queued": 0.3333,
    }
    labels = comparison.by_label(outcomes)
    assert (labels["U"]["precision"], labels["U"]["folded"], labels["U"]["pairs"]) == (0.6667, 1, 1)
    assert (labels["N"]["precision"], labels["N"]["queued"]) == (1.0, 1)
    assert labels["D"]["precision"] == 0.5


def test_the_judge_has_the_figures_of_evaluate():
    found = comparison.compare(SAMPLES / "news.csv", SAMPLES / "pairs.csv", ())
    judge = next(scheme for scheme in found["schemes"] if scheme["name"] == "judge")
    wanted = evaluation.evaluate(evaluation.judge_files(SAMPLES / "news.csv", SAMPLES / "pairs.csv"))
    assert judge["figures"] == {name: wanted[name] for name in judge["figures"]}
    assert {label: row["folded"] for label, row in judge["by_label"].items()} == {
        label: row["folded"] for label, row in wanted["by_label"].items()
    }


def test_progress_ends_at_its_total():
    steps = []
    comparison.compare(
        SAMPLES / "news.csv",
        SAMPLES / "pairs.csv",
        (),
        progress=lambda done, total: steps.append((done, total)),
    )
    assert steps == [(done, 6) for done in range(1, 7)]


# --- the command ------------------------------------------------------------------------------------------


def test_help_shows_an_example(capsys):
    with pytest.raises(SystemExit):
        call_command("compare_schemes", "--help")
    assert "\n  manage.py compare_schemes --articles samples/news.csv" in capsys.readouterr().out


def test_a_table_and_a_csv_of_all_schemes(tmp_path):
    path = tmp_path / "figures.csv"
    text = output(*FILES, "--sizes", 10, "--output", path)
    assert text.startswith("212 articles, 218 labelled pairs\n")
    for name in NAMES:
        # Of the judge alone it says what is queued.
        assert text.count(f"\n{name} ") == 2 + (name == "judge")
    rows = list(csv.DictReader(path.open(encoding="utf-8", newline="")))
    assert [row["scheme"] for row in rows if row["precision"]] == NAMES
    assert [row["measured"] for row in rows if row["articles"]] == ["true"] * 5
    assert {row["label"] for row in rows if row["label"]} == set("BDENSTU")


def test_one_json_object_without_costs():
    found = json.loads(output(*FILES, "--json", "--sizes"))
    assert [scheme["name"] for scheme in found["schemes"]] == NAMES
    assert all(scheme["costs"] == [] for scheme in found["schemes"])
    assert (found["articles"], found["pairs"], found["labels"]["D"]) == (212, 218, 97)


def test_bad_files_and_options_are_messages(tmp_path, monkeypatch):
    path = tmp_path / "pairs.csv"
    with pytest.raises(CommandError, match=r"^pairs\.csv: there is no such file$"):
        output(*FILES[:2], "--pairs", path, "--sizes")
    path.write_text("a,b,label,confidence\ns01-a,s01-b,D,unsure\n")
    with pytest.raises(CommandError, match="has a sure label"):
        output(*FILES[:2], "--pairs", path, "--sizes")
    path.write_text("a,b,label\ns01-a,s01-b,maybe\n")
    with pytest.raises(CommandError, match="row 2, column label: “maybe” is no label"):
        output(*FILES[:2], "--pairs", path, "--sizes")
    with pytest.raises(CommandError, match="argument --sizes: “5” is no number from 10"):
        output(*FILES, "--sizes", 5)
    with pytest.raises(CommandError, match="cannot be written"):
        output(*FILES, "--sizes", "--output", tmp_path / "none" / "figures.csv")


def test_too_many_articles_are_refused():
    with pytest.raises(evaluation.EvaluationError, match="more than 10 articles"):
        comparison.compare(SAMPLES / "news.csv", SAMPLES / "pairs.csv", (), limit=10)
