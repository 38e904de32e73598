"""What devices ask of the coordinator: forged, replayed, late and oversized results count for nothing."""

import hashlib
import json

import pytest
from django.test import Client as Browser

from hemeroteca.accounts import SYSTEM, Role
from hemeroteca.accounts import services as accounts
from hemeroteca.fetch import Guard
from hemeroteca.fleet import coordinator, dispatch, protocol, queries, services
from hemeroteca.fleet.device.result_file import FetchedUrl, ResultFile
from hemeroteca.fleet.models import Block, ClosedHost, Device, UploadPart
from hemeroteca.warc import scan

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

URLS = ["http://a.test/1", "http://a.test/2", "http://b.test/"]


@pytest.fixture(autouse=True)
def settings_of_this_test():
    """Those of the test before are remembered for two seconds, unless somebody changes them."""
    services.change_settings(SYSTEM, {"strategy": "auto"})


class Volunteer:
    """A device that speaks the protocol, by HTTP."""

    def __init__(self, name: str, owner: str = "ana") -> None:
        user = next((one for one in accounts.users(SYSTEM) if one.name == owner), None)
        user = user or accounts.add_user(SYSTEM, owner, Role.READER, "a long password")
        self.row, self.token = services.add_device(SYSTEM, name, user)
        self.browser = Browser()

    def post(self, path: str, value: object = None, body: bytes = b"", **headers: str):
        content = json.dumps(value).encode() if value is not None else body
        named = {"Authorization": f"Bearer {self.token}", **{n.replace("_", "-"): v for n, v in headers.items()}}
        return self.browser.post(f"/fleet/v1/{path}", content, content_type="application/octet-stream", headers=named)

    def connect(self, **more: object) -> "Volunteer":
        answer = self.post("connect", {"version": "0.1.0", "activities": ["crawls", "clients"], **more})
        assert answer.status_code == 200, answer.content
        return self

    def lease(self) -> dict:
        answer = self.post("lease", {"urls": 64})
        assert answer.status_code == 200, answer.content
        return answer.json()

    def send(self, lease: dict, data: bytes, start: int = 0, last: bool = True):
        headers = {"X_Nonce": lease["nonce"], "Upload_Offset": str(start)}
        if last:
            headers["Upload_SHA256"] = hashlib.sha256(data).hexdigest()
        return self.post(f"blocks/{lease['block']}/results", body=data[start:], **headers)


def offer(device: Device, urls: list[str] = URLS, seconds: float = 60.0, **more: object) -> int:
    hosts: dict[str, list[protocol.UrlTask]] = {}
    for url in urls:
        hosts.setdefault(url.split("/")[2], []).append(protocol.UrlTask(url=url))
    work = protocol.LeasedWork(
        hosts=[protocol.HostWork(host=name, delay=1.0, tasks=tasks) for name, tasks in hosts.items()]
    )
    one = dispatch.Offer(share=device.pk, activity="crawls", urls=len(urls), work=work, seconds=seconds, **more)
    return dispatch.offer([one])[0]


def warc(*answers: FetchedUrl) -> bytes:
    results = ResultFile("test")
    for answer in answers:
        results.add(answer)
    file = results.finish()
    file.seek(0)
    return file.read()


def answer(url: str, body: bytes = b"<p>hello</p>", ip: str = "93.184.216.34", status: int = 200) -> FetchedUrl:
    head = f"HTTP/1.1 {status} OK\r\nContent-Type: text/html\r\n\r\n".encode()
    return FetchedUrl(url, status, b"GET / HTTP/1.1\r\n\r\n", head, body, ip, seconds=0.25)


def brought(number: int, tmp_path, urls: list[str] = URLS, guard: Guard | None = None):
    block = Block.objects.get(pk=number)
    return dispatch.results(block, urls, guard or Guard(), tmp_path)


