"""Where the tests run: a temporary folder instead of var/, and real services as session fixtures.

DATABASE_URL and CELERY_BROKER_URL choose another database and broker; scripts/test.py does so.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django
import pytest
from django.conf import settings
from django.db import connection
from kombu import pools

from tests import services

if settings.configured:
    raise pytest.UsageError("The tests choose the settings themselves: unset DJANGO_SETTINGS_MODULE")

# Django reads the environment once, so all this must stand before pytest_configure starts it.
_var = tempfile.TemporaryDirectory(prefix="newsdedup-tests-", ignore_cleanup_errors=True)
VAR = Path(_var.name)
os.environ["DJANGO_SETTINGS_MODULE"] = "newsdedup_site.settings"
os.environ["NEWSDEDUP_VAR"] = str(VAR)
os.environ.setdefault("SECRET_KEY", "for-tests-only-" + "x" * 50)
# Playwright keeps an event loop in this thread, which Django would take for asynchronous code.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"


def _own_broker(url: str) -> str:
    """The broker's database of this process: parallel test processes must not read each other's queue."""
    process = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    return urlsplit(url)._replace(path=f"/{process}").geturl() if process else url


if os.environ.get("CELERY_BROKER_URL", "").startswith("redis"):
    os.environ["CELERY_BROKER_URL"] = _own_broker(os.environ["CELERY_BROKER_URL"])


def pytest_configure() -> None:
    # What collectstatic may have left in the project's folder must not change what the tests see.
    settings.STATIC_ROOT = VAR / "static"
    settings.STATIC_ROOT.mkdir()
    django.setup()


def pytest_unconfigure() -> None:
    _var.cleanup()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Parallel test processes get a folder of their own by loading this file before Django."""
    del os.environ["DJANGO_SETTINGS_MODULE"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test with a real worker is about the database too, so it runs in both passes."""
    for item in items:
        if item.get_closest_marker("worker"):
            item.add_marker("database")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Iterator[None]:
    """Skip what needs a program that is not there; where all must be tested (CI) that is a failure."""
    try:
        return (yield)
    except services.MissingProgramError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> None:
    """SQLite's test database is a file, as in production; a database in memory is hidden from workers."""
    if connection.vendor == "sqlite":
        connection.settings_dict["TEST"]["NAME"] = str(VAR / "test.sqlite3")


@pytest.fixture(scope="session")
def mariadb() -> Iterator[services.PrivateMariaDB]:
    """A MariaDB of this session, apart from the database under test."""
    with services.PrivateMariaDB() as server:
        yield server


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The Redis that CELERY_BROKER_URL names, else one of this session."""
    given = os.environ.get("CELERY_BROKER_URL", "")
    if given.startswith("redis"):
        yield given
        return
    with services.PrivateRedis() as server:
        yield server.url


@pytest.fixture(scope="module")
def redis_broker(redis_url: str) -> Iterator[str]:
    """Tasks that this process sends go to an empty queue in Redis as long as the module's tests run."""
    from newsdedup_site.celery import app

    with pytest.MonkeyPatch.context() as patch:
        # Celery itself reads this variable at each new connection, before its configuration.
        patch.setenv("CELERY_BROKER_URL", redis_url)
        _forget_connections(app)
        app.control.purge()
        yield redis_url
    _forget_connections(app)


def _forget_connections(app: Any) -> None:
    """Celery keeps connections to the broker it knew; after this it opens new ones."""
    pools.reset()
    app._after_fork()


@pytest.fixture(scope="module")
def worker(
    request: pytest.FixtureRequest, redis_broker: str, django_db_setup: None
) -> Iterator[services.CeleryWorker]:
    """A real worker on the test database. It sees only what is committed: use transactional_db.

    Options: @pytest.mark.parametrize("worker", [["--beat"]], indirect=True)
    """
    env = {"DATABASE_URL": database_url(), "CELERY_BROKER_URL": redis_broker}
    with services.celery_worker(env, getattr(request, "param", ())) as running:
        yield running


def database_url() -> str:
    """The URL of the test database, for other processes."""
    name = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite":
        return f"sqlite:///{name}"
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The system's Chromium, driven by Playwright; each test opens its own page or context."""
    from playwright.sync_api import sync_playwright

    chromium = services.program("chromium")
    # It shall not call home. As root it has no sandbox.
    quiet = ["--no-first-run", "--disable-background-networking", "--disable-component-update"]
    alone = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=[*quiet, *alone])
        yield running
        running.close()


@pytest.fixture(autouse=True)
def _numbers_start_anew() -> None:
    # Django is not ready yet when this file is loaded.
    from tests.views.factories import start_anew

    start_anew()
