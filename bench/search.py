"""Search: latency, memory, index time and size against other engines; suggestions; link rank and how it grows.

HEMEROTECA_BENCH_DOCUMENTS sets the size of the large index (default one million); the peers are compared on a smaller
corpus of the same kind, because one of them would need hours for the large one. Quality is measured on the collections
of `bench.collections` against the same engine with plain BM25.
"""

import json
import os
import resource
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from bench import machine
from bench.corpus import documents, queries
from bench.report import Row

DOCUMENTS = int(os.environ.get("HEMEROTECA_BENCH_DOCUMENTS", "1000000"))
PEER_DOCUMENTS = min(DOCUMENTS, int(os.environ.get("HEMEROTECA_BENCH_PEER_DOCUMENTS", "20000")))
QUERIES = 500
SCRIPT = Path(__file__).parent / "peers" / "search_engine.py"
ROOT = Path(__file__).parent.parent


def main() -> list[Row]:
    return [*large(), *hostile(), *suggestions(), *peers(), *quality(), *links()]


def large() -> list[Row]:
    made = run(sys.executable, "hemeroteca", DOCUMENTS)
    ours = run(sys.executable, "hemeroteca", DOCUMENTS, existing=True) if made else None
    if made is None or ours is None:
        return [Row(f"search: {DOCUMENTS:,} documents", "could not be run", "", "not measured")]
    return [
        Row(
            f"search: a query with snippets, {DOCUMENTS:,} documents",
            f"p50 {ours['p50'] * 1e3:.1f} ms, p95 {ours['p95'] * 1e3:.1f} ms",
            "≤ 5 / ≤ 50 ms",
            _verdict(ours["p50"] <= 5e-3 and ours["p95"] <= 50e-3),
        ),
        Row(
            f"search: largest memory of a process that searches, {DOCUMENTS:,} documents, during {QUERIES} queries",
            f"{ours['peak'] / 1e6:.0f} MB resident (VmHWM: its own memory and the mapped index; at the end "
            f"{ours['anonymous'] / 1e6:.0f} + {ours['mapped'] / 1e6:.0f} MB)",
            "≤ 300 MB",
            _verdict(ours["peak"] <= 300e6),
        ),
        Row(
            f"search: indexing, {DOCUMENTS:,} documents",
            f"{made['index_cpu'] / DOCUMENTS * 1e3:.3f} ms of CPU, {made['bytes'] / DOCUMENTS:,.0f} bytes a document",
        ),
    ]


def hostile() -> list[Row]:
    """Asked of the large index."""
    from bench import hostile

    folder = machine.WORK / f"search-hemeroteca-{DOCUMENTS}"
    asked = hostile.ask(folder) if folder.exists() else []
    if not asked:
        return []
    worst = max(asked, key=lambda answered: answered.seconds)
    return [
        Row(
            f"search: the slowest of {len(asked)} hostile queries, {DOCUMENTS:,} documents",
            f"{worst.seconds:.2f} s ({worst.name})",
            "≤ 1 s",
            _verdict(worst.seconds <= 1),
        )
    ]


def peers() -> list[Row]:
    ours = run(sys.executable, "hemeroteca", PEER_DOCUMENTS)
    if ours is None:
        return []
    peer_python = machine.peer_python("whoosh-reloaded")
    system_python = "/usr/bin/python3" if machine.apt("python3-xapian") else None
    pythons = {"sqlite": sys.executable, "whoosh": peer_python and str(peer_python), "xapian": system_python}
    names = {"sqlite": "SQLite FTS5", "whoosh": "Whoosh", "xapian": "Xapian"}
    rows = []
    for engine, python in pythons.items():
        theirs = run(python, engine, PEER_DOCUMENTS) if python else None
        if theirs is None:
            rows.append(Row(f"search: against {names[engine]}", "could not be installed here", "", "not measured"))
            continue
        seconds = ours["index_seconds"] / theirs["index_seconds"]
        size = ours["bytes"] / theirs["bytes"]
        rows.append(
            Row(
                f"search: against {names[engine]}, {PEER_DOCUMENTS:,} documents",
                f"p50 {ours['p50'] * 1e3:.1f} against {theirs['p50'] * 1e3:.1f} ms, p95 {ours['p95'] * 1e3:.1f} "
                f"against {theirs['p95'] * 1e3:.1f} ms; index time {seconds:.2f} ×, size {size:.2f} × theirs",
                "ahead; ≤ 1.5 × elsewhere",
                _verdict(all(ours[p] <= theirs[p] for p in ("p50", "p95")) and seconds <= 1.5 and size <= 1.5),
            )
        )
    return rows


