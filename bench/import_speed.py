"""How fast a file of news goes from rows to clusters, and where the time goes, stage by stage.

    python bench/import_speed.py FILE [--database URL]

Imports FILE (CSV or JSON lines) into an empty database, by default a temporary SQLite file, in one process.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from operator import itemgetter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

STAGES = (
    ("claim", "pipeline", "_claim"),
    ("clean and fingerprint", "pipeline", "_prepare"),
    ("store text, fingerprint, sketch", "pipeline", "_store_fingerprints"),
    ("find candidates", "candidates", "find"),
    ("judge", "pipeline", "_judge_pairs"),
    ("store links", "pipeline", "_store_links"),
    ("cluster", "clustering", "recluster"),
    ("mark done", "pipeline", "_mark_done"),
    ("learn furniture", "furniture", "learn_from"),
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--database", help="URL of an empty database")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="newsdedup-bench-") as folder:
        prepare(folder, arguments.database)
        measure(arguments.file)


def prepare(folder: str, database: str | None) -> None:
    os.environ |= {"NEWSDEDUP_VAR": folder, "DJANGO_SETTINGS_MODULE": "newsdedup_site.settings"}
    os.environ["DATABASE_URL"] = database or f"sqlite:///{folder}/bench.sqlite3"
    os.environ.setdefault("SECRET_KEY", "bench")
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def measure(path: Path) -> None:
    from articles.models import News, NewsCluster, NewsLink
    from articles.services import candidates, clustering, furniture, pipeline
    from articles.services.ingest import ingest
    from articles.services.readers import Row, read_rows

    seconds: defaultdict[str, float] = defaultdict(float)
    modules = {
        "pipeline": pipeline,
        "candidates": candidates,
        "clustering": clustering,
        "furniture": furniture,
    }
    for name, module, function in STAGES:
        setattr(modules[module], function, timed(getattr(modules[module], function), name, seconds))
    started = time.perf_counter()
    batch = []
    for row in read_rows(path):
        if isinstance(row, Row):
            batch.append(row.payload)
        if len(batch) == pipeline.BATCH:
            ingest(batch, enqueue=False)
            batch = []
    ingest(batch, enqueue=False)
    seconds["read and store rows"] = time.perf_counter() - started
    pipeline.deduplicate_pending()
    total = time.perf_counter() - started
    count = News.objects.count()
    report(seconds, total, count)
    folded = NewsCluster.objects.exclude(state="merged").count()
    print(f"{NewsLink.objects.count()} links, {folded} clusters")


def timed(function: Callable[..., Any], name: str, seconds: defaultdict[str, float]) -> Callable[..., Any]:
    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            seconds[name] += time.perf_counter() - started

    return run


def report(seconds: defaultdict[str, float], total: float, count: int) -> None:
    seconds["commits and the rest"] = total - sum(seconds.values())
    print(f"{count} articles in {total:.1f} s: {count / total:.0f} articles/s\n")
    print(f"{'stage':34} {'s':>7} {'share':>6} {'ms/article':>11}")
    for name, spent in sorted(seconds.items(), key=itemgetter(1), reverse=True):
        print(f"{name:34} {spent:7.1f} {spent / total:6.0%} {spent / count * 1000:11.2f}")


if __name__ == "__main__":
    main()
