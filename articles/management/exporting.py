"""The two export commands are one: they differ in the service that they call."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from articles.management.base import ServiceCommand, steps


class ExportCommand(ServiceCommand):
    """Calls `export(path, progress)`, which returns the number of rows written."""

    export: Callable[..., int]

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--output", required=True, type=Path, metavar="FILE", help="the CSV file to write"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path = options["output"]
        try:
            with self.bar("rows") as bar:
                count = self.export(path, steps(bar))
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror or error}") from error
        self.report(options, {"rows": count, "output": str(path)}, f"{count} rows written to {path}")
