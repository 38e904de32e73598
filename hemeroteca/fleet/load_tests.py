"""Load tests of sites, by whoever controls them, and of nothing else.

A file under `/.well-known/` proves control, and is read from *every* address the test pins (a DNS record alone lets
somebody repoint a name at a victim), before the test and all the time while it runs; each device reads it itself, too.
Devices get the requests of one second at a time: when the coordinator is silent, or says stop, nothing more is sent.
"""

import hashlib
import hmac
import math
import socket
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import msgspec
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q

from hemeroteca import urls as addresses
from hemeroteca.accounts import SYSTEM, Actor, require
from hemeroteca.clock import now_ms
from hemeroteca.config import Config
from hemeroteca.errors import Conflict, Invalid
from hemeroteca.fetch.guard import Guard
from hemeroteca.fleet import coordinator, protocol, services
from hemeroteca.fleet.device import load_generator as device_load
from hemeroteca.fleet.device.http_requests import RequestOrder, fetch
from hemeroteca.fleet.models import Device, LoadSecond, LoadTest
from hemeroteca.fleet.services import audit

MAX_RATE = 1000  # requests per second of a whole test
MAX_PER_DEVICE = device_load.MAX_PER_SECOND
MAX_SECONDS = 900
MAX_ADDRESSES = 16
PROOF_SECONDS = 5.0  # between two looks at the proof while a test runs …
MAX_PROOF_MS = 20_000  # … and the age of the last look after which nothing is handed out
PATH = device_load.PATH
STEP = device_load.STEP
MAX_STEP = math.ceil(math.log(device_load.REQUEST_SECONDS * 1000, STEP)) + 10  # a device that says more lies

Resolve = Callable[..., Any]


class LoadTestOrder(msgspec.Struct, kw_only=True):
    url: str
    rate: int
    ramp_seconds: int = 30
    hold_seconds: int = 60


class LoadMeasured(msgspec.Struct, forbid_unknown_fields=True):
    """What a device measured since it asked last."""

    test: str = ""
    second: protocol.Number = 0
    statuses: dict[str, int] = {}  # 0: no answer
    times: dict[str, int] = {}  # class of answer time → how many


class LoadPlan(msgspec.Struct):
    """The requests of one second, or how long to wait."""

    test: str = ""
    second: int = 0
    requests: int = 0
    url: str = ""
    address: str = ""
    proof: str = ""
    seconds: float = 1.0  # until it asks again
    over: bool = False


class LoadSecondReport(msgspec.Struct, frozen=True):
    second: int
    planned: int
    asked: int
    errors: int
    p50: float  # ms
    p95: float
    p99: float


class LoadTestReport(msgspec.Struct, frozen=True):
    asked: int
    errors: int
    statuses: dict[str, int]
    p50: float
    p95: float
    p99: float
    seconds: list[LoadSecondReport]


def propose(actor: Actor, wanted: LoadTestOrder) -> LoadTest:
    """Nothing is asked before the proof was read at every address of the host."""
    require(actor, "fleet.load")
    owner = services.client_of(actor).owner
    try:
        url = addresses.canonical(wanted.url)
    except addresses.UrlError as error:
        raise Invalid(str(error))
    if not 1 <= wanted.rate <= MAX_RATE:
        raise Invalid(f"a test asks 1 to {MAX_RATE} times per second, not {wanted.rate}")
    if wanted.ramp_seconds < 1 or wanted.hold_seconds < 1 or wanted.ramp_seconds + wanted.hold_seconds > MAX_SECONDS:
        raise Invalid(f"ramp_seconds and hold_seconds are at least 1 each, and at most {MAX_SECONDS} together")
    host = addresses.host(url)
    if closed := services.closed_reason(host):
        raise Conflict(f"{host} is {closed}")
    row = LoadTest.objects.create(
        public_id=uuid.uuid4(),
        owner=owner,
        url=url,
        host=host,
        rate=wanted.rate,
        ramp_seconds=wanted.ramp_seconds,
        hold_seconds=wanted.hold_seconds,
        created_ms=now_ms(),
    )
    audit(actor.name, "proposed load test", f"{url[:200]}: {wanted.rate}/s")
    return row


