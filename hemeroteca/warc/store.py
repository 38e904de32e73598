"""Where WARC files rest: in the folder they are written to and, once closed, in an object store when one is set.

`archive_store` (`s3://bucket/prefix`, or `file:///elsewhere`) names the store; credentials and endpoint come from the
usual `AWS_*` variables. Files being written are always local. Everything that reads asks `open_source`, which looks in
the folder first; nothing else needs to know where a file is.
"""

import os
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from hemeroteca import config
from hemeroteca.warc.writer import OPEN

WARCS = (".warc.gz", ".warc.zst")


class StoreError(OSError):
    """The object store cannot be used; the message says why and what to do."""


class MissingFileError(StoreError):
    """The store answers that it does not have the file."""


class WarcReadError(Exception):
    """A record that cannot be read; the message names the file, the place and the reason."""


class StoreUnreachableError(WarcReadError):
    """The store that has the record does not answer: who reads many ends, for each would wait as long."""


class Source(Protocol):
    """A file that can be read at any place."""

    size: int

    def read_at(self, size: int, offset: int) -> bytes:
        """At least the first few of so many bytes, as `os.pread` gives them; none at the end of the file."""
        ...

    def close(self) -> None: ...


class RemoteStore:
    """A bucket or a folder behind obstore."""

    def __init__(self, address: str) -> None:
        try:
            import obstore
            from obstore.store import from_url
        except ImportError:
            raise StoreError(f"archive_store is {address}, which needs obstore: pip install 'hemeroteca[s3]'")
        self.address = address
        self._library = obstore
        options: dict[str, Any] = {}
        if address.startswith("s3://"):
            options["config"] = {"checksum_algorithm": "SHA256"}  # the store refuses what was damaged on the way
            if os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"):
                options["client_options"] = {"allow_http": True}
            # who uploads tries again by itself, and who reads is not to wait for minutes
            options["retry_config"] = {"max_retries": 3, "retry_timeout": timedelta(seconds=20)}
        try:
            self._store = from_url(address, **options)
        except Exception as error:  # obstore has a class for each cause; all mean that the address cannot be used
            raise StoreError(
                f"archive_store {address!r} cannot be used ({_reason(error)}); write for instance s3://bucket/prefix"
            )

    def files(self) -> dict[str, int]:
        """Names and sizes of the WARC files in it."""
        with self._store_errors("list"):
            batches = self._library.list(self._store)
            return {item["path"]: item["size"] for batch in batches for item in batch if item["path"].endswith(WARCS)}

    def size(self, name: str) -> int | None:
        """Bytes of a file; None when it is not there."""
        try:
            return int(self._library.head(self._store, name)["size"])
        except FileNotFoundError:
            return None
        except Exception as error:
            raise StoreError(
                f"{self.address} does not answer for {name} ({_reason(error)}); check the network and AWS_*"
            )

    def read(self, name: str, offset: int, size: int) -> bytes:
        with self._store_errors(f"read {name} from"):
            return bytes(self._library.get_range(self._store, name, start=offset, length=size))

    def read_many(self, name: str, places: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of several places (offset, size); near ones come in one request, far ones side by side."""
        starts, ends = [offset for offset, _ in places], [offset + size for offset, size in places]
        with self._store_errors(f"read {name} from"):
            parts = self._library.get_ranges(self._store, name, starts=starts, ends=ends)
            return [bytes(part) for part in parts]

    def upload(self, path: Path, name: str = "") -> None:
        """Put a closed file there, under its own name or another; it appears only when it is whole."""
        name = name or path.name
        with self._store_errors(f"put {name} into"):
            self._library.put(self._store, name, path, chunk_size=_PART, max_concurrency=2)
        if self.size(name) != path.stat().st_size:
            raise StoreError(f"{self.address} does not hold all of {name} after putting it there; try again")

    def download(self, name: str, target: Path) -> None:
        with self._store_errors(f"get {name} from"), target.open("wb") as file:
            for chunk in self._library.get(self._store, name).stream(min_chunk_size=1 << 20):
                file.write(chunk)

    def delete(self, name: str) -> None:
        with self._store_errors(f"remove {name} from"):
            try:
                self._library.delete(self._store, name)
            except FileNotFoundError:
                pass

    @contextmanager
    def _store_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except StoreError:
            raise
        except Exception as error:
            kind = MissingFileError if isinstance(error, FileNotFoundError) else StoreError
            raise kind(
                f"cannot {what} {self.address} ({_reason(error)}); check its room, the network, the bucket and AWS_*"
            )


def _reason(error: Exception) -> str:
    """What obstore says, without the many lines in which it says it again for its makers."""
    return str(error).partition("\n")[0]


@lru_cache(8)
def open_store(address: str) -> RemoteStore:
    return RemoteStore(address)


def configured() -> RemoteStore | None:
    """The object store of this instance's settings, if any."""
    address = config.load().archive_store
    return open_store(address) if address else None


def open_source(folder: Path, name: str) -> Source:
    """A file of the archive, wherever it is."""
    path = local(folder, name)
    if path is not None:
        try:
            return _Local(path)
        except FileNotFoundError:
            pass  # brought to the store between the two looks
    ahead = _ahead.get()
    try:
        remote = configured()
        size = None if remote is None else remote.size(name) if ahead is None else ahead.size(remote, name)
    except StoreError as error:
        raise StoreUnreachableError(str(error))
    if remote is None or size is None:
        raise WarcReadError(f"the file {name} is not in {folder}; `hemeroteca archive verify` tells what is missing")
    return _Remote(remote, name, size, ahead.blocks.get(name, ()) if ahead is not None else ())


class Ahead:
    """Many records read one after another: the store is asked for a batch of them at once, and for each size once."""

    def __init__(self, folder: Path) -> None:
        self.blocks: dict[str, list[_Block]] = {}  # by file, of the batch that is read now
        self._folder = folder
        self._sizes: dict[str, int] | None = None

    def fetch(self, places: Iterable[tuple[str, int, int]]) -> None:
        """Have (file, offset, size) at hand until the next call. What cannot be had is told by who reads it."""
        self.blocks = {}
        wanted: dict[str, list[tuple[int, int]]] = {}
        for name, offset, size in sorted(set(places)):
            if local(self._folder, name) is None:
                wanted.setdefault(name, []).append((offset, size))
        remote = configured() if wanted else None
        for name, found in wanted.items():
            try:
                total = self.size(remote, name) if remote is not None else None
                if remote is None or total is None:
                    continue
                spans = _joined((offset, min(size, total - offset)) for offset, size in found if offset < total)
                parts = remote.read_many(name, spans)
            except StoreError:
                continue
            self.blocks[name] = [_Block(span[0], part) for span, part in zip(spans, parts, strict=True)]

    def size(self, remote: RemoteStore, name: str) -> int | None:
        """Bytes of a file in the store, which is listed once."""
        if self._sizes is None:
            self._sizes = remote.files()
        return self._sizes[name] if name in self._sizes else remote.size(name)


_ahead: ContextVar[Ahead | None] = ContextVar("ahead", default=None)


@contextmanager
def reading_ahead(folder: Path) -> Iterator[Ahead]:
    """Within it, `open_source` gives what `Ahead.fetch` brought without asking the store again."""
    ahead = Ahead(folder)
    before = _ahead.set(ahead)
    try:
        yield ahead
    finally:
        _ahead.reset(before)


def _joined(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Places in order (offset, size), those that touch each other as one."""
    spans: list[tuple[int, int]] = []
    for offset, size in places:
        if spans and offset <= sum(spans[-1]):
            start, length = spans.pop()
            offset, size = start, max(length, offset + size - start)
        spans.append((offset, size))
    return spans


def local(folder: Path, name: str) -> Path | None:
    """Where the file of that name lies in the folder: closed, or still being written."""
    if "/" in name or name.startswith(".") or "\x00" in name:
        raise WarcReadError(f"{name!r} is not the name of a WARC file")
    for candidate in (name, name + OPEN, name):  # again: it may have been closed between the two looks
        if (folder / candidate).exists():
            return folder / candidate
    return None


@contextmanager
def local_copy(folder: Path, name: str) -> Iterator[Path]:
    """A file of the archive to read through: itself, or a copy for the time being."""
    path = local(folder, name)
    if path is not None:
        yield path
        return
    remote = configured()
    if remote is None or remote.size(name) is None:
        raise WarcReadError(f"the file {name} is not in {folder}; restore it from a copy")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".copy-") as work:
        copy = Path(work) / name
        remote.download(name, copy)
        yield copy


def offload(
    folder: Path, names: list[str], keep_local: bool = False, progress: Callable[[str], None] | None = None
) -> tuple[int, int]:
    """Bring closed files to the object store and free the folder of them: how many, and their bytes.

    `progress` gets the name of the file that is brought next.
    """
    remote = configured()
    if remote is None:
        raise StoreError('no object store is set; write archive_store = "s3://bucket/prefix" in hemeroteca.toml')
    count = total = 0
    for name in names:
        path = folder / name
        if not path.exists():
            continue
        if progress:
            progress(name)
        size = path.stat().st_size
        if remote.size(name) != size:
            remote.upload(path)
        if not keep_local:
            path.unlink()
        count += 1
        total += size
    return count, total


_PART = 8 << 20
_AHEAD = 1 << 20
_FEW = 64  # bytes; who looks for a mark of some bytes gets it whole


class _Local:
    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size = os.fstat(self._fd).st_size

    def read_at(self, size: int, offset: int) -> bytes:
        return os.pread(self._fd, size, offset)

    def close(self) -> None:
        os.close(self._fd)


class _Block(NamedTuple):
    """Bytes of a file, and where they stand in it."""

    start: int
    data: bytes

    def begins(self, offset: int, size: int) -> bool:
        """Whether it has these bytes, or enough of their beginning."""
        return self.start <= offset and offset + min(size, _FEW) <= self.start + len(self.data)


class _Remote:
    """Reads ahead, so that a record costs one or two requests; none for what was fetched before, in `blocks`."""

    def __init__(self, store: RemoteStore, name: str, size: int, blocks: Sequence[_Block] = ()) -> None:
        self._store = store
        self._name = name
        self.size = size
        self._blocks = blocks
        self._block = _Block(0, b"")

    def read_at(self, size: int, offset: int) -> bytes:
        size = min(size, self.size - offset)
        if size <= 0:
            return b""
        if not self._block.begins(offset, size):
            self._block = self._at(offset, size)
        start = offset - self._block.start
        return self._block.data[start : start + size]

    def _at(self, offset: int, size: int) -> _Block:
        place = bisect_right(self._blocks, offset, key=lambda block: block.start) - 1
        if place >= 0 and self._blocks[place].begins(offset, size):
            return self._blocks[place]
        try:
            return _Block(offset, self._store.read(self._name, offset, min(max(size, _AHEAD), self.size - offset)))
        except MissingFileError as error:
            raise WarcReadError(str(error))
        except StoreError as error:
            raise StoreUnreachableError(str(error))

    def close(self) -> None:
        self._block, self._blocks = _Block(0, b""), ()
