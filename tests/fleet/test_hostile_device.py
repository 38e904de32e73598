"""A device that sends nonsense is told so: nothing fails, nothing is kept."""

import pytest
from django.test import Client as Browser

from hemeroteca.fleet import coordinator
from hemeroteca.fleet.device.result_file import FetchedUrl
from hemeroteca.fleet.models import Block, Device, UploadPart
from tests.fleet.test_coordinator import URLS, Volunteer, answer, brought, offer, warc

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

NUMBERS = [1 << 63, (1 << 64) - 1, 1 << 64, 10**30, -1, -(1 << 63) - 1]
TEXTS = ["\x00", "a\x00b", "é" * 500, "1.0.²", "9" * 5000, "<script>"]
BODIES = [
    b"[", b"null", b"[]", b'"x"', b"\xff\xfe", b'{"a":' * 5000, b'{"speed": 1e400}', b'{"speed": NaN}',
    b'{"code": "\\ud800"}', b'{"says": "\\ud800"}', b'{"version": 1e999}',
]  # fmt: skip


@pytest.fixture
def pi():
    device = Volunteer("pi")
    device.browser = Browser(raise_request_exception=False)
    return device.connect(activities=["crawls", "load"])


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_that_no_database_keeps(pi, number):
    for value in ({"parallel": number}, {"bytes_per_month": number}, {"cpu_percent": number}):
        assert pi.post("connect", {"version": "0.1.0", "caps": value}).status_code == 400
    assert pi.post("beat", {"blocks": [number]}).status_code == 400
    assert pi.post(f"blocks/{number}/results", body=b"x", X_Nonce="a").status_code == 404
    assert pi.post(f"blocks/{number}/renew", X_Nonce="a").status_code == 404
    measured = {"test": "0" * 32, "second": number, "statuses": {"200": number}, "times": {"1": number}}
    assert pi.post("load", measured).status_code < 500
    assert Device.objects.get(pk=pi.row.pk).caps["parallel"] == 0


@pytest.mark.parametrize("text", TEXTS)
def test_texts_that_no_database_keeps(pi, text):
    right = {"version": "0.1.0"}
    for value in ({"version": text}, right | {"system": text}, right | {"caps": {"hours": text}}):
        assert pi.post("connect", value).status_code in (200, 400, 403)
    assert pi.post("beat", {"says": text}).status_code in (200, 400)
    assert pi.post("load", {"test": text}).status_code < 500
    assert pi.post("code", {"code": text}).status_code in (400, 404)


def test_bodies_that_are_not_of_the_protocol(pi):
    for path in ("connect", "lease", "beat", "load", "disconnect", "code"):
        for body in BODIES:
            told = pi.post(path, body=body)
            assert told.status_code in (200, 400, 404) or told.json()["code"] == "come-back", (path, body[:20])


def test_no_nonce_offset_or_hash_but_the_right_one_brings_anything(pi):
    offer(pi.row)
    lease = pi.lease()
    path = f"blocks/{lease['block']}"
    for nonce in ("é", "\x00", "a" * 10_000, lease["nonce"].upper(), "", coordinator.LOST):
        assert pi.post(f"{path}/results", body=b"x", X_Nonce=nonce).status_code == 404
        assert pi.post(f"{path}/renew", X_Nonce=nonce).status_code == 404
    for offset in ("", "-1", "1e3", "²", "0x1", "9" * 20):
        answer = pi.post(f"{path}/results", body=b"x", X_Nonce=lease["nonce"], Upload_Offset=offset)
        assert answer.status_code == 400
    for digest in ("é", "x" * 5000, "0" * 64):
        answer = pi.post(f"{path}/results", body=b"x", X_Nonce=lease["nonce"], Upload_SHA256=digest)
        assert (answer.status_code, answer.json()["code"]) == (422, "wrong-hash")
    assert pi.post(f"{path}/results", body=b"x" * (5 << 20), X_Nonce=lease["nonce"]).status_code in (400, 413)
    assert not UploadPart.objects.exists()


def test_what_was_lost_at_a_new_start_is_not_returned_by_the_word_for_it(pi):
    offer(pi.row)
    lease = pi.lease()
    pi.connect()
    assert Block.objects.get().nonce == coordinator.LOST
    assert pi.send(lease | {"nonce": coordinator.LOST}, b"x").status_code == 404


def test_a_device_that_may_not_help_with_a_load_test_tells_nothing_about_it(pi, monkeypatch):
    told = []
    monkeypatch.setattr("hemeroteca.fleet.load_tests._note", lambda device, measured: told.append(measured))
    assert pi.post("load", {"test": "0" * 32}).status_code == 200
    assert len(told) == 1
    Device.objects.update(state=Device.State.EXPELLED)
    assert pi.post("load", {"test": "0" * 32}).json()["over"]
    assert len(told) == 1


def test_what_postgresql_cannot_keep_is_in_no_answer_of_a_device(pi, tmp_path):
    """A zero byte in a header or a report would make every commit of the engine fail."""
    number = offer(pi.row)
    lease = pi.lease()
    bad = answer(URLS[0])
    bad.response_head = b"HTTP/1.1 302 Found\r\nLocation: http://a\0b.test/\r\nContent-Type: te\0xt\r\n\r\n"
    bad.request_head = b"GET /\0 HTTP/1.1\r\n\r\n"
    assert pi.send(lease, warc(bad, FetchedUrl(URLS[1], failure="time\0out", detail="\0"))).status_code == 200
    found = brought(number, tmp_path)
    assert set(found) == {URLS[0]}  # what is said of the other is not read at all
    assert b"\0" not in found[URLS[0]].response_head + found[URLS[0]].request_head
    assert found[URLS[0]].header("location") == "http://a b.test/"