def proof(test: LoadTest) -> str:
    """The line the file must hold: of this test, its host and its person alone."""
    text = f"fleet load {test.public_id} {test.host} {test.owner_id}"
    return f"hemeroteca-load-{hmac.new(settings.SECRET_KEY.encode(), text.encode(), hashlib.sha256).hexdigest()[:32]}"


def verify(test: LoadTest, config: Config, resolve: Resolve = socket.getaddrinfo) -> str:
    """Read the proof from every address; why it does not count, empty when it does. A running test keeps the addresses
    it began with, and each of them must still have the proof."""
    guard = Guard(config.allow_private, config.allow_networks)
    pinned = test.addresses if test.state == LoadTest.State.RUNNING else []
    reason = ""
    try:
        pinned = pinned or _addresses(test, resolve)
        for address in pinned:
            if reason := guard.check(address) or "":
                reason = f"{address} is not on the public internet ({reason})"
            else:
                reason = _read_proof(test, address, guard, config)
            if reason:
                break
    except OSError as error:
        reason = f"{test.host} has no address ({error})"
    now = now_ms()
    if not reason:
        proven = {"proven_ms": now, "addresses": pinned, "reason": ""}
        LoadTest.objects.filter(pk=test.pk, state=LoadTest.State.RUNNING).update(**proven)
        open_ = [LoadTest.State.PROPOSED, LoadTest.State.PROVEN]
        LoadTest.objects.filter(pk=test.pk, state__in=open_).update(state=LoadTest.State.PROVEN, **proven)
    elif test.state != LoadTest.State.RUNNING:
        LoadTest.objects.filter(pk=test.pk).update(reason=reason[:1000])
    test.refresh_from_db()
    return reason


def start(actor: Actor, test: LoadTest, config: Config, resolve: Resolve = socket.getaddrinfo) -> LoadTest:
    """Look at the proof once more, and begin."""
    from hemeroteca.jobs import services as jobs

    require(actor, "fleet.loads", test)
    if test.state not in (LoadTest.State.PROPOSED, LoadTest.State.PROVEN):
        raise Conflict(f"this test is {test.state}; propose another")
    with services.looking():  # up to MAX_ADDRESSES slow servers
        reason = verify(test, config, resolve)
    if reason:
        told = f"the proof does not count: {reason}; {PATH} must hold the line {proof(test)} at every address"
        raise Conflict(told, "not-proven")
    with transaction.atomic():
        mine = LoadTest.objects.filter(pk=test.pk, state=LoadTest.State.PROVEN)
        if not mine.update(state=LoadTest.State.RUNNING, started_ms=now_ms()):
            raise Conflict("this test was started or stopped meanwhile")
        if LoadTest.objects.filter(host=test.host, state=LoadTest.State.RUNNING).exclude(pk=test.pk).exists():
            raise Conflict(f"another test of {test.host} runs; wait for its end or stop it")
    audit(actor.name, "started load test", f"{test.url[:200]} at {', '.join(test.addresses)}")
    jobs.submit(SYSTEM, "fleet.load", {"test": test.pk}, by_itself=True)
    test.refresh_from_db()
    return test


def stop(actor: Actor, test: LoadTest, reason: str = "by a person") -> None:
    """Nothing more is handed out from this moment."""
    require(actor, "fleet.loads", test)
    _end(test, LoadTest.State.STOPPED, reason)


