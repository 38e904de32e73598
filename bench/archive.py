"""The archive: WARC written and indexed against warcio and cdxj-indexer, CDX queries against pywb's index, storage.

The captures of the CDX measurement are made up (five of each of 200 pages of a host); HEMEROTECA_BENCH_CAPTURES changes
their number.
"""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

from bench import machine
from bench.report import Row

CAPTURES = int(os.environ.get("HEMEROTECA_BENCH_CAPTURES", "5000000"))

# what both sides of a comparison share: pages, timing, queries
COMMON = """
import io, json, os, random, sys, time
from pathlib import Path

def pages(count=100):
    words = Path(sys.argv[1]).read_text("utf-8").split()
    chance = random.Random(7)
    for _ in range(count):
        rows = "".join(
            f'<li class="item row-{n}"><a href="/section/{n}/page.html" title="{chance.choice(words)}">'
            f"{' '.join(chance.choices(words, k=12))}</a></li>\\n" for n in range(180))
        yield f"<!doctype html><html><head><title>x</title></head><body><ul>{rows}</ul></body></html>".encode()[:30000]

def timed(questions, ask):
    took = []
    for question in questions:
        start = time.perf_counter()
        ask(question)
        took.append((time.perf_counter() - start) * 1000)
    took.sort()
    return {"median": took[len(took) // 2], "p95": took[len(took) * 95 // 100]}

def addresses(captures, count=500):
    chance = random.Random(5)
    for _ in range(count):
        host = chance.randrange(captures // 1000)
        yield f"http://host{host:06d}.example/path/to/page{chance.randrange(200):03d}"
"""

WRITE = """
import django
django.setup()
from hemeroteca import warc
from hemeroteca.warc import scan
from hemeroteca.archive.verify import new_capture
from hemeroteca.warc.writer import WarcWriter
bodies, count = list(pages()), 2000
start = time.process_time()
writer = WarcWriter(Path("ours"))
for number in range(count):
    body = bodies[number % len(bodies)]
    head = b"HTTP/1.1 200 OK\\r\\nContent-Type: text/html\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body)
    request = b"GET / HTTP/1.1\\r\\nHost: example.org\\r\\n\\r\\n"
    records = warc.records(warc.Capture(
        url=f"http://example.org/{number}", captured_ms=1700000000000 + number, ip="93.184.216.34",
        protocol="http/1.1", request_head=request, response_head=head, body=body))
    writer.append(records.data)
writer.sync()
(closed,) = writer.close()
ours = 2 * count / (time.process_time() - start)

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter
start = time.process_time()
with open("warcio.warc.gz", "wb") as file:
    writer = WARCWriter(file, gzip=True)
    for number in range(count):
        body, url = bodies[number % len(bodies)], f"http://example.org/{number}"
        fields = [("Content-Type", "text/html"), ("Content-Length", str(len(body)))]
        head = StatusAndHeaders("200 OK", fields, protocol="HTTP/1.1")
        sent = StatusAndHeaders("GET / HTTP/1.1", [("Host", "example.org")], is_http_request=True)
        response = writer.create_warc_record(url, "response", payload=io.BytesIO(body), http_headers=head)
        writer.write_request_response_pair(writer.create_warc_record(url, "request", http_headers=sent), response)
theirs = 2 * count / (time.process_time() - start)

path = Path("ours") / closed.name
best = 0
for _ in range(3):
    start, records = time.process_time(), 0
    for found in scan.scan(path, payloads=False):
        records += 1
        new_capture(found.record, path.name, found.offset, found.length)
    best = max(best, records / (time.process_time() - start))
print(json.dumps({"ours": ours, "warcio": theirs, "index": best, "file": str(path.absolute()), "records": records}))
"""

