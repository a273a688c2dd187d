import csv
import io
import json
import random
import tracemalloc
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.utils import translation

from articles.services import readers
from articles.services.payloads import (
    CONTENT_BYTES,
    FIELDS,
    NAMES,
    PROBLEMS,
    BadRowError,
    Problem,
    build,
    parse_date,
)
from articles.services.readers import FILE_PROBLEMS, FileProblemError, Reject, Row, read_rows
from articles.services.rejects import RejectsFile, rejects_path

HEADER = "external_id,title,content,source,url,published_at\n"
ROW = "a-1,滨江电车开通,首班车六点开出。,江城日报,https://news.example/1,2026-03-05 12:00:00\n"
ENGLISH = "".join(f"e-{n},Tram line {n} opened,The first tram left at six.,,,\n" for n in range(4000))


@pytest.fixture
def read(tmp_path):
    """Writes a file and reads it."""

    def read(data, name="news.csv", encoding="utf-8", **options):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode(encoding))
        return list(read_rows(path, **options))

    return read


def archive(*names):
    """A zip file of parts that hold as much as a small workbook's."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as parts:
        for name in names:
            parts.writestr(name, "<x/>" * 200)
    return stream.getvalue()


def titles(rows):
    return [row.payload.title for row in rows if isinstance(row, Row)]


def rejects(rows):
    return [(row.number, row.problem.field, row.problem.code) for row in rows if isinstance(row, Reject)]


def lines(*objects):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in objects)


# --- What is read -----------------------------------------------------------------------------------------


def test_a_csv_row_becomes_an_article(read):
    (row,) = read(HEADER + ROW)
    assert row.number == 2
    assert row.payload.title == "滨江电车开通"
    assert row.payload.external_id == "a-1"
    assert row.payload.published_at == datetime(2026, 3, 5, 4, 0, tzinfo=UTC)


def test_a_json_line_becomes_an_article(read):
    (row,) = read(lines({"编号": 17, "标题": "滨江电车开通", "正文": "首班车🚋六点开出。"}), "news.jsonl")
    assert (row.number, row.payload.external_id, row.payload.content) == (1, "17", "首班车🚋六点开出。")


@pytest.mark.parametrize(
    "header",
    [
        "编号,标题,正文,来源,链接,发布时间",
        "ID,Title,Content,Source,URL,Published_At",
        " external_id , title ,内容,媒体,网址,时间",
        '"external_id","title","body","来源","link","date"',
        "\ufeff编号;标题;正文;来源;链接;发布时间",
        "编号\t标题\t正文\t来源\t链接\t发布时间",
    ],
)
def test_columns_are_known_by_their_usual_names(read, header):
    delimiter = next(mark for mark in ";\t," if mark in header)
    assert titles(read(header + "\n" + ROW.replace(",", delimiter))) == ["滨江电车开通"]


def test_of_several_names_of_one_field_the_first_known_counts(read):
    (row,) = read("id,title,text,content,external_id\n7,标题,别的,正文,a-1\n")
    assert (row.payload.external_id, row.payload.content) == ("a-1", "正文")


def test_unknown_columns_are_ignored_in_any_order(read):
    assert titles(read("栏目,正文,row,标题\n要闻,正文一,3,标题一\n")) == ["标题一"]


def test_a_quoted_body_may_hold_separators_line_breaks_and_quotes(read):
    rows = read('title,content\n一,"第一段,\n第二段""好""\r\n"\n二,短\n')
    assert rows[0].payload.content == '第一段,\n第二段"好"\r\n'
    assert [row.number for row in rows] == [2, 5]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_in_any_way(read, end):
    assert titles(read(("title,content\n\n一,甲\n二,乙").replace("\n", end))) == ["一", "二"]


def test_the_given_source_is_for_rows_that_name_none(read):
    rows = read("title,content,source\n一,甲,\n二,乙,北岸网\n", source="江城日报")
    assert [row.payload.source for row in rows] == ["江城日报", "北岸网"]


def test_json_lines_are_known_by_their_content(read):
    assert titles(read(lines({"title": "一", "content": ""}), "news.txt")) == ["一"]


def test_separators_at_the_end_of_a_line_do_no_harm(read):
    assert titles(read("title,content\n一,甲,,\n")) == ["一"]


def test_progress_is_told_in_bytes_up_to_the_whole_file(read, tmp_path):
    told: list[int] = []
    read(HEADER + ROW * 5000, on_bytes=told.append)
    assert told == sorted(told)
    assert len(told) > 5
    assert told[-1] == (tmp_path / "news.csv").stat().st_size


def test_memory_does_not_grow_with_the_file(tmp_path):
    path = tmp_path / "news.jsonl"
    row = lines({"title": "一", "content": "滨江新区" * 500})
    with path.open("w", encoding="utf-8") as file:
        for _ in range(4000):
            file.write(row)
    tracemalloc.start()
    assert sum(1 for _ in read_rows(path)) == 4000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > 20_000_000
    assert peak < 8_000_000


# --- Encodings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["news.csv", "news.jsonl"])
def test_the_encoding_is_found(read, encoding, name):
    text = HEADER + ROW if name == "news.csv" else lines({"title": "滨江电车开通", "content": "首班车"})
    assert titles(read(text, name, encoding)) == ["滨江电车开通"]


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_the_encoding_is_found_where_chinese_comes_late(read, encoding):
    rows = read(HEADER + ENGLISH + ROW, encoding=encoding)
    assert len(HEADER + ENGLISH) > 100_000
    assert titles(rows)[-1] == "滨江电车开通"
    assert rejects(rows) == []


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_a_character_cut_in_half_costs_its_row_only(read, encoding):
    cut = "a-2,断字,半个".encode(encoding)[:-1] + b",,,\n"
    rows = read((HEADER + ROW).encode(encoding) + cut + (ROW * 3).encode(encoding))
    assert rejects(rows) == [(3, "content", "bad_bytes")]
    assert titles(rows) == ["滨江电车开通"] * 4


def test_every_row_cut_in_half_is_still_no_other_encoding(read):
    cut = "a,标题写得长一些,首班车六点从码头站开出的".encode()[:-1] + b",,,\n"
    rows = read(HEADER.encode() + cut * 50)
    assert {code for *_, code in rejects(rows)} == {"bad_bytes"}
    assert len(rows) == 50


def test_utf16_cut_in_half_costs_its_row_only(read):
    rows = read((HEADER + ROW + "a,末行,末").encode("utf-16") + b"\x4e")
    assert titles(rows) == ["滨江电车开通"]
    assert [number for number, *_ in rejects(rows)] == [3]


# --- Rows that cannot be used -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "field", "code"),
    [
        ({"title": "含\0字"}, "title", "nul"),
        ({"content": "含\0字"}, "content", "nul"),
        ({"title": "半\ud83d个"}, "title", "surrogate"),
        ({"title": "长" * 513}, "title", "too_long"),
        ({"title": "长" * 600}, "title", "too_long"),
        ({"source": "长" * 101}, "source", "too_long"),
        ({"url": "u" * 1001}, "url", "too_long"),
        ({"external_id": "i" * 191}, "external_id", "too_long"),
        ({"title": " \t", "content": "\n　"}, "title", "empty"),
        ({"content": "长" * (CONTENT_BYTES // 3 + 1)}, "content", "too_large"),
        ({"content": "x" * (CONTENT_BYTES + 1)}, "content", "too_large"),
        ({"published_at": "去年春天"}, "published_at", "bad_date"),
        ({"published_at": "0000-00-00 00:00:00"}, "published_at", "bad_date"),
        ({"published_at": "0999-12-30 00:00:00"}, "published_at", "date_range"),
        ({"published_at": True}, "published_at", "not_text"),
        ({"title": ["一", "二"]}, "title", "not_text"),
        ({"content": {"p": "一"}}, "content", "not_text"),
    ],
)
def test_a_value_that_cannot_be_stored_is_named_with_its_field(values, field, code):
    with pytest.raises(BadRowError) as caught:
        build({"title": "标题", "content": "正文", **values})
    assert (caught.value.problem.field, caught.value.problem.code) == (field, code)


@pytest.mark.parametrize(
    "values",
    [
        {"title": "长" * 512},
        {"title": "", "content": "正文"},
        {"title": "只有标题", "content": ""},
        {"title": "🎉🎉"},
        {"content": "长" * 349_525},  # 1 MiB
        {"content": "<p>P<0.005</p>\n\t\u200b\u2028"},
        {"title": None, "source": None, "published_at": None, "external_id": 0},
        {"published_at": ""},
    ],
)
def test_what_is_odd_but_can_be_stored_is_kept(values):
    payload = build({"title": "标题", "content": "正文", **values})
    assert payload.content == values.get("content", "正文")


def test_bad_rows_stop_nothing_and_keep_their_line_numbers(read):
    rows = read(
        "title,content,published_at\n"
        "一,甲,\n"
        "二,乙\n"  # 3: too few
        ',"",\n'  # 4: empty
        "三,丙,,多\n"  # 5: too many
        '四,"丁\n丁",\n'  # 6 and 7: fine
        "五,戊,明天\n"  # 8: no date
        "六,己,\n"
    )
    assert titles(rows) == ["一", "四", "六"]
    assert rejects(rows) == [
        (3, "", "cells"),
        (4, "title", "empty"),
        (5, "", "cells"),
        (8, "published_at", "bad_date"),
    ]


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("written", ["sep={}\r\n", '"sep={}"\r\n', "\ufeffSEP={}\n"])
def test_the_line_that_tells_excel_the_separator_is_understood(read, written, mark):
    rows = read(
        written.format(mark) + mark.join(["标题", "正文"]) + "\r\n" + mark.join(["一", "甲"]) + "\r\n"
    )
    assert titles(rows) == ["一"]
    assert rows[0].number == 3


def test_a_header_that_comes_again_is_no_article(read):
    rows = read("\ufeff标题,正文\n一,甲\n\ufeff标题,正文\n二,乙\n")
    assert titles(rows) == ["一", "二"]
    assert rejects(rows) == [(3, "", "header")]


def test_what_is_not_a_number_is_missing(read):
    rows = read(
        '{"title": "一", "content": NaN, "id": NaN, "date": NaN}\n'
        '{"title": NaN, "content": "乙", "score": -Infinity}\n'
        '{"title": NaN, "content": NaN}\n',
        "news.jsonl",
    )
    assert [(row.payload.title, row.payload.content, row.payload.external_id) for row in rows[:2]] == [
        ("一", "", ""),
        ("", "乙", ""),
    ]
    assert rejects(rows) == [(3, "title", "empty")]
    nothing = float("nan")
    built = build({"title": "一", "content": nothing, "url": nothing, "published_at": nothing})
    assert (built.content, built.url, built.published_at) == ("", "", None)


@pytest.mark.parametrize("stray", ['二,"乙', '二,"乙"乙', '二,"""乙'])
def test_a_stray_quotation_mark_costs_its_own_line_only(read, stray):
    rows = read(f'title,content\n一,甲\n{stray}\n三,丙\n四,"丁"\n五,戊\n')
    assert titles(rows) == ["一", "三", "四", "五"]
    assert rejects(rows) == [(3, "", "quotes")]
    assert rows[1].cells == (stray,)


