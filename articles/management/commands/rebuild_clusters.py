from typing import Any

from articles.management.base import ServiceCommand, steps
from articles.models import News
from articles.services import clustering, health


class Command(ServiceCommand):
    help = "Derive all clusters again from the links, once what belongs to articles that are gone is deleted."
    example = "--json"

    def handle(self, *args: Any, **options: Any) -> None:
        removed = health.remove_orphans()
        with self.bar("articles", News.objects.count()) as bar:
            count = clustering.rebuild_all(steps(bar))
        summary = {"clusters": count, "orphans_removed": removed}
        self.report(options, summary, f"{count} clusters; {removed} orphans removed")
