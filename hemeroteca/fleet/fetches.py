"""What clients ask of the fleet: URLs to fetch, and their results.

A job is a crawl of exactly its URLs, so that robots.txt, politeness, retries, the archive and kills are what they are
for every crawl. What it may cost is reserved when it is ordered; what was not needed goes back when it has ended.
"""

import hashlib
import hmac
import re
import time
import uuid
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import Count, Q, Sum

from hemeroteca import urls as addresses
from hemeroteca.accounts import SYSTEM, Actor, can, require
from hemeroteca.clock import now_ms
from hemeroteca.config import Config
from hemeroteca.errors import Conflict, Invalid, NotFound
from hemeroteca.fleet import credit_ledger, dispatch, protocol, refusals, services
from hemeroteca.fleet.credit_ledger import Kind, Side
from hemeroteca.fleet.models import Client, FetchJob, FetchResult
from hemeroteca.fleet.services import audit
from hemeroteca.frontier import services as frontier
from hemeroteca.frontier.models import FETCH, Crawl
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.jobs import services as jobs

MAX_URLS = 10_000
MAX_HEADERS = 10
HEADERS = ("accept", "accept-language", "if-none-match", "if-modified-since", "range")  # never Cookie, Authorization
_VALUE = re.compile(r"[\x20-\x7e]{0,1000}")
BLOCKED = (403, 451)
BLOCKED_SECONDS = 86_400
WEBHOOK_TRIES = 6
WEBHOOK_SECONDS = 2.0  # until the first further try; doubles


class FetchJobOrder(msgspec.Struct, kw_only=True):
    urls: list[str]
    category: str = "general"
    method: str = "GET"
    headers: dict[str, str] = {}
    max_age: int | None = None  # seconds; None: as long as the instance keeps answers
    webhook: str = ""


class Progress(msgspec.Struct, frozen=True):
    """How a job stands."""

    state: Literal["running", "finished", "cancelled"]
    urls: int
    resolved: int
    answered: int  # with an HTTP status
    refused: int  # without one: robots.txt, the block list, failures


def order(actor: Actor, wanted: FetchJobOrder) -> FetchJob:
    """Have URLs fetched. URLs that cannot be are results with their reason from the start."""
    client = services.client_of(actor)
    headers = _headers(wanted)
    if not 1 <= len(wanted.urls) <= MAX_URLS:
        raise Invalid(f"a job has 1 to {MAX_URLS} URLs, this one {len(wanted.urls)}")
    if wanted.category not in protocol.CATEGORIES:
        raise Invalid(f"{wanted.category!r} is no category; write one of: {', '.join(protocol.CATEGORIES)}")
    if wanted.webhook:
        try:
            addresses.canonical(wanted.webhook)
        except addresses.UrlError as error:
            raise Invalid(f"the webhook cannot be told: {error}")
    fleet = services.fleet_settings()
    rows = _rows(client, wanted.urls)
    _leave_blocked(client, rows)
    good = [row for row in rows if not row.resolved_ms]
    with transaction.atomic():
        _within_quota(client, len(rows))
        job = FetchJob.objects.create(
            public_id=uuid.uuid4(),
            client=client,
            category=wanted.category,
            method=wanted.method,
            headers=headers,
            max_age=min(fleet.cache_seconds, wanted.max_age if wanted.max_age is not None else fleet.cache_seconds),
            urls=len(rows),
            price=client.price,
            webhook=wanted.webhook,
            created_ms=now_ms(),
        )
        if good:
            _reserve(actor, job, len(good))
            job.crawl = _crawl(job, [addresses.canonical(row.url) for row in good])
            job.save(update_fields=["crawl"])
        for row in rows:
            row.job = job
        FetchResult.objects.bulk_create(rows)
    settings.INSTANCE.wake("engine")
    settle(job)  # all of it may have been refused
    return job


def ended(crawl: int) -> None:
    """The engine has ended the crawl of a job."""
    job = FetchJob.objects.select_related("crawl", "client").filter(crawl=crawl).first()
    if job is not None:
        settle(job)


def cancel(actor: Actor, public_id: uuid.UUID) -> FetchJob:
    """No URL is asked any more; those under way may still be resolved."""
    job = find(actor, public_id)
    if progress(job).state != "running":
        raise Conflict(f"job {public_id} has ended already")
    FetchJob.objects.filter(pk=job.pk).update(cancelled_ms=now_ms())
    if job.crawl_id:
        frontier.ask_to_stop([job.crawl_id])
    settings.INSTANCE.wake("engine")
    job.refresh_from_db()
    return job


def find(actor: Actor, public_id: uuid.UUID) -> FetchJob:
    job = FetchJob.objects.select_related("client__owner", "crawl").filter(public_id=public_id).first()
    if job is None:
        raise NotFound(f"there is no job {public_id}")
    require(actor, "fleet.fetches", job.client)
    settle(job)
    return job


