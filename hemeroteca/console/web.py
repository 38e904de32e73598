"""The web process: waitress around the console and the API, on sockets that the supervisor opened.

python -m hemeroteca.console.web FD [FD …]
"""

import gc
import logging
import re
import signal
import socket
import sys
from types import FrameType

import waitress.server
from django.conf import settings

from hemeroteca import usage
from hemeroteca.console.wsgi import application  # sets Django up; first

from hemeroteca.engine.overview import watch_pace  # isort: skip

THREADS = 8
MAX_REQUEST_BYTES = 4 << 20  # a list of seeds is the longest thing anybody sends


def main(descriptors: list[int]) -> None:
    usage.return_memory(arenas=2)
    gc.freeze()  # modules stay: collections need not look at them
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    for handler in logging.getLogger().handlers:
        handler.addFilter(_without_secrets)
    signal.signal(signal.SIGTERM, _stop)
    options: dict[str, object] = {}
    if settings.CONFIG.public_url:
        # A proxy on this machine stands in front; believe it about the client's address and the scheme.
        options["trusted_proxy"] = "127.0.0.1"
        options["trusted_proxy_headers"] = {"x-forwarded-for", "x-forwarded-proto"}
    watch_pace()
    server = waitress.server.create_server(
        application,
        sockets=[socket.socket(fileno=descriptor) for descriptor in descriptors],
        threads=THREADS,
        max_request_body_size=MAX_REQUEST_BYTES,
        channel_timeout=60,
        connection_limit=500,
        ident=None,
        clear_untrusted_proxy_headers=True,
        **options,
    )
    server.run()


def _without_secrets(record: logging.LogRecord) -> bool:
    """The address of a webhook is its secret."""
    if "/signals/" in (line := record.getMessage()):
        record.msg, record.args = re.sub(r"(/signals/(?:websub/\d+/)?)[^\s/'\"]+", r"\1…", line), ()
    return True


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit  # waitress ends its threads on it


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]])
