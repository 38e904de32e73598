"""`python -m hemeroteca.engine`: the engine as a process of `hemeroteca serve`, until it is told to stop."""

import logging
import os
import signal
import sys
import time

from hemeroteca import config as settings_of_instance
from hemeroteca.ingest.pool import fork_readers


def main() -> None:
    readers = fork_readers(settings_of_instance.load().readers)  # before there is more to copy than they need
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hemeroteca.django_settings")
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(message)s")
    django.setup()
    from django.conf import settings

    from hemeroteca.engine.loop import Engine
    from hemeroteca.engine.rebuild import repair

    config, instance = settings.CONFIG, settings.INSTANCE
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True
        if engine is not None:
            engine.stop("the engine was stopped")

    engine: Engine | None = None
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    lock = instance.lock_engine()
    while lock is None and not stopped:  # a `hemeroteca crawl` is at work; take over when it ends
        time.sleep(0.5)
        lock = instance.lock_engine()
    if stopped:
        return
    repair(config, instance)
    engine = Engine(config, instance, readers=readers)
    if stopped:
        engine.stop("the engine was stopped")
    engine.run()


if __name__ == "__main__":
    main()
