"""How long the list pages take in a large database, and how many queries each needs.

    python bench/lists.py [--articles 100000] [--clusters 10000] [--database URL | --mariadb]

Fills an empty database, by default a temporary SQLite file, with synthetic articles, clusters and links,
then asks for every list through Django's test client: first, middle and last page, and each filter.
"""

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

REQUESTS = 20
BATCH = 2_000
NOON = datetime(2026, 11, 30, 4, tzinfo=UTC)
DAYS = 730
OUTLETS = [
    f"{place}{kind}"
    for place in "江城 北岸 海川 云岭 望湖 港北 柏川 青峪 澄州 山城".split()
    for kind in "日报 晚报 新闻网 客户端 财经 广播 电视台 晨报 商报 周刊 发布 资讯".split()
]
WORDS = (
    "央行 宣布 下调 存款 准备金率 百分点 油价 迎来 年内 上调 气象台 发布 寒潮 预警 地铁 开通 初期 运营 "
    "柑橘 丰收 召回 部分 轿车 港口 吞吐量 突破 缆车 停运 检修 法院 判决 货款 停水 通知 图书馆 开放 仓库 "
    "起火 获救 铜矿 透水"
).split()
# Of a cluster: most are small, a few go round all outlets.
SIZES = [2] * 50 + [3] * 24 + [4] * 12 + [5] * 6 + [8] * 5 + [20] * 2 + [40]
LARGEST = 500


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--articles", type=int, default=100_000)
    parser.add_argument("--clusters", type=int, default=10_000)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--database", help="URL of an empty database")
    where.add_argument("--mariadb", action="store_true", help="on a private MariaDB")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="newsdedup-bench-"))
        url = arguments.database or f"sqlite:///{folder}/bench.sqlite3"
        if arguments.mariadb:
            from tests.services import PrivateMariaDB

            url = stack.enter_context(PrivateMariaDB(["--innodb-buffer-pool-size=1G"])).url
        prepare(folder, url)
        started = time.perf_counter()
        fill(arguments.articles, arguments.clusters)
        say_what_is_there(time.perf_counter() - started)
        measure()


def prepare(folder: str, url: str) -> None:
    os.environ |= {"NEWSDEDUP_VAR": folder, "DJANGO_SETTINGS_MODULE": "newsdedup_site.settings"}
    os.environ |= {
        "DATABASE_URL": url,
        # What collectstatic once left in the project's folder may be older than the pages.
        "STATIC_ROOT": f"{folder}/static",
        "SECRET_KEY": "bench",
        "DEBUG": "false",
        "ALLOWED_HOSTS": "testserver",
    }
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


# --- rows -------------------------------------------------------------------------------------------------


def fill(articles: int, clusters: int) -> None:
    from articles.models import News, NewsCluster, NewsLink, NewsText

    chance = random.Random(1)
    base = "".join(chance.choices(WORDS, k=100_000))
    sizes = [LARGEST, *chance.choices(SIZES, k=clusters - 1)]
    # Ids are given here, so that articles and clusters can name each other without being read again.
    rows = list(placed(sizes, articles))
    write(News, (news(chance, base, *row) for row in rows))
    write(NewsText, (text(chance, base, id_) for id_, *_ in rows))
    write(NewsCluster, all_clusters(rows))
    for ids in batches(rows):
        moves = [
            News(id=id_, cluster_id=cluster, duplicate_of_id=lead) for id_, cluster, lead in ids if cluster
        ]
        News.objects.bulk_update(moves, ["cluster", "duplicate_of"], batch_size=200)
    write(NewsLink, links(chance, rows))
    fill_queue(articles)


def fill_queue(articles: int) -> None:
    from django.db import transaction

    from articles.services import queue

    for start in range(1, articles + 1, BATCH):
        with transaction.atomic():
            queue.refresh(range(start, start + BATCH))


Row = tuple[int, int | None, int | None]


def placed(sizes: Iterable[int], articles: int) -> Iterator[Row]:
    """(article, its cluster, its lead), the clusters spread over all articles."""
    ids = list(range(1, articles + 1))
    random.Random(2).shuffle(ids)
    for cluster, size in enumerate(sizes, start=1):
        members = sorted(ids.pop() for _ in range(min(size, len(ids))))
        yield from ((id_, cluster, None if id_ == members[0] else members[0]) for id_ in members)
    yield from ((id_, None, None) for id_ in ids)


