"""Files of news -> rows, one at a time: CSV and JSON lines in the encodings that Chinese files come in.

Memory does not grow with the file. A row that cannot be used comes out as a Reject and stops nothing.
"""

import codecs
import csv
import io
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TextIO

from django.utils.translation import gettext, gettext_noop

from articles.services.payloads import (
    BAD_BYTES,
    FIELDS,
    NAMES,
    BadRowError,
    Payload,
    Problem,
    build,
    known_name,
)

RECORD_LENGTH = 8 * 1024 * 1024
"""The longest row in characters. The largest content fits in it even when all of it is escaped."""
CHUNK = 1024 * 1024
SHOWN_LENGTH = 200
DELIMITERS = (",", ";", "\t")
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
JSON_COLUMNS = (*FIELDS, "line")
REQUIRED = ("title", "content")
# Often enough for a progress bar, seldom enough to cost nothing.
TELL_EVERY = 100

FILE_PROBLEMS = {
    "missing": gettext_noop("%(path)s: there is no such file"),
    "not_a_file": gettext_noop("%(path)s is not a file"),
    "unreadable": gettext_noop("%(path)s cannot be read: %(error)s"),
    "empty": gettext_noop("%(path)s is empty"),
    "workbook": gettext_noop("%(path)s is an Excel workbook: save it as “CSV UTF-8” first"),
    "compressed": gettext_noop("%(path)s is compressed: unpack it first"),
    "json_array": gettext_noop(
        "%(path)s holds one JSON array: write one object per line instead (JSON lines)"
    ),
    "columns": gettext_noop("%(path)s lacks a column for %(missing)s. Found: %(found)s. Wanted: %(wanted)s."),
    "twice": gettext_noop("%(path)s has the column “%(name)s” twice"),
}
_SIGNATURES = {
    b"PK\x03\x04": "compressed",
    b"\xd0\xcf\x11\xe0": "workbook",
    b"\x1f\x8b": "compressed",
    b"BZh": "compressed",
    b"\xfd7zXZ": "compressed",
    b"7z\xbc\xaf": "compressed",
    b"Rar!": "compressed",
    b"\x28\xb5\x2f\xfd": "compressed",
}
# A workbook is a zip archive with one of these among its first parts, whoever wrote it.
_WORKBOOK_PARTS = (b"[Content_Types].xml", b"_rels/", b"docProps/", b"xl/", b"opendocument.spreadsheet")


class FileProblemError(Exception):
    """The file as a whole cannot be used; str() says why and what to do."""

    def __init__(self, code: str, path: Path, **params: Any) -> None:
        super().__init__(code)
        self.code = code
        self.params = {"path": path.name, **params}

    def __str__(self) -> str:
        return gettext(FILE_PROBLEMS[self.code]) % self.params


