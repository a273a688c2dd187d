from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client


@pytest.fixture(autouse=True)
def _plain_names(settings: Any) -> None:
    """The live server reads the sources' files, whatever collectstatic once left behind."""
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    cache.clear()


def is_fault(said: Any) -> bool:
    """The console tells what the content security policy stopped.

    No fault is a page meant to be missing, nor what a test itself (axe) does to a page, which has no address.
    """
    return said.type == "error" and "status of 404" not in said.text and bool(said.location.get("url"))


@pytest.fixture
def site(live_server: Any, browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens the site in a fresh browser window, logged in with a role. Faults in scripts fail the test."""
    from tests.views.factories import make_user

    windows, faults = [], []

    def enter(role: str = "viewer", staff: bool = False, **options: Any) -> Any:
        window = browser.new_context(base_url=live_server.url, **{"locale": "zh-CN", **options})
        windows.append(window)
        if role:
            client = Client()
            client.force_login(make_user(role, is_staff=staff))
            session = client.cookies["sessionid"].value
            window.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
        page = window.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: faults.append(said.text) if is_fault(said) else None)
        return page

    yield enter
    for window in windows:
        window.close()
    assert faults == []
