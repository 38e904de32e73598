"""What people do with the fleet: lend devices, ask to be a client, operate. The only writer of these tables, with
`coordinator` (for devices), `fetches` (for clients) and `dispatch` (for the engine)."""

import hmac
import json
import re
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import msgspec
from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet

from hemeroteca import urls
from hemeroteca.accounts import Actor, can, require
from hemeroteca.accounts import services as accounts
from hemeroteca.accounts.models import User
from hemeroteca.clock import now_ms as now_ms  # asked for here by other rooms, too
from hemeroteca.errors import Busy, Conflict, Invalid, NotFound
from hemeroteca.fleet import credit_ledger
from hemeroteca.fleet.assignment import STRATEGIES
from hemeroteca.fleet.models import AuditLine, Client, ClosedHost, Device, LoadTest, Setting, VantageCheck
from hemeroteca.fleet.protocol import FleetSettings
from hemeroteca.instance.sealed_secrets import digest
from hemeroteca.instance.status import set_aside
from hemeroteca.plain import whole_number

TOKEN_MARK = "hemdev_"  # noqa: S105 - lets people and secret scanners recognise a leaked token
PREFIX_LENGTH = 16
CODE_SECONDS = 900
ROTATION_SECONDS = 3600  # the old token is valid so long beside the new one
FIRST_CREDITS = 1000  # an approved client begins with
MAX_DEVICES_EACH = 100
MAX_AUDIT = 100_000
MAX_LISTED = 200
_NAME = re.compile(r"[\w][\w .@-]{0,63}")
SETTING_RANGES = {
    "cache_seconds": (0, 30 * 86_400),
    "probe_percent": (0, 20),
    "max_block": (1, 1024),
    "task_seconds": (1.0, 600.0),
    "max_devices": (1, 1_000_000),
    "device_percent": (0, 100),
}

Row = TypeVar("Row", LoadTest, VantageCheck)
# not read of a device that calls
_LEFT_OUT = ("code_digest", "code_until_ms", "created_ms", "system", "counts", "listed", "caps", "says", "resting")
_CALLER_FIELDS = [one.attname for one in Device._meta.concrete_fields if one.name not in _LEFT_OUT]
_LISTS = [_CALLER_FIELDS.index(name) for name in ("activities", "categories")]
_CALLER = (
    f"SELECT u.is_active, {', '.join(f'd.{name}' for name in _CALLER_FIELDS)} "  # noqa: S608
    "FROM fleet_device d JOIN user_account u ON u.id = d.owner_id "
    "WHERE d.prefix = %s OR (d.old_prefix = %s AND d.old_until_ms > %s)"
)


class NewDevice(NamedTuple):
    device: Device
    token: str  # shown once, never kept


# devices


def add_device(actor: Actor, name: str, owner: User, days: int = 0) -> NewDevice:
    """A device its owner lends. Its token is given by file; or by a code: `make_code`."""
    require(actor, "fleet.device", owner)
    name = name.strip()
    if not _NAME.fullmatch(name):
        raise Invalid(f"{name!r} cannot be the name of a device; write 1 to 64 letters, digits, spaces, dots or dashes")
    with transaction.atomic():
        if Device.objects.filter(owner=owner, name=name).exists():
            raise Conflict(f"{owner.name} already has a device {name!r}; choose another name, or rotate its token")
        if Device.objects.filter(owner=owner).count() >= MAX_DEVICES_EACH:
            raise Conflict(f"{owner.name} has {MAX_DEVICES_EACH} devices; remove one first")
        token = _new_token()
        device = Device.objects.create(
            owner=owner,
            name=name,
            pseudonym=secrets.token_hex(6),
            prefix=token[:PREFIX_LENGTH],
            digest=digest(token),
            expires_ms=_end_of(days),
            created_ms=now_ms(),
        )
    return NewDevice(device, token)


def rotate_token(actor: Actor, device: Device, days: int = 0) -> str:
    """Another token, with a term of its own; the old one is valid for an hour more, so that the device can be given the
    new one at leisure."""
    require(actor, "fleet.device", device)
    token = _new_token()
    device.old_prefix, device.old_digest = device.prefix, device.digest
    device.old_until_ms = now_ms() + ROTATION_SECONDS * 1000
    if device.expires_ms:  # … unless it ended before
        device.old_until_ms = min(device.old_until_ms, device.expires_ms)
    device.prefix, device.digest, device.expires_ms = token[:PREFIX_LENGTH], digest(token), _end_of(days)
    device.save(update_fields=["old_prefix", "old_digest", "old_until_ms", "prefix", "digest", "expires_ms"])
    return token