@dataclass(frozen=True, slots=True)
class Row:
    """An article and the line of the file on which it begins, counted from 1."""

    number: int
    payload: Payload


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that cannot be used: where it begins, why, and its cells as they were under their columns."""

    number: int
    problem: Problem
    columns: tuple[str, ...]
    cells: tuple[str, ...]


def read_rows(
    path: str | Path, on_bytes: Callable[[int], None] | None = None, source: str = ""
) -> Iterator[Row | Reject]:
    """The rows of a file in order.

    Args:
        on_bytes: called now and then with the number of bytes read so far, and once more at the end.
        source: of the rows that name none.

    Raises:
        FileProblemError: the file cannot be read, or holds nothing of what is wanted.
    """
    path = Path(path)
    try:
        head = read_head(path)
        encoding = detect_encoding(path, head)
        with path.open("rb") as binary:
            text = io.TextIOWrapper(binary, encoding, errors=_ERRORS, newline="")
            rows = _rows(text, path, head, encoding, source)
            for count, row in enumerate(rows):
                yield row
                if on_bytes and count % TELL_EVERY == 0:
                    on_bytes(binary.tell())
            if on_bytes:
                on_bytes(binary.tell())
    except OSError as error:
        raise FileProblemError("unreadable", path, error=error.strerror or error) from error


def _rows(text: TextIO, path: Path, head: bytes, encoding: str, source: str) -> Iterator[Row | Reject]:
    start = head.decode(encoding, "replace").lstrip("\ufeff \t\r\n")
    if start.startswith("["):
        raise FileProblemError("json_array", path)
    if start.startswith("{") or path.suffix.lower() in JSON_SUFFIXES:
        return _json_rows(_Lines(text), encoding, source)
    return _CsvRows(_Lines(text), path, encoding, source).read()


def read_head(path: Path) -> bytes:
    """The first bytes of a file that may hold rows.

    Raises:
        FileProblemError: it is empty, missing, or of a kind that is no text.
    """
    if not path.exists():
        raise FileProblemError("missing", path)
    # Not a pipe either: the file is read twice.
    if not path.is_file():
        raise FileProblemError("not_a_file", path)
    with path.open("rb") as binary:
        head = binary.read(4096)
    if not head.strip():
        raise FileProblemError("empty", path)
    for signature, code in _SIGNATURES.items():
        if head.startswith(signature):
            is_workbook = head.startswith(b"PK") and any(part in head for part in _WORKBOOK_PARTS)
            raise FileProblemError("workbook" if is_workbook else code, path)
    return head


# --- Encoding ---------------------------------------------------------------------------------------------

_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_ASCII = bytes(range(128))
_ERRORS = "newsdedup.mark"
# Chinese text in GB18030 read as UTF-8 is wrong in three of four bytes and more; UTF-8 with a few
# characters cut in half is wrong in very few.
_FEW = 0.25


def _mark_bad_bytes(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return BAD_BYTES, error.end


codecs.register_error(_ERRORS, _mark_bad_bytes)


def detect_encoding(path: Path, head: bytes) -> str:
    """utf-8, utf-8-sig, utf-16 (-le, -be) or gb18030.

    The whole file decides: a long English beginning says nothing about the Chinese text that follows.
    """
    for bom, name in _BOMS.items():
        if head.startswith(bom):
            return name
    if b"\0" in head:
        for name in ("utf-16-le", "utf-16-be"):
            if _looks_like_news(head.decode(name, "replace")):
                return name
    wrong = _wrong_share(path, "utf-8")
    if wrong < _FEW or wrong <= _wrong_share(path, "gb18030"):
        return "utf-8"
    return "gb18030"


def _looks_like_news(text: str) -> bool:
    line = next(iter(text.strip().splitlines()), "")
    return line.startswith("{") or any(known_name(cell) for cell in _split(line, _delimiter(line)))


def _wrong_share(path: Path, encoding: str) -> float:
    """How many of the bytes beyond ASCII make no sense in an encoding, in 0..1."""
    decoder = codecs.getincrementaldecoder(encoding)("ignore")
    foreign = right = 0
    with path.open("rb") as binary:
        while chunk := binary.read(CHUNK):
            if chunk.isascii():
                decoder.reset()
                continue
            foreign += len(chunk.translate(None, _ASCII))
            right += len(decoder.decode(chunk).encode(encoding).translate(None, _ASCII))
    return 1 - right / foreign if foreign else 0.0


# --- Lines ------------------------------------------------------------------------------------------------


class _RecordTooLongError(Exception):
    pass


class _NeverClosedError(Exception):
    """A record goes on where an earlier one already went on and came to no good end."""


class _LongLine(str):
    """The beginning of a line that was too long to be kept; the rest has been skipped."""


class _Lines:
    """The physical lines of a text, numbered from 1, which may be taken back since the last start()."""

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self._again: deque[str] = deque()
        self._held: list[str] = []
        self._length = 0
        self.number = 0

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        # A record goes on to the next line only inside quotation marks. So did the one that was taken back,
        # and from there both read the same: this one would fail like it. Finding that out again for each
        # line would take hours for a file of such lines.
        if self._again and self._held:
            raise _NeverClosedError
        line = self._again.popleft() if self._again else self._read()
        self.number += 1
        self._held.append(line)
        self._length += len(line)
        if self._length > RECORD_LENGTH or isinstance(line, _LongLine):
            raise _RecordTooLongError
        return line

    def start(self) -> int:
        """Begin a record: earlier lines can no longer be taken back. Returns the number of its first line."""
        self._held.clear()
        self._length = 0
        return self.number + 1

    def take_back(self) -> str:
        """Give back all lines of this record but the first, which is returned."""
        first, *others = self._held
        self._again.extendleft(reversed(others))
        self.number -= len(others)
        return first

    def _read(self) -> str:
        line = self._text.readline(RECORD_LENGTH)
        if not line:
            raise StopIteration
        if len(line) < RECORD_LENGTH or line.endswith(("\n", "\r")):
            return line
        rest = line
        while rest and not rest.endswith(("\n", "\r")):
            rest = self._text.readline(RECORD_LENGTH)
        return _LongLine(line[:SHOWN_LENGTH])


def _line_problem(line: str) -> Problem:
    if isinstance(line, _LongLine):
        return Problem("line_length", params={"limit": RECORD_LENGTH})
    return Problem("quotes")


# --- CSV --------------------------------------------------------------------------------------------------


class _CsvRows:
    """The rows of a CSV file.

    The csv module alone would let one stray quotation mark swallow all rows up to the next one. Here it
    costs its own line: the error is noticed (strict), and reading goes on with the line after it.
    """

    def __init__(self, lines: _Lines, path: Path, encoding: str, source: str) -> None:
        self.lines = lines
        self.encoding = encoding
        self.source = source
        # Process-wide, and only ever raised: the default would end the file at a cell of 131,072 characters.
        csv.field_size_limit(max(RECORD_LENGTH, csv.field_size_limit()))
        header = self._header_line(path)
        self.delimiter = _delimiter(header)
        if told := _TOLD_DELIMITER.fullmatch(header.strip("\ufeff\r\n")):
            header = self._header_line(path)
            self.delimiter = told["mark"]
        self.columns = _names(_split(header, self.delimiter))
        self.places = self._find_places(path)

    def read(self) -> Iterator[Row | Reject]:
        reader = csv.reader(self.lines, delimiter=self.delimiter, strict=True)
        while True:
            number = self.lines.start()
            try:
                cells = next(reader)
            except StopIteration:
                return
            except (csv.Error, _RecordTooLongError, _NeverClosedError):
                line = self.lines.take_back()
                yield Reject(number, _line_problem(line), self.columns, (line.rstrip("\r\n"),))
                continue
            if cells:
                yield self._row(number, cells)

    def _row(self, number: int, cells: list[str]) -> Row | Reject:
        try:
            self._check_cells(cells)
            # Where files were put one after the other.
            if _names(cells) == self.columns:
                raise BadRowError("header")
            values = {name: cells[place] for name, place in self.places.items()}
            return Row(number, build(values, self.source))
        except BadRowError as error:
            return Reject(number, error.problem, self.columns, tuple(cells))

    def _check_cells(self, cells: list[str]) -> None:
        for place, cell in enumerate(cells):
            if BAD_BYTES in cell:
                name = self.columns[place] if place < len(self.columns) else ""
                raise BadRowError("bad_bytes", name, encoding=self.encoding.upper())
        # Separators at the end of a line are a habit of some programs and do no harm.
        if len(cells) < len(self.columns) or any(cells[len(self.columns) :]):
            raise BadRowError("cells", found=len(cells), wanted=len(self.columns))

    def _header_line(self, path: Path) -> str:
        try:
            while True:
                self.lines.start()
                if (line := next(self.lines)).strip():
                    return line
        except StopIteration:
            raise FileProblemError("empty", path) from None
        except _RecordTooLongError:
            self._lack(path, [], REQUIRED)

    def _find_places(self, path: Path) -> dict[str, int]:
        best: dict[str, tuple[int, int]] = {}
        for place, column in enumerate(self.columns):
            if not (known := known_name(column)):
                continue
            rank, name = known
            if name in best and best[name][0] == rank:
                raise FileProblemError("twice", path, name=column)
            best[name] = min(best.get(name, (rank, place)), (rank, place))
        if missing := [name for name in REQUIRED if name not in best]:
            self._lack(path, self.columns, missing)
        return {name: place for name, (_, place) in best.items()}

    def _lack(self, path: Path, found: Sequence[str], missing: Sequence[str]) -> NoReturn:
        shown = ", ".join(name[:40] for name in found[:30])
        # What a file without text holds must not steer the terminal.
        shown = "".join(sign if sign.isprintable() else "?" for sign in shown)
        wanted = ", ".join(f"{name} ({NAMES[name][1]})" for name in FIELDS)
        raise FileProblemError(
            "columns", path, missing=", ".join(missing), found=shown or "–", wanted=wanted
        ) from None


# The line with which Excel is told the separator.
_TOLD_DELIMITER = re.compile(r'"?sep=(?P<mark>[^"\r\n])"?[,;\s]*', re.IGNORECASE)


def _names(cells: Iterable[str]) -> tuple[str, ...]:
    return tuple(cell.strip().strip("\ufeff") for cell in cells)


def _delimiter(header: str) -> str:
    """The separator that makes the most known columns of a header."""
    return max(
        DELIMITERS, key=lambda mark: sum(known_name(cell) is not None for cell in _split(header, mark))
    )


def _split(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line.strip("\r\n")], delimiter=delimiter), [])
    except csv.Error:
        return [line]  # Of a file that is no text at all.


# --- JSON lines -------------------------------------------------------------------------------------------


def _json_rows(lines: _Lines, encoding: str, source: str) -> Iterator[Row | Reject]:
    while True:
        number = lines.start()
        try:
            line = next(lines)
        except StopIteration:
            return
        except _RecordTooLongError:
            line = lines.take_back()
            yield Reject(number, _line_problem(line), JSON_COLUMNS, _json_cells({}, line))
            continue
        if line := line.strip("\ufeff \t\r\n"):
            yield _json_row(number, line, encoding, source)


def _json_row(number: int, line: str, encoding: str, source: str) -> Row | Reject:
    values: Mapping[str, Any] = {}
    try:
        if BAD_BYTES in line:
            raise BadRowError("bad_bytes", encoding=encoding.upper())
        values = _json_values(line)
        for name in REQUIRED:
            if name not in values:
                raise BadRowError("no_field", name, name=name)
        return Row(number, build(values, source))
    except BadRowError as error:
        return Reject(number, error.problem, JSON_COLUMNS, _json_cells(values, line))


def _json_values(line: str) -> dict[str, Any]:
    try:
        # NaN and Infinity, which are no JSON, stand for what is missing.
        row = json.loads(line, parse_constant=lambda _: None)
    except RecursionError:
        raise BadRowError("bad_json", error="nested too deeply") from None
    except ValueError as error:
        raise BadRowError("bad_json", error=str(error)[:SHOWN_LENGTH]) from None
    if not isinstance(row, dict):
        raise BadRowError("bad_json", error=type(row).__name__)
    best: dict[str, tuple[int, Any]] = {}
    for key, value in row.items():
        if (known := known_name(key)) and (known[1] not in best or known[0] < best[known[1]][0]):
            best[known[1]] = (known[0], value)
    return {name: value for name, (_, value) in best.items()}


def _json_cells(values: Mapping[str, Any], line: str) -> tuple[str, ...]:
    """What was read as far as it was understood, else the line itself."""
    if not values:
        return (*("" for _ in FIELDS), line.rstrip("\r\n"))
    return (*("" if values.get(name) is None else str(values[name]) for name in FIELDS), "")
