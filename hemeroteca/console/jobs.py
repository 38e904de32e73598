"""Jobs: long work, what it does now, what came of it; ended and begun again."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache

from hemeroteca.accounts import Actor
from hemeroteca.archive.job_kinds import exported_file
from hemeroteca.console import names
from hemeroteca.console.search import number_in
from hemeroteca.console.templatetags.console import count, size
from hemeroteca.errors import Conflict
from hemeroteca.jobs import queries, services, workers

JOBS = 50
LINES = 200
STATES = {
    "queued": gettext_lazy("waiting"),
    "running": gettext_lazy("running"),
    "done": gettext_lazy("done"),
    "failed": gettext_lazy("failed"),
    "cancelled": gettext_lazy("cancelled"),
}


def jobs(request: HttpRequest) -> HttpResponse:
    actor = Actor.of(request.user)
    before = number_in(request.GET.get("before", ""), 0)
    state = request.GET.get("state", "")
    found = queries.recent(actor, JOBS + 1, before or None, state if state in STATES else "")
    counts = queries.counted(actor)
    context = {
        "jobs": [shown(actor, job) for job in found[:JOBS]],
        "older": found[JOBS - 1].pk if len(found) > JOBS else 0,
        "states": [(name, label, counts[name]) for name, label in STATES.items()],
        "state": state,
    }
    return render(request, "console/jobs.html", context)


def job(request: HttpRequest, number: int) -> HttpResponse:
    actor = Actor.of(request.user)
    found = queries.find(actor, min(number, (1 << 63) - 1))
    if request.method == "POST":
        try:
            match request.POST.get("do"):
                case "cancel":
                    services.cancel(actor, found.pk)
                case "resume":
                    services.resume(actor, found.pk)
        except Conflict as error:
            messages.error(request, str(error))
        return redirect("job", found.pk)
    lines = queries.log(actor, found.pk)[-LINES:]
    told = queries.facts(actor, found)
    result = told.result if isinstance(told.result, dict) else {}
    facts = [
        (names.RESULTS.get(name, name), _amount(name, value))
        for name, value in result.items()
        if isinstance(value, str | int | float)
    ]
    context = {
        "job": shown(actor, found),
        "lines": lines,
        "arguments": _argument_rows(told.arguments),
        "result": facts,
        "exported": exported_file(found),
    }
    return render(request, "console/job.html", context)


def _amount(name: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    return size(value) if name == "bytes" else count(value)


def _argument_rows(arguments: dict[str, Any]) -> list[tuple[str, Any]]:
    """Arguments for people: lists without their brackets, what is inside others with its own names."""
    rows: list[tuple[str, Any]] = []
    for name, value in arguments.items():
        if isinstance(value, dict):
            rows += [(f"{name}.{inner}", found) for inner, found in _argument_rows(value)]
        else:
            rows.append((name, ", ".join(map(str, value)) if isinstance(value, list) else value))
    return rows


@never_cache
def progress(request: HttpRequest, number: int) -> HttpResponse:
    """How far a job is: `{% include "console/job_progress.html" %}` asks for it every second until it ends, and then
    for the content of the page that shows it. The browser stays where it is: somebody may be leaving just then."""
    actor = Actor.of(request.user)
    found = shown(actor, queries.find(actor, min(number, (1 << 63) - 1)))
    return render(request, "console/job_progress.html", {"job": found, "was_live": True})


def _process(job: Any) -> str:
    """Where a job runs: the number of a process of this machine, or which other machine has it."""
    machine, _, process = job.worker.partition(":")
    pid = process.partition(":")[0]
    return pid if machine == workers.machine() else f"{machine}:{pid}"


def shown(actor: Actor, job: Any) -> dict[str, Any]:
    """A job as `job_progress.html` and the lists show it."""
    facts = queries.facts(actor, job)
    return {
        "id": facts.id,
        "kind": facts.kind,
        "state": facts.state,
        "label": STATES.get(facts.state, facts.state),
        "actor": facts.actor,
        "process": _process(job) if facts.state == "running" else "",
        "message": "" if facts.message == facts.state else facts.message,
        "done": facts.done,
        "total": facts.total,
        "ended": facts.state in queries.ENDED,
        "cancelling": facts.cancel_requested,
        "created_ms": facts.created_ms,
        "started_ms": facts.started_ms,
        "ended_ms": facts.ended_ms,
        "seconds": max(0, (facts.ended_ms or services.now_ms()) - facts.started_ms) / 1000 if facts.started_ms else 0,
    }
