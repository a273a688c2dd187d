"""Comparing schemes through the pages: what is refused, what a worker makes of it, what is shown."""

import csv
import io
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from articles import tasks
from articles.models import SchemeComparison
from articles.services import comparisons
from tests.factories import take_tasks
from tests.views.test_lists import queries

ARTICLES = (
    "external_id,title,content\n"
    "a,渡轮今晨复航,首班渡轮今晨载客八十六人，码头秩序井然，票价没有变化。\n"
    "b,【快讯】渡轮今晨复航,首班渡轮今晨载客八十六人，码头秩序井然，票价没有变化。\n"
    "c,油价迎来年内第七次上调,国内汽油和柴油价格今晚上调，加满一箱油约多花七元。\n"
)
PAIRS = "a,b,label\na,b,D\na,c,N\n"


@pytest.fixture(autouse=True)
def _own_folder(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    yield
    take_tasks()


@pytest.fixture
def chief(as_role):
    return as_role("chief")


@pytest.fixture
def quick(monkeypatch):
    """Costs at one small size."""
    monkeypatch.setattr(comparisons, "SIZES", (10,))


def file(text: str | bytes, name: str) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode() if isinstance(text, str) else text)


def send(client, articles=ARTICLES, pairs=PAIRS, form="abc", name="今天.csv", pairs_name="标注.csv"):
    files = {"articles": file(articles, name), "pairs": file(pairs, pairs_name)}
    return client.post(reverse("schemes_create"), {**files, "form": form})


def shown(client, row) -> str:
    return client.get(reverse("schemes_detail", args=[row.pk])).content.decode()


def stored_files(tmp_path) -> list[str]:
    return [path.name for path in (tmp_path / "comparisons").glob("*")]


def test_two_files_are_compared_by_a_worker_and_removed(
    chief, tmp_path, quick, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        response = send(chief)
    row = SchemeComparison.objects.get()
    assert response.url == reverse("schemes_detail", args=[row.pk])
    assert ("run_comparison", [row.pk]) in [(name, list(given)) for name, given in take_tasks()]
    page = shown(chief, row)
    assert 'hx-trigger="every 2s"' in page
    assert "没有工作进程在运行" in page
    assert len(stored_files(tmp_path)) == 2
    tasks.run_comparison(row.pk)
    row.refresh_from_db()
    assert (row.state, row.problem, row.steps, stored_files(tmp_path)) == ("done", {}, row.steps_total, [])
    page = shown(chief, row)
    assert "hx-trigger" not in page
    for name in ("仅 MD5", "经典 SimHash", "MinHash LSH", "difflib 比率", "本系统"):
        assert name in page
    assert "3 篇稿件，2 对标注" in page


def test_the_figures_leave_as_csv_and_json_and_charts(chief, quick):
    send(chief)
    row = SchemeComparison.objects.get()
    comparisons.run(row.pk)
    text = chief.get(reverse("schemes_file", args=[row.pk, "csv"])).content.decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    judge = next(line for line in rows if line["scheme"] == "judge" and line["precision"])
    assert (judge["precision"], judge["recall"]) == ("1.0", "1.0")
    found = chief.get(reverse("schemes_file", args=[row.pk, "json"])).json()
    assert [scheme["name"] for scheme in found["schemes"]] == [
        "md5",
        "classic simhash",
        "minhash lsh",
        "sequence",
        "judge",
    ]
    for name in ("quality", "growth"):
        response = chief.get(reverse("schemes_chart", args=[row.pk, name]))
        assert response.headers["Content-Type"] == "image/svg+xml"
        assert "本系统" in response.content.decode()
    assert chief.get(reverse("schemes_chart", args=[row.pk, "none"])).status_code == 404
    assert chief.get(reverse("schemes_file", args=[row.pk, "xls"])).status_code == 404


def test_without_files_the_samples_are_compared(chief):
    response = chief.post(reverse("schemes_create"), {"samples": "on", "form": "abc"})
    row = SchemeComparison.objects.get()
    assert response.url == reverse("schemes_detail", args=[row.pk])
    assert (row.name, row.pairs_name, row.stored) == ("news.csv", "pairs.csv", "")
    assert all(path.is_file() for path in comparisons._paths(row))


def test_a_double_click_makes_one_comparison(chief, tmp_path):
    assert send(chief).url == send(chief).url
    assert SchemeComparison.objects.count() == 1
    assert len(stored_files(tmp_path)) == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"articles": b""}, "文件是空的"),
        ({"pairs": b""}, "文件是空的"),
        ({"articles": b"PK\x03\x04....xl/workbook.xml"}, "今天.csv 是 Excel"),
        ({"articles": b"PK\x03\x04....news.csv"}, "今天.csv 是压缩"),
        ({"name": "今天.xlsx"}, "今天.xlsx"),
        ({"pairs_name": "标注.pdf"}, "标注.pdf"),
        ({"pairs": "a,b\na,b\n"}, "标注.csv"),
        ({"pairs": "a,b,label\na,b,Q\n"}, "第 2 行 label 列：“Q”不是标签"),
        ({"pairs": "a,b,label\n" + "a,b,D\n" * 5001}, "5000"),
    ],
)
def test_a_file_that_cannot_be_compared_is_named_at_once(chief, tmp_path, given, said):
    page = send(chief, **given).content.decode()
    assert said in page
    assert 'role="alert"' in page
    assert not SchemeComparison.objects.exists()
    assert stored_files(tmp_path) == []


