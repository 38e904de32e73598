"""The whole spine on a real site behind nginx, against crawlers people use; and how it grows.

Everything is on for Hemeroteca (durable frontier, WARC, deduplication, text, index); the peers do what their row says.
All run against the same nginx on the same machine, one after another; Hemeroteca and Scrapy twice, in turns.
"""

import contextlib
import json
import math
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from bench import machine
from bench.report import Row

SITE = Path("/usr/share/doc/openjdk-17-jre-headless/api")
SCRAPY, SCRAPY_UNIQUE = "Scrapy (links only)", "Scrapy (links only) whose spider drops a page's repeated links"
HEMEROTECA = Path(sys.executable).parent / "hemeroteca"
FIRST_PAGES = 2000  # few enough that start-up shows
PEER_PAGES = 1000  # Crawlee only: it needs minutes for the whole site
GROWTH_PAGES = 10_000
HTTRACK_SECONDS = 240  # the whole site takes it less on a machine at rest

# So many URLs more that the crawl has met, on a thousand hosts, all visited.
KNOWN = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "hemeroteca.django_settings"
import django
django.setup()
from hemeroteca import urls
from hemeroteca.frontier.models import Crawl, Host, Page, QueuedVisit
known, hosts = int(sys.argv[1]), 1000
crawl = Crawl.objects.get()
Host.objects.bulk_create([Host(name=f"h{n}.test", pages=known // hosts) for n in range(hosts)])
host = dict(Host.objects.values_list("name", "pk"))
for start in range(0, known, 10_000):
    pages = []
    for n in range(start, start + 10_000):
        name = f"h{n % hosts}.test"
        url = f"http://{name}/section-{n % 97}/page-{n}.html"
        pages.append(Page(key=urls.key(url), url=url, host_id=host[name]))
    pages = Page.objects.bulk_create(pages)
    QueuedVisit.objects.bulk_create(
        [QueuedVisit(crawl=crawl, page=page, host_id=page.host_id, state=1, depth=1) for page in pages]
    )
"""


class Peer(NamedTuple):
    """What another crawler did."""

    name: str
    pages: int
    rate: float  # pages per CPU second
    seconds: float
    page_bytes: float  # on average; 0 where it does not say


def main() -> list[Row]:
    if not machine.apt("openjdk-17-doc", "nginx-light", "wget", "httrack"):
        print("skipped: openjdk-17-doc, nginx, wget and httrack cannot be installed here (needs root once)")
        return []
    machine.compile_modules()
    with machine.nginx(SITE) as port:
        address = f"http://127.0.0.1:{port}/"
        # The speed of a shared machine swings: in turns, and the better of two runs counts for both.
        ours, links_only = hemeroteca(address), scrapy(address)
        again, links_only_again = hemeroteca(address), scrapy(address)
        again["peak"] = ours["peak"] = max(ours["peak"], again["peak"])
        ours = max(ours, again, key=lambda run: run["rate"])
        links_only = max(filter(None, (links_only, links_only_again)), key=lambda run: run.rate, default=None)
        peers = [links_only, scrapy(address, "unique"), wget(address), httrack(address), crawlee(address)]
        first = first_pages(address)
        growth = grown(address)
    rows = [
        Row(
            "crawl: pages per CPU second, everything on",
            f"{ours['rate']:.0f} ({ours['cpu_seconds']:.1f} s; {ours['whole']:.1f} s with link ranks and suggestions)",
            "",
            "",
        ),
        Row(
            "crawl: pages/s (wall clock)",
            f"{ours['pages_per_second']:.0f}",
            "≥ 600",
            _verdict(ours["pages_per_second"] >= 600),
        ),
        Row(
            "crawl: peak memory of 10,000 pages, all processes",
            f"{ours['peak'] / 1e6:.0f} MB (sum of peaks {ours['max_rss_bytes'] / 1e6:.0f} MB)",
            "≤ 350 MB",
            _verdict(ours["peak"] <= 350e6),
        ),
    ]
    for peer in filter(None, peers):
        goal = {SCRAPY: 11.0, SCRAPY_UNIQUE: 0.0}.get(peer.name, 1.0)
        ratio = ours["rate"] / peer.rate
        rows.append(
            Row(
                f"crawl: pages per CPU second against {peer.name}",
                f"{ratio:.1f} × ({ours['rate']:.0f} against {peer.rate:.0f}; "
                f"{peer.pages} pages in {peer.seconds:.0f} s)",
                f"≥ {goal:g} ×" if goal else "",
                _verdict(ratio >= goal) if goal else "",
            )
        )
    return [*rows, *first, growth]


def first_pages(address: str) -> list[Row]:
    """The first pages of the site, with start-up in both figures; the better of two runs each, in turns.

    The goal was set against Scrapy in its own order, which goes deep first and meets other, smaller pages than we do.
    So a second row has it read the pages that we read, and has no goal.
    """
    ours, own, same = [], [], []
    for _ in range(2):
        ours.append(hemeroteca(address, "--limit", str(FIRST_PAGES)))
        same.append(scrapy(address, f"only={_list_of_pages(machine.WORK / 'hemeroteca' / 'data')}"))
        own.append(scrapy(address, f"pages={FIRST_PAGES}"))
    best = max(ours, key=lambda run: run["rate"])
    rows = []
    for order, peers, goal in (("", own, 8.0), (", the same pages", same, 0.0)):
        peer = max(filter(None, peers), key=lambda run: run.rate, default=None)
        if peer is None:
            continue
        ratio = best["rate"] / peer.rate
        rows.append(
            Row(
                f"crawl: pages per CPU second against Scrapy, first {FIRST_PAGES:,} pages (start-up counts){order}",
                f"{ratio:.1f} × ({best['rate']:.0f} of {best['bytes'] / best['captures'] / 1e3:.0f} kB "
                f"against {peer.rate:.0f} of {peer.page_bytes / 1e3:.0f} kB)",
                f"≥ {goal:g} ×" if goal else "",
                _verdict(ratio >= goal) if goal else "",
            )
        )
    return rows


def _list_of_pages(data: Path) -> Path:
    """The addresses a crawl has read, one a line."""
    with contextlib.closing(sqlite3.connect(data / "hemeroteca.sqlite3")) as database:
        found = database.execute("SELECT url FROM capture WHERE status = 200 ORDER BY id").fetchall()
    path = machine.WORK / "pages.txt"
    path.write_text("\n".join(url for (url,) in found))
    return path


def hemeroteca(address: str, *options: str) -> dict[str, float]:
    folder = machine.fresh("hemeroteca")
    summary, used = _crawl(address, folder, *options)
    # of the crawl itself, start included; link ranks and suggestions are learned after it, see `whole`
    summary["rate"] = summary["pages"] / summary["cpu_seconds"]
    summary["whole"] = used.cpu_seconds
    summary["peak"] = used.max_rss_bytes
    return summary


def grown(address: str) -> Row:
    """A crawl that goes on when it has met few URLs and when it has met many; the better of two runs each, in turns."""
    few, many = 10_000, 1_000_000
    wall = {few: math.inf, many: math.inf}
    cpu = dict(wall)
    for known in (few, many):
        folder = machine.fresh(f"known-{known}")
        _crawl(address, folder, "--limit", "1")
        environment = {**os.environ, "HEMEROTECA_DATA": str(folder / "data")}
        subprocess.run([sys.executable, "-c", KNOWN, str(known)], env=environment, check=True)
    for _ in range(2):
        for known in (few, many):
            folder = machine.fresh("grown")
            shutil.copytree(machine.WORK / f"known-{known}" / "data", folder / "data")
            summary, _ = _crawl(address, folder, "--limit", str(GROWTH_PAGES))
            wall[known] = min(wall[known], summary["seconds"] / summary["pages"])
            cpu[known] = min(cpu[known], summary["cpu_seconds"] / summary["pages"])
    ratio = wall[many] / wall[few]
    return Row(
        f"crawl: time per page at {many:,} known URLs against {few:,}",
        f"{ratio:.2f} × ({wall[many] * 1e3:.2f} against {wall[few] * 1e3:.2f} ms; "
        f"processor {cpu[many] * 1e3:.2f} against {cpu[few] * 1e3:.2f} ms)",
        "≤ 1.3",
        _verdict(ratio <= 1.3),
    )


def _crawl(address: str, folder: Path, *options: str) -> tuple[dict[str, float], machine.Usage]:
    command = [str(HEMEROTECA), "crawl", address, "--delay", "0", "--data", str(folder / "data"), "--json", *options]
    used = machine.measure(command, folder, {**os.environ, "HEMEROTECA_ALLOW_PRIVATE": "1"})
    return json.loads(used.output.strip().splitlines()[-1]), used


def scrapy(address: str, *options: str) -> Peer | None:
    python = machine.peer_python("scrapy")
    if python is None:
        return None
    command = [str(python), str(machine.HERE / "peers" / "scrapy_links.py"), address, *options]
    used = machine.measure(command, machine.fresh("scrapy"))
    return _peer(SCRAPY_UNIQUE if "unique" in options else SCRAPY, used, _pages(used.output))


def wget(address: str) -> Peer | None:
    folder = machine.fresh("wget")
    command = ["wget", "-q", "--mirror", "--warc-file=site", "--no-parent", address]
    used = machine.measure(command, folder)
    pages = sum(1 for path in folder.rglob("*") if path.is_file()) - 2
    shutil.rmtree(folder)
    return _peer("wget --mirror --warc-file", used, pages)


def httrack(address: str) -> Peer | None:
    folder = machine.fresh("httrack")
    command = [
        "httrack",
        address,
        "-O",
        str(folder),
        "-q",
        "-%v0",
        "-c8",
        "-%c0",  # connections per second without limit; with any number it fetched one page a second
        "-A0",  # nor one on bytes per second
        "--disable-security-limits",
        "-s0",  # robots.txt not asked
        "-C0",  # nothing kept for a later update, which costs it time
        "-I0",
        f"-E{HTTRACK_SECONDS}",
    ]
    used = machine.measure(command, folder)
    pages = sum(1 for path in folder.rglob("*.html") if "hts-cache" not in path.parts)
    shutil.rmtree(folder)
    return _peer("HTTrack", used, pages)


def crawlee(address: str) -> Peer | None:
    python = machine.peer_python("crawlee[parsel]")
    if python is None:
        return None
    script = str(machine.HERE / "peers" / "crawlee_links.py")
    used = machine.measure([str(python), script, address, str(PEER_PAGES)], machine.fresh("crawlee"))
    return _peer("Crawlee (links only)", used, _pages(used.output))


def _peer(name: str, used: machine.Usage, pages: int) -> Peer | None:
    if not pages:
        print(f"{name} gave no pages (exit code {used.code}): {used.output[-500:]}")
        return None
    size = re.search(r"^bytes (\d+)$", used.output, re.MULTILINE)
    return Peer(name, pages, pages / used.cpu_seconds, used.seconds, int(size[1]) / pages if size else 0.0)


def _pages(output: str) -> int:
    found = re.search(r"^pages (\d+)$", output, re.MULTILINE)
    return int(found[1]) if found else 0


def _verdict(reached: bool) -> str:
    return "reached" if reached else "not reached"
