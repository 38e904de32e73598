"""Files survive full disks, I/O errors and kills: nothing acknowledged is lost, no half record is seen."""

import errno
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hemeroteca.warc import stored_record
from hemeroteca.warc.writer import OPEN, WarcWriteError, WarcWriter
from tests.waiting import PATIENCE
from tests.warc.making import exchange
from tests.warc.reading import by_fastwarc, by_warcio, warcio_check

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"


def page(number, size=100):
    body = (b"%d " % number) * size
    return exchange(f"http://a.example/{number}", 1_700_000_000_000 + number, "", "", b"", HEAD, body)


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def test_records_are_found_where_append_says(tmp_path):
    writer = WarcWriter(tmp_path)
    places = [(records, writer.append(records.data)) for records in map(page, range(3))]
    writer.sync()
    for records, (name, offset) in places:
        found = stored_record.read(tmp_path, name, offset, records.main.length)
        assert found.payload_digest == records.digest
        assert found.problems() == []
    (closed,) = writer.close()
    assert names(tmp_path) == [closed.name]
    data = (tmp_path / closed.name).read_bytes()
    assert closed.digest == "sha256:" + hashlib.sha256(data).hexdigest()
    assert closed.size == len(data)
    assert [s.kind for s in by_warcio(data)] == ["warcinfo", "response", "response", "response"]
    assert by_warcio(data) == by_fastwarc(data)
    assert warcio_check(tmp_path / closed.name) == 0
    info = by_warcio(data)[0].payload
    assert b"format: WARC File Format 1.1\r\n" in info


def test_rotation_by_size_keeps_the_name_open_until_it_is_acknowledged(tmp_path):
    writer = WarcWriter(tmp_path, max_bytes=1500)
    used = {writer.append(page(i, 400 + i).data)[0] for i in range(20)}
    assert len(used) > 2
    assert all(name.endswith(OPEN) for name in names(tmp_path))
    writer.sync()
    sizes = writer.sizes()
    assert set(sizes) == used
    closed = writer.close_rotated()
    assert {file.name for file in closed} == used - {max(sizes, key=list(sizes).index)}
    assert all((tmp_path / file.name).stat().st_size == sizes[file.name] <= 1500 for file in closed)


def test_rotation_by_age(tmp_path):
    now = [1000.0]
    writer = WarcWriter(tmp_path, max_seconds=60, clock=lambda: now[0])
    first, _ = writer.append(page(1).data)
    now[0] += 59
    assert writer.append(page(2).data)[0] == first
    now[0] += 1
    assert writer.append(page(3).data)[0] != first


def test_a_record_longer_than_a_file_may_be_is_still_written_whole(tmp_path):
    writer = WarcWriter(tmp_path, max_bytes=10)
    records = page(1)
    one, offset = writer.append(records.data)
    two, _ = writer.append(page(2).data)
    assert one != two
    assert stored_record.read(tmp_path, one, offset, records.main.length).problems() == []


