"""Histories of wikis: extraction against mwclient on a real MediaWiki, storage, questions over 10 million revisions.

The last row is a simulation: edits of 1,000 articles with rates and bursts as encyclopaedias have them, kept fresh by
the founding rule and by what the wiki announces, at the same mean delay.
"""

import gzip
import hashlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bench.report import Row
from hemeroteca.wiki import answers

REVISIONS = 600
# (title, revisions, words to begin with: some kB, and some 40 kB as articles have that people care about)
ARTICLES = (("Short", REVISIONS, 400), ("Long", REVISIONS, 4_000), ("Lasting", 3_000, 400))
LIST = [f"Short {number}" for number in range(1, 11)]  # ten like the first, each with a text of its own
MILLIONS = 10
BUDGET = 200  # requests a minute, both sides


def main() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="hemeroteca-bench-") as name:
        folder = Path(name)
        rows = [*_extraction(folder), _storage(folder), *_questions(folder), _freshness()]
    return [row for row in rows if row]


def _verdict(reached: bool) -> str:
    return "reached" if reached else "**missed**"


def _extraction(folder: Path) -> list[Row]:
    from tests.wiki import mediawiki

    if not mediawiki.is_installed():
        return [Row("wiki: extraction", mediawiki.MISSING)]
    with mediawiki.installed(folder / "mediawiki") as wiki:
        for title, count, words in ARTICLES:
            fill(wiki, title, history(count, words))
        for number, title in enumerate(LIST):
            fill(wiki, title, history(REVISIONS, 400, seed=100 + number))
        ours, theirs = (_program(folder, program, wiki.api_url, "Short", "") for program in (OURS, THEIRS))
        with answering(wiki.url, packed=False) as plain, answering(plain, packed=True) as packed:
            shapes = [
                (f"one article of {count:,} revisions with text, from {words} words on", [title])
                for title, count, words in ARTICLES
            ]
            shapes.append(
                (f"{len(LIST)} articles of {REVISIONS} revisions with text, from 400 words on, in one job", LIST)
            )
            costs = [
                (f"{what}, {how} answers", *_costs(folder, f"{url}/api.php", titles))
                for what, titles in shapes
                for how, url in (("plain", plain), ("gzip", packed))
            ]
    rates = [made["revisions"] / made["requests"] * BUDGET / 60 for made in (ours, theirs)]
    faster = rates[0] / rates[1]
    clock = f"unthrottled {ours['seconds']:.1f} s against {theirs['seconds']:.1f} s"
    return [
        Row(
            f"wiki: metadata of {REVISIONS} revisions from MediaWiki at {BUDGET} requests a minute, against mwclient",
            f"{rates[0]:.0f} against {rates[1]:.0f} revisions/s: {faster:.1f} × ({clock})",
            "≥ 2 ×",
            _verdict(faster >= 2),
        ),
        # To extract is to get and to keep: the figure is against an mwclient that keeps what it got, as the founding
        # work did. What reading alone costs it stands beside, without a goal: it is half of the job.
        # Both sides are processes that have loaded their libraries and done nothing yet; `startup` measures start-up.
        *(
            row
            for what, kept, read, stored in costs
            for row in (
                Row(
                    f"wiki: {what}: processor time of a new process, its libraries loaded, "
                    "against mwclient that keeps a document of each revision",
                    f"{kept / stored:.2f} × ({kept:.2f} s against {stored:.2f} s)",
                    "≤ 0.5 ×",
                    _verdict(kept / stored <= 0.5),
                ),
                Row(
                    f"wiki: {what}: the same, ours with storing, against mwclient that throws away what it read",
                    f"{kept / read:.2f} × ({kept:.2f} s against {read:.2f} s)",
                ),
            )
        ),
    ]


@contextmanager
def answering(upstream: str, packed: bool) -> Iterator[str]:
    """A server that hands on MediaWiki's own answers and keeps them, so that the next turn need not wait for
    PHP; `packed` with gzip, as the servers before wikis do it. It closes connections, as PHP's own server does."""
    kept: dict[tuple[str, bytes], bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.path, self.rfile.read(int(self.headers.get("content-length") or 0))
            if asked not in kept:
                headers = {"Content-Type": self.headers.get("content-type", "")} if asked[1] else {}
                request = urllib.request.Request(upstream + self.path, asked[1] or None, headers)
                answer = urllib.request.urlopen(request).read().replace(upstream.encode(), own.encode())
                kept[asked] = gzip.compress(answer, 6) if packed else answer
            self.send_response(200)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            if packed:
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(kept[asked])))
            self.end_headers()
            self.wfile.write(kept[asked])

        do_POST = do_GET  # noqa: N815 - the name that the base class looks for

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        own = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield own
        server.shutdown()


