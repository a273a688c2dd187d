from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils.translation import gettext

from articles.management.base import ServiceCommand
from articles.services.health import Finding, examine


class Command(ServiceCommand):
    help = "Look whether all parts work together; tell what to do about each that does not."
    example = "--no-worker"
    # It shall say what is wrong in its own words, whatever the system checks think of it.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--no-worker", action="store_true", help="no worker is expected to run")

    def handle(self, *args: Any, **options: Any) -> None:
        findings = []
        for finding in examine(worker=not options["no_worker"]):
            findings.append(finding)
            if not options["json"]:
                self.stdout.write(self._line(finding))
        ill = [finding for finding in findings if not finding.ok]
        if options["json"]:
            self.report(options, {"ok": not ill, "findings": [_as_dict(finding) for finding in findings]}, "")
        if ill:
            raise CommandError(gettext("Ill: %(subjects)s") % {"subjects": ", ".join(f.subject for f in ill)})

    def _line(self, finding: Finding) -> str:
        if finding.ok:
            note = f": {finding.note}" if finding.note else ""
            return f"{self.style.SUCCESS('ok ')} {finding.subject}{note}"
        return f"{self.style.ERROR('ILL')} {finding.subject}: {finding.detail}\n    → {finding.remedy}"


def _as_dict(finding: Finding) -> dict[str, Any]:
    names = ("code", "ok", "detail", "remedy", "note")
    return {name: getattr(finding, name) for name in names}
