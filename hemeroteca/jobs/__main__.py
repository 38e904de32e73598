"""`python -m hemeroteca.jobs`: runs what is queued and does not need the folder alone, then ends.

`hemeroteca serve` starts it when somebody ordered a job. On other machines that share the database it may run as it is.
"""

import logging
import os
import signal
import sys

import django


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hemeroteca.django_settings")
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(message)s")
    django.setup()
    from hemeroteca.jobs.runner import Runner

    runner = Runner()
    signal.signal(signal.SIGTERM, runner.stop)
    signal.signal(signal.SIGINT, runner.stop)
    runner.drain(exclusive=False)


if __name__ == "__main__":
    main()
