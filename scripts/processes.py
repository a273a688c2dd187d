#!/usr/bin/env python
"""honcho, but gentle with a Celery worker: it asks each process to end, and waits long enough for it.

honcho itself signals whole process groups, which tears the worker's pool from its parent, and kills
after 5 seconds, while a worker first lets its running tasks come to their end. So each line of the
Procfile begins with "exec": the process that is asked must be the program, not a shell around it.
Same arguments as honcho's: scripts/processes.py start worker beat
"""

import contextlib
import os
import signal
import sys

from honcho import command, manager
from honcho.compat import ProcessManager

PATIENCE_SECONDS = 30


def ask_to_end(_: ProcessManager, pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


def chosen(arguments: list[str]) -> list[str]:
    """All processes that are wanted: that of the semantic scheme only where it is on."""
    off = os.environ.get("NEWSDEDUP_SEMANTIC", "off") == "off"
    return [*arguments, "web", "worker", "beat"] if arguments == ["start"] and off else arguments


if __name__ == "__main__":
    sys.argv[1:] = chosen(sys.argv[1:])
    ProcessManager.terminate = ask_to_end
    manager.KILL_WAIT = PATIENCE_SECONDS
    # A closed terminal ends all, like Ctrl-C: the processes have sessions of their own.
    signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    command.main()