def test_a_block_goes_out_and_comes_back_in_pieces(tmp_path):
    pi = Volunteer("pi").connect()
    offer(pi.row)
    lease = pi.lease()
    assert [task["url"] for host in lease["work"]["hosts"] for task in host["tasks"]] == URLS
    assert pi.post("lease", {}).status_code == 503  # nobody else gets it
    data = warc(answer(URLS[0]), answer(URLS[1], status=404), FetchedUrl(URLS[2], failure="timeout", detail="30 s"))
    half = len(data) // 2
    headers = {"X_Nonce": lease["nonce"], "Upload_Offset": "0"}
    path = f"blocks/{lease['block']}/results"
    assert pi.post(path, body=data[:half], **headers).json() == {"received": half}
    assert pi.post(path, body=data[:half], **headers).json() == {"received": half}  # sent twice: it is here already
    assert pi.post(path, **headers).json() == {"received": half}  # after a cut: how much is here
    ahead = pi.post(path, body=data[half + 9 :], X_Nonce=lease["nonce"], Upload_Offset=str(half + 9))
    assert ahead.json() == {"received": half}  # a hole is not taken
    assert pi.send(lease, data, half).json() == {"received": len(data)}
    found = brought(lease["block"], tmp_path)
    assert (found[URLS[0]].status, found[URLS[0]].body.bytes(), found[URLS[0]].elapsed) == (200, b"<p>hello</p>", 0.25)
    assert found[URLS[1]].status == 404
    assert found[URLS[2]].failure == "timeout"


def test_results_of_other_leases_replays_and_late_ones_are_refused():
    pi, pc = Volunteer("pi").connect(), Volunteer("pc", "bea").connect()
    offer(pi.row)
    lease = pi.lease()
    data = warc(*(answer(url) for url in URLS))
    assert pc.send(lease, data).status_code == 404  # another device's block
    assert pi.send({**lease, "nonce": "0" * 32}, data).status_code == 404
    assert pi.send({**lease, "block": lease["block"] + 1}, data).status_code == 404
    assert pi.send(lease, data).status_code == 200
    assert pi.send(lease, data).status_code == 410  # a replay
    offer(pi.row)
    late = pi.lease()
    Block.objects.filter(pk=late["block"]).update(deadline_ms=services.now_ms() - 1)
    assert pi.send(late, data).status_code == 410
    assert pi.post(f"blocks/{late['block']}/renew", X_Nonce=late["nonce"]).status_code == 410
    assert Block.objects.get(pk=late["block"]).state == Block.State.LEASED  # the engine ends it
    assert dispatch.expired() == [late["block"]]
    assert pi.send(late, data).status_code == 410


def test_tokens_that_are_unknown_revoked_or_of_a_person_are_refused():
    pi = Volunteer("pi").connect()
    services.revoke_token(SYSTEM, pi.row)
    assert pi.post("lease", {}).status_code == 401
    for token in ("", "hemdev_x", "hem_" + "a" * 40, "hemdev_" + "a" * 10_000):
        pi.token = token
        assert pi.post("lease", {}).status_code == 401


def test_a_wrong_hash_is_told_and_the_upload_begins_anew(tmp_path):
    pi = Volunteer("pi").connect()
    offer(pi.row)
    lease = pi.lease()
    data = warc(answer(URLS[0]))
    wrong = pi.post(f"blocks/{lease['block']}/results", body=data, X_Nonce=lease["nonce"], Upload_SHA256="0" * 64)
    assert wrong.status_code == 422
    assert wrong.json()["code"] == "wrong-hash"
    assert not UploadPart.objects.exists()
    assert pi.send(lease, data).status_code == 200
    assert brought(lease["block"], tmp_path)[URLS[0]].status == 200


def test_too_much_is_refused_while_it_comes(monkeypatch):
    pi = Volunteer("pi").connect()
    offer(pi.row)
    lease = pi.lease()
    big = b"x" * (coordinator.PART_BYTES + 1)
    assert pi.send(lease, big).status_code == 422
    monkeypatch.setattr(coordinator, "MAX_BODY_BYTES", 0)
    part = b"x" * coordinator.PART_BYTES
    assert pi.send(lease, part, last=False).status_code == 422
    assert not UploadPart.objects.exists()


