"""The environment as a form: environs reads the values, this file says what is wrong and what to write.

Every fault is collected, so that a start tells all of them at once, each with its name and remedy.
"""

import builtins
import zoneinfo
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from environs import Env, EnvError

BROKER_SCHEMES = ("filesystem", "redis", "rediss", "amqp", "amqps")
MYSQL = "django.db.backends.mysql"
SQLITE = "django.db.backends.sqlite3"


class Environment:
    def __init__(self) -> None:
        self._env = Env()
        self._faults: list[str] = []

    def seal(self) -> None:
        """Stop the start with all faults found.

        Raises:
            ImproperlyConfigured: names each wrong variable and its remedy.
        """
        if self._faults:
            raise ImproperlyConfigured(
                "Wrong settings:\n" + "\n".join(f"  {fault}" for fault in self._faults)
            )

    def bool(self, name: str, default: bool) -> bool:
        return self._read(self._env.bool, name, default, "write true or false")

    def list(self, name: str, default: list[str]) -> list[str]:
        return self._read(self._env.list, name, default, "write values separated by commas")

    def path(self, name: str, default: Path) -> Path:
        return self._read(self._env.path, name, default, "write a folder's path").resolve()

    def between(self, name: str, default: int, low: int, high: int) -> int:
        remedy = f"write a whole number from {low} to {high}"
        value = self._read(self._env.int, name, default, remedy)
        return value if low <= value <= high else self._wrong(name, remedy, default)

    def text(self, name: str, default: str = "") -> str:
        return self._read(self._env.str, name, default, "")

    def share(self, name: str, default: float) -> float:
        remedy = "write a number from 0 to 1"
        value = self._read(self._env.float, name, default, remedy)
        return value if 0 <= value <= 1 else self._wrong(name, remedy, default)

    def choice(self, name: str, default: str, choices: Sequence[str]) -> str:
        value = self._read(self._env.str, name, default, "")
        return value if value in choices else self._wrong(name, f"write one of {', '.join(choices)}", default)

    def time_zone(self, name: str, default: str) -> str:
        value = self._read(self._env.str, name, default, "")
        known = value in zoneinfo.available_timezones()
        return value if known else self._wrong(name, "write an IANA name such as Asia/Shanghai", default)

    def secret_key(self, debug: builtins.bool) -> str:
        """SECRET_KEY; only DEBUG may go without one, with a key that is worth nothing to a thief."""
        value = self._read(self._env.str, "SECRET_KEY", "", "")
        if value or debug:
            return value or "insecure-key-for-debug-only"
        return self._wrong(
            "SECRET_KEY", "set a long random text (or DEBUG=true on your own machine)", "missing"
        )

    def database(self, name: str, default: str) -> dict[str, Any]:
        """One DATABASES entry: SQLite or MySQL/MariaDB, each with the options that keep data whole."""
        remedy = "write sqlite:////absolute/path or mysql://user:password@host:3306/name"
        config = self._read(self._env.dj_db_url, name, default, remedy)
        engine = config["ENGINE"] if isinstance(config, dict) else None
        if engine not in (SQLITE, MYSQL):
            known = any(fault.startswith(f"{name}:") for fault in self._faults)
            return {} if known else self._wrong(name, remedy, {})
        return dict(config) | (SQLITE_EXTRAS if engine == SQLITE else MYSQL_EXTRAS)

    def broker(self, name: str, default: str) -> str:
        value = self._read(self._env.str, name, default, "")
        remedy = "write redis://host:6379/0 or amqp://user:password@host//, or leave it out"
        return value if urlsplit(value).scheme in BROKER_SCHEMES else self._wrong(name, remedy, default)

    def broker_options(self, url: str, folder: Path) -> dict[str, Any]:
        """Transport options; the file-system broker needs its folders to exist."""
        scheme = urlsplit(url).scheme
        if scheme in ("redis", "rediss"):
            return {"visibility_timeout": 3600, "socket_timeout": 10, "socket_connect_timeout": 5}
        if scheme != "filesystem":
            return {}
        names = {"data_folder_in": "queue", "data_folder_out": "queue", "control_folder": "control"}
        for sub in set(names.values()):
            (folder / sub).mkdir(parents=True, exist_ok=True)
        return {option: str(folder / sub) for option, sub in names.items()}

    def _read(self, reader: Callable[..., Any], name: str, default: Any, remedy: str) -> Any:
        try:
            return reader(name, default)
        except (EnvError, ValueError) as error:
            return self._wrong(name, f"{remedy} ({error})", default)

    def _wrong(self, name: str, remedy: str, default: Any) -> Any:
        self._faults.append(f"{name}: {remedy}")
        return default


SQLITE_EXTRAS: dict[str, Any] = {
    "OPTIONS": {
        # A deferred transaction that turns into a writer fails at once when another one writes;
        # an immediate one waits its turn.
        "transaction_mode": "IMMEDIATE",
        "timeout": 60,
        # The usual 1,000 pages (4 MB) are one batch: each commit would write all of it a second time.
        "init_command": (
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-65536; "
            "PRAGMA wal_autocheckpoint=8000;"
        ),
    },
}
MYSQL_EXTRAS: dict[str, Any] = {
    "CONN_MAX_AGE": 60,
    "CONN_HEALTH_CHECKS": True,
    "OPTIONS": {
        "charset": "utf8mb4",
        # Each statement must see what others committed: clusters are computed from all links so far.
        "isolation_level": "read committed",
        "init_command": (
            "SET sql_mode='STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,NO_ZERO_DATE,"
            "ERROR_FOR_DIVISION_BY_ZERO'"
        ),
    },
    "TEST": {"CHARSET": "utf8mb4", "COLLATION": "utf8mb4_unicode_ci"},
}
