import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from articles.dedup.evidence import Text
from articles.dedup.rules import DEFAULT_RULES
from articles.dedup.verdict import FOLDING, KINDS, QUEUED, Item, judge, within
from tests.dedup.cases import PUBLISHED, STORIES, edited, item, load, replaced, sentences, story

ROOT = Path(__file__).resolve().parent.parent.parent


def judged(case):
    """The verdict on a case of two whole articles."""
    source = case.get("source", "")
    return judge(item(*case["left"], source), item(*case["right"], source, case.get("days", 0)))


@pytest.mark.parametrize("case", sentences("edits"))
def test_a_reprint_is_folded(case):
    verdict = judge(item(*story(case["story"])), item(*edited(case)))
    assert verdict.folds, verdict.reasons


@pytest.mark.parametrize("case", sentences("flips"))
def test_another_fact_is_not_folded_and_named(case):
    verdict = judge(item(*story(case["story"])), item(*replaced(case)))
    assert not verdict.folds
    assert f"{case['differs']}_differs" in {reason["code"] for reason in verdict.reasons}


@pytest.mark.parametrize("case", sentences("flips"))
def test_another_fact_in_a_headline_alone_is_not_folded(case):
    title, other = STORIES[case["story"]]["title"], replaced(case)[0]
    assert title == other or not judge(item(title, ""), item(other, "")).folds


@pytest.mark.parametrize("case", sentences("pairs"))
def test_a_pair_is_of_this_kind(case):
    assert judged(case).kind in case["kinds"]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case["name"], marks=pytest.mark.xfail(strict=True))
        for case in load("known_failures")
    ],
)
def test_what_is_known_to_fail(case):
    assert judged(case).kind in case["kinds"]


@pytest.mark.parametrize("one", STORIES)
def test_no_story_is_folded_with_another(one):
    for other in STORIES:
        assert judge(item(*story(one)), item(*story(other))).folds == (one == other)


@pytest.mark.parametrize("case", sentences("pairs"))
def test_swapping_the_articles_swaps_the_sides(case):
    source = case.get("source", "")
    left, right = item(*case["left"], source), item(*case["right"], source, case.get("days", 0))
    one, other = judge(left, right), judge(right, left)
    assert (one.kind, one.score) == (other.kind, other.score)
    assert one.evidence.containment_left == other.evidence.containment_right
    assert one.evidence.lead_left == other.evidence.lead_right
    mirrored = [
        {**reason, "left": reason["right"], "right": reason["left"]} if "left" in reason else reason
        for reason in one.reasons
    ]
    assert list(other.reasons) == mirrored


@given(*[st.text(max_size=300)] * 4)
@settings(deadline=None)
def test_any_two_articles_can_be_judged(title, body, other_title, other_body):
    left, right = Item(Text(title, body)), Item(Text(other_title, other_body))
    one, other = judge(left, right), judge(right, left)
    assert (one.kind, one.score) == (other.kind, other.score)
    assert one.kind in KINDS
    assert 0 <= one.score <= 1


def test_a_kind_is_folded_or_queued_or_neither():
    assert not FOLDING & QUEUED
    assert set(KINDS) >= FOLDING | QUEUED


def test_folded_pairs_score_higher_than_all_others():
    folded = [judge(item(*story(case["story"])), item(*edited(case))).score for case in load("edits")]
    apart = [judge(item(*story(case["story"])), item(*replaced(case))).score for case in load("flips")]
    assert min(folded) > 0.5 > max(apart)


def test_verdicts_are_the_same_in_another_process():
    """Neither hash seeds nor the order of sets decide anything."""
    script = (
        "from tests.dedup.cases import *\n"
        "from articles.dedup.verdict import judge\n"
        "for case in load('flips')[:20]:\n"
        "    print(judge(item(*story(case['story'])), item(*replaced(case))))\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert outputs.pop()


def test_rules_are_what_decides():
    left, right = item(*story("oil")), item(*story("oil"), days=20)
    assert judge(left, right).folds
    assert not judge(left, right, replace(DEFAULT_RULES, window=DEFAULT_RULES.window / 30)).folds


def test_an_undated_article_is_within_every_window():
    assert within(None, PUBLISHED, DEFAULT_RULES.window)
    assert within(PUBLISHED, None, DEFAULT_RULES.window)


@pytest.mark.parametrize(
    "body",
    [
        "江城地铁" * 50_000,
        "甲。" * 100_000,
        "0.5个百分点，" * 25_000,
        "".join(map(chr, range(0x4E00, 0x9F00))) * 9,
    ],
    ids=["one word", "short sentences", "numbers", "no sentence"],
)
def test_200_000_characters_are_judged_in_time(body):
    left, right = Item(Text("江城地铁开通", body)), Item(Text("江城地铁通车", f"昨日消息{body[1:]}"))
    started = time.monotonic()
    judge(left, right)
    assert time.monotonic() - started < 5
