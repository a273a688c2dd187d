import csv
from datetime import UTC, datetime

import pytest
from django.utils import translation

from articles.models import NewsLink
from articles.reasons import REASONS, render
from articles.services.exports import LINK_COLUMNS, NEWS_COLUMNS, clusters, export_links, export_news
from tests.factories import make_cluster, make_link, make_news

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture(autouse=True)
def english():
    with translation.override("en"):
        yield


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def exported(export, folder):
    path = folder / "out.csv"
    count = export(path)
    rows = read(path)
    assert count == len(rows)
    return rows


# --- Articles ---------------------------------------------------------------------------------------------


def test_an_article_in_no_cluster_has_empty_cells(tmp_path):
    news = make_news(
        title="=1+1, “标题”\n", source="江城日报", published_at=datetime(2026, 3, 5, 4, tzinfo=UTC)
    )
    (row,) = exported(export_news, tmp_path)
    assert tuple(row) == NEWS_COLUMNS
    assert row == {
        "id": str(news.pk),
        "external_id": str(news.pk),
        "title": "=1+1, “标题”\n",
        "source": "江城日报",
        "url": "",
        "published_at": "2026-03-05T12:00:00+08:00",
        "verdict": "",
        "cluster_id": "",
        "is_lead": "0",
        "duplicate_of": "",
        "hamming": "",
        "score": "",
        "reason": "",
    }


def test_a_member_carries_its_link_to_the_lead(tmp_path):
    lead, second, third = (make_news(external_id=name) for name in ("a", "b", "c"))
    cluster = make_cluster(lead, second, third)
    make_link(lead, second, score=0.7, hamming=5, reasons=[{"code": "same_title"}])
    make_link(second, third, score=0.95)
    make_link(
        lead, third, score=0.6, hamming=None, reasons=[{"code": "containment", "left": 1, "right": 0.412}]
    )

    rows = {row["external_id"]: row for row in exported(export_news, tmp_path)}
    assert {row["cluster_id"] for row in rows.values()} == {str(cluster.pk)}
    assert [rows[name]["is_lead"] for name in "abc"] == ["1", "0", "0"]
    assert [rows[name]["duplicate_of"] for name in "abc"] == ["", "a", "a"]
    assert [rows[name]["score"] for name in "abc"] == ["", "0.7", "0.6"]
    assert (rows["b"]["hamming"], rows["b"]["reason"]) == ("5", "same title")
    assert rows["c"]["hamming"] == ""
    assert "100%" in rows["c"]["reason"]
    assert "41%" in rows["c"]["reason"]


def test_a_member_without_a_link_to_the_lead_carries_its_strongest_folded_one(tmp_path):
    lead, second, third, outside = (make_news(external_id=name) for name in ("a", "b", "c", "d"))
    make_cluster(lead, second, third)
    make_link(lead, second, score=0.8)
    make_link(second, third, score=0.7)
    make_link(third, outside, score=0.99)
    make_link(lead, third, score=0.98, kind=NewsLink.Kind.UPDATE, status=NewsLink.Status.PENDING)

    rows = {row["external_id"]: row for row in exported(export_news, tmp_path)}
    assert rows["c"]["score"] == "0.7"
    assert rows["d"]["score"] == ""


def test_an_export_of_several_pages_has_every_article_once(
    tmp_path, monkeypatch, django_assert_max_num_queries
):
    monkeypatch.setattr("articles.services.exports.PAGE", 10)
    for number in range(31):
        lead, other = (make_news(external_id=f"{number}{side}") for side in "ab")
        make_cluster(lead, other)
        make_link(lead, other)
    with django_assert_max_num_queries(8 * 5):
        rows = exported(export_news, tmp_path)
    assert len({row["external_id"] for row in rows}) == 62
    assert sum(row["score"] == "0.9" for row in rows) == 31


# --- Links ------------------------------------------------------------------------------------------------


def test_a_link_has_the_canonically_first_article_on_the_left(tmp_path):
    later, earlier = make_news(external_id="b", canonical_key="2"), make_news(canonical_key="1")
    make_link(later, earlier, containment_low=0.25, containment_high=0.75, reasons=[{"code": "novel"}])
    (row,) = exported(export_links, tmp_path)
    assert tuple(row) == LINK_COLUMNS
    assert row == {
        "left_external_id": str(earlier.pk),
        "right_external_id": "b",
        "kind": "near",
        "status": "auto",
        "hamming": "2",
        "score": "0.9",
        "containment_left": "0.75",
        "containment_right": "0.25",
        "reason": "novel",
    }


# --- Files ------------------------------------------------------------------------------------------------


def test_a_failed_export_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "news.csv"
    path.write_text("old")
    make_news()

    def fail(rows):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        export_news(path, progress=fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_export_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    export_news(tmp_path / "news.csv")
    assert (tmp_path / "news.csv").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_an_export_into_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(OSError):
        export_news(tmp_path / "none" / "news.csv")


# --- Clusters ---------------------------------------------------------------------------------------------


def test_clusters_come_with_the_largest_first_and_their_lead_first():
    pair = [make_news(external_id=f"p{n}", canonical_key=str(n)) for n in range(2)]
    four = [make_news(external_id=f"f{n}", canonical_key=str(n)) for n in range(4)]
    make_cluster(*pair)
    make_cluster(four[2], four[0], four[1], four[3])

    found = clusters(limit=5, members=3)
    assert [cluster.size for cluster in found] == [4, 2]
    assert [member.id for member in found[0].members] == ["f2", "f0", "f1"]
    assert [member.is_lead for member in found[1].members] == [True, False]


# --- Reasons ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", REASONS)
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_reason_can_be_shown_even_without_its_parameters(code, language):
    with translation.override(language):
        full = {"left": 0.5, "right": "8", "distance": 3, "score": 0.25, "chars": 12}
        assert render([{"code": code, **full}])
        assert "%" not in render([{"code": code}])


@pytest.mark.parametrize(
    ("reasons", "shown"),
    [
        ([], ""),
        (
            [{"code": "number_differs", "left": "0.5", "right": ["0.25", "1"]}],
            "another number: 0.5 / 0.25、1",
        ),
        ([{"code": "negation_differs"}], "one says it, the other denies it"),
        ([{"code": "same_text"}, {"code": "by_person"}], "identical text; decided by a person"),
        ([{"code": "of_next_year", "x": 1}], "of_next_year"),
        (["bare"], "bare"),
        ([{"code": "name_differs", "left": "100%s", "right": "%(x)s"}], "another name: 100%s / %(x)s"),
    ],
)
def test_reasons_are_one_readable_line(reasons, shown):
    assert render(reasons) == shown
