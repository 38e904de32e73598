"""What devices ask of a web process: work, and a place for what they bring. Stateless: everything is in the database,
so that several web processes may serve the same devices.

A block is one row; a lease changes that row and the device's, nothing else. A result counts only for a live lease: the
right device, the right nonce, before the deadline.
"""

import hashlib
import ipaddress
import random
import secrets
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q, Sum

from hemeroteca import __version__
from hemeroteca.clock import now_ms
from hemeroteca.errors import Conflict, Denied, Invalid, NotFound, Unavailable
from hemeroteca.fleet import assignment, geolocation, protocol, services, trust
from hemeroteca.fleet.models import Block, ClosedHost, Device, UploadPart

HEARTBEAT_SECONDS = 30.0
OFFLINE_SECONDS = 90.0  # without a sign of life
IDLE_WAIT = (5.0, 30.0)  # s a device waits when there is nothing to do: uniform, so that they do not come together
SOON_WAIT = (0.4, 1.2)  # … when the engine is making blocks and the next one is a moment away
RECENT_MS = 30_000  # since it made the last one: a run of the only host there is takes that long
PART_BYTES = 1 << 20
MAX_BODY_BYTES = 8 << 20  # of a page fetched by a device
SPEED_MEMORY = 0.7  # of what was measured before
LOST = "lost"  # nonce of a block whose device began anew
MAX_LATE = 3  # blocks in a row that never came back, after which a device is slowed
MAX_RENEWALS_MS = 3600_000  # no lease is renewed beyond an hour
MAX_HELD = 2048  # URLs in the hands of a device: their hosts are closed to all others; a worker wants half of that
MAX_CLOSED = 1000  # hosts told at a heartbeat, the last ones first


class ComeBack(Unavailable):
    """Not now; `seconds` says when."""

    code = "come-back"

    def __init__(self, message: str, wait: tuple[float, float] = IDLE_WAIT) -> None:
        super().__init__(message)
        self.seconds = random.uniform(*wait)  # noqa: S311 - spreads devices, hides nothing


class Gone(Conflict):
    """The lease is not live any more: what comes now is thrown away."""

    code = "lease-ended"


def connect(device: Device, hello: protocol.Hello, address: str) -> protocol.Welcome:
    _admit(device)
    if _number(hello.version) < _number(protocol.MIN_VERSION):
        raise Denied(
            f"worker {hello.version} is too old for this fleet; get {protocol.MIN_VERSION} or later", "too-old"
        )
    limit = services.recent_settings().max_devices
    if not device.connected and Device.objects.filter(connected=True, seen_ms__gt=_alive()).count() >= limit:
        raise ComeBack(f"{limit} devices are connected, which is the most this fleet takes; it will ask again")
    # What a device that begins anew does not name it has lost; the hosts of those blocks stay closed until their
    # deadline. One that was only cut off names what it still works at.
    held = Block.objects.filter(device=device.pk, state=Block.State.LEASED)
    held.exclude(pk__in=hello.blocks[:1000]).update(nonce=LOST)
    network = network_of(address)
    Device.objects.filter(pk=device.pk).update(
        connected=True,
        resting=hello.resting,
        seen_ms=now_ms(),
        version=hello.version[:40],
        system=hello.system[:80],
        activities=[activity for activity in protocol.ACTIVITIES if activity in hello.activities],
        categories=[category for category in protocol.CATEGORIES if category in hello.categories],
        caps=msgspec.to_builtins(hello.caps),
        network=network,
        country=geolocation.country(address),
    )
    return protocol.Welcome(
        device=device.pseudonym,
        agent=agent(),
        heartbeat_seconds=HEARTBEAT_SECONDS,
        part_bytes=PART_BYTES,
        max_bytes=min(MAX_BODY_BYTES, settings.CONFIG.max_body_bytes),
    )


