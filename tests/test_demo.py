"""The demo as a newcomer runs it, after its set-up: filled, served, checked over HTTP, ended."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from articles.services.accounts import DEMO_USERS

ROOT = Path(__file__).resolve().parent.parent


def demo(folder: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    own = {
        "NEWSDEDUP_VAR": str(folder),
        "STATIC_ROOT": str(folder / "static"),
        "SECRET_KEY": "x" * 50,
        "CHECK": "1",
        "PYTHONUNBUFFERED": "1",
    }
    # The Procfile's programs are those beside this Python.
    kept["PATH"] = f"{Path(sys.executable).parent}:{kept['PATH']}"
    command = [sys.executable, "scripts/demo.py"]
    return subprocess.run(
        command, cwd=ROOT, env=kept | own | env, capture_output=True, text=True, timeout=300, check=False
    )


def test_it_ends_well_twice_and_keeps_its_users_and_data(tmp_path):
    first = demo(tmp_path)
    assert first.returncode == 0, first.stdout + first.stderr
    second = demo(tmp_path)
    assert second.returncode == 0, second.stdout + second.stderr
    assert "212 articles" in first.stdout
    password = r"Password +(\S{12,})"
    assert re.findall(password, first.stdout) == re.findall(password, second.stdout) != []
    assert (tmp_path / "demo_password").stat().st_mode & 0o077 == 0


def test_a_port_that_is_used_is_told_with_its_remedy(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        done = demo(tmp_path, DEMO_PORT=str(other.getsockname()[1]))
    assert done.returncode == 1
    assert "cannot be had: name another, PORT=8123 make demo" in done.stderr
    assert demo(tmp_path, DEMO_PORT="x").returncode == 1


@pytest.mark.django_db
def test_users_are_made_once_with_a_password_of_their_own(tmp_path, capsys):
    file = tmp_path / "password"
    call_command("create_demo_users", password_file=file)
    assert file.read_text().strip() not in capsys.readouterr().out
    users = {user.username: user for user in User.objects.all()}
    assert set(users) == {"editor", "chief", "administrator"}
    for wanted in DEMO_USERS:
        assert users[wanted.name].check_password(file.read_text().strip())
        assert [group.name for group in users[wanted.name].groups.all()] == [wanted.role]
        assert not users[wanted.name].is_superuser

    users["editor"].set_password("chosen by a person")
    users["editor"].save()
    call_command("create_demo_users", "--json", password_file=file)
    assert json.loads(capsys.readouterr().out)["created"] == []
    assert User.objects.get(username="editor").check_password("chosen by a person")


@pytest.mark.django_db
def test_a_lost_password_is_replaced(tmp_path):
    for name in ("one", "two"):
        call_command("create_demo_users", password_file=tmp_path / name)
    assert User.objects.get(username="chief").check_password((tmp_path / "two").read_text().strip())
