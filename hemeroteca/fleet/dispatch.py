"""What the engine asks of the fleet's tables: who can take work, blocks offered and returned, what was judged.

The engine is the only caller. `keep` runs inside its commit: verdicts, what clients are told and what is paid become
durable together with the captures they are about, so that a crash can lose or double none of them.
"""

import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from django.db import connection, transaction
from django.db.models import Count, Q, Sum

from hemeroteca.clock import now_ms
from hemeroteca.fetch import Guard, Request, Result
from hemeroteca.fetch.body import Body
from hemeroteca.fleet import assignment, coordinator, credit_ledger, geolocation, protocol, trust
from hemeroteca.fleet.credit_ledger import Kind, Side
from hemeroteca.fleet.models import (
    Answer,
    Block,
    ClosedHost,
    Device,
    DeviceDay,
    DeviceReputation,
    FetchJob,
    FetchResult,
    UploadPart,
)
from hemeroteca.fleet.services import audit
from hemeroteca.frontier import services as frontier
from hemeroteca.frontier.models import Page
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.urls import Scope
from hemeroteca.warc import scan
from hemeroteca.warc.stored_record import Record

KEPT_DAYS = 30  # answers and blocks that ended
MAX_REPORT_BYTES = 4 << 20
MAX_SPOOLED_IN_MEMORY = 1 << 20
MAX_REST_MS = 3600_000  # longer ago nobody's request counts any more
CLOCK_MS = 300_000  # a device's clock may be wrong by this much; else the coordinator's is used


class Lender(msgspec.Struct, eq=False):
    """A device that can take work, as the engine sees it."""

    id: int
    pseudonym: str
    owner: int
    network: str
    country: str
    version: str
    activities: frozenset[str]
    categories: frozenset[str]
    trusted: bool
    speed: float
    total: int
    slowed: bool
    room: int = 1024  # URLs it can take at once
    waiting: int = 0  # URLs of its share
    pending: int = 0  # … and in its hands

    @classmethod
    def of(cls, device: Device) -> "Lender":
        return cls(
            id=device.pk,
            pseudonym=device.pseudonym,
            owner=device.owner_id,
            network=device.network,
            country=device.country,
            version=device.version,
            activities=frozenset(device.activities),
            categories=frozenset(device.categories),
            trusted=device.trusted,
            speed=device.speed,
            total=device.total,
            slowed=device.state == Device.State.SLOWED,
            room=device.room,
        )

    def takes(self, activity: str, category: str = "") -> bool:
        """Whether its owner agreed to that."""
        return activity in self.activities and (not category or category in self.categories)

    def candidate(self) -> assignment.AssignableDevice:
        return assignment.AssignableDevice(
            device=self.id,
            total=self.total,
            pending=self.pending,
            waiting=self.waiting,
            speed=self.speed,
            place=geolocation.centre(self.country),
        )


class Offer(msgspec.Struct, kw_only=True):
    """A block about to be offered."""

    share: int
    activity: str
    category: str = ""
    kind: str = "visit"
    owners: list[int] = []
    networks: list[str] = []
    urls: int
    work: protocol.LeasedWork
    seconds: float


class Verdict(msgspec.Struct, frozen=True):
    """What became of an answer of a device."""

    device: int
    version: str
    crawl: int
    key: int
    status: int
    size: int
    verdict: Answer.Verdict
    audited: bool = False  # by the engine, or a device the operator trusts
    checks: int = 0  # that the device had passed then


class Resolved(msgspec.Struct, kw_only=True):
    """What a client is told of a URL."""

    job: int
    key: int
    status: int = 0
    reason: str = ""
    location: str = ""
    capture: object = None
    devices: list[Lender] = []
    checked: bool = False
    cached: bool = False


# blocks


def lenders() -> list[Lender]:
    """Devices that are connected and may be given work."""
    found = {device.pk: Lender.of(device) for device in Device.objects.filter(coordinator.ready())}
    if found:
        live = Block.objects.filter(state__in=[Block.State.WAITING, Block.State.LEASED])
        for share, device, state, urls in live.values_list("share", "device", "state").annotate(urls=Sum("urls")):
            whose = found.get(share if state == Block.State.WAITING else device)
            if whose is not None:
                whose.pending += urls
                whose.waiting += urls if state == Block.State.WAITING else 0
    return list(found.values())