def test_a_quotation_mark_that_is_never_closed_costs_its_own_line_only(read):
    rows = read('title,content\n一,"甲\n' + "二,乙\n" * 3000)
    assert len(titles(rows)) == 3000
    assert rejects(rows) == [(2, "", "quotes")]


def one_by_one(lines):
    """What each line of a body is: tried from each line on again, with no regard to what it costs."""
    found, start = [], 0
    while start < len(lines):
        reader = csv.reader(iter(lines[start:]), strict=True)
        try:
            found.append((start + 2, next(reader)))
            start += reader.line_num
        except csv.Error:
            found.append((start + 2, "quotes"))
            start += 1
    return found


@pytest.mark.parametrize("seed", range(30))
def test_quotation_marks_in_any_places_give_what_trying_each_line_gives(read, seed):
    chance = random.Random(seed)
    pieces = ['"', '""', ",", "甲", '乙",', ',"丙', "丁,戊"]
    body = ["".join(chance.choices(pieces, k=chance.randint(1, 5))) + "\n" for _ in range(60)]
    found = [
        (row.number, "quotes" if isinstance(row, Reject) and row.problem.code == "quotes" else None)
        for row in read("title,content\n" + "".join(body))
    ]
    expected = [(number, "quotes" if cells == "quotes" else None) for number, cells in one_by_one(body)]
    assert found == expected


