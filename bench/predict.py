"""Prediction: changes lost against the other policies at equal visits, and the cost of planning a million pages.

Real traces are read from ../shared/data/traces; without them only generated pages and the cost are measured.
`BENCH_PREDICT_QUICK=1` compares at the 2015 rule's own budget only. `BENCH_PREDICT_ORDER=1` (2, 3 …) gives the pages of
real traces in another order, which changes nothing but chance: how far the figures move tells what they are worth.
"""

import os
import random
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bench.report import Row
from hemeroteca.predict import traces
from hemeroteca.predict.policy_comparison import compare
from hemeroteca.predict.simulator import Settings
from hemeroteca.predict.traces import Trace

TRACES = Path(__file__).parents[2] / "shared" / "data" / "traces"
LISTED = ("fixed", "simple", "simple-notify", "simple-history", "day-type", "exponential", "nutch", "lambda-crawl")
EVERY = (12, 17, 23, 33)  # days per visit of a page
INDEPENDENT = ("poisson", "bernoulli", "bursty", "silent")
SHORT_SETS = 24  # of few pages and days, where a single one says little: chance alone is worth ± 0.06


def main() -> list[Row]:
    quick = bool(os.environ.get("BENCH_PREDICT_QUICK"))
    jobs: list[tuple[str, tuple[str, ...], str, float]] = []
    files = sorted(TRACES.glob("*.csv.gz"))
    if files:
        for budget in ("same-as:simple",) if quick else ("same-as:simple", "same-as:simple/3"):
            jobs.append(("all", ("simple",), budget, 0.40 if budget == "same-as:simple" else 0.56))
            jobs += [(path.name, ("simple",), budget, 0.65) for path in files if not quick]
        jobs += [("all", LISTED, f"every {days} d", 0.65) for days in (() if quick else EVERY)]
    jobs += [(process, LISTED, "same-as:simple", 1.0) for process in INDEPENDENT]
    rows = [*million(), requisites()]  # first, while nothing else runs
    with ProcessPoolExecutor() as pool:
        return [*pool.map(against, jobs), short_sets(list(pool.map(short_set, range(1, SHORT_SETS + 1)))), *rows]


def history_of(name: str) -> Trace:
    if name in INDEPENDENT:
        return traces.generate(name, pages=200, days=365, seed=1)
    files = sorted(TRACES.glob("*.csv.gz" if name == "all" else name))
    history = traces.join([traces.read(path) for path in files]).with_at_least(2)
    order = int(os.environ.get("BENCH_PREDICT_ORDER", "0"))
    if not order:
        return history
    places = list(range(len(history)))
    random.Random(order).shuffle(places)
    return Trace(
        tuple(history.sites[place] for place in places),
        tuple(history.pages[place] for place in places),
        tuple(history.changes[place] for place in places),
        history.hours,
    )


def against(job: tuple[str, tuple[str, ...], str, float]) -> Row:
    """`auto` and the best of the named policies at the same number of visits."""
    name, others, budget, goal = job
    history = history_of(name)
    every = re.fullmatch(r"every (\d+) d", budget)
    settings = Settings(budget=str(len(history) / int(every[1])) if every else budget)
    start = time.process_time()
    auto, *rest = compare(history, ["auto", *others], settings).outcomes
    best = min(rest, key=lambda o: o.lost)
    ratio = auto.lost / best.lost if best.lost else float(auto.lost > 0)
    what = "all traces" if name == "all" else f"{name.partition('.')[0]} alone" if "." in name else f"{name} pages"
    return Row(
        f"lost changes, auto / {best.policy}, {what}, visits {budget}",
        f"{ratio:.2f} ({auto.lost} / {best.lost} of {auto.changes}, {auto.visits} / {best.visits} visits; "
        f"{time.process_time() - start:.0f} s)",
        f"≤ {goal}",
        "reached" if ratio <= goal else "missed",
    )


def short_set(seed: int) -> tuple[int, int]:
    """Changes that `auto` and `simple` lose of few bursty pages, watched for half a year."""
    history = traces.generate("bursty", pages=60, days=200, seed=seed)
    auto, simple = compare(history, ["auto", "simple"], Settings(budget="same-as:simple")).outcomes
    return auto.lost, simple.lost


