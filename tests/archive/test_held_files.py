"""Every file of other tools that lies beside the project comes in whole, or the report and the exit code say what did
not. What is in a file is counted by warcio, which is not ours."""

import io
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from hemeroteca.archive import queries
from hemeroteca.archive.importing import Importer
from hemeroteca.archive.verify import verify
from hemeroteca.warc.writer import WarcWriter

pytestmark = [pytest.mark.database, pytest.mark.django_db]

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "warc" / "other-tools"
FILES = sorted(FOLDER.iterdir()) if FOLDER.is_dir() else []
KINDS = ("response", "revisit", "resource", "metadata", "conversion")


def counted(data: bytes) -> tuple[Counter, bool]:
    """Records by type, and whether warcio could read to the end without a complaint."""
    if data[:2] == b"PK":
        found, whole = Counter(), True
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                if name.startswith("archive/"):
                    more, good = counted(archive.read(name))
                    found, whole = found + more, whole and good
        return found, whole
    found = Counter()
    try:
        for record in ArchiveIterator(io.BytesIO(data), arc2warc=True, no_record_parse=True):
            found[str(record.rec_type).strip().lower()] += 1
            record.raw_stream.read()
    except Exception:
        return found, False
    return found, True


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_comes_in_whole_or_it_is_said_what_does_not(path, tmp_path):
    (tmp_path / "spool").mkdir()
    importer = Importer(WarcWriter(tmp_path / "warc"))
    done = importer.read([path], tmp_path / "spool")
    found, whole = counted(path.read_bytes())
    there = sum(found[kind] for kind in KINDS)
    lost = [problem for problem in done.problems if problem.lost]
    assert done.lost == len(lost)
    if done.lost == 0:
        assert done.taken + done.known == there if whole else done.taken > there
        assert not set(found) - {*KINDS, "request", "warcinfo"}
    else:
        assert all(problem.reason for problem in lost)
    rows = list(queries.all_rows())
    assert len(rows) == done.taken
    if done.lost == 0 and not path.name.endswith((".arc", ".arc.gz")):
        kinds = Counter(row.kind for row in rows)
        headless = sum("is kept as a resource" in problem.reason for problem in done.problems)  # as they say
        assert kinds["resource"] == found["resource"] + headless
        assert all(kinds[kind] == found[kind] for kind in ("metadata", "conversion"))
        assert kinds["response"] + kinds["revisit"] == found["response"] + found["revisit"] - headless - done.known
    assert verify(tmp_path / "warc").sound
    again = Importer(WarcWriter(tmp_path / "warc")).read([path], tmp_path / "spool")
    assert (again.taken, again.known, again.lost) == (0, done.taken + done.known, done.lost)
    assert list((tmp_path / "spool").iterdir()) == []
