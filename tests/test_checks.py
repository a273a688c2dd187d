import pytest
from django.core.checks import Tags, run_checks

from articles.checks import GUARANTEED_DISTANCE, hamming_messages
from articles.dedup import fingerprint
from articles.models import News
from tests.factories import make_news


def ids(**options):
    return [message.id for message in run_checks(**options) if str(message.id).startswith("newsdedup.")]


def database_ids():
    return ids(tags=[Tags.database], databases=["default"])


def test_the_project_passes_its_own_checks():
    assert ids() == []


@pytest.mark.parametrize(("limit", "found"), [(3, []), (7, []), (8, ["newsdedup.E001"])])
def test_a_hamming_limit_beyond_what_the_bands_find_is_an_error(limit, found):
    assert [message.id for message in hamming_messages(limit)] == found


def test_the_bands_of_the_table_are_those_of_the_fingerprint():
    assert GUARANTEED_DISTANCE == 2 * fingerprint.BANDS - 1


@pytest.mark.database
@pytest.mark.django_db
def test_a_fingerprint_of_another_version_is_a_warning():
    make_news(state=News.State.DONE, fingerprint_version=fingerprint.version())
    assert database_ids() == []
    make_news(state=News.State.DONE, fingerprint_version="of-last-year")
    assert database_ids() == ["newsdedup.W003"]
