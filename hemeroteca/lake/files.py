"""Where the files of the lake rest: a folder, or an object store with the folder as its cache.

Files never change. A file is put in its place whole and durable before anybody is told its name; only the manifest says
whether it counts.
"""

import os
import time
import uuid
from collections.abc import Iterable
from pathlib import Path

from hemeroteca.warc.store import open_store

DRAFTS = ".drafts"


class LakeFiles:
    """`store`: an address such as s3://bucket/prefix; empty: the folder is all there is."""

    def __init__(self, folder: Path, store: str = "") -> None:
        self.folder = folder
        self._remote = open_store(store) if store else None

    def draft(self) -> Path:
        """A place to write a file before it has its name."""
        drafts = self.folder / DRAFTS
        drafts.mkdir(mode=0o700, parents=True, exist_ok=True)
        return drafts / uuid.uuid4().hex

    def sweep(self, seconds: float) -> None:
        """Remove drafts that nobody has written to for so long: their writers were killed."""
        for draft in (self.folder / DRAFTS).glob("*"):
            try:
                if draft.stat().st_mtime < time.time() - seconds:
                    draft.unlink()
            except FileNotFoundError:
                pass  # it was given its name meanwhile

    def put(self, draft: Path, name: str) -> None:
        """Give a finished draft its name."""
        target = self.folder / name
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        if self._remote is not None:
            self._remote.upload(draft, name)
        draft.replace(target)
        place = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(place)
        finally:
            os.close(place)

    def withdraw(self, name: str, draft: Path) -> None:
        """Make a draft again of a file that nobody was told of."""
        (self.folder / name).replace(draft)

    def local(self, name: str) -> Path:
        """Where a file can be read on this machine; brought here when only the store has it."""
        target = self.folder / name
        if not target.exists():
            if self._remote is None:
                raise FileNotFoundError(f"the lake's file {name} is not in {self.folder}; restore it from a backup")
            draft = self.draft()
            self._remote.download(name, draft)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.replace(target)
        return target

    def locals(self, names: Iterable[str]) -> list[str]:
        return [str(self.local(name)) for name in names]

    def delete(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)
        if self._remote is not None:
            self._remote.delete(name)
