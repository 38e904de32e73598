"""WARC files of the archive, written by one process: begun, appended to, made durable, rotated, closed, repaired.

A file is called `NAME.warc.gz.open` until every record in it is acknowledged (its size is in the database); only then
does it get its final name, in one rename. So a file with its final name never changes again, and whoever reads `NAME`
looks for the open file second (`store.local`). Where Zstandard is set, `.zst` takes the place of `.gz`. The order the
engine keeps:

    append(…) many times → sync() → commit the rows and `sizes()` in the database → close_rotated() → mark those closed

After a crash `recover` cuts every open file back to the size the database knows. It never throws away more than a batch
could have held: a longer tail is moved to `salvage/` and reported. A file that a living process writes is locked by it
and left alone: an import may be at work beside an engine that starts again.
"""

import errno
import fcntl
import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from hemeroteca.warc import builder

OPEN = ".open"
MAX_TAIL = 256 << 20


class WarcWriteError(OSError):
    """A record could not be written; the file was put back to its state before the record."""

    def __str__(self) -> str:
        return self.strerror or "the file could not be written"


class ClosedFile(NamedTuple):
    name: str
    size: int
    digest: str


class Recovered(NamedTuple):
    """What `recover` did with one file left open."""

    name: str
    size: int
    digest: str = ""  # empty when the file was removed or is damaged
    cut: int = 0
    salvaged: Path | None = None
    missing: int = 0  # acknowledged bytes that are not on disk


