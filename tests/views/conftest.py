from collections.abc import Callable

import pytest
from django.core.cache import cache
from django.test import Client


@pytest.fixture(autouse=True)
def _fresh_cache() -> None:
    cache.clear()


@pytest.fixture
def as_role(db: None) -> Callable[..., Client]:
    """A browser logged in as a fresh user of a role; without a role, as a user who has none."""

    # Django is not ready yet when this file is loaded.
    from tests.views.factories import make_user

    def enter(role: str = "viewer", language: str = "zh-hans") -> Client:
        client = Client(headers={"accept-language": language})
        client.force_login(make_user(role))
        return client

    return enter


@pytest.fixture
def viewer(as_role: Callable[..., Client]) -> Client:
    return as_role("viewer")
