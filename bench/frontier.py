"""A frontier of a million URLs: memory, the time of a lease, and the cost of a page beside ten thousand."""

import os
import subprocess
import sys
import textwrap

from bench import machine
from bench.report import Row

SCRIPT = textwrap.dedent(
    """
    import json, os, random, sys, time
    os.environ["DJANGO_SETTINGS_MODULE"] = "hemeroteca.django_settings"
    import django
    django.setup()
    from django.core.management import call_command
    from django.db import transaction
    from hemeroteca import urls
    from hemeroteca import usage
    from hemeroteca.frontier import services
    from hemeroteca.frontier.queue import Frontier
    from hemeroteca.frontier.values import CrawlOptions
    from hemeroteca.accounts import SYSTEM
    from hemeroteca.frontier.visit import Outcome
    from hemeroteca.urls.candidate import Candidate
    call_command("migrate", verbosity=0)
    known, hosts = int(sys.argv[1]), 1000
    crawl, _ = services.submit_crawl(SYSTEM, ["http://h0.test/"], CrawlOptions(scope=urls.Scope(kind="domain")))
    frontier = Frontier(10**9)
    frontier.open_crawl(crawl.pk)
    number = 0
    def more(count):
        global number
        found = []
        for number in range(number, number + count):
            url = f"http://h{number % hosts}.test/section-{number % 97}/page-{number}.html"
            found.append(Candidate(urls.key(url), url, f"h{number % hosts}.test", crawl.pk, depth=1))
        number += 1
        frontier.add(found)
        with transaction.atomic():
            frontier.write(1)
    while number < known:
        more(min(10_000, known - number))
    # steady state: visit pages, find as many new ones, commit every 500; each host is read once for ten visits
    leases, start, pages = [], time.process_time(), 10_000
    for done in range(pages):
        before = time.perf_counter()
        lease = frontier.lease(time.time())
        leases.append(time.perf_counter() - before)
        visit = lease.visit
        lease.answered(visit, 0.0)
        lease.done(visit, Outcome(visited_ms=1, status=200, digest="x", versions=1))
        if done % 500 == 499:
            more(500)
    cost = (time.process_time() - start) / pages
    leases.sort()
    print(json.dumps({
        "cost": cost, "worst": leases[-1], "p99": leases[len(leases) * 99 // 100], "median": leases[len(leases) // 2],
        "rss": usage.own_peak_bytes(),
    }))
    """
)


def main() -> list[Row]:
    small, large = run(10_000), run(1_000_000)
    ratio = large["cost"] / small["cost"]
    return [
        Row(
            "frontier: memory of the process at 1,000,000 URLs",
            f"{large['rss'] / 1e6:.0f} MB",
            "< 300 MB",
            _verdict(large["rss"] < 300e6),
        ),
        Row(
            "frontier: a lease at 1,000,000 URLs",
            f"p50 {large['median'] * 1e6:.0f} µs, p99 {large['p99'] * 1e3:.2f} ms, worst {large['worst'] * 1e3:.1f} ms",
            "< 5 ms",
            _verdict(large["p99"] < 5e-3),
        ),
        Row(
            "frontier: CPU per page at 1,000,000 URLs against 10,000",
            f"{ratio:.2f} × ({large['cost'] * 1e6:.0f} µs against {small['cost'] * 1e6:.0f} µs)",
            "",
            "",
        ),
    ]


def run(known: int) -> dict[str, float]:
    import json

    folder = machine.fresh(f"frontier-{known}")
    environment = {**os.environ, "HEMEROTECA_DATA": str(folder / "data")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(known)], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.strip().splitlines()[-1])


def _verdict(reached: bool) -> str:
    return "reached" if reached else "not reached"