def waiting() -> dict[int, int]:
    """URLs that wait for each device, as they are now: asked often, so in plain words."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT share_id, SUM(urls) FROM fleet_block WHERE state = 'waiting' GROUP BY share_id")
        return dict(cursor.fetchall())


def offer(offers: Sequence[Offer]) -> list[int]:
    """Put blocks where devices find them; gives their numbers."""
    now = now_ms()
    rows = [
        Block(
            share_id=one.share,
            activity=one.activity,
            category=one.category,
            kind=one.kind,
            owners=one.owners,
            networks=one.networks,
            urls=one.urls,
            work=msgspec.json.encode(one.work),
            seconds=one.seconds,
            created_ms=now,
        )
        for one in offers
    ]
    return [row.pk for row in Block.objects.bulk_create(rows)]


def withdraw(numbers: Iterable[int]) -> list[int]:
    """Take back blocks nobody has taken; gives those that are the engine's again."""
    waiting = Block.objects.filter(state=Block.State.WAITING)
    return [number for number in numbers if waiting.filter(pk=number).update(state=Block.State.WITHDRAWN)]


def recall(numbers: Iterable[int]) -> None:
    """Have devices return blocks as they are, at their next heartbeat: what they have not asked is asked no more."""
    Block.objects.filter(pk__in=list(numbers), state=Block.State.LEASED).update(recalled=True)


def unwanted(before_ms: int) -> list[int]:
    """Blocks that have waited too long: their device is gone, or slower than it was."""
    rows = Block.objects.filter(state=Block.State.WAITING, created_ms__lt=before_ms)
    return list(rows.values_list("pk", flat=True)[:1000])


def passive(before_ms: int) -> list[int]:
    """Devices whose share has waited since then, and that have nothing in hand and took nothing meanwhile."""
    waits = Block.objects.filter(state=Block.State.WAITING, created_ms__lt=before_ms)
    shares = set(waits.values_list("share", flat=True))
    if not shares:
        return []
    busy = Block.objects.filter(Q(state=Block.State.LEASED) | Q(leased_ms__gte=before_ms), device__in=shares)
    return list(shares - set(busy.values_list("device", flat=True)))


def returned() -> list[Block]:
    """Blocks whose results have arrived, the first one first."""
    with connection.cursor() as cursor:  # asked twenty times a second, mostly in vain: a plain question is cheap
        cursor.execute("SELECT 1 FROM fleet_block WHERE state = 'returned' LIMIT 1")
        if cursor.fetchone() is None:
            return []
    rows = Block.objects.filter(state=Block.State.RETURNED).order_by("returned_ms").select_related("device")
    return list(rows.defer("work")[:16])


def expired() -> list[int]:
    """End the leases whose deadline has passed; their devices get a mark."""
    now = now_ms()
    late = Block.objects.filter(state=Block.State.LEASED, deadline_ms__lte=now)
    ended = []
    for number, device, nonce in list(late.values_list("pk", "device", "nonce")[:1000]):
        if Block.objects.filter(pk=number, state=Block.State.LEASED, deadline_ms__lte=now).update(
            state=Block.State.EXPIRED
        ):
            ended.append(number)
            if nonce != coordinator.LOST:
                _late(device)
    UploadPart.objects.filter(block__in=ended).delete()
    return ended


def close(number: int) -> None:
    """A block is done with."""
    with transaction.atomic():
        Block.objects.filter(pk=number).update(state=Block.State.DONE, work=b"")
        UploadPart.objects.filter(block=number).delete()


def recover() -> dict[str, int]:
    """At the start of an engine: blocks of the one before count no more. Gives the hosts devices may still be asking,
    and until when (milliseconds)."""
    now = now_ms()
    held: dict[str, int] = {}
    out = [Block.State.LEASED, Block.State.RETURNED, Block.State.WITHDRAWN]  # withdrawn from its hands by an engine
    recent = Block.objects.filter(state__in=out, device__isnull=False, deadline_ms__gt=now - MAX_REST_MS)
    for work, deadline, returned in recent.values_list("work", "deadline_ms", "returned_ms"):
        for host in msgspec.json.decode(bytes(work), type=protocol.LeasedWork).hosts:
            rests = (returned or deadline) + int(host.delay * 1000)
            if rests > now:
                held[host.host] = max(rests, held.get(host.host, 0))
    live = [Block.State.WAITING, Block.State.LEASED, Block.State.RETURNED]
    with transaction.atomic():
        Block.objects.filter(state__in=live).update(state=Block.State.WITHDRAWN)
        UploadPart.objects.all().delete()
    return held


