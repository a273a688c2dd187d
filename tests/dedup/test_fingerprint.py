import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from articles.dedup.clean import clean_body, clean_title
from articles.dedup.fingerprint import (
    BAND_BITS,
    BANDS,
    LONGEST_SKETCH,
    SKETCH_SIZE,
    band_probes,
    fingerprint,
    hamming_distance,
    shingle_hashes,
    simhash,
    split_bands,
    unsigned_to_signed,
)
from articles.dedup.furniture import Furniture
from tests.dedup.cases import STORIES, story

VALUES = st.integers(0, 2**64 - 1)


def meets(one: int, other: int) -> bool:
    """Whether looking up `one` finds `other`: some band of it is among the probes of that band."""
    return any(
        band in band_probes(probed) for band, probed in zip(split_bands(other), split_bands(one), strict=True)
    )


def test_every_way_to_spread_seven_bits_over_the_bands_leaves_one_with_at_most_one():
    """The proof of the probes: a pair meets where a band differs in at most one bit."""
    spreads = (
        (a, b, c, distance - a - b - c)
        for distance in range(8)
        for a in range(distance + 1)
        for b in range(distance + 1 - a)
        for c in range(distance + 1 - a - b)
    )
    assert all(min(spread) <= 1 for spread in spreads)


@pytest.mark.parametrize("distance", [0, 1, 2, 3])
def test_probes_find_all_values_at_a_small_distance(distance):
    value = 0x0123_4567_89AB_CDEF
    for bits in combinations(range(BANDS * BAND_BITS), distance):
        assert meets(value, value ^ sum(1 << bit for bit in bits))


@pytest.mark.parametrize("distance", [4, 5, 6, 7])
def test_probes_find_values_at_the_limit(distance):
    rng = random.Random(distance)
    for _ in range(5_000):
        value = rng.getrandbits(64)
        bits = rng.sample(range(64), distance)
        assert meets(value, value ^ sum(1 << bit for bit in bits))


def test_distance_eight_may_be_missed():
    assert not meets(0, 0x0003_0003_0003_0003)


def test_each_band_has_seventeen_probes():
    assert len(set(band_probes(0xFFFF))) == 17
    assert all(0 <= probe < 1 << BAND_BITS for probe in band_probes(0xFFFF))


@given(VALUES)
def test_bands_are_the_value_in_four_pieces(value):
    assert sum(band << (BAND_BITS * place) for place, band in enumerate(split_bands(value))) == value


@given(VALUES, VALUES)
def test_distance_counts_bits(one, other):
    assert hamming_distance(one, other) == hamming_distance(other, one) == bin(one ^ other).count("1")


@given(st.lists(VALUES))
def test_signed_values_keep_their_bits(values):
    assert [value % 2**64 for value in unsigned_to_signed(values)] == values
    assert all(-(2**63) <= value < 2**63 for value in unsigned_to_signed(values))


@pytest.mark.parametrize("name", STORIES)
def test_punctuation_width_and_labels_change_no_fingerprint(name):
    title, body = story(name)
    plain = fingerprint(clean_title(title), clean_body(body))
    edited = fingerprint(clean_title(f"【快讯】{title}！"), clean_body(body.replace("，", ",")))
    assert edited == plain


def test_the_textbook_pair_has_one_fingerprint():
    title = "央行宣布下调存款准备金率0.5个百分点"
    assert simhash(clean_title(f"【快讯】{title}！")) == simhash(title)


def test_other_headlines_are_far_apart():
    distance = hamming_distance(
        simhash("央行宣布下调存款准备金率0.5个百分点"), simhash("油价迎来年内第七次上调")
    )
    assert distance > 7


@pytest.mark.parametrize("text", ["", "图", "的了在", "！！！", "快讯"])
def test_too_little_text_has_no_simhash(text):
    assert simhash(text) is None


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_a_shorter_simhash_is_the_top_of_the_long_one(bits):
    text = STORIES["oil"]["body"]
    assert simhash(text, bits) == simhash(text) >> (64 - bits)


@pytest.mark.parametrize("bits", [0, 7, 65])
def test_other_lengths_are_refused(bits):
    with pytest.raises(ValueError, match="bits must be"):
        simhash("江城地铁开通", bits)


def test_a_text_and_most_of_it_share_a_sketch():
    body = clean_body(" ".join(story["body"] for story in STORIES.values()))
    whole, part = (set(fingerprint("", text).sketch) for text in (body, body[: len(body) * 3 // 4]))
    assert len(whole) >= SKETCH_SIZE
    assert len(whole & part) >= 8


def test_a_sketch_is_ascending_and_bounded():
    bodies = [clean_body(body) for _, body in map(story, STORIES)]
    for body in [*bodies, "".join(bodies), "".join(bodies) * 50, "".join(map(chr, range(0x4E00, 0x9000)))]:
        sketch = fingerprint("", body).sketch
        assert list(sketch) == sorted(set(sketch))
        assert len(sketch) <= LONGEST_SKETCH


def test_a_short_passage_finds_the_long_text_that_it_stands_in():
    long_text = "".join(clean_body(body) for _, body in map(story, STORIES))
    passages = [long_text[place : place + 120] for place in range(0, len(long_text) - 120, 120)]
    whole = set(fingerprint("", long_text).sketch)
    found = sum(not whole.isdisjoint(fingerprint("", passage).sketch) for passage in passages)
    assert found >= 0.7 * len(passages) > 0


@pytest.mark.parametrize("size", [1, 2, 4, 5, 8])
def test_equal_shingles_have_equal_hashes(size):
    text = "江城地铁五号线月底开通江城地铁五号线"
    hashes = shingle_hashes(text, size).tolist()
    shingles = [text[place : place + size] for place in range(len(text) - size + 1)]
    assert len(hashes) == len(shingles)
    assert len(set(hashes)) == len(set(shingles))
    assert all(
        (hashes[0] == value) == (shingles[0] == one) for value, one in zip(hashes, shingles, strict=True)
    )


def test_furniture_changes_no_fingerprint():
    title, body = (clean(text) for clean, text in zip((clean_title, clean_body), story("oil"), strict=True))
    notice = "欢迎广大网友监督本网站。"
    furniture = Furniture.of([notice])
    assert fingerprint(title, f"{body}\n{notice}", furniture) == fingerprint(title, body)


@given(st.text(), st.text())
@settings(deadline=None)
def test_any_text_has_a_fingerprint(title, body):
    found = fingerprint(title, body)
    assert found == fingerprint(title, body)
    assert found.simhash is None or 0 <= found.simhash < 2**64
