"""Long work of the fleet: telling clients' webhooks that their jobs have ended, again and again until they listen;
watching a load test."""

import time

import msgspec
from django.conf import settings

from hemeroteca.jobs import ActiveJob, kind


class Webhooks(msgspec.Struct):
    """All that are due."""


class Told(msgspec.Struct):
    state: str


@kind("fleet.webhook", action="fleet.operate")
def tell_webhooks(job: ActiveJob, order: Webhooks) -> Told:
    """One job for all of them (setting `job_limits`): one that never answers holds up neither the others nor other
    jobs. Each is tried as often as `fetches.WEBHOOK_TRIES`, with growing pauses."""
    from hemeroteca.fleet import fetches

    told = 0
    while (row := fetches.next_webhook()) is not None:
        job.progress(told, message=row.webhook_state)
        left = row.webhook_due_ms / 1000 - time.time()
        if left > 0:
            time.sleep(min(left, 1.0))
            continue
        fetches.tell(row, settings.CONFIG)
        told += 1
    return Told(f"tried {told} times")


class Load(msgspec.Struct):
    test: int


@kind("fleet.load", action="fleet.operate")
def watch_load(job: ActiveJob, order: Load) -> Told:
    """Looks at the proof every few seconds; without it, or without this job, the test ends by itself."""
    from hemeroteca.fleet import load_tests
    from hemeroteca.fleet.models import LoadTest

    test = LoadTest.objects.get(pk=order.test)
    while load_tests.watch(test, settings.CONFIG):
        job.progress(load_tests.second_of(test), test.ramp_seconds + test.hold_seconds, test.host)
        time.sleep(
            min(load_tests.PROOF_SECONDS, max(0.1, test.ramp_seconds + test.hold_seconds - load_tests.second_of(test)))
        )
    return Told(test.state)
