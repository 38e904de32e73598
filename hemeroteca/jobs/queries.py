"""Jobs read: one, the latest, their logs, and whether something waits."""

import time
from collections import Counter
from typing import Any

import msgspec
from django.conf import settings
from django.db.models import Count, Q, QuerySet

from hemeroteca.accounts import Actor, can, require
from hemeroteca.errors import NotFound
from hemeroteca.jobs import workers
from hemeroteca.jobs.models import Job, JobLine

ENDED = (Job.State.DONE, Job.State.FAILED, Job.State.CANCELLED)


def find(actor: Actor, number: int) -> Job:
    job = Job.objects.filter(pk=number).first()
    if job is None:
        raise NotFound(f"there is no job {number}; `hemeroteca job list` shows them")
    require(actor, "job.read", job)
    return job


def recent(actor: Actor, limit: int = 50, before: int | None = None, state: str = "", kind: str = "") -> list[Job]:
    """Newest first; those of others only for whoever may see them."""
    jobs = Job.objects.order_by("-pk")
    if not can(actor, "job.read"):
        require(actor, "job.read", actor)  # a stranger has none of its own either
        jobs = jobs.filter(owner=actor.user)
    if before is not None:
        jobs = jobs.filter(pk__lt=before)
    if state:
        jobs = jobs.filter(state=state)
    if kind:
        jobs = jobs.filter(kind=kind)
    return list(jobs[:limit])


def counted(actor: Actor) -> dict[str, int]:
    """How many jobs are in each state: all, or of whoever may not see others' their own."""
    jobs = Job.objects.all() if can(actor, "job.read") else Job.objects.filter(owner=actor.user)
    found = dict(jobs.values_list("state").annotate(Count("pk")))
    return {state: found.get(state, 0) for state in Job.State.values}


def log(actor: Actor, number: int, after: int = 0) -> list[JobLine]:
    """Lines of a job's log, beginning after one of them; of a trace others than operators see the last line."""
    job = find(actor, number)
    lines = list(JobLine.objects.filter(job=job, pk__gt=after).order_by("pk"))
    if not can(actor, "instance.operate"):
        for line in lines:
            trace = line.text.startswith("Traceback")
            line.text = _without_folders(line.text.strip().splitlines()[-1] if trace else line.text, _folders(job))
    return lines


def waiting(exclusive: bool | None = None) -> list[Job]:
    """Jobs that a worker should take: queued, or running in a process that is gone. Oldest first."""
    found: QuerySet[Job] = Job.objects.filter(state__in=(Job.State.QUEUED, Job.State.RUNNING)).order_by("pk")
    if exclusive is not None:
        found = found.filter(exclusive=exclusive)
    here = Q(worker__startswith=f"{workers.machine()}:")
    found = found.filter(Q(state=Job.State.QUEUED) | Q(lease_ms__lt=time.time_ns() // 1_000_000) | here)
    return [job for job in found if job.state == Job.State.QUEUED or is_forsaken(job)]


def limits() -> dict[str, int]:
    """Most jobs of a kind that run at once, as the setting `job_limits` says; the rest as many as there are workers."""
    found = (text.partition("=") for text in settings.CONFIG.job_limits)
    return {kind.strip(): max(1, int(number)) for kind, _, number in found if number.strip().isdecimal()}


def full_kinds() -> set[str]:
    """Kinds of which as many run as may."""
    allowed = limits()
    running = Job.objects.filter(state=Job.State.RUNNING, kind__in=allowed, lease_ms__gte=time.time_ns() // 1_000_000)
    counts = Counter(job.kind for job in running if not workers.is_gone(job.worker))
    return {kind for kind, most in allowed.items() if counts[kind] >= most}


def is_forsaken(job: Job) -> bool:
    """Whether it says that it runs, but its process is gone."""
    if job.state != Job.State.RUNNING:
        return False
    return job.lease_ms < time.time_ns() // 1_000_000 or workers.is_gone(job.worker)


class JobFacts(msgspec.Struct):
    """A job, as commands and the API show it."""

    id: int
    kind: str
    state: str
    actor: str
    arguments: dict[str, Any]
    done: int
    total: int | None
    message: str
    result: Any
    code: str
    cancel_requested: bool
    created_ms: int
    started_ms: int
    ended_ms: int


def facts(actor: Actor, job: Job) -> JobFacts:
    """A job whose process is gone shows as queued: that is what it is. Where its files lie on the server is for those
    who operate it."""
    values = {name: getattr(job, name) for name in JobFacts.__struct_fields__ if name != "id"}
    if is_forsaken(job):
        values["state"] = Job.State.QUEUED.value
    if not can(actor, "instance.operate"):
        folders = _folders(job)
        values |= {name: _without_folders(values[name], folders) for name in ("arguments", "result", "message")}
    return JobFacts(id=job.pk, **values)


def _folders(job: Job) -> list[str]:
    """Of the server: its data folder, and those of the files that a job names; the longest first."""
    found = {str(settings.INSTANCE.data)}
    values = [job.arguments, job.result]
    while values:
        match values.pop():
            case dict() as inner:
                values += inner.values()
            case list() as inner:
                values += inner
            case str() as text if text.startswith("/") and "\n" not in text:
                found.add(text.rpartition("/")[0])
    return sorted(found - {""}, key=len, reverse=True)


def _without_folders(value: Any, folders: list[str]) -> Any:
    if isinstance(value, dict):
        return {name: _without_folders(inner, folders) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_folders(inner, folders) for inner in value]
    for folder in folders if isinstance(value, str) else ():
        value = value.replace(f"{folder}/", "")
    return value
