"""A deterministic living web in one process on loopback, for demos, tests and benchmarks of crawlers.

Thousands of virtual hosts behind one port, pages that change by known processes on a virtual clock, robots, sitemaps,
feeds, redirects, errors and a zoo of monsters. The model is pure (`model`, `changes`, `text`), `render` writes the
bytes, `geo` is a corner with maps, `server` speaks HTTP, `politeness` watches the visitors and `truth` knows what a
perfect crawler finds.

It knows nothing of the crawler that visits it and must never import it.
"""

from simweb.api import HostStats, SimWeb, SimWebError, Stats, Truth
from simweb.model import DOMAIN, Settings
from simweb.truth import Found

__all__ = ["DOMAIN", "Found", "HostStats", "Settings", "SimWeb", "SimWebError", "Stats", "Truth"]
