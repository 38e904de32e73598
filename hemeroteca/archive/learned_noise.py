"""The noise of sites as it was learned: kept per host, read by crawls and by whoever compares."""

import time

from hemeroteca.accounts import Actor, require
from hemeroteca.archive.models import SiteNoise
from hemeroteca.change import NoiseModel
from hemeroteca.errors import NotFound


def load(host: str) -> NoiseModel:
    """What is known of a host; an empty model when nothing is."""
    kept = SiteNoise.objects.filter(host=host).values_list("model", flat=True).first()
    return NoiseModel.from_json(kept) if kept else NoiseModel()


def save(host: str, model: NoiseModel) -> None:
    SiteNoise.objects.update_or_create(
        host=host, defaults={"model": model.to_json().decode(), "learned_ms": time.time_ns() // 1_000_000}
    )


def forget(actor: Actor, host: str) -> None:
    """Let everything learned of a host go."""
    require(actor, "site.change")
    if not SiteNoise.objects.filter(host=host).delete()[0]:
        raise NotFound(f"nothing was learned of {host}; that takes a few visits of its pages")
