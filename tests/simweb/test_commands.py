"""The `simweb` command and the demo, run as a person runs them."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
from warcio.archiveiterator import ArchiveIterator

from simweb import SimWeb, demo_files
from simweb.cli import main
from simweb.model import Settings, Web
from tests.simweb.client import visit
from tests.waiting import PATIENCE, held_port


def test_serve_says_what_a_crawler_needs_and_stops_on_a_signal() -> None:
    command = [sys.executable, "-m", "simweb", "serve", "--port", "0", "--hosts", "3", "--pages", "5", "--zoo"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        lines = [process.stdout.readline() for _ in range(4)]
        match = re.search(r"\*\.sim\.test=127\.0\.0\.1:(\d+)'", lines[2])
        assert match
        assert visit(int(match[1]), "zoo.sim.test", "/").status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0


def test_info_stats_and_advance_ask_a_running_web(capsys: pytest.CaptureFixture[str]) -> None:
    with SimWeb(hosts=2, pages_per_host=3) as web:
        port = str(web.port)
        assert main(["info", "--port", port]) == 0
        info = json.loads(capsys.readouterr().out)
        assert (info["settings"]["hosts"], info["port"]) == (2, web.port)
        before = web.now()
        assert main(["advance", "36", "--port", port]) == 0
        assert web.now() == before + 36 * 3600
        assert main(["stats", "--port", port]) == 0
        assert main(["advance", "-1", "--port", port]) == 1
        assert "cannot go back" in capsys.readouterr().err


def test_errors_name_the_next_step(capsys: pytest.CaptureFixture[str]) -> None:
    with held_port() as held:
        port = str(held)
        with socket.create_server(("127.0.0.1", held)):
            assert main(["serve", "--port", port]) == 1
        assert "choose another with --port" in capsys.readouterr().err
        assert main(["info", "--port", port]) == 1
    assert "start one with `simweb serve`" in capsys.readouterr().err
    assert main(["serve", "--port", "0", "--changes", "sometimes"]) == 1
    assert "choose mixed, never" in capsys.readouterr().err


def test_addresses_are_already_canonical() -> None:
    """Otherwise a crawler's list could never equal the model's."""
    from hemeroteca import urls

    web = SimWeb(seed=3, hosts=20, pages_per_host=60)
    found = web.crawl_map(web.seed_urls(1), requisites=True)
    assert [url for url in found if urls.canonical(url) != url] == []
    assert [url for url in found if urls.trap(url)] == []


@pytest.mark.slow
def test_the_demo_crawls_and_stops_cleanly(tmp_path: Path) -> None:
    data = tmp_path / "demo"
    with held_port() as port:
        command = [sys.executable, "-m", "simweb.demo", "--data", str(data), "--port", str(port), "--once"]
        command += ["--hosts", "3", "--pages", "10", "--limit", "40", "--bare"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HEMEROTECA_")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"http://127.0.0.1:{port}/status" in done.stdout
        assert "The crawl has ended: 40 pages" in done.stdout
        assert list(data.rglob("*.warc.gz"))
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))


def test_the_past_of_the_demo_is_read_as_an_archive_with_versions(tmp_path: Path) -> None:
    web = Web(Settings(hosts=2, pages_per_host=5))
    now = datetime(2026, 3, 1, tzinfo=UTC)
    sites = demo_files.write_past(tmp_path / "past.warc", web, 2, 30, now)
    assert sites == [web.host_at(0).url(0), web.host_at(1).url(0)]
    with (tmp_path / "past.warc").open("rb") as file:
        records = [(r.rec_headers["WARC-Target-URI"], r.rec_headers["WARC-Date"], r.content_stream().read()) for r in
                   ArchiveIterator(file)]  # fmt: skip
    assert len(records) == 2 * 30 * demo_files.PAGES
    dates = [date for _, date, _ in records]
    assert max(dates) < "2026-03-02"
    assert min(dates) >= "2026-01-30"
    bodies = {url: {body for address, _, body in records if address == url} for url, _, _ in records}
    assert any(len(versions) > 1 for versions in bodies.values()), "something changed in a month"


def test_the_wiki_of_the_demo_is_a_dump_with_people_and_reverts(tmp_path: Path) -> None:
    titles = demo_files.write_wiki(tmp_path / "wiki.xml", Web(Settings(hosts=3)), 2, datetime(2026, 3, 1, tzinfo=UTC))
    tree = ElementTree.parse(tmp_path / "wiki.xml")
    space = "{http://www.mediawiki.org/xml/export-0.11/}"
    assert [one.text for one in tree.iter(f"{space}title")] == titles
    numbers = [one.text for one in tree.iterfind(f"{space}page/{space}revision/{space}id")]
    assert len(numbers) == len(set(numbers)) > 100
    assert any(one.text == "Reverted vandalism" for one in tree.iter(f"{space}comment"))
