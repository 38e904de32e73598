"""The folder of bodies on their way: emptied at every start of an engine, but for what an import beside it needs."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hemeroteca.instance.folder import Instance


@contextmanager
def own(instance: Instance) -> Iterator[Path]:
    """A folder for one process, locked while it lives and gone afterwards; with those that killed ones left."""
    for left in instance.spool_dir.glob(f"{_OWN}*"):
        _remove_left(left)
    while True:
        folder = Path(tempfile.mkdtemp(dir=instance.spool_dir, prefix=_OWN))
        fd = _opened(folder)
        if fd is not None:
            fcntl.flock(fd, fcntl.LOCK_EX)
            if folder.exists():  # else an engine that starts took it for an old one just before
                break
            os.close(fd)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(fd)


def clear(instance: Instance) -> None:
    for path in instance.spool_dir.iterdir():
        if not path.is_dir():
            path.unlink(missing_ok=True)
        else:
            _remove_left(path)


_OWN = "import-"


def _remove_left(folder: Path) -> None:
    """Unless somebody holds it: left by an import, or by a browser's process."""
    fd = _opened(folder)
    if fd is None:
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(fd)


def _opened(folder: Path) -> int | None:
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