def published(id_: int) -> datetime | None:
    """Most come in by date; one of fifty has none."""
    return NOON - timedelta(minutes=id_ * 7 % (DAYS * 1440)) if id_ % 50 else None


def news(chance: random.Random, base: str, id_: int, cluster: int | None, lead: int | None) -> Any:
    from articles.models import News

    single = "suspected" if id_ % 10 == 0 else "unique"
    verdict = single if cluster is None else "duplicate" if lead else "lead"
    return News(
        id=id_,
        title="".join(chance.choices(WORDS, k=8)),
        content=cut(chance, base),
        source=chance.choice(OUTLETS),
        url=f"https://news.example/{id_}",
        external_id=f"x{id_}",
        published_at=published(id_),
        identity=f"{id_:064d}",
        canonical_key=f"{id_:064d}",
        title_md5=f"{id_:032x}",
        content_md5=f"{id_:032x}",
        simhash_fp=chance.getrandbits(64),
        **{f"band_{number}": chance.getrandbits(16) for number in range(4)},
        fingerprint_version="bench",
        state="failed" if id_ % 5_000 == 0 else "pending" if id_ % 1_000 == 0 else "done",
        verdict=verdict,
    )


def cut(chance: random.Random, base: str) -> str:
    """A text as long as news are: median about 1,100 characters."""
    start, length = chance.randrange(len(base) - 6_000), int(chance.lognormvariate(7, 0.6))
    return base[start : start + min(length, 6_000)]


def text(chance: random.Random, base: str, id_: int) -> Any:
    from articles.models import NewsText

    return NewsText(news_id=id_, title="".join(chance.choices(WORDS, k=8)), body=cut(chance, base))


def all_clusters(rows: Iterable[Row]) -> Iterator[Any]:
    from articles.models import NewsCluster

    members: dict[int, list[int]] = {}
    for id_, cluster, _ in rows:
        if cluster:
            members.setdefault(cluster, []).append(id_)
    for cluster, ids in members.items():
        dates = [date for date in map(published, ids) if date]
        yield NewsCluster(
            id=cluster,
            lead_id=min(ids),
            size=len(ids),
            state="reviewed" if cluster % 20 == 0 else "open",
            lowest_score=0.7 + cluster % 30 / 100,
            first_published=min(dates, default=None),
            last_published=max(dates, default=None),
        )


def links(chance: random.Random, rows: Iterable[Row]) -> Iterator[Any]:
    """Each copy with its lead; of every tenth single article a link that waits for an editor."""
    reasons = [{"code": "containment", "left": 0.98, "right": 0.91}]
    differs = [{"code": "number_differs", "left": "5.2级", "right": "5.4级"}, *reasons]
    for id_, _cluster, lead in rows:
        if lead:
            yield link(chance, lead, id_, "near", "auto", reasons)
        elif id_ % 10 == 0 and id_ > 1:
            yield link(chance, id_ - 1, id_, "update", "pending", differs)


def link(chance: random.Random, low: int, high: int, kind: str, status: str, reasons: list[Any]) -> Any:
    from articles.models import NewsLink

    numbers = {"score": chance.random(), "hamming": chance.randrange(8)}
    return NewsLink(
        low_id=low,
        high_id=high,
        kind=kind,
        status=status,
        containment_low=0.98,
        containment_high=0.91,
        reasons=reasons,
        rules_version="bench",
        **numbers,
    )


def write(model: Any, rows: Iterable[Any]) -> None:
    from django.db import transaction

    for batch in batches(rows):
        with transaction.atomic():
            model.objects.bulk_create(batch, batch_size=500)


