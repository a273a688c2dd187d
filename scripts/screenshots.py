"""Takes the pictures of docs/pictures/: the site on a database of its own, filled with the sample news.

Without an argument: the pages that the documents show. With a folder: every page there, in two widths.
"""

import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests.services import end, free_port, program  # noqa: E402

SAMPLES = ROOT / "samples" / "news.csv"
NAME, PASSWORD = "周晴", "only-for-pictures"
BROWSER = [
    "--lang=zh-CN",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
]
SHOWN = ("news", "clusters", "cluster", "article", "why")
SIZES = {"wide": (1440, 900), "small": (1024, 768)}
START_SECONDS = 60
PREPARE = f"""
from django.contrib.auth.models import Group, User
user = User.objects.create_user({NAME!r}, password={PASSWORD!r})
user.groups.add(Group.objects.get(name="chief"))
"""
# A reprint with a change, and two reports of one event whose figures differ, are worth a picture.
CHOOSE = """
from articles.models import NewsCluster, NewsLink
cluster = NewsCluster.objects.filter(size__gt=3).order_by("-size", "id").first()
link = NewsLink.objects.filter(kind="update", reasons__icontains="number_differs").order_by("-score").first()
print(cluster.pk, cluster.lead_id, link.low_id, link.high_id)
"""


def main() -> None:
    every = len(sys.argv) > 1
    folder = Path(sys.argv[1]) if every else ROOT / "docs" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="newsdedup-pictures-") as var:
        env = {**os.environ, "DEBUG": "true", "NEWSDEDUP_VAR": var}
        pages = {name: path for name, path in prepare(env).items() if every or name in SHOWN}
        with site(env) as address:
            take(address, pages, folder, every)


def manage(env: dict[str, str], *command: str) -> str:
    result = subprocess.run(
        [sys.executable, "manage.py", *command], env=env, cwd=ROOT, check=True, capture_output=True, text=True
    )
    return result.stdout


def prepare(env: dict[str, str]) -> dict[str, str]:
    """Fill the database; the pages worth a picture, by name."""
    manage(env, "migrate", "--noinput", "-v", "0")
    manage(env, "shell", "--no-imports", "-c", PREPARE)
    pages = {"news": "/news/", "clusters": "/clusters/", "why-empty": "/why/", "missing": "/nothing/"}
    if not SAMPLES.exists():
        return pages
    manage(env, "import_news", str(SAMPLES))
    manage(env, "dedup_all")
    cluster, lead, low, high = manage(env, "shell", "--no-imports", "-c", CHOOSE).split()
    return pages | {
        "cluster": f"/clusters/{cluster}/",
        "article": f"/news/{lead}/",
        "why": f"/why/?left={low}&right={high}",
        "nothing-found": "/news/?q=没有这样的标题",
    }


@contextmanager
def site(env: dict[str, str]) -> Iterator[str]:
    address = f"http://127.0.0.1:{free_port()}"
    command = [sys.executable, "manage.py", "runserver", "--noreload", address.removeprefix("http://")]
    server = subprocess.Popen(
        command,
        env=env,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_for(f"{address}/login/")
        yield address
    finally:
        end(server)


def wait_for(address: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except (urllib.error.URLError, TimeoutError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def take(address: str, pages: dict[str, str], folder: Path, every: bool) -> None:
    alone = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program("chromium"),
            args=[*BROWSER, *alone],
            env={**os.environ, "LANGUAGE": "zh_CN"},
        )
        for theme in ("light", "dark"):
            context = browser.new_context(color_scheme=theme, locale="zh-CN")
            page = context.new_page()
            page.goto(f"{address}/login/")
            if every:
                shoot(page, folder / f"login-{theme}.png", SIZES["wide"])
            log_in(page)
            for name, path in pages.items():
                page.goto(f"{address}{path}")
                for size in SIZES if every else ["wide"]:
                    suffix = theme if size == "wide" else f"{theme}-{size}"
                    shoot(page, folder / f"{name}-{suffix}.png", SIZES[size])
            context.close()
        browser.close()


def log_in(page: Page) -> None:
    page.fill("input[name=username]", NAME)
    page.fill("input[name=password]", PASSWORD)
    page.click("button.main")
    page.wait_for_url("**/news/")


def shoot(page: Page, file: Path, size: Sequence[int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.screenshot(path=file)
    print(file.name)


if __name__ == "__main__":
    main()
