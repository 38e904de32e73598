"""The fleet: what coordination costs, and what several devices bring against one machine with the same politeness.

Leases and ingest are measured in processor time, in this process. Throughput is counted at the sites: 500 hosts with
200 ms latency and 1 s between two requests each, every machine with at most 8 requests under way. Everything runs on
this one machine, so each row tells the processor time of a page too: it shows whether the software or the machine is
the limit.
"""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil

from bench.report import Row
from hemeroteca import __version__

BLOCKS = 300
BLOCK = 64
HOSTS = 500
LATENCY = 0.2
DELAY = 1.0
WARM_SECONDS = 10.0
COUNT_SECONDS = 10.0
CURL = ["curl", "-sf", "--retry", "60", "--retry-connrefused", "--retry-delay", "1"]
WORKERS = tuple(int(n) for n in os.environ.get("BENCH_FLEET_WORKERS", "1,2,4,8").split(","))


def main() -> list[Row]:
    done = subprocess.run([sys.executable, "-m", "bench.fleet"], capture_output=True, text=True, check=True)
    rows = [Row(**row) for row in json.loads(done.stdout.splitlines()[-1])]
    return rows + _throughput()


# coordination


def _costs() -> list[Row]:
    folder = tempfile.mkdtemp(prefix="hemeroteca-bench-")
    os.environ |= {"HEMEROTECA_DATA": folder, "HEMEROTECA_CONFIG": os.devnull}
    os.environ["DJANGO_SETTINGS_MODULE"] = "hemeroteca.django_settings"
    import django

    django.setup()
    from hemeroteca.accounts import SYSTEM, Role
    from hemeroteca.accounts import services as accounts
    from hemeroteca.fleet import services
    from hemeroteca.instance import schema

    schema.prepare()
    owner = accounts.add_user(SYSTEM, "ana", Role.READER, "a long password")
    device, token = services.add_device(SYSTEM, "pi", owner)
    return [_leases(device, token), _ingest(device)]


def _offers(device, count: int) -> None:
    from hemeroteca.fleet import dispatch, protocol

    hosts = [
        protocol.HostWork(
            host=f"h{n}.test", delay=1.0, tasks=[protocol.UrlTask(url=f"http://h{n}.test/a/page-{n}.html")]
        )
        for n in range(BLOCK)
    ]
    work = protocol.LeasedWork(hosts=hosts)
    offer = dispatch.Offer(share=device.pk, activity="crawls", urls=BLOCK, work=work, seconds=60.0)
    dispatch.offer([offer] * count)


def _leases(device, token: str) -> Row:
    """Through the whole web stack: middleware, token, transaction, answer."""
    import io

    from hemeroteca.console.wsgi import application
    from hemeroteca.fleet.models import Block

    def ask(path: str, body: bytes) -> bytes:
        environ = {
            "REQUEST_METHOD": "POST", "PATH_INFO": f"/fleet/v1/{path}", "SERVER_NAME": "127.0.0.1", "SERVER_PORT": "80",
            "HTTP_HOST": "127.0.0.1", "HTTP_AUTHORIZATION": f"Bearer {token}", "wsgi.input": io.BytesIO(body),
            "CONTENT_LENGTH": str(len(body)), "wsgi.url_scheme": "http", "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_TYPE": "application/json",
        }  # fmt: skip
        return b"".join(application(environ, lambda *_: None))

    ask("connect", b'{"version": "0.1.0"}')
    _offers(device, BLOCKS + 20)
    for _ in range(20):
        found = ask("lease", b'{"urls": 64}')
        assert b'"block"' in found, found
    spent = 0.0
    for _ in range(BLOCKS):
        before = time.process_time()
        found = ask("lease", b'{"urls": 64}')
        spent += time.process_time() - before
        assert b'"block"' in found, found
        Block.objects.filter(state=Block.State.LEASED).update(state=Block.State.DONE)  # no device may hold so many
    each = spent / BLOCKS
    rate = BLOCK / each
    figure = f"{rate:,.0f} URLs/s ({each * 1000:.2f} ms of CPU a block of {BLOCK})"
    return Row(
        "leases served by one coordinator core",
        figure,
        "≥ 20,000 URLs/s",
        "reached" if rate >= 20_000 else "not reached",
    )


