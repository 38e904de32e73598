"""What it costs to start a command, and to leave `hemeroteca serve` alone.

Processor time, not seconds on a clock: of the command and of everything it starts, the least of several runs. Memory is
the proportional set size (PSS): what processes share counts once.
"""

import functools
import http.server
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import machine
from bench.report import Row

RUNS = 7
SETTLE_SECONDS = 20.0  # for what ends by itself, and for the commits of a start
IDLE_SECONDS = 60.0
PAGE = "<!doctype html><title>Hemeroteca</title><p>La primera hemeroteca guarda periodicos antiguos.</p>"


def main() -> list[Row]:
    machine.compile_modules()
    with tempfile.TemporaryDirectory(prefix="hemeroteca-bench-") as name, _page(Path(name)) as url:
        folder = Path(name)
        crawled = min(_cpu_seconds(folder / f"crawl-{run}", "crawl", url) for run in range(RUNS))
        data = folder / "crawl-0"
        rows = [_row("`hemeroteca --help`", 0.25, min(_cpu_seconds(data, "--help") for _ in range(RUNS)))]
        rows.append(
            _row("`hemeroteca search`", 0.4, min(_cpu_seconds(data, "search", "hemeroteca") for _ in range(RUNS)))
        )
        rows.append(_row("`hemeroteca status`", 0.4, min(_cpu_seconds(data, "status") for _ in range(RUNS))))
        rows.append(_row("a crawl of one page, new folder", 0.7, crawled))
        share, memory = _idle(folder / "idle")
    rows.append(
        Row("startup: idle `serve`, nothing watched: share of a core", f"{share:.1%}", "≤ 1 %", _verdict(share <= 0.01))
    )
    rows.append(
        Row(
            "startup: the same: memory of all its processes (PSS), after one page of the console",
            f"{memory / 1e6:.0f} MB",
            "≤ 200 MB",
            _verdict(memory <= 200e6),
        )
    )
    return rows


def _row(what: str, most: float, seconds: float) -> Row:
    return Row(f"startup: {what}", f"{seconds:.2f} s of a processor", f"≤ {most:g} s", _verdict(seconds <= most))


def _verdict(reached: bool) -> str:
    return "reached" if reached else "**missed**"


def _cpu_seconds(data: Path, *arguments: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        _command(*arguments), env=_environment(data), stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _idle(data: Path) -> tuple[float, float]:
    """Share of a core and bytes, over all processes of `hemeroteca serve`."""
    serving = subprocess.Popen(
        _command("serve", "--port", "0"),
        env=_environment(data),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert serving.stdout is not None
    try:
        address = next(word for word in serving.stdout.readline().split() if word.startswith("http"))
        with urllib.request.urlopen(address) as page:
            page.read()
        time.sleep(SETTLE_SECONDS)
        processes = _tree(serving.pid)
        before, began = sum(map(_used, processes)), time.monotonic()
        time.sleep(IDLE_SECONDS)
        share = (sum(map(_used, processes)) - before) / (time.monotonic() - began)
        return share, sum(map(_pss, processes))
    finally:
        serving.send_signal(signal.SIGTERM)
        serving.wait()


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "hemeroteca", *arguments]


def _environment(data: Path) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("HEMEROTECA_")}
    return {**own, "HEMEROTECA_DATA": str(data), "HEMEROTECA_ALLOW_PRIVATE": "1"}


def _tree(pid: int) -> list[int]:
    found = [pid]
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            found += _tree(int(child))
    return found


def _used(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _pss(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


@contextmanager
def _page(folder: Path) -> Iterator[str]:
    """A site of one page on loopback."""
    site = folder / "site"
    site.mkdir()
    (site / "index.html").write_text(PAGE, "utf-8")
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass
