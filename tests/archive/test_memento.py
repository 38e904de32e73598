"""Memento clients find the right capture, and an archived page cannot do anything on our origin."""

import dataclasses
import json

import pytest
from django.test import Client

from tests.archive.making import Archive, small_archive

pytestmark = [pytest.mark.database, pytest.mark.django_db, pytest.mark.urls("hemeroteca.api.routes")]

BASE = "http://localhost"


@pytest.fixture
def client():
    return Client(HTTP_HOST="localhost")


@pytest.fixture
def archive(settings, tmp_path):
    from hemeroteca.instance import Instance

    settings.INSTANCE = Instance(tmp_path)
    return small_archive(settings.INSTANCE.warc_dir)


def read(response):
    return b"".join(response).decode()


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("", "20240104000000"),
        ("Wed, 03 Jan 2024 11:00:00 GMT", "20240103000000"),
        ("Thu, 01 Jan 1970 00:00:00 GMT", "20240101000000"),
        ("Fri, 01 Jan 2100 00:00:00 GMT", "20240104000000"),
    ],
)
def test_a_timegate_leads_to_the_capture_nearest_in_time(client, archive, asked, given):
    response = client.get("/timegate/http://example.org/", headers={"Accept-Datetime": asked} if asked else {})
    assert response.status_code == 302
    assert response.headers["Location"] == f"{BASE}/memento/{given}/http://example.org/"
    assert "accept-datetime" in response.headers["Vary"].lower()
    link = response.headers["Link"]
    assert '<http://example.org/>; rel="original"' in link
    assert f'<{BASE}/timemap/link/http://example.org/>; rel="timemap"; type="application/link-format"' in link
    assert 'rel="first' in link
    assert "last memento" in link


def test_a_timegate_tells_wrong_dates_and_unknown_pages(client, archive):
    refused = client.get("/timegate/http://example.org/", headers={"Accept-Datetime": "soon"})
    assert refused.status_code == 400
    assert "accept-datetime" in refused["Vary"]
    assert client.get("/timegate/http://unknown.example/").status_code == 404


def test_a_timemap_lists_every_capture(client, archive):
    response = client.get("/timemap/link/http://example.org/")
    assert response.headers["Content-Type"] == "application/link-format"
    lines = read(response).split(",\n")
    assert lines[0] == '<http://example.org/>; rel="original"'
    assert 'from="Mon, 01 Jan 2024 00:00:00 GMT"; until="Thu, 04 Jan 2024 00:00:00 GMT"' in lines[2]
    assert [line.partition('rel="')[2].partition('"')[0] for line in lines[3:]] == [
        "first memento", "memento", "memento", "last memento",
    ]  # fmt: skip
    data = json.loads(read(client.get("/timemap/json/http://example.org/")))
    assert data["original_uri"] == "http://example.org/"
    assert [item["uri"].split("/")[4] for item in data["mementos"]["list"]] == [
        "20240101000000", "20240102000000", "20240103000000", "20240104000000",
    ]  # fmt: skip
    assert client.get("/timemap/link/http://unknown.example/").status_code == 404


@pytest.mark.parametrize(
    ("open_search", "public_url", "shared"),
    [(True, "https://archive.example", True), (False, "https://archive.example", False), (True, "", False)],
)
def test_pages_of_other_sites_read_only_an_archive_that_is_open_and_published(
    client, archive, settings, open_search, public_url, shared
):
    settings.CONFIG = dataclasses.replace(settings.CONFIG, open_search=open_search, public_url=public_url)
    for path in ("cdx?url=http://example.org/", "timemap/link/http://example.org/", "timegate/http://example.org/"):
        assert ("Access-Control-Allow-Origin" in client.get(f"/{path}").headers) == shared
        assert ("Access-Control-Allow-Origin" in client.get(f"/{path}x").headers) == shared, "nor an error"


def test_the_query_of_the_original_is_part_of_it(client, archive):
    Archive(archive.folder).add("http://example.org/q?a=1&b=2", "2024", b"x")
    assert client.get("/timegate/http://example.org/q?a=1&b=2").status_code == 302
    assert client.get("/timegate/http://example.org/q?a=1").status_code == 404


def test_a_memento_is_the_page_of_that_time(client, archive):
    response = client.get("/memento/20240103000000/http://example.org/")
    assert response.content.startswith(b"<p>first words"), "not modified since the first"
    assert response.headers["Memento-Datetime"] == "Wed, 03 Jan 2024 00:00:00 GMT"
    other = client.get("/memento/20240102120000/http://example.org/")
    assert (other.status_code, other.headers["Location"]) == (302, f"{BASE}/memento/20240102000000/http://example.org/")


def test_an_archived_page_can_run_nothing_here(client, archive):
    Archive(archive.folder).add("http://evil.example/", "2024", b"<script>fetch('/admin/')</script>")
    response = client.get("/memento/20240101000000/http://evil.example/")
    policy = response.headers["Content-Security-Policy"]
    assert "sandbox" in policy
    assert "allow-scripts" not in policy
    assert "allow-same-origin" not in policy
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_hostile_addresses_stay_inside_their_link(client, archive):
    Archive(archive.folder).add('http://evil.example/">, <http://x/>; rel="original', "2024", b"x")
    text = read(client.get("/timemap/link/http://evil.example/%22%3E,%20%3Chttp:/x/%3E;%20rel=%22original"))
    assert text.count('rel="original"') == 1
    for path in ("/warc/..%2f..%2fsecret.key", "/warc/.hidden", "/warc/%00"):
        assert client.get(path).status_code in (401, 404)


def test_files_are_for_members_and_come_in_ranges(client, archive, django_user_model):
    name = archive.captures[0].warc_name
    assert client.get(f"/warc/{name}").status_code == 401
    client.force_login(django_user_model.objects.create(name="ana", role="reader"))
    capture = archive.captures[1]
    wanted = f"bytes={capture.offset}-{capture.offset + capture.length - 1}"
    response = client.get(f"/warc/{name}", headers={"Range": wanted})
    assert response.status_code == 206
    data = (archive.folder / name).read_bytes()
    assert b"".join(response) == data[capture.offset : capture.offset + capture.length]
    assert response.headers["Content-Range"] == wanted.replace("=", " ") + f"/{len(data)}"
    assert b"".join(client.get(f"/warc/{name}")) == data
    assert client.get(f"/warc/{name}", headers={"Range": "bytes=99999999-"}).status_code == 416