@pytest.mark.parametrize(
    "data", [b"", b"rubbish", b"\x1f\x8b\x08" + b"\0" * 40, b"WARC/1.1\r\nContent-Length: 99\r\n\r\nx"]
)
def test_a_malformed_warc_brings_nothing_and_harms_nothing(tmp_path, data):
    pi = Volunteer("pi").connect()
    offer(pi.row)
    lease = pi.lease()
    assert pi.send(lease, data).status_code == 200
    assert brought(lease["block"], tmp_path) == {}


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(coordinator, "MAX_BODY_BYTES", 1 << 20)
    pi = Volunteer("pi").connect()
    offer(pi.row)
    lease = pi.lease()
    data = warc(answer(URLS[0], b"\0" * (64 << 20)), answer(URLS[1]))
    assert len(data) < coordinator.PART_BYTES
    assert pi.send(lease, data).status_code == 200
    found = brought(lease["block"], tmp_path)
    assert URLS[0] not in found
    assert found[URLS[1]].status == 200  # the rest goes on


def test_many_small_bombs_are_not_unpacked_either(tmp_path, monkeypatch):
    """Each record may be as long as a page, all together only as long as the pages that were asked for."""
    monkeypatch.setattr(coordinator, "MAX_BODY_BYTES", 1 << 20)
    unpacked = []
    monkeypatch.setattr(dispatch, "_result", lambda record, *_: unpacked.append(record.size))
    pi = Volunteer("pi").connect()
    offer(pi.row)
    lease = pi.lease()
    assert pi.send(lease, warc(*(answer(URLS[0], b"\0" * (1 << 20)) for _ in range(20)))).status_code == 200
    brought(lease["block"], tmp_path)
    assert len(unpacked) == len(URLS) + 1
    assert sum(unpacked) <= coordinator.max_upload(len(URLS))


def test_reports_of_other_urls_and_further_reports_are_not_kept(tmp_path):
    """They would fill the memory of the engine: a megabyte packed is a million reports unpacked."""
    pi = Volunteer("pi").connect()
    offer(pi.row)
    lease = pi.lease()
    data = warc(
        *(FetchedUrl(f"http://n{n}.test/", failure="x") for n in range(50)), FetchedUrl(URLS[0], failure="timeout")
    )
    data += warc(FetchedUrl(URLS[1], failure="timeout"))
    assert pi.send(lease, data).status_code == 200
    (tmp_path / "brought.warc.gz").write_bytes(data)
    records = [one.record for one in scan.scan(tmp_path / "brought.warc.gz") if one.record.kind == "metadata"]
    assert list(dispatch._reports(records[0], set(URLS))) == [URLS[0]]
    assert list(brought(lease["block"], tmp_path)) == [URLS[0]]


def test_what_was_not_asked_or_comes_from_a_private_address_is_passed_over(tmp_path):
    pi = Volunteer("pi").connect()
    offer(pi.row)
    lease = pi.lease()
    data = warc(
        answer("http://elsewhere.test/"),
        answer(URLS[0], ip="10.0.0.1"),
        answer(URLS[1], ip="::ffff:127.0.0.1"),
        answer(URLS[2], b"first"),
        answer(URLS[2], b"second"),
    )
    assert pi.send(lease, data).status_code == 200
    found = brought(lease["block"], tmp_path)
    assert list(found) == [URLS[2]]
    assert found[URLS[2]].body.bytes() == b"first"


def test_a_check_is_never_stolen_and_consent_is_obeyed():
    pi, pc = Volunteer("pi").connect(), Volunteer("pc", "bea").connect(activities=["clients"])
    offer(pi.row, kind="check")
    services.change_settings(SYSTEM, {"strategy": "less-busy"})
    assert pc.post("lease", {}).status_code == 503  # not agreed to crawls
    pc.connect()
    assert pc.post("lease", {}).status_code == 503
    offer(pi.row)
    assert pc.lease()["block"]  # the visit, from the longest share
    services.change_settings(SYSTEM, {"strategy": "democratic"})
    offer(pi.row)
    assert pc.post("lease", {}).status_code == 503  # never steals


