from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from articles.management.base import ServiceCommand
from articles.services.exports import Cluster, clusters


class Command(ServiceCommand):
    help = (
        "Print the largest clusters: the lead's title, then where the others appeared and under what title."
    )
    example = "--limit 10"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--limit", type=int, default=20, metavar="N", help="how many clusters (default: 20)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        found = clusters(limit=max(options["limit"], 0))
        text = "\n\n".join(map(_text, found)) or "No clusters."
        self.report(options, {"clusters": [asdict(cluster) for cluster in found]}, text)


def _text(cluster: Cluster) -> str:
    lines = [f"#{cluster.id}  {cluster.size} articles"]
    lines += [f"  {'*' if m.is_lead else ' '} {m.source or '–'}  {m.title or '–'}" for m in cluster.members]
    if hidden := cluster.size - len(cluster.members):
        lines.append(f"    and {hidden} more")
    return "\n".join(lines)
