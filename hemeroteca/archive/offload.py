"""Closed WARC files on their way to the object store that `archive_store` names.

One thread, which knows files and no database. A file is local until the store has acknowledged all of it (each part
with its SHA-256) and tells its size; only then may the local copy go. Nothing needs to be remembered: after a kill,
what is still in the folder is compared with the store and brought there again. A store that is away is tried for ever,
ever less often; crawling goes on meanwhile, as long as the disk has room.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from hemeroteca.archive.models import WarcFile
from hemeroteca.config import Config
from hemeroteca.warc.store import RemoteStore, StoreError, open_store

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 600.0  # s after a failure
LAST_SECONDS = 30.0  # given to what is left when the engine ends

log = logging.getLogger("hemeroteca.engine")


class Uploads:
    """Does nothing when no store is set."""

    def __init__(self, config: Config, folder: Path) -> None:
        self.trouble = ""  # why the last try failed; empty when it did not
        self._folder = folder
        self._keep_bytes = config.archive_keep_bytes
        self._waiting: deque[str] = deque()
        self._there: deque[str] = deque()  # in the store and in the folder, oldest first
        self._changed = threading.Condition()
        self._ending = 0.0  # when the thread must be done; 0: not asked yet
        self._thread: threading.Thread | None = None
        if config.archive_store:
            self._store: RemoteStore = open_store(config.archive_store)  # a wrong address is told before crawling
            self.add(WarcFile.objects.filter(closed=True, size__gt=0).order_by("id").values_list("name", flat=True))
            self._thread = threading.Thread(target=self._run, name="uploads", daemon=True)
            self._thread.start()

    def add(self, names: Iterable[str]) -> None:
        """Files that were closed."""
        with self._changed:
            self._waiting.extend(name for name in names if (self._folder / name).exists())
            self._changed.notify()

    def close(self) -> None:
        """Bring what is left, within reason; the rest waits for the next start."""
        if self._thread is None:
            return
        with self._changed:
            self._ending = time.monotonic() + LAST_SECONDS
            self._changed.notify()
        self._thread.join(LAST_SECONDS + 1)
        if self._waiting:
            why = f" ({self.trouble})" if self.trouble else ""
            log.warning(
                "%d WARC files are not in the object store yet%s; the next start goes on", len(self._waiting), why
            )

    def _run(self) -> None:
        pause = FIRST_PAUSE
        while True:
            with self._changed:
                while not self._waiting and not self._ending:
                    self._changed.wait()
                if not self._waiting or (self._ending and time.monotonic() > self._ending):
                    return
                name = self._waiting[0]
            try:
                self._bring(name)
            except (StoreError, OSError) as error:
                if not self.trouble:
                    log.warning("%s stays here for now: %s", name, error)
                self.trouble = str(error)
                with self._changed:
                    if self._ending:
                        return
                    self._changed.wait_for(lambda: bool(self._ending), pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                self.trouble = ""
                pause = FIRST_PAUSE
                with self._changed:
                    self._waiting.popleft()

    def _bring(self, name: str) -> None:
        path = self._folder / name
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            return  # pruned meanwhile
        if self._store.size(name) != size:
            self._store.upload(path)  # looks at the size in the store afterwards
        self._there.append(name)
        kept = sum(self._size(there) for there in self._there)
        while self._there and kept > self._keep_bytes:
            oldest = self._there.popleft()
            kept -= self._size(oldest)
            (self._folder / oldest).unlink(missing_ok=True)

    def _size(self, name: str) -> int:
        try:
            return (self._folder / name).stat().st_size
        except FileNotFoundError:
            return 0
