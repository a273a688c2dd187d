from typing import Any

from django.conf import settings
from django.core.files.uploadhandler import FileUploadHandler


class BoundedUploadHandler(FileUploadHandler):
    """Lets no more of a request's files through than an upload may have, so that nobody fills the disk.

    A file that is longer arrives cut, but just longer than allowed: the form says so.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.passed = 0

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        if self.passed > settings.NEWSDEDUP_UPLOAD_MB * 1024 * 1024:
            return None
        self.passed += len(raw_data)
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """The handlers after this one keep the file."""