def suggestions() -> list[Row]:
    """Learned from the large index, as a refresh does."""
    from hemeroteca.search import maintenance
    from hemeroteca.search.index import open_index
    from hemeroteca.search.suggest.suggester import Suggester

    folder = machine.WORK / f"search-hemeroteca-{DOCUMENTS}"
    maintenance.learn(folder, open_index(None, folder))
    suggester = Suggester.load(folder / "suggest")
    assert suggester is not None
    completing, correcting = [], []
    for text in queries(QUERIES, DOCUMENTS):
        typed = text[: max(2, len(text) * 2 // 3)]
        misspelt = " ".join(word[:2] + word[3:] if len(word) > 4 else word for word in text.split())
        for work, times, argument in (
            (suggester.complete, completing, typed),
            (suggester.correct, correcting, misspelt),
        ):
            start = time.perf_counter()
            work(argument)
            times.append(time.perf_counter() - start)
    p95 = [sorted(times)[len(times) * 95 // 100] * 1e3 for times in (completing, correcting)]
    return [
        Row(
            f"search: completion and did-you-mean, {DOCUMENTS:,} documents",
            f"p95 {p95[0]:.1f} ms and {p95[1]:.1f} ms",
            "≤ 10 ms",
            _verdict(max(p95) <= 10),
        )
    ]


def quality() -> list[Row]:
    from bench import collections, trec

    folder = machine.WORK / "collections"
    figures: dict[str, list[float]] = {}
    for name, make in collections.COLLECTIONS.items():
        try:
            collections.write(folder / name, collections.sampled(make()))
        except (OSError, subprocess.CalledProcessError):
            continue  # its source is not on this machine
        files = [folder / name / file for file in ("documents.jsonl", "queries.tsv", "qrels.tsv")]
        print(name)
        figures[name] = [found.ndcg10 for found in trec.measure(*files).values()]
    rows = []
    for number, reference in enumerate(trec.ENGINES):
        if reference == "hemeroteca" or not figures:
            continue
        ratios = {name: values[-1] / values[number] for name, values in figures.items()}
        rows.append(
            Row(
                f"search: nDCG@10 against {reference} of the same engine, {len(figures)} collections",
                f"{sum(ratios.values()) / len(ratios):.3f} × on average; "
                + ", ".join(f"{name} {ratio:.3f}" for name, ratio in ratios.items()),
                "≥ 1.0 × everywhere, better on average",
                _verdict(min(ratios.values()) >= 1.0),
            )
        )
    return rows


RANK = textwrap.dedent(
    """
    import json, re, sys, time
    from pathlib import Path
    import numpy as np
    from hemeroteca.search.graph import pagerank
    edges = int(sys.argv[1])
    rng, nodes = np.random.default_rng(1), edges // 10
    keys = rng.integers(-2**62, 2**62, nodes)
    source, target = keys[rng.integers(0, nodes, edges)], keys[(nodes * rng.random(edges) ** 3).astype(np.int64)]
    start = time.perf_counter()
    pagerank(source, target, keys[:10].tolist())
    seconds = time.perf_counter() - start
    peak = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024  # of this process alone
    print(json.dumps([seconds, peak]))
    """
)


def links() -> list[Row]:
    curve = []
    for edges in (1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000):
        done = subprocess.run(
            [sys.executable, "-c", RANK, str(edges)], cwd=ROOT, capture_output=True, text=True, check=True
        )
        seconds, memory = json.loads(done.stdout)
        curve.append((edges, seconds, memory))
    _, seconds, memory = curve[-2]
    return [
        Row(
            "search: PageRank (seed-biased) of 10 million links",
            f"{seconds:.1f} s, {memory / 1e6:.0f} MB; growth: "
            + ", ".join(f"{edges / 1e6:g} M {time_:.1f} s {size / 1e6:.0f} MB" for edges, time_, size in curve),
            "≤ 20 s, ≤ 1 GB",
            _verdict(seconds <= 20 and memory <= 1e9),
        )
    ]


def run(python: str, engine: str, count: int, existing: bool = False) -> dict[str, float] | None:
    corpus, asked = machine.WORK / f"corpus-{count}.jsonl", machine.WORK / f"queries-{count}.txt"
    if not asked.exists():
        machine.WORK.mkdir(parents=True, exist_ok=True)
        with corpus.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(text) + "\n" for text in documents(count))
        asked.write_text("\n".join(queries(QUERIES, count)), "utf-8")
    name = f"search-{engine}-{count}"
    folder = machine.WORK / name if existing else machine.fresh(name)
    documents_ = "-" if existing else str(corpus)
    done = subprocess.run(
        [python, str(SCRIPT), engine, documents_, str(asked), str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"{engine}: {done.stderr.strip().splitlines()[-1] if done.stderr else done.returncode}", file=sys.stderr)
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def _verdict(reached: bool) -> str:
    return "reached" if reached else "not reached"


if __name__ == "__main__":
    for row in main():
        print(f"{row.measure}: {row.figure} {row.goal and f'({row.goal}: {row.verdict})'}")
    print(f"largest memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
