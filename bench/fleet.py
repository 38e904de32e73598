"""The fleet: what coordination costs, and what several devices bring against one machine with the same politeness.

Leases and ingest are measured in processor time, in this process. Throughput is counted at the sites: 500 hosts with
200 ms latency and 1 s between two requests each, every machine with at most 8 requests under way.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from bench.report import Row

BLOCKS = 300
BLOCK = 64
HOSTS = 500
EACH = 40
LATENCY = 0.2
DELAY = 1.0
WARM_SECONDS = 15.0
COUNT_SECONDS = 15.0
JSON = "Content-Type: application/json"
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
    from hemeroteca.fleet import dispatch, shapes

    hosts = [
        shapes.HostWork(host=f"h{n}.test", delay=1.0, tasks=[shapes.Task(url=f"http://h{n}.test/a/page-{n}.html")])
        for n in range(BLOCK)
    ]
    work = shapes.Work(hosts=hosts)
    offer = dispatch.Offer(share=device.pk, activity="crawls", urls=BLOCK, work=work, seconds=60.0)
    dispatch.offer([offer] * count)


def _leases(device, token: str) -> Row:
    """Through the whole web stack: middleware, token, transaction, answer."""
    import io

    from hemeroteca.console.wsgi import application

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
    before = time.process_time()
    for _ in range(BLOCKS):
        ask("lease", b'{"urls": 64}')
    each = (time.process_time() - before) / BLOCKS
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
    from hemeroteca.fleet.device.records import Answer, Results
    from hemeroteca.fleet.models import Block, UploadPart
    from hemeroteca.ingest.ingestion import ingest
    from hemeroteca.ingest.rules import Rules
    from hemeroteca.warc import Capture

    paragraph = "<p>" + "La hemeroteca guarda lo que se dijo y cuando se dijo. " * 6 + "</p>"
    links = "".join(f"<a href='/seccion/{n}'>noticia {n}</a>" for n in range(60))
    pages = {
        f"http://h{n}.test/p": f"<title>Page {n}</title>{links}{paragraph * 30} {n}".encode() for n in range(BLOCK)
    }
    results = Results("bench")
    for url, body in pages.items():
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
        results.add(Answer(url, 200, b"GET /p HTTP/1.1\r\n\r\n", head, body, "93.184.216.34"))
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
    """500 hosts: addresses of loopback behind one port, each answer after 200 ms; counts who asks when."""

    def __init__(self) -> None:
        self.times: list[float] = []
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
                if path != b"/robots.txt":
                    self.times.append(time.monotonic())
                    await asyncio.sleep(LATENCY)
                body = b"" if path == b"/robots.txt" else b"<title>%s</title><p>A page like others</p>" % path
                status = b"404 Not Found" if path == b"/robots.txt" else b"200 OK"
                top = b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % (status, len(body))
                writer.write(top + body)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        writer.close()

    def urls(self) -> list[str]:
        return [
            f"http://127.1.{n // 250}.{n % 250 + 1}:{self.port}/page-{page}"
            for page in range(EACH)
            for n in range(HOSTS)
        ]


def _throughput() -> list[Row]:
    sites = Sites()
    direct, _ = _measure(sites, 0)
    rows = [Row("one machine, direct, ≤ 8 requests under way", f"{direct:.1f} requests/s")]
    for count in WORKERS:
        rate, memory = _measure(sites, count)
        ratio = rate / direct / count
        goal = "≥ 0.95 × per worker until the sites limit; > 1 × from 2 on"
        verdict = "reached" if ratio >= 0.95 and (count == 1 or rate > direct) else "not reached"
        figure = f"{rate:.1f} requests/s, {rate / direct:.2f} × direct, {ratio:.2f} × per worker"
        rows.append(Row(f"{count} workers", figure, goal, verdict))
        if count == 1:
            rows.append(
                Row(
                    "single-file worker memory (VmHWM)",
                    f"{memory:.0f} MB",
                    "≤ 60 MB",
                    "reached" if memory <= 60 else "",
                )
            )
    return rows


def _measure(sites: Sites, workers: int) -> tuple[float, float]:
    """Requests per second at the sites, and the largest memory of a worker."""
    with tempfile.TemporaryDirectory(prefix="hemeroteca-bench-") as name:
        folder = Path(name)
        environment = {
            **os.environ, "HEMEROTECA_DATA": name, "HEMEROTECA_CONFIG": os.devnull, "HEMEROTECA_ALLOW_PRIVATE": "1",
            "HEMEROTECA_DELAY": str(DELAY), "HEMEROTECA_DELAY_FACTOR": "0", "HEMEROTECA_CONCURRENCY": "8",
            "HEMEROTECA_REPLAY": "0", "HEMEROTECA_INGEST_PROCESSES": "1", "HEMEROTECA_PORT": "8979",
        }  # fmt: skip
        command = [sys.executable, "-m", "hemeroteca"]

        def run(*words: str) -> str:
            done = subprocess.run([*command, *words], env=environment, capture_output=True, text=True, check=True)
            return done.stdout

        quiet = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        processes = [subprocess.Popen([*command, "serve"], **quiet)]
        try:
            curl = ["curl", "-sf", "--retry", "60", "--retry-connrefused", "--retry-delay", "1"]
            subprocess.run([*curl, "-o", folder / "w.pyz", "http://127.0.0.1:8979/fleet/worker.pyz"], check=True)
            token = run("token", "create", "admin").splitlines()[0]
            run("fleet", "set", "local=false")
            for number in range(workers):
                told = json.loads(run("fleet", "device", "add", f"d{number}", "--owner", "admin", "--json"))
                _believe(folder, told["device"])
                program = [sys.executable, "-I", "-S", str(folder / "w.pyz")] if workers == 1 else [*command, "worker"]
                options = ["--server", "http://127.0.0.1:8979", "--token", told["token"], "--allow-private"]
                processes.append(
                    subprocess.Popen(
                        [*program, *options, "--parallel", "8", "--on-metered", "--state", str(folder / f"s{number}")],
                        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    )
                )  # fmt: skip
            time.sleep(6.0 if workers else 0.0)
            body = folder / "order.json"
            body.write_text(
                json.dumps({"seeds": sites.urls()[:10_000], "scope": "page", "requisites": False, "sitemaps": False})
            )
            sites.times.clear()
            subprocess.run(
                [*curl, "-o", os.devnull, "-H", f"Authorization: Bearer {token}", "-H", JSON,
                 "-d", f"@{body}", "http://127.0.0.1:8979/api/v1/crawls"], check=True,
            )  # fmt: skip
            while len(sites.times) < 50:
                time.sleep(0.1)
            time.sleep(WARM_SECONDS)
            since = time.monotonic()
            time.sleep(COUNT_SECONDS)
            rate = sum(since <= at < since + COUNT_SECONDS for at in sites.times) / COUNT_SECONDS
            memory = _peak(processes[1].pid) if workers else 0.0
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                process.wait()
    return rate, memory


def _believe(folder: Path, device: int) -> None:
    """Once trust is built: what a fleet is most of its life."""
    import sqlite3

    with sqlite3.connect(folder / "hemeroteca.sqlite3", timeout=30) as database:
        database.execute(
            "INSERT INTO fleet_standing (device_id, version, in_a_row, valid, invalid, slowed) "
            "VALUES (?, '0.1.0', ?, 0, 0, 0)",
            (device, 1000),
        )


def _peak(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) / 1000


if __name__ == "__main__":
    print(json.dumps([row.__dict__ for row in _costs()]))
