from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from articles.dedup.scoring import WEIGHTS
from articles.management.base import ServiceCommand
from articles.management.commands.evaluate import read
from articles.services import evaluation


class Command(ServiceCommand):
    help = (
        "Fit the scores of the judge (not its rules) to labelled pairs, and write them with their training "
        "figures to a small file; `dedup_all` then gives all links their new scores."
    )
    example = "--articles news.csv --pairs pairs.csv --output weights.json"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--articles", type=Path, metavar="F", help="CSV or JSON lines, as for import_news"
        )
        parser.add_argument(
            "--pairs", type=Path, metavar="P", help="CSV or TSV; without it: editors' verdicts"
        )
        parser.add_argument(
            "--output", type=Path, default=WEIGHTS, metavar="FILE", help="default: the file in use"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            weights = evaluation.fit(read(options))
            evaluation.write_weights(weights, options["output"])
        except evaluation.EvaluationError as error:
            raise CommandError(str(error)) from error
        text = f"{weights['pairs']} pairs, {weights['duplicates']} duplicates, Brier score {weights['brier']}"
        self.report(options, weights, f"{text}; written to {options['output']}")
