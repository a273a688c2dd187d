"""The set-up layer: pinned packages, a set-up that goes on where something is missing, private services."""

import os
import re
import shutil
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from django.db import connection
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import services

ROOT = Path(__file__).resolve().parent.parent


def requirements() -> list[Requirement]:
    names = ("requirements.txt", "requirements-semantic.txt")
    lines = [line for name in names for line in (ROOT / name).read_text().splitlines()]
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def test_every_requirement_is_pinned_once():
    names = [canonicalize_name(requirement.name) for requirement in requirements()]
    assert len(names) == len(set(names))
    assert [str(r) for r in requirements() if not re.fullmatch(r"==[\w.]+", str(r.specifier))] == []


def test_everything_that_requirements_need_is_pinned_too():
    pinned = {canonicalize_name(requirement.name) for requirement in requirements()}
    needed = {name for requirement in requirements() for name in needs(requirement)}
    assert needed - pinned == set()


def needs(requirement: Requirement) -> set[str]:
    """The names that a package asks for here, with the extras that are wanted of it."""
    try:
        lines = metadata.requires(requirement.name) or []
    except metadata.PackageNotFoundError:  # mysqlclient and the semantic scheme may be missing
        return set()
    wanted = [Requirement(line) for line in lines]
    extras = requirement.extras or {""}
    return {
        canonicalize_name(one.name)
        for one in wanted
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras)
    }


def test_make_alone_lists_the_commands():
    said = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"make (\w+)", said) == ["help", "setup", "demo", "run", "test", "lint", "clean"]


def test_setup_goes_on_where_nothing_can_be_installed(tmp_path):
    """No apt, no compiler, no headers: it says what is missing, and SQLite stays usable."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "setup.sh", tmp_path / "scripts")
    (tmp_path / "requirements.txt").write_text("mysqlclient==2.3.2\n")
    (tmp_path / "requirements-semantic.txt").write_text("")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "cat", "dirname", "env", "find", "grep", "id", "rm", "sha256sum"):
        (programs / name).symlink_to(services.program(name))
    python = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"

    command = ["bash", "scripts/setup.sh", "test"]
    env = {"PATH": str(programs), "PYTHON": str(python), "HOME": str(tmp_path)}
    first, second = (
        subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
        for _ in range(2)
    )

    assert "making .venv" in first.stdout
    assert (tmp_path / ".venv" / "bin" / "pip").exists()
    assert second.stdout == ""
    for said in (first.stderr, second.stderr):
        assert re.search("system packages are missing.* mariadb-server .*chromium", said)
        assert "only SQLite can be used" in said


def test_setup_refuses_an_old_python(tmp_path):
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "setup.sh", tmp_path / "scripts")
    old = tmp_path / "python"
    old.write_text('#!/bin/sh\ncase "$*" in *base_prefix*) echo /opt;; *) exit 1;; esac\n')
    old.chmod(0o755)
    bin_path = tmp_path / "bin"
    bin_path.mkdir()
    for name in ("bash", "cat", "dirname", "grep", "id", "rm"):
        (bin_path / name).symlink_to(services.program(name))
    result = subprocess.run(
        ["bash", "scripts/setup.sh"],
        cwd=tmp_path,
        env={"PATH": str(bin_path), "PYTHON": str(old)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert "older than 3.11" in result.stderr


def test_private_mariadb_answers_knows_time_zones_and_is_gone_afterwards():
    with services.PrivateMariaDB() as server:
        zoned = "SELECT CONVERT_TZ('2026-01-01 00:00:00', 'UTC', 'Asia/Shanghai')"
        assert server.execute(zoned) == "2026-01-01 08:00:00"
        assert "STRICT_TRANS_TABLES" in server.execute("SELECT @@sql_mode")
        assert server.execute("SELECT schema_name FROM information_schema.schemata").count("newsdedup") == 1
        folder, port = server.folder, server.port
    assert not folder.exists()
    assert not answers(port)


def test_private_redis_answers_and_is_gone_afterwards():
    with services.PrivateRedis() as server:
        folder, port = server.folder, server.port
        assert answers(port)
    assert not folder.exists()
    assert not answers(port)


def test_a_service_that_does_not_start_shows_its_log():
    with pytest.raises(services.StartError, match="Bad directive"):
        services.PrivateRedis(["--no-such-option", "1"]).__enter__()


def test_a_program_that_is_not_installed_is_named():
    with pytest.raises(services.MissingProgramError, match=r"no-such-program .*scripts/setup\.sh test"):
        services.program("no-such-program")


@pytest.mark.worker
@pytest.mark.django_db(transaction=True)
def test_a_real_worker_hears_this_process(worker):
    from newsdedup_site.celery import app

    assert app.connection_for_write().transport.driver_type == "redis"
    assert list(app.control.ping([worker.hostname], timeout=5, limit=1)[0]) == [worker.hostname]


@pytest.mark.database
@pytest.mark.django_db
def test_the_database_is_the_one_asked_for():
    asked = os.environ.get("DATABASE_URL", "sqlite:").partition(":")[0]
    assert connection.vendor == asked
    with connection.cursor() as cursor:
        cursor.execute("SELECT '新闻😀'")
        assert cursor.fetchone() == ("新闻😀",)


@pytest.mark.e2e
def test_the_browser_shows_chinese(browser):
    page = browser.new_page()
    page.set_content("<p>新闻去重</p>")
    assert page.get_by_text("新闻去重").is_visible()
    page.close()


def answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