def lease(device: Device, want: protocol.Want) -> protocol.LeasedBlock:
    """The next block for a device: of its own share, or of another's that its strategy lets it take."""
    _admit(device)
    now = now_ms()
    if device.state == Device.State.SLOWED and device.next_block_ms > now:
        raise ComeBack(f"this device is slowed ({device.reason}): one block a day until it is believed again")
    held = _held(device)
    if held >= MAX_HELD:
        raise ComeBack(f"this device holds {MAX_HELD} URLs or more; it gets others when it has returned some")
    room = min(want.urls, MAX_HELD - held)
    leased = _take(device, room, now)
    _note(device, leased.urls if leased is not None else 0, room, want.speed, now)
    if leased is None:
        recent = Block.objects.order_by("-pk").values_list("created_ms", flat=True).first() or 0
        raise ComeBack("there is no work for this device now", SOON_WAIT if recent > now - RECENT_MS else IDLE_WAIT)
    return protocol.LeasedBlock(
        block=leased.number, nonce=leased.nonce, seconds=leased.seconds, work=msgspec.Raw(bytes(leased.work))
    )


def renew(device: Device, number: int, nonce: str) -> float:
    """More time for a block that takes longer; gives the seconds until the new deadline."""
    block = _live(device, number, nonce)
    deadline = now_ms() + int(block.seconds * 1000)
    if deadline > block.leased_ms + MAX_RENEWALS_MS:
        raise Gone(f"block {number} was renewed for an hour; return what there is")
    kept = Block.objects.filter(pk=number, state=Block.State.LEASED, deadline_ms__gt=now_ms()).update(
        deadline_ms=deadline
    )
    if not kept:
        raise Gone(f"the deadline of block {number} has passed")
    return block.seconds


def receive(device: Device, number: int, nonce: str, start: int, data: bytes, sha256: str = "") -> int:
    """A piece of the results of a block; with `sha256`, the last one. Gives how many bytes are here: what a device must
    go on from. A piece that is here already is passed over, so that any of them may be sent twice."""
    if len(data) > PART_BYTES:
        raise Invalid(f"a piece has at most {PART_BYTES} bytes, this one {len(data)}")
    with transaction.atomic():
        block = _live(device, number, nonce)
        if start > block.received:
            return block.received
        fresh = data[block.received - start :]
        received = block.received + len(fresh)
        if received > max_upload(block.urls):
            raise Invalid(f"the results of block {number} are longer than {max_upload(block.urls)} bytes")
        if fresh:
            UploadPart.objects.create(block=block, start=block.received, data=fresh)
            Block.objects.filter(pk=number).update(received=received)
        if not sha256:
            return received
        found = hashlib.sha256()
        for part in parts(number):
            found.update(part)
        if found.hexdigest() == sha256.lower():
            live = Block.objects.filter(pk=number, state=Block.State.LEASED)
            if not live.update(state=Block.State.RETURNED, returned_ms=now_ms()):
                raise Gone(f"the deadline of block {number} has passed; its URLs belong to somebody else now")
            Device.objects.filter(pk=device.pk).update(late=0, seen_ms=now_ms())
            wrong = ""
        else:
            UploadPart.objects.filter(block=number).delete()
            Block.objects.filter(pk=number).update(received=0)
            wrong = f"the results of block {number} do not have the hash they should have; send them again from 0"
    if wrong:
        raise Invalid(wrong, "wrong-hash")
    settings.INSTANCE.wake("engine")
    return received


def received(device: Device, number: int, nonce: str) -> int:
    """How much of the results of a block is here, after a cut."""
    return _live(device, number, nonce).received