def test_no_device_gets_more_urls_than_it_has_room_for():
    pi, pc = Volunteer("pi").connect(), Volunteer("pc", "bea").connect()
    large, small = offer(pi.row), offer(pi.row, URLS[:1])
    assert pi.post("lease", {"urls": 0}).status_code == 503
    assert pi.post("lease", {"urls": 2}).json()["block"] == small
    assert Device.objects.get(pk=pi.row.pk).room == 2  # the engine makes the next ones so that they fit
    assert pc.post("lease", {"urls": 2}).status_code == 503  # nor does a thief
    assert pc.post("lease", {"urls": 3}).json()["block"] == large
    assert pi.post("lease", {"urls": 10**30}).status_code == 400


def test_ipv4_in_the_clothes_of_ipv6_is_its_own_network():
    """A server that listens on both sees it so; all such devices would be one network, and none could check another."""
    assert coordinator.network_of("::ffff:192.0.2.9") == coordinator.network_of("192.0.2.200") == "192.0.2.0/24"
    assert coordinator.network_of("2001:db8:1:2::3") == "2001:db8:1::/48"


def test_a_paused_slowed_or_old_device_gets_nothing():
    pi = Volunteer("pi").connect()
    offer(pi.row)
    services.set_state(SYSTEM, pi.row, Device.State.PAUSED)
    assert pi.post("lease", {}).status_code == 403
    services.set_state(SYSTEM, pi.row, Device.State.SLOWED, "it lied")
    assert pi.lease()
    offer(pi.row)
    refused = pi.post("lease", {})
    assert refused.status_code == 503
    assert "one block a day" in refused.json()["error"]
    assert 5 <= refused.json()["seconds"] <= 30
    assert 1 <= int(refused.headers["Retry-After"]) <= 30
    assert pi.post("connect", {"version": "0.0.9"}).status_code == 403
    assert pi.post("connect", {"version": "0.1.0", "colour": "red"}).status_code == 400


def test_a_heartbeat_tells_what_to_drop_and_which_hosts_closed():
    pi = Volunteer("pi").connect()
    offer(pi.row)
    lease = pi.lease()
    services.close_host(SYSTEM, "b.test", "its owner asked")
    told = pi.post("beat", {"blocks": [lease["block"], 999]}).json()
    nothing = {"back": [], "stop": "", "rest": "", "work": False, "load": False}
    assert told == {"drop": [999], "closed": ["b.test"], **nothing}
    dispatch.recall([lease["block"]])
    told = pi.post("beat", {"blocks": [lease["block"]]}).json()
    assert told == {"drop": [], "closed": ["b.test"], **nothing, "back": [lease["block"]]}
    offer(pi.row)
    assert pi.post("beat", {}).json()["work"]  # it need not wait until it asks again
    services.set_state(SYSTEM, pi.row, Device.State.PAUSED, "by its owner")
    told = pi.post("beat", {}).json()
    assert (told["stop"], told["rest"]) == ("", "this device is paused: by its owner")  # it may go on later
    services.set_state(SYSTEM, pi.row, Device.State.EXPELLED, "it lied")
    assert "it lied" in pi.post("beat", {}).json()["stop"]


def test_its_owner_sees_the_limits_of_a_device_and_what_it_says():
    pi = Volunteer("pi").connect(caps={"bytes_per_month": 10**9, "hours": "22-7", "parallel": 8})
    assert pi.post("beat", {"says": "takes no work: the machine runs on its battery"}).status_code == 200
    (seen,) = queries.devices(SYSTEM)
    assert (seen.caps.bytes_per_month, seen.caps.hours, seen.caps.parallel) == (10**9, "22-7", 8)
    assert "battery" in seen.says
    assert pi.post("beat", {"says": "x" * 201}).status_code == 400
    pi.post("disconnect", {})
    (seen,) = queries.devices(SYSTEM)
    assert (seen.state, seen.says) == ("offline", "")


