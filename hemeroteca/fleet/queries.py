"""The fleet for people: devices, credits, what it did. Reads only."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from django.db.models import Count, Q, Sum

from hemeroteca import spreadsheet
from hemeroteca.accounts import Actor, can, require
from hemeroteca.accounts.models import User
from hemeroteca.fleet import coordinator, credit_ledger, dispatch, geolocation, protocol, services, trust
from hemeroteca.fleet.credit_ledger import UNIT, Kind
from hemeroteca.fleet.models import (
    Account,
    AuditLine,
    Block,
    Client,
    ClosedHost,
    Device,
    DeviceDay,
    DeviceReputation,
    Entry,
    FetchJob,
    FetchResult,
)

COUNTS = ("requests", "valid", "invalid", "bytes", "2xx", "3xx", "4xx", "5xx", "none")  # of a device, for people


class FleetStatus(msgspec.Struct, frozen=True):
    devices: int
    online: int
    slowed: int
    blocks: dict[str, int]  # by state
    jobs_running: int
    requests: int  # answers of devices, ever
    valid: int
    invalid: int
    ledger: int  # 0: the books are right
    settings: protocol.FleetSettings


class DeviceFacts(msgspec.Struct, frozen=True):
    """What its owner and the operator see of a device."""

    id: int
    name: str
    owner: str
    state: str  # online, offline, paused, slowed, suspended, expelled
    reason: str
    says: str  # the device itself: what it does, or why it takes no work
    score: int  # checked results that were valid in a row
    checked: float  # share of its results that somebody checks
    version: str
    system: str
    country: str
    network: str
    activities: list[str]
    categories: list[str]
    caps: protocol.LentCaps
    trusted: bool
    seen_ms: int
    total: int
    speed: float
    counts: dict[str, int]
    today: dict[str, int]  # the same, of today
    credits: float


class Line(msgspec.Struct, frozen=True):
    """Of a statement."""

    at_ms: int
    reason: str
    amount: float


def status() -> FleetStatus:
    devices = Device.objects.aggregate(
        all=Count("pk"), online=Count("pk", filter=coordinator.online()), slowed=Count("pk", filter=Q(state="slowed"))
    )
    counts: dict[str, int] = {}
    for one in Device.objects.values_list("counts", flat=True):
        for name in ("requests", "valid", "invalid"):
            counts[name] = counts.get(name, 0) + one.get(name, 0)
    return FleetStatus(
        devices=devices["all"],
        online=devices["online"],
        slowed=devices["slowed"],
        blocks=dispatch.live_blocks(),
        jobs_running=FetchJob.objects.filter(crawl__state="running").count(),
        requests=counts.get("requests", 0),
        valid=counts.get("valid", 0),
        invalid=counts.get("invalid", 0),
        ledger=credit_ledger.total(),
        settings=services.fleet_settings(),
    )


def devices(actor: Actor, owner: User | None = None) -> list[DeviceFacts]:
    """All of them for the operator, their own for everybody else."""
    if owner is None and not can(actor, "fleet.devices"):
        owner = actor.user
    require(actor, "fleet.devices", owner)
    rows = Device.objects.select_related("owner").order_by("pk")
    rows = rows.filter(owner=owner) if owner is not None else rows
    reputations = {(one.device_id, one.version): one for one in DeviceReputation.objects.filter(device__in=rows)}
    balances = dict(Account.objects.filter(kind=Kind.DEVICE).values_list("number", "balance"))
    alive = set(rows.filter(coordinator.online()).values_list("pk", flat=True))
    work = DeviceDay.objects.filter(device__in=rows, day=datetime.now(UTC).date())
    today = dict(work.values_list("device", "counts"))
    found = []
    for row in rows:
        reputation = reputations.get((row.pk, row.version))
        score = reputation.in_a_row if reputation is not None else 0
        state = row.state if row.state != Device.State.ACTIVE else "online" if row.pk in alive else "offline"
        found.append(
            DeviceFacts(
                id=row.pk,
                name=row.name,
                owner=row.owner.name,
                state=state,
                reason=row.reason,
                says=row.says if row.pk in alive else "",
                score=score,
                checked=round(trust.share_checked(trust.Reputation(score)), 3),
                version=row.version,
                system=row.system,
                country=row.country,
                network=row.network,
                activities=row.activities,
                categories=row.categories,
                caps=msgspec.convert(row.caps, protocol.LentCaps),
                trusted=row.trusted,
                seen_ms=row.seen_ms,
                total=row.total,
                speed=round(row.speed, 2),
                counts=row.counts,
                today=today.get(row.pk, {}),
                credits=balances.get(row.pk, 0) / UNIT,
            )
        )
    return found


class DeviceDayFacts(msgspec.Struct, frozen=True):
    """Of a device, for a chart."""

    day: str
    requests: int
    valid: int
    invalid: int
    bytes: int
    statuses: dict[str, int]

    @property
    def counts(self) -> dict[str, int]:
        """As `DeviceFacts` has them."""
        kinds = {"requests": self.requests, "valid": self.valid, "invalid": self.invalid, "bytes": self.bytes}
        return kinds | self.statuses


def days(actor: Actor, device: Device, count: int = 30) -> list[DeviceDayFacts]:
    """What a device did on each of the last days, oldest first; days without work are there, with nothing."""
    require(actor, "fleet.devices", device)
    today = datetime.now(UTC).date()
    rows = {row.day: row.counts for row in DeviceDay.objects.filter(device=device, day__gt=today - timedelta(count))}
    found = []
    for back in range(count - 1, -1, -1):
        day = today - timedelta(back)
        counts = rows.get(day, {})
        classes = {name: n for name, n in counts.items() if name.endswith("xx") or name == "none"}
        found.append(
            DeviceDayFacts(
                day=day.isoformat(),
                requests=counts.get("requests", 0),
                valid=counts.get("valid", 0),
                invalid=counts.get("invalid", 0),
                bytes=counts.get("bytes", 0),
                statuses=classes,
            )
        )
    return found


def countries() -> list[dict[str, Any]]:
    """Devices of each country, and how many are online: for the map."""
    found: dict[str, dict[str, Any]] = {}
    alive = set(Device.objects.filter(coordinator.online()).values_list("pk", flat=True))
    for pk, country in Device.objects.values_list("pk", "country"):
        place = geolocation.centre(country)
        one = found.setdefault(
            country, {"country": country, "devices": 0, "online": 0, "latitude": None, "longitude": None}
        )
        one["devices"] += 1
        one["online"] += pk in alive
        if place is not None:
            one["latitude"], one["longitude"] = place
    return sorted(found.values(), key=lambda one: (-one["devices"], one["country"]))


def leaderboard(limit: int = 50) -> list[dict[str, Any]]:
    """Devices whose owners want to be seen, by valid results; only what they are called."""
    rows = Device.objects.filter(listed=True).select_related("owner")
    found = [
        {"device": row.name, "owner": row.owner.name, "valid": row.counts.get("valid", 0), "requests": row.total}
        for row in rows
    ]
    return sorted(found, key=lambda one: -one["valid"])[:limit]


def balances(actor: Actor) -> list[dict[str, Any]]:
    """Every account with its balance, for the operator; else those of the actor."""
    rows = Account.objects.exclude(kind=Kind.JOB, balance=0).order_by("kind", "number")
    if not can(actor, "fleet.operate"):
        require(actor, "fleet.credits", actor.user)
        rows = rows.filter(_accounts_of(actor.user))
    named = Device.objects.values_list("pk", "name", "owner__name")
    device_names = {pk: f"{owner}/{name}" for pk, name, owner in named}
    client_names = dict(Client.objects.values_list("pk", "owner__name"))
    names = {Kind.DEVICE: device_names, Kind.CLIENT: client_names}
    return [
        {
            "account": row.kind,
            "name": names.get(Kind(row.kind), {}).get(row.number, str(row.number or "")),
            "balance": row.balance / UNIT,
        }
        for row in rows
    ]


def statement(actor: Actor, kind: Kind, number: int, owner: User | None, limit: int = 1000) -> list[Line]:
    """The entries of one account, newest first."""
    require(actor, "fleet.credits", owner)
    rows = Entry.objects.filter(account__kind=kind, account__number=number).select_related("transfer").order_by("-pk")
    return [Line(row.transfer.at_ms, row.transfer.reason, row.amount / UNIT) for row in rows[:limit]]


class AccountLine(msgspec.Struct, frozen=True):
    """Of a statement over several accounts."""

    at_ms: int
    account: str
    reason: str
    amount: float


def own_lines(actor: Actor, limit: int = 10_000) -> list[AccountLine]:
    """The entries of all accounts of the actor, newest first."""
    require(actor, "fleet.credits", actor.user)
    accounts = {row.pk: row for row in Account.objects.filter(_accounts_of(actor.user))}
    names = dict(Device.objects.filter(owner=actor.user).values_list("pk", "name"))
    rows = Entry.objects.filter(account__in=list(accounts)).select_related("transfer").order_by("-pk")[:limit]
    found = []
    for row in rows:
        account = accounts[row.account_id]
        name = names.get(account.number, "") if account.kind == Kind.DEVICE else ""
        found.append(AccountLine(row.transfer.at_ms, name or account.kind, row.transfer.reason, row.amount / UNIT))
    return found


def client(user: User) -> Client | None:
    return Client.objects.filter(owner=user).first()


def balance_of(client: Client) -> float:
    """Credits a client has left."""
    return credit_ledger.balance(Kind.CLIENT, client.pk) / UNIT


def used_today(user: User) -> int:
    """URLs a client ordered within a day."""
    since = services.now_ms() - 86_400_000
    rows = FetchJob.objects.filter(client__owner=user, created_ms__gt=since)
    return rows.aggregate(sum=Sum("urls"))["sum"] or 0


def jobs_of(actor: Actor, limit: int = 100) -> list[FetchJob]:
    """What was ordered: by the actor; by everybody, for the operator."""
    rows = FetchJob.objects.select_related("crawl", "client__owner").order_by("-pk")
    return list((rows if can(actor, "fleet.operate") else rows.filter(client__owner=actor.user))[:limit])


def leases(actor: Actor, limit: int = 50) -> list[Block]:
    """Blocks in the hands of devices, newest first."""
    require(actor, "fleet.operate")
    rows = Block.objects.filter(state=Block.State.LEASED).select_related("device").defer("work").order_by("-pk")
    return list(rows[:limit])


def as_csv(rows: list[dict[str, Any]], names: Sequence[str] = ()) -> str:
    columns = names or next(map(list, rows), [])
    return spreadsheet.text([columns, *([row[name] for name in columns] for row in rows)]) if columns else ""


def closed() -> list[ClosedHost]:
    return list(ClosedHost.objects.order_by("host"))


def log(actor: Actor, limit: int = 100) -> list[AuditLine]:
    require(actor, "fleet.operate")
    return list(AuditLine.objects.order_by("-pk")[:limit])


def complaints(actor: Actor) -> list[FetchResult]:
    require(actor, "fleet.operate")
    return list(FetchResult.objects.filter(complaint_state="open").order_by("pk")[:1000])


def clients(actor: Actor) -> list[Client]:
    require(actor, "fleet.operate")
    return list(Client.objects.select_related("owner").order_by("pk"))


def _accounts_of(user: User | None) -> Q:
    mine = list(Device.objects.filter(owner=user).values_list("pk", flat=True))
    ordered = list(Client.objects.filter(owner=user).values_list("pk", flat=True))
    return Q(kind=Kind.DEVICE, number__in=mine) | Q(kind=Kind.CLIENT, number__in=ordered)
