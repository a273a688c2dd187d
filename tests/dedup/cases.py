"""Test cases kept as data: tests/cases/*.json, written for this project."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from opencc import OpenCC

from articles.dedup.clean import clean_body, clean_title
from articles.dedup.evidence import Text
from articles.dedup.verdict import Item

CASES = Path(__file__).resolve().parent.parent / "cases"
PUBLISHED = datetime(2025, 12, 1, 8)
FULL_WIDTH = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)})
ASCII = str.maketrans({"，": ",", "。": ".", "：": ":", "；": ";", "“": '"', "”": '"', "！": "!"})


def load(name: str) -> Any:
    return json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))


STORIES: dict[str, dict[str, str]] = load("stories")


def sentences(name: str) -> list[Any]:
    """The cases of a file as parameters that read as a sentence in the test's report."""
    return [pytest.param(case, id=case.get("name") or describe(case)) for case in load(name)]


def describe(case: dict[str, Any]) -> str:
    return f"{case['story']}: " + ", ".join(f"{new} for {old}" for old, new in case["replace"])


def story(name: str) -> tuple[str, str]:
    return STORIES[name]["title"], STORIES[name]["body"]


def item(title: str, body: str, source: str = "", days: float | None = 0) -> Item:
    """A raw article as the judge gets it; `days` after the first one, None where undated."""
    published = None if days is None else PUBLISHED + timedelta(days=days)
    return Item(Text(clean_title(title), clean_body(body)), source, published)


def replaced(case: dict[str, Any]) -> tuple[str, str]:
    """A story with other words in the place of some."""
    title, body = story(case["story"])
    for old, new in case["replace"]:
        title, body = title.replace(old, new), body.replace(old, new)
    return title, body


def edited(case: dict[str, Any]) -> tuple[str, str]:
    """A story as another outlet prints it."""
    title, body = story(case["story"])
    title = case.get("title", "{title}").format(title=title)
    body = case.get("body", "{body}").replace("{body}", body)
    convert = CONVERSIONS[case["convert"]] if "convert" in case else lambda text: text
    return convert(title), convert(body)


def cut_last_sentence(text: str) -> str:
    parts = text.split("。")
    return "。".join(parts[:-2]) + "。" if len(parts) > 2 else text


CONVERSIONS = {
    "traditional": OpenCC("s2t").convert,
    "full_width": lambda text: text.translate(FULL_WIDTH),
    "zero_width": "\u200b".join,
    "ascii_punctuation": lambda text: text.translate(ASCII),
    "last_sentence_cut": cut_last_sentence,
}
