"""Files on their way: they get their name only when they are whole, and what a killed process left is swept away.

A draft lies beside its target and is locked as long as its process lives. Whoever begins the next one in that folder
removes those that nobody holds.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from hemeroteca.outgoing import hand_over

ENDING = ".hemeroteca-draft"


@contextmanager
def draft(target: Path) -> Iterator[IO[bytes]]:
    """A file that gets its name, and the rights of any new file, when everything went well."""
    sweep(target.parent)
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", suffix=ENDING, delete=False) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield file
            file.flush()
            os.fsync(file.fileno())
            hand_over(Path(file.name))
            os.replace(file.name, target)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


@contextmanager
def workshop(target: Path) -> Iterator[Path]:
    """A folder for the parts of a file, gone when it is left."""
    sweep(target.parent)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.", suffix=ENDING) as name:
        held = os.open(name, os.O_RDONLY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield Path(name)
        finally:
            os.close(held)


def sweep(folder: Path) -> None:
    """Remove the drafts of processes that are no more."""
    for path in folder.glob(f".*{ENDING}"):
        try:
            held = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            continue  # of somebody else, or gone by now
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        except OSError:
            pass  # it is being written
        finally:
            os.close(held)
