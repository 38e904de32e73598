"""Long work of the fleet: telling a client's webhook that a job has ended, again and again until it listens; watching a
load test."""

import time

import msgspec
from django.conf import settings

from hemeroteca.jobs import ActiveJob, kind


class Webhook(msgspec.Struct):
    job: int


class Told(msgspec.Struct):
    state: str


@kind("fleet.webhook", action="fleet.operate")
def tell_webhook(job: ActiveJob, order: Webhook) -> Told:
    """Tries as often as `fetches.WEBHOOK_TRIES`, with growing pauses."""
    from hemeroteca.fleet import fetches
    from hemeroteca.fleet.models import FetchJob

    while True:
        row = FetchJob.objects.select_related("client", "crawl").get(pk=order.job)
        if not row.webhook_due_ms:
            return Told(row.webhook_state)
        left = row.webhook_due_ms / 1000 - time.time()
        if left > 0:
            time.sleep(min(left, 1.0))
            job.progress(row.webhook_tries, fetches.WEBHOOK_TRIES, row.webhook_state)
            continue
        fetches.tell(row, settings.CONFIG)


class Load(msgspec.Struct):
    test: int


@kind("fleet.load", action="fleet.operate")
def watch_load(job: ActiveJob, order: Load) -> Told:
    """Looks at the proof every few seconds; without it, or without this job, the test ends by itself."""
    from hemeroteca.fleet import loads
    from hemeroteca.fleet.models import LoadTest

    test = LoadTest.objects.get(pk=order.test)
    while loads.watch(test, settings.CONFIG):
        job.progress(loads.second_of(test), test.ramp_seconds + test.hold_seconds, test.host)
        time.sleep(min(loads.PROOF_SECONDS, max(0.1, test.ramp_seconds + test.hold_seconds - loads.second_of(test))))
    return Told(test.state)
