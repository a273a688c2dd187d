"""Takes the pictures of docs/pictures/: the site and a worker on a database filled with the sample news.

Without an argument: the pages that the documents show. With a folder: every page there, in two widths.
"""

import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
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
SHOWN = ("desk", "news", "clusters", "cluster", "story", "article", "why", "dashboard")
SIZES = {"wide": (1440, 900), "small": (1024, 768)}
START_SECONDS = 60
PREPARE = f"""
from django.contrib.auth.models import Group, User
user = User.objects.create_user({NAME!r}, password={PASSWORD!r})
user.groups.add(Group.objects.get(name="chief"))
"""
# A reprint with a change, and two reports of one event whose figures differ, are worth a picture.
CHOOSE = """
from articles.models import NewsCluster, NewsLink, ReviewItem
cluster = NewsCluster.objects.filter(size__gt=3).order_by("-size", "id").first()
links = NewsLink.objects.filter(kind="update", reasons__icontains="number_differs").order_by("-score")
link = links.first()
item = ReviewItem.objects.filter(link__in=links).order_by("-priority").first()
print(cluster.pk, cluster.lead_id, link.low_id, link.high_id, item.key if item else "")
"""

# A desk at work for a month: the samples came in day by day, two editors decided and answered an audit.
WORK = f"""
from datetime import timedelta
from django.contrib.auth.models import User
from django.utils import timezone
from articles.models import AuditSample, News, NewsDecision, NewsLink
from articles.services import audit, review
editors = [User.objects.get(username={NAME!r}), User.objects.create_user("方晓")]
now, today = timezone.now(), timezone.localdate()
for id_ in News.objects.values_list("pk", flat=True):
    News.objects.filter(pk=id_).update(created_at=now - timedelta(days=id_ * 37 % 29, hours=id_ % 5))
for id_ in NewsLink.objects.values_list("pk", flat=True):
    NewsLink.objects.filter(pk=id_).update(created_at=now - timedelta(days=id_ * 31 % 12, hours=id_ % 7))
for back in range(9, 0, -1):
    audit.draw(today - timedelta(days=back))
    AuditSample.objects.filter(day__gt=today - timedelta(days=back)).delete()
samples = AuditSample.objects.select_related("link").order_by("pk")
waiting = NewsLink.objects.filter(status="pending").exclude(kind="update").order_by("pk")[:30]
for number, link in enumerate([*(sample.link for sample in samples), *waiting]):
    said = "different" if number % 14 == 13 else link.kind if link.status == "pending" else "duplicate"
    said = said if said in review.VERDICTS else "duplicate"
    decision = review.judge_pair(link.low_id, link.high_id, said, editors[number % 3 == 2])
    NewsDecision.objects.filter(pk=decision.pk).update(created_at=now - timedelta(days=number % 20))
audit.draw(today)
for sample in AuditSample.objects.filter(day=today).select_related("link")[:7]:
    review.judge_pair(sample.link.low_id, sample.link.high_id, "duplicate", editors[0])
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
    manage(env, "shell", "--no-imports", "-c", WORK)
    cluster, lead, low, high, item = manage(env, "shell", "--no-imports", "-c", CHOOSE).split()
    return pages | {
        "desk": f"/desk/?item={item}",
        "desk-group": "/desk/?kind=cluster",
        "desk-nothing": "/desk/?q=没有这样的标题",
        "cluster": f"/clusters/{cluster}/",
        "story": f"/clusters/{cluster}/story/",
        "article": f"/news/{lead}/",
        "why": f"/why/?left={low}&right={high}",
        "dashboard": "/dashboard/",
        "audit": "/dashboard/audit/",
        "nothing-found": "/news/?q=没有这样的标题",
    }


@contextmanager
def site(env: dict[str, str]) -> Iterator[str]:
    address = f"http://127.0.0.1:{free_port()}"
    web = [sys.executable, "manage.py", "runserver", "--noreload", address.removeprefix("http://")]
    worker = [sys.executable, "-m", "celery", "-A", "newsdedup_site", "worker", "--concurrency", "2"]
    with started(web, env), started(worker, env):
        wait_for(f"{address}/login/")
        # The header counts it by the file that it leaves once it is there.
        wait_until(lambda: any(Path(env["NEWSDEDUP_VAR"], "workers").glob("*")))
        yield address


@contextmanager
def started(command: list[str], env: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen(
        command,
        env=env,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        end(process)


def wait_for(address: str) -> None:
    def answers() -> bool:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except (urllib.error.URLError, TimeoutError):
            return False
        return True

    wait_until(answers)


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError("the site did not come up")
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
    page.wait_for_url("**/desk/")


def shoot(page: Page, file: Path, size: Sequence[int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.screenshot(path=file)
    shrink(file)
    print(file.name)


def shrink(file: Path) -> None:
    """Pages have few colours: a palette of 256 is a third as large and looks the same."""
    with Image.open(file) as picture:
        small = picture.convert("RGB").quantize(256, Image.Quantize.MEDIANCUT)
    small.save(file, optimize=True)


if __name__ == "__main__":
    main()