def fill(wiki: Any, title: str, texts: list[str]) -> None:
    """An article with these texts. MediaWiki imports the first; importing thousands takes it many minutes, so the rows
    of the others go to its tables, as it would write them."""
    from tests.wiki import mediawiki

    edits = [{"user": f"10.0.0.{n % 9}", "text": text, "at": n} for n, text in enumerate(texts)]
    wiki.load(mediawiki.page(title, edits[:9]))
    with sqlite3.connect(wiki.folder / "db" / "wiki.sqlite") as store:
        asked = "SELECT page_id, page_latest FROM page WHERE page_title = ?"
        page, last = store.execute(asked, [title.replace(" ", "_")]).fetchone()
        actors = dict(store.execute("SELECT actor_name, actor_id FROM actor"))
        for number, edit in enumerate(edits[9:], last + 1):
            data = edit["text"].encode()
            sha1 = answers.base36(hashlib.sha1(data, usedforsecurity=False).hexdigest())
            at = (mediawiki.START + timedelta(minutes=edit["at"])).strftime("%Y%m%d%H%M%S")
            store.execute("INSERT INTO text VALUES (?, ?, 'utf-8')", [number, edit["text"]])
            store.execute("INSERT INTO content VALUES (?, ?, ?, 1, ?)", [number, len(data), sha1, f"tt:{number}"])
            store.execute("INSERT INTO slots VALUES (?, 1, ?, ?)", [number, number, number])
            store.execute("INSERT INTO revision_comment_temp VALUES (?, 1)", [number])
            row = [number, page, actors[edit["user"]], at, len(data), number - 1, sha1]
            store.execute("INSERT INTO revision VALUES (?, ?, 0, ?, ?, 0, 0, ?, ?, ?)", row)
        store.execute("UPDATE page SET page_latest = ?, page_len = ? WHERE page_id = ?", [number, len(data), page])


def _costs(folder: Path, api: str, titles: list[str]) -> list[float]:
    """Seconds of a processor: ours, mwclient's that reads, mwclient's that keeps. In turns, the least of each."""
    programs = ((OURS, "text"), (THEIRS, "text"), (THEIRS, "text stored"))
    named = "|".join(titles)
    turns = [[_program(folder, program, api, named, what, 1)["cpu"] for program, what in programs] for _ in range(5)]
    return [min(found) for found in zip(*turns, strict=True)]


# Titles come joined by "|". What each side would load while it works is loaded before the clock starts.
OURS = """
import sys, time, json, django
django.setup()
from hemeroteca.accounts import SYSTEM
from hemeroteca.instance import schema
from hemeroteca.jobs import services
from hemeroteca.jobs.runner import Runner
from hemeroteca.wiki.job_kinds import Extract
import pyarrow.parquet, pyarrow.compute, hemeroteca.lake.parquet, hemeroteca.lake.query_engine
import hemeroteca.urls.canon, hemeroteca.urls.domains, hemeroteca.fetch.fetcher
schema.prepare()
cpu, clock = time.process_time(), time.monotonic()
order = Extract(wiki=sys.argv[1], titles=sys.argv[2].split("|"), text=bool(sys.argv[3]))
job = Runner().run(services.submit(SYSTEM, "wiki.extract", order, here=True))
assert job.state == "done", job.message
facts = {"cpu": time.process_time() - cpu, "seconds": time.monotonic() - clock}
print(json.dumps({**facts, "revisions": job.result["revisions"], "requests": job.result["requests"]}))
"""
THEIRS = """
import sys, time, json, os, sqlite3, mwclient
from urllib.parse import urlsplit
count = [0]
class Site(mwclient.Site):
    def raw_api(self, *args, **kwargs):
        count[0] += 1
        return super().raw_api(*args, **kwargs)
parts = urlsplit(sys.argv[1])
cpu, clock = time.process_time(), time.monotonic()
site = Site(parts.netloc, path="/", scheme="http")
prop = "ids|timestamp|flags|comment|user|userid|size|sha1|tags|contentmodel" + ("|content" if sys.argv[3] else "")
articles = [site.pages[title] for title in sys.argv[2].split("|")]
asked = [article.revisions(prop=prop, dir="newer", slots="main") for article in articles]
found = [dict(revision) for revisions in asked for revision in revisions]
if "stored" in sys.argv[3]:  # as the founding work: a document for each revision
    os.makedirs(os.environ["HEMEROTECA_DATA"], exist_ok=True)
    store = sqlite3.connect(os.environ["HEMEROTECA_DATA"] + "/revisions.sqlite")
    store.execute("CREATE TABLE revision (id INTEGER PRIMARY KEY, document TEXT)")
    documents = [(one["revid"], json.dumps(one, default=str)) for one in found]
    store.executemany("INSERT INTO revision VALUES (?, ?)", documents)
    store.commit()
facts = {"cpu": time.process_time() - cpu, "seconds": time.monotonic() - clock}
print(json.dumps({**facts, "revisions": len(found), "requests": count[0]}))
"""


