import time
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from articles.management.base import ServiceCommand, steps
from articles.services.ingest import BATCH_BYTES, BATCH_ROWS, IngestResult, Payload, ingest
from articles.services.readers import FileProblemError, Reject, Row, read_rows
from articles.services.rejects import RejectsFile, rejects_path


@dataclass(slots=True)
class Counts:
    """IngestResults added up, without the ids, of which a large file has too many."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    repeated: int = 0

    def add(self, result: IngestResult) -> None:
        self.added += result.added
        self.updated += result.updated
        self.unchanged += result.unchanged
        self.repeated += result.repeated

    @property
    def stored(self) -> int:
        return self.added + self.updated + self.unchanged + self.repeated


class Command(ServiceCommand):
    help = (
        "Import news from a CSV or JSON lines file. Columns: external_id (编号), title (标题), "
        "content (正文), source (来源), url (链接), published_at (发布时间). "
        "An article that is there already is updated. "
        "Rows that cannot be used go with their reasons to FILE.rejects.csv."
    )
    example = "crawl.jsonl --source 新华网 --wait"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "file", metavar="FILE", type=Path, help="CSV (UTF-8, GB18030, UTF-16) or JSON lines"
        )
        parser.add_argument(
            "--source", default="", metavar="NAME", help="of the articles that name no source"
        )
        parser.add_argument(
            "--wait", action="store_true", help="judge here before returning; needs no broker"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        begin = time.monotonic()
        try:
            rejects = RejectsFile(rejects_path(options["file"]))
            with rejects:
                counts = self._store(options, rejects)
        except (FileProblemError, OSError) as error:
            raise CommandError(str(error)) from error
        summary: dict[str, Any] = {
            "added": counts.added,
            "updated": counts.updated,
            "unchanged": counts.unchanged,
            "repeated": counts.repeated,
            "rejected": rejects.count,
            "rejects": str(rejects.path) if rejects.count else None,
        }
        if options["wait"]:
            summary |= self.judge()
        summary["seconds"] = round(time.monotonic() - begin, 2)
        self.report(options, summary, self._text(summary))
        if not counts.stored:
            raise CommandError("Nothing was imported.")
        self.finish(summary.get("failed", 0))

    def _store(self, options: dict[str, Any], rejects: RejectsFile) -> Counts:
        path, counts = options["file"], Counts()
        if len(options["source"]) > 100:
            raise CommandError("--source: at most 100 characters")
        size = path.stat().st_size if path.is_file() else 0
        with self.bar("B", size, unit_scale=True, desc="reading") as bar:
            step = steps(bar)
            rows = read_rows(path, lambda total: step(total - bar.n), options["source"].strip())
            for batch in batches(usable(rows, rejects)):
                counts.add(ingest(batch, enqueue=not options["wait"]))
        return counts

    def _text(self, summary: dict[str, Any]) -> str:
        lines = [f"{name:>10}: {value}" for name, value in summary.items() if value is not None]
        return "\n".join(lines)


def usable(rows: Iterable[Row | Reject], rejects: RejectsFile) -> Iterator[Payload]:
    """The articles among the rows; the others are written down."""
    for row in rows:
        if isinstance(row, Row):
            yield row.payload
        else:
            rejects.add(row)


def batches(payloads: Iterable[Payload]) -> Iterator[list[Payload]]:
    """What is held in memory at a time."""
    batch: list[Payload] = []
    length = 0
    for payload in payloads:
        batch.append(payload)
        length += len(payload.content)
        if len(batch) == BATCH_ROWS or length > BATCH_BYTES:
            yield batch
            batch, length = [], 0
    if batch:
        yield batch
