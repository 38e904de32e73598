"""Prediction: changes lost against the other policies at equal visits, and the cost of planning a million pages.

Real traces are read from ../shared/data/traces; without them only generated pages and the cost are measured.
`BENCH_PREDICT_QUICK=1` compares at the 2015 rule's own budget only.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from bench.report import Row
from hemeroteca.predict import traces
from hemeroteca.predict.compare import Settings, compare
from hemeroteca.predict.traces import Trace

TRACES = Path(__file__).parents[2] / "shared" / "data" / "traces"
LISTED = ("fixed", "simple", "simple-notify", "simple-history", "day-type", "exponential", "nutch", "lambda-crawl")
EVERY = (12, 17, 23, 33)  # days per visit of a page
INDEPENDENT = ("poisson", "bernoulli", "bursty", "silent")


def main() -> list[Row]:
    rows = []
    files = sorted(TRACES.glob("*.csv.gz"))
    quick = bool(os.environ.get("BENCH_PREDICT_QUICK"))
    if files:
        history = traces.join([traces.read(path) for path in files]).with_at_least(2)
        for budget in ("same-as:simple",) if quick else ("same-as:simple", "same-as:simple/3"):
            rows.append(against(history, ("simple",), budget, "real traces", 0.65))
        for every in () if quick else EVERY:
            rows.append(against(history, LISTED, str(len(history) / every), "real traces", 0.65))
    for process in INDEPENDENT:
        pages = traces.generate(process, pages=200, days=365, seed=1)
        rows.append(against(pages, LISTED, "same-as:simple", f"independent {process} pages", 1.0))
    return rows + million()


def against(history: Trace, names: tuple[str, ...], budget: str, what: str, goal: float) -> Row:
    start = time.process_time()
    auto, *others = compare(history, ["auto", *names], Settings(budget=budget)).outcomes
    best = min(others, key=lambda o: o.lost)
    ratio = auto.lost / best.lost if best.lost else float(auto.lost > 0)
    visits = budget if ":" in budget else f"every {len(history) / float(budget):.0f} d"
    return Row(
        f"lost changes, auto / {best.policy}, {what}, visits {visits}",
        f"{ratio:.2f} ({auto.lost} / {best.lost} of {auto.changes}; {time.process_time() - start:.0f} s)",
        f"≤ {goal}",
        "reached" if ratio <= goal else "missed",
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
planner.companions.page[known] = rng.integers(0, n, (int(known.sum()), planner.companions.page.shape[1]))
planner.companions.bond[known] = 0.3
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
        Row(
            "share of a core: 10 visits a second, a plan of 10,000 pages a minute",
            f"{100 * (10 * learn + plan / 100 / 60):.2f} %",
            "< 1 %",
            "reached" if 10 * learn + plan / 100 / 60 < 0.01 else "missed",
        ),
    ]