def _ingest(device) -> Row:
    """A returned block read, and its pages through ingest."""
    from hemeroteca import urls
    from hemeroteca.fetch import Guard
    from hemeroteca.fleet import dispatch, services
    from hemeroteca.fleet.device.result_file import FetchedUrl, ResultFile
    from hemeroteca.fleet.models import Block, UploadPart
    from hemeroteca.ingest.ingestion import ingest
    from hemeroteca.ingest.rules import Rules
    from hemeroteca.warc import Capture

    paragraph = "<p>" + "La hemeroteca guarda lo que se dijo y cuando se dijo. " * 6 + "</p>"
    links = "".join(f"<a href='/seccion/{n}'>noticia {n}</a>" for n in range(60))
    pages = {
        f"http://h{n}.test/p": f"<title>Page {n}</title>{links}{paragraph * 30} {n}".encode() for n in range(BLOCK)
    }
    results = ResultFile("bench")
    for url, body in pages.items():
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
        results.add(FetchedUrl(url, 200, b"GET /p HTTP/1.1\r\n\r\n", head, body, "93.184.216.34"))
    file = results.finish()
    file.seek(0)
    data = file.read()
    _offers(device, 1)
    block = Block.objects.last()
    assert block is not None
    now = services.now_ms()
    block.leased_ms = block.returned_ms = now
    for start in range(0, len(data), 1 << 20):
        UploadPart.objects.create(block=block, start=start, data=data[start : start + (1 << 20)])
    before, count = time.process_time(), 0
    with tempfile.TemporaryDirectory() as spool:
        while count < 640:
            for url, result in dispatch.results(block, list(pages), Guard(), Path(spool)).items():
                ingest(Capture.fetched(url, result), Rules(key=urls.key(url), host=urls.host(url)))
                count += 1
    rate = count / (time.process_time() - before)
    size = len(next(iter(pages.values()))) // 1000
    figure = f"{rate:,.0f} pages/s (of {size} kB, read from the upload and ingested)"
    return Row(
        "ingest of returned results per core", figure, "≥ 400 pages/s", "reached" if rate >= 400 else "not reached"
    )


# throughput


class Sites:
    """Hosts: addresses of loopback behind one port, each answer after a while; remembers when each page was first
    asked for, so that checks count for nothing, and when anything was asked for, checks and robots.txt included."""

    def __init__(self, latency: Callable[[str, str], float] = lambda source, site: LATENCY) -> None:
        self.pages: dict[tuple[str, bytes], float] = {}
        self.requests: list[float] = []
        self._latency = latency
        ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True).start()
        ready.wait()

    async def _serve(self, ready: threading.Event) -> None:
        server = await asyncio.start_server(self._answer, "0.0.0.0", 0, backlog=1000)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        async with server:
            await server.serve_forever()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1]
                known = path != b"/robots.txt"
                self.requests.append(time.monotonic())
                if known:
                    site, source = (writer.get_extra_info(name)[0] for name in ("sockname", "peername"))
                    self.pages.setdefault((site, path), time.monotonic())
                    await asyncio.sleep(self._latency(source, site))
                body = b"<title>%s</title><p>A page like others</p>" % path if known else b""
                status = b"200 OK" if known else b"404 Not Found"
                top = b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % (status, len(body))
                writer.write(top + body)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        writer.close()

    def rate(self, since: float, until: float) -> float:
        return sum(since <= at < until for at in list(self.pages.values())) / (until - since)


