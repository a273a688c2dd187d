import doctest

import pytest

from articles.dedup import clean, fingerprint, numerals


@pytest.mark.parametrize("module", [clean, fingerprint, numerals], ids=lambda module: module.__name__)
def test_examples_in_the_documentation_hold(module):
    tried = doctest.testmod(module)
    assert tried.attempted > 0
    assert tried.failed == 0