def short_sets(lost: list[tuple[int, int]]) -> Row:
    auto, simple = (sum(each) for each in zip(*lost, strict=True))
    single = sorted(a / s for a, s in lost)
    return Row(
        f"lost changes, auto / simple, {len(lost)} sets of 60 bursty pages in 200 days, visits same-as:simple",
        f"{auto / simple:.2f} ({auto} / {simple}; single sets {single[0]:.2f} to {single[-1]:.2f}, "
        f"{sum(ratio > 1 for ratio in single)} above 1)",
        "≤ 1.0",
        "reached" if auto <= simple else "missed",
    )


MILLION = """
import resource, time
import numpy as np
from hemeroteca.predict import Planner
n, part = 1_000_000, 20_000
rng = np.random.default_rng(0)
planner = Planner()
for at in range(0, n, part):
    ids = range(at, at + part)
    planner.add(ids, [f"s{i // 2000}" for i in ids], [f"/a{i // 500 % 4}/b{i // 50 % 10}/p{i}" for i in ids], 0.0)
for day in range(1, 6):
    keys = rng.choice(n, 4000, replace=False)
    planner.observe(keys, 24.0 * day, rng.random(4000) < 0.1)
known = rng.random(n) < 0.5  # half of the pages have companions
companions = planner.state.companions
companions.page[known] = rng.integers(0, n, (int(known.sum()), companions.page.shape[1]))
companions.bond[known] = 0.3
start = time.process_time()
planner.plan(150.0, 10_000)
plan = time.process_time() - start
start = time.process_time()
for _ in range(10_000):
    planner.next()
step = (time.process_time() - start) / 10_000
keys = rng.choice(n, 1000, replace=False)
start = time.process_time()
planner.observe(keys, 151.0, rng.random(1000) < 0.1)
learn = (time.process_time() - start) / 1000
print(plan, step, learn, planner.bytes_per_page, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def million() -> list[Row]:
    out = subprocess.run([sys.executable, "-c", MILLION], capture_output=True, text=True, check=True).stdout
    plan, step, learn, size, memory = (float(x) for x in out.split())
    return [
        Row("planning 1 million pages", f"{plan:.1f} s CPU", "≤ 5 s", "reached" if plan <= 5 else "missed"),
        Row("memory of that process", f"{memory:.0f} MB", "≤ 500 MB", "reached" if memory <= 500 else "missed"),
        Row("state per page", f"{size:.0f} bytes", "≤ 200", "reached" if size <= 200 else "missed"),
        Row("one decision between two plans", f"{step * 1e6:.1f} µs CPU"),
        Row("learning from one visit", f"{learn * 1e6:.0f} µs CPU"),
        *share(),
    ]


# A site of 200 pages with one stylesheet, watched for 20 days by a whole engine; the server counts what it is asked.
SITE = """
import random, threading
from bisect import bisect_right
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import django
django.setup()
from django.conf import settings
from django.core.management import call_command
call_command("migrate", verbosity=0)
from hemeroteca import config
from hemeroteca.accounts import SYSTEM
from hemeroteca.engine import loop
from hemeroteca.engine.rebuild import repair
from hemeroteca.watch import services
from hemeroteca.watch.fields import Order

PAGES, DAYS, STEP, START = 200, 20, 12.0, 1_767_225_600.0
LINK = "<link rel=stylesheet href=/style.css>"
rng = random.Random(1)
changes = [sorted(rng.uniform(0, DAYS * 24) for _ in range(rng.randint(0, 12))) for _ in range(PAGES)]
hours, settled, asked = 0.0, False, {}

