from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils.translation import gettext

from articles.dedup.sequence import LENGTH, LONGEST
from articles.management.base import ServiceCommand, number, steps
from articles.schemes.sequence import MAX_PAIRS, MAX_TEXTS, THRESHOLD
from articles.services import sequence
from articles.services.readers import FileProblemError

MOST = 20_000
SHOWN = 50


class Command(ServiceCommand):
    help = (
        "Find pairs of a file's articles that difflib takes for one text: all pairs of a small set, exactly. "
        "What is compared is the cleaned headline and text. The CSV has the columns a, b, ratio, title_a and "
        "title_b, the most alike first; with a column label it is a file of pairs for evaluate."
    )
    example = "samples/news.csv --output pairs.csv"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", metavar="FILE", type=Path, help="CSV or JSON lines, as for import_news")
        parser.add_argument("--output", type=Path, metavar="FILE", help="the CSV file to write")
        parser.add_argument(
            "--threshold",
            type=number(float, 0.5, 1),
            default=THRESHOLD,
            metavar="R",
            help=f"lowest ratio of a pair, 0.5 to 1 (default {THRESHOLD})",
        )
        parser.add_argument(
            "--limit",
            type=number(int, 2, MOST),
            default=MAX_TEXTS,
            metavar="N",
            help=f"articles that are read at most, up to {MOST} (default {MAX_TEXTS})",
        )
        parser.add_argument(
            "--length",
            type=number(int, 100, LONGEST),
            default=LENGTH,
            metavar="N",
            help=f"characters of each that are compared, up to {LONGEST} (default {LENGTH})",
        )
        parser.add_argument(
            "--seconds",
            type=number(float, 0, 86_400),
            default=sequence.SECONDS,
            metavar="S",
            help=f"time for comparing, at most (default {sequence.SECONDS:.0f})",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with self.bar("articles") as bar:
                search = sequence.search(
                    options["file"],
                    options["threshold"],
                    limit=options["limit"],
                    length=options["length"],
                    seconds=options["seconds"],
                    progress=steps(bar),
                )
        except FileProblemError as error:
            raise CommandError(str(error)) from error
        if len(search.names) < 2:
            raise CommandError(
                gettext(
                    "%(path)s has %(count)s usable articles, and two are needed. Unusable rows: %(rows)s."
                )
                % {"path": options["file"].name, "count": len(search.names), "rows": search.rejected}
            )
        if options["output"]:
            self._write(search, options["output"])
        self.report(options, _summary(search, options), _text(search, options))

    def _write(self, search: sequence.Search, path: Path) -> None:
        try:
            sequence.write(search, path)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror or error}") from error


def _summary(search: sequence.Search, options: dict[str, Any]) -> dict[str, Any]:
    output = options["output"]
    return {
        "articles": len(search.names),
        "rejected": search.rejected,
        "pairs": len(search.found.pairs),
        "complete": not _cuts(search),
        "cuts": _cuts(search),
        "output": str(output) if output else None,
        **(
            {}
            if output
            else {"found": [dict(zip(sequence.COLUMNS, row, strict=True)) for row in search.rows()]}
        ),
    }


def _text(search: sequence.Search, options: dict[str, Any]) -> str:
    lines = [f"{len(search.found.pairs)} pairs among {len(search.names)} articles"]
    if search.rejected:
        lines.append(f"{search.rejected} rows could not be used; import_news says why")
    lines += _cuts(search)
    if options["output"]:
        return "\n".join([*lines, f"written to {options['output']}"])
    lines += [
        f"  {ratio:.3f}  {a}  {b}  {one} | {other}" for a, b, ratio, one, other in search.rows()[:SHOWN]
    ]
    left = len(search.found.pairs) - SHOWN
    return "\n".join([*lines, *([f"  and {left} more: --output writes all"] if left > 0 else [])])


def _cuts(search: sequence.Search) -> list[str]:
    """What a bound left out, and how to have it."""
    found = search.found
    cuts = []
    if search.more:
        cuts.append(f"only the first {len(search.names)} articles were read: --limit")
    if found.shortened:
        cuts.append(
            f"of {found.shortened} articles only the first {search.length} characters were compared: --length"
        )
    if found.full:
        cuts.append(f"it stopped at {MAX_PAIRS} pairs: raise --threshold")
    elif found.done < found.texts:
        cuts.append(
            f"time was over when the {found.done} shortest of {found.texts} articles were compared: --seconds"
        )
    return cuts
