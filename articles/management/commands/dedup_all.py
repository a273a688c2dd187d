from argparse import ArgumentParser
from typing import Any

from articles.management.base import ServiceCommand
from articles.models import News
from articles.services import ingest, pipeline


class Command(ServiceCommand):
    help = (
        "Judge all articles anew, except what people decided. What is left when it is interrupted stays "
        "pending: --resume goes on, and so does a worker."
    )
    example = "--resume"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--resume", action="store_true", help="only what is pending, as after an interruption"
        )
        which.add_argument(
            "--failed", action="store_true", help="only what failed before, and what is pending"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["failed"]:
            ingest.retry_failed()
        elif not options["resume"]:
            pipeline.mark_all_pending()
        waiting = News.objects.filter(state=News.State.PENDING).count()
        summary = self.judge(waiting)
        self.report(options, summary, ", ".join(f"{count} {name}" for name, count in summary.items()))
        self.finish(summary["failed"])
