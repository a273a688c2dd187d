"""How long pages take in a large database, and how many queries each needs there and in a small one.

    python bench/pages.py [--articles 1000000] [--clusters 100000] [--small 10000] [--only WORD]
    python bench/pages.py --database URL      # one that bench/generate.py has filled before

Fills two private MariaDBs, or the empty database that is named, and asks for each page through Django's test
client: at least 50 requests with other parameters each (items, clusters, sources, dates, words, deep
positions), all of them with the application's cache emptied before each request ("cold"), then all of them
with it ("warm"). The database's own memory is as the requests before have left it.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench import generate

REQUESTS = 50
COUNTED = 10
LONG = (20_000, 200_000)
MARIADB = ("--innodb-buffer-pool-size=4G", "--innodb-log-file-size=1G", "--local-infile=1")
Page = tuple[str, Sequence[str]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--articles", type=int, default=1_000_000)
    parser.add_argument("--clusters", type=int, help="a tenth of the articles")
    parser.add_argument("--small", type=int, default=10_000, help="articles of the other database; 0: none")
    parser.add_argument("--database", help="URL; it is filled where it is empty")
    parser.add_argument("--only", default="", help="pages whose name has this word")
    parser.add_argument("--counts", action="store_true", help="only the numbers of queries, as JSON")
    given = parser.parse_args()
    small = {} if given.counts or not given.small else _counts_of(given.small, given.only)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="newsdedup-bench-"))
        url = given.database
        if not url:
            from tests.services import PrivateMariaDB

            url = stack.enter_context(PrivateMariaDB(MARIADB)).url
        prepare(folder, url)
        fill(given.articles, given.clusters or given.articles // 10, quiet=given.counts)
        if given.counts:
            print(json.dumps({name: count for name, count, _ in measure(given.only, timed=False)}))
        else:
            show(small, measure(given.only))


def _counts_of(articles: int, only: str) -> dict[str, int]:
    """In a process of its own: Django keeps to one database."""
    command = [sys.executable, __file__, "--counts", "--articles", str(articles), "--only", only]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


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
    call_command("collectstatic", interactive=False, verbosity=0)


def fill(articles: int, clusters: int, quiet: bool) -> None:
    from django.db import connection

    from articles.models import News, NewsCluster, NewsDecision, NewsLink, ReviewItem
    from articles.services import rollup

    started = time.perf_counter()
    if not News.objects.exists():
        generate.fill(articles, clusters)
        generate.check()
    seconds = time.perf_counter() - started
    started = time.perf_counter()
    # What the sweep does, the first time for all days.
    days = rollup.refresh()
    if quiet:
        return
    counts = ", ".join(
        f"{model.objects.count():,} {model._meta.db_table}"
        for model in (News, NewsCluster, NewsLink, ReviewItem, NewsDecision)
    )
    version = ".".join(map(str, connection.get_database_version()))
    print(f"{connection.display_name} {version}, {os.cpu_count()} cores: {counts}")
    print(f"filled in {seconds:.0f} s; {days} days counted in {time.perf_counter() - started:.2f} s\n")


def show(small: dict[str, int], rows: Iterator[tuple[str, int, dict[str, list[float]]]]) -> None:
    print("| page | queries | cold p50 | p95 | warm p50 | p95 |\n| --- | --- | --- | --- | --- | --- |")
    for name, count, times in rows:
        queries = f"{count}" if small.get(name, count) == count else f"{small[name]} → {count}"
        figures = [
            f"{figure * 1000:.0f}"
            for kind in ("cold", "warm")
            for figure in (statistics.median(times[kind]), statistics.quantiles(times[kind], n=20)[-1])
        ]
        print(f"| {' | '.join((name, queries, *figures))} |", flush=True)


def measure(only: str, timed: bool = True) -> Iterator[tuple[str, int, dict[str, list[float]]]]:
    """(page, its largest number of queries, seconds of each request with the cache emptied and filled)."""
    from django.contrib.auth.models import User
    from django.core.cache import cache
    from django.test import Client

    client = Client(headers={"accept-language": "zh-hans"})
    client.force_login(
        User.objects.filter(is_superuser=True).first() or User.objects.create_superuser("bench")
    )
    for name, addresses in pages():
        if only not in name:
            continue
        times: dict[str, list[float]] = {"cold": [], "warm": []}
        for kind in times if timed else ():
            for address in addresses:
                if kind == "cold":
                    cache.clear()
                times[kind].append(fetch(client, address))
        yield name, max(queries(client, address) for address in addresses[:COUNTED]), times


def fetch(client: Any, address: str) -> float:
    started = time.perf_counter()
    response = client.get(address)
    seconds = time.perf_counter() - started
    assert response.status_code == 200, f"{address}: {response.status_code}"
    return seconds


def queries(client: Any, address: str) -> int:
    from django.core.cache import cache
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    cache.clear()
    with CaptureQueriesContext(connection) as found:
        fetch(client, address)
    return len(found)


# --- pages ------------------------------------------------------------------------------------------------


def pages() -> Iterator[Page]:
    chance = random.Random(5)
    yield from desk(chance)
    yield from stories(chance)
    yield from dashboard()
    yield from lists(chance)
    yield from admin_lists(chance)


def drawn(chance: random.Random, rows: Any, *, open_end: bool = False) -> list[Any]:
    """Rows at random places of a list, its first and its last one among them."""
    ids = list(rows.values_list("pk", flat=True))
    places = [0, len(ids) - 1, *(chance.randrange(len(ids)) for _ in range(REQUESTS - 2))]
    found = rows.model._default_manager.in_bulk([ids[place] for place in places])
    return [found[ids[place]] for place in places]


def again(addresses: Sequence[str]) -> list[str]:
    """The same ones over and over, until there are enough."""
    return [addresses[number % len(addresses)] for number in range(max(REQUESTS, len(addresses)))]


def words(chance: random.Random) -> list[str]:
    """What people look for: frequent words, rare ones, and a place with a body it seldom goes with."""
    return [f"{chance.choice(generate.PLACES)}{chance.choice(generate.WHO)}" for _ in range(REQUESTS)]


def days(chance: random.Random) -> list[str]:
    from django.utils import timezone

    today = timezone.localdate()
    starts = [today - timedelta(days=chance.randrange(5, generate.DAYS)) for _ in range(REQUESTS)]
    return [f"since={start}&until={start + timedelta(days=chance.choice((0, 6, 29)))}" for start in starts]


def desk(chance: random.Random) -> Iterator[Page]:
    from articles.models import NewsCluster, ReviewItem

    items = ReviewItem.objects.order_by("-priority", "-id")
    shown = drawn(chance, items)
    places = [f"item={item.key}&after={item.place}" for item in shown]
    yield "desk, any item", [f"/desk/?{place}" for place in places]
    yield "desk, any pair", [f"/desk/?item={item.key}" for item in drawn(chance, items.exclude(link=None))]
    yield "desk, next item ahead", [f"/desk/ahead/?item={item.key}" for item in shown]
    yield "queue, any place", [f"/desk/queue/?{place}" for place in places]
    yield (
        "queue, a kind",
        again([f"/desk/queue/?kind={kind}" for kind in ("update", "excerpt", "suspect", "cluster")]),
    )
    yield "queue, a source", again([f"/desk/queue/?source={quote(name)}" for name in generate.OUTLETS])
    yield "queue, a size", again([f"/desk/queue/?size={size}" for size in (2, 3, 5, 8, 20, 40, 400)])
    yield (
        "queue, a score",
        [f"/desk/queue/?lowest={low / 100}&highest={low / 100 + 0.05:.2f}" for low in range(40, 90)],
    )
    yield "queue, days", [f"/desk/queue/?{period}" for period in days(chance)]
    yield "queue, a title", [f"/desk/queue/?q={quote(word)}" for word in words(chance)]
    yield "queue, no such title", [f"/desk/queue/?q={quote(f'没有{n}')}" for n in range(REQUESTS)]
    yield (
        "queue, title and source",
        [
            f"/desk/queue/?q={quote(word)}&source={quote(generate.OUTLETS[-1])}"
            for word in generate.PLACES * 5
        ],
    )
    largest = NewsCluster.objects.filter(state="open").order_by("-size").first()
    ids = list(largest.members.order_by("pk").values_list("pk", flat=True))
    yield (
        "desk, largest group",
        [f"/desk/?item=c{largest.pk}&right={id_}" for id_ in chance.choices(ids[1:], k=REQUESTS)],
    )
    for length in LONG:
        for name, link in long_pairs(length).items():
            yield f"desk, {name}, two of {length:,} characters", again([f"/desk/?item=p{link}"])
    yield (
        "pairs to choose from, any place",
        [f"/pairs/?after={item.place}" for item in drawn(chance, items.exclude(link=None))],
    )


def long_pairs(length: int) -> dict[str, int]:
    """Links of two long articles: the later one edited here and there, in another order, or unrelated."""
    from articles.models import News, NewsLink, NewsText

    chance = random.Random(length)
    first = generate.sentences(chance, length // 45)
    others = generate.sentences(chance, len(first))
    edited = [other if chance.random() < 0.1 else one for one, other in zip(first, others, strict=True)]
    found = {}
    for name, second in {
        "edited": edited,
        "reordered": chance.sample(edited, len(edited)),
        "unrelated": others,
    }.items():
        pair = []
        for side, parts in enumerate((first, second)):
            body = "\n".join("".join(parts[at : at + 5]) for at in range(0, len(parts), 5))[:length]
            identity = f"long-{length}-{name}-{side}"
            values = {"title": f"长文{name}", "content": body, "source": "江城日报", "state": "done"}
            news, _ = News.objects.get_or_create(identity=identity, defaults=values)
            NewsText.objects.get_or_create(news=news, defaults={"title": news.title, "body": body})
            pair.append(news)
        shares = {"score": 0.7, "containment_low": 0.9, "containment_high": 0.9, "rules_version": "bench"}
        link, _ = NewsLink.objects.get_or_create(
            low=pair[0], high=pair[1], defaults={"kind": "update", "status": "pending", **shares}
        )
        found[name] = link.pk
    return found


def stories(chance: random.Random) -> Iterator[Page]:
    from articles.models import NewsCluster

    groups = NewsCluster.objects.filter(size__gt=1).order_by("pk")
    some = drawn(chance, groups)
    yield "story, any group", [f"/clusters/{group.pk}/story/" for group in some]
    yield "group, any", [f"/clusters/{group.pk}/" for group in some]
    largest = groups.order_by("-size").first()
    last = -(-largest.size // 50)
    numbers = [chance.randrange(1, last + 1) for _ in range(REQUESTS)]
    yield "story, largest group, any page", [f"/clusters/{largest.pk}/story/?page={n}" for n in numbers]
    yield "story, largest group, chart", again([f"/clusters/{largest.pk}/story/chart.svg"])
    yield "group, largest, any page", [f"/clusters/{largest.pk}/?page={-(-n // 2)}" for n in numbers]
    reviewed = drawn(chance, groups.filter(state="reviewed"))
    yield "story, reviewed group", [f"/clusters/{group.pk}/story/" for group in reviewed]


def dashboard() -> Iterator[Page]:
    periods = ("7", "30", "90")
    yield "dashboard", again([f"/dashboard/?days={period}" for period in periods])
    for name in ("intake", "verdicts", "audit"):
        yield (
            f"dashboard, chart {name}",
            again([f"/dashboard/{name}.svg?days={period}" for period in periods]),
        )
    yield "dashboard, audit", again(["/dashboard/audit/"])


def lists(chance: random.Random) -> Iterator[Page]:
    from articles.models import News, NewsCluster

    listed = News.objects.exclude(verdict="duplicate").order_by("-published_at", "-id")
    yield "news, any place", cursors("/news/", drawn(chance, listed), "published_at")
    yield "news, a source", again([f"/news/?source={quote(name)}" for name in generate.OUTLETS])
    yield "news, days", [f"/news/?{period}" for period in days(chance)]
    yield (
        "news, verdict or state",
        again(
            [
                f"/news/?{query}"
                for query in ("verdict=duplicate", "verdict=suspected", "verdict=lead", "state=failed")
            ]
        ),
    )
    yield (
        "news, kind of link",
        again([f"/news/?kind={kind}" for kind in ("exact", "update", "suspect", "different")]),
    )
    yield "news, a title", [f"/news/?q={quote(word)}" for word in words(chance)]
    yield "news, no such title", [f"/news/?q={quote(f'没有{n}')}" for n in range(REQUESTS)]
    yield "article, any", [f"/news/{news.pk}/" for news in drawn(chance, listed)]
    yield (
        "link by hand, a title",
        [f"/news/{chance.randrange(1, listed.first().pk)}/link/?q={quote(word)}" for word in words(chance)],
    )
    groups = NewsCluster.objects.filter(size__gt=1).order_by("-last_published", "-id")
    yield "groups, any place", cursors("/clusters/", drawn(chance, groups), "last_published")
    yield (
        "groups, a state or size",
        again(
            [
                f"/clusters/?{query}"
                for query in ("state=open", "state=reviewed", "size=5", "size=20", "size=400")
            ]
        ),
    )
    yield "groups, days", [f"/clusters/?{period}" for period in days(chance)]
    yield "groups, a title", [f"/clusters/?q={quote(word)}" for word in words(chance)]
    yield "groups, no such title", [f"/clusters/?q={quote(f'没有{n}')}" for n in range(REQUESTS)]


def cursors(address: str, rows: Sequence[Any], moment: str) -> list[str]:
    """Places in a list, as its links between pages name them."""
    from articles import selectors

    return [f"{address}?after={selectors._write_cursor(row, moment)}" for row in rows]


def admin_lists(chance: random.Random) -> Iterator[Page]:
    from django.contrib import admin
    from django.urls import reverse

    from articles.admin import MOST_LISTED

    for model, options in admin.site._registry.items():
        count = model._default_manager.count()
        if model._meta.app_label != "articles" or not count:
            continue
        address = reverse(f"admin:articles_{model._meta.model_name}_changelist")
        last = max(1, -(-min(count, MOST_LISTED) // options.list_per_page))
        numbers = [1, last, *(chance.randrange(1, last + 1) for _ in range(REQUESTS - 2))]
        yield f"admin, {model._meta.model_name}, any page", [f"{address}?p={number}" for number in numbers]


if __name__ == "__main__":
    main()
