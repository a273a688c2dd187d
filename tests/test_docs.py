"""What the documents say holds: examples run, and links lead to files."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("samples/*.md")])


def test_the_examples_of_the_readme_run():
    tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False, encoding="utf-8")
    assert tried.attempted > 4
    assert tried.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_documents_lead_to_files(page):
    links = re.findall(r"(?:\]\(|src=\"|srcset=\")(?!https?:)([^)#\s\"]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_commands_of_make_that_documents_name_exist():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"(?:`|^    )make (\w+)", page.read_text(), re.M)}
    assert named - targets == set()
