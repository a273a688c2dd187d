from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils.translation import gettext

from articles.management.base import ServiceCommand
from articles.reasons import render
from articles.services import evaluation
from articles.services.readers import FileProblemError

AGREEMENT = ("precision", "recall", "f1")
FIGURES = (*AGREEMENT, "caught", "others_queued")


class Command(ServiceCommand):
    help = (
        "Precision, recall and F1 of the judge on labelled pairs: of two files, or what the editors decided. "
        "Pairs: columns a, b, label "
        "(D duplicate, U update, E excerpt, S same event, T template, B furniture, "
        "N other story) and if wanted confidence (sure, unsure) and reason."
    )
    example = "--articles samples/news.csv --pairs samples/pairs.csv"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--articles", type=Path, metavar="F", help="CSV or JSON lines, as for import_news"
        )
        parser.add_argument(
            "--pairs", type=Path, metavar="P", help="CSV or TSV; without it: editors' verdicts"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        figures = evaluation.evaluate(read(options))
        self.report(options, figures, self._text(figures))

    def _text(self, figures: dict[str, Any]) -> str:
        lines = [f"{figures['pairs']} pairs: {_row(figures)}", "", "by label:"]
        lines += [
            f"  {label:10} {found['pairs']:5}  folded {found['folded']:5}  queued {found['queued']:5}  "
            f"{_row(found, AGREEMENT)}  {found['kinds']}"
            for label, found in figures["by_label"].items()
        ]
        lines += ["", "by kind:"]
        lines += [
            f"  {kind:10} {found['pairs']:5}  {_row(found, AGREEMENT)}  {found['labels']}"
            for kind, found in figures["by_kind"].items()
        ]
        lines += ["", "by characters of the shorter text:"]
        lines += [
            f"  {name:10} {found['pairs']:5}  {_row(found)}" for name, found in figures["by_length"].items()
        ]
        lines += ["", "errors:"]
        lines += [
            f"  {e['label']} -> {e['kind']} {e['score']:.2f}  {e['a']}  {e['b']}  "
            f"{render(e['reasons'])}  {e['note']}"
            for e in figures["errors"]
        ]
        return "\n".join(lines)


def read(options: dict[str, Any]) -> list[evaluation.Judged]:
    if bool(options["articles"]) != bool(options["pairs"]):
        raise CommandError(gettext("--articles and --pairs go together: name both, or neither"))
    try:
        if not options["pairs"]:
            judged = evaluation.judge_verdicts()
        else:
            judged = evaluation.judge_files(options["articles"], options["pairs"])
    except (evaluation.EvaluationError, FileProblemError) as error:
        raise CommandError(str(error)) from error
    if not judged:
        raise CommandError(gettext("Editors have not decided on any pair yet: name --articles and --pairs."))
    return judged


def _row(found: dict[str, float], names: tuple[str, ...] = FIGURES) -> str:
    return "  ".join(f"{name} {found[name]:.3f}" for name in names)