def test_lines_that_close_and_open_quotation_marks_are_read_once_or_twice(read, monkeypatch):
    taken = 0

    class Counting(readers._Lines):
        def __next__(self):
            nonlocal taken
            taken += 1
            return super().__next__()

    monkeypatch.setattr(readers, "_Lines", Counting)
    rows = read("title,content\n" + '一",二,"三\n' * 3000)
    assert rejects(rows) == [(number, "", "quotes") for number in range(2, 3002)]
    assert taken < 4 * 3000


def test_a_line_without_end_costs_itself_only_and_little_memory(read, monkeypatch):
    monkeypatch.setattr(readers, "RECORD_LENGTH", 10_000)
    rows = read(f"title,content\n一,甲\n二,{'乙' * 1_000_000}\n三,丙\n")
    assert titles(rows) == ["一", "三"]
    assert rejects(rows) == [(3, "", "line_length")]
    assert len(rows[1].cells[0]) < 1000


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('{"title": "一", "content": ', "bad_json"),
        ("title: 一", "bad_json"),
        ('"一"', "bad_json"),
        ("[1]", "bad_json"),
        ("[" * 100_000, "bad_json"),
        ('{"title": ' + "9" * 5000 + "}", "bad_json"),
        ('{"title": "一"}', "no_field"),
        ('{"title": "\\ud83d", "content": "半个"}', "surrogate"),
        ('{"title": "\\u0000", "content": "零"}', "nul"),
    ],
)
def test_a_bad_json_line_costs_itself_only(read, line, code):
    good = lines({"title": "好", "content": "行"})
    rows = read(f"{good}\n{line}\n{good}", "news.jsonl")
    assert titles(rows) == ["好", "好"]
    assert [(number, found) for number, _, found in rejects(rows)] == [(3, code)]


