"""Runs a job in this process, or follows one that runs in another."""

import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec
from django.conf import settings
from django.db import OperationalError, connections

from hemeroteca import usage
from hemeroteca.accounts import SYSTEM
from hemeroteca.errors import Refused
from hemeroteca.jobs import kinds, queries, services
from hemeroteca.jobs.kinds import Interrupted
from hemeroteca.jobs.models import Job

log = logging.getLogger("hemeroteca.jobs")

WRITE_SECONDS = 0.5  # between two writes of how far a job is
LOOK_SECONDS = 0.25  # between two looks at a job of another process
BUSY_SECONDS = 1.0

Show = Callable[[int, int | None, str], None]


class FolderBusy(Exception):  # noqa: N818 - a state, not an error
    """The job needs the data folder for itself and an engine, or an import, is at work on it."""


class Runner:
    """Runs jobs one by one; `stop` (safe in a signal handler) gives the one under way back at its next step."""

    def __init__(self, say: Callable[[str], None] | None = None) -> None:
        """`say`: gets the lines of the log too."""
        self.stopped = False
        self.cancelled = False
        self.say = say

    def stop(self, *_: object) -> None:
        self.stopped = True

    def cancel(self, *_: object) -> None:
        """The same, but the job ends as cancelled."""
        self.cancelled = True

    def run(self, job: Job, show: Show | None = None, locked: bool = False) -> Job:
        """Run a job that this process has claimed, until it ended; the job as it then is. `locked`: we are the engine.

        Raises Busy, with the job back in the queue.
        """
        usage.begin_work()
        active = _Active(self, job, show)
        try:
            with _alone(job.exclusive and not locked), _heartbeat(job):
                found = kinds.find(job.kind)
                result = msgspec.to_builtins(found.run(active, found.convert(job.arguments)))
        except FolderBusy:
            services.give_back(job)
            raise
        except Interrupted as interrupted:
            if self.stopped and not active.cancelled:
                services.give_back(job)
            elif not active.lost:
                services.end(job, Job.State.CANCELLED, "cancelled", msgspec.to_builtins(interrupted.result))
        except Refused as error:
            services.end(job, Job.State.FAILED, str(error), code=error.code)
        except (OSError, OperationalError) as error:  # a full disk, a store that is away: told in a line
            log.info("job %d (%s) could not go on: %s", job.pk, job.kind, error)
            again = f"what was done stays; `hemeroteca job resume {job.pk}` goes on"
            services.end(job, Job.State.FAILED, f"{error}; {again}", code="unavailable")
        except (Exception, SystemExit) as error:
            log.exception("job %d (%s) failed", job.pk, job.kind)
            services.add_line(job, traceback.format_exc())
            services.end(job, Job.State.FAILED, f"{type(error).__name__}: {error}", code="internal")
        else:
            done, total, _ = active.state
            services.end(job, Job.State.DONE, result=result, done=done if total is None else total, total=total)
        return Job.objects.get(pk=job.pk)

    def drain(self, exclusive: bool, locked: bool = False) -> int:
        """Run what waits; how many ended."""
        count = 0
        while not self.stopped and (job := services.claim(exclusive)) is not None:
            log.info("job %d: %s", job.pk, job.kind)
            try:
                ended = self.run(job, locked=locked)
            except FolderBusy:
                break
            log.info("job %d is %s%s", ended.pk, ended.state, f": {ended.message}" if ended.message else "")
            count += 1
        return count


def follow(number: int, show: Show | None = None, runner: Runner | None = None) -> Job:
    """Wait until a job has ended, wherever it runs. When nobody works on it and nobody will, it is run here."""
    runner = runner or Runner()
    asked = False
    while True:
        job = queries.find(SYSTEM, number)
        if job.state in queries.ENDED:
            return job
        if runner.cancelled and not asked:
            asked = True
            services.cancel(SYSTEM, number)
            continue
        if show:
            show(job.done, job.total, job.message or ("waiting" if job.state == Job.State.QUEUED else ""))
        if not settings.INSTANCE.listens("jobs") and (mine := services.claim(number=number)) is not None:
            try:
                return runner.run(mine, show)
            except FolderBusy:  # a crawl or an import; it ends some time
                time.sleep(BUSY_SECONDS)
        time.sleep(LOOK_SECONDS)


class _Active:
    """What the function of a job gets (kinds.ActiveJob)."""

    def __init__(self, runner: Runner, job: Job, show: Show | None) -> None:
        self.checkpoint = job.checkpoint
        self.lost = self._cancel_requested = False
        self._runner = runner
        self._job = job
        self._show = show
        self.state: tuple[int, int | None, str] = (job.done, job.total, "")
        self._due = time.monotonic() + WRITE_SECONDS

    @property
    def cancelled(self) -> bool:
        return self._cancel_requested or self._runner.cancelled

    def progress(self, done: int, total: int | None = None, message: str = "") -> None:
        self.state = (done, total, message)
        if self._show:
            self._show(*self.state)
        if time.monotonic() >= self._due:
            self.write()
        if self._runner.stopped or self.cancelled or self.lost:
            raise Interrupted

    def write(self) -> None:
        self._due = time.monotonic() + WRITE_SECONDS
        answer = services.report(self._job, *self.state)
        self._cancel_requested, self.lost = bool(answer), answer is None

    def log(self, text: str) -> None:
        services.add_line(self._job, text)
        if self._runner.say:
            self._runner.say(text)

    def keep(self, checkpoint: Any) -> None:
        services.keep(self._job, msgspec.to_builtins(checkpoint))


@contextmanager
def _alone(needed: bool) -> Iterator[None]:
    """Be the only one that writes to the archive and the index while this lasts."""
    if not needed:
        yield
        return
    with ExitStack() as stack:
        for lock in (settings.INSTANCE.lock_engine, settings.INSTANCE.lock_import):
            file = lock()
            if file is None:
                raise FolderBusy
            stack.enter_context(file)
        yield


@contextmanager
def _heartbeat(job: Job) -> Iterator[None]:
    """Renew the lease from a thread: a step may be silent for longer than it lasts."""
    ended = threading.Event()

    def beat() -> None:
        try:
            while not ended.wait(services.LEASE_MS / 3000):
                services.renew(job)
        except Exception as error:  # the database is away: the job's own writes tell
            log.warning("the lease of job %d was not renewed (%s)", job.pk, error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=beat, name=f"lease of job {job.pk}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