def batches(rows: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(rows)
    while batch := list(islice(rest, BATCH)):
        yield batch


def say_what_is_there(seconds: float) -> None:
    from django.db import connection

    from articles.models import News, NewsCluster, NewsLink, ReviewItem

    counts = ", ".join(
        f"{model.objects.count():,} {model._meta.db_table}"
        for model in (News, NewsCluster, NewsLink, ReviewItem)
    )
    version = ".".join(map(str, connection.get_database_version()))
    print(
        f"{connection.display_name} {version}, {os.cpu_count()} cores: {counts}; filled in {seconds:.0f} s\n"
    )


# --- pages ------------------------------------------------------------------------------------------------


def measure() -> None:
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client(headers={"accept-language": "zh-hans"})
    client.force_login(User.objects.create_superuser("bench"))
    print(f"{'page':34} {'queries':>7} {'median ms':>10} {'p95 ms':>8}")
    for name, address in pages():
        queries, seconds = ask(client, address)
        p95 = statistics.quantiles(seconds, n=20)[-1]
        print(
            f"{name:34} {queries:7} {statistics.median(seconds) * 1000:10.0f} {p95 * 1000:8.0f}", flush=True
        )


def pages() -> Iterator[tuple[str, str]]:
    from articles.models import News, NewsCluster

    listed = News.objects.exclude(verdict="duplicate")
    yield from deep("news", "/news/", listed, "published_at")
    yield "news, one source", f"/news/?source={OUTLETS[0]}"
    yield "news, title search", "/news/?q=准备金率"
    yield "news, title search without a find", "/news/?q=没有这样的标题"
    yield "news, 30 days", "/news/?since=2026-01-01&until=2026-01-30"
    for name, value in (("verdict", "duplicate"), ("kind", "update"), ("state", "failed")):
        yield f"news, {name} {value}", f"/news/?{name}={value}"
    yield from deep("clusters", "/clusters/", NewsCluster.objects.filter(size__gte=2), "last_published")
    yield "clusters, title search", "/clusters/?q=准备金率"
    yield "clusters, reviewed", "/clusters/?state=reviewed"
    yield "clusters, 20 articles or more", "/clusters/?size=20"
    largest = NewsCluster.objects.order_by("-size").values_list("pk", flat=True)[0]
    yield f"cluster of {LARGEST}, first page", f"/clusters/{largest}/"
    yield f"cluster of {LARGEST}, last page", f"/clusters/{largest}/?page=5"
    yield from desk()
    yield from admin_lists()


def desk() -> Iterator[tuple[str, str]]:
    from articles.models import NewsCluster, ReviewItem

    items = ReviewItem.objects.order_by("-priority", "-id")
    for place, number in (("top", 0), ("middle", items.count() // 2), ("end", items.count() - 1)):
        item = items[number]
        yield f"desk, {place} of the queue", f"/desk/?item={item.key}&after={item.place}"
    yield "desk, queue alone", "/desk/queue/"
    yield "desk, pairs of a kind", "/desk/?kind=update"
    yield "desk, one source", f"/desk/?source={OUTLETS[0]}"
    yield "desk, 20 articles or more", "/desk/?size=20"
    yield "desk, score 0.5 to 0.6", "/desk/?lowest=0.5&highest=0.6"
    yield "desk, 30 days", "/desk/?since=2026-01-01&until=2026-01-30"
    yield "desk, title search without a find", "/desk/?q=没有这样的标题"
    largest = NewsCluster.objects.filter(state="open").order_by("-size").values_list("pk", flat=True)[0]
    yield f"desk, group of {LARGEST}", f"/desk/?item=c{largest}"


def deep(name: str, address: str, rows: Any, moment: str) -> Iterator[tuple[str, str]]:
    """First, middle and last page; the latter two by the cursors that links between pages carry."""
    from articles import selectors

    total = rows.count()
    yield f"{name}, first page", address
    for place, offset in (("middle", total // 2), ("last", total - selectors.PAGE_SIZE)):
        row = rows.order_by(f"-{moment}", "-id")[max(offset, 0)]
        yield f"{name}, {place} page", f"{address}?after={selectors._write_cursor(row, moment)}"


def admin_lists() -> Iterator[tuple[str, str]]:
    from django.contrib import admin
    from django.urls import reverse

    for model, options in admin.site._registry.items():
        if model._meta.app_label != "articles":
            continue
        address = reverse(f"admin:articles_{model._meta.model_name}_changelist")
        last = max(1, -(-model._default_manager.count() // options.list_per_page))
        for place, number in (("first", 1), ("middle", (last + 1) // 2), ("last", last)):
            yield f"admin: {model._meta.model_name}, {place} page", f"{address}?p={number}"


def ask(client: Any, address: str) -> tuple[int, list[float]]:
    """The number of queries, counted apart because counting costs time, and the seconds of each request."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    fetch(client, address)
    with CaptureQueriesContext(connection) as queries:
        fetch(client, address)
    return len(queries), [timed(lambda: fetch(client, address)) for _ in range(REQUESTS)]


def fetch(client: Any, address: str) -> None:
    response = client.get(address)
    assert response.status_code == 200, f"{address}: {response.status_code}"


def timed(function: Callable[[], None]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
