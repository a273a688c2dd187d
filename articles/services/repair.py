"""Rows that SQL wrote and Django cannot read: only on SQLite, which stores anything in any column.

MariaDB refuses such values at the INSERT. Here a single one would stop each run and each page that meets it.
"""

import logging
from collections.abc import Collection
from typing import Any

from django.db import OperationalError, connection
from django.db.models import QuerySet
from django.utils.dateparse import parse_datetime

from articles.services import sql

logger = logging.getLogger(__name__)

TEXTS = ("title", "content", "source", "url", "external_id")
# What reading a row raises: bytes that are no UTF-8, dates that are none.
UNREADABLE = (OperationalError, ValueError, TypeError, AttributeError)


def read(rows: QuerySet[Any, Any], ids: Collection[int]) -> list[Any]:
    """The rows of the query; where one of these articles cannot be read, it is mended before.

    Raises:
        OperationalError: the query failed for another reason.
    """
    try:
        found = list(rows)
        if not any(map(_has_bytes, found)):
            return found
    except UNREADABLE:
        if not mend(ids):
            raise
    else:
        mend(ids)
    return list(rows.all())


def mend(ids: Collection[int]) -> int:
    """Make texts of bytes, and no dates of what is none. Returns the number of rows mended."""
    if connection.vendor != "sqlite":
        return 0
    # As hexadecimal digits anything can be read.
    columns = ", ".join(f"typeof({name}), hex({name})" for name in (*TEXTS, "published_at"))
    rows = sql.select_in(f"SELECT id, {columns} FROM news WHERE id IN ({{values}})", ids)
    return sum(_mend(row[0], list(zip(row[1::2], row[2::2], strict=True))) for row in rows)


def _mend(id_: int, cells: list[tuple[str, str]]) -> bool:
    *texts, (date_type, date) = [(type_, bytes.fromhex(digits)) for type_, digits in cells]
    wrong: dict[str, Any] = {
        name: _text(raw)
        for name, (type_, raw) in zip(TEXTS, texts, strict=True)
        if type_ == "blob" or _is_no_utf8(raw)
    }
    if date_type != "null" and not _is_date(date_type, date):
        wrong["published_at"] = None
    if wrong:
        columns = ", ".join(f"{name} = %s" for name in wrong)
        sql.write_many(f"UPDATE news SET {columns} WHERE id = %s", [(*wrong.values(), id_)])
        logger.warning(
            "article %d was written by SQL and could not be read; mended: %s", id_, ", ".join(wrong)
        )
    return bool(wrong)


def _has_bytes(row: Any) -> bool:
    cells = row if isinstance(row, tuple) else vars(row).values()
    return any(isinstance(cell, bytes) for cell in cells)


def _is_no_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return True
    return False


def _text(raw: bytes) -> str:
    """What crawlers of Chinese pages forget to decode is UTF-8 or GB18030."""
    for encoding in ("utf-8", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            pass
    return raw.decode(errors="replace")


def _is_date(type_: str, raw: bytes) -> bool:
    try:
        return type_ == "text" and parse_datetime(raw.decode()) is not None
    except ValueError:
        return False
