"""Kinds of job for the tests, and the programs that run them."""

import os
import sys
import time
from pathlib import Path

import msgspec

from hemeroteca.jobs import ActiveJob, kind


class Count(msgspec.Struct):
    to: int
    folder: str = ""  # where each step leaves a mark; a file `hold` in it stops the work at that step


class Counted(msgspec.Struct):
    total: int


class Nothing(msgspec.Struct):
    pass


@kind("test.beginnings", action="instance.operate")
def beginnings(job: ActiveJob, order: Count) -> Nothing:
    """Tells of each step when it begins with it."""
    for at in range(order.to):
        job.progress(at, order.to, "")
    return Nothing()


@kind("test.count", action="instance.operate")
def count(job: ActiveJob, order: Count) -> Counted:
    """Adds up numbers, with a checkpoint at each."""
    at, total = job.checkpoint or (0, 0)
    while at < order.to:
        at, total = at + 1, total + at + 1
        job.progress(at, order.to, f"at {at}")
        job.keep([at, total])
        if order.folder:
            folder = Path(order.folder)
            (folder / f"{at}.{os.getpid()}").touch()
            while at == order.to // 2 and (folder / "hold").exists():
                job.progress(at, order.to, "held")
                time.sleep(0.01)
    return Counted(total)


@kind("test.alone", action="instance.operate", exclusive=True, remote=True)
def alone(job: ActiveJob, order: Nothing) -> Nothing:
    job.log("nobody else is here")
    return order


@kind("test.broken", action="instance.operate")
def broken(job: ActiveJob, order: Nothing) -> Nothing:
    raise RuntimeError("a part is missing")


@kind("test.deadly", action="instance.operate")
def deadly(job: ActiveJob, order: Nothing) -> Nothing:
    os._exit(1)


if __name__ == "__main__":
    import django

    django.setup()
    from hemeroteca.jobs.runner import Runner
    from tests.jobs import work  # noqa: F401 - registers the kinds under their module's own name

    sys.exit(0 if Runner().drain(exclusive=False) else 3)
