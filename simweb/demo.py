"""`make demo`: a simulated web, the whole system on it, and something to see on every page in a minute or two: a crawl,
watched sites with a past, geographic services, a small wiki, a device of the fleet, jobs, people.

Works on a folder of its own that is thrown away afterwards (or kept with --data DIR). It drives the system by its
commands only, as a person would.
"""

import argparse
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import quote, quote_plus, urlsplit

from simweb import demo_files
from simweb.api import SimWeb
from simweb.geo import Corner

PORT = 8080
STOP_SECONDS = 20
PASSWORD = "demonstration"  # noqa: S105 - of everybody in a demo, which listens on this machine only
PAST_DAYS = 45
WATCHED = 4  # sites with a past
GEO_SERVICES = 6


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m simweb.demo", description=__doc__)
    parser.add_argument("--data", type=Path, help="keep the data in this folder (default: a temporary one)")
    parser.add_argument("--port", type=int, help=f"port of the console (default {PORT}, or a free one)")
    parser.add_argument("--hosts", type=int, default=30)
    parser.add_argument("--pages", type=int, default=80, help="pages per host")
    parser.add_argument("--limit", type=int, default=2000, help="pages to crawl")
    parser.add_argument("--bare", action="store_true", help="only the crawl")
    parser.add_argument("--once", action="store_true", help="stop when the crawl has ended")
    options = parser.parse_args(arguments)
    command = _hemeroteca()
    if command is None:
        print("demo: there is no `hemeroteca` command beside this Python; run `make setup` first", file=sys.stderr)
        return 1
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        with (
            _folder(options.data) as data,
            SimWeb(hosts=options.hosts, pages_per_host=options.pages, speed=60, corner=10) as web,
        ):
            return _run(command, data, web, options)
    except KeyboardInterrupt:
        print("\nThe demo has stopped.")
        return 0


def _run(command: list[str], data: Path, web: SimWeb, options: argparse.Namespace) -> int:
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    countries = data / "countries.csv"  # the map of the fleet needs to know where this machine is
    countries.write_text("127.0.0.0,127.255.255.255,ES\n", "utf-8")
    environment = os.environ | {
        "HEMEROTECA_ADDRESS_DATABASE": str(countries),
        "HEMEROTECA_RESOLVE": web.resolve,
        "HEMEROTECA_ALLOW_PRIVATE": "1",
        "HEMEROTECA_DELAY": "0.05",
        "HEMEROTECA_INDEX_COMMIT_SECONDS": "2",
        "HEMEROTECA_CONTACT": "https://example.org/demo",
        "HEMEROTECA_DEMO": "1",
    }
    port = options.port or _free_port(PORT)
    serve = [*command, "serve", "--data", str(data), "--port", str(port)]
    crawl = [*command, "crawl", *web.seed_urls(5), "--scope", "domain", "--limit", str(options.limit)]
    crawl += ["--data", str(data), "--json"]
    print(f"A simulated web of {options.hosts} sites runs on 127.0.0.1:{web.port}. Starting the system …", flush=True)
    with _child(serve, environment) as server:
        if not _wait_until_ready(server, port):
            print("demo: the system did not start; its reason is above", file=sys.stderr)
            return 1
        with contextlib.ExitStack() as ends, _child(crawl, environment, capture=True) as crawler:
            address = f"http://127.0.0.1:{port}"
            query = quote_plus(web.web.host_at(0).headline(1))
            print(f"\n  search   {address}/?q={query}\n  status   {address}/status\n", flush=True)
            print(
                f"Crawling up to {options.limit:,} pages; look at both pages while it does.  Ctrl-C stops.", flush=True
            )
            filler = ends.enter_context(contextlib.closing(Filler(command, environment, data, web, address)))
            if not options.bare:
                print(f"Sign in as admin with the password {PASSWORD}; the tour is at {address}/help/tour", flush=True)
                filler.fill()
            summary = _follow(server, crawler)
            if summary:
                print(_sentence(summary), flush=True)
            while not options.once and server.poll() is None:
                time.sleep(0.5)
        if server.poll() is not None:
            print(f"demo: the system ended by itself (exit code {server.returncode})", file=sys.stderr)
            return 1
        return 0 if summary else 1