# --- Files that cannot be used ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "name", "code"),
    [
        (b"", "news.csv", "empty"),
        (b" \n\n", "news.csv", "empty"),
        (archive("[Content_Types].xml", "xl/workbook.xml"), "news.csv", "workbook"),
        (archive("docProps/app.xml", "xl/workbook.xml"), "news.csv", "workbook"),
        (archive("news.csv"), "news.csv", "compressed"),
        (b"7z\xbc\xaf\x27\x1crest", "news.csv", "compressed"),
        (b"sep=,", "news.csv", "empty"),
        (b"\x1f\x8brest", "news.csv.gz", "compressed"),
        (b'[{"title": "a", "content": "b"}]', "news.json", "json_array"),
        (b"headline,author\nA,B\n", "news.csv", "columns"),
        (b"\x00\x01\x02\x03", "news.csv", "columns"),
        (b'\x7fELF\x02\x01\x00\x0d\x00\x0d\x0a"\xff\x00' * 3000, "program", "columns"),
        (bytes(range(256)) * 50, "news.csv", "columns"),
        ("标题,标题,正文\n".encode(), "news.csv", "twice"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_reason(read, data, name, code):
    with pytest.raises(FileProblemError) as caught:
        read(data, name)
    assert caught.value.code == code
    assert name in str(caught.value)


def test_a_file_without_a_wanted_column_tells_what_was_found_and_what_is_wanted(read):
    with pytest.raises(FileProblemError) as caught:
        read("标题,作者,简介\n一,二,三\n")
    text = str(caught.value)
    assert all(part in text for part in ("content (正文)", "标题, 作者, 简介"))


def test_a_path_that_is_no_file_is_refused(tmp_path):
    for path, code in ((tmp_path / "none.csv", "missing"), (tmp_path, "not_a_file")):
        with pytest.raises(FileProblemError) as caught:
            list(read_rows(path))
        assert caught.value.code == code


# --- Dates ------------------------------------------------------------------------------------------------

MORNING = datetime(2026, 11, 28, 1, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-28T09:15:00+08:00",
        "2026-11-28T01:15:00Z",
        "2026-11-28T09:15:00.000000",
        "2026-11-28 09:15:00",
        "2026-11-28 09:15:00 +0800",
        "2026/11/28 9:15",
        "2026.11.28 09:15",
        "2026年11月28日 09:15",
        "2026年11月28日09时15分",
        "２０２６年１１月２８日　０９：１５：００",
        "Sat, 28 Nov 2026 09:15:00 +0800",
        "28 Nov 2026 01:15:00 GMT",
        "28 Nov 2026 01:15:00 -0000",
        "20261128091500",
        "1795828500",
        "1795828500000",
        1795828500,
        1795828500.0,
    ],
)
def test_a_date_is_understood(text):
    # Without a zone it is local time: 09:15 in Shanghai.
    assert parse_date(text) == MORNING


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("0", datetime(1970, 1, 1, tzinfo=UTC)),
        ("1970-01-01 08:00:00", datetime(1970, 1, 1, tzinfo=UTC)),
        ("2026-11-28", datetime(2026, 11, 27, 16, tzinfo=UTC)),
        ("20261128", datetime(2026, 11, 27, 16, tzinfo=UTC)),
        ("9998-12-31 23:59:59", datetime(9998, 12, 31, 15, 59, 59, tzinfo=UTC)),
        ("1949年10月1日 15:00", datetime(1949, 10, 1, 7, tzinfo=UTC)),
    ],
)
def test_an_odd_date_is_kept_as_it_is(text, expected):
    assert parse_date(text) == expected


