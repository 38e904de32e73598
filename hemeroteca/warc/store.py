"""Where WARC files rest: in the folder they are written to and, once closed, in an object store when one is set.

`archive_store` (`s3://bucket/prefix`, or `file:///elsewhere`) names the store; credentials and endpoint come from the
usual `AWS_*` variables. Files being written are always local. Everything that reads asks `open_source`, which looks in
the folder first; nothing else needs to know where a file is.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from hemeroteca import config
from hemeroteca.warc.writer import OPEN

WARCS = (".warc.gz", ".warc.zst")


class StoreError(OSError):
    """The object store cannot be used; the message says why and what to do."""


class WarcReadError(Exception):
    """A record that cannot be read; the message names the file, the place and the reason."""


class Source(Protocol):
    """A file that can be read at any place."""

    size: int

    def read_at(self, size: int, offset: int) -> bytes: ...
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
                f"archive_store {address!r} cannot be used ({error}); write for instance s3://bucket/prefix"
            )

    def files(self) -> dict[str, int]:
        """Names and sizes of the WARC files in it."""
        with self._told("list"):
            batches = self._library.list(self._store)
            return {item["path"]: item["size"] for batch in batches for item in batch if item["path"].endswith(WARCS)}

    def size(self, name: str) -> int | None:
        """Bytes of a file; None when it is not there."""
        try:
            return int(self._library.head(self._store, name)["size"])
        except FileNotFoundError:
            return None
        except Exception as error:
            raise StoreError(f"{self.address} does not answer for {name} ({error}); check the network and AWS_*")

    def read(self, name: str, offset: int, size: int) -> bytes:
        with self._told(f"read {name} from"):
            return bytes(self._library.get_range(self._store, name, start=offset, length=size))

    def upload(self, path: Path, name: str = "") -> None:
        """Put a closed file there, under its own name or another; it appears only when it is whole."""
        name = name or path.name
        with self._told(f"put {name} into"):
            self._library.put(self._store, name, path, chunk_size=_PART, max_concurrency=2)
        if self.size(name) != path.stat().st_size:
            raise StoreError(f"{self.address} does not hold all of {name} after putting it there; try again")

    def download(self, name: str, target: Path) -> None:
        with self._told(f"get {name} from"), target.open("wb") as file:
            for chunk in self._library.get(self._store, name).stream(min_chunk_size=1 << 20):
                file.write(chunk)

    def delete(self, name: str) -> None:
        with self._told(f"remove {name} from"):
            try:
                self._library.delete(self._store, name)
            except FileNotFoundError:
                pass

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except StoreError:
            raise
        except Exception as error:
            raise StoreError(f"cannot {what} {self.address} ({error}); check the network, the bucket and AWS_*")


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
    try:
        remote = configured()
        size = remote.size(name) if remote else None
    except StoreError as error:
        raise WarcReadError(str(error))
    if remote is None or size is None:
        raise WarcReadError(f"the file {name} is not in {folder}; `hemeroteca archive verify` tells what is missing")
    return _Remote(remote, name, size)


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


class _Local:
    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size = os.fstat(self._fd).st_size

    def read_at(self, size: int, offset: int) -> bytes:
        return os.pread(self._fd, size, offset)

    def close(self) -> None:
        os.close(self._fd)


class _Remote:
    """Reads ahead, so that a record costs one or two requests."""

    def __init__(self, store: RemoteStore, name: str, size: int) -> None:
        self._store = store
        self._name = name
        self.size = size
        self._start = 0
        self._block = b""

    def read_at(self, size: int, offset: int) -> bytes:
        size = min(size, self.size - offset)
        if size <= 0:
            return b""
        if not self._start <= offset <= offset + size <= self._start + len(self._block):
            wanted = min(max(size, _AHEAD), self.size - offset)
            try:
                self._block = self._store.read(self._name, offset, wanted)
            except StoreError as error:
                raise WarcReadError(str(error))
            self._start = offset
        return self._block[offset - self._start : offset - self._start + size]

    def close(self) -> None:
        self._block = b""
