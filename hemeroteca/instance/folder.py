"""The data folder of an instance: where each thing lies in it, its locks, and how its processes wake each other.

Safe to copy when stopped. Nothing here knows Django; the engine, the web process and the commands all start from it.
"""

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

WAIT_SECONDS = 0.25  # between two looks at what an engine does for us
LOOKS = 8  # between two looks whether it is gone


class Instance:
    def __init__(self, data: Path) -> None:
        self.data = data.absolute()
        self.database_path = self.data / "hemeroteca.sqlite3"
        self.warc_dir = self.data / "warc"
        self.index_dir = self.data / "index"
        self.spool_dir = self.data / "spool"  # bodies on their way; emptied at every start of the engine
        self.thesauri_dir = self.data / "thesauri"
        self.log_dir = self.data / "logs"
        self.processes_path = self.data / "processes.json"  # what the supervisor of `hemeroteca serve` keeps running
        self.lake_dir = self.data / "lake"  # Parquet files, or copies of those in the lake's object store

    def create(self) -> None:
        """Make the folders. Private to the owner: captures may hold pages behind a login."""
        for folder in (self.data, self.warc_dir, self.index_dir, self.spool_dir, self.log_dir):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if folder.stat().st_mode & 0o002:
                raise PermissionError(
                    errno.EPERM, "everybody on this machine may write there; `chmod o-w` it", str(folder)
                )

    def secret_key(self) -> str:
        """The key that signs sessions, made on first use and readable by the owner only."""
        path = self.data / "secret.key"
        if not path.exists():
            import secrets  # only here: it takes longer to load than the rest of this room

            self.create()
            draft = path.with_suffix(f".{os.getpid()}")
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.write(secrets.token_urlsafe(50))
            try:
                os.link(draft, path)  # of two processes that start at once, the first one's key stays
            except FileExistsError:
                pass
            draft.unlink()
        return path.read_text("ascii")

    def lock_engine(self) -> IO[str] | None:
        """Become the one engine of this folder: an open file to keep, or None when another process is the engine."""
        return self._lock("engine.lock")

    def wait_for_engine(self, done: Callable[[], bool]) -> IO[str] | None:
        """Wait until the engine at work has done something; when it ends before that, we are the engine."""
        looks = 0
        while not done():
            time.sleep(WAIT_SECONDS)
            looks += 1
            if looks % LOOKS == 0 and (lock := self.lock_engine()) is not None:
                return lock
        return None

    def lock_server(self) -> IO[str] | None:
        """Become the one `hemeroteca serve` of this folder, in the same way."""
        return self._lock("serve.lock")

    def served_at(self, address: str = "") -> str:
        """Where `hemeroteca serve` answers now, as it said itself (it gives the `address`); empty when none runs."""
        path = self.data / "serve.address"
        if address:
            path.write_text(address, "utf-8")
            return address
        return path.read_text("utf-8") if path.exists() and self.listens("jobs") else ""

    def first_time(self, name: str) -> bool:
        """Whether this was never asked before of this folder: for what is said to people once."""
        try:
            os.close(os.open(self.data / f".{name}.said", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except OSError:  # it was, or the folder cannot be written: no reason to fail
            return False
        return True

    def lock_import(self) -> IO[str] | None:
        """Become the one that takes archives of other tools in, beside the engine or instead of it."""
        return self._lock("import.lock")

    def ear(self, name: str) -> int:
        """A descriptor that can be read when another process calls `wake(name)`; to be kept open while listening."""
        self.create()
        path = self._ear(name)
        try:
            os.mkfifo(path, 0o600)
        except FileExistsError:
            pass
        return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def wake(self, name: str) -> bool:
        """Tell whoever listens that there is something to do; False when nobody does."""
        return self._call(name, b"!")

    def order(self, verb: str, process: str) -> bool:
        """Tell the supervisor of `hemeroteca serve` to stop, start or restart a process; False when none runs."""
        return self._call("supervisor", f"{verb} {process}\n".encode("ascii"))

    def listens(self, name: str) -> bool:
        """Whether somebody does: `engine` (of `hemeroteca serve`) or `jobs` (its supervisor)."""
        return self._call(name, b"")

    def _call(self, name: str, word: bytes) -> bool:
        try:
            pipe = os.open(self._ear(name), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:  # there is none, or nobody has it open
            return False
        try:
            os.write(pipe, word)
        except BlockingIOError:
            pass  # it is full of earlier calls
        finally:
            os.close(pipe)
        return True

    def _ear(self, name: str) -> Path:
        return self.data / f"{name}.wake"

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Wait until no other process holds this lock, and hold it."""
        self.create()
        with (self.data / name).open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _lock(self, name: str) -> IO[str] | None:
        self.create()
        file = (self.data / name).open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        return file
