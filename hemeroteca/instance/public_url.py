"""The address of this instance in everything that leaves it: mail, notices, feeds, what commands print."""

from django.conf import settings


def own_address(path: str) -> str:
    """An address of ours: `public_url`, else where `hemeroteca serve` answers. Never from the Host header: whoever asks
    could choose where the link leads."""
    config = settings.CONFIG
    base = config.public_url or settings.INSTANCE.served_at() or f"http://{config.host}:{config.port}"
    return base.rstrip("/") + path