def test_a_missing_or_too_large_file_is_named(chief, settings):
    page = chief.post(reverse("schemes_create"), {"form": "a"}).content.decode()
    assert page.count("请选择文件") == 2
    settings.NEWSDEDUP_UPLOAD_MB = 0
    assert "大于 0 MB" in send(chief).content.decode() or "超过 0 MB" in send(chief).content.decode()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"pairs": "a,b,label\nx,y,D\n"}, "标注.csv"),
        ({"pairs": "a,b,label,confidence\na,b,D,unsure\n"}, "没有一对已知稿件的标签是确定的"),
        ({"articles": "x,y\n1,2\n"}, "今天.csv"),
    ],
)
def test_what_a_worker_finds_wrong_is_said_with_the_persons_names(chief, tmp_path, given, said):
    send(chief, **given)
    row = SchemeComparison.objects.get()
    comparisons.run(row.pk)
    row.refresh_from_db()
    page = shown(chief, row)
    assert row.state == "failed"
    assert said in page
    assert row.stored.partition(".")[0] not in page
    assert stored_files(tmp_path) == []
    assert chief.get(reverse("schemes_file", args=[row.pk, "csv"])).status_code == 404


def test_too_many_articles_are_said(chief, monkeypatch):
    monkeypatch.setattr(comparisons, "MAX_ARTICLES", 2)
    send(chief)
    row = SchemeComparison.objects.get()
    comparisons.run(row.pk)
    assert "今天.csv 超过 2 篇稿件" in shown(chief, row)


def test_files_that_are_gone_are_said(chief):
    send(chief)
    row = SchemeComparison.objects.get()
    comparisons.remove_files(row)
    comparisons.run(row.pk)
    assert "保存的文件已不在" in shown(chief, row)


def test_what_costs_too_long_is_still_compared(chief, monkeypatch, quick):
    monkeypatch.setattr(comparisons, "SECONDS", 0.001)
    send(chief)
    row = SchemeComparison.objects.get()
    comparisons.run(row.pk)
    row.refresh_from_db()
    assert row.state == "done"
    assert all(scheme["costs"] == [] for scheme in row.results["schemes"])
    assert chief.get(reverse("schemes_chart", args=[row.pk, "growth"])).status_code == 200
    assert shown(chief, row)


def test_a_worker_that_was_killed_is_followed_by_another_and_not_for_ever(chief):
    send(chief)
    row = SchemeComparison.objects.get()
    old = timezone.now() - timedelta(hours=1)
    running = {"state": "running", "claim": "x", "alive_at": old}
    SchemeComparison.objects.update(**running, attempts=1)
    take_tasks()
    assert "已有数分钟没有进展" in shown(chief, row) or "没有工作进程" in shown(chief, row)
    comparisons.sweep()
    assert [list(given) for name, given in take_tasks() if name.endswith("run_comparison")] == [[row.pk]]
    SchemeComparison.objects.update(**running, attempts=comparisons.MAX_ATTEMPTS)
    comparisons.run(row.pk)
    row.refresh_from_db()
    assert (row.state, row.problem["code"]) == ("failed", "stopped")
    comparisons.run(row.pk)
    assert SchemeComparison.objects.get().finished_at == row.finished_at


def test_one_that_runs_is_left_to_its_worker(chief):
    send(chief)
    row = SchemeComparison.objects.get()
    SchemeComparison.objects.update(state="running", claim="x", alive_at=timezone.now())
    comparisons.run(row.pk)
    row.refresh_from_db()
    assert (row.state, row.claim) == ("running", "x")


def test_old_comparisons_are_removed(chief):
    for number, days in enumerate((1, 200)):
        SchemeComparison.objects.create(
            name=f"{number}.csv",
            pairs_name="p",
            state="done",
            created_at=timezone.now() - timedelta(days=days),
        )
    comparisons.sweep()
    assert [row.name for row in SchemeComparison.objects.all()] == ["0.csv"]


def test_the_list_takes_as_many_queries_for_three_as_for_one(chief):
    def add(count):
        for number in range(count):
            SchemeComparison.objects.create(name=f"{number}.csv", pairs_name="p.csv", state="done")

    add(1)
    one = queries(chief, reverse("schemes"))
    add(2)
    assert queries(chief, reverse("schemes")) == one


def test_an_empty_list_says_so_and_htmx_gets_the_progress_alone(chief):
    assert "还没有做过对比" in chief.get(reverse("schemes")).content.decode()
    row = SchemeComparison.objects.create(name="a.csv", pairs_name="p.csv")
    response = chief.get(reverse("schemes_detail", args=[row.pk]), headers={"HX-Request": "true"})
    assert response.content.decode().strip().startswith('<section id="schemes"')


def test_statistics_lead_a_chief_there_and_nobody_else(chief, viewer):
    assert reverse("schemes") in chief.get(reverse("dashboard")).content.decode()
    assert reverse("schemes") not in viewer.get(reverse("dashboard")).content.decode()