def progress(job: FetchJob) -> Progress:
    rows = FetchResult.objects.filter(job=job)
    counts = rows.aggregate(
        resolved=Count("pk", filter=Q(resolved_ms__gt=0)),
        answered=Count("pk", filter=Q(resolved_ms__gt=0, status__gt=0)),
    )
    state: Literal["running", "finished", "cancelled"] = "running"
    if counts["resolved"] >= job.urls:
        state = "finished"
    elif job.cancelled_ms and (job.crawl is None or job.crawl.state != Crawl.State.RUNNING):
        state = "cancelled"
    elif job.crawl is not None and job.crawl.state != Crawl.State.RUNNING:
        state = "finished"
    return Progress(
        state=state,
        urls=job.urls,
        resolved=counts["resolved"],
        answered=counts["answered"],
        refused=counts["resolved"] - counts["answered"],
    )


def results(job: FetchJob, after: tuple[int, int], limit: int) -> list[FetchResult]:
    """Resolved URLs in the order they were resolved (time, number), from a place on: nothing comes in before it."""
    ms, number = after
    rows = FetchResult.objects.filter(job=job, resolved_ms__gt=0)
    later = rows.filter(Q(resolved_ms__gt=ms) | Q(resolved_ms=ms, pk__gt=number))
    return list(later.order_by("resolved_ms", "pk")[:limit])


def result(job: FetchJob, number: int) -> FetchResult:
    row = FetchResult.objects.filter(job=job, pk=number).first()
    if row is None:
        raise NotFound(f"job {job.public_id} has no result {number}")
    return row


def changed(job: FetchJob, seen: int) -> bool:
    """Whether more URLs are resolved than a client has seen, or the job has ended."""
    job = FetchJob.objects.select_related("crawl").get(pk=job.pk)
    now = progress(job)
    return now.resolved > seen or now.state != "running"


# complaints


def complain(actor: Actor, job: FetchJob, number: int, words: str) -> FetchResult:
    """A client says that a result is wrong; the operator decides, and a refund may follow."""
    require(actor, "fleet.fetches", job.client)
    row = result(job, number)
    if not row.resolved_ms or not words.strip():
        raise Invalid("say in a sentence what is wrong with a result that is there (`words`)")
    if row.complaint_state:
        raise Conflict(f"there is a complaint about this result already: {row.complaint_state}")
    row.complaint, row.complaint_state = words.strip()[:2000], "open"
    row.save(update_fields=["complaint", "complaint_state"])
    audit(actor.name, "complained", f"{row.url[:200]}: {row.complaint[:200]}")
    return row


def decide(actor: Actor, number: int, upheld: bool) -> FetchResult:
    """The operator decides about a complaint; one that is upheld refunds, once."""
    require(actor, "fleet.operate")
    with transaction.atomic():
        row = FetchResult.objects.select_related("job").filter(pk=number, complaint_state="open").first()
        if row is None:
            raise NotFound(f"there is no open complaint about result {number}")
        row.complaint_state = "upheld" if upheld else "denied"
        row.save(update_fields=["complaint_state"])
        if upheld:
            dispatch.refund(row.job, row.key)
    audit(actor.name, row.complaint_state, f"complaint about {row.url[:200]}")
    return row


# the end of a job


def settle(job: FetchJob) -> None:
    """Give back what a job that has ended reserved and did not need; tell its webhook. Once, whoever looks first."""
    if job.settled or progress(job).state == "running":
        return
    with transaction.atomic():
        due = now_ms() if job.webhook else 0
        mine = FetchJob.objects.filter(pk=job.pk, settled=False).update(settled=True, webhook_due_ms=due)
        left = credit_ledger.balance(Kind.JOB, job.pk)
        if mine and left:
            credit_ledger.transfer(
                f"settle {job.pk}", [Side(Kind.JOB, job.pk, -left), Side(Kind.CLIENT, job.client_id, left)]
            )
    job.settled = True
    if mine and job.webhook:
        jobs.submit(SYSTEM, "fleet.webhook", {}, by_itself=True)


def next_webhook() -> FetchJob | None:
    """Of the jobs whose webhook is to be told, the one it is the turn of."""
    rows = FetchJob.objects.select_related("client", "crawl").filter(webhook_due_ms__gt=0)
    return rows.order_by("webhook_due_ms").first()


def tell(job: FetchJob, config: Config) -> None:
    """Send a signed note to a job's webhook, through the address guard."""
    from hemeroteca.fetch.client import GuardedClient

    now = progress(job)
    content = msgspec.json.encode({"id": str(job.public_id), **msgspec.structs.asdict(now)})
    stamp = str(int(time.time()))
    reply = GuardedClient(config).send(
        job.webhook,
        content=content,
        headers={
            "Content-Type": "application/json",
            "X-Hemeroteca-Timestamp": stamp,
            "X-Hemeroteca-Signature": signature(job.client.secret, stamp, content),
        },
    )
    tries = job.webhook_tries + 1
    again = not reply.ok and reply.passing and tries < WEBHOOK_TRIES
    FetchJob.objects.filter(pk=job.pk).update(
        webhook_tries=tries,
        webhook_state="told" if reply.ok else reply.reason[:200],
        webhook_due_ms=now_ms() + int(WEBHOOK_SECONDS * 2**tries * 1000) if again else 0,
    )


