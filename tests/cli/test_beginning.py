"""A beginning that came to nothing leaves nothing, and never takes what is in use."""

from pathlib import Path

import pytest

from hemeroteca.cli import common
from hemeroteca.instance import Instance


def begun(data: Path) -> common.Beginning:
    beginning = common.Beginning(data)
    Instance(data).create()
    return beginning


def test_folders_that_were_not_there_are_gone_again(tmp_path):
    begun(tmp_path / "new" / "data").take_back()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_there_stays(tmp_path):
    (tmp_path / "data").mkdir()
    begun(tmp_path / "data").take_back()
    assert (tmp_path / "data").exists()


def test_what_was_captured_meanwhile_stays(tmp_path):
    beginning = begun(tmp_path / "data")
    warcs = Instance(tmp_path / "data").warc_dir
    warcs.mkdir(parents=True, exist_ok=True)
    (warcs / "a.warc.gz.open").write_bytes(b"a record")
    beginning.take_back()
    assert (warcs / "a.warc.gz.open").exists()


def test_a_folder_with_an_engine_at_work_stays(tmp_path):
    beginning = begun(tmp_path / "data")
    with Instance(tmp_path / "data").lock_engine():
        beginning.take_back()
    assert (tmp_path / "data").exists()
    beginning.take_back()
    assert not (tmp_path / "data").exists()


def test_a_command_that_went_on_for_a_while_takes_nothing_back(tmp_path, monkeypatch: pytest.MonkeyPatch):
    beginning = begun(tmp_path / "data")
    later = common.time.monotonic() + common.MAX_BEGINNING + 1
    monkeypatch.setattr(common.time, "monotonic", lambda: later)
    beginning.take_back()
    assert (tmp_path / "data").exists()
