from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from articles.management.base import ServiceCommand, number
from articles.schemes.growth import SIZES
from articles.services import comparison
from articles.services.evaluation import EvaluationError
from articles.services.readers import FileProblemError

LARGEST = 100_000


class Command(ServiceCommand):
    help = (
        "Compare schemes on labelled pairs: MD5, classic SimHash, MinHash LSH, difflib's ratio, the judge, "
        "and the semantic one where it is switched on. "
        "Quality: each pair by itself, as evaluate does. Cost: all pairs among so many of the articles, each "
        "scheme and size in a process of its own; copies in other characters fill a file that has fewer. "
        "What takes too long is estimated from smaller sizes and marked ~."
    )
    example = "--articles samples/news.csv --pairs samples/pairs.csv --sizes 1000 5000"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--articles", type=Path, metavar="F", required=True, help="CSV or JSON lines, as for import_news"
        )
        parser.add_argument(
            "--pairs", type=Path, metavar="P", required=True, help="CSV or TSV, as for evaluate"
        )
        parser.add_argument("--output", type=Path, metavar="FILE", help="write the figures as CSV, too")
        parser.add_argument(
            "--sizes",
            type=number(int, 10, LARGEST),
            nargs="*",
            default=list(SIZES),
            metavar="N",
            help="numbers of articles at which the cost is measured (default: "
            + ", ".join(map(str, SIZES))
            + "); without any: quality alone",
        )
        parser.add_argument(
            "--seconds",
            type=number(float, 1, 86_400),
            default=comparison.SECONDS,
            metavar="S",
            help=f"for one scheme on the pairs, and at one size, at most (default {comparison.SECONDS:.0f})",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with self.bar("steps") as bar:

                def progress(done: int, total: int) -> None:
                    bar.total = total
                    bar.update(done - bar.n)

                results = comparison.compare(
                    options["articles"],
                    options["pairs"],
                    sorted(set(options["sizes"])),
                    seconds=options["seconds"],
                    progress=progress,
                )
        except (EvaluationError, FileProblemError) as error:
            raise CommandError(str(error)) from error
        if options["output"]:
            self._write(options["output"], comparison.as_csv(results))
        self.report(options, results, _text(results))

    def _write(self, path: Path, text: str) -> None:
        try:
            path.write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror or error}") from error


def _text(results: dict[str, Any]) -> str:
    labels, schemes = results["labels"], results["schemes"]
    heads = [f"{label} ({count})" for label, count in labels.items()]
    lines = [
        f"{results['articles']} articles, {results['pairs']} labelled pairs",
        "",
        f"{'':16} precision  recall      f1  caught  others queued   folded of " + "  ".join(heads),
    ]
    for scheme in schemes:
        found = scheme["figures"]
        lines.append(
            f"{scheme['name']:16} {_number(found['precision'], 9)}  {_number(found['recall'], 6)}  "
            f"{_number(found['f1'], 6)}  {_number(found['caught'], 6)}  {_number(found['others_queued'], 13)}"
            f"             {_counts(scheme, heads, labels, '' if scheme['suggests'] else 'folded')}"
        )
    asking = [scheme for scheme in schemes if any(found["queued"] for found in scheme["by_label"].values())]
    if asking:
        lines += ["", f"{'':16} queued of " + "  ".join(heads)]
        lines += [f"{one['name']:16}           {_counts(one, heads, labels, 'queued')}" for one in asking]
    for scheme in schemes:
        if scheme["problem"]:
            lines.append(f"{scheme['name']} cannot be used: {scheme['problem']}")
        elif scheme["pairs"] < results["pairs"]:
            lines.append(f"{scheme['name']}: there was time for {scheme['pairs']} pairs")
    lines += ["", f"{'':16}  articles    seconds  articles/s  memory MB"]
    for scheme in schemes:
        lines += [
            f"{scheme['name']:16} {cost['articles']:9}  {'' if cost['measured'] else '~':1}"
            f"{cost['seconds']:9.2f}  {cost['per_second']:10.0f}  {_number(cost['memory'], 9, 0)}"
            for cost in scheme["costs"]
        ]
    return "\n".join(lines)


def _number(value: float | None, width: int, places: int = 3) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:{width}.{places}f}"


def _counts(scheme: dict[str, Any], heads: Sequence[str], labels: Iterable[str], name: str) -> str:
    """One figure of each label, below its head; - where it has none."""
    found = scheme["by_label"]
    cells = (found.get(label, {}).get(name, "-") for label in labels)
    return "  ".join(f"{cell:>{len(head)}}" for cell, head in zip(cells, heads, strict=True))
