"""The console with the data of the demo: time of its pages with 20 people at once, their weight, memory of the process.

Twenty people look at pages, each at one after the other with a pause to read between them (a second and a half on
average): about thirteen pages a second. Times are from the request to the last byte, on loopback.
"""

import http.client
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from urllib.parse import urlsplit

from bench.report import Row
from bench.startup import _pss, _tree

PEOPLE = 20
SECONDS = 40.0
READING_SECONDS = 1.5
WARM = {"home": "/", "search result": "/?q={word}", "site page": "/watch/1"}
MAX_MS, MAX_HOME, MAX_CHART, MAX_WARM, MAX_MEMORY = 100.0, 100_000, 1_200_000, 50_000, 150e6
PASSWORD = "demonstration"


def main() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="hemeroteca-bench-") as name:
        data = Path(os.environ.get("BENCH_DEMO_DATA") or Path(name) / "data")
        if not data.exists():
            demo = [
                sys.executable,
                "-m",
                "simweb.demo",
                "--data",
                str(data),
                "--once",
                "--hosts",
                "20",
                "--limit",
                "800",
            ]
            subprocess.run(demo, check=True, stdout=subprocess.DEVNULL)
        with _Server(data) as server:
            return _measured(server)


def _measured(server: "_Server") -> list[Row]:
    _, offered, headers = server.get("/suggest/options?q=a")
    word = _unpacked(offered, headers).partition('value="')[2].partition('"')[0].split()[-1:] or ["the"]
    pages = {name: address.format(word=word[0]) for name, address in WARM.items()}
    for _ in range(3):
        for address in pages.values():
            status, _, _ = server.get(address)
            assert status == 200, address
    rows = []
    times = _visits(server, pages)
    for name, found in times.items():
        ms = sorted(1000 * one for one in found)
        middle, high = statistics.median(ms), ms[int(0.95 * len(ms))]
        rows.append(
            _row(f"{name}, {PEOPLE} people at once", f"p50 {middle:.0f} ms, p95 {high:.0f} ms ({len(ms)} pages)",
                 f"p95 ≤ {MAX_MS:.0f} ms", high <= MAX_MS)
        )  # fmt: skip
    cold, _ = server.weight("/")
    rows.append(_row("bytes of the home page, cold", f"{cold / 1000:.1f} kB", "≤ 100 kB", cold <= MAX_HOME))
    cold, warm = server.weight("/watch/1")
    both = f"{cold / 1000:.0f} kB cold, {warm / 1000:.1f} kB warm"
    rows.append(_row("bytes of a chart page", both, "≤ 1,200 kB, ≤ 50 kB", cold <= MAX_CHART and warm <= MAX_WARM))
    memory = server.memory()
    rows.append(
        _row("memory of its process after that (PSS)", f"{memory / 1e6:.0f} MB", "≤ 150 MB", memory <= MAX_MEMORY)
    )
    for address in ("/wiki/trends", "/wiki/articles/1", "/wiki/compare?article=1&article=2"):
        server.get(address)
    memory = server.memory()
    rows.append(_row("the same after pages of wikis", f"{memory / 1e6:.0f} MB", "≤ 150 MB", memory <= MAX_MEMORY))
    return rows


def _visits(server: "_Server", pages: dict[str, str]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = defaultdict(list)
    until = time.monotonic() + SECONDS

    def person(number: int) -> None:
        draw = random.Random(number)
        connection = server.connect()
        while time.monotonic() < until:
            time.sleep(draw.uniform(0, 2 * READING_SECONDS))
            name = draw.choice(list(pages))
            began = time.perf_counter()
            status, _, _ = server.get(pages[name], connection)
            times[name].append(time.perf_counter() - began)
            assert status == 200, pages[name]

    people = [threading.Thread(target=person, args=(number,)) for number in range(PEOPLE)]
    for one in people:
        one.start()
    for one in people:
        one.join()
    return times


def _row(what: str, figure: str, goal: str, reached: bool) -> Row:
    return Row(f"console: {what}", figure, goal, "reached" if reached else "**missed**")


class _Server:
    """`hemeroteca serve` on the demo's data, and one who has signed in."""

    def __init__(self, data: Path) -> None:
        own = {name: value for name, value in os.environ.items() if not name.startswith("HEMEROTECA_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hemeroteca", "serve", "--port", "0"],
            env={**own, "HEMEROTECA_DATA": str(data), "HEMEROTECA_DEMO": "1"},
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.place = urlsplit(next(word for word in line.split() if word.startswith("http"))).netloc
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        self.cookie = ""

    def __enter__(self) -> "_Server":
        _, page, shown = self.get("/sign-in")
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', _unpacked(page, shown))
        assert token
        cookie = shown.get("Set-Cookie", "").partition(";")[0]
        connection = self.connect()
        body = f"csrfmiddlewaretoken={token[1]}&name=dora&password={PASSWORD}&next=/"
        headers = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", "/sign-in", body, headers)
        answer = connection.getresponse()
        answer.read()
        cookies = [one.partition(";")[0] for one in answer.headers.get_all("Set-Cookie") or []]
        assert any(one.startswith("sessionid=") for one in cookies), answer.status
        self.cookie = "; ".join(cookies)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.place, timeout=60)

    def get(
        self, address: str, connection: http.client.HTTPConnection | None = None
    ) -> tuple[int, bytes, http.client.HTTPMessage]:
        connection = connection or self.connect()
        connection.request("GET", address, headers={"Cookie": self.cookie, "Accept-Encoding": "gzip, br"})
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers

    def weight(self, address: str) -> tuple[int, int]:
        """Bytes of a page with all it loads, headers apart: at the first visit, and when the browser has the files."""
        _, page, headers = self.get(address)
        text = _unpacked(page, headers)
        files = set(re.findall(r'(?:src|href)="(/(?:static|charts)/[^"]+)"', text))
        cold = len(page)
        warm = len(page)
        for file in files:
            _, body, of_file = self.get(file.replace("&amp;", "&"))
            cold += len(body)
            if "max-age" not in of_file.get("Cache-Control", ""):
                warm += len(body)
        return cold, warm

    def memory(self) -> int:
        """Of the process that answers: the one that runs `hemeroteca.console.web`."""
        for pid in _tree(self.process.pid):
            if "hemeroteca.console.web" in Path(f"/proc/{pid}/cmdline").read_text():
                return _pss(pid)
        raise RuntimeError(f"no console among {json.dumps(_tree(self.process.pid))}")


def _unpacked(body: bytes, headers: http.client.HTTPMessage) -> str:
    if headers.get("Content-Encoding") == "gzip":
        import gzip

        body = gzip.decompress(body)
    return body.decode()
