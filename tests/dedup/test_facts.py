from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from articles.dedup import numerals
from articles.dedup.evidence import Text
from articles.dedup.facts import differences
from tests.dedup.cases import item, sentences


@pytest.mark.parametrize("case", sentences("facts"))
def test_headlines_differ_in_these_facts(case):
    found = differences(item(case["left"], "").text, item(case["right"], "").text)
    expected = case["differs"]
    if expected and isinstance(expected[0], str):
        assert expected[0] in {difference.kind for difference in found}
    else:
        assert [[one.kind, one.left, one.right] for one in found] == expected


@pytest.mark.parametrize("case", sentences("facts"))
def test_swapping_the_sides_swaps_the_facts(case):
    left, right = item(case["left"], "").text, item(case["right"], "").text
    assert differences(right, left) == [found.mirrored() for found in differences(left, right)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5000万", "50000000"), ("0.5亿", "50000000"), ("五千万", "50000000"), ("零点五", "0.5"),
        ("0.50", "0.5"),
        ("一万亿", "1000000000000"), ("1万亿", "1000000000000"), ("三万五", "35000"), ("一百零五", "105"),
        ("一百五", "150"), ("二〇二六", "2026"), ("十", "10"), ("十二", "12"), ("两百", "200"), ("-3", "-3"),
        ("12,000", "12000"), ("三千六百", "3600"), ("二十万零三百", "200300"), ("两", "2"),
    ],
)  # fmt: skip
def test_a_number_has_one_value_however_it_is_written(text, value):
    assert numerals.value(text) == Decimal(value)


@pytest.mark.parametrize("text", ["万", "千", "百", "亿"])
def test_a_lone_unit_is_no_number(text):
    assert numerals.value(text) is None


@given(st.text(alphabet=numerals.HAN_DIGITS + "十百千万亿点0123456789.,-"))
def test_whatever_matches_as_a_number_can_be_read(text):
    for match in numerals.NUMBER.finditer(text):
        numerals.value(match[0])


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_can_be_compared(left, right):
    assert differences(Text(left, right), Text(left, right)) == []
    differences(Text(left, right), Text(right, left))
