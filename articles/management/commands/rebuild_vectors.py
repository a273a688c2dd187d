from typing import Any

from django.core.management.base import CommandError
from django.utils.translation import gettext

from articles.management.base import ServiceCommand
from articles.services import semantic
from articles.vectors.extra import UnavailableError


class Command(ServiceCommand):
    help = "Make the vector index of the semantic scheme anew from the stored vectors."
    example = "--json"

    def handle(self, *args: Any, **options: Any) -> None:
        if not semantic.enabled():
            raise CommandError(
                gettext("The semantic scheme is off: set NEWSDEDUP_SEMANTIC, see docs/semantic.md")
            )
        try:
            count = semantic.rebuild()
        except UnavailableError as error:
            raise CommandError(str(error)) from None
        said = gettext("%(count)s vectors in the index, %(behind)s articles have none yet.")
        found = {"vectors": count, "behind": semantic.behind()}
        self.report(options, found, said % {"count": count, "behind": found["behind"]})
