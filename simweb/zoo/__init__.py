"""The zoo: hosts and pages that misbehave on purpose, each with the outcome a good crawler records.

`MONSTERS` is the list for tests; `http://zoo.sim.test/` is the same list for people and crawlers.
"""

from html import escape

from simweb.messages import Request, Response, Stream
from simweb.zoo.cage import ZOO_HOST, Monster, Zoo, by_address, html, is_zoo
from simweb.zoo.registry import MONSTERS, forbids

__all__ = ["INDEX_URL", "MONSTERS", "Monster", "answer", "forbids", "is_zoo"]

INDEX_URL = f"http://{ZOO_HOST}/"


def answer(site: Zoo, request: Request) -> Response | Stream:
    """What a zoo host says."""
    monster = by_address(request.host, request.target)
    if monster:
        return monster.answer(request)
    if request.host == ZOO_HOST and request.target == "/":
        return _index(site)
    if request.target == "/robots.txt" and request.host == ZOO_HOST:
        sitemap = f"Sitemap: http://{ZOO_HOST}/laughs-sitemap.xml"
        return Response(200, "text/plain", f"User-agent: *\nDisallow: /prohibido/\n{sitemap}\n".encode())
    return Response(404, "text/html", b"<!DOCTYPE html><title>404</title><p>Not in this zoo\n")


def _index(site: Zoo) -> Response:
    """All monsters, linked. Those that need TLS are left out when there is none."""
    rows = "".join(
        f'<li><a href="{escape(monster.url)}">{escape(monster.name)}</a>: {escape(monster.what)} '
        f"<i>{escape(monster.outcome)}</i></li>\n"
        for monster in MONSTERS
        if site.tls_port or not monster.needs_tls
    )
    forbidden = '<li><a href="/prohibido/jaula.html">forbidden</a>: robots.txt forbids this one.</li>\n'
    return html("The zoo", f"<ul>\n{rows}{forbidden}</ul>")
