"""Private servers for the tests: each on a free port, in a folder of its own, gone when the test is.

Nothing here knows Django or pytest, so that scripts/test.py can use it too.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import redis
from celery import Celery
from kombu.connection import Connection
from redis.backoff import NoBackoff
from redis.retry import Retry

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60
STOP_SECONDS = 20
TAIL_LINES = 30


class MissingProgramError(RuntimeError):
    """A program that is not installed; "scripts/setup.sh test" installs it."""


class StartError(RuntimeError):
    """A service that did not come up, with the end of its log."""


def program(name: str) -> str:
    """The path of an installed program.

    Raises:
        MissingProgramError: it is not installed.
    """
    # Servers are often outside a plain user's PATH.
    found = shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin")
    if found is None:
        raise MissingProgramError(f"{name} is not installed: run scripts/setup.sh test")
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Service(ABC):
    """A program in a temporary folder; as a context manager it runs from enter to exit."""

    name = "service"

    def __init__(self, options: Sequence[str] = ()) -> None:
        self.options = list(options)
        self.port = free_port()
        self.folder = Path()
        self.process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """The program and its arguments."""

    def environment(self) -> dict[str, str]:
        return dict(os.environ)

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether it answers."""

    def before_start(self) -> None:  # noqa: B027 - most need none
        """Prepare the folder."""

    def after_start(self) -> None:  # noqa: B027 - most need none
        """Fill the running service."""

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(
            prefix=f"newsdedup-{self.name}-", ignore_cleanup_errors=True
        )
        self.folder = Path(self._folder.name)
        try:
            self.before_start()
            self._start()
            self.after_start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End the process with all its children, and remove the folder."""
        if self.process is not None:
            end(self.process)
            self.process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def tail(self) -> str:
        log = self.folder / "log"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        return "\n".join(lines[-TAIL_LINES:])

    def run(self, *command: str, stdin: bytes = b"") -> bytes:
        """Run a helper program to its end.

        Raises:
            StartError: it failed; with what it wrote.
        """
        result = subprocess.run(command, input=stdin, capture_output=True, check=False)
        if result.returncode:
            said = (result.stdout[-2000:] + result.stderr[-2000:]).decode(errors="replace")
            raise StartError(f"{command[0]} failed with {result.returncode}:\n{said}")
        return result.stdout

    def _start(self) -> None:
        with (self.folder / "log").open("wb") as log:
            # A session of its own: Ctrl-C reaches only the tests, which then end it in order.
            self.process = subprocess.Popen(
                self.command(),
                env=self.environment(),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        process = self.process
        wait_until(lambda: process.poll() is not None or self.is_ready(), START_SECONDS)
        if process.poll() is not None:
            raise StartError(f"{self.name} ended with {process.returncode} at its start:\n{self.tail()}")
        if not self.is_ready():
            raise StartError(f"{self.name} was not ready after {START_SECONDS} s:\n{self.tail()}")


class PrivateMariaDB(Service):
    """MariaDB with an empty database "newsdedup"; root needs no password.

    Tuned for speed, not for safety: what it holds is thrown away.
    """

    name = "mariadb"
    database = "newsdedup"

    @property
    def url(self) -> str:
        return f"mysql://root@127.0.0.1:{self.port}/{self.database}"

    def command(self) -> list[str]:
        return [
            program("mariadbd"),
            "--no-defaults",
            *self._user(),
            f"--datadir={self.folder / 'data'}",
            f"--socket={self.folder / 'socket'}",
            f"--pid-file={self.folder / 'pid'}",
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
            "--skip-name-resolve",
            "--character-set-server=utf8mb4",
            "--sql-mode=STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-doublewrite=OFF",
            "--innodb-buffer-pool-size=64M",
            "--innodb-log-file-size=32M",
            "--performance-schema=OFF",
            "--skip-log-bin",
            *self.options,
        ]

    def before_start(self) -> None:
        self.run(
            program("mariadb-install-db"),
            "--no-defaults",
            *self._user(),
            f"--datadir={self.folder / 'data'}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        )

    def is_ready(self) -> bool:
        command = [program("mariadb-admin"), "--no-defaults", *self._login(), "ping"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def after_start(self) -> None:
        # Django truncates dates in the local zone, which MariaDB can only do with these tables.
        zones = self.run(program("mariadb-tzinfo-to-sql"), "/usr/share/zoneinfo")
        self.run(program("mariadb"), "--no-defaults", *self._login(), "mysql", stdin=zones)
        self.execute(f"CREATE DATABASE {self.database} CHARACTER SET utf8mb4")

    def execute(self, sql: str) -> str:
        """Run SQL as root; the rows come back as text."""
        client = (program("mariadb"), "--no-defaults", *self._login(), "--skip-column-names", "--batch")
        return self.run(*client, stdin=sql.encode()).decode().strip()

    def _login(self) -> list[str]:
        return ["--user=root", f"--socket={self.folder / 'socket'}"]

    def _user(self) -> list[str]:
        # It refuses to run as root unless told so.
        return ["--user=root"] if os.geteuid() == 0 else []


class PrivateRedis(Service):
    """Redis that writes nothing to disk."""

    name = "redis"

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        return [
            program("redis-server"),
            *("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)),
            *("--save", "", "--appendonly", "no", *self.options),
        ]

    def is_ready(self) -> bool:
        try:
            once = Retry(NoBackoff(), retries=0)
            with redis.Redis(port=self.port, socket_timeout=1, retry=once) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False


class CeleryWorker(Service):
    """A real worker of this project; its environment says which database and which broker."""

    name = "worker"

    def __init__(self, env: Mapping[str, str], options: Sequence[str] = ()) -> None:
        super().__init__(options)
        self.env = dict(env)
        self.hostname = f"test-{self.port}@localhost"

    def command(self) -> list[str]:
        return [
            *(sys.executable, "-m", "celery", "-A", "newsdedup_site", "worker"),
            *("--hostname", self.hostname, "--loglevel", "INFO", "--concurrency", "2"),
            # It is alone: there are no other workers to agree with.
            *("--without-gossip", "--without-mingle"),
            *self.options,
        ]

    def environment(self) -> dict[str, str]:
        return {**os.environ, **self.env}

    def is_ready(self) -> bool:
        broker = self.environment()["CELERY_BROKER_URL"]
        with Celery("probe", broker=broker, set_as_current=False) as probe, Connection(broker) as connection:
            return bool(probe.control.ping([self.hostname], timeout=0.5, limit=1, connection=connection))


@contextmanager
def celery_worker(env: Mapping[str, str], options: Sequence[str] = ()) -> Iterator[CeleryWorker]:
    """A real worker that answers; with the option "--beat" it also sends the scheduled tasks."""
    with CeleryWorker(env, options) as worker:
        yield worker


def wait_until(is_true: Callable[[], bool], seconds: float, pause: float = 0.05) -> bool:
    """Ask again and again until it is true or the time is over; tells which."""
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask the process to end, wait, and kill whatever is then left of its session."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
