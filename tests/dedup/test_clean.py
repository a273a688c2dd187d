import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from articles.dedup.clean import INVISIBLE, clean_body, clean_news, clean_title, skeleton
from tests.dedup.cases import sentences

# What makes cleaning work: markup, entities, labels, datelines, footers, odd characters, in any order.
PIECES = st.sampled_from(
    [
        *"<p> </p> <br> <script> </script> <!-- --> < > &lt; &amp; &#60; & &nbsp; | 0.5 -3 ﷺ ㌀ ａ１".split(),
        *"【快讯】 (图) 快讯： 原标题： _搜狐网 -中新网 責任編輯：何平 發財後臺 乾坤 著 。 ，".split(),
        *"新华社江城12月1日电 （记者方晓） 本报讯 据江城网消息， 责任编辑：何平 来源：江城网 （完）".split(),
        *"\n \u3000 \u200b \x00 \ud800 \udc00 \u2028".split(" "),
    ]
)
TEXTS = st.one_of(st.text(), st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=40).map("".join))


@pytest.mark.parametrize("case", sentences("clean_title"))
def test_a_headline_is_cleaned(case):
    assert clean_title(case["raw"]) == case["clean"]


@pytest.mark.parametrize("case", sentences("clean_body"))
def test_a_body_is_cleaned(case):
    assert clean_body(case["raw"]) == case["clean"]


@pytest.mark.parametrize("clean", [clean_title, clean_body, clean_news])
@given(text=TEXTS)
@settings(deadline=None)
def test_cleaning_again_changes_nothing(clean, text):
    once = clean(text)
    assert clean(once) == once


@pytest.mark.parametrize("clean", [clean_title, clean_body])
@given(text=TEXTS)
@settings(deadline=None)
def test_what_is_cleaned_can_be_stored_and_shows(clean, text):
    cleaned = clean(text)
    cleaned.encode()
    assert not INVISIBLE.search(cleaned)
    assert cleaned == cleaned.strip()


@pytest.mark.parametrize(
    "text",
    ["<" * 200_000, "&" * 200_000, "&amp;" * 40_000, "【快讯】" * 50_000, "(图)" * 60_000, "\n " * 100_000,
     "<p>" * 60_000, "责任编辑：甲\n" * 25_000, "-中新网" * 50_000, "1,000," * 30_000, "發" * 200_000],
    ids=lambda text: text[:6].strip() or "lines",
)  # fmt: skip
def test_200_000_characters_of_one_thing_end_in_time(text):
    assert clean_body(clean_body(text)) == clean_body(text)
    assert clean_title(clean_title(text)) == clean_title(text)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("央行：下调 0.5 个百分点！", "央行下调0.5个百分点"),
        ("比分3:2。", "比分3:2"),
        ("共12,000人", "共12000人"),
        ("气温-3℃", "气温-3"),
        ("a_b-c", "abc"),
        ("ABC公司", "abc公司"),
        ("5%", "5%"),
        ("……！？", ""),
        ("1,2,3", "1,2,3"),
    ],
)
def test_a_skeleton_keeps_letters_and_numbers(text, bare):
    assert skeleton(text) == bare