def tidy() -> None:
    """Forget what is old."""
    old = now_ms() - KEPT_DAYS * 86_400_000
    ended = [Block.State.DONE, Block.State.EXPIRED, Block.State.WITHDRAWN]
    Block.objects.filter(state__in=ended, created_ms__lt=now_ms() - 86_400_000).delete()
    Answer.objects.filter(at_ms__lt=old).delete()


def closed_hosts() -> frozenset[str]:
    return frozenset(ClosedHost.objects.values_list("host", flat=True))


# what came back


def results(block: Block, urls: Sequence[str], guard: Guard, spool: Path) -> dict[str, Result]:
    """What a device brought, by URL. It is not believed: what is too long, unreadable, of another URL, of an address
    that is not public, or said twice, is passed over, and the URL counts as not brought."""
    found: dict[str, Result] = {}
    requests: dict[str, bytes] = {}
    reports: dict[str, protocol.FetchReport] = {}
    wanted = set(urls)
    left = coordinator.max_upload(len(wanted))  # bytes, unpacked: a small upload may hold far more
    with tempfile.NamedTemporaryFile(dir=spool, prefix="fleet-") as file:
        for part in coordinator.parts(block.pk):
            file.write(part)
        file.flush()
        for count, one in enumerate(scan.scan(Path(file.name), max_payload=coordinator.MAX_BODY_BYTES + (1 << 20))):
            if count > 4 * len(wanted) + 16:
                break
            if isinstance(one, scan.Damage):
                continue
            record = one.record
            left -= record.size
            if left < 0:
                break
            if record.kind == "metadata":
                reports = reports or _reports(record, wanted)
            elif record.url not in wanted:
                continue
            elif record.kind == "request":
                requests[record.url] = record.head
            elif record.kind == "response" and record.url not in found:
                result = _result(record, block, guard, spool)
                if result is not None:
                    found[record.url] = result
    for url in wanted:
        report = reports.get(url)
        if url in found:
            found[url].request_head = requests.get(url, b"")[: 64 << 10].replace(b"\0", b" ")
            if report is not None:
                found[url].certificate = report.certificate[:64]
                found[url].elapsed = min(max(report.seconds, 0.0), 600.0)
                found[url].truncated = report.truncated[:20]
        elif report is not None and report.failure:
            found[url] = Result(
                request=Request(url=url),
                failure=report.failure[:60],
                detail=report.detail[:300],
                transient=True,
                body=Body(),
                started_ms=block.leased_ms,
                elapsed=min(max(report.seconds, 0.0), 600.0),
            )
    return found


def _reports(record: Record, wanted: set[str]) -> dict[str, protocol.FetchReport]:
    try:
        told = msgspec.json.decode(record.body.read(MAX_REPORT_BYTES), type=list[protocol.FetchReport])
    except msgspec.MsgspecError:
        return {}
    return {one.url: one for one in told if one.url in wanted}


def _result(record: Record, block: Block, guard: Guard, spool: Path) -> Result | None:
    ip = record.headers.get("warc-ip-address", "").strip()
    if not record.status or record.missing or guard.check(ip) is not None:
        return None
    at = record.captured_ms or 0
    if not block.leased_ms - CLOCK_MS <= at <= block.returned_ms + CLOCK_MS:
        at = block.returned_ms
    if record.size > MAX_SPOOLED_IN_MEMORY:
        with tempfile.NamedTemporaryFile(dir=spool, prefix="body-", delete=False) as file:
            while chunk := record.body.read(1 << 18):
                file.write(chunk)
        body = Body(b"", file.name, record.size)
    else:
        data = record.body.read()
        body = Body(data, None, len(data))
    return Result(
        request=Request(url=record.url),
        status=record.status,
        protocol=record.headers.get("warc-protocol", "http/1.1")[:20].replace("\0", ""),
        ip=ip,
        response_head=record.head[: 256 << 10].replace(b"\0", b" "),  # no site's: PostgreSQL takes none
        body=body,
        started_ms=at,
    )