class WarcWriter:
    def __init__(
        self,
        folder: Path,
        max_bytes: int = 1 << 30,
        max_seconds: float = 86400.0,
        facts: Mapping[str, str] | None = None,
        prefix: str = "hemeroteca",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self.max_seconds = max_seconds
        self.facts = {"format": "WARC File Format 1.1", "conformsTo": CONFORMS_TO, **(facts or {})}
        self.prefix = prefix
        self.clock = clock
        self._current: _OpenFile | None = None
        self._rotated: list[_OpenFile] = []

    def append(self, data: bytes | Path | Iterator[bytes]) -> tuple[str, int]:
        """Write the records built by `warc` (bytes, the file they were streamed to, or pieces): file name and offset.

        Either all of it is in the file or, after `WarcWriteError`, nothing of it.
        """
        size = len(data) if isinstance(data, bytes) else data.stat().st_size if isinstance(data, Path) else 0
        current = self._current
        if current is not None and current.records and self._is_full(current, size):
            self.rotate()
            current = None
        if current is None:
            current = self._begin()
        offset = current.size
        current.write(data)
        current.records += 1
        return current.name, offset

    def sync(self) -> None:
        """Make everything appended so far survive a power cut. Call it before the rows are committed."""
        for file in (*self._rotated, self._current):
            if file is not None:
                file.sync()

    def sizes(self) -> dict[str, int]:
        """Size of every file not closed yet: what to acknowledge in the database after `sync`."""
        files = (*self._rotated, self._current)
        return {file.name: file.size for file in files if file is not None and file.records}

    def rotate(self) -> None:
        """Let the next record begin a new file; this one is closed by `close_rotated` once acknowledged."""
        file, self._current = self._current, None
        if file is not None and file.records:
            self._rotated.append(file)
        elif file is not None:
            file.remove()

    def close_rotated(self) -> list[ClosedFile]:
        """Give rotated files their final name. Only after their sizes are committed in the database."""
        closed = []
        while self._rotated:
            file = self._rotated[0]
            closed.append(file.finish())
            del self._rotated[0]
        return closed

    def close(self) -> list[ClosedFile]:
        """Rotate and close everything. Only after `sync` and a commit of `sizes`."""
        self.rotate()
        return self.close_rotated()

    def abandon(self) -> None:
        """Let go of the files without a final name, as a crash would; `recover` will cut them."""
        for file in (*self._rotated, self._current):
            if file is not None:
                os.close(file.fd)
        self._rotated, self._current = [], None

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Remove the files when what is done meanwhile fails: nothing in them may be acknowledged before."""
        try:
            yield
        except BaseException:
            for file in (*self._rotated, self._current):
                if file is not None:
                    file.remove()
            self._rotated, self._current = [], None
            raise

    def recover(self, acknowledged: Callable[[], Mapping[str, int]], max_tail: int = MAX_TAIL) -> list[Recovered]:
        """Repair after a crash: cut files left open to their acknowledged size and close them; not those in use.

        `acknowledged`: gives name and size of the files the database does not know as closed. It is asked when nobody
        can write to the others any more: what it says of a file in use may be old already.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        left = [path for end in (builder.GZ, builder.ZST) for path in self.folder.glob(f"*{end}{OPEN}")]
        with ExitStack() as locks:
            unused = {path.name.removesuffix(OPEN) for path in left if _locked(path, locks)}
            sizes = acknowledged()
            closed = {name for name in sizes if not (self.folder / (name + OPEN)).exists()}
            return [self._recover(name, sizes.get(name, 0), max_tail) for name in sorted(unused | closed)]

    def _recover(self, name: str, known: int, max_tail: int) -> Recovered:
        final = self.folder / name
        path = final if final.exists() else self.folder / (name + OPEN)
        size = path.stat().st_size if path.exists() else 0
        if size < known:
            return Recovered(name, size, missing=known - size)
        if path == final:  # nothing is renamed before all of it is acknowledged
            known = size
        salvaged = None
        tail = size - known
        if tail > max_tail:
            salvaged = self._salvage(path, known)
        if known == 0:
            path.unlink(missing_ok=True)
            _sync_folder(self.folder)
            return Recovered(name, 0, cut=tail, salvaged=salvaged)
        if tail:
            with path.open("r+b") as file:
                file.truncate(known)
                os.fsync(file.fileno())
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if path != final:
            path.rename(final)
            _sync_folder(self.folder)
        return Recovered(name, known, f"sha256:{digest}", tail, salvaged)

    def _salvage(self, path: Path, start: int) -> Path:
        folder = self.folder / "salvage"
        folder.mkdir(exist_ok=True)
        name = path.name.removesuffix(OPEN)
        target = folder / f"{name.rpartition('.')[0]}.from-{start}.{name.rpartition('.')[2]}"
        with path.open("rb") as source, target.open("wb") as copy:
            source.seek(start)
            while chunk := source.read(1 << 20):
                copy.write(chunk)
            copy.flush()
            os.fsync(copy.fileno())
        _sync_folder(folder)
        return target

    def _is_full(self, file: "_OpenFile", size: int) -> bool:
        return file.size + size > self.max_bytes or self.clock() - file.begun >= self.max_seconds

    def _begin(self) -> "_OpenFile":
        now = self.clock()
        stamp = f"{datetime.fromtimestamp(now, UTC):%Y%m%d%H%M%S}{int(now * 1000) % 1000:03d}"
        ending, first = builder.beginning()
        name = f"{self.prefix}-{stamp}-{secrets.token_hex(4)}{ending}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = _OpenFile(self.folder, name, now)
        except OSError as error:
            raise WarcWriteError(
                error.errno,
                f"cannot begin the WARC file {name} in {self.folder} ({error.strerror}); free space or check the "
                "rights of the folder, then start again",
            )
        info = builder.warcinfo(int(now * 1000), name, self.facts)
        try:
            file.write(first + info.data)
        except OSError:
            file.remove()
            raise
        self._current = file
        return file


class _OpenFile:
    """A file with its good size and the digest of what is in it, both moved on only after a whole write."""

    def __init__(self, folder: Path, name: str, begun: float) -> None:
        self.name = name
        self.path = folder / (name + OPEN)
        self.begun = begun
        self.size = 0
        self.records = 0
        self.digest = hashlib.sha256()
        self._dirty = True
        self._lost = False
        self.fd = _begun(self.path)
        _sync_folder(folder)

    def write(self, data: bytes | Path | Iterator[bytes]) -> None:
        digest = self.digest.copy()
        end = self.size
        try:
            for piece in [data] if isinstance(data, bytes) else _pieces(data) if isinstance(data, Path) else data:
                end = self._put(piece, end)
                digest.update(piece)
        except OSError as error:
            try:
                os.ftruncate(self.fd, self.size)
            except OSError:
                pass  # the next record is written over it, and `recover` cuts what the database does not know
            raise WarcWriteError(
                error.errno or errno.EIO,
                f"cannot write to {self.path} ({error.strerror}); the file was put back to its last whole record: "
                "free space or check the disk, then start again",
            )
        self.size = end
        self.digest = digest
        self._dirty = True

    def sync(self) -> None:
        if self._lost:
            raise WarcWriteError(errno.EIO, f"{self.path} could not be made durable before; start again to repair it")
        if self._dirty:
            try:
                os.fdatasync(self.fd)
            except OSError as error:
                self._lost = True  # Linux drops the pages it could not write: a second try would succeed and lie
                raise WarcWriteError(
                    error.errno, f"cannot make {self.path} durable ({error.strerror}); check the disk, then start again"
                )
            self._dirty = False

    def finish(self) -> ClosedFile:
        os.ftruncate(self.fd, self.size)
        self.sync()
        final = self.path.with_name(self.name)
        self.path.rename(final)
        _sync_folder(final.parent)
        os.close(self.fd)
        return ClosedFile(self.name, self.size, f"sha256:{self.digest.hexdigest()}")

    def remove(self) -> None:
        os.close(self.fd)
        self.path.unlink(missing_ok=True)

    def _put(self, data: bytes, offset: int) -> int:
        view = memoryview(data)
        while view:
            written = os.pwrite(self.fd, view, offset)
            offset += written
            view = view[written:]
        return offset


CONFORMS_TO = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"


def _begun(path: Path) -> int:
    """A new file that is locked before anything is in it. `recover`, come in between, took it for a dead one's."""
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        if os.fstat(fd).st_nlink:
            return fd
        os.close(fd)


def _locked(path: Path, locks: ExitStack) -> bool:
    """Whether no process writes this file; none does while the lock is held."""
    try:
        file = path.open("rb")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except BlockingIOError:
        file.close()
        return False
    locks.enter_context(file)
    return True


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            yield piece


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
