"""Accounts that the demo makes, one for each role that works."""

import secrets
from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth.models import Group, User
from django.db import transaction


@dataclass(frozen=True, slots=True)
class DemoUser:
    name: str
    role: str
    staff: bool


DEMO_USERS = (
    DemoUser("editor", "editor", staff=False),
    DemoUser("chief", "chief", staff=True),
    DemoUser("administrator", "administrator", staff=True),
)


@transaction.atomic
def create_demo_users(password: str, reset: bool = False) -> list[str]:
    """Create those that are missing; returns their names. `reset` gives the password to the others too."""
    created = []
    for wanted in DEMO_USERS:
        user, is_new = User.objects.get_or_create(username=wanted.name, defaults={"is_staff": wanted.staff})
        if is_new:
            user.groups.add(Group.objects.get(name=wanted.role))
            created.append(wanted.name)
        if is_new or reset:
            user.set_password(password)
            user.save(update_fields=["password"])
    return created


def kept_password(path: Path) -> tuple[str, bool]:
    """The password in a file that only its owner may read, and whether it was made just now."""
    path.touch(mode=0o600)
    kept = path.read_text().strip()
    password = kept or secrets.token_urlsafe(9)
    if not kept:
        path.write_text(password + "\n")
    return password, not kept
