from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from articles.management.base import ServiceCommand
from articles.services.accounts import DEMO_USERS, create_demo_users, kept_password


class Command(ServiceCommand):
    help = (
        "Create an editor, a chief and an administrator to try the site with. "
        "Their password is made once and kept in a file; whoever is there already is left alone."
    )
    example = "--password-file var/demo_password"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--password-file",
            metavar="FILE",
            type=Path,
            default=settings.VAR_DIR / "demo_password",
            help="where the password is kept (default: demo_password in NEWSDEDUP_VAR)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path = options["password_file"]
        try:
            password, is_new = kept_password(path)
        except OSError as error:
            raise CommandError(str(error)) from error
        created = create_demo_users(password, reset=is_new)
        names = [user.name for user in DEMO_USERS]
        summary = {"users": names, "created": created, "password_file": str(path)}
        self.report(options, summary, f"Log in as {', '.join(names)}; the password is in {path}")
