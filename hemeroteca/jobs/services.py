"""What can be done with jobs. The only writer of their tables."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet

from hemeroteca.accounts import Actor, audit, require
from hemeroteca.clock import now_ms as now_ms  # asked for here by other rooms, too
from hemeroteca.errors import Conflict
from hemeroteca.jobs import kinds, queries, workers
from hemeroteca.jobs.models import Job, JobLine

LEASE_MS = 30_000
MAX_ATTEMPTS = 5  # after which a job is blamed for the ends of its workers
MAX_LINES = 1_000  # of a log


def submit(actor: Actor, kind: str, arguments: Any, here: bool = False, by_itself: bool = False) -> Job:
    """Order a job. With `here` it belongs to this process from the start, which then runs it (`runner.run`).

    `by_itself`: nobody ordered it, the clock or another job did; the audit log does not tell of it.
    """
    found = kinds.find(kind)
    require(actor, found.action)
    values = msgspec.to_builtins(found.convert(arguments))
    job = Job(
        kind=kind,
        arguments=values,
        owner=actor.user,
        actor=actor.name,
        exclusive=found.exclusive,
        created_ms=now_ms(),
    )
    if here:
        _begin(job)
    with transaction.atomic():
        job.save()
        if not by_itself:
            audit.note(actor, "job ordered", kind, str(job.pk))
    if not here:
        wake(job)
    return job


def cancel(actor: Actor, number: int) -> Job:
    """End a job: at once when nobody works on it, else at its next step. It can be resumed."""
    job = queries.find(actor, number)
    require(actor, "job.cancel", job)
    if job.state in queries.ENDED:
        raise Conflict(f"job {number} has ended: it is {job.state}")
    Job.objects.filter(pk=number).update(cancel_requested=True)
    free = Job.objects.filter(pk=number, state=Job.State.QUEUED)
    if queries.is_forsaken(job):
        free = Job.objects.filter(pk=number, state=Job.State.RUNNING, worker=job.worker, lease_ms=job.lease_ms)
    free.update(state=Job.State.CANCELLED, message="cancelled", worker="", ended_ms=now_ms())
    job.refresh_from_db()
    return job


def resume(actor: Actor, number: int, here: bool = False) -> Job:
    """Do a job again that was cancelled, failed or forsaken; it goes on where its kind can."""
    job = queries.find(actor, number)
    require(actor, kinds.find(job.kind).action, job)
    if job.state == Job.State.DONE or (job.state == Job.State.RUNNING and not queries.is_forsaken(job)):
        raise Conflict(f"job {number} cannot be resumed: it is {job.state}")
    was = (job.state, job.worker, job.lease_ms)
    job.state, job.cancel_requested, job.attempts, job.ended_ms = Job.State.QUEUED, False, 0, 0
    job.message = job.worker = job.code = ""
    if here:
        _begin(job)
    if not _replace(job, *was):
        raise Conflict(f"job {number} was taken by another process just now; `hemeroteca job follow {number}`")
    if not here:
        wake(job)
    return job


def claim(exclusive: bool | None = None, number: int | None = None) -> Job | None:
    """Take the oldest job that waits (or that one), for this process. Of several who try, one gets it."""
    full = queries.full_kinds()
    for job in queries.waiting(exclusive):
        if number is not None and job.pk != number:
            continue
        if job.kind in full:  # as many of them run as may; it waits
            continue
        was = (job.state, job.worker, job.lease_ms)
        if job.state == Job.State.RUNNING:
            if job.cancel_requested:
                _end(job, Job.State.CANCELLED, "cancelled", *was)
                continue
            if job.attempts >= MAX_ATTEMPTS:
                _end(job, Job.State.FAILED, f"its process ended {job.attempts} times without a word; see the log", *was)
                continue
        _begin(job)
        if _replace(job, *was):
            return job
    return None


def report(job: Job, done: int, total: int | None, message: str) -> bool | None:
    """Write how far a job is and renew its lease. True: it shall be cancelled. None: it is no longer ours."""
    mine = _mine(job)
    if not mine.update(done=done, total=total, message=message, lease_ms=now_ms() + LEASE_MS):
        return None
    return True in mine.values_list("cancel_requested", flat=True)


def renew(job: Job) -> None:
    """Keep a job that is silent for long."""
    _mine(job).update(lease_ms=now_ms() + LEASE_MS)


def keep(job: Job, checkpoint: Any) -> None:
    Job.objects.filter(pk=job.pk, worker=job.worker).update(checkpoint=checkpoint, attempts=1)


def add_line(job: Job, text: str) -> None:
    line = JobLine.objects.create(job_id=job.pk, at_ms=now_ms(), text=text)
    if line.pk % 100 == 0:
        kept = JobLine.objects.filter(job_id=job.pk).order_by("-pk").values_list("pk", flat=True)
        if oldest := list(kept[MAX_LINES : MAX_LINES + 1]):
            JobLine.objects.filter(job_id=job.pk, pk__lte=oldest[0]).delete()


def give_back(job: Job) -> None:
    """Let another process go on with it."""
    _mine(job).update(state=Job.State.QUEUED, worker="", attempts=F("attempts") - 1)


def end(job: Job, state: Job.State, message: str = "", result: Any = None, code: str = "", **progress: Any) -> None:
    changes = {"state": state, "message": message, "result": result, "code": code, "ended_ms": now_ms(), **progress}
    if state == Job.State.DONE:
        changes |= {"checkpoint": None, "cancel_requested": False}
    _mine(job).update(**changes)


def end_in_copy(database: Path, kind: str) -> None:
    """In a copy of the database, jobs of a kind that ran while it was made are done: whoever starts the copy does not
    go on with them."""
    with closing(sqlite3.connect(database)) as copy, copy:
        done = "UPDATE job SET state = ?, worker = '', checkpoint = NULL, ended_ms = ? WHERE kind = ? AND state = ?"
        copy.execute(done, (Job.State.DONE, now_ms(), kind, Job.State.RUNNING))


def wake(job: Job) -> None:
    """Tell whoever can run it: the engine, between two of its runs, or the supervisor, which starts a worker."""
    if job.exclusive:
        settings.INSTANCE.wake("engine")
        return
    at_work = Job.objects.filter(state=Job.State.RUNNING, exclusive=False).count()
    for name in workers.process_names(min(settings.CONFIG.job_processes, at_work + 1)):
        settings.INSTANCE.wake(name)


def _mine(job: Job) -> QuerySet[Job]:
    """The row of a job, while this process runs it."""
    return Job.objects.filter(pk=job.pk, worker=job.worker, state=Job.State.RUNNING)


def _begin(job: Job) -> None:
    job.state, job.worker, job.attempts = Job.State.RUNNING, workers.name(), job.attempts + 1
    job.started_ms = now_ms()
    job.lease_ms = job.started_ms + LEASE_MS


def _end(job: Job, state: Job.State, message: str, *was: Any) -> None:
    job.state, job.message, job.ended_ms = state, message, now_ms()
    _replace(job, *was)


def _replace(job: Job, state: str, worker: str, lease_ms: int) -> bool:
    """Write a job, unless somebody else did since it was read."""
    unchanged = Job.objects.filter(pk=job.pk, state=state, worker=worker, lease_ms=lease_ms)
    names = ("state", "cancel_requested", "attempts", "message", "worker", "code", "lease_ms", "started_ms", "ended_ms")
    return bool(unchanged.update(**{name: getattr(job, name) for name in names}))