class Filler:
    """Gives every page something to show, by commands and the API."""

    def __init__(self, command: list[str], environment: dict[str, str], data: Path, web: SimWeb, address: str) -> None:
        self.command, self.environment, self.data, self.web, self.address = command, environment, data, web, address
        self.files = Path(tempfile.mkdtemp(prefix="hemeroteca-demo-files-"))
        self.worker: subprocess.Popen[bytes] | None = None
        self.receiver = Receiver()
        self.tokens: dict[str, str] = {}

    def fill(self) -> None:
        steps = {
            "people": self._people,
            "a past of four sites, and the watch on them": self._watch,
            "geographic services, and a crawl that looks for more": self._geo,
            "a small wiki": self._wiki,
            "a device of the fleet, and a client of it": self._fleet,
            "searches, favourites, orders and a simulation": self._readers,
            "pictures of pages": self._pictures,
        }
        for name, step in steps.items():
            print(f"  … {name}", flush=True)
            try:
                step()
            except (subprocess.SubprocessError, OSError, ValueError) as error:
                print(f"demo: {name} could not be made ({error}); the rest goes on", file=sys.stderr)

    def close(self) -> None:
        if self.worker is not None:
            self.worker.send_signal(signal.SIGINT)
            try:
                self.worker.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.worker.kill()
                self.worker.wait()
        self.receiver.close()
        shutil.rmtree(self.files, ignore_errors=True)

    def _people(self) -> None:
        self._do("user", "password", "admin", "--password", PASSWORD)
        for name, role in (("dora", "director"), ("sol", "subscriber"), ("leo", "reader")):
            self._do("user", "add", name, "--role", role, "--password", PASSWORD)
            self.tokens[name] = self._do("token", "create", name, "--label", "demo").split()[0]

    def _watch(self) -> None:
        now = datetime.now(UTC).replace(microsecond=0)
        past = self.files / "past.warc"
        watched = min(WATCHED, max(1, self.web.settings.hosts - 1))
        sites = demo_files.write_past(past, self.web.web, watched, PAST_DAYS, now)
        self.web.advance(24 * PAST_DAYS)
        self._do("archive", "import", str(past))
        self._do("watch", "collection", "set", "Press of the isles", "--category", "news")
        for number, url in enumerate(sites, 1):
            self._do("watch", "add", url, "--scope", "host", "--collection", "Press of the isles", "--owner", "dora")
            self._do("watch", "learn", str(number))
        self._do("watch", "collection", "publish", "Press of the isles", "--description", "Four sites, every version.")
        self._do("watch", "channel", "add", self.receiver.address, "--name", "A program that is told")
        self._do("archive", "tag", sites[0], "front page", "news")
        self._do("archive", "note", sites[0], "It changes every hour: see the calendar.")
        other = self.web.seed_urls()[-1]
        self._ask("watch/subscriptions", "sol", {"url": other, "purpose": "What our neighbours say."})

    def _geo(self) -> None:
        corner = Corner(self.web.settings.seed, self.web.settings.corner)
        added = 0
        for url in corner.services:
            with contextlib.suppress(ValueError):  # some do not answer, as on the real web
                self._do("geo", "add", url)
                added += 1
            if added == GEO_SERVICES:
                break
        self._do("crawl", corner.first_url, "--focus", "geo", "--limit", "200", "--json")

    def _wiki(self) -> None:
        dump = self.files / "wiki.xml"
        demo_files.write_wiki(dump, self.web.web, 3, datetime.now(UTC))
        self._do("wiki", "import", str(dump))

    def _fleet(self) -> None:
        token = self.files / "token"
        token.write_text(self._do("fleet", "device", "add", "laptop of leo", "--owner", "leo").split()[0])
        self._do("fleet", "device", "set", "laptop of leo", "--owner", "leo", "--listed")
        self._do("fleet", "client", "add", "dora", "--purpose", "Whether pages look alike everywhere.", "--approve")
        self._do("fleet", "credits", "--give", "dora", "--amount", "100")
        worker = [*self.command, "worker", "--server", self.address, "--token-file", str(token), "--allow-private"]
        worker += ["--state", str(self.files / "worker"), "--on-battery", "--on-metered"]
        self.worker = subprocess.Popen(
            worker, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        pages = [self.web.web.host_at(5).url(number) for number in range(12)]
        self._ask("fetch", "dora", {"urls": pages})
        self._do("fleet", "vantage", "order", *pages[:2], "--user", "dora", "--title", "Two pages, from anywhere")
        self._ask("fleet/load-tests", "dora", {"url": pages[0], "rate": 2, "ramp_seconds": 5, "hold_seconds": 5})

    def _readers(self) -> None:
        host = self.web.web.host_at(0)
        word = host.headline(1).split()[-1]
        self._ask("searches", "sol", {"query": word, "name": "Word of the day"})
        self._ask(f"search?q={word}", "leo")
        self._ask("favourites", "leo", {"url": host.url(1), "title": host.headline(1)}, "PUT")
        self._do("order", "save", "Every night", host.url(0), "--limit", "50", "--every", "24")
        simulated = ("--process", "bursty", "--policy", "auto,simple,fixed:24", "--days", "240", "--pages", "60")
        self._do("simulate", *simulated, "--background")
        self._do("search", "rank", "--background")
        self._do("archive", "verify", "--background")

    def _pictures(self) -> None:
        """Two versions of a page with their pictures, where there is a browser."""
        page = self.web.web.host_at(2).url(0)
        self._do("site", "set", urlsplit(page).hostname or "", "render=always")
        for _time in range(2):
            self._do("crawl", page, "--scope", "page", "--json")
            self.web.advance(24)

    def _do(self, *words: str) -> str:
        done = subprocess.run(
            [*self.command, *words, "--data", str(self.data)],
            env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        if done.returncode:
            raise ValueError(f"`hemeroteca {' '.join(words[:3])}`: {done.stderr.strip()[-300:]}")
        return done.stdout

    def _ask(self, path: str, person: str, body: dict[str, Any] | None = None, method: str = "POST") -> None:
        host, _, port = self.address.removeprefix("http://").partition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=60)
        headers = {"Authorization": f"Bearer {self.tokens[person]}", "Content-Type": "application/json"}
        sent = json.dumps(body) if body is not None else None
        connection.request(method if sent else "GET", f"/api/v1/{quote(path, safe='/?=')}", sent, headers)
        answer = connection.getresponse()
        if answer.status >= 400:
            raise ValueError(f"{path}: {answer.status} {answer.read()[:200]!r}")
        connection.close()


class Receiver:
    """Takes what a channel tells, as a program of somebody would, and forgets it."""

    def __init__(self) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_words: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/told"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _follow(server: subprocess.Popen[bytes], crawler: subprocess.Popen[bytes]) -> dict[str, float] | None:
    """Wait for the crawl; its last line is its summary."""
    assert crawler.stdout
    lines: list[bytes] = []
    reader = threading.Thread(target=lambda: lines.extend(crawler.stdout or ()), daemon=True)
    reader.start()
    while crawler.poll() is None and server.poll() is None:
        reader.join(0.3)
    reader.join(1)
    try:
        return dict(json.loads(lines[-1]))
    except (IndexError, ValueError):
        print("demo: the crawl ended without a summary; its reason is above", file=sys.stderr)
        return None


def _sentence(summary: dict[str, float]) -> str:
    pages, seconds = summary.get("pages", 0), summary.get("seconds", 0)
    return f"The crawl has ended: {pages:,} pages in {seconds:.0f} seconds. Search them, or press Ctrl-C to stop."


@contextlib.contextmanager
def _child(command: list[str], environment: dict[str, str], capture: bool = False) -> Iterator[subprocess.Popen[bytes]]:
    """A child in a session of its own, so that Ctrl-C reaches us first and we stop everything in order."""
    output = subprocess.PIPE if capture else None
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=output, start_new_session=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def _folder(chosen: Path | None) -> Iterator[Path]:
    if chosen:
        yield chosen
        return
    folder = tempfile.mkdtemp(prefix="hemeroteca-demo-")
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_ready(server: subprocess.Popen[bytes], port: int, seconds: float = 60) -> bool:
    """Until the status page answers: the port alone opens before the data folder is made ready."""
    deadline = time.monotonic() + seconds
    while server.poll() is None and time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/status")
            if connection.getresponse().status == 200:
                return True
        except (OSError, http.client.HTTPException):
            pass  # not yet
        finally:
            connection.close()
        time.sleep(0.1)
    return False


def _free_port(wanted: int) -> int:
    for port in (wanted, 0):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)) as probe:
            return int(probe.getsockname()[1])
    raise OSError("no free port on 127.0.0.1")


def _hemeroteca() -> list[str] | None:
    beside = Path(sys.executable).with_name("hemeroteca")
    found = str(beside) if beside.exists() else shutil.which("hemeroteca")
    return [found] if found else None


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
