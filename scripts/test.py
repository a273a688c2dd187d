#!/usr/bin/env python
"""Runs the tests on SQLite, those marked "database" on a private MariaDB, those marked "semantic" at last.

Arguments are passed on to pytest: scripts/test.py -k upload
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.services import MissingProgramError, PrivateMariaDB, PrivateRedis  # noqa: E402

NO_TESTS = 5


def main(arguments: list[str]) -> int:
    """Run all passes, also when the first one fails, so that one run tells everything."""
    statuses = [
        pass_on("SQLite", {}, ["-m", "not semantic", *arguments]),
        on_mariadb(arguments),
        pass_on("SQLite, semantic scheme", {}, ["-m", "semantic", *arguments]),
    ]
    return next(filter(None, statuses), 0)


def on_mariadb(arguments: list[str]) -> int:
    try:
        import MySQLdb  # noqa: F401

        with PrivateMariaDB() as database, PrivateRedis() as broker:
            urls = {"DATABASE_URL": database.url, "CELERY_BROKER_URL": broker.url}
            return pass_on("MariaDB and Redis", urls, ["-m", "database", *arguments])
    except (ImportError, MissingProgramError) as error:
        print(f"\nNOT TESTED on MariaDB: {error}", flush=True)
        return 1 if os.environ.get("CI") else 0


def pass_on(title: str, urls: dict[str, str], arguments: list[str]) -> int:
    print(f"\n=== Tests on {title} ===", flush=True)
    ours = ("DATABASE_URL", "CELERY_BROKER_URL", "DJANGO_SETTINGS_MODULE")
    env = {name: value for name, value in os.environ.items() if name not in ours}
    command = [sys.executable, "-m", "pytest", *arguments]
    status = subprocess.run(command, cwd=ROOT, env=env | urls, check=False).returncode
    # A choice by name may match tests of one pass only.
    return 0 if status == NO_TESTS and "-k" in arguments else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
