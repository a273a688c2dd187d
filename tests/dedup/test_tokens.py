import jieba
import pytest

from articles.dedup import tokens
from articles.dedup.clean import clean_body
from tests.dedup.cases import STORIES, load

SENTENCES = [text for story in STORIES.values() for text in story.values()] + [
    case[side] for case in load("facts") for side in ("left", "right")
]
HAN_RUNS = sorted({run for text in SENTENCES for run in tokens.RUN.findall(text) if not run[0].isascii()})


def test_there_are_enough_sentences_to_compare_on():
    assert len(HAN_RUNS) > 300


def test_both_engines_give_the_same_words():
    rjieba = pytest.importorskip("rjieba")
    assert [run for run in HAN_RUNS if rjieba.cut(run) != jieba.lcut(run)] == []


def test_runs_cut_in_one_call_are_cut_as_one_by_one():
    for text in SENTENCES:
        runs = [run for run in tokens.RUN.findall(clean_body(text).lower()) if not run[0].isascii()]
        found = [word for word in tokens.words(clean_body(text)) if not word[0].isascii()]
        assert found == [word for run in runs for word in tokens.cut(run)]


def test_function_words_and_punctuation_weigh_nothing():
    assert set(tokens.weighted_words("江城的消息，了、在。")) == {"江城", "消息"}


def test_a_word_weighs_by_how_often_it_is_said():
    assert tokens.weighted_words("降准降准")["降准"] == 2 * tokens.weighted_words("降准")["降准"]


def test_the_version_names_dictionary_and_engine():
    assert jieba.__version__ in tokens.engine_version()