# what was judged


def reputations(devices: Iterable[Lender]) -> dict[tuple[int, str], trust.Reputation]:
    wanted = {(one.id, one.version) for one in devices}
    rows = DeviceReputation.objects.filter(device__in={number for number, _ in wanted})
    return {
        (row.device_id, row.version): trust.Reputation(row.in_a_row, row.valid, row.invalid, row.slowed)
        for row in rows
        if (row.device_id, row.version) in wanted
    }


def keep(
    verdicts: Sequence[Verdict],
    known: dict[tuple[int, str], trust.Reputation],
    resolved: Sequence[Resolved],
    device_percent: int,
) -> None:
    """Everything since the last commit; inside the engine's transaction."""
    if verdicts:
        _keep_verdicts(verdicts, known)
    if resolved:
        _keep_results(resolved, device_percent)


def _keep_verdicts(verdicts: Sequence[Verdict], known: dict[tuple[int, str], trust.Reputation]) -> None:
    now = now_ms()
    Answer.objects.bulk_create(
        [
            Answer(
                device_id=one.device,
                version=one.version,
                crawl_id=one.crawl,
                key=one.key,
                status=one.status,
                verdict=one.verdict,
                audited=one.audited,
                checks=one.checks,
                at_ms=now,
            )
            for one in {(one.device, one.crawl, one.key): one for one in verdicts}.values()
        ],
        update_conflicts=True,
        unique_fields=["device", "crawl", "key"],
        update_fields=["version", "status", "verdict", "audited", "checks", "at_ms"],
    )
    judged = {(one.device, one.version) for one in verdicts}
    rows = [
        DeviceReputation(
            device_id=device,
            version=version,
            in_a_row=known[device, version].in_a_row,
            valid=known[device, version].valid,
            invalid=known[device, version].invalid,
            slowed=known[device, version].slowed,
        )
        for device, version in judged
        if (device, version) in known
    ]
    DeviceReputation.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["device", "version"],
        update_fields=["in_a_row", "valid", "invalid", "slowed"],
    )
    for device in Device.objects.filter(pk__in={one.device for one in verdicts}).select_related("owner"):
        mine = [one for one in verdicts if one.device == device.pk]
        _count(device, mine)
        reputation = known.get((device.pk, mine[-1].version), trust.Reputation())
        if any(one.verdict == Answer.Verdict.INVALID for one in mine):
            _caught(device, mine[-1].version, reputation.valid)
        elif device.state == Device.State.SLOWED and not reputation.slowed:
            device.state, device.reason = Device.State.ACTIVE, ""
        device.save(update_fields=["counts", "state", "reason"])


def _count(device: Device, verdicts: Sequence[Verdict]) -> None:
    """For people: since ever, and of today."""
    added: Counter[str] = Counter()
    for one in verdicts:
        added[f"{one.status // 100}xx" if one.status else "none"] += 1
        added[one.verdict] += 1
        added["bytes"] += one.size
        added["requests"] += 1
    device.counts = dict(Counter(device.counts) + added)
    today = datetime.fromtimestamp(now_ms() / 1000, UTC).date()
    row, _ = DeviceDay.objects.get_or_create(device=device, day=today)
    row.counts = dict(Counter(row.counts) + added)
    row.save(update_fields=["counts"])