def test_kinds_of_pages_an_owner_refuses_are_never_handed_out():
    prude = Volunteer("prude").connect(categories=["general", "news"])
    offer(prude.row, category="politics")
    refused = prude.post("lease", {"urls": 64})
    assert (refused.status_code, refused.json()["code"]) == (503, "come-back")
    offer(prude.row, category="news")
    assert prude.lease()["block"]
    open_minded = Volunteer("open", "bea").connect(categories=["politics"])
    assert open_minded.lease()["block"]  # what the other refuses may be taken by somebody else


def test_goodbye_ends_leases_and_a_new_start_is_no_fault():
    pi = Volunteer("pi").connect()
    number = offer(pi.row)
    pi.lease()
    assert pi.post("disconnect").status_code == 200
    assert dispatch.expired() == [number]
    for _ in range(coordinator.MAX_LATE + 1):  # killed and started again and again
        pi.connect()
        offer(pi.row)
        pi.lease()
    pi.connect()
    Block.objects.update(deadline_ms=1)
    assert len(dispatch.expired()) == coordinator.MAX_LATE + 1
    pi.row.refresh_from_db()
    assert pi.row.state == Device.State.ACTIVE


def test_a_device_that_hoards_blocks_is_slowed():
    pi = Volunteer("pi").connect()
    for _ in range(coordinator.MAX_LATE):
        offer(pi.row)
        pi.lease()
    Block.objects.update(deadline_ms=1)
    dispatch.expired()
    pi.row.refresh_from_db()
    assert pi.row.state == Device.State.SLOWED
    assert pi.post("lease", {}).status_code == 503


@pytest.mark.parametrize("begins_anew", [False, True])
def test_nobody_hoards_more_hosts_than_a_device_can_use(monkeypatch, begins_anew):
    """Neither by taking block after block, nor by saying each time that the last ones were lost."""
    monkeypatch.setattr(coordinator, "MAX_HELD", 2 * len(URLS))
    pi, pc = Volunteer("pi").connect(), Volunteer("pc", "bea").connect()
    for _ in range(3):
        offer(pi.row)
    leases = [pi.lease()]
    if begins_anew:
        pi.connect()
    leases.append(pi.lease())
    if begins_anew:
        pi.connect(blocks=[leases[1]["block"]])
    refused = pi.post("lease", {"urls": 64})
    assert (refused.status_code, refused.json()["code"]) == (503, "come-back")
    assert "returned some" in refused.json()["error"]
    assert pi.send(leases[1], warc(*(answer(url) for url in URLS))).status_code == 200
    assert pi.lease()["block"]
    assert pc.post("lease", {}).status_code == 503  # which was the last one


def test_a_device_that_was_only_cut_off_goes_on_with_what_it_has():
    pi, pc = Volunteer("pi").connect(), Volunteer("pc", "bea").connect()
    offer(pi.row)
    offer(pi.row)
    kept, lost = pi.lease(), pi.lease()
    pc.connect(blocks=[kept["block"], lost["block"]])  # another's word counts for nothing
    pi.connect(blocks=[kept["block"]])
    data = warc(*(answer(url) for url in URLS))
    assert pc.send(kept, data).status_code == 404
    assert pi.send(kept, data).status_code == 200
    assert pi.send(lost, data).status_code == 404


def test_results_that_arrive_in_the_moment_their_lease_ends_are_not_taken(monkeypatch):
    """The engine ends the lease while the last piece is being read: its URLs belong to somebody else already."""
    pi = Volunteer("pi").connect()
    number = offer(pi.row)
    lease = pi.lease()
    parts = coordinator.parts

    def ending(block: int):
        Block.objects.filter(pk=block).update(state=Block.State.EXPIRED)
        return parts(block)

    monkeypatch.setattr(coordinator, "parts", ending)
    assert pi.send(lease, warc(*(answer(url) for url in URLS))).status_code == 410
    assert Block.objects.get(pk=number).state != Block.State.RETURNED
    assert not dispatch.returned()