class Site(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        kind, style, body = "text/html; charset=utf-8", self.path == "/style.css", b""
        if style:
            state, kind = int(hours >= 10 * 24), "text/css"
            body = b"body { color: %s }" % (b"red", b"blue")[state : state + 1][0]
        elif self.path[1:].isdecimal() and int(self.path[1:]) < PAGES:
            state = bisect_right(changes[int(self.path[1:])], hours)
            body = f"<title>{self.path}</title>{LINK}<p>news number {state} of {self.path}</p>".encode()
        elif self.path == "/":
            state, links = 0, "".join(f"<a href=/{n}>{n}</a>" for n in range(PAGES))
            body = f"<title>front</title>{LINK}{links}".encode()
        tag = f'"{state}"' if body else ""
        status = 404 if not body else 304 if self.headers.get("If-None-Match") == tag else 200
        if settled and body:
            key = "style" if style else "page", status
            asked[key] = asked.get(key, 0) + 1
        self.send_response(status)
        if tag:
            self.send_header("ETag", tag)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", "0" if status != 200 else str(len(body)))
        self.end_headers()
        if status == 200:
            self.wfile.write(body)

    def log_message(self, *args):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
threading.Thread(target=server.serve_forever, daemon=True).start()
settings.INSTANCE.create()
given = config.load(allow_private=True, delay=0, ingest_processes=1, commit_seconds=0.1, watch_saved_minutes=STEP * 60)
services.subscribe(SYSTEM, Order(url=f"http://127.0.0.1:{server.server_port}/", scope="host", min_hours=24))
loop.IDLE_PAUSE = 0.01
idle = 0

def tick(engine):
    global hours, idle, settled
    busy = engine.at_work or any(engine.queued(run) for run in engine.runs)
    idle = 0 if busy else idle + 1
    if idle < 2:
        return
    idle, settled = 0, True
    hours += STEP
    if hours > DAYS * 24:
        engine.stop("the days are over")

repair(given, settings.INSTANCE)
loop.Engine(given, settings.INSTANCE, tick=tick, watch_clock=lambda: START + hours * 3600).run()
count = lambda what, status: asked.get((what, status), 0)
print(count("page", 200) + count("page", 304), count("style", 304), count("style", 200))
"""


def requisites() -> Row:
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "DJANGO_SETTINGS_MODULE": "hemeroteca.django_settings", "HEMEROTECA_DATA": folder}
        done = subprocess.run([sys.executable, "-c", SITE], capture_output=True, text=True, check=True, env=env)
    visits, same, new = (int(x) for x in done.stdout.split())
    share = (same + new) / visits
    return Row(
        "extra requests for requisites: a watched site of 200 pages with one stylesheet, 20 days",
        f"{share:.1%} of {visits} visits ({same} answered with 304, {new} with a new style)",
        "≤ 5 %, mostly 304",
        "reached" if share <= 0.05 and same > new else "missed",
    )


# What the scheduler does with 100,000 pages: a plan now and then, lessons once a second, a reason for every visit.
SHARE = """
import time
import numpy as np
from hemeroteca.predict import Planner
from hemeroteca.watch.plan import plan_pause
n, rate = 100_000, 5
rng = np.random.default_rng(0)
planner = Planner()
ids = range(n)
planner.add(ids, [f"s{i // 2000}" for i in ids], [f"/a{i // 500 % 4}/b{i // 50 % 10}/p{i}" for i in ids], 0.0)
for day in range(1, 30):
    keys = rng.choice(n, 4000, replace=False)
    planner.observe(keys, 24.0 * day, rng.random(4000) < 0.1)
start = time.process_time()
planner.plan(750.0, 1000)
plan = time.process_time() - start
start = time.process_time()
for second in range(60):
    now = 750 + second / 3600
    keys = [planner.next() for _ in range(rate)]
    for key in keys:
        planner.chance([key], now)
        planner.explain(key, now)
    planner.observe(keys, now, rng.random(rate) < 0.2)
print(plan / plan_pause(plan), (time.process_time() - start) / 60)
"""


def share() -> list[Row]:
    out = subprocess.run([sys.executable, "-c", SHARE], capture_output=True, text=True, check=True).stdout
    planning, learning = (float(x) for x in out.split())
    cores = os.cpu_count() or 1
    whole = (planning + learning) / cores
    return [
        Row(
            "share of the machine used by prediction: 100,000 pages watched, 5 visits a second",
            f"{whole:.2%} of {cores} cores (planning {planning:.2%}, learning and reasons {learning:.2%} of a core)",
            "< 1 %",
            "reached" if whole < 0.01 else "missed",
        )
    ]
