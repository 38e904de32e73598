"""Exports that were killed leave nothing behind, and do not touch those that are still being written."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hemeroteca.archive.drafts import draft, sweep, workshop

KILLED = """
import os, signal, sys
from pathlib import Path
from hemeroteca.archive.drafts import draft, workshop
target = Path(sys.argv[1])
with workshop(target) as work, draft(target) as file:
    (work / "part").write_bytes(b"x")
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_next_export_sweeps_what_a_killed_one_left(tmp_path):
    target = tmp_path / "site.wacz"
    done = subprocess.run([sys.executable, "-c", KILLED, target], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(left(tmp_path)) == 2, "the killed process had no chance to clean up"
    with draft(tmp_path / "other.warc.gz") as file:
        file.write(b"whole")
    assert left(tmp_path) == ["other.warc.gz"]


def test_a_draft_that_is_being_written_stays(tmp_path):
    with workshop(tmp_path / "a.wacz") as work, draft(tmp_path / "a.wacz") as file:
        (work / "part").write_bytes(b"x")
        sweep(tmp_path)
        assert (work / "part").exists()
        file.write(b"whole")
        assert not (tmp_path / "a.wacz").exists()
    assert (tmp_path / "a.wacz").read_bytes() == b"whole"
    assert left(tmp_path) == ["a.wacz"]


def test_a_failed_export_leaves_nothing_and_the_old_file_stays(tmp_path):
    target = tmp_path / "a.wacz"
    target.write_bytes(b"old")
    with pytest.raises(RuntimeError), draft(target) as file:
        file.write(b"new")
        raise RuntimeError
    assert target.read_bytes() == b"old"
    assert left(tmp_path) == ["a.wacz"]


def test_others_may_read_what_was_exported(tmp_path):
    before = os.umask(0o022)
    try:
        with draft(tmp_path / "a") as file:
            file.write(b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o644
