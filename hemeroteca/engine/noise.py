"""What crawls know of the sites they visit again: how their versions are compared, and their learned noise.

Read when a page with an earlier version is about to be compared; taught by every such visit. Written some seconds
later: what a crash loses is learned again. A site nothing was learned of costs one look into the table.
"""

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from hemeroteca.archive.models import SiteNoise
from hemeroteca.frontier import services
from hemeroteca.frontier.values import Comparison, SiteSettings
from hemeroteca.watch.visits import Judge

if TYPE_CHECKING:
    from hemeroteca.change import NoiseModel
    from hemeroteca.engine.messages import Ingested, Job

MOST_SITES = 256  # in memory
WRITE_SECONDS = 10.0
ANYBODY = Judge(Comparison(), ())  # of a crawl nobody subscribed to


class Sites:
    def __init__(self) -> None:
        self._sites: OrderedDict[str, _Site] = OrderedDict()
        self._dirty: set[str] = set()
        self._write_due = 0.0

    def prepare(self, job: "Job", judges: list[Judge]) -> None:
        """Tell a job how to compare; `judges`: what the subscriptions that cover its page say."""
        site = self._site(job.host)
        if site.settings is None:
            site.settings = services.settings_of(job.host)
        compare = site.settings.comparison
        job.judges = [Judge(compare(judge.comparison), judge.subscriptions) for judge in judges or [ANYBODY]]
        if site.model is not None:
            job.noise = site.model.noisy()

    def set_host(self, host: str, settings: SiteSettings) -> None:
        """A person changed how versions of a site are compared."""
        if host in self._sites:
            self._sites[host].settings = settings

    def learn(self, job: "Job", done: "Ingested", unchanged: bool) -> None:
        """From a visit of a page with an earlier version, whether it differed or not."""
        if not unchanged and done.sightings is None:
            return  # it could not be compared
        site = self._site(job.host)
        if site.model is None:
            if unchanged or not done.sightings:
                return
            from hemeroteca.change import NoiseModel

            site.model = NoiseModel()
        if self._teach(site.model, [] if unchanged else done.sightings or [], job.key):
            if not self._dirty:
                self._write_due = time.monotonic() + WRITE_SECONDS
            self._dirty.add(job.host)

    def write(self, now: bool = False) -> None:
        """Keep what was learned, when it is time."""
        if self._dirty and (now or time.monotonic() >= self._write_due):
            for host in self._dirty:
                self._save(host)
            self._dirty.clear()

    @staticmethod
    def _teach(model: "NoiseModel", found: list[tuple[str, bool, bool, int]], page: int) -> bool:
        from hemeroteca.change import Sighting

        return model.learn([Sighting(*values) for values in found], page)

    def _site(self, host: str) -> "_Site":
        site = self._sites.get(host)
        if site is None:
            if len(self._sites) >= MOST_SITES:
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
        from hemeroteca.archive import noise

        model = self._sites[host].model
        if model is not None:
            noise.save(host, model)


class _Site:
    __slots__ = ("model", "settings")

    def __init__(self) -> None:
        self.model: NoiseModel | None = None  # nothing learned
        self.settings: SiteSettings | None = None  # not read yet
