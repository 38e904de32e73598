"""The histories that bench/changelogs.py reads out of ChangeLog files."""

import gzip

import pytest

from bench import changelogs
from hemeroteca.predict import traces

LOG = """\
A word before the first entry * not/a.file: nothing.

2021-03-02  Ana Ruiz  <ana@example.org>

\t* src/main.c (run, stop), src/main.h: Stop when asked.
\t(help): Say so.
\t* doc/manual.texi,
\tdoc/index.texi: The same in words: see src/other.c.

2021-03-01 07:30  Ana Ruiz

\t* Makefile.am: Build it.
\t* no file here, only words

Sat Sep 26 04:07:35 GMT 2015  Juan Paz <juan@example.org>

\t* api/old.cc: First version.

2021-02-31  Nobody  <x@example.org>

\t* src/never.c: A day that does not exist keeps the date before it.
"""


def test_files_and_dates_of_every_entry():
    found = list(changelogs.changes(LOG.splitlines()))
    assert [page for page, _ in found] == [
        *("src/main.c", "src/main.h", "doc/manual.texi", "doc/index.texi", "Makefile.am", "api/old.cc", "src/never.c")
    ]
    at = dict(found)
    assert at["src/main.c"] - at["Makefile.am"] == (28.5 * 3600)  # noon where no hour is said
    assert at["src/never.c"] == at["api/old.cc"]


def test_dates_of_uploads():
    lines = [
        "x (1.0-1) unstable; urgency=low",
        " -- Ana <a@example.org>  Mon, 01 Mar 2021 10:00:00 +0100",
        " -- B <b>  ?",
    ]
    assert list(changelogs.uploads("x", lines)) == [("x", 1614589200.0)]


def test_a_trace_of_the_busiest_span_is_read_by_the_simulator(tmp_path, monkeypatch, capsys):
    (tmp_path / "ChangeLog.gz").write_bytes(gzip.compress(LOG.encode()))
    monkeypatch.setattr("sys.argv", ["changelogs", "--days", "365", str(tmp_path), f"demo={tmp_path}/ChangeLog.gz"])
    changelogs.main()
    assert "5 pages, 5 changes from 2021-03-01" in capsys.readouterr().out
    trace = traces.read(tmp_path / "demo.csv.gz")
    assert set(trace.sites) == {"demo"}
    assert trace.pages[0] == "Makefile.am"
    assert trace.changes[0].tolist() == pytest.approx([7.5])
