"""The capture index on SQLite and PostgreSQL: batches in, questions answered in the right order."""

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca import urls, warc
from hemeroteca.archive import queries, services
from hemeroteca.archive.capture_rows import NewCapture
from hemeroteca.archive.models import IndexedCapture, WarcFile
from hemeroteca.archive.selection import Selection
from hemeroteca.warc.keys import MAX_KEY, index_key
from hemeroteca.warc.writer import ClosedFile

pytestmark = [pytest.mark.database, pytest.mark.django_db]

T = 1_700_000_000_000
FILE = "a.warc.gz"


def capture(url, ms=T, **more):
    values = {
        "record_id": warc.new_id(ms),
        "url": url,
        "captured_ms": ms,
        "status": 200,
        "mime": "text/html",
        "digest": f"sha256:{url}{ms}",
        "kind": "response",
        "version": True,
        "warc_name": FILE,
        "offset": 0,
        "length": 10,
    }
    return NewCapture(**values | more)


def insert(*captures):
    services.insert_captures(captures, {FILE: 1000})


def test_a_batch_comes_back_as_it_went_in():
    one = capture("http://example.org/a", refers_to=warc.new_id(1), body_size=7, truncated="time", importance=0.5)
    insert(one)
    (row,) = queries.captures_of("http://example.org/a")
    assert (row.record_id, row.refers_to, row.url, row.captured_ms) == (one.record_id, one.refers_to, one.url, T)
    assert (row.body_size, row.truncated, row.importance, row.version) == (7, "time", 0.5, True)
    assert (row.warc_name, row.offset, row.length) == (FILE, 0, 10)
    assert queries.by_record(one.record_id) == row
    assert IndexedCapture.objects.get(record_id=one.record_id).warc.name == FILE, "the ORM sees the same row"


def test_closest_in_time_both_ways():
    insert(*(capture("http://example.org/", T + d) for d in (0, 1000, 5000)))
    for asked, expected in ((-9999, 0), (400, 0), (600, 1000), (3000, 1000), (3001, 5000), (99999, 5000)):
        assert queries.closest("http://example.org/", T + asked).captured_ms == T + expected
    assert queries.closest("http://other.example/", T) is None
    assert queries.latest("http://example.org/").captured_ms == T + 5000


def test_versions_are_the_captures_that_differ():
    insert(*(capture("http://example.org/", T + i, version=i % 2 == 0) for i in range(4)))
    assert [row.captured_ms - T for row in queries.versions_of("http://example.org/")] == [0, 2]


def test_a_calendar_counts_captures_and_versions_by_day():
    day = T // 86_400_000
    insert(*(capture("http://example.org/", (day + n) * 86_400_000 + n, version=n < 2) for n in (0, 1, 1, 2)))
    assert queries.calendar("http://example.org/") == {day: (1, 1), day + 1: (2, 2), day + 2: (1, 0)}
    assert queries.calendar("http://example.org/", since_ms=(day + 2) * 86_400_000) == {day + 2: (1, 0)}


def test_prefix_is_by_bytes_whatever_the_locale():
    made = ["http://example.org/a", "http://example.org/a-b", "http://example.org/aZ", "http://example.org/b"]
    insert(*map(capture, made))
    assert [row.url for row in Selection(("http://example.org/a*",)).rows()] == made[:3]


def test_originals_are_first_whole_captures_with_the_payload():
    first = capture("http://a.example/", T, digest="sha256:x")
    insert(
        capture("http://cut.example/", T - 5, digest="sha256:x", truncated="length"),
        first,
        capture("http://b.example/", T + 1, digest="sha256:x"),
        capture("http://c.example/", T + 2, digest="sha256:y", kind="revisit"),
    )
    found = queries.originals(["sha256:x", "sha256:y", "sha256:z"])
    assert found == {"sha256:x": warc.Original(first.record_id, first.url, T, "sha256:x")}


def test_looking_up_digests_uses_the_small_index():
    if connection.vendor != "sqlite":
        pytest.skip("the planner of PostgreSQL prefers a scan of an empty table")
    with connection.cursor() as cursor:
        cursor.execute(
            "EXPLAIN QUERY PLAN SELECT digest FROM capture WHERE digest IN (%s, %s) AND NOT (kind = 'revisit') "
            "AND truncated = '' ORDER BY id DESC",
            ["a", "b"],
        )
        assert "capture_digest" in str(cursor.fetchall())


def test_a_url_too_long_for_an_index_is_filed_all_the_same():
    long = "http://example.org/" + "x" * 8000
    insert(capture(long), capture(long + "y"))
    assert len(index_key(long)) < MAX_KEY + 20
    assert [row.url for row in queries.captures_of(long)] == [long]


PARTS = st.sampled_from([*"abz09-_./?=&%:@~", "www.", "www1.", "..", "//", "A", "é", ".com", "/", ":80", "%2f", "?q=1"])


@given(st.sampled_from(["http://", "https://", "HTTP://"]), st.lists(PARTS, max_size=12).map("".join))
def test_the_quick_way_to_a_key_gives_the_same_key(scheme, rest):
    url = f"{scheme}{rest}"
    try:
        expected = urls.surt(url)
    except urls.UrlError:
        return
    assert index_key(url) == expected


def test_a_media_type_from_a_hostile_server_is_stored():
    insert(capture("http://example.org/", mime="text/\x00\udcff'; DROP TABLE capture; --" + "x" * 500))
    assert queries.latest("http://example.org/").mime.startswith("text/'; DROP TABLE")


def test_files_are_acknowledged_and_closed():
    insert(capture("http://example.org/"))
    services.acknowledge({FILE: 2000, "b.warc.gz": 5})
    assert queries.open_files() == {FILE: 2000, "b.warc.gz": 5}
    services.mark_closed([ClosedFile(FILE, 2000, "sha256:d")])
    assert queries.open_files() == {"b.warc.gz": 5}
    assert WarcFile.objects.get(name=FILE).digest == "sha256:d"


def test_a_capture_in_a_file_nobody_synced_is_refused():
    with pytest.raises(ValueError, match="without an acknowledged size"):
        services.insert_captures([capture("http://example.org/")], {"other.warc.gz": 5})