def watch(test: LoadTest, config: Config) -> bool:
    """While a test runs, every few seconds: is the proof still there, is it over? False when it has ended."""
    test.refresh_from_db()
    if test.state != LoadTest.State.RUNNING:
        return False
    if second_of(test) >= test.ramp_seconds + test.hold_seconds:
        _end(test, LoadTest.State.FINISHED, "")
        return False
    if closed := services.closed_reason(test.host):
        _end(test, LoadTest.State.STOPPED, f"{test.host} is {closed}")
        return False
    if reason := verify(test, config):
        _end(test, LoadTest.State.STOPPED, f"the proof is gone: {reason}")
        return False
    return True


def find(actor: Actor, public_id: uuid.UUID) -> LoadTest:
    return services.find_owned(actor, LoadTest.objects.all(), "fleet.loads", public_id, "load test")


def tests(actor: Actor) -> list[LoadTest]:
    return services.owned(actor, LoadTest.objects.all(), "fleet.loads")


# for devices


def waiting() -> bool:
    """Whether a test runs that a device could help with."""
    return LoadTest.objects.filter(_live()).exists()


def hand_out(device: Device, told: LoadMeasured) -> LoadPlan:
    """What a device does in this second of the test that runs; never more over all devices than the plan says."""
    if "load" not in device.activities or device.state != Device.State.ACTIVE:
        return LoadPlan(over=True)
    if told.test:
        _note(device, told)
    live = list(LoadTest.objects.filter(_live()).order_by("started_ms"))
    if not live:
        return LoadPlan(over=True)
    test = live[(device.pk + now_ms() // 1000) % len(live)]  # none waits for the end of another
    if second_of(test) and not LoadSecond.objects.filter(test=test).exists():
        test.started_ms = now_ms()  # devices hear of it one after the other: the ramp begins with the first
        LoadTest.objects.filter(pk=test.pk).update(started_ms=test.started_ms)
    second = second_of(test)
    allowed = rate_at(test, second)
    helpers = max(1, _helpers(int(now_ms() / 2000), settings.CONFIG.data))
    share = min(MAX_PER_DEVICE, math.ceil(allowed * len(live) / helpers))
    with transaction.atomic():
        LoadSecond.objects.bulk_create([LoadSecond(test=test, second=second)], ignore_conflicts=True)
        rows = LoadSecond.objects.filter(test=test, second=second)
        row = (rows.select_for_update() if connection.vendor == "postgresql" else rows).get()
        count = max(0, min(share, allowed - row.given))
        mine = row.shares.get(str(device.pk), 0) + count
        rows.update(given=row.given + count, shares={**row.shares, str(device.pk): mine})
    addresses_ = test.addresses
    return LoadPlan(
        test=str(test.public_id),
        second=second,
        requests=count,
        url=test.url,
        address=addresses_[(device.pk + second) % len(addresses_)],
        proof=proof(test),
        seconds=1.0,
    )


def second_of(test: LoadTest) -> int:
    return (now_ms() - test.started_ms) // 1000


def rate_at(test: LoadTest, second: int) -> int:
    """Requests of one second: a straight line up, then level, then nothing."""
    if not 0 <= second < test.ramp_seconds + test.hold_seconds:
        return 0
    return min(test.rate, math.ceil(test.rate * (second + 1) / test.ramp_seconds))


# reports


def report(test: LoadTest) -> LoadTestReport:
    times: Counter[int] = Counter()
    statuses: Counter[str] = Counter()
    found = []
    for row in LoadSecond.objects.filter(test=test).order_by("second"):
        mine = Counter({int(step): count for step, count in row.times.items()})
        times += mine
        statuses += Counter(row.statuses)
        found.append(LoadSecondReport(row.second, row.given, row.asked, row.errors, *_percentiles(mine)))
    return LoadTestReport(
        sum(one.asked for one in found), sum(one.errors for one in found), dict(statuses), *_percentiles(times), found
    )


def _percentiles(times: Counter[int]) -> tuple[float, float, float]:
    total, found = sum(times.values()), []
    for share in (0.5, 0.95, 0.99):
        left = math.ceil(total * share)
        for step in sorted(times):
            left -= times[step]
            if left <= 0:
                found.append(round(STEP ** (step + 1), 1))
                break
        else:
            found.append(0.0)
    return found[0], found[1], found[2]


# inside


def _live() -> Q:
    return Q(state=LoadTest.State.RUNNING, proven_ms__gt=now_ms() - MAX_PROOF_MS)


@lru_cache(maxsize=1)
def _helpers(moment: int, data: object) -> int:
    """Devices that may share a test; looked up every two seconds."""
    rows = Device.objects.filter(coordinator.ready(), state=Device.State.ACTIVE).values_list("activities", flat=True)
    return sum("load" in activities for activities in rows)


def _note(device: Device, told: LoadMeasured) -> None:
    """What a device says of requests that were handed out to it; more than those is not believed."""
    statuses = _counts(told.statuses, 999)
    times = _counts(told.times, MAX_STEP)
    asked = sum(statuses.values())
    bad = sum(n for status, n in statuses.items() if status == 0 or status >= 500)
    with transaction.atomic():
        rows = LoadSecond.objects.filter(test__public_id=_uuid(told.test), second=told.second)
        row = (rows.select_for_update(of=("self",)) if connection.vendor == "postgresql" else rows).first()
        left = row.shares.get(str(device.pk), 0) - asked if row is not None else -1
        if row is None or left < 0 or sum(times.values()) > asked:
            return
        rows.update(
            asked=row.asked + asked,
            errors=row.errors + bad,
            statuses=_sum(row.statuses, statuses),
            times=_sum(row.times, times),
            shares={**row.shares, str(device.pk): left},
        )


def _sum(known: dict[str, int], more: dict[int, int]) -> dict[str, int]:
    return dict(Counter(known) + Counter({str(name): count for name, count in more.items()}))


def _counts(told: dict[str, int], most: int) -> dict[int, int]:
    found = {int(name): count for name, count in told.items() if name.isdecimal() and len(name) < 5}
    return {name: count for name, count in found.items() if name <= most and 0 < count <= MAX_RATE}


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def _addresses(test: LoadTest, resolve: Resolve) -> list[str]:
    parts = urlsplit(test.url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    found: Iterable[Any] = resolve(parts.hostname, port, type=socket.SOCK_STREAM)
    unique = list(dict.fromkeys(str(one[4][0]) for one in found))
    if len(unique) > MAX_ADDRESSES:
        raise Conflict(f"{test.host} has {len(unique)} addresses; a test may pin {MAX_ADDRESSES}")
    return unique


def _read_proof(test: LoadTest, address: str, guard: Guard, config: Config) -> str:
    parts = urlsplit(test.url)
    order = RequestOrder(f"{parts.scheme}://{parts.netloc}{PATH}", coordinator.agent(), timeout=10.0, max_bytes=4096)
    any_port = config.allow_private or bool(config.allow_networks)
    answer = fetch(order, guard, any_port, device_load.pinned(address))
    if answer.status != 200:
        told = answer.failure and f"{answer.failure}: {answer.detail}"
        return f"{address} answers {PATH} with {told or f'status {answer.status}'}"
    if proof(test).encode() not in answer.body:
        return f"{PATH} at {address} does not hold the line {proof(test)}"
    return ""


def _end(test: LoadTest, state: LoadTest.State, reason: str) -> None:
    ended = LoadTest.objects.filter(pk=test.pk, state=LoadTest.State.RUNNING).update(
        state=state, reason=reason[:1000], ended_ms=now_ms()
    )
    if not ended and state == LoadTest.State.STOPPED:
        open_ = [LoadTest.State.PROPOSED, LoadTest.State.PROVEN]
        LoadTest.objects.filter(pk=test.pk, state__in=open_).update(state=state, reason=reason[:1000])
    if ended:
        audit("system", f"load test {state}", f"{test.url[:200]}: {reason}")
    test.refresh_from_db()
