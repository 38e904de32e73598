"""Closed WARC files go to the object store by themselves; no fault on the way loses one."""

import json
import socket
import threading
from collections.abc import Iterator

import pytest

from tests.engine.system import System
from tests.fetch.browser_site import Site
from tests.waiting import PATIENCE

pytest.importorskip("obstore")
PAGE = "http://www.site.test"
TEXT = "<!doctype html><title>Council</title><p>The council met on Tuesday and spoke about the old bridge.</p>" * 3


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    site.pages |= {"/": TEXT + "".join(f"<a href=/{n}>{n}</a>" for n in range(8))}
    site.pages |= {f"/{n}": TEXT + f"<p>Page {n}" for n in range(8)}
    yield site
    site.server.close()


@pytest.fixture
def system(tmp_path, site, s3) -> System:
    import boto3

    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "us-east-1"}
    bucket = f"b{abs(hash(str(tmp_path))):x}"
    client = boto3.client(
        "s3", endpoint_url=s3, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x"
    )
    client.create_bucket(Bucket=bucket)
    settings = {"archive_store": f"s3://{bucket}/archive", "archive_keep_bytes": 0, "warc_bytes": 2000}
    system = System(tmp_path / "data", resolve=f"*.site.test=127.0.0.1:{site.port}", delay=0, **settings)
    system.environment |= {**keys, "AWS_ENDPOINT_URL": s3}
    system.listed = lambda: {
        item["Key"].removeprefix("archive/") for item in client.list_objects_v2(Bucket=bucket).get("Contents", ())
    }
    return system


def local(system: System) -> set[str]:
    return {path.name for path in (system.data / "warc").iterdir()}


def crawl(system: System) -> dict:
    return system.crawl(f"{PAGE}/", "--no-requisites", "--no-sitemaps", "--delay", "0")


def whole(system: System) -> None:
    """Everything is in the store, nothing here, and all can be read."""
    names = {name for (name,) in system.rows("SELECT name FROM warc_file")}
    assert len(names) > 2
    assert (system.listed(), local(system)) == (names, set())
    verified = system.run("archive", "verify", "--json")
    report = json.loads(verified.stdout)
    assert (verified.returncode, report["troubles"]) == (0, [])
    assert report["captures"] >= 9
    assert "Page 3" in system.run("archive", "get", f"{PAGE}/3").stdout


def test_files_are_brought_to_the_store_and_read_from_there(system):
    crawl(system)
    whole(system)
    site_text = system.run("archive", "diff", f"{PAGE}/3")
    assert "only one version" in site_text.stderr


def test_what_is_kept_here_too_is_the_newest(system):
    system.environment["HEMEROTECA_ARCHIVE_KEEP_BYTES"] = "2500"
    crawl(system)
    newest = [name for (name,) in system.rows("SELECT name FROM warc_file ORDER BY id DESC LIMIT 1")]
    assert local(system) == set(newest)
    assert len(system.listed()) > 2


def test_a_store_that_is_away_stops_nothing_and_gets_all_later(system, s3):
    system.environment["AWS_ENDPOINT_URL"] = "http://127.0.0.1:9"
    assert crawl(system)["state"] == "finished"
    assert len(local(system)) > 2
    system.environment["AWS_ENDPOINT_URL"] = s3
    crawl(system)
    whole(system)


def test_a_kill_in_the_middle_of_an_upload_loses_nothing(system, s3):
    """The store takes the beginning of a file and never answers; then the power goes."""
    begun = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def swallow() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            head = connection.recv(65536)
            if head.startswith(b"HEAD"):
                connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                head = connection.recv(65536)
            if head.startswith((b"PUT", b"POST")):
                begun.set()
            held.append(connection)

    held: list[socket.socket] = []
    threading.Thread(target=swallow, daemon=True).start()
    system.environment["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{listener.getsockname()[1]}"
    process = system.start("crawl", f"{PAGE}/", "--no-requisites", "--no-sitemaps", "--delay", "0")
    assert begun.wait(PATIENCE)
    system.kill(process)
    listener.close()
    assert local(system)
    system.environment["AWS_ENDPOINT_URL"] = s3
    crawl(system)
    whole(system)


def test_a_store_that_cannot_be_used_is_told_before_anything_is_fetched(system, site):
    system.environment["HEMEROTECA_ARCHIVE_STORE"] = "nonsense://x"
    done = system.run("crawl", f"{PAGE}/")
    assert done.returncode != 0
    assert "archive_store" in done.stderr
    assert "Traceback" not in done.stderr
    assert not site.asked