PEER_INDEX = """
from cdxj_indexer.main import CDXJIndexer
best = 0
for _ in range(3):
    start = time.process_time()
    CDXJIndexer(output=io.StringIO(), inputs=[sys.argv[2]], sort=False).process_all()
    best = max(best, int(sys.argv[3]) / (time.process_time() - start))
print(json.dumps({"index": best}))
"""

CDX = """
import django
django.setup()
from django.core.management import call_command
from django.db import connection
call_command("migrate", verbosity=0)
count = int(sys.argv[2])
with connection.cursor() as cursor:
    cursor.execute("INSERT INTO warc_file(id, name, size, closed, digest, created_ms) VALUES (1, 'a', 1, 1, '', 0)")
    cursor.execute(f'''
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {count - 1})
        INSERT INTO capture (record_id, url, urlkey, captured_ms, status, mime, digest, kind, version, truncated,
            body_size, warc_id, "offset", length)
        SELECT lower(hex(randomblob(16))),
            printf('http://host%06d.example/path/to/page%03d', i / 1000, i / 5 % 200),
            printf('example,host%06d)/path/to/page%03d', i / 1000, i / 5 % 200),
            1500000000000 + (i % 5) * 2592000000 + i, 200, 'text/html', 'sha256:' || lower(hex(randomblob(32))),
            CASE WHEN i % 5 = 0 THEN 'response' ELSE 'revisit' END, 1, '', 30000, 1, i * 6000, 6000 FROM n''')
    cursor.execute('''
        INSERT INTO capture_tally (day, status, mime, kind, version, captures, body_bytes, record_bytes, first_ms,
            last_ms) SELECT captured_ms / 86400000, status, mime, kind, version, count(*), sum(body_size), sum(length),
            min(captured_ms), max(captured_ms) FROM capture GROUP BY 1, 2, 3, 4, 5''')
from hemeroteca.archive import cdx
from hemeroteca.archive.stats import stats
took = []
for _ in range(2):
    start = time.perf_counter()
    assert stats().captures == count
    took.append(time.perf_counter() - start)
def ask(**params):
    return len(list(cdx.Answer(cdx.Query.read({name: [value] for name, value in params.items()}))))
print(json.dumps({
    "stats": took,
    "exact": timed(addresses(count), lambda url: ask(url=url)),
    "prefix": timed(addresses(count), lambda url: ask(url=url[:-2] + "*", limit="100")),
}))
"""

PEER_CDX = """
from pywb.warcserver.index.aggregator import SimpleAggregator
from pywb.warcserver.index.indexsource import FileIndexSource
count = int(sys.argv[2])
from datetime import datetime, timezone
if not os.path.exists("index.cdxj"):
    with open("index.cdxj", "w") as file:
        for i in range(count):
            moment = datetime.fromtimestamp(1500000000 + (i % 5) * 2592000 + i // 1000, timezone.utc)
            rest = {"url": "http://host%06d.example/path/to/page%03d" % (i // 1000, i // 5 % 200), "mime": "text/html",
                "status": "200", "digest": "sha256:%064x" % i, "length": "6000", "offset": "0", "filename": "a"}
            key = "example,host%06d)/path/to/page%03d" % (i // 1000, i // 5 % 200)
            file.write(f"{key} {moment:%Y%m%d%H%M%S} {json.dumps(rest)}\\n")
source = SimpleAggregator({"bench": FileIndexSource("index.cdxj")})
def ask(**params):
    found, _ = source(dict(params))
    return len([dict(line) for line in found])
print(json.dumps({
    "exact": timed(addresses(count), lambda url: ask(url=url, matchType="exact")),
    "prefix": timed(addresses(count), lambda url: ask(url=url[:-2], matchType="prefix", limit="100")),
}))
"""

