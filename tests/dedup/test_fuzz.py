"""The whole core on made-up texts: any characters, any length, and versions of one story."""

from dataclasses import fields

from hypothesis import given, settings
from hypothesis import strategies as st

from articles.dedup.clean import clean_body, clean_title
from articles.dedup.evidence import Text
from articles.dedup.fingerprint import fingerprint
from articles.dedup.furniture import Sample, learn
from articles.dedup.verdict import KINDS, Item, judge
from tests.dedup.cases import STORIES, item

LONGEST = 200_000
# Surrogates too: a text that was never decoded properly has them.
ANY = st.text(st.characters(exclude_categories=()), max_size=40)
PARTS = st.lists(ANY | st.sampled_from([story["body"] for story in STORIES.values()]), min_size=1, max_size=5)


def filled(parts, length):
    block = "".join(parts) or "。"
    return (block * (length // len(block) + 1))[:length]


LONG = st.builds(filled, PARTS, st.integers(0, LONGEST))

SENTENCES = [part + "。" for story in STORIES.values() for part in story["body"].split("。") if part.strip()]
CHANGES = st.sampled_from(
    [
        ("1", "2"),
        ("5", "50"),
        ("上调", "下调"),
        ("江城", "云州"),
        ("12月", "11月"),
        ("将", "不会"),
        ("，", "、"),
    ]
)


@st.composite
def versions(draw):
    """A story as some outlet has it: sentences left out, moved, added, and words replaced."""
    story = STORIES[draw(st.sampled_from(["oil", "bridge", "court"]))]
    own = [part + "。" for part in story["body"].split("。") if part.strip()]
    kept = draw(st.lists(st.sampled_from(own), max_size=len(own), unique=True))
    if draw(st.booleans()):
        kept.sort(key=own.index)
    text = "".join(kept + draw(st.lists(st.sampled_from(SENTENCES), max_size=4)))
    title = draw(st.sampled_from([story["title"], kept[0] if kept else "", text[:20], "早间新闻"]))
    for old, new in draw(st.lists(CHANGES, max_size=2)):
        title, text = title.replace(old, new), text.replace(old, new)
    source, days = (
        draw(st.sampled_from(["", "江城日报", "云州晚报"])),
        draw(st.sampled_from([None, 0, 1, 40])),
    )
    return item(title, text, source, days)


@given(LONG, LONG, ANY)
@settings(deadline=None, max_examples=25)
def test_articles_up_to_200_000_characters_go_through_the_whole_core(left, right, title):
    bodies = [clean_body(text) for text in (left, right)]
    assert [clean_body(text) for text in bodies] == bodies
    cleaned = clean_title(title)
    assert clean_title(cleaned) == cleaned
    assert fingerprint(cleaned, bodies[0]) == fingerprint(cleaned, bodies[0])
    learn([Sample(cleaned, body) for body in bodies])
    assert judge(*(Item(Text(cleaned, body)) for body in bodies)).kind in KINDS


@given(LONG, LONG, ANY)
@settings(deadline=None, max_examples=25)
def test_texts_that_were_never_cleaned_are_judged_too(left, right, title):
    fingerprint(title, left)
    assert judge(Item(Text(title, left)), Item(Text("", right))).kind in KINDS


@given(versions(), versions())
@settings(deadline=None, max_examples=300)
def test_swapping_two_versions_of_a_story_swaps_the_sides_of_everything(left, right):
    one, other = judge(left, right), judge(right, left)
    assert (one.kind, one.score, one.keeps_apart, one.partial) == (
        *(other.kind, other.score, other.keeps_apart, other.partial),
    )
    assert list(other.reasons) == [swapped(reason) for reason in one.reasons]
    for field in fields(one.evidence):
        assert getattr(one.evidence, field.name) == getattr(other.evidence, across(field.name))


def swapped(reason):
    return {**reason, "left": reason["right"], "right": reason["left"]} if "left" in reason else reason


def across(name):
    """The same value of the other side: lead_left of lead_right, and what has no side of itself."""
    if "left" in name:
        return name.replace("left", "right")
    return name.replace("right", "left")