def test_streamed_records_are_appended_from_their_file(tmp_path):
    source = tmp_path / "streamed"
    source.write_bytes(page(7, 100_000).data)
    writer = WarcWriter(tmp_path / "warc")
    name, offset = writer.append(source)
    (closed,) = writer.close()
    data = (tmp_path / "warc" / name).read_bytes()
    assert data[offset:] == source.read_bytes()
    assert closed.digest == "sha256:" + hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_an_error_in_the_middle_of_a_record_takes_back_all_of_it(tmp_path, monkeypatch, code):
    writer = WarcWriter(tmp_path)
    name, _ = writer.append(page(1).data)
    good = writer.sizes()[name]
    real = os.pwrite
    calls = []

    def broken(fd, data, offset):
        calls.append(offset)
        if len(calls) == 1:
            return real(fd, data[: len(data) // 2], offset)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "pwrite", broken)
    with pytest.raises(WarcWriteError, match="put back to its last whole record") as caught:
        writer.append(page(2).data)
    assert caught.value.errno == code
    assert (tmp_path / (name + OPEN)).stat().st_size == good
    monkeypatch.setattr(os, "pwrite", real)
    assert writer.append(page(3).data) == (name, good), "the writer goes on when there is space again"
    (closed,) = writer.close()
    data = (tmp_path / name).read_bytes()
    assert [s.url for s in by_warcio(data)][1:] == ["http://a.example/1", "http://a.example/3"]
    assert closed.digest == "sha256:" + hashlib.sha256(data).hexdigest()


def test_a_real_limit_of_the_file_system_is_survived(tmp_path):
    """The kernel itself refuses the rest of a record (file size limit): a partial write, then an error."""
    code = f"""
import resource, signal, sys
from pathlib import Path
from tests.warc.test_writer import page
from hemeroteca.warc.writer import WarcWriter, WarcWriteError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
writer = WarcWriter(Path({str(tmp_path)!r}))
kept = []
for number in range(1000):
    records = page(number)
    try:
        kept.append(writer.append(records.data))
    except WarcWriteError:
        break
writer.sync(); writer.close(); print(len(kept))
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=PATIENCE
    )
    assert run.returncode == 0, run.stderr
    (file,) = list(tmp_path.iterdir())
    seen = by_warcio(file.read_bytes())
    assert 1 < len(seen) == int(run.stdout) + 1


def test_a_sync_that_failed_once_never_succeeds_later(tmp_path, monkeypatch):
    writer = WarcWriter(tmp_path)
    writer.append(page(1).data)

    def broken(fd):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", broken)
        with pytest.raises(WarcWriteError):
            writer.sync()
    with pytest.raises(WarcWriteError):
        writer.sync()


def test_recovery_cuts_what_was_not_acknowledged(tmp_path):
    writer = WarcWriter(tmp_path)
    name, _ = writer.append(page(1).data)
    writer.sync()
    known = writer.sizes()
    writer.append(page(2).data)
    with (tmp_path / (name + OPEN)).open("ab") as file:
        file.write(b"half a rec")
    writer.abandon()

    (done,) = WarcWriter(tmp_path).recover(lambda: known)
    assert (done.name, done.size, done.salvaged, done.missing) == (name, known[name], None, 0)
    assert done.cut > 10
    assert names(tmp_path) == [name]
    data = (tmp_path / name).read_bytes()
    assert done.digest == "sha256:" + hashlib.sha256(data).hexdigest()
    assert [s.url for s in by_warcio(data)][1:] == ["http://a.example/1"]
    assert warcio_check(tmp_path / name) == 0


def test_recovery_removes_a_file_nothing_of_which_was_acknowledged(tmp_path):
    writer = WarcWriter(tmp_path)
    name, _ = writer.append(page(1).data)
    writer.abandon()
    (done,) = WarcWriter(tmp_path).recover(dict)
    assert (done.name, done.size, done.digest) == (name, 0, "")
    assert names(tmp_path) == []


def test_recovery_never_throws_away_more_than_a_batch(tmp_path):
    writer = WarcWriter(tmp_path)
    name, _ = writer.append(page(1).data)
    known = writer.sizes()
    for number in range(2, 6):
        writer.append(page(number).data)
    writer.abandon()
    (done,) = WarcWriter(tmp_path).recover(lambda: known, max_tail=100)
    assert done.size == known[name]
    assert done.salvaged.parent == tmp_path / "salvage"
    assert [s.url[-1] for s in by_warcio(done.salvaged.read_bytes())] == ["2", "3", "4", "5"]


def test_recovery_reports_acknowledged_bytes_that_are_gone_and_leaves_the_rest(tmp_path):
    writer = WarcWriter(tmp_path)
    name, _ = writer.append(page(1).data)
    writer.abandon()
    size = (tmp_path / (name + OPEN)).stat().st_size
    (done,) = WarcWriter(tmp_path).recover(lambda: {name: size + 50})
    assert (done.missing, done.digest) == (50, "")
    assert (tmp_path / (name + OPEN)).stat().st_size == size


def test_a_kill_between_rename_and_commit_is_finished_by_recovery(tmp_path):
    writer = WarcWriter(tmp_path)
    writer.append(page(1).data)
    writer.sync()
    known = writer.sizes()
    (closed,) = writer.close()
    (done,) = WarcWriter(tmp_path).recover(lambda: known)
    assert (done.name, done.size, done.digest, done.cut) == (closed.name, closed.size, closed.digest, 0)


def test_recovery_leaves_a_file_alone_that_someone_writes(tmp_path):
    writer = WarcWriter(tmp_path)
    name, _ = writer.append(page(1).data)
    known = writer.sizes()
    writer.append(page(2).data)
    assert WarcWriter(tmp_path).recover(lambda: known) == []
    writer.sync()
    assert [s.url for s in by_warcio((tmp_path / (name + OPEN)).read_bytes())][1:] == [
        "http://a.example/1",
        "http://a.example/2",
    ]


def test_recovery_asks_for_sizes_when_they_cannot_grow_any_more(tmp_path):
    """A writer that acknowledges and dies, or closes its file, just as recovery begins."""
    dying, closing = WarcWriter(tmp_path), WarcWriter(tmp_path)
    for writer in (dying, closing):
        writer.append(page(1).data)
    old = dying.sizes() | closing.sizes()
    dying.append(page(2).data)
    new = dying.sizes()
    dying.abandon()
    closing.append(page(2).data)

    def sizes():
        closing.close()  # later than recovery looked at the files
        return old | new

    done = {one.name: one.size for one in WarcWriter(tmp_path).recover(sizes)}
    assert done.items() >= new.items()
    for path in tmp_path.iterdir():
        assert len(by_warcio(path.read_bytes())) == 3


def test_killed_at_any_moment_no_acknowledged_record_is_lost(tmp_path):
    """A writer in another process rotates all the time and is killed after each of several acknowledgements."""
    code = f"""
import sys
from pathlib import Path
from tests.warc.test_writer import page
from hemeroteca.warc.writer import WarcWriter
writer = WarcWriter(Path({str(tmp_path)!r}), max_bytes=900)
number = 0
while True:
    for _ in range(5):
        writer.append(page(number).data); number += 1
    writer.sync()
    print(number, *(f"{{n}}={{s}}" for n, s in writer.sizes().items()), flush=True)
    writer.close_rotated()
"""
    for kill_after in range(1, 6):
        folder_before = {path.name for path in tmp_path.glob("*.warc.gz")}
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
        )
        told = [process.stdout.readline() for _ in range(kill_after)]
        process.kill()
        told += process.communicate()[0].splitlines(keepends=True)  # it may have gone on before the kill came
        known, pages = {}, 0
        for first, *pairs in (line.split() for line in told if line.endswith("\n")):
            pages = int(first)
            known |= {name: int(size) for name, size in (pair.split("=") for pair in pairs)}
        recovered = WarcWriter(tmp_path).recover(known.copy)
        assert not [done for done in recovered if done.missing]
        urls = set()
        for path in tmp_path.glob("*.warc.gz"):
            assert warcio_check(path) == 0
            if path.name not in folder_before:
                urls |= {s.url for s in by_warcio(path.read_bytes()) if s.kind == "response"}
        assert urls == {f"http://a.example/{i}" for i in range(pages)}
        assert not list(tmp_path.glob(f"*{OPEN}"))