@pytest.mark.parametrize(
    "text",
    ["昨天", "2026-13-01", "2026-02-30", "2026年", "11/28", "-", "nan", "1e400", "9" * 17, "9" * 400, "½"],
)
def test_what_is_no_date_is_refused(text):
    with pytest.raises((ValueError, OverflowError)):
        parse_date(text)


# --- Rejects ----------------------------------------------------------------------------------------------


def test_the_rejects_file_tells_why_and_can_be_corrected_and_imported(read, tmp_path):
    with RejectsFile(rejects_path(tmp_path / "news.csv")) as file:
        for row in read('编号,标题,正文,发布时间\n1,一,甲,\n2,二,"乙,\n乙",明天\n3,三\n'):
            if isinstance(row, Reject):
                file.add(row)

    assert file.path == tmp_path / "news.csv.rejects.csv"
    with file.path.open(encoding="utf-8-sig", newline="") as opened:
        found = list(csv.reader(opened))
    assert found[0] == ["row", "field", "reason", "remedy", "编号", "标题", "正文", "发布时间"]
    assert (found[1][0], found[1][1], found[1][4:]) == ("3", "published_at", ["2", "二", "乙,\n乙", "明天"])
    assert all(found[1][2:4])
    assert (found[2][0], found[2][4:]) == ("5", ["3", "三"])

    text = (
        file.path.read_text(encoding="utf-8-sig").replace("明天,", ",").replace('乙",明天', '乙",2026-03-05')
    )
    assert titles(read(text, "again.csv")) == ["二"]


def test_no_rejects_leave_no_file_not_even_an_old_one(tmp_path):
    (tmp_path / "news.csv.rejects.csv").write_text("old")
    with RejectsFile(rejects_path(tmp_path / "news.csv")):
        pass
    assert list(tmp_path.iterdir()) == []


def test_rejects_go_below_var_where_the_folder_cannot_be_written(tmp_path, settings):
    settings.VAR_DIR = tmp_path / "var"
    path = rejects_path(tmp_path / "gone" / "news.csv")
    assert path == tmp_path / "var" / "rejects" / "news.csv.rejects.csv"


def test_hostile_cells_do_not_break_the_rejects_file(read, tmp_path):
    data = "title,content\n一\0,\"=cmd|'/c calc'!A0\"\n".encode() + b"\xff\xfe,x\n"
    with RejectsFile(tmp_path / "rejects.csv") as file:
        for row in read(data):
            file.add(row)
    with file.path.open(encoding="utf-8-sig", newline="") as opened:
        found = list(csv.reader(opened))
    assert found[1][4:] == ["一\0", "=cmd|'/c calc'!A0"]
    assert found[2][4:] == ["\ufffd\ufffd", "x"]


@pytest.mark.parametrize("language", ["zh-hans", "en"])
def test_every_problem_can_be_put_into_words(language):
    names = ("encoding", "length", "limit", "value", "name", "found", "wanted", "missing", "error")
    params = dict.fromkeys(names, "…")
    with translation.override(language):
        for code in PROBLEMS:
            assert Problem(code, "title", params).reason
            assert Problem(code, "title", params).remedy
        for code in FILE_PROBLEMS:
            assert "a.csv" in str(FileProblemError(code, Path("a.csv"), **params))


def test_every_field_has_a_name_in_chinese():
    # The second name, which messages show beside the first one.
    assert all(NAMES[field][1][0] >= "\u4e00" for field in FIELDS)