def beat(device: Device, told: protocol.Beat) -> protocol.HeartbeatOrders:
    """A sign of life. The device learns what it must drop: blocks that ended, hosts that closed."""
    from hemeroteca.fleet import load_tests

    now = now_ms()
    kept_away = "" if device.state in (Device.State.ACTIVE, Device.State.SLOWED) else _why(device)
    paused = device.state == Device.State.PAUSED
    Device.objects.filter(pk=device.pk).update(seen_ms=now, connected=True, says=told.says, resting=told.resting)
    held = Block.objects.filter(
        pk__in=told.blocks[:1000], device=device.pk, state=Block.State.LEASED, deadline_ms__gt=now
    )
    live = dict(held.values_list("pk", "recalled"))
    closed = ClosedHost.objects.filter(at_ms__gt=now - MAX_RENEWALS_MS).order_by("-at_ms")
    return protocol.HeartbeatOrders(
        drop=[number for number in told.blocks[:1000] if number not in live],
        back=[number for number, recalled in live.items() if recalled],
        closed=list(closed.values_list("host", flat=True)[:MAX_CLOSED]),
        stop="" if paused else kept_away,
        rest=kept_away if paused else "",
        work=Block.objects.filter(state=Block.State.WAITING, share=device.pk).exists(),
        load="load" in device.activities and device.state == Device.State.ACTIVE and load_tests.waiting(),
    )


def disconnect(device: Device) -> None:
    """It says goodbye; blocks it still holds end at once: it promises to ask nothing more."""
    Device.objects.filter(pk=device.pk).update(connected=False, seen_ms=now_ms())
    Block.objects.filter(device=device.pk, state=Block.State.LEASED).update(deadline_ms=now_ms())
    settings.INSTANCE.wake("engine")


# for others


def parts(block: int) -> Iterable[bytes]:
    """The results of a block in pieces, in order; never all of them in memory."""
    rows = UploadPart.objects.filter(block=block).order_by("start").values_list("data", flat=True)
    return (bytes(data) for data in rows.iterator(chunk_size=4))


def max_upload(urls: int) -> int:
    return (urls + 1) * (MAX_BODY_BYTES + (128 << 10))


def agent() -> str:
    """The User-Agent of the fleet's requests: who asks, and where to complain."""
    config = settings.CONFIG
    about = f"{config.public_url.rstrip('/')}/bot" if config.public_url else config.contact
    return f"{protocol.AGENT}/{__version__}" + (f" (+{about})" if about else "")


def network_of(address: str) -> str:
    """The prefix of an address that tells networks apart: two devices behind one are not independent."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if isinstance(ip, ipaddress.IPv6Address):
        ip = ip.ipv4_mapped or ip  # a server that listens on both sees IPv4 like this: else all were one network
    return str(ipaddress.ip_network(f"{ip}/{24 if ip.version == 4 else 48}", strict=False))


def _held(device: Device) -> int:
    """URLs of the blocks a device has, those it lost included: their hosts wait for the deadline."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COALESCE(SUM(urls), 0) FROM fleet_block WHERE state = 'leased' AND device_id = %s", [device.pk]
        )
        return int(cursor.fetchone()[0])


class _Leased(NamedTuple):
    number: int
    urls: int
    seconds: float
    work: bytes
    nonce: str


def _take(device: Device, room: int, now: int) -> _Leased | None:
    """The first block of its share it has room for, or one it may steal: found and leased by one statement, which no
    two devices can win for the same block."""
    found = _lease_of(device, device.pk, room, now, stolen=False)
    if found is not None:
        return found
    victim = _victim(device, room)
    return _lease_of(device, victim, room, now, stolen=True) if victim is not None else None


