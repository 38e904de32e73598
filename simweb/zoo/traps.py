"""Monsters that are whole hosts: spider traps, soft 404s, session ids, mirrors, names in mixed case."""

import hashlib
import re
from collections.abc import Iterable
from itertools import count

from simweb.messages import Request, Response
from simweb.model import DOMAIN
from simweb.text import prose
from simweb.zoo.cage import html, monster

_visits = count(1)
_DATE = re.compile(r"/calendario/(\d{1,6})/(\d{1,2})(?:/(\d{1,2}))?\Z")


@monster(
    "calendar",
    "A calendar that goes on for ever.",
    "the crawl of the host ends by itself",
    "trap",
    host="zoo-calendar",
    path="/",
    whole_host=True,
)
def calendar(request: Request) -> Response:
    if request.target == "/robots.txt":
        return _missing()
    if request.target == "/":
        return html("Agenda", '<a href="/calendario/2025/1">2025</a>')
    match = _DATE.match(request.target)
    if not match or not 1 <= int(match[2]) <= 12:
        return _missing()
    year, month = int(match[1]), int(match[2])
    before, after = year * 12 + month - 2, year * 12 + month
    links = [f"/calendario/{before // 12}/{before % 12 + 1}", f"/calendario/{after // 12}/{after % 12 + 1}"]
    if match[3]:
        links.append(f"/calendario/{year}/{month}")
    else:
        links += [f"/calendario/{year}/{month}/{day}" for day in range(1, 29)]
    return html(f"Agenda {request.target[12:]}", "<p>Hoy no hay actos.</p>" + _links(links))


@monster(
    "parameters",
    "Every page links to pages with one more parameter.",
    "the crawl of the host ends by itself",
    "trap",
    host="zoo-parameters",
    path="/",
    whole_host=True,
)
def parameters(request: Request) -> Response:
    path, _, query = request.target.partition("?")
    if path not in ("/", "/lista"):
        return _missing()
    number = query.count("=")
    more = f"{query}&" if query else ""
    links = [f"/lista?{more}filtro{number}={value}" for value in ("rojo", "verde", "azul")]
    links.append(f"/lista?pagina={number + len(query)}")
    return html("Catálogo", "<p>Todos nuestros productos.</p>" + _links(link.replace("&", "&amp;") for link in links))


@monster(
    "paths",
    "A relative link that makes the path longer each time.",
    "the crawl of the host ends by itself",
    "trap",
    host="zoo-paths",
    path="/",
    whole_host=True,
)
def paths(request: Request) -> Response:
    if request.target == "/robots.txt":
        return _missing()
    return html("Carpetas", '<p>Otra carpeta.</p><a href="fotos/album/">fotos</a> <a href="textos/">textos</a>')


@monster(
    "endless-names",
    "Every page links to five pages with random names.",
    "the crawl of the host ends by its page cap or a limit",
    "trap",
    host="zoo-names",
    path="/",
    whole_host=True,
)
def endless_names(request: Request) -> Response:
    if request.target == "/robots.txt":
        return _missing()
    name = hashlib.shake_128(request.target.encode()).hexdigest(20)
    return html(name, f"<p>{name}</p>" + _links(f"/{name[i : i + 8]}.html" for i in range(0, 40, 8)))


@monster(
    "soft-404",
    "Answers 200 for pages that do not exist.",
    "fetched; a good index notices that they are all the same",
    "soft-404",
    "duplicate",
    host="zoo-soft404",
    path="/",
    whole_host=True,
)
def soft_404(request: Request) -> Response:
    if request.target == "/robots.txt":
        return _missing()
    if request.target == "/" or re.fullmatch(r"/real-\d\.html", request.target):
        links = [f"/real-{n}.html" for n in range(10)] + [f"/perdida-{n}.html" for n in range(20)]
        text = prose("es", "culture", 0).text(hashlib.shake_128(request.target.encode()).digest(60))
        return html(f"Real {request.target}", f"<p>{text}</p>{_links(links)}")
    return html("Página no encontrada", "<p>Lo sentimos, la página que busca no existe o ha cambiado de sitio.</p>")


@monster(
    "sessions",
    "A new session id in every link of every answer: twelve pages look like millions.",
    "twelve pages",
    host="zoo-session",
    path="/",
    whole_host=True,
)
def sessions(request: Request) -> Response:
    session = hashlib.md5(b"%d" % next(_visits), usedforsecurity=False).hexdigest()
    path = re.split(r"[?;]", request.target)[0]
    match = re.fullmatch(r"/(?:pagina-(\d{1,2})\.php)?", path)
    if not match or int(match[1] or 1) > 11:
        return _missing()
    number = int(match[1] or 0)
    links = [f"/pagina-{n}.php?PHPSESSID={session}" for n in range(1, 12)]
    links += [f"/pagina-{n}.php;jsessionid={session.upper()}" for n in range(1, 12, 2)]
    text = prose("es", "economy", 1).text(hashlib.shake_128(b"session %d" % number).digest(40))
    response = html(f"Tienda {number}", f"<p>{text}</p>{_links([*links, '/'])}")
    response.extra = f"Set-Cookie: PHPSESSID={session}; Path=/\r\n"
    return response


def _mirror(request: Request) -> Response:
    """Both mirrors answer the same bytes."""
    match = re.fullmatch(r"/(?:(\d{1,2})\.html)?", request.target)
    if not match or int(match[1] or 0) >= 30:
        return _missing()
    text = prose("en", "science", 2).text(hashlib.shake_128(request.target.encode()).digest(80))
    return html(f"Mirror {request.target}", f"<p>{text}</p>{_links(f'/{n}.html' for n in range(1, 30))}")


for _letter, _other in ("ab", "ba"):
    monster(
        f"mirror-{_letter}",
        f"The same 30 pages as mirror-{_other}.",
        "fetched; the second copy is stored as a revisit of the same payload",
        "duplicate",
        host=f"zoo-mirror-{_letter}",
        path="/",
        whole_host=True,
    )(_mirror)


@monster(
    "mixed-case",
    "Links to itself in capitals, with port 80 and with odd schemes: six pages look like dozens.",
    "six pages",
    host="zoo-case",
    path="/",
    whole_host=True,
)
def mixed_case(request: Request) -> Response:
    if not re.fullmatch(r"/[1-5]?", request.target):
        return _missing()
    origins = (
        "http://ZOO-CASE.SIM.TEST",
        f"HTTP://Zoo-Case.{DOMAIN}",
        f"http://zoo-case.{DOMAIN}:80",
        "//zOO-cASE.sim.TEST:80",
    )
    return html("Mixed case", _links(f"{origin}/{n}" for origin in origins for n in range(1, 6)))


def _links(urls: Iterable[str]) -> str:
    return "".join(f'<p><a href="{url}">{url}</a></p>\n' for url in urls)


def _missing() -> Response:
    return html("404", "<p>Nothing here.", status=404)
