import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from articles.dedup.diff import (
    DEL,
    EQUAL,
    FACT,
    INS,
    MOVE,
    Ignore,
    Segment,
    Span,
    diff,
    diff_line,
    fold,
    occurrences,
)

CASES = json.loads((Path(__file__).parent.parent / "cases" / "diff.json").read_text())["cases"]
MARKUP = {EQUAL: "{}", DEL: "[-{}-]", INS: "[+{}+]", FACT: "[!{}!]"}
EVERYTHING = Ignore(punctuation=True, width=True, script=True)
WORDS = st.sampled_from(
    [
        "桥",
        "橋",
        "通车",
        "今天",
        "0.5",
        "１２",
        "。",
        "，",
        "！",
        "\n",
        " ",
        "<b>",
        "A",
        "😀",
        "他说。",
        "\u200b",
    ]
)
TEXTS = st.lists(WORDS, max_size=40).map("".join) | st.text(max_size=60)
RANGES = st.lists(st.tuples(st.integers(-3, 70), st.integers(-3, 70)), max_size=5)
IGNORES = st.builds(Ignore, punctuation=st.booleans(), width=st.booleans(), script=st.booleans())


def marked(spans: tuple[Span, ...]) -> str:
    return "".join(MARKUP[span.kind].format(span.text) for span in spans)


def joined(segments: list[Segment]) -> tuple[str, str]:
    left = "".join(span.text for segment in segments for span in segment.left)
    right = "".join(span.text for segment in segments for span in segment.right)
    return left, right


def finder(words: list[list[str]]):
    def find(*texts: str):
        left, right = (occurrences(text, side) for text, side in zip(texts, words, strict=True))
        return left, right

    return find


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case):
    ignore = Ignore(**dict.fromkeys(case.get("ignore", []), True))
    facts = finder(case["facts"]) if "facts" in case else None
    result = diff(case["left"], case["right"], ignore, facts)
    rows = [[row.op, marked(row.left), marked(row.right)] for row in result.segments]
    assert rows == case["rows"]


@settings(max_examples=400, deadline=None)
@given(TEXTS, TEXTS, IGNORES, RANGES, RANGES)
def test_spans_give_the_texts_back(left, right, ignore, facts_left, facts_right):
    segments = list(diff(left, right, ignore, (facts_left, facts_right)).segments)
    assert joined(segments) == (left, right)
    assert joined([diff_line(left, right, ignore, (facts_left, facts_right))]) == (left, right)
    assert all(span.text for segment in segments for span in (*segment.left, *segment.right))


@settings(max_examples=200, deadline=None)
@given(TEXTS, IGNORES)
def test_a_text_equals_itself(text, ignore):
    result = diff(text, text, ignore)
    assert {segment.op for segment in result.segments} <= {EQUAL}
    assert not result.changes


@settings(max_examples=200, deadline=None)
@given(TEXTS, TEXTS, IGNORES)
def test_a_moved_sentence_has_both_ends(left, right, ignore):
    moves = [segment for segment in diff(left, right, ignore).segments if segment.op == MOVE]
    ends = sorted((segment.move, bool(segment.left)) for segment in moves)
    assert ends == sorted((number, side) for number in {s.move for s in moves} for side in (False, True))


def test_long_equal_stretches_fold_with_their_count():
    same = [f"第{number}条街修好了。" for number in range(8)]
    blocks = diff(
        "".join(same), "".join([*same[:4], "桥没有修。", *same[4:6], "灯没有修。", *same[6:]])
    ).blocks
    assert [(block.equal, block.foldable, block.count) for block in blocks] == [
        (True, True, 4),
        (False, False, 1),
        (True, False, 2),
        (False, False, 1),
        (True, False, 2),
    ]


def test_a_fact_is_marked_only_where_it_differs():
    left, right = "死4人。伤4人。", "死5人。伤4人。"
    rows = diff(left, right, facts=finder([["4人"], ["５人"]])).segments
    assert [(marked(row.left), marked(row.right)) for row in rows] == [
        ("死[!4人!]。", "死[!5人!]。"),
        ("伤4人。", "伤4人。"),
    ]


def test_the_longest_fact_is_found_whatever_its_width_and_script():
    assert occurrences("放款一萬億元與５％", ["一万", "一万亿元", "5%"]) == [(2, 6), (7, 9)]


@given(st.text(max_size=50))
def test_folding_keeps_places(text):
    assert len(fold(text)) == len(text)


def article(length: int, seed: int) -> list[str]:
    dice = random.Random(seed)
    letters = [chr(0x4E00 + number) for number in range(2500)]
    sentences: list[str] = []
    while sum(map(len, sentences)) < length:
        sentences.append("".join(dice.choices(letters, k=dice.randint(8, 60))) + "。")
    return sentences


def edited(sentences: list[str]) -> list[str]:
    dice = random.Random(7)
    changed = ["".join("改" if dice.random() < 0.1 else char for char in text) for text in sentences]
    dice.shuffle(changed)
    return changed


SHAPES = {
    "edited and shuffled": lambda size: ("".join(article(size, 1)), "".join(edited(article(size, 1)))),
    "nothing in common": lambda size: ("".join(article(size, 1)), "".join(article(size, 2))),
    "one sentence": lambda size: ("甲乙丙丁" * (size // 4), "乙甲丁丙" * (size // 4)),
    "one character": lambda size: ("哈" * size, "哈" * (size - 9)),
    "the same short sentences": lambda size: ("好。" * (size // 2), "坏。好。好。" * (size // 6)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_texts_of_20_000_characters_are_whole_again(shape):
    left, right = SHAPES[shape](20_000)
    assert joined(list(diff(left, right, EVERYTHING).segments)) == (left, right)


@pytest.mark.parametrize("shape", SHAPES)
def test_texts_of_200_000_characters_are_whole_again(shape):
    left, right = SHAPES[shape](200_000)
    assert joined(list(diff(left, right, EVERYTHING).segments)) == (left, right)


ALIKE = """
from articles.dedup.diff import diff
said = ["江城", "北岸", "明天开通", "今天停水", "30户", "50户", "完工"]
one = [f"{a}{b}{c}。" for a in said for b in said for c in said if len({a, b, c}) == 3][::9]
other = [text[::-1][1:] + "。" for text in one] + [f"{a}{b}。" for a in said for b in said]
print(diff("".join(one), "".join(other)))
"""


def test_the_diff_of_two_texts_is_the_same_in_each_process():
    printed = {
        subprocess.run(
            [sys.executable, "-c", ALIKE], env={"PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in "1234"
    }
    assert len(printed) == 1


def test_very_many_sentences_are_compared_more_coarsely_and_it_is_said():
    left, right = ("".join(f"{number}{word}。" for number in range(10_001)) for word in ("甲", "乙"))
    result = diff(left, right)
    assert result.coarse
    assert joined(list(result.segments)) == (left, right)


def test_a_coarser_diff_says_so():
    left, right = ("".join(text) for text in (article(200_000, 1), article(200_000, 2)))
    result = diff(left, right)
    assert result.coarse
    assert joined(list(result.segments)) == (left, right)
    assert not diff("一。", "二。").coarse
