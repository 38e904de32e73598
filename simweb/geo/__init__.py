"""The geographic corner: portals, catalogues, councils and newspapers, and among them services that give maps and data.

With 200 hosts it has 40,000 pages and 400 services (two for each host, whatever the number), behind links of different
quality: some say `GetCapabilities`, some bear the title of a data set, some say "here" and lead to `/r/8f3a`. Others
mislead: warehouses have a WMS too, every council has *servicios*, old service addresses no longer answer.

corner      hosts, sections, pages, links and services: pure functions of a seed
documents   what a service answers: capabilities documents of each type
"""

from simweb.geo.corner import CORNER_DOMAIN, Corner, Service

__all__ = ["CORNER_DOMAIN", "Corner", "Service"]
