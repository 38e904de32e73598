"""What crawls know of the sites they visit again: how their versions are compared, and their learned noise.

Read when a page with an earlier version is about to be compared; taught by every such visit. Written some seconds
later: what a crash loses is learned again. A site nothing was learned of costs one look into the table.
"""

import time
from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from hemeroteca.archive.models import SiteNoise
from hemeroteca.engine.sinks import Arrival
from hemeroteca.frontier import services
from hemeroteca.frontier.site_settings import SiteSettings
from hemeroteca.ingest.rules import Judge, Rules

if TYPE_CHECKING:
    from hemeroteca.change import NoiseModel

MAX_SITES = 256  # in memory
WRITE_SECONDS = 10.0
TAUGHT_BY = ("", "text/html", "application/xhtml+xml", "text/plain")


class NoiseSink:
    def __init__(self) -> None:
        self._sites: OrderedDict[str, _Site] = OrderedDict()
        self._dirty: set[str] = set()
        self._write_due = 0.0

    @property
    def pending(self) -> bool:
        return bool(self._dirty) and time.monotonic() >= self._write_due

    def prepare(self, rules: Rules, judges: Iterable[Judge] = ()) -> None:
        """Say how to compare; `judges`: what the subscriptions that cover the page say."""
        compare = self.settings_of(rules.host).comparison
        rules.judges = tuple(
            Judge(compare(judge.comparison), judge.subscriptions) for judge in (*judges,) or (Judge(),)
        )
        site = self._site(rules.host)
        if site.model is not None:
            rules.noise = site.model.noisy()

    def settings_of(self, host: str) -> SiteSettings:
        """What a person set for a site."""
        site = self._site(host)
        if site.settings is None:
            site.settings = services.settings_of(host)
        return site.settings

    def set_host(self, host: str, settings: SiteSettings) -> None:
        """A person changed how versions of a site are compared."""
        if host in self._sites:
            self._sites[host].settings = settings

    def take(self, arrival: Arrival) -> None:
        """From a visit of a page with an earlier version, whether it differed or not."""
        found = arrival.done.sightings
        if arrival.trip is not None and arrival.trip.visit.served:
            return  # it was learned from when it was made
        if not arrival.is_page or not arrival.rules.previous or arrival.done.mime not in TAUGHT_BY:
            return
        if not arrival.unchanged and found is None:
            return  # it could not be compared
        site = self._site(arrival.rules.host)
        if site.model is None:
            if arrival.unchanged or not found:
                return
            from hemeroteca.change import NoiseModel

            site.model = NoiseModel()
        if self._teach(site.model, [] if arrival.unchanged else found or [], arrival.rules.key):
            if not self._dirty:
                self._write_due = time.monotonic() + WRITE_SECONDS
            self._dirty.add(arrival.rules.host)

    def write(self, now: bool = False) -> None:
        """Keep what was learned, when it is time."""
        if self._dirty and (now or time.monotonic() >= self._write_due):
            for host in self._dirty:
                self._save(host)
            self._dirty.clear()

    @staticmethod
    def _teach(model: "NoiseModel", found: list[tuple[str, bool, bool, int]], page: int) -> bool:
        from hemeroteca.change import NoiseSighting

        return model.learn([NoiseSighting(*values) for values in found], page)

    def _site(self, host: str) -> "_Site":
        site = self._sites.get(host)
        if site is None:
            if len(self._sites) >= MAX_SITES:
                oldest = next(iter(self._sites))
                if oldest in self._dirty:
                    self._save(oldest)
                    self._dirty.discard(oldest)
                del self._sites[oldest]
            site = self._sites[host] = _Site()
            kept = SiteNoise.objects.filter(host=host).values_list("model", flat=True).first()
            if kept:
                from hemeroteca.change import NoiseModel

                site.model = NoiseModel.from_json(kept)
        self._sites.move_to_end(host)
        return site

    def _save(self, host: str) -> None:
        from hemeroteca.archive import learned_noise

        model = self._sites[host].model
        if model is not None:
            learned_noise.save(host, model)


class _Site:
    __slots__ = ("model", "settings")

    def __init__(self) -> None:
        self.model: NoiseModel | None = None  # nothing learned
        self.settings: SiteSettings | None = None  # not read yet
