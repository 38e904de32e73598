"""`hemeroteca job`: long work, wherever it runs: listed, shown, followed, cancelled, resumed.

`run_job` is how other commands do theirs.
"""

from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from hemeroteca.cli import common
from hemeroteca.cli.progress import on_interrupt, progress_line
from hemeroteca.warc.timestamps import moment

if TYPE_CHECKING:
    from hemeroteca.jobs.models import Job

app = common.Verbs()
Number = Annotated[int, typer.Argument(help="Number of the job.", min=1)]
Background = Annotated[
    bool,
    typer.Option("--background", help="Let `hemeroteca serve` do it; `hemeroteca job follow` shows how far it is."),
]
Result = TypeVar("Result")


def run_job(kind: str, arguments: object, result: type[Result], json: bool, background: bool = False) -> Result:
    """Order a job and do it here, or follow it where the engine of `hemeroteca serve` must do it. Ctrl-C cancels it."""
    from django.conf import settings

    from hemeroteca.jobs import kinds, services

    served = settings.INSTANCE.listens("jobs")
    here = not background and not (served and kinds.find(kind).exclusive)
    job = services.submit(common.actor(), kind, arguments, here=here)
    if background:
        later = "" if served else "; `hemeroteca serve` begins with it"
        _say(job, json, f"job {job.pk} is queued{later}")
        raise typer.Exit
    return _result(_finish(job, json, here), result, json)


@app.command("list", action="job.read")
def list_(
    state: Annotated[str, typer.Option(help="Only queued, running, done, failed or cancelled ones.")] = "",
    kind: Annotated[str, typer.Option(help="Only of this kind, such as archive.import.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 20,
    json: common.Json = False,
) -> None:
    """The latest jobs."""
    common.setup(must_exist=True)
    from hemeroteca.jobs import queries

    for job in queries.recent(common.actor(), limit, state=state, kind=kind):
        _say(job, json, _line(job))


@app.command(action="job.read")
def show(number: Number, json: common.Json = False) -> None:
    """A job with its arguments, its result and its log."""
    job = _find(number)
    if json:
        _say(job, json, "")
        return
    typer.echo(_line(job))
    for name in ("arguments", "result"):
        for key, value in (getattr(job, name) or {}).items():
            typer.echo(common.printable(f"  {key}: {value}"))
    from hemeroteca.jobs import queries

    for line in queries.log(common.actor(), number):
        typer.echo(common.printable(f"{common.stamp(moment(line.at_ms))} {line.text}"))


@app.command(action="job.cancel")
def cancel(number: Number, json: common.Json = False) -> None:
    """End a job at its next step; `resume` goes on with it."""
    _find(number)
    from hemeroteca.jobs import services

    job = services.cancel(common.actor(), number)
    state = "is cancelled" if job.state == job.State.CANCELLED else "ends at its next step"
    _say(job, json, f"job {number} {state}")


@app.command(action="job.cancel")
def resume(number: Number, background: Background = False, json: common.Json = False) -> None:
    """Go on with a job that was cancelled, failed or interrupted."""
    job = _find(number)
    from django.conf import settings

    from hemeroteca.jobs import services

    here = not background and not (job.exclusive and settings.INSTANCE.listens("jobs"))
    job = services.resume(common.actor(), number, here=here)
    if background:
        _say(job, json, f"job {number} is queued")
        return
    _tell(_finish(job, json, here), json)


@app.command(action="job.read")
def follow(number: Number, json: common.Json = False) -> None:
    """Show how far a job is until it has ended. Ctrl-C ends this, not the job."""
    _find(number)
    from hemeroteca.jobs import runner

    with progress_line(json) as line:
        try:
            job = runner.follow(number, line)
        except KeyboardInterrupt:
            raise typer.Exit(common.INTERRUPTED)
    _tell(job, json)


def _finish(job: "Job", json: bool, here: bool) -> "Job":
    """Do a job that is ours, or follow it, until it has ended."""
    from hemeroteca.jobs.runner import FolderBusy, Runner, follow

    runner = Runner(say=None if json else lambda text: typer.echo(common.printable(text), err=True))
    with progress_line(json) as line, on_interrupt(runner.cancel):
        if here:
            try:
                return runner.run(job, line)
            except FolderBusy:
                pass
        if not json:
            typer.echo(f"job {job.pk} waits for the crawl or the import at work on this folder …", err=True)
        return follow(job.pk, line, runner)


def _result(job: "Job", result: type[Result], json: bool) -> Result:
    import msgspec

    if job.state == job.State.CANCELLED:
        if json and job.result is not None:
            common.tell(job.result)
        common.give_up(f"stopped; the same command goes on, or `hemeroteca job resume {job.pk}`", common.INTERRUPTED)
    if job.state == job.State.FAILED:
        common.give_up(job.message, common.USAGE if job.code == "invalid" else 1)
    return msgspec.convert(job.result, result)


def _tell(job: "Job", json: bool) -> None:
    _say(job, json, _line(job))
    if job.state == job.State.FAILED:
        raise typer.Exit(1)


def _find(number: int) -> "Job":
    common.setup(must_exist=True)
    from hemeroteca.jobs import queries

    return queries.find(common.actor(), number)


def _line(job: "Job") -> str:
    share = f"{job.done:,} of {job.total:,}" if job.total else f"{job.done:,}" if job.done else ""
    ordered = common.stamp(moment(job.created_ms))
    cells = (f"{job.pk:>6}", f"{job.kind:<16}", f"{job.state:<9}", ordered, share, job.message)
    return common.printable("  ".join(cells).rstrip())


def _say(job: "Job", json: bool, sentence: str) -> None:
    from hemeroteca.jobs.queries import facts

    common.answer(json, facts(common.actor(), job), sentence)
