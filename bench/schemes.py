"""One corpus through three schemes, scored alike: this application, the classic SimHash recipe, MinHash LSH.

    python bench/schemes.py --articles A.jsonl [B.jsonl ...] --pairs P --scorer SCORE.py [--json]

Articles: JSON lines with external_id, title, content, source, published_at. The scorer is a program that is
called with --news, --links, --pairs, --articles, --json; it reads news.csv (external_id, cluster_id) and
links.csv (left_external_id, right_external_id, status), and prints one JSON object. Everything runs in this
one process, so that the times can be compared; of several corpora the labelled pairs are also pooled.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import jieba

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from articles.schemes.base import Article, Scheme
from articles.schemes.classic import Classic
from articles.schemes.minhash import MinHashLsh

NOT_DUPLICATE = "TBN"
Clusters = dict[str, str]


class Stopwatch:
    """seconds: on the wall; processor: of this process, which other programs on the machine disturb less."""

    def __enter__(self) -> "Stopwatch":
        self.seconds, self.processor = -time.perf_counter(), -time.process_time()
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds += time.perf_counter()
        self.processor += time.process_time()


class Groups:
    """Union-find."""

    def __init__(self, size: int) -> None:
        self.parent = list(range(size))

    def root(self, place: int) -> int:
        while self.parent[place] != place:
            self.parent[place] = self.parent[self.parent[place]]
            place = self.parent[place]
        return place

    def join(self, one: int, other: int) -> None:
        self.parent[self.root(one)] = self.root(other)

    def clusters(self, articles: Sequence[Article]) -> Clusters:
        """external_id -> cluster, '' where an article stands alone."""
        members = defaultdict(list)
        for place, article in enumerate(articles):
            members[self.root(place)].append(article.external_id)
        return {id_: str(root) if len(ids) > 1 else "" for root, ids in members.items() for id_ in ids}


def run_peer(scheme: Scheme, path: Path, folder: Path) -> Stopwatch:
    with Stopwatch() as watch:
        articles = read_articles(path)
        groups = Groups(len(articles))
        for one, other in scheme.pairs(articles):
            groups.join(one, other)
        found = groups.clusters(articles)
    write_csv(folder / "news.csv", ("external_id", "cluster_id"), found.items())
    # Neither scheme asks anybody.
    write_csv(folder / "links.csv", ("left_external_id", "right_external_id", "status"), ())
    return watch


def read_articles(path: Path) -> list[Article]:
    with path.open(encoding="utf-8") as lines:
        rows = map(json.loads, lines)
        return [Article(row["external_id"], row["title"], row["content"]) for row in rows]


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


# --- this application -------------------------------------------------------------------------------------


def start_application(folder: Path) -> None:
    os.environ |= {"NEWSDEDUP_VAR": str(folder), "DJANGO_SETTINGS_MODULE": "newsdedup_site.settings"}
    os.environ |= {"DATABASE_URL": f"sqlite:///{folder}/none.sqlite3", "DEBUG": "false"}
    os.environ.setdefault("SECRET_KEY", "bench")
    import django

    django.setup()


def run_application(path: Path, folder: Path) -> Stopwatch:
    """`import_news --wait` into a new SQLite file; the exports are not part of the time."""
    from django.core.management import call_command
    from django.db import connection

    connection.close()
    connection.settings_dict["NAME"] = str(folder / "news.sqlite3")
    call_command("migrate", verbosity=0)
    # What is rejected is written beside the file: into the temporary folder.
    link = folder / path.name
    link.symlink_to(path.resolve())
    with Path(os.devnull).open("w") as nowhere:
        with Stopwatch() as watch:
            call_command("import_news", str(link), wait=True, stdout=nowhere)
        for kind in ("news", "links"):
            call_command(f"export_{kind}", output=folder / f"{kind}.csv", stdout=nowhere)
    return watch


# --- figures ----------------------------------------------------------------------------------------------

SCHEMES: dict[str, Callable[[Path, Path], Stopwatch]] = {
    "this application": run_application,
    "classic SimHash": lambda path, folder: run_peer(Classic(), path, folder),
    "MinHash LSH": lambda path, folder: run_peer(MinHashLsh(), path, folder),
}
COLUMNS = (
    *("precision", "recall", "F1", "caught", "others queued", "U folded", "E folded"),
    *("largest", "no text shared", "seconds", "processor", "articles/s"),
)


def score(scorer: Path, pairs: Path, articles: Path, folder: Path) -> dict[str, Any]:
    files = {
        "--news": folder / "news.csv",
        "--links": folder / "links.csv",
        "--pairs": pairs,
        "--articles": articles,
    }
    arguments = [str(part) for option in files.items() for part in option]
    done = subprocess.run(
        [sys.executable, str(scorer), *arguments, "--json"], capture_output=True, check=True
    )
    return json.loads(done.stdout)


def figures(found: dict[str, Any]) -> dict[str, float]:
    """Precision and the like from the numbers of pairs of each label."""
    labels = defaultdict(lambda: {"n": 0, "folded": 0, "queued": 0}, found["by_label"])
    right = labels["D"]["folded"]
    wrong = sum(labels[label]["folded"] for label in NOT_DUPLICATE)
    others = sum(labels[label]["n"] for label in NOT_DUPLICATE)
    duplicates = max(1, labels["D"]["n"])
    precision, recall = right / max(1, right + wrong), right / duplicates
    return {
        "precision": precision,
        "recall": recall,
        "F1": 2 * precision * recall / max(1e-9, precision + recall),
        "caught": (right + labels["D"]["queued"]) / duplicates,
        "others queued": sum(labels[label]["queued"] for label in NOT_DUPLICATE) / max(1, others),
        "U folded": labels["U"]["folded"],
        "E folded": labels["E"]["folded"],
        "largest": found["largest_cluster"],
        "no text shared": found.get("folded_pairs_sharing_no_text", 0),
        "seconds": found["seconds"],
        "processor": found["processor"],
        "articles/s": found["articles"] / found["seconds"],
    }


def pooled(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    labels: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for result in results:
        for label, counts in result["by_label"].items():
            for name, count in counts.items():
                labels[label][name] += count
    summed = ("articles", "seconds", "processor", "folded_pairs", "folded_pairs_sharing_no_text")
    return {
        "by_label": labels,
        "largest_cluster": max(result["largest_cluster"] for result in results),
        **{name: sum(result.get(name, 0) for result in results) for name in summed},
    }


def print_table(name: str, results: dict[str, dict[str, Any]]) -> None:
    print(f"\n{name}\n\n| | {' | '.join(COLUMNS)} |\n| --- |{' --- |' * len(COLUMNS)}")
    for scheme, result in results.items():
        cells = [cell(name, value) for name, value in figures(result).items()]
        print(f"| {scheme} | {' | '.join(cells)} |", flush=True)


def cell(name: str, value: float) -> str:
    """Counts as they are, seconds to a tenth, shares to a thousandth."""
    if isinstance(value, int):
        return str(value)
    return (
        f"{value:.1f}"
        if name in ("seconds", "processor")
        else f"{value:.0f}"
        if value > 1
        else f"{value:.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--articles", nargs="+", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--scorer", type=Path, required=True)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep news.csv and links.csv there")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="newsdedup-bench-") as temporary:
        folder = arguments.keep or Path(temporary)
        start_application(folder)
        jieba.initialize()
        corpora = {path.stem: run_all(path, folder / path.stem, arguments) for path in arguments.articles}
    if len(corpora) > 1:
        corpora["all"] = {
            scheme: pooled([results[scheme] for results in corpora.values()]) for scheme in SCHEMES
        }
        if not arguments.json:
            print_table("all", corpora["all"])
    if arguments.json:
        print(json.dumps(corpora, ensure_ascii=False))


def run_all(path: Path, folder: Path, arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    results = {}
    for scheme, run in SCHEMES.items():
        place = folder / scheme.replace(" ", "-")
        place.mkdir(parents=True)
        watch = run(path, place)
        results[scheme] = score(arguments.scorer, arguments.pairs, path, place) | vars(watch)
    if not arguments.json:
        print_table(path.stem, results)
    return results


if __name__ == "__main__":
    main()
