"""One incoming article, checked: whatever the door, only what both databases can hold gets past here."""

import dataclasses
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from articles.models.news import EXTERNAL_ID_LENGTH, SOURCE_LENGTH, TITLE_LENGTH, URL_LENGTH

FIELDS = ("external_id", "title", "content", "source", "url", "published_at")
LENGTHS = {
    "external_id": EXTERNAL_ID_LENGTH,
    "title": TITLE_LENGTH,
    "source": SOURCE_LENGTH,
    "url": URL_LENGTH,
}
CONTENT_BYTES = 2 * 1024 * 1024
"""The longest content in bytes of UTF-8. A statement must stay below MySQL's 16 MiB even when escaped."""

# The column names understood for each field. Where a row has several of them the first one counts.
NAMES = {
    "external_id": (
        "external_id",
        "编号",
        "文章编号",
        "外部编号",
        "externalid",
        "article_id",
        "news_id",
        "id",
    ),
    "title": ("title", "标题", "新闻标题", "文章标题", "题目", "headline"),
    "content": ("content", "正文", "内容", "新闻正文", "新闻内容", "文章内容", "body", "text"),
    "source": ("source", "来源", "新闻来源", "媒体", "媒体名称", "media"),
    "url": ("url", "链接", "网址", "原文链接", "link", "href"),
    "published_at": (
        *(
            "published_at",
            "发布时间",
            "发表时间",
            "发布日期",
            "时间",
            "日期",
            "published",
            "pubdate",
            "pub_date",
        ),
        *("publish_time", "publish_date", "datetime", "date", "time"),
    ),
}
_RANKS = {name: (rank, key) for key, names in NAMES.items() for rank, name in enumerate(names)}

_MAX_NAME_LENGTH = 64

BAD_BYTES = "\udcff"
"""Stands in a decoded text for bytes that are no text; never in a text that was accepted."""
FIRST_YEAR, LAST_YEAR = 1000, 9998
"""MySQL's first year; and the last one that has a tomorrow in every time zone."""
_SURROGATE = re.compile("[\ud800-\udfff]")

# code -> (reason, remedy)
PROBLEMS = {
    "nul": (
        gettext_noop("contains a NUL byte"),
        gettext_noop("remove the NUL byte"),
    ),
    "bad_bytes": (
        gettext_noop("contains bytes that are not valid %(encoding)s"),
        gettext_noop("save the file as UTF-8 again from where the article came"),
    ),
    "surrogate": (
        gettext_noop("contains half a surrogate pair, which is no character"),
        gettext_noop("remove it, or write the whole character, such as an emoji"),
    ),
    "too_long": (
        gettext_noop("has %(length)s characters, at most %(limit)s are allowed"),
        gettext_noop("shorten it"),
    ),
    "too_large": (
        gettext_noop("has %(length)s bytes, at most %(limit)s are allowed"),
        gettext_noop("shorten it; embedded pictures are the usual cause"),
    ),
    "empty": (
        gettext_noop("has neither a title nor a content"),
        gettext_noop("give it at least one of them"),
    ),
    "bad_date": (
        gettext_noop("the date “%(value)s” is not understood"),
        gettext_noop("write it like 2026-11-28 09:15:00, or leave it empty"),
    ),
    "date_range": (
        gettext_noop("the date “%(value)s” lies outside the years 1000 to 9998"),
        gettext_noop("correct it, or leave it empty"),
    ),
    "not_text": (
        gettext_noop("is neither a text nor a number"),
        gettext_noop("write it in quotation marks"),
    ),
    "no_field": (
        gettext_noop("the row has no “%(name)s”"),
        gettext_noop("name it “%(name)s”; leave its value empty where there is none"),
    ),
    "header": (
        gettext_noop("repeats the header"),
        gettext_noop("leave this line out"),
    ),
    "cells": (
        gettext_noop("has %(found)s cells where the header has %(wanted)s"),
        gettext_noop("put a cell that contains the separator or a line break into quotation marks"),
    ),
    "quotes": (
        gettext_noop("a quotation mark opens or closes in the wrong place"),
        gettext_noop("double each quotation mark inside a quoted cell"),
    ),
    "line_length": (
        gettext_noop("is longer than %(limit)s characters"),
        gettext_noop("split or shorten the article"),
    ),
    "bad_json": (
        gettext_noop("is not a JSON object: %(error)s"),
        gettext_noop("write one object in braces per line"),
    ),
}