STORAGE = """
import django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from hemeroteca.archive import queries, services
from hemeroteca import warc
from hemeroteca.archive.capture_rows import NewCapture
from hemeroteca.warc.writer import WarcWriter
bodies, versions = list(pages(40)), 50
chance = random.Random(9)
each, total = 0, 0
writer = WarcWriter(Path("ours"))
for version in range(versions):
    for number in chance.sample(range(len(bodies)), 2):  # two pages in forty change between two visits
        bodies[number] = bodies[number].replace(b"<ul>", b"<ul><li>news %d</li>" % version)
    digests = queries.originals(warc.payload_digest(body) for body in bodies)
    rows = []
    for number, body in enumerate(bodies):
        url, moment = f"http://example.org/{number}", 1700000000000 + version * 86400000 + number
        head = b"HTTP/1.1 200 OK\\r\\nContent-Type: text/html\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body)
        capture = warc.Capture(
            url=url, captured_ms=moment, ip="93.184.216.34", protocol="http/1.1",
            request_head=b"GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n", response_head=head, body=body)
        whole = warc.records(capture)
        each += whole.size
        original = digests.get(whole.digest)
        capture.original = original
        records = warc.records(capture, body_size=len(body)) if original else whole
        name, offset = writer.append(records.data)
        total += records.size
        rows.append(NewCapture(records.main.record_id, url, moment, 200, "text/html", records.digest, records.main.kind,
            not original, name, offset, records.main.length, len(body), refers_to=original and original.record_id))
    writer.sync()
    services.insert_captures(rows, writer.sizes())
print(json.dumps({"ratio": total / each}))
"""


def main() -> list[Row]:
    rows = []
    words = str(machine.HERE.parent / "LICENSE")
    folder = machine.fresh("archive")
    made = _run(sys.executable, WRITE, folder, words)
    rows.append(_ratio("WARC written, records/s, against warcio", made["ours"], made["warcio"], 5))
    peer = machine.peer_python("cdxj-indexer", "pywb", "setuptools<80")
    if peer is not None:
        theirs = _run(str(peer), PEER_INDEX, folder, words, made["file"], str(made["records"]))
        rows.append(_ratio("WARC indexed, records/s, against cdxj-indexer", made["index"], theirs["index"], 3))
    ours = _run(sys.executable, CDX, folder, words, str(CAPTURES))
    theirs = _run(str(peer), PEER_CDX, folder, words, str(CAPTURES)) if peer is not None else None
    for name in ("exact", "prefix"):
        text = f"{ours[name]['p95']:.2f} ms"
        verdict = ""
        if theirs is not None:
            text += f", pywb {theirs[name]['p95']:.2f} ms"
            verdict = "reached" if ours[name]["p95"] < theirs[name]["p95"] else "missed"
        measure = f"CDX {name} query in {CAPTURES:,} captures, p95, against pywb's file index"
        rows.append(Row(measure, text, "ahead", verdict))
    first, again = ours["stats"]
    measure = f"`archive stats` of {CAPTURES:,} captures"
    rows.append(Row(measure, f"{again * 1000:.0f} ms; the first time {first:.1f} s (addresses)"))
    ratio = _run(sys.executable, STORAGE, machine.fresh("archive-storage"), words)["ratio"]
    verdict = "reached" if ratio <= 0.2 else "missed"
    rows.append(Row("storage of 50 versions of a site that changes little", f"{ratio:.2f} ×", "≤ 0.2 ×", verdict))
    return rows


def _ratio(measure: str, ours: float, theirs: float, goal: float) -> Row:
    ratio = ours / theirs
    text = f"{ratio:.1f} × ({ours:,.0f} against {theirs:,.0f})"
    return Row(measure, text, f"≥ {goal:g} ×", "reached" if ratio >= goal else "missed")


def _run(python: str, script: str, folder: Path, *arguments: str) -> dict:
    environment = {
        **os.environ,
        "HEMEROTECA_DATA": str(folder / "data"),
        "DJANGO_SETTINGS_MODULE": "hemeroteca.django_settings",
    }
    command = [python, "-c", textwrap.dedent(COMMON) + textwrap.dedent(script), *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the measurement failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])