def revoke_token(actor: Actor, device: Device) -> None:
    """No token is valid any more, from this moment; `rotate_token` makes another."""
    require(actor, "fleet.device", device)
    device.prefix, device.digest = f"-{secrets.token_hex(7)}", ""
    device.old_digest = device.code_digest = ""
    device.connected = False
    device.save(update_fields=["prefix", "digest", "old_digest", "code_digest", "connected"])


def make_code(actor: Actor, device: Device) -> str:
    """A short code to type on the device within a quarter of an hour, once, instead of a token."""
    require(actor, "fleet.device", device)
    letters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
    code = "-".join("".join(secrets.choice(letters) for _ in range(5)) for _ in range(3))
    device.code_digest, device.code_until_ms = digest(code), now_ms() + CODE_SECONDS * 1000
    device.save(update_fields=["code_digest", "code_until_ms"])
    return code


def redeem_code(code: str) -> str:
    """The token for a code, without an end; the code is used up, and tokens before it are no longer valid."""
    spelled = code.strip().upper()
    with transaction.atomic():
        device = Device.objects.filter(code_digest=digest(spelled), code_until_ms__gt=now_ms()).first()
        if device is None or not spelled:
            raise NotFound("this code is unknown, used or too old; `hemeroteca fleet device code NAME` makes another")
        token = _new_token()
        taken = Device.objects.filter(pk=device.pk, code_digest=device.code_digest).update(
            code_digest="", old_digest="", prefix=token[:PREFIX_LENGTH], digest=digest(token), expires_ms=0
        )
    if not taken:
        raise NotFound("this code was used a moment ago")
    return token


def set_state(actor: Actor, device: Device, state: Device.State, reason: str = "") -> None:
    """An owner may pause a device and let it go on; the operator may do everything."""
    mine = state in (Device.State.PAUSED, Device.State.ACTIVE) and device.state in (
        Device.State.PAUSED,
        Device.State.ACTIVE,
    )
    require(actor, "fleet.device" if mine else "fleet.operate", device)
    device.state, device.reason = state, reason
    device.save(update_fields=["state", "reason"])
    if not mine:
        audit(actor.name, state, f"device {device.name} of {device.owner.name}: {reason}")


def set_trusted(actor: Actor, device: Device, trusted: bool) -> None:
    require(actor, "fleet.operate")
    device.trusted = trusted
    device.save(update_fields=["trusted"])
    audit(actor.name, "trusted" if trusted else "not trusted", f"device {device.name} of {device.owner.name}")


def list_device(actor: Actor, device: Device, listed: bool) -> None:
    """Show it on the leaderboard, or not."""
    require(actor, "fleet.device", device)
    device.listed = listed
    device.save(update_fields=["listed"])


def device(number: int) -> Device:
    row = Device.objects.select_related("owner").filter(pk=number).first() if number < 1 << 63 else None
    if row is None:
        raise NotFound(f"there is no device {number}")
    return row


def find_device(name: str, owner: User | None = None) -> Device:
    """By name, or by number; of one person when several have one of that name."""
    rows = Device.objects.select_related("owner")
    rows = rows.filter(owner=owner) if owner is not None else rows
    found = list(rows.filter(name=name)[:2]) or list(rows.filter(pk=whole_number(name) or 0))
    if len(found) != 1:
        which = "several people have a device" if found else "there is no device"
        raise NotFound(f"{which} {name!r}; `hemeroteca fleet devices` lists them, --owner tells them apart")
    return found[0]


def device_of(token: str) -> Device | None:
    """Whom a token belongs to; None when it is unknown, replaced, revoked or too old. One plain statement: it is asked
    with each lease. What a lease does not need (`counts`, …) is read when somebody looks at it."""
    if not token.startswith(TOKEN_MARK) or len(token) > 200 or not token.isprintable():
        return None
    prefix, given, now = token[:PREFIX_LENGTH], digest(token), now_ms()
    with connection.cursor() as cursor:
        cursor.execute(_CALLER, [prefix, prefix, now])
        rows = cursor.fetchall()
    for is_active, *values in rows:
        for place in _LISTS:
            values[place] = json.loads(values[place]) if isinstance(values[place], str) else values[place]
        device = Device.from_db(connection.alias, _CALLER_FIELDS, values)
        kept = device.digest if device.prefix == prefix else device.old_digest
        if kept and hmac.compare_digest(kept, given):
            return device if is_active and not 0 < device.expires_ms <= now else None
    return None


