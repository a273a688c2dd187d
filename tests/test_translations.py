"""Chinese editors read no English: each text of code and templates is translated, and none is left over."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import polib
import pytest

from tests.services import program

ROOT = Path(__file__).resolve().parent.parent
CATALOGUE = ROOT / "articles" / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"


def names(entries) -> set[tuple[str, str]]:
    return {(entry.msgctxt or "", entry.msgid) for entry in entries}


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, str]]:
    """The texts that Django's own command finds in a copy of the sources."""
    program("xgettext")
    folder = tmp_path_factory.mktemp("sources")
    for part in ("articles", "newsdedup_site", "templates"):
        copytree(ROOT / part, folder / part, ignore=ignore_patterns("locale", "__pycache__"))
    (folder / "locale").mkdir()
    command = [sys.executable, "-m", "django", "makemessages", "--locale", "zh_Hans", "--keep-pot"]
    # Without the settings, which would have it write where the sources' own catalogue is.
    env = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)
    return names(polib.pofile(str(folder / "locale" / "django.pot")))


def test_every_text_is_translated(used):
    assert sorted(used - names(polib.pofile(str(CATALOGUE)).translated_entries())) == []


def test_no_translation_is_left_over(used):
    assert sorted(names(polib.pofile(str(CATALOGUE))) - used) == []


def test_translations_keep_the_parameters():
    subprocess.run([program("msgfmt"), "--check", "--output-file", "/dev/null", str(CATALOGUE)], check=True)
