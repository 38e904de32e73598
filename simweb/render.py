"""Bytes of ordinary hosts: pages in three kinds of markup, feeds, sitemaps, robots.txt and files.

A page is a pure function of (host, page, the moment it last changed); the parts that all pages of a host share are
rendered once and kept in a bounded cache.
"""

import gzip
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from html import escape

from simweb import media
from simweb.changes import mix
from simweb.clock import HOUR, http_date, iso_date
from simweb.model import FANOUT, IMAGES, LOGIN_PATH, SEARCH_PATH, STATIC_PAGES, Host, Resource

FRAME_BYTES = 8_000  # what navigation, links and markup weigh, roughly: the rest of a page's size is text


def page(host: Host, number: int, changed: int, now: float) -> str:
    """An HTML page as of its last change."""
    frame = _frame(host)
    words = host.words.frame
    prose = host.prose(number)
    bits = mix(host.key, number)
    headline = host.headline(number)
    keyword = host.keyword(number)

    fresh = hashlib.shake_128(b"%d page %d %d" % (host.key, number, changed)).digest(200)
    sentences = max(6, (host.web.page_sizes[bits >> 32 & 255] - FRAME_BYTES) // 85)
    choices = hashlib.shake_128(b"%d page %d" % (host.key, number)).digest(2 * sentences)
    blocks = min(3 + (bits >> 40 & 3), sentences // 2)
    step = sentences // blocks * 2
    rewritten = fresh[0] % blocks  # a change gives the page a new lead and rewrites part of one block
    related = host.related(number)
    share = len(related) // blocks + 1
    item = _item
    image = number % IMAGES

    body = [f"<p><strong>{prose.text(fresh[4:10])}</strong> {keyword.capitalize()}.</p>\n"]
    for block in range(blocks):
        text = choices[block * step : (block + 1) * step] if block < blocks - 1 else choices[block * step :]
        if block == rewritten:
            text = fresh[10 : 10 + len(text)] + text[190:]
        body.append(f"<h2>{prose.tails[text[0]]}</h2>\n<p>{prose.text(text)}</p>\n<ul>")
        body += [item(host, n) for n in related[block * share : (block + 1) * share]]
        body.append("</ul>\n")
        if block == 0:
            body.append(_figure(frame.href, image, prose.tails[text[1]]))
    children = host.children(number, now)
    if children:
        body.append('<ul class="list">')
        body += [item(host, n) for n in children]
        body.append("</ul>\n")
    if number == 0:
        body.append(f'<ul class="latest" title="{words["updated"]}">')
        body += [item(host, n) for n in host.latest(now)]
        body.append("</ul>\n")
    body += [_cross_item(other, n) for other, n in host.cross(number)]
    if path := host.trouble(number):
        body.append(f'<p class="note"><a href="{frame.href(path)}">{words["more"]}</a></p>\n')
    trait = host.trait(number)
    if trait == "pdf":
        body.append(f'<p><a href="{frame.href(f"/docs/informe-{number}.pdf")}">{words["report"]} (PDF)</a></p>\n')
    elif trait == "print":
        body.append(f'<p><a href="{escape(frame.href(host.print_path(number)))}">{words["report"]}</a></p>\n')
    neighbours = "".join(item(host, n) for n in host.neighbours(number))
    crumbs = "".join(item(host, n) for n in host.ancestors(number))
    author = host.words.names[bits >> 52 & 7 if len(host.words.names) > 7 else 0]
    born, when = iso_date(host.birth(number)), iso_date(changed)
    robots = '<meta name="robots" content="noindex">\n' if trait == "noindex" else ""
    title = host.title if number == 0 else f"{headline} - {keyword} - {host.title}"
    return (
        f"{frame.top}<title>{title}</title>\n"
        f'<meta name="description" content="{headline}. {prose.tails[fresh[4]]}.">\n{robots}'
        f'<meta name="author" content="{author}">\n'
        f'<meta property="article:published_time" content="{born}">\n'
        f'<meta property="article:modified_time" content="{when}">\n'
        f'<link rel="canonical" href="{escape(host.url(number))}">\n{frame.head_end}'
        f'{frame.before_crumbs}<ol class="breadcrumbs">{crumbs}</ol>{frame.before_main}'
        f"<h1>{headline}</h1>\n"
        f'<p class="byline">{words["by"]} {author}. {words["published"]}: <time datetime="{born}">'
        f'{born[:10]}</time>. {words["updated"]}: <time datetime="{when}">{when}</time></p>\n'
        f"{''.join(body)}"
        f'<ul class="pager">{neighbours}</ul>{frame.after_main}{_noise(host, now)}{frame.bottom}'
    )


def print_page(host: Host, number: int) -> str:
    """The page for paper: the same story without its frame."""
    words = host.prose(number)
    choices = hashlib.shake_128(b"%d page %d" % (host.key, number)).digest(80)
    return (
        f"<!DOCTYPE html>\n<html lang={host.language}><head>{_meta_charset(host)}<title>{host.headline(number)}</title>"
        f'<link rel="canonical" href="{escape(host.url(number))}"></head><body><h1>{host.headline(number)}</h1>'
        f"<p>{words.text(choices)}</p></body></html>\n"
    )


def static_page(host: Host, target: str) -> str:
    """Contact, legal notice, about us, and the search and login pages."""
    label = host.words.frame[STATIC_PAGES.get(target, "search")]
    choices = hashlib.shake_128(b"%d %s" % (host.key, target.encode())).digest(24)
    frame = _frame(host)
    return (
        f"{frame.top}<title>{label} - {host.title}</title>\n{frame.head_end}{frame.before_crumbs}{frame.before_main}"
        f"<h1>{label}</h1><p>{host.proses[0].text(choices)}</p>{frame.after_main}{frame.bottom}"
    )


def notice(host: Host, title: str, path: str = "") -> str:
    """A small page: an error, a redirect, an answer after waiting; with a link where there is somewhere to go."""
    link = f'<p><a href="{escape(host.origin + path)}">{host.words.frame["more"]}</a></p>' if path else ""
    return (
        f"<!DOCTYPE html>\n<html><head>{_meta_charset(host)}<title>{title}</title></head>"
        f"<body><h1>{title}</h1>{link}</body></html>\n"
    )


def refresh_page(host: Host, number: int) -> str:
    """A page that sends the reader on, for those that obey and with a link for those that do not."""
    url = escape(host.url(number))
    return (
        f'<!DOCTYPE html>\n<html><head>{_meta_charset(host)}<meta http-equiv="refresh" content="0; url={url}">'
        f'<title>{host.title}</title></head><body><a href="{url}">{host.words.frame["more"]}</a></body></html>\n'
    )


def robots(host: Host) -> str:
    if host.robots == "empty":
        return ""
    lines = []
    if host.robots == "groups":
        lines += [
            "# Some robots are not welcome at all.",
            "User-agent: BadBot",
            "User-agent: EvilScraper",
            "Disallow: /",
        ]
        lines += [""]
    lines += ["User-agent: *", "Disallow: /privado/", "Allow: /privado/abierto/", "Disallow: /*orden="]
    if host.robots == "delay":
        lines.append(f"Crawl-delay: {host.web.settings.crawl_delay:g}")
    if host.sitemap != "none":
        lines += ["", f"Sitemap: {host.origin}/sitemap.{'txt' if host.sitemap == 'text' else 'xml'}"]
    return "\n".join(lines) + "\n"


def sitemap(host: Host, part: int, now: float) -> bytes:
    """A sitemap file: a list of URLs as text, a urlset, or an index of parts, every second of them gzipped."""
    if host.sitemap == "text":
        return "".join(f"{host.url(n)}\n" for n in host.sitemap_pages(0, now)).encode()
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    space = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    if host.sitemap == "index" and part == 0:
        parts = (host.origin + host.sitemap_part(i + 1) for i in range(host.sitemap_parts(now)))
        rows = "".join(f"<sitemap><loc>{loc}</loc></sitemap>\n" for loc in parts)
        return f"{head}<sitemapindex {space}>\n{rows}</sitemapindex>\n".encode()
    rows = "".join(
        f"<url><loc>{escape(host.url(n))}</loc><lastmod>{iso_date(host.changed(n, now))}</lastmod>"
        f"<priority>{'0.8' if n <= FANOUT else '0.5'}</priority></url>\n"
        for n in host.sitemap_pages(part, now)
    )
    body = f"{head}<urlset {space}>\n{rows}</urlset>\n".encode()
    return gzip.compress(body, 6, mtime=0) if part and part % 2 == 0 else body


def feed(host: Host, now: float) -> str:
    """RSS 2.0 or Atom with the newest pages."""
    items = []
    for n in host.latest(now):
        url, title, born = escape(host.url(n)), escape(host.headline(n)), host.birth(n)
        summary = escape(host.prose(n).plain(hashlib.shake_128(b"%d page %d" % (host.key, n)).digest(4)))
        if host.feed == "/atom.xml":
            when = iso_date(born)
            items.append(
                f'<entry><id>{url}</id><title>{title}</title><link href="{url}"/><updated>{when}</updated>'
                f"<summary>{summary}</summary></entry>\n"
            )
        else:
            items.append(
                f'<item><guid isPermaLink="true">{url}</guid><title>{title}</title><link>{url}</link>'
                f"<pubDate>{http_date(born)}</pubDate><description>{summary}</description></item>\n"
            )
    name, rows, newest = escape(host.title), "".join(items), host.birth(host.count(now) - 1)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    if host.feed == "/atom.xml":
        return (
            f'{head}<feed xmlns="http://www.w3.org/2005/Atom"><title>{name}</title><id>{host.origin}/</id>'
            f'<link href="{host.origin}/"/><updated>{iso_date(newest)}</updated>\n{rows}</feed>\n'
        )
    return (
        f'{head}<rss version="2.0"><channel><title>{name}</title><link>{host.origin}/</link>'
        f"<description>{name}</description><lastBuildDate>{http_date(newest)}</lastBuildDate>\n{rows}</channel></rss>\n"
    )


def report(host: Host, number: int) -> bytes:
    """The PDF that belongs to a page."""
    choices = hashlib.shake_128(b"%d report %d" % (host.key, number)).digest(48)
    words = host.prose(number)
    lines = [words.plain(choices[i : i + 2]) for i in range(0, 48, 2)]
    return media.pdf(host.headline(number), [*lines, host.keyword(number)])


def asset(resource: Resource, target: str, often: int = 0) -> tuple[str, bytes]:
    """(media type, bytes) of an image, style sheet, script or icon. `often`: how often it got other colours."""
    if resource.kind == "css":
        style = media.EXTRA_STYLE if target.endswith("extra.css") else media.STYLE
        return "text/css", style + (b"h1 { color: #%06x }\n" % (mix(often, 7) & 0xFFFFFF) if often else b"")
    if resource.kind == "js":
        return "text/javascript", media.SCRIPT
    if resource.kind == "icon":
        return "image/vnd.microsoft.icon", media.ico()
    name, _, extension = target.rpartition("/")[2].partition(".")
    number = {"logo": 100, "fondo": 101}.get(name) or int(name) if name != "0" else 0
    if extension == "png":
        return "image/png", media.png(number)
    return ("image/gif", media.gif(number)) if extension == "gif" else ("image/svg+xml", media.svg(number))


@dataclass(frozen=True)
class Frame:
    """What all pages of a host share, and how the host writes its links."""

    prefix: str
    relative: bool
    top: str
    head_end: str
    before_crumbs: str
    before_main: str
    after_main: str
    bottom: str

    def href(self, path: str) -> str:
        if self.relative:
            return path[1:] or "./"
        return self.prefix + path


@lru_cache(maxsize=2048)
def _frame(host: Host) -> Frame:
    words = host.words.frame
    style = host.link_style
    prefix = ("", host.origin, "", f"//{host.name}")[style]
    relative = style == 2
    bare = Frame(prefix, relative, "", "", "", "", "", "")
    href = bare.href
    base = f'<base href="{host.origin}/">\n' if relative else ""
    top = f'<!DOCTYPE html>\n<html lang="{host.language}">\n<head>\n{_meta_charset(host)}{base}'
    kind = "atom" if host.feed == "/atom.xml" else "rss"
    head_end = (
        f'<link rel="stylesheet" href="{href("/static/estilo.css")}">\n'
        f'<link rel="icon" href="{href("/favicon.ico")}">\n'
        f'<link rel="alternate" type="application/{kind}+xml" title="{host.title}" href="{href(host.feed)}">\n'
        f'<script src="{href("/static/app.js")}" defer></script>\n</head>\n<body>\n'
    )
    logo = f'<a href="{href("/")}"><img class="logo" src="{href("/img/logo.png")}" alt="{words["home"]}"></a>'
    menu = f'<li><a href="{href(SEARCH_PATH)}">{words["search"]}</a></li>\n' + "".join(
        _item(host, n) for n in host.menu()
    )
    popular = "".join(_item(host, n) for n in host.most_read())
    advert = (
        f'<div class="ad"><b>{words["advert"]}</b> {host.proses[1].tails[host.index & 255]} '
        f'<img src="{href("/img/1.gif")}" alt=""></div>'
    )
    pages = "".join(f'<a href="{href(path)}">{words[name]}</a> ' for path, name in STATIC_PAGES.items())
    friends = "".join(f'<li><a href="{other.origin}/">{other.title}</a></li>\n' for other in host.friends())
    pages += f'<a href="{href(LOGIN_PATH)}" rel="nofollow">Login</a>'
    closing = f"<p>{pages}</p><p>{words['friends']}</p><ul>{friends}</ul><p>&copy; {host.title}</p>"
    match host.markup:
        case 0:
            before_crumbs = f"<header>{logo}<p>{host.title}</p></header>\n<nav><ul>{menu}</ul></nav>\n"
            before_main = "<main><article>\n"
            after_main = (
                f"</article></main>\n<aside><h3>{words['most_read']}</h3><ul>{popular}</ul>{advert}</aside>\n<footer>"
            )
            bottom = f"{closing}</footer>\n</body>\n</html>\n"
        case 1:
            before_crumbs = (
                f'<div id="header">{logo}<div class="title">{host.title}</div></div>\n'
                f'<div id="menu" class="navigation"><ul>{menu}</ul></div>\n'
            )
            before_main = '<div id="content" class="post">\n'
            after_main = (
                f'</div>\n<div class="sidebar"><h3>{words["most_read"]}</h3><ul>{popular}</ul>{advert}</div>\n'
                '<div class="footer">'
            )
            bottom = f"{closing}</div>\n</body>\n</html>\n"
        case _:
            before_crumbs = (
                f'<center>{logo}<font size="5">{host.title}</font></center>\n<table class="frame" border=0><tr>'
                f"<td width=180><ul>{menu}</ul>{advert}</td><td>"
            )
            before_main = "\n"
            after_main = f"</td><td><b>{words['most_read']}</b><ul>{popular}</ul></td></tr></table>\n<hr>"
            bottom = f"{closing}\n</body>\n</html>\n"
    return Frame(prefix, relative, top, head_end, before_crumbs, before_main, after_main, bottom)


# Popular pages are linked from everywhere: most links of a page are found here.
@lru_cache(maxsize=65_536)
def _item(host: Host, number: int) -> str:
    """A list item that links to a page of the host; '' for a page nobody links to."""
    if host.trait(number) == "orphan":
        return ""
    path = host.path(number)
    fragment = "#comentarios" if number % 16 == 5 else ""
    href = path[1:] or "./" if host.link_style == 2 else ("", host.origin, "", f"//{host.name}")[host.link_style] + path
    return f'<li><a href="{escape(href)}{fragment}">{host.headline(number)}</a></li>\n'


def _cross_item(host: Host, number: int) -> str:
    return f'<p>&rarr; <a href="{escape(host.url(number))}">{host.headline(number)}</a></p>\n'


def _figure(href: Callable[[str], str], image: int, caption: str) -> str:
    large = f' srcset="{href(f"/img/{image}.png")} 1x, {href(f"/img/{image}.svg")} 2x"' if image % 4 == 0 else ""
    source = href(f"/img/{image}.png")
    return f'<figure><img src="{source}"{large} alt="{caption}"><figcaption>{caption}</figcaption></figure>\n'


def _noise(host: Host, now: float) -> str:
    """Some hosts show a clock and a counter: bytes that differ without any change worth keeping."""
    if not host.noisy:
        return ""
    hour = int(now // HOUR)
    return f'<p class="clock">{iso_date(hour * HOUR)} | {mix(host.key, hour) % 10_000}</p>\n'


def _meta_charset(host: Host) -> str:
    return f'<meta charset="{host.charset.meta}">\n' if host.charset.meta else ""