def signature(secret: str, stamp: str, content: bytes) -> str:
    """HMAC-SHA256 over the time and the content: a receiver refuses what is old."""
    return "sha256=" + hmac.new(secret.encode(), stamp.encode() + b"." + content, hashlib.sha256).hexdigest()


# inside


def _rows(client: Client, wanted: Sequence[str]) -> list[FetchResult]:
    """A row for each URL, once; those that cannot be fetched have their reason already."""
    now = now_ms()
    found: dict[int, FetchResult] = {}
    refused: list[str] = []
    for text in wanted:
        reason = ""
        try:
            url = addresses.canonical(text)
            key = addresses.key(url)
        except addresses.UrlError as error:
            url, key = text, int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest(), "big")
            reason = str(error)
        if what := refusals.attack(text, url):
            reason = f"refused: it looks like {what}"
            refused.append(text)
        reason = reason or services.closed_reason(addresses.host(url))
        if key not in found:
            found[key] = FetchResult(key=key, url=text[:8000], reason=reason, resolved_ms=now if reason else 0)
    if refused:
        told = f"{len(refused)} URLs that look like an attack, the first: {refused[0][:200]}"
        audit(client.owner.name, "refused", told)
    return list(found.values())


def _leave_blocked(client: Client, rows: Sequence[FetchResult]) -> None:
    """A URL that was answered with 403 or 451 from one country is asked from no other: whoever orders it gets that
    answer for a day, without a request, and the attempt is logged."""
    wanted = {row.key: row for row in rows if not row.resolved_ms}
    since = now_ms() - BLOCKED_SECONDS * 1000
    known = FetchResult.objects.filter(
        key__in=list(wanted), status__in=BLOCKED, resolved_ms__gt=since, cached=False, withdrawn=False
    )
    for old in known.order_by("pk"):
        row = wanted[old.key]
        row.resolved_ms, row.status, row.capture, row.cached = now_ms(), old.status, old.capture, True
        row.country = old.country
        row.reason = f"the site refused it ({old.status}) lately; it is asked from no other place within a day"
    again = [row for row in wanted.values() if row.resolved_ms]
    if again:
        told = f"{len(again)} URLs that were refused with 403 or 451 within a day, the first: {again[0].url[:200]}"
        audit(client.owner.name, "asked again", told)


def _headers(wanted: FetchJobOrder) -> list[tuple[str, str]]:
    if wanted.method not in ("GET", "HEAD"):
        raise Invalid(f"method {wanted.method!r} is not possible; write GET or HEAD")
    if len(wanted.headers) > MAX_HEADERS:
        raise Invalid(f"at most {MAX_HEADERS} headers can be sent")
    for name, value in wanted.headers.items():
        if name.lower() not in HEADERS:
            raise Invalid(f"the header {name!r} cannot be sent; these can: {', '.join(HEADERS)}")
        if not _VALUE.fullmatch(value):
            raise Invalid(f"the value of the header {name!r} is not plain text of at most 1000 letters")
    return [(name, value) for name, value in wanted.headers.items()]


def _within_quota(client: Client, more: int) -> None:
    since = now_ms() - 86_400_000
    jobs = FetchJob.objects.filter(client=client, created_ms__gt=since)
    used = jobs.aggregate(sum=Sum("urls"))["sum"] or 0
    if used + more > client.per_day:
        raise Conflict(
            f"this would be {used + more} URLs within a day and {client.per_day} are allowed; "
            "wait, or ask the operator for more",
            "quota",
        )


def _reserve(actor: Actor, job: FetchJob, count: int) -> None:
    amount = job.price * count
    if not amount:
        return
    if can(actor, "fleet.operate"):  # the operator's own requests are paid with new credits
        credit_ledger.issue(job.client_id, amount, f"own {job.pk}")
    credit_ledger.transfer(
        f"reserve {job.pk}", [Side(Kind.CLIENT, job.client_id, -amount), Side(Kind.JOB, job.pk, amount)]
    )


def _crawl(job: FetchJob, seeds: Iterable[str]) -> Crawl:
    canonical = list(dict.fromkeys(seeds))
    options = CrawlOptions(
        scope=addresses.Scope(kind="page", seeds=tuple(canonical)),
        sitemaps=False,
        requisites=False,
        job=job.pk,
        category=job.category,
        method=job.method,
        headers=tuple((name, value) for name, value in job.headers),
        max_age=job.max_age,
    )
    return frontier.make_crawl(f"{FETCH}{job.pk}", canonical, options)
