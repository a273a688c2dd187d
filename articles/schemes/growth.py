"""What a scheme costs: time and memory of finding all pairs among so many articles, in a process of its own.

    python -m articles.schemes.growth SIZE ARTICLES.jsonl < SCHEME

prints one JSON object; the scheme is pickled. A process of its own has a peak of memory of its own, and can
be ended.
"""

import json
import math
import pickle
import random
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from articles.schemes.base import Article, Scheme

ROOT = Path(__file__).resolve().parent.parent.parent
SIZES = (1_000, 5_000, 20_000)
# Characters that take each other's places are about as frequent as each other.
NEIGHBOURS = 24
FIRST, LAST = "\u4e00", "\u9fff"


class Cost(NamedTuple):
    """seconds on the wall; memory in MB beyond that of the articles, None: unknown; measured or estimated."""

    articles: int
    seconds: float
    memory: float | None
    measured: bool


def grown(articles: Sequence[Article], size: int) -> list[Article]:
    """So many articles: these, and where they are too few, copies of all of them in other characters.

    In each copy every Chinese character stands for another one of about the same frequency. So a copy has
    the lengths, the repetitions and the duplicates of the original, and shares no text with it or another
    copy. Its words are none: a segmenter finds more and shorter ones.
    """
    made = list(articles[:size])
    alphabet = _alphabet(articles)
    number = 0
    while articles and len(made) < size:
        number += 1
        table = _exchange(alphabet, number)
        made += [
            article._replace(
                external_id=f"{article.external_id}#{number}",
                title=article.title.translate(table),
                content=article.content.translate(table),
            )
            for article in articles[: size - len(made)]
        ]
    return made


def _alphabet(articles: Iterable[Article]) -> list[str]:
    """The Chinese characters, the most frequent first."""
    counts: Counter[str] = Counter()
    for article in articles:
        counts.update(article.title)
        counts.update(article.content)
    return sorted((char for char in counts if FIRST <= char <= LAST), key=lambda char: (-counts[char], char))


def _exchange(alphabet: Sequence[str], number: int) -> dict[int, str]:
    shuffle = random.Random(number).sample
    table: dict[int, str] = {}
    for start in range(0, len(alphabet), NEIGHBOURS):
        block = alphabet[start : start + NEIGHBOURS]
        table |= {ord(char): other for char, other in zip(block, shuffle(block, len(block)), strict=True)}
    return table


def cost(scheme: Scheme, size: int, path: Path, seconds: float) -> Cost | None:
    """Measured in a process of its own; None where it takes longer than so many seconds, or fails."""
    command = [sys.executable, "-m", "articles.schemes.growth", str(size), str(path)]
    # Not as an argument, which others on the machine can read: it may hold a server's key.
    given = pickle.dumps(scheme)
    try:
        done = subprocess.run(
            command, cwd=ROOT, input=given, capture_output=True, timeout=seconds, check=True
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    found = json.loads(done.stdout)
    return Cost(size, found["seconds"], found["memory"], True)


def estimated(size: int, known: Sequence[Cost], power: float) -> Cost | None:
    """From what smaller sizes cost: time by the power that the last two show, memory in proportion.

    The power of a scheme is given where less than two were measured or the first took too short to tell.
    """
    if not known:
        return None
    last = known[-1]
    if len(known) > 1 and known[-2].seconds >= 0.05:
        before = known[-2]
        slope = math.log(last.seconds / before.seconds) / math.log(last.articles / before.articles)
        power = min(2.0, max(power, slope))
    times = size / last.articles
    memory = None if last.memory is None else round(last.memory * times, 1)
    return Cost(size, round(last.seconds * times**power, 3), memory, False)


def write_articles(path: Path, articles: Iterable[Article]) -> None:
    with path.open("w", encoding="utf-8", errors="surrogatepass") as lines:
        for article in articles:
            dated = article.published_at and article.published_at.isoformat()
            lines.write(json.dumps([*article[:4], dated]) + "\n")


def _read_articles(path: Path, size: int) -> list[Article]:
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in islice(lines, size)]
    return [
        Article(name, title, content, source, datetime.fromisoformat(dated) if dated else None)
        for name, title, content, source, dated in rows
    ]


def _measure(scheme: Scheme, articles: Sequence[Article]) -> dict[str, Any]:
    # Dictionaries and models are loaded once in the life of a process.
    list(scheme.pairs([Article("1", "央行宣布降准", "央行今天宣布降准。")] * 2))
    _forget_peak()
    before = _peak()
    start = time.perf_counter()
    pairs = sum(1 for _ in scheme.pairs(articles))
    seconds = time.perf_counter() - start
    return {"seconds": round(seconds, 3), "memory": round(_peak() - before, 1), "pairs": pairs}


def _forget_peak() -> None:
    """The peak so far is of reading the articles; only Linux can forget it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> float:
    """MB."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1_024
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (1_048_576 if sys.platform == "darwin" else 1_024)


def main() -> None:
    size, path = sys.argv[1:]
    scheme = pickle.load(sys.stdin.buffer)
    articles = grown(_read_articles(Path(path), int(size)), int(size))
    print(json.dumps(_measure(scheme, articles)))


if __name__ == "__main__":
    main()