class Coordinator:
    """An instance of its own, with a server, in a folder that vanishes."""

    def __init__(self, port: int, **settings: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="hemeroteca-bench-")
        self.folder = Path(self._folder.name)
        self.server = f"http://127.0.0.1:{port}"
        self.environment = {
            **os.environ, "HEMEROTECA_DATA": self._folder.name, "HEMEROTECA_CONFIG": os.devnull,
            "HEMEROTECA_ALLOW_PRIVATE": "1", "HEMEROTECA_DELAY": str(DELAY), "HEMEROTECA_DELAY_FACTOR": "0",
            "HEMEROTECA_CONCURRENCY": "8", "HEMEROTECA_REPLAY": "0", "HEMEROTECA_INGEST_PROCESSES": "1",
            "HEMEROTECA_PORT": str(port), **settings,
        }  # fmt: skip
        self.processes = [self._start("-m", "hemeroteca", "serve")]
        self.worker_file = self.folder / "worker.pyz"
        subprocess.run([*CURL, "-o", self.worker_file, f"{self.server}/fleet/worker.pyz"], check=True)
        self._token = self.run("token", "create", "admin").splitlines()[0]
        self.run("fleet", "set", "local=false")

    def run(self, *words: str) -> str:
        command = [sys.executable, "-m", "hemeroteca", *words]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True).stdout

    def device(self, name: str) -> str:
        """A token of a device that is believed: what a fleet is most of its life."""
        told = json.loads(self.run("fleet", "device", "add", name, "--owner", "admin", "--json"))
        with sqlite3.connect(self.folder / "hemeroteca.sqlite3", timeout=30) as database:
            database.execute(
                "INSERT INTO fleet_standing (device_id, version, in_a_row, valid, invalid, slowed) "
                "VALUES (?, ?, 1000, 0, 0, 0)",
                (told["device"], __version__),
            )
        return told["token"]

    def worker(self, name: str, single_file: bool) -> None:
        program = ["-I", "-S", str(self.worker_file)] if single_file else ["-m", "hemeroteca", "worker"]
        options = ["--server", self.server, "--token", self.device(name), "--allow-private", "--parallel", "8"]
        self.processes.append(self._start(*program, *options, "--on-metered", "--state", str(self.folder / name)))

    def wait_for(self, devices: int) -> None:
        """Until so many are connected."""
        connected = "SELECT count(*) FROM fleet_device WHERE connected"
        while True:
            with sqlite3.connect(self.folder / "hemeroteca.sqlite3", timeout=30) as database:
                if database.execute(connected).fetchone()[0] == devices:
                    return
            time.sleep(0.2)

    def crawl(self, urls: list[str]) -> int:
        """Order these pages; gives the number of the crawl."""
        body = self.folder / "order.json"
        body.write_text(json.dumps({"seeds": urls, "scope": "page", "requisites": False, "sitemaps": False}))
        return json.loads(self._post("crawls", "-d", f"@{body}"))["id"]

    def stop(self, crawl: int) -> None:
        self._post(f"crawls/{crawl}/stop")

    def _post(self, path: str, *more: str) -> str:
        headers = ["-H", f"Authorization: Bearer {self._token}", "-H", "Content-Type: application/json"]
        command = [*CURL, "-X", "POST", *headers, *more, f"{self.server}/api/v1/{path}"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def memory(self) -> float:
        """The largest a worker ever was, in MB."""
        texts = [Path(f"/proc/{process.pid}/status").read_text() for process in self.processes[1:]]
        return max((int(text.partition("VmHWM:")[2].split()[0]) / 1000 for text in texts), default=0.0)

    def spent(self) -> tuple[float, float, float]:
        """Processor seconds of the coordinator, of the workers, and of the sites (this process)."""
        server, *workers = [psutil.Process(process.pid) for process in self.processes]
        family = [server, *server.children(recursive=True)]
        return _seconds(family), _seconds(workers), _seconds([psutil.Process()])

    def close(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait()
        self._folder.cleanup()

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        quiet = subprocess.DEVNULL
        return subprocess.Popen([sys.executable, *words], env=self.environment, stdout=quiet, stderr=quiet)


def _seconds(processes: list[psutil.Process]) -> float:
    return sum(times.user + times.system for times in (process.cpu_times() for process in processes))


class Measured(NamedTuple):
    rate: float  # pages/s, counted at the sites
    memory: float  # MB, the largest worker
    coordinator: float  # ms of processor time a page: web, engine and ingest
    workers: float
    sites: float
    others: float  # share of the machine that was neither ours nor idle

    def told(self) -> str:
        """Where the processor time went."""
        spent = f"{self.coordinator:.1f} + {self.workers:.1f} + {self.sites:.1f} ms"
        return f"CPU a page: coordinator + workers + sites {spent}; others had {self.others:.0%} of the machine"


def _throughput() -> list[Row]:
    sites = Sites()
    direct = _measure(sites, 0)
    rows = [
        Row(
            f"one machine, direct, {HOSTS} hosts, ≤ 8 requests under way", f"{direct.rate:.1f} pages/s; {direct.told()}"
        )
    ]
    limit = HOSTS / (DELAY + LATENCY)  # a host can bring no more
    for count in WORKERS:
        found = _measure(sites, count)
        times = found.rate / direct.rate
        good = found.rate >= min(0.95 * count * direct.rate, 0.95 * limit) and (count == 1 or times > 1)
        figure = f"{found.rate:.1f} pages/s, {times:.2f} × direct, {times / count:.2f} × per worker; {found.told()}"
        goal = f"≥ 0.95 × per worker, until the sites limit ({limit:.0f}/s)"
        rows.append(Row(f"{count} worker{'s' * (count > 1)}", figure, goal, "reached" if good else "not reached"))
        if count == 1:
            small = "reached" if found.memory <= 60 else "not reached"
            rows.append(Row("single-file worker memory (VmHWM)", f"{found.memory:.0f} MB", "≤ 60 MB", small))
    return rows


def _measure(sites: Sites, workers: int) -> Measured:
    """What the sites see of so many workers. A single worker is the single file."""
    sites.pages.clear()
    coordinator = Coordinator(8979)
    try:
        for number in range(workers):
            coordinator.worker(f"d{number}", single_file=workers == 1)
        coordinator.wait_for(workers)
        hosts = [f"http://127.1.{n // 250}.{n % 250 + 1}:{sites.port}" for n in range(HOSTS)]
        coordinator.crawl([f"{host}/page-{page}" for page in range(10_000 // HOSTS) for host in hosts])
        while len(sites.pages) < 50:
            time.sleep(0.1)
        time.sleep(WARM_SECONDS)
        since, before, busy = time.monotonic(), coordinator.spent(), _busy()
        time.sleep(COUNT_SECONDS)
        spent = [later - earlier for earlier, later in zip(before, coordinator.spent(), strict=True)]
        seconds = time.monotonic() - since
        rate = sites.rate(since, since + seconds)
        others = max(0.0, _busy() - busy - sum(spent)) / seconds / (os.cpu_count() or 1)
        each = [1000 * part / max(1.0, rate * seconds) for part in spent]
        return Measured(rate, coordinator.memory(), *each, others)
    finally:
        coordinator.close()


def _busy() -> float:
    """Processor seconds this machine was not idle."""
    times = psutil.cpu_times()
    return times.user + times.nice + times.system + times.irq + times.softirq


if __name__ == "__main__":
    print(json.dumps([row.__dict__ for row in _costs()]))
