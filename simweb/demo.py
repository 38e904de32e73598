"""`make demo`: a simulated web, the whole system on it, and a crawl, so that there is something to see in a minute.

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
from pathlib import Path
from types import FrameType
from urllib.parse import quote_plus

from simweb.api import SimWeb

PORT = 8080
STOP_SECONDS = 20


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m simweb.demo", description=__doc__)
    parser.add_argument("--data", type=Path, help="keep the data in this folder (default: a temporary one)")
    parser.add_argument("--port", type=int, help=f"port of the console (default {PORT}, or a free one)")
    parser.add_argument("--hosts", type=int, default=30)
    parser.add_argument("--pages", type=int, default=80, help="pages per host")
    parser.add_argument("--limit", type=int, default=2000, help="pages to crawl")
    parser.add_argument("--once", action="store_true", help="stop when the crawl has ended")
    options = parser.parse_args(arguments)
    command = _hemeroteca()
    if command is None:
        print("demo: there is no `hemeroteca` command beside this Python; run `make setup` first", file=sys.stderr)
        return 1
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        with _folder(options.data) as data, SimWeb(hosts=options.hosts, pages_per_host=options.pages, speed=60) as web:
            return _run(command, data, web, options)
    except KeyboardInterrupt:
        print("\nThe demo has stopped.")
        return 0


def _run(command: list[str], data: Path, web: SimWeb, options: argparse.Namespace) -> int:
    environment = os.environ | {
        "HEMEROTECA_RESOLVE": web.resolve,
        "HEMEROTECA_ALLOW_PRIVATE": "1",
        "HEMEROTECA_DELAY": "0.05",
        "HEMEROTECA_INDEX_COMMIT_SECONDS": "2",
        "HEMEROTECA_CONTACT": "https://example.org/demo",
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
        with _child(crawl, environment, capture=True) as crawler:
            address = f"http://127.0.0.1:{port}"
            query = quote_plus(web.web.host_at(0).headline(1))
            print(f"\n  search   {address}/?q={query}\n  status   {address}/status\n", flush=True)
            print(
                f"Crawling up to {options.limit:,} pages; look at both pages while it does.  Ctrl-C stops.", flush=True
            )
            summary = _follow(server, crawler)
            if summary:
                print(_sentence(summary), flush=True)
        while not options.once and server.poll() is None:
            time.sleep(0.5)
        if server.poll() is not None:
            print(f"demo: the system ended by itself (exit code {server.returncode})", file=sys.stderr)
            return 1
        return 0 if summary else 1


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
