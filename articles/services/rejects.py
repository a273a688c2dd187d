"""The rows that an import could not use, in a CSV file that can be corrected and imported again."""

import csv
import re
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from django.conf import settings

from articles.services.readers import Reject

COLUMNS = ("row", "field", "reason", "remedy")
_SURROGATE = re.compile("[\ud800-\udfff]")


def rejects_path(path: Path) -> Path:
    """Where the rejects of a file belong: beside it, or below var/ where that folder is not ours to write.

    Those of an earlier import of the file are removed: they would be taken for the new ones.
    """
    beside = path.with_name(f"{path.name}.rejects.csv")
    if _is_writable(beside):
        return beside
    folder = Path(settings.VAR_DIR) / "rejects"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / beside.name


def _is_writable(path: Path) -> bool:
    # Asking for permission bits is not enough: a read-only mount grants them all.
    try:
        with path.open("a"):
            pass
    except OSError:
        return False
    path.unlink(missing_ok=True)
    return True


class RejectsFile:
    """Writes rejects as they come; the file exists only once there is one.

    Its columns are row, field, reason, remedy and then the original ones, so that the corrected file can
    be imported as it is. It begins with a byte order mark, without which Excel garbles Chinese.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file:
            self._file.close()

    def add(self, reject: Reject) -> None:
        if self._file is None:
            self._file = self.path.open("w", encoding="utf-8-sig", newline="")
            self._writer = csv.writer(self._file)
            self._writer.writerow((*COLUMNS, *reject.columns))
        problem = reject.problem
        cells = (_SURROGATE.sub("\ufffd", cell) for cell in reject.cells)
        self._writer.writerow((reject.number, problem.field, problem.reason, problem.remedy, *cells))
        self.count += 1
