#!/usr/bin/env python
"""The demo after its set-up: fills the database, starts the Procfile, shows what came of it. See demo.sh."""

import fcntl
import io
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Never

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["DJANGO_SETTINGS_MODULE"] = "newsdedup_site.settings"

import django  # noqa: E402

from tests.site import Site  # noqa: E402

VAR = Path(os.environ["NEWSDEDUP_VAR"])
LOG = VAR / "demo.log"
PASSWORD = VAR / "demo_password"
PORTS = range(8000, 8100)
LIMIT_SECONDS = 300
# A worker ends the tasks it has begun; scripts/processes.py waits as long for it.
STOP_SECONDS = 40

# Two titles of one report, and two reports of one earthquake whose figures differ.
TEXTBOOK = ("央行宣布下调存款准备金率0.5个百分点", "【快讯】央行宣布下调存款准备金率0.5个百分点！")
CORRECTED = ("s27-c", "s27-d")


def main() -> None:
    lock = (VAR / "demo.lock").open("w")
    if not taken(lock):
        fail("a demo runs here already: end it with Ctrl-C first, or look at the address it printed")
    port = choose_port()
    fill()
    with processes(port) as running:
        site = Site(port)
        wait(running, lambda: site.answers(), "the site does not answer")
        wait(running, lambda: not waiting(), "articles still wait for the worker")
        tell(site)
        if os.environ.get("CHECK"):
            check(site)
        else:
            print("\nIt runs until Ctrl-C. Log: " + str(LOG), flush=True)
            running.wait()
            fail_with_log("a process ended, and with it the others")


def taken(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def choose_port() -> int:
    """The port asked for, else the first free one."""
    asked = os.environ.get("DEMO_PORT")
    if asked:
        if not asked.isdigit() or not 0 < int(asked) < 2**16 or not is_free(int(asked)):
            fail(f"port {asked} cannot be had: name another, PORT=8123 make demo, or none at all")
        return int(asked)
    port = next(filter(is_free, PORTS), None)
    if port is None:
        fail(f"ports {PORTS[0]} to {PORTS[-1]} are all used: name a free one, PORT=9000 make demo")
    if port != PORTS[0]:
        say(f"port {PORTS[0]} is used, so the demo takes {port}")
    return port


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the web server does: the last demo's connections may still linger.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def fill() -> None:
    from django.core.management import call_command

    django.setup()
    say("preparing the database and the pages' files")
    call_command("migrate", interactive=False, verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    call_command("create_demo_users", password_file=PASSWORD, stdout=io.StringIO())
    say("importing the sample news")
    call_command("import_news", ROOT / "samples" / "news.csv", stdout=io.StringIO())


@contextmanager
def processes(port: int) -> Any:
    """web, worker and beat, as the Procfile says. They are ended however this ends."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    say("starting web, worker and beat")
    env = os.environ | {"PORT": str(port)}
    command = [sys.executable, str(ROOT / "scripts" / "processes.py"), "start"]
    with LOG.open("wb") as log:
        running = subprocess.Popen(
            command, cwd=ROOT, env=env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield running
    except KeyboardInterrupt:
        say("ending; the data stay in " + str(VAR))
        sys.exit(130)
    finally:
        # A second Ctrl-C shall not leave the processes behind.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        running.terminate()
        running.wait(STOP_SECONDS)


def wait(running: subprocess.Popen[bytes], is_true: Any, fault: str) -> None:
    end = time.monotonic() + LIMIT_SECONDS
    while not is_true():
        if running.poll() is not None:
            fail_with_log("a process ended at its start")
        if time.monotonic() > end:
            fail_with_log(f"{fault} after {LIMIT_SECONDS} seconds")
        time.sleep(0.3)


def waiting() -> int:
    from articles.models import News

    return News.objects.filter(state=News.State.PENDING).count()


def tell(site: Site) -> None:
    from articles.models import News
    from articles.services.accounts import DEMO_USERS

    leads = News.objects.filter(verdict=News.Verdict.LEAD).count()
    copies = News.objects.filter(verdict=News.Verdict.DUPLICATE).count()
    names = ", ".join(user.name for user in DEMO_USERS)
    left, right = CORRECTED
    print(
        f"""
{News.objects.count()} articles, {copies} of them folded into {leads} clusters.

  Address    {site.address}/
  Log in as  {names}
  Password   {PASSWORD.read_text().strip()}    (of this machine alone; kept in {PASSWORD})

Look at first
  One report under many titles, {TEXTBOOK[0]}
    {site.address}/clusters/{textbook_cluster()}/
  One earthquake, 5.2 and then 5.4: kept apart, an editor decides
    {site.address}/why/?left={left}&right={right}
  Your own news: scripts/manage.sh import_news FILE    (CSV or JSON lines)""",
        flush=True,
    )


def textbook_cluster() -> int:
    from articles.models import News

    rows = News.objects.filter(title=TEXTBOOK[0]).exclude(cluster=None).order_by("pk")
    return rows.values_list("cluster", flat=True).first() or fail("the sample news made no cluster")


def check(site: Site) -> None:
    """The main job over HTTP, as a person does it: log in, the clusters, one of them with its titles."""
    from articles.services.accounts import DEMO_USERS

    site.log_in(DEMO_USERS[0].name, PASSWORD.read_text().strip())
    # A search by words that all its titles have: which of them leads is the pipeline's choice.
    listed = site.get("/clusters/?q=存款准备金率")
    address = f"/clusters/{textbook_cluster()}/"
    if address not in listed:
        fail(f"the list of clusters does not show {address}")
    page = site.get(address)
    missing = [title for title in TEXTBOOK if title not in page]
    if missing:
        fail(f"{address} does not show {missing[0]}")
    print("\ndemo: checked over HTTP: log-in, list of clusters, the cluster with both titles", flush=True)


def say(text: str) -> None:
    print(f"demo: {text}", flush=True)


def fail(text: str) -> Never:
    sys.exit(f"demo: ERROR: {text}")


def fail_with_log(text: str) -> Never:
    lines = LOG.read_text(errors="replace").splitlines()[-30:]
    print(*lines, sep="\n", file=sys.stderr)
    fail(f"{text}. Above is the end of {LOG}")


if __name__ == "__main__":
    main()
