"""The installation that docs/operations.md describes: gunicorn behind a proxy, MariaDB, Redis, a real worker.

It brings its own servers, so it runs once, whatever database the other tests are run on.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.test import RequestFactory

from newsdedup_site.proxy import client_address
from tests import services
from tests.site import Response, Site

ROOT = Path(__file__).resolve().parent.parent
OPERATIONS = ROOT / "docs" / "operations.md"
HOST = "news.example"
PASSWORD = "only-for-this-test"
TITLE = "央行宣布下调存款准备金率0.5个百分点"
REPRINT = "【快讯】央行宣布下调存款准备金率0.5个百分点！"
OTHER = "油价迎来年内第七次上调"
FILE = (
    "编号,标题,正文,来源,发布时间\n"
    f"1,{TITLE},,江城日报,2026-03-05 09:00\n"
    f"2,{REPRINT},,北岸网,2026-03-05 09:01\n"
    f"3,{OTHER},,江城日报,2026-03-05 09:02\n"
)
USER = f"""
from django.contrib.auth.models import Group, User
user = User.objects.create_user("zhou", password={PASSWORD!r})
user.groups.add(Group.objects.get(name="editor"))
"""


class Gunicorn(services.Service):
    name = "gunicorn"

    def __init__(self, env: dict[str, str]) -> None:
        super().__init__()
        self.env = env

    def command(self) -> list[str]:
        bind = ("--bind", f"127.0.0.1:{self.port}", "--workers", "2")
        return [sys.executable, "-m", "gunicorn", "newsdedup_site.wsgi", *bind]

    def environment(self) -> dict[str, str]:
        return self.env

    def is_ready(self) -> bool:
        return Site(self.port, proxied()).answers()


@dataclass
class Production:
    env: dict[str, str]
    web: Gunicorn
    worker: services.CeleryWorker

    def visit(self, address: str = "192.0.2.1") -> Site:
        """The site as the browser at this address sees it through the proxy."""
        return Site(self.web.port, proxied(address))


def proxied(address: str = "192.0.2.1") -> dict[str, str]:
    return {"Host": HOST, "X-Forwarded-Proto": "https", "X-Real-IP": address}


@pytest.fixture(scope="module")
def production(
    mariadb: services.PrivateMariaDB, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Production]:
    mariadb.execute(documented_sql())
    folder = tmp_path_factory.mktemp("production")
    with services.PrivateRedis() as broker:
        env = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
            "SECRET_KEY": "production-" + "k7" * 30,
            "ALLOWED_HOSTS": HOST,
            "BEHIND_PROXY": "true",
            "DATABASE_URL": f"mysql://news:CHANGE-ME@127.0.0.1:{mariadb.port}/news",
            "CELERY_BROKER_URL": broker.url,
            "NEWSDEDUP_VAR": str(folder / "var"),
            "STATIC_ROOT": str(folder / "static"),
            "NEWSDEDUP_SWEEP_SECONDS": "2",
            # The tests' own processes may be told to debug; these may not.
            "DEBUG": "false",
        }
        manage(env, "migrate", "--noinput")
        manage(env, "collectstatic", "--noinput")
        manage(env, "shell", "--no-imports", "-c", USER)
        with Gunicorn(env) as web, services.celery_worker(env, ["--beat"]) as worker:
            yield Production(env, web, worker)


def documented_sql() -> str:
    """The statements by which docs/operations.md makes the database and its user."""
    (block,) = re.findall(r"```sql\n(CREATE DATABASE.*?)```", OPERATIONS.read_text(), re.DOTALL)
    return block


def manage(env: dict[str, str], *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def test_the_main_job(production, tmp_path):
    file = tmp_path / "crawl.csv"
    file.write_text(FILE, encoding="gb18030")
    manage(production.env, "import_news", str(file))
    site = production.visit()
    site.log_in("zhou", PASSWORD)

    def clusters() -> list[str]:
        return re.findall(r'href="(/clusters/\d+/)', site.get("/clusters/"))

    assert services.wait_until(lambda: bool(clusters()), 60, pause=0.5), production.worker.tail()
    (address,) = set(clusters())
    page = site.get(address)
    assert TITLE in page
    assert REPRINT in page
    assert OTHER not in page
    assert OTHER in site.get("/news/")


def test_an_article_written_by_sql_is_found_by_the_sweep(production, mariadb):
    mariadb.execute("INSERT INTO news.news (title, content) VALUES ('山城缆车停运检修十天', '改乘轮渡。')")
    left = "SELECT COUNT(*) FROM news.news WHERE state = 'pending'"
    assert services.wait_until(lambda: mariadb.execute(left) == "0", 60, pause=0.5), production.worker.tail()


def test_the_checks_for_deployment_are_clean(production):
    said = manage(production.env, "check", "--deploy", "--database", "default", "--fail-level", "INFO")
    assert "no issues" in said


def test_the_doctor_finds_all_well(production):
    assert "ILL" not in manage(production.env, "doctor")


def test_files_of_the_pages_have_hashed_names_and_are_kept_for_good(production):
    site = production.visit()
    files = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', site.get("/login/")))
    assert any(name.endswith(".css") for name in files)
    for name in files:
        assert re.search(r"\.[0-9a-f]{12}\.\w+$", name), name
        response = site.request("GET", name)
        assert response.status == 200
        assert response.body
        assert "immutable" in response.headers["Cache-Control"]


def test_headers_that_protect(production):
    headers = production.visit().request("GET", "/login/").headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert int(re.findall(r"max-age=(\d+)", headers["Strict-Transport-Security"])[0]) >= 31_536_000
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"


def test_cookies_go_over_https_only(production):
    site = production.visit()
    sent = [site.request("GET", "/login/"), log_in(site, "zhou", PASSWORD)]
    cookies = [line for response in sent for line in response.headers.get_all("Set-Cookie") or ()]
    assert {line.partition("=")[0] for line in cookies} >= {"sessionid", "csrftoken"}
    assert [line for line in cookies if "secure" not in line.lower()] == []
    assert all("httponly" in line.lower() for line in cookies if line.startswith("sessionid"))


def test_without_https_the_browser_is_sent_there(production):
    response = Site(production.web.port, {"Host": HOST}).request("GET", "/news/")
    assert (response.status, response.headers["Location"]) == (301, f"https://{HOST}/news/")


def test_another_host_name_is_refused_and_no_page_tells_secrets(production):
    stranger = Site(production.web.port, {**proxied(), "Host": "elsewhere.example"})
    assert stranger.request("GET", "/login/").status == 400
    site = production.visit()
    site.log_in("zhou", PASSWORD)
    missing = site.request("GET", "/nothing/")
    assert missing.status == 404
    assert b"urlpatterns" not in missing.body
    # With DEBUG off Django by itself would write no fault anywhere.
    assert services.wait_until(lambda: "Not Found: /nothing/" in production.web.tail(), 5)


def test_strangers_see_the_log_in_alone(production):
    response = production.visit().request("GET", "/clusters/")
    assert response.status == 302
    assert response.headers["Location"].startswith("/login/")


def test_who_guesses_is_locked_out_and_nobody_else(production):
    guesser = production.visit("198.51.100.7")
    statuses = [log_in(guesser, "zhou", f"guess {n}").status for n in range(5)]
    assert statuses[0] == 200
    assert statuses[-1] == 429
    assert log_in(production.visit("198.51.100.8"), "zhou", PASSWORD).status == 302


def log_in(site: Site, name: str, password: str) -> Response:
    return site.post("/login/", {"username": name, "password": password}, page="/login/")


def test_the_key_must_be_given():
    env = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "SECRET_KEY: set a long random text" in done.stderr


@pytest.mark.parametrize(
    ("sent", "address"),
    [
        ({}, "127.0.0.1"),
        ({"HTTP_X_REAL_IP": "2001:db8::1"}, "2001:db8::1"),
        ({"HTTP_X_REAL_IP": "x"}, "127.0.0.1"),
    ],
)
def test_the_address_that_the_proxy_names(sent, address):
    assert client_address(RequestFactory().get("/", **sent)) == address


def test_every_variable_of_the_settings_is_documented():
    read = {
        name
        for source in ("newsdedup_site/settings.py", "newsdedup_site/environment.py")
        for name in re.findall(r'env\.\w+(?:\(|, )"([A-Z_]+)"', (ROOT / source).read_text())
    }
    read |= set(re.findall(r"\$\{?([A-Z_]+)", (ROOT / "Procfile").read_text()))
    assert len(read) > 10
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", OPERATIONS.read_text(), re.MULTILINE))
    assert read - documented == set()