# clients


def ask(actor: Actor, owner: User, purpose: str) -> Client:
    """Ask to be a client; the operator approves the purpose."""
    require(actor, "fleet.ask", owner)
    purpose = purpose.strip()
    if len(purpose) < 10:
        raise Invalid("say in a sentence what the fleet would fetch for you, and why (`purpose`)")
    client, _ = Client.objects.update_or_create(
        owner=owner,
        defaults={"purpose": purpose[:2000], "state": Client.State.ASKED},
        create_defaults={
            "purpose": purpose[:2000],
            "secret": secrets.token_urlsafe(32),
            "created_ms": now_ms(),
        },
    )
    return client


def approve(actor: Actor, client: Client, credits_given: int = FIRST_CREDITS, per_day: int = 10_000) -> None:
    require(actor, "fleet.operate")
    Client.objects.filter(pk=client.pk).update(state=Client.State.APPROVED, per_day=per_day, reason="")
    if credits_given:
        give(actor, client, credits_given)
    audit(actor.name, "approved", f"client {client.owner.name}: {client.purpose[:200]}")


def refuse(actor: Actor, client: Client, reason: str) -> None:
    require(actor, "fleet.operate")
    Client.objects.filter(pk=client.pk).update(state=Client.State.REFUSED, reason=reason)
    audit(actor.name, "refused client", f"{client.owner.name}: {reason}")


def give(actor: Actor, client: Client, amount: float, reason: str = "") -> None:
    """Give a client credits. The same `reason` twice gives them once."""
    require(actor, "fleet.operate")
    if not 0 < amount <= 1e9:
        raise Invalid(f"{amount} credits cannot be given; write a number above 0")
    name = reason or f"give {client.pk} {secrets.token_hex(8)}"
    credit_ledger.issue(client.pk, round(amount * credit_ledger.UNIT), name[:80])


def client_of(actor: Actor) -> Client:
    """The client an actor is. Whoever operates the instance needs no approval of its own."""
    require(actor, "fleet.fetch")
    if actor.user is None:
        raise Invalid("fetching needs a person's token: results and credits belong to somebody")
    client = Client.objects.select_related("owner").filter(owner=actor.user).first()
    if client is None and can(actor, "fleet.operate"):
        client = ask(actor, actor.user, "the operator's own requests")
        Client.objects.filter(pk=client.pk).update(state=Client.State.APPROVED)
        client.state = Client.State.APPROVED
    if client is None:
        raise Conflict(
            "you are not a client of this fleet; ask to be one with POST /api/v1/fleet/client and a purpose",
            "not-a-client",
        )
    if client.state != Client.State.APPROVED:
        told = "has not decided yet" if client.state == Client.State.ASKED else f"said no: {client.reason}"
        raise Conflict(f"the operator {told}", "not-approved")
    return client


def owned(actor: Actor, rows: QuerySet[Row], action: str) -> list[Row]:
    """What the actor ordered, newest first; everything for the operator."""
    if not can(actor, "fleet.operate"):
        require(actor, action, actor.user)
        rows = rows.filter(owner=actor.user)
    return list(rows.select_related("owner").order_by("-pk")[:MAX_LISTED])


def find_owned(actor: Actor, rows: QuerySet[Row], action: str, public_id: UUID, what: str) -> Row:
    row = rows.select_related("owner").filter(public_id=public_id).first()
    if row is None:
        raise NotFound(f"there is no {what} {public_id}")
    require(actor, action, row)
    return row


def find_client(name: str) -> Client:
    client = Client.objects.select_related("owner").filter(owner=accounts.find_user(name)).first()
    if client is None:
        raise NotFound(f"{name!r} is no client; `hemeroteca fleet client add {name} --purpose …` makes one")
    return client


# hosts that are left alone


_LOOKS = threading.BoundedSemaphore(2)  # at once: each holds a thread of the console while a slow server answers


