"""Mail to people about their accounts, sent by a thread of its own.

How long an answer takes must not tell whether an address is known, and a mail server that is slow must not hold a page.
What cannot be sent is logged; people ask again.
"""

import logging
import queue
import threading
from email.utils import make_msgid, parseaddr

from django.conf import settings
from django.core.mail import EmailMessage

MAX_WAITING = 200  # further mail is dropped: somebody floods us
log = logging.getLogger(__name__)
_waiting: queue.Queue[EmailMessage] = queue.Queue(MAX_WAITING)
_begin = threading.Lock()
_sender: threading.Thread | None = None


def configured() -> bool:
    """Whether this instance can send mail at all."""
    return bool(settings.CONFIG.mail_server)


def send(message: EmailMessage) -> None:
    """Hand a mail over to be sent soon."""
    global _sender
    if not configured():
        log.warning("no mail was sent: the setting mail_server is empty")
        return
    # Else Django asks the network for the name of this machine, which may take minutes, and tells it to everybody.
    domain = parseaddr(message.from_email)[1].rpartition("@")[2]
    message.extra_headers.setdefault("Message-ID", make_msgid(domain=domain or "localhost"))
    try:
        _waiting.put_nowait(message)
    except queue.Full:
        log.error("a mail was dropped: %d others wait", MAX_WAITING)
    with _begin:
        if _sender is None or not _sender.is_alive():
            _sender = threading.Thread(target=_deliver, name="mail", daemon=True)
            _sender.start()


def _deliver() -> None:
    while True:
        message = _waiting.get()
        try:
            message.send()
        except Exception as error:  # whatever a mail server does, the next mail is tried
            log.error("mail could not be sent by %s: %s", settings.EMAIL_HOST, error)