def _program(folder: Path, program: str, api: str, titles: str, text: str, times: int = 3) -> dict[str, float]:
    environment = {
        **os.environ,
        "HEMEROTECA_DATABASE": "",
        "HEMEROTECA_ALLOW_PRIVATE": "1",
        "HEMEROTECA_WIKI_REQUESTS_PER_MINUTE": "1000000",
        "HEMEROTECA_CONTACT": "bench@example.org",
        "DJANGO_SETTINGS_MODULE": "hemeroteca.django_settings",
    }
    best: dict[str, float] = {}
    for _ in range(times):
        environment["HEMEROTECA_DATA"] = tempfile.mkdtemp(dir=folder)
        done = subprocess.run(
            [sys.executable, "-c", program, api, titles, text],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        facts = json.loads(done.stdout)
        if not best or facts["cpu"] < best["cpu"]:
            best = facts
    return best


def history(count: int, words: int, seed: int = 16) -> list[str]:
    """Texts of an article that grows: an edit changes a sentence, adds one, or goes back."""
    chance = random.Random(seed)
    vocabulary = ["".join(chance.choices("abcdefghilmnoprstu", k=chance.randint(2, 11))) for _ in range(3000)]
    sentences = [" ".join(chance.choices(vocabulary, k=14)) for _ in range(words // 14)]
    texts: list[str] = []
    for _ in range(count):
        kind = chance.random()
        if kind < 0.1 and len(texts) > 2:
            texts.append(texts[-2])
            continue
        if kind < 0.5:
            sentences.insert(chance.randrange(len(sentences)), " ".join(chance.choices(vocabulary, k=14)))
        else:
            sentences[chance.randrange(len(sentences))] = " ".join(chance.choices(vocabulary, k=14))
        texts.append(". ".join(sentences))
    return texts


def _storage(folder: Path) -> Row:
    """One JSON document per revision, as the founding work stored them, against our files."""
    from hemeroteca.lake import parquet
    from hemeroteca.lake.revisions import Revision, Text

    documents, rows, texts = 0, [], {}
    for number, text in enumerate(history(2000, 2000)):
        sha1 = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
        row = Revision(
            wiki="es.wikipedia.org", locale="es", ns=0, pageid=7, title="Caracas", revid=number, parentid=number - 1,
            timestamp=number * 3_600_000, user=f"user{number % 40}", userid=number % 40, size=len(text), sha1=sha1,
            text_sha1=sha1, contentmodel="wikitext", comment=f"cambio {number}", extraction_date=0,
        )  # fmt: skip
        rows.append(row)
        texts.setdefault(sha1, Text(wiki="es.wikipedia.org", pageid=7, sha1=sha1, text=text))
        facts = {name: getattr(row, name) for name in row.__struct_fields__ if name != "fingerprint"} | {"text": text}
        documents += len(json.dumps(facts).encode())
    size = parquet.write("revisions", rows, folder / "r") + parquet.write("texts", list(texts.values()), folder / "t")
    share = size / documents
    return Row(
        "wiki: bytes of a revision with its text, against one document per revision",
        f"{size / 2000:,.0f} against {documents / 2000:,.0f}: {share:.3f} ×",
        "≤ 0.1 ×",
        _verdict(share <= 0.1),
    )


def _questions(folder: Path) -> list[Row]:
    """Questions over 10 million revisions, with the expressions that API and commands use."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hemeroteca.django_settings")
    os.environ["HEMEROTECA_DATA"] = str(folder / "questions")
    import django

    django.setup()
    from hemeroteca.lake.files import LakeFiles
    from hemeroteca.lake.manifest import Manifest
    from hemeroteca.lake.query_engine import Lake
    from hemeroteca.lake.revisions import BUCKETS, REVISIONS, schema
    from hemeroteca.wiki import filters, metrics

    chance = np.random.default_rng(16)
    count = MILLIONS * 1_000_000 // BUCKETS
    shape = schema(REVISIONS)
    names = np.array([f"user{n}" for n in range(200_000)])
    files = []
    (folder / "lake").mkdir()
    for bucket in range(BUCKETS):
        pages = np.sort(chance.integers(0, 500, count)) * BUCKETS + bucket
        people = (chance.pareto(0.8, count) * 20).astype(np.int64) % 200_000
        columns = {
            "wiki": pa.array(["es.wikipedia.org"]).take(pa.array(np.zeros(count, np.int32))),
            "locale": pa.array(["es"]).take(pa.array(np.zeros(count, np.int32))),
            "pageid": pa.array(pages),
            "title": pa.array(np.char.add("Articulo ", pages.astype(str))),
            "revid": pa.array(np.arange(count, dtype=np.int64) + bucket * count),
            "timestamp": pa.array(1_262_304_000_000 + chance.integers(0, 500_000_000, count) * 1000).cast(
                pa.timestamp("ms")
            ),
            "user": pa.array(names[people]),
            "userid": pa.array(people),
            "size": pa.array(chance.integers(100, 90_000, count)),
            "minor": pa.array(chance.random(count) < 0.3),
            "gone": pa.array(np.zeros(count, bool)),
        }
        filler = {f.name: pa.nulls(count, f.type) for f in shape if f.name not in columns}
        table = pa.table({**columns, **filler}).select(shape.names)
        pq.write_table(table, folder / "lake" / f"{bucket}.parquet", compression="zstd", row_group_size=131_072)
        files.append(f"{bucket}.parquet")
    lake = Lake(LakeFiles(folder / "lake"), Manifest(1, {REVISIONS: tuple(files)}, {}))
    period = filters.read({"datestart": "2015-01-01", "dateend": "2019-12-31"})
    table = lake.revisions
    users = table.group_by("user").aggregate(count=table.count())
    asked = {
        "count": filters.apply(table, filters.read({"user": "user7"})).count(),
        "avg": filters.apply(table, period).count(),
        "mode": metrics.most(users),
        "top editors": metrics.top_editors(table),
    }
    rows = []
    for name, expression in asked.items():
        best = min(_seconds(lambda found=expression: lake.connection.to_pyarrow(found)) for _ in range(3))
        rows.append(
            Row(f"wiki: {name} over {MILLIONS} million revisions", f"{best:.2f} s", "≤ 1 s", _verdict(best <= 1))
        )
    lake.close()
    return rows


def _seconds(work) -> float:
    start = time.monotonic()
    work()
    return time.monotonic() - start


def edits(articles: int, days: int, seed: int = 16) -> list[list[float]]:
    """Times (days) of each article's edits: lognormal rates, half of the edits in bursts of some hours."""
    chance = random.Random(seed)
    found = []
    for _ in range(articles):
        rate = min(chance.lognormvariate(-3.0, 1.5), 8.0)  # a day; the median article changes every 20 days
        at, times = 0.0, []
        while (at := at + chance.expovariate(rate / 2)) < days:
            times += [
                at + chance.expovariate(12.0) * place for place in range(1 + min(int(chance.expovariate(1.0)), 9))
            ]
        found.append(sorted(time for time in times if time < days))
    return found


def _freshness(articles: int = 1000, days: int = 200, warm: int = 120) -> Row:
    """Requests and mean delay of the founding rule; then signals looked at as rarely as gives the same delay."""
    from hemeroteca.wiki.schedule import DAY_MS, exponential_due

    histories = edits(articles, days)
    requests = late = caught = 0
    for times in histories:
        known = [time for time in times if time < warm]
        for day in range(warm, days):
            if known and not exponential_due([round(time * DAY_MS) for time in known], day * DAY_MS):
                continue
            requests += 1  # the founding work asks for the revisions of an article: one request
            new = [time for time in times if warm <= time < day and time > (known[-1] if known else -1)]
            late += sum(day - time for time in new)
            caught += len(new)
            known += new
    delay = late / max(caught, 1)
    every = min(delay * 2, 1.0)  # at least daily; a change waits half of it on average
    wiki_edits = 40_000  # a day on the whole wiki (Spanish Wikipedia): 500 in a request of recent changes
    looks = int((days - warm) / every)
    signalled = looks * max(1, round(wiki_edits * every / 500))
    for times in histories:
        signalled += len({int((time - warm) / every) for time in times if time >= warm})  # one request each
    signalled += round(articles * (days - warm) / 7 / 50)  # a look at all, 50 in a request, in case one was missed
    share = signalled / requests
    return Row(
        f"wiki: requests for {articles:,} articles in {days - warm} days, announced changes against the founding rule "
        "(simulated)",
        f"{signalled:,} against {requests:,}: {share:.2f} ×; mean delay {every * 12:.1f} against {delay * 24:.1f} h",
        "≤ 0.3 ×",
        _verdict(share <= 0.3),
    )
