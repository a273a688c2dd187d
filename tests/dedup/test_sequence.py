"""difflib's ratio of two texts, and all pairs of a set by it."""

import difflib
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from articles.dedup import sequence
from articles.dedup.verdict import judge
from articles.schemes.sequence import Found, Pair, find
from tests.dedup.cases import STORIES, item, load

# Few different characters, so that texts are alike.
TEXTS = st.text("央行降准0.5 \n", max_size=30)
STORY_TEXTS = [f"{story['title']}\n{story['body']}" for story in STORIES.values()]


def by_difflib(one, other):
    first, second = sorted((one, other), key=lambda text: (len(text), text))
    return difflib.SequenceMatcher(None, first, second, autojunk=False).ratio()


@given(TEXTS, TEXTS)
def test_the_ratio_is_difflibs_and_the_same_both_ways(one, other):
    assert sequence.ratio(one, other) == sequence.ratio(other, one) == pytest.approx(by_difflib(one, other))


def test_the_ratio_of_long_texts_is_difflibs():
    for one, other in combinations(STORY_TEXTS[:6], 2):
        assert sequence.ratio(one, other) == pytest.approx(by_difflib(one, other))


def test_a_text_of_one_character_is_like_itself():
    assert sequence.ratio("哈" * 300, "哈" * 301) == pytest.approx(600 / 601)


def test_only_the_beginning_is_compared():
    assert sequence.ratio("同" * 10 + "甲", "同" * 10 + "乙", length=10) == 1.0


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=12), st.sampled_from([0.5, 0.85, 1.0]))
def test_bounds_before_the_ratio_lose_no_pair(texts, threshold):
    wanted = {
        (left, right)
        for (left, one), (right, other) in combinations(enumerate(texts), 2)
        if one and other and (one == other or by_difflib(one, other) >= threshold)
    }
    assert {(pair.left, pair.right) for pair in find(texts, threshold).pairs} == wanted


@settings(deadline=None)
@given(st.permutations(range(len(STORY_TEXTS))))
def test_the_order_of_the_texts_changes_nothing(order):
    texts = [*STORY_TEXTS, *(text.replace("的", "") for text in STORY_TEXTS)]
    numbers = [*order, *(len(order) + number for number in order)]
    found = find([texts[number] for number in numbers])
    again = {frozenset((numbers[left], numbers[right])): ratio for left, right, ratio in found.pairs}
    assert again == {frozenset((left, right)): ratio for left, right, ratio in find(texts).pairs}


def test_the_most_alike_come_first_and_name_places_in_the_input():
    texts = ["油价迎来年内第七次上调", "", "油价年内第七次上调", "央行宣布降准", "油价迎来年内第七次上调"]
    assert find(texts) == Found([Pair(0, 4, 1.0), Pair(0, 2, 0.9), Pair(2, 4, 0.9)], 4, 4, 0, False)


def test_a_search_that_is_stopped_says_how_far_it_came():
    asked = iter([False, False, True])
    found = find(["甲乙丙丁", "甲乙丙丁", "甲乙丙丁"], stop=lambda: next(asked))
    assert (found.done, found.texts, found.complete, len(found.pairs)) == (2, 3, False, 1)


def test_too_many_pairs_end_the_search(monkeypatch):
    monkeypatch.setattr("articles.schemes.sequence.MAX_PAIRS", 3)
    found = find(["同一篇稿件"] * 6)
    assert (len(found.pairs), found.full, found.complete) == (3, True, False)


def test_shortened_texts_are_counted():
    found = find(["甲" * 20, "甲" * 9, "乙" * 10], length=10)
    assert (found.shortened, found.complete) == (1, False)


def test_the_judge_names_the_ratio_of_headlines_alone_and_only_of_these():
    for case in load("pairs"):
        verdict = judge(item(*case["left"]), item(*case["right"]))
        alone = not case["left"][1] and not case["right"][1]
        named = [reason["score"] for reason in verdict.reasons if reason["code"] == "sequence"]
        bare = item(*case["left"]).text.bare_title, item(*case["right"]).text.bare_title
        wanted = [round(by_difflib(*bare), 3)] if alone and verdict.kind != "exact" else []
        assert named == pytest.approx(wanted), case["name"]
