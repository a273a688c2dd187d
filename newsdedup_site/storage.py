from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticStorage(CompressedManifestStaticFilesStorage):
    """Hashed names once collectstatic has run; before that plain ones, so that pages work without it."""

    manifest_strict = False

    def stored_name(self, name: str) -> str:
        return super().stored_name(name) if self.hashed_files else name