@contextmanager
def looking() -> Iterator[None]:
    """While a proof is read at a server of somebody's choice. Raises Busy while others are looked at."""
    if not _LOOKS.acquire(blocking=False):
        raise Busy("other hosts are being looked at; try again in a minute")
    try:
        yield
    finally:
        _LOOKS.release()


def close_host(actor: Actor, host: str, reason: str, *, by_owner: bool = False) -> ClosedHost:
    """Leave a host, and all below it, alone. Devices obey with their next heartbeat, leased blocks included."""
    if not by_owner:
        require(actor, "fleet.operate")
    try:
        name = urls.host(urls.canonical(f"http://{host.strip()}/"))
    except urls.UrlError as error:
        raise Invalid(f"{host!r} is not a host name ({error}); write it like example.org")
    row, _ = ClosedHost.objects.update_or_create(
        host=name, defaults={"reason": reason[:500], "by_owner": by_owner, "at_ms": now_ms()}
    )
    audit(actor.name, "closed", f"{name}: {reason}")
    return row


def open_host(actor: Actor, host: str) -> None:
    require(actor, "fleet.operate")
    count, _ = ClosedHost.objects.filter(host=host.strip().lower()).delete()
    if not count:
        raise NotFound(f"{host!r} is not closed; `hemeroteca fleet log` tells which are and why")
    audit(actor.name, "opened", host)


def closed_reason(host: str) -> str:
    """Why a host is left alone; empty when it is not."""
    labels = host.split(".")
    above = [".".join(labels[place:]) for place in range(len(labels))]
    row = ClosedHost.objects.filter(host__in=above).first()
    return f"closed to the fleet: {row.reason}" if row is not None else ""


# settings


def fleet_settings() -> FleetSettings:
    """As they were set; the usual ones when those cannot be read."""
    row = Setting.objects.filter(pk=1).first()
    try:
        return msgspec.convert(row.values, FleetSettings) if row is not None else FleetSettings()
    except msgspec.ValidationError as error:
        set_aside(settings.INSTANCE, "the settings of the fleet", error)
        return FleetSettings()


def recent_settings() -> FleetSettings:
    """At most two seconds old: a lease does not read them each time."""
    return _settings_at(int(time.monotonic() / 2), settings.CONFIG.data)


@lru_cache(maxsize=1)
def _settings_at(moment: int, data: object) -> FleetSettings:
    return fleet_settings()


def change_settings(actor: Actor, changes: dict[str, Any]) -> FleetSettings:
    """Everybody obeys within seconds; nothing is restarted."""
    require(actor, "fleet.operate")
    known = {field.name for field in msgspec.structs.fields(FleetSettings)}
    for name in changes:
        if name not in known:
            raise Invalid(f"`{name}` is not a setting of the fleet; these are: {', '.join(sorted(known))}")
    if changes.get("strategy", "auto") not in STRATEGIES:
        raise Invalid(f"strategy {changes['strategy']!r} is not known; write one of: {', '.join(STRATEGIES)}")
    for name, value in changes.items():
        bounds = SETTING_RANGES.get(name)
        try:
            given = getattr(msgspec.convert({name: value}, FleetSettings, strict=False), name)
            possible = bounds is None or bounds[0] <= given <= bounds[1]
        except msgspec.ValidationError:
            possible = False
        if not possible:
            wanted = f"{bounds[0]} to {bounds[1]}" if bounds is not None else "true or false"
            raise Invalid(f"{name} = {value} is not possible; write {wanted}")
    with transaction.atomic():
        merged = {**msgspec.to_builtins(fleet_settings()), **changes}
        kept = msgspec.convert(merged, FleetSettings, strict=False)
        Setting.objects.update_or_create(pk=1, defaults={"values": msgspec.to_builtins(kept), "changed_ms": now_ms()})
    _settings_at.cache_clear()
    audit(actor.name, "set", ", ".join(f"{name}={value}" for name, value in changes.items()))
    return kept


def audit(who: str, what: str, detail: str) -> None:
    row = AuditLine.objects.create(at_ms=now_ms(), who=who[:80], what=str(what)[:40], detail=detail[:2000])
    if row.pk % 1000 == 0:
        AuditLine.objects.filter(pk__lte=row.pk - MAX_AUDIT).delete()


def _end_of(days: int) -> int:
    """When a token that is valid for so many days ends; 0: never."""
    return now_ms() + days * 86_400_000 if days else 0


def _new_token() -> str:
    return TOKEN_MARK + secrets.token_urlsafe(32)
