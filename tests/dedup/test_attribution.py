import doctest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from articles.dedup import attribution
from articles.dedup.attribution import ENDS, Article, attribute, credits
from tests.dedup.cases import load

LEAD = "江城日报江城12月1日电（记者 林越）渡口今晨恢复通航。"
CASES = load("attribution")
PIECES = st.sampled_from(
    "据 来源： 转自 江城日报 新华社 （ ） 【 】 12月1日电 报道 记者 《 》 \n 。 ， - _ 电视".split(" ")
)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_what_a_copy_says_of_its_origin(case):
    lead = Article(case.get("lead_source", "江城日报"), "渡口复航", case.get("lead", LEAD))
    copy = Article(case.get("source", "北岸新闻网"), case.get("title", "渡口复航"), case["text"])
    said = attribute(lead, copy)
    assert (said.kind, said.phrase) == (case["kind"], case.get("phrase", ""))


def test_credits_stand_at_both_ends_of_a_long_text():
    lead = Article("江城日报", "渡口复航", LEAD)
    middle = "渡口今晨恢复通航。" * ENDS
    assert attribute(lead, Article("北岸新闻网", "", f"{middle}\n来源：江城日报")).kind == "source"
    assert attribute(lead, Article("北岸新闻网", "", f"据江城日报报道，{middle}")).kind == "source"


def test_whom_an_article_names():
    article = Article(
        "北岸新闻网", "", "中新网江城12月1日电 据江城日报报道，渡口复航。据外媒报道，无人受伤。"
    )
    assert credits(article) == [("中新网", "中新网江城12月1日电"), ("江城日报", "据江城日报报道")]


@given(text=st.lists(PIECES, max_size=30).map("".join), source=st.text(max_size=8))
@settings(deadline=None)
def test_any_text_and_any_name_get_an_answer(text, source):
    said = attribute(Article(source, "渡口复航", LEAD), Article("北岸新闻网", text, text))
    assert said.kind in ("own", "source", "agency", "other", "itself", "dropped")
    assert said.kind not in ("own", "dropped") or not said.phrase


@pytest.mark.parametrize("piece", ["据", "来源：", "（", "江城日报", "据江城日报", "转自《", "社", "\n "])
def test_200_000_characters_of_one_thing_end_in_time(piece):
    attribute(Article("江城日报", "", LEAD), Article("北岸新闻网", piece * 50, piece * 50_000))


def test_the_examples_run():
    assert doctest.testmod(attribution).failed == 0
