"""`python -m hemeroteca.engine`: the engine as a process of `hemeroteca serve`, until it is told to stop.

Between two of its runs it does jobs that need the data folder without an engine: it holds the lock already.
"""

import logging
import os
import signal
import sys
import time

from hemeroteca import config as settings_of_instance
from hemeroteca.errors import is_disk_full
from hemeroteca.ingest.pool import fork_readers

log = logging.getLogger(__name__)
JOBS_SECONDS = 1.0  # between looks at jobs that wait


def main() -> None:
    readers = fork_readers(settings_of_instance.load().readers)  # before there is more to copy than they need
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hemeroteca.django_settings")
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(message)s")
    from hemeroteca.instance import schema

    schema.load_machinery()
    from django.conf import settings

    from hemeroteca.engine.ledger import DiskFullError
    from hemeroteca.engine.loop import Engine
    from hemeroteca.engine.rebuild import repair
    from hemeroteca.jobs import queries
    from hemeroteca.jobs.runner import Runner
    from hemeroteca.search.index import IndexWriteError

    config, instance = settings.CONFIG, settings.INSTANCE
    runner = Runner()
    engine: Engine | None = None
    due = 0.0

    def stop(*_: object) -> None:
        runner.stop()
        if engine is not None:
            engine.stop("the engine was stopped")

    def look(engine: Engine) -> None:
        nonlocal due
        if time.monotonic() < due:
            return
        due = time.monotonic() + JOBS_SECONDS
        waiting = queries.waiting()
        if any(job.exclusive for job in waiting):
            engine.stop("a job needs the data folder for itself")
        elif waiting:
            instance.wake("jobs")  # ordered on another machine, or forsaken by its process

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    lock = instance.lock_engine()
    while lock is None and not runner.stopped:  # a `hemeroteca crawl` is at work; take over when it ends
        time.sleep(0.5)
        lock = instance.lock_engine()
    if runner.stopped:
        return
    runner.drain(exclusive=True, locked=True)
    try:
        repair(config, instance)
        engine = Engine(config, instance, readers=readers, tick=look)
        if runner.stopped:
            engine.stop("the engine was stopped")
        engine.run()
    except Exception as error:
        if not isinstance(error, DiskFullError | IndexWriteError) and not is_disk_full(error):
            raise
        log.error("the engine cannot go on: %s", error)
        sys.exit(1)
    engine = None
    if not runner.stopped:
        runner.drain(exclusive=True, locked=True)
    if not runner.stopped:  # with the memory of a new process, and readers of its own
        os.execv(sys.executable, [sys.executable, "-m", "hemeroteca.engine"])  # noqa: S606


if __name__ == "__main__":
    main()