def test_the_host_that_closed_last_is_told_first(monkeypatch):
    """Whoever closes many hosts must not keep devices from hearing of the others."""
    monkeypatch.setattr(coordinator, "MAX_CLOSED", 2)
    pi = Volunteer("pi").connect()
    now = services.now_ms()
    monkeypatch.setattr(services, "now_ms", lambda: now)
    for place, host in enumerate(("a.test", "b.test", "c.test")):
        services.close_host(SYSTEM, host, "its owner asked")
        ClosedHost.objects.filter(host=host).update(at_ms=now + place)
    assert pi.post("beat", {}).json()["closed"] == ["c.test", "b.test"]


def test_a_new_engine_leaves_alone_what_devices_hold():
    pi = Volunteer("pi").connect()
    offer(pi.row, URLS)
    offer(pi.row, ["http://c.test/"])
    lease = pi.lease()
    held = dispatch.recover()
    assert set(held) == {"a.test", "b.test"}  # not c.test, which nobody had taken
    assert all(until > services.now_ms() + 30_000 for until in held.values())
    assert pi.send(lease, warc(answer(URLS[0]))).status_code == 410
    assert pi.post("lease", {}).status_code == 503


def test_a_host_rests_after_its_device_however_often_the_engine_begins_anew():
    pi = Volunteer("pi").connect()
    offer(pi.row, ["http://a.test/"])
    offer(pi.row, ["http://b.test/"])
    offer(pi.row, ["http://c.test/"])
    pi.lease()
    back = pi.lease()
    assert pi.send(back, warc(answer("http://b.test/"))).status_code == 200  # and no engine has read it
    pi.lease()
    Block.objects.filter(pk=back["block"] + 1).update(deadline_ms=services.now_ms() - 60_000)  # long over
    first, second = dispatch.recover(), dispatch.recover()
    assert set(first) == {"a.test", "b.test"}
    assert first["b.test"] <= services.now_ms() + 1000  # one delay after it came back, not after its deadline
    assert set(second) >= {"a.test"}  # the device may hold it still, though the first engine took it back


def test_nothing_is_put_aside_for_a_device_that_rests():
    pi = Volunteer("pi").connect()
    assert [one.id for one in dispatch.lenders()] == [pi.row.pk]
    pi.post("beat", {"says": "takes no work: it is not between 22-7 o'clock", "resting": True})
    assert dispatch.lenders() == []
    shown = queries.devices(SYSTEM)[0]
    assert (shown.state, shown.says) == ("online", "takes no work: it is not between 22-7 o'clock")
    assert pi.post("lease", {}).status_code == 503  # it asks again: it works again
    assert [one.id for one in dispatch.lenders()] == [pi.row.pk]


def test_a_block_that_takes_longer_is_renewed_but_not_for_ever():
    pi = Volunteer("pi").connect()
    offer(pi.row, seconds=60.0)
    lease = pi.lease()
    address, nonce = f"blocks/{lease['block']}/renew", lease["nonce"]
    Block.objects.update(deadline_ms=services.now_ms() + 1000)
    assert pi.post(address, X_Nonce=nonce).json() == {"seconds": 60.0}
    assert Block.objects.get().deadline_ms > services.now_ms() + 50_000
    Block.objects.update(leased_ms=services.now_ms() - coordinator.MAX_RENEWALS_MS + 30_000)
    assert pi.post(address, X_Nonce=nonce).status_code == 410
    assert pi.send(lease, warc(answer(URLS[0]))).status_code == 200  # what it has still counts


def test_a_full_fleet_tells_further_devices_to_come_back():
    services.change_settings(SYSTEM, {"max_devices": "1"})
    Volunteer("pi").connect()
    late = Volunteer("pc", "bea").post("connect", {"version": "0.1.0"})
    assert (late.status_code, late.json()["code"]) == (503, "come-back")
    assert 5 <= late.json()["seconds"] <= 30
    assert Volunteer("pi2", "ana").post("connect", {"version": "0.0.1"}).json()["code"] == "too-old"
    services.change_settings(SYSTEM, {"max_devices": "1000"})  # they are remembered two seconds, into the next test