def _caught(device: Device, version: str, checks: int) -> None:
    """A device gave a wrong result after so many checks it passed: it is slowed, and what nobody but devices that lied
    vouches for counts no more, as far back as `trust.SEALED_AFTER` checks."""
    if device.state == Device.State.ACTIVE:
        device.state = Device.State.SLOWED
        device.reason = "it gave a result that another party could not confirm"
    sealed = Q(version=version, checks__lte=checks - trust.SEALED_AFTER)
    mine = Answer.objects.filter(~sealed, device=device.pk)
    lonely = mine.filter(verdict=Answer.Verdict.UNCHECKED)
    gone = set(lonely.values_list("crawl", "key"))
    paired = mine.filter(verdict=Answer.Verdict.VALID, audited=False)
    shared = set(paired.values_list("crawl", "key"))
    lonely.update(verdict=Answer.Verdict.WITHDRAWN)
    paired.update(verdict=Answer.Verdict.VOID)
    for crawl, keys in _by_crawl(shared).items():
        stands = Answer.objects.filter(crawl=crawl, key__in=keys, verdict=Answer.Verdict.VALID)
        gone |= {(crawl, key) for key in set(keys) - set(stands.values_list("key", flat=True))}
    audit("system", "caught", f"device {device.name} of {device.owner.name}; {len(gone)} results withdrawn")
    for crawl, keys in _by_crawl(gone).items():
        rows = FetchResult.objects.filter(job__crawl=crawl, key__in=keys, withdrawn=False, resolved_ms__gt=0)
        for row in rows.select_related("job"):
            FetchResult.objects.filter(pk=row.pk).update(withdrawn=True)
            refund(row.job, row.key)
        if not FetchJob.objects.filter(crawl=crawl).exists():
            _see_again(crawl, keys, device)


def _see_again(crawl: int, keys: Sequence[int], device: Device) -> None:
    """Pages of the instance's own crawls that only a liar saw: the engine visits them itself, soon."""
    addresses = list(Page.objects.filter(key__in=keys).values_list("url", flat=True))
    if addresses:
        options = CrawlOptions(scope=Scope(kind="page", seeds=tuple(addresses)), sitemaps=False, own=True)
        frontier.make_crawl(f"fleet withdrew {device.pk} {crawl} {now_ms()}", addresses, options)


def _by_crawl(pairs: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for crawl, key in pairs:
        found.setdefault(crawl, []).append(key)
    return found


def refund(job: FetchJob, key: int) -> bool:
    """Everybody gives back what a result brought them."""
    from hemeroteca.fleet.models import Entry

    entries = Entry.objects.filter(transfer__reason=f"fetch {job.pk} {key}").select_related("account")
    sides = [Side(Kind(one.account.kind), one.account.number, -one.amount) for one in entries]
    sides = [Side(Kind.CLIENT, job.client_id, side.amount) if side.kind == Kind.JOB else side for side in sides]
    return credit_ledger.transfer(f"refund {job.pk} {key}", sides)


def _keep_results(resolved: Sequence[Resolved], device_percent: int) -> None:
    now = now_ms()
    jobs = {job.pk: job for job in FetchJob.objects.filter(pk__in={one.job for one in resolved})}
    payments = []
    for one in resolved:
        job = jobs.get(one.job)
        if job is None:
            continue
        new = FetchResult.objects.filter(job=job, key=one.key, resolved_ms=0).update(
            resolved_ms=now,
            status=one.status,
            reason=one.reason[:1000],
            location=one.location[:2000],
            capture=one.capture,
            devices=[device.pseudonym for device in one.devices],
            country=one.devices[0].country if one.devices else "",
            checked=one.checked,
            cached=one.cached,
        )
        if new and one.status and job.price:  # what brought no answer costs nothing
            paid = credit_ledger.split(job.price, device_percent, [device.id for device in one.devices])
            payments.append((f"fetch {job.pk} {one.key}", [Side(Kind.JOB, job.pk, -job.price), *paid]))
    credit_ledger.transfer_all(payments)


def _late(device: int | None) -> None:
    """A device that keeps blocks again and again is slowed like one that lies."""
    row = Device.objects.filter(coordinator.online(), pk=device).first()
    if row is None:  # it was cut off: that is no fault
        return
    row.late += 1
    if row.late >= coordinator.MAX_LATE and row.state == Device.State.ACTIVE:
        row.state = Device.State.SLOWED
        row.reason = f"it did not return {row.late} blocks in a row"
        row.next_block_ms = now_ms() + int(trust.SLOWED_SECONDS * 1000)
        row.late = 0
    row.save(update_fields=["late", "state", "reason", "next_block_ms"])


def live_blocks() -> dict[str, int]:
    """How many blocks there are in each state, for people."""
    rows = Block.objects.values_list("state").annotate(n=Count("pk"))
    return dict(rows)
