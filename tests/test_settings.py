"""A wrong setting stops the start, with its name and what to write instead; all faults at once."""

import os
import subprocess
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured

from newsdedup_site.environment import Environment

WRONG = [
    ("DEBUG", "perhaps"),
    ("DATABASE_URL", "postgres://user@host/name"),
    ("DATABASE_URL", "nonsense"),
    ("CELERY_BROKER_URL", "kafka://host"),
    ("TIME_ZONE", "Mars/Olympus"),
    ("NEWSDEDUP_SWEEP_SECONDS", "0"),
    ("NEWSDEDUP_SWEEP_SECONDS", "60"),
    ("NEWSDEDUP_WINDOW_DAYS", "a month"),
    ("LOG_LEVEL", "LOUD"),
]


def start(tmp_path, **variables: str) -> subprocess.CompletedProcess[str]:
    """`manage.py check` in an environment of its own."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    env = inherited | {"NEWSDEDUP_VAR": str(tmp_path), "SECRET_KEY": "x" * 50} | variables
    command = [sys.executable, "manage.py", "check"]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_start_stops_at_a_wrong_value_with_its_name_and_remedy(tmp_path, name, value):
    result = start(tmp_path, **{name: value})
    assert result.returncode != 0
    assert f"{name}: write " in result.stderr
    assert "Traceback" not in result.stderr


def test_start_without_secret_key_stops_unless_debug(tmp_path):
    result = start(tmp_path, SECRET_KEY="")
    assert result.returncode != 0
    assert "SECRET_KEY: set " in result.stderr
    assert start(tmp_path, SECRET_KEY="", DEBUG="true").returncode == 0


def test_all_faults_are_told_at_once(monkeypatch):
    monkeypatch.setenv("TIME_ZONE", "Nowhere")
    monkeypatch.setenv("DATABASE_URL", "nonsense")
    env = Environment()
    env.time_zone("TIME_ZONE", default="Asia/Shanghai")
    env.database("DATABASE_URL", default="sqlite://")
    with pytest.raises(ImproperlyConfigured, match=r"(?s)TIME_ZONE.*DATABASE_URL"):
        env.seal()


def test_sqlite_waits_for_other_writers_and_mysql_is_strict(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "sqlite:////tmp/x.sqlite3")
    sqlite = Environment().database("DATABASE_URL", default="")
    assert sqlite["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert "journal_mode=WAL" in sqlite["OPTIONS"]["init_command"]
    assert sqlite["OPTIONS"]["timeout"] >= 30
    monkeypatch.setenv("DATABASE_URL", "mysql://user:secret@host:3306/name")
    mysql = Environment().database("DATABASE_URL", default="")
    assert mysql["OPTIONS"]["charset"] == "utf8mb4"
    assert "STRICT_TRANS_TABLES" in mysql["OPTIONS"]["init_command"]