@dataclass(frozen=True, slots=True)
class Payload:
    """One article as a crawler, a file or the API gives it. published_at is aware, or None: undated."""

    title: str
    content: str
    source: str = ""
    url: str = ""
    external_id: str = ""
    published_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a row: a code with parameters, put into words when it is shown."""

    code: str
    field: str = ""
    params: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def reason(self) -> str:
        return gettext(PROBLEMS[self.code][0]) % self.params

    @property
    def remedy(self) -> str:
        return gettext(PROBLEMS[self.code][1]) % self.params


class BadRowError(ValueError):
    def __init__(self, code: str, field: str = "", **params: Any) -> None:
        super().__init__(code)
        self.problem = Problem(code, field, params)


def known_name(name: str) -> tuple[int, str] | None:
    """What field a column or key stands for, with its rank among the names of that field; None: none."""
    # The cache must not keep what a hostile file uses for keys.
    return _rank(name) if len(name) <= _MAX_NAME_LENGTH else None


@lru_cache(maxsize=1024)
def _rank(name: str) -> tuple[int, str] | None:
    return _RANKS.get(unicodedata.normalize("NFKC", name).replace("\ufeff", "").strip().lower())


def build(values: Mapping[str, Any], source: str = "") -> Payload:
    """A payload from values by field name; `source` is for rows that name none.

    Raises:
        BadRowError: the first problem found, with its field.
    """
    texts = {name: _text(name, values.get(name)) for name in FIELDS[:-1]}
    if not (texts["title"] or texts["content"].strip()):
        raise BadRowError("empty", "title")
    texts["source"] = texts["source"] or source
    for name, limit in LENGTHS.items():
        if len(texts[name]) > limit:
            raise BadRowError("too_long", name, length=len(texts[name]), limit=limit)
    # No character has more than four bytes, so most contents need no encoding to be measured.
    if len(texts["content"]) > CONTENT_BYTES // 4:
        size = len(texts["content"].encode())
        if size > CONTENT_BYTES:
            raise BadRowError("too_large", "content", length=size, limit=CONTENT_BYTES)
    return Payload(published_at=_date(values.get("published_at")), **texts)


def _is_missing(value: Any) -> bool:
    """Whether it is nothing: None, or the NaN that pandas and others write for it."""
    return value is None or value != value


def _text(name: str, value: Any) -> str:
    if _is_missing(value):
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadRowError("not_text", name)
    text = str(value)
    if "\0" in text:
        raise BadRowError("nul", name)
    # An ASCII or Latin text cannot hold one, and isascii() costs nothing.
    if not text.isascii() and _SURROGATE.search(text):
        raise BadRowError("surrogate", name)
    return text if name == "content" else text.strip()


# --- Dates ------------------------------------------------------------------------------------------------

_NUMBER = re.compile(r"[+-]?\d{1,16}(\.\d+)?")
_LOCAL = re.compile(
    r"(?P<year>\d{4})[-/.年](?P<month>\d{1,2})[-/.月](?P<day>\d{1,2})日?"
    r"(?:[T\s]*(?P<hour>\d{1,2})[:时点](?P<minute>\d{1,2})(?:[:分](?P<second>\d{1,2})(?:\.\d+)?秒?|分)?)?"
)
_MAIL = re.compile(r"(?:[A-Za-z]{3,9},?\s+)?\d{1,2}\s+[A-Za-z]{3,9}\s+\d{4}\s+\d{1,2}:\d{2}.*")
_ZONE_GAP = re.compile(r"\s+(?=[+-]\d{2}:?\d{2}$)")
_MAX_DATE_LENGTH = 64


def parse_date(value: str | int | float, zone: tzinfo | None = None) -> datetime | None:
    """A date as crawlers write it, in UTC; None for an empty one.

    Understood are ISO 8601 with or without zone, 2026/11/28 9:15, 2026年11月28日 09:15, RFC 2822, and
    seconds or milliseconds since 1970. A date without a zone is local: `zone`, else settings.TIME_ZONE.

    Raises:
        ValueError: it is none of these.
        OverflowError: it is none of the years 1000 to 9998.
    """
    text = unicodedata.normalize("NFKC", str(value)).strip()
    if not text:
        return None
    if len(text) > _MAX_DATE_LENGTH:
        raise ValueError(value)
    found = _parse(text)
    if found.tzinfo is None:
        found = found.replace(tzinfo=zone or timezone.get_default_timezone())
    found = found.astimezone(UTC)
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise OverflowError(value)
    return found


def _parse(text: str) -> datetime:
    if _NUMBER.fullmatch(text):
        return _from_number(text)
    try:
        return datetime.fromisoformat(_ZONE_GAP.sub("", text))
    except ValueError:
        pass
    if match := _LOCAL.fullmatch(text):
        return datetime(*map(int, match.groups(default="0")))  # type: ignore[arg-type]
    if _MAIL.fullmatch(text):
        found = parsedate_to_datetime(text)
        # "-0000" means UTC by a sender that does not know its own zone.
        return found.replace(tzinfo=UTC) if text.endswith("-0000") else found
    raise ValueError(text)


def _from_number(text: str) -> datetime:
    digits = text.partition(".")[0]
    if len(digits) in (8, 12, 14) and digits.isdigit() and digits[:2] in ("19", "20") and digits == text:
        return datetime.strptime(digits, "%Y%m%d%H%M%S"[: len(digits) - 2])
    whole = len(digits.lstrip("+-"))
    unit = 1 if whole <= 10 else 1_000 if whole <= 13 else 1_000_000
    return datetime.fromtimestamp(float(text) / unit, UTC)


def _date(value: Any) -> datetime | None:
    if _is_missing(value):
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadRowError("not_text", "published_at")
    # Not the value as it came: a huge one would make the reject huge.
    shown = _SURROGATE.sub("?", str(value))[:_MAX_DATE_LENGTH]
    try:
        return parse_date(value)
    except OverflowError:
        raise BadRowError("date_range", "published_at", value=shown) from None
    except (ValueError, TypeError, IndexError, OSError):
        raise BadRowError("bad_date", "published_at", value=shown) from None
