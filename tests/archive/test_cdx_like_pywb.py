"""Our CDX server and pywb's give the same captures in the same order, parameter by parameter, from the same files.

Not among them, because we mean something else: revisits (pywb's indexer does not write their status), other ports of a
domain (ours include them), and captures of one address and one second (the order of equals).
"""

import itertools
import json
import subprocess
from pathlib import Path

import pytest

from hemeroteca import config
from hemeroteca.replay import program
from tests.archive.making import Archive
from tests.waiting import PATIENCE

pytestmark = [pytest.mark.database, pytest.mark.django_db, pytest.mark.urls("hemeroteca.api.routes")]

ADDRESSES = (
    "http://example.org/",
    "http://www.example.org/index.html?b=2&a=1",
    "https://example.org/Path/Name.HTML",
    "http://example.org/path",
    "http://example.org/path/deeper?x=%C3%B1",
    "http://example.org/path-other",
    "http://sub.example.org/one",
    "http://a.sub.example.org/two?q=a+b",
    "http://example.organic/",
    "http://example-org.org/",
    "http://xn--and-6ma2c.example/caf%C3%A9",
    "http://10.0.0.1/private",
)
PLACES = (
    {"url": "http://example.org/"},
    {"url": "example.org/path"},
    {"url": "http://WWW.example.org/index.html?a=1&b=2"},
    {"url": "http://example.org/path*"},
    {"url": "http://example.org/path/*"},
    {"url": "example.org/", "matchType": "prefix"},
    {"url": "example.org", "matchType": "host"},
    {"url": "http://sub.example.org/whatever", "matchType": "host"},
    {"url": "*.example.org"},
    {"url": "example.org", "matchType": "domain"},
    {"url": "sub.example.org", "matchType": "domain"},
    {"url": "http://xn--and-6ma2c.example/*"},
    {"url": "http://ñandú.example/café"},
    {"url": "10.0.0.1/private"},
    {"url": "http://nothing.example/*"},
)
WAYS = (
    {},
    {"from": "2025"},
    {"to": "2024"},
    {"from": "202403", "to": "20250101"},
    {"limit": "3"},
    {"sort": "reverse"},
    {"sort": "reverse", "limit": "4"},
    {"filter": "=status:404"},
    {"filter": "!=status:200"},
    {"filter": "~url:path"},
    {"filter": "url:path"},
    {"filter": "~mime:text/.*"},
    {"filter": "mime:text/.*"},
    {"filter": ["!status:404", "timestamp:2025"]},
    {"filter": "!~timestamp:2025"},
    {"collapseTime": "4"},
    {"collapseTime": "8", "sort": "reverse"},
    {"filter": "=mime:image/png", "sort": "reverse", "limit": "2"},
)
NEAREST = tuple(
    {"url": url, "closest": moment, **more}
    for url in ("http://example.org/", "example.org/path")
    for moment in ("2020", "20240601", "20250215120000", "2030")
    for more in ({}, {"limit": "1"}, {"from": "2025"}, {"filter": "=status:200"})
)


@pytest.fixture
def python():
    found = program.python_of(config.Config())
    if not found:
        pytest.skip("replay is not installed (python -m hemeroteca.replay.install)")
    return found


@pytest.fixture
def archive(tmp_path):
    made = Archive(tmp_path / "warc")
    moments = ("20240101", "20240315102030", "20250101000001", "20250228")
    for number, (moment, url) in enumerate(itertools.product(moments, ADDRESSES)):
        mime = ("text/html", "image/png", "text/plain")[number % 3]
        body = b"%s %d" % (url.encode(), number)
        made.add(url, moment, body, mime=mime, status=404 if number % 7 == 3 else 200)
    return made.close()


def test_the_same_captures_in_the_same_order(client, archive, python):
    questions = [{**place, **way} for place, way in itertools.product(PLACES, WAYS)] + list(NEAREST)
    script = Path(__file__).with_name("pywb_answers.py")
    command = [python, str(script), str(archive.folder)]
    done = subprocess.run(command, input=json.dumps(questions), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    differing = []
    for question, theirs in zip(questions, json.loads(done.stdout), strict=True):
        response = client.get("/cdx", {**question, "output": "json", "fl": "urlkey,timestamp,url,offset"})
        ours = [list(json.loads(line).values()) for line in b"".join(response).decode().splitlines()]
        if ours != theirs:
            differing.append((question, ours, theirs))
    assert not differing, f"{len(differing)} of {len(questions)}: {differing[0]}"
    assert sum(map(bool, json.loads(done.stdout))) > len(questions) / 2, "most questions find something"