def _lease_of(device: Device, share: int, room: int, now: int, stolen: bool) -> _Leased | None:
    nonce = secrets.token_hex(16)
    activities = [one for one in device.activities if one in protocol.ACTIVITIES]
    if not activities:
        return None
    marks = ", ".join(["%s"] * len(activities))
    order = "AND kind = 'visit' ORDER BY id DESC" if stolen else "ORDER BY id"
    locked = "FOR UPDATE SKIP LOCKED" if connection.vendor == "postgresql" else ""
    allowed = ["", *device.categories]
    kinds = ", ".join(["%s"] * len(allowed))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE fleet_block SET state = 'leased', device_id = %s, nonce = %s, leased_ms = %s, "  # noqa: S608
            "deadline_ms = CAST(%s + seconds * 1000 AS bigint) WHERE id = (SELECT id FROM fleet_block "
            f"WHERE state = 'waiting' AND share_id = %s AND urls <= %s AND activity IN ({marks}) "
            f"AND category IN ({kinds}) {order} LIMIT 1 {locked}) AND state = 'waiting' "
            "RETURNING id, urls, seconds, work",
            [device.pk, nonce, now, now, share, room, *activities, *allowed],
        )
        row = cursor.fetchone()
    if row is None:
        return None
    number, urls, seconds, work = row
    return _Leased(number, urls, seconds, work, nonce)


def _victim(device: Device, room: int) -> int | None:
    """From whose share this device, which has none, takes."""
    strategy = assignment.STRATEGIES[services.recent_settings().strategy]
    if strategy.steal is None:
        return None
    shares = (
        Block.objects.filter(
            state=Block.State.WAITING,
            kind="visit",
            urls__lte=room,
            activity__in=device.activities,
            category__in=["", *device.categories],
        )
        .values("share", "share__speed", "share__country", "share__total")
        .annotate(waiting=Sum("urls"))
    )
    others = [
        assignment.AssignableDevice(
            device=row["share"],
            total=row["share__total"],
            pending=row["waiting"],
            waiting=row["waiting"],
            speed=row["share__speed"],
            place=geolocation.centre(row["share__country"]),
        )
        for row in shares
    ]
    me = assignment.AssignableDevice(device=device.pk, speed=device.speed, place=geolocation.centre(device.country))
    return strategy.victim(me, others)


def _note(device: Device, urls: int, room: int, speed: float, now: int) -> None:
    """What a lease changes of its device: one plain statement."""
    measured = device.speed
    if 0 < speed < 10_000:
        measured = SPEED_MEMORY * device.speed + (1 - SPEED_MEMORY) * speed if device.speed else speed
    due = device.next_block_ms
    if urls and device.state == Device.State.SLOWED:
        due = now + int(trust.SLOWED_SECONDS * 1000)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE fleet_device SET seen_ms = %s, connected = %s, resting = %s, total = total + %s, speed = %s, "
            "room = %s, next_block_ms = %s WHERE id = %s",
            [now, True, False, urls, measured, room, due, device.pk],
        )


def _live(device: Device, number: int, nonce: str) -> Block:
    """A block that is in the hands of this device; else it says what it is."""
    block = Block.objects.filter(pk=number).defer("work").first()
    if block is None or block.device_id != device.pk or not _is_nonce(block.nonce, nonce):
        raise NotFound(f"block {number} was not leased to this device with this nonce")
    if block.state == Block.State.RETURNED or block.state == Block.State.DONE:
        raise Gone(f"block {number} was returned already")
    if block.state != Block.State.LEASED or block.deadline_ms <= now_ms():
        raise Gone(f"the deadline of block {number} has passed; its URLs belong to somebody else now")
    return block


def _is_nonce(kept: str, given: str) -> bool:
    return kept != LOST and secrets.compare_digest(kept.encode(), given.encode("utf-8", "replace"))


def _admit(device: Device) -> None:
    if device.state not in (Device.State.ACTIVE, Device.State.SLOWED):
        raise Denied(_why(device), device.state)


def _why(device: Device) -> str:
    return f"this device is {device.state}" + (f": {device.reason}" if device.reason else "")


def _alive() -> int:
    return now_ms() - int(OFFLINE_SECONDS * 1000)


def online() -> Q:
    """Devices that are there, and that nobody keeps from work."""
    return Q(connected=True, seen_ms__gt=_alive(), state__in=[Device.State.ACTIVE, Device.State.SLOWED])


def ready() -> Q:
    """Those that take work now: not on battery, outside their hours or refused by sites."""
    return online() & Q(resting=False)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split(".")[:3])
