"""Files for the demonstration: a past of some sites as WARC, and a small wiki as a dump. Made from the model alone."""

import itertools
import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.sax.saxutils import escape

from simweb import render
from simweb.clock import DAY
from simweb.model import Host, Web

PAGES = 4  # of each site that have a past
PEOPLE = ("Marisol", "Old Sailor", "Tomás G.", "Lena", "Cartographer", "203.0.113.7", "198.51.100.23", "CleanupBot")


def write_past(path: Path, web: Web, hosts: int, days: int, now: datetime) -> list[str]:
    """Captures of the front page and some others of the first hosts, one a day, up to `now`; the sites' addresses.

    Virtual day `days` after the web's start is today: the running web has to be advanced by as much.
    """
    chosen = [web.host_at(index) for index in range(hosts)]
    with path.open("wb") as file:
        for day in range(days):
            virtual = web.start + day * DAY
            for host in chosen:
                for number in range(PAGES):
                    seconds = 3600 * (7 + number) + host.count(virtual)
                    at = now - timedelta(days=days - day) + timedelta(seconds=seconds % DAY)
                    file.write(_record(host, number, virtual + seconds, at))
    return [host.url(0) for host in chosen]


def write_wiki(path: Path, web: Web, articles: int, now: datetime) -> list[str]:
    """A dump as MediaWiki exports it: some years of edits, with vandals and reverts; the titles."""
    draw = random.Random(web.settings.seed)  # the same wiki for the same seed
    titles = [web.host_at(index).headline(index + 3) for index in range(articles)]
    with path.open("w", encoding="utf-8") as file:
        file.write('<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">\n')
        file.write("<siteinfo><sitename>Little Wiki</sitename><dbname>littlewiki</dbname>")
        file.write("<base>https://wiki.example.test/wiki/Main_Page</base><generator>simweb</generator>")
        file.write(
            '<case>first-letter</case><namespaces><namespace key="0" case="first-letter"/></namespaces></siteinfo>\n'
        )
        number = 1
        for index, title in enumerate(titles):
            file.write(f"<page><title>{escape(title)}</title><ns>0</ns><id>{index + 1}</id>\n")
            for revision in _revisions(web.host_at(index), draw, now, lively=index == 0):
                file.write(revision.replace("@ID@", str(number)))
                number += 1
            file.write("</page>\n")
        file.write("</mediawiki>\n")
    return titles


def _record(host: Host, number: int, virtual: float, at: datetime) -> bytes:
    body = render.page(host, number, host.changed(number, virtual), virtual).encode("utf-8", "xmlcharrefreplace")
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    lines = (
        "WARC/1.1",
        "WARC-Type: response",
        f"WARC-Record-ID: <urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{host.url(number)} {at}')}>",
        f"WARC-Date: {at.strftime('%Y-%m-%dT%H:%M:%SZ')}",
        f"WARC-Target-URI: {host.url(number)}",
        "WARC-IP-Address: 127.0.0.1",
        "Content-Type: application/http; msgtype=response",
        f"Content-Length: {len(head) + len(body)}",
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + head + body + b"\r\n\r\n"


def _revisions(host: Host, draw: random.Random, now: datetime, lively: bool) -> Iterator[str]:
    """The life of an article: it grows, somebody empties it now and then, somebody else restores it. A lively one is
    edited more often of late."""
    paragraphs = [host.headline(number) for number in range(1, 40)]
    text, at, before = "", now - timedelta(days=3 * 365), ""
    calm = now - timedelta(days=5) if lively else now
    for step in itertools.count():
        following = at + timedelta(hours=draw.expovariate(1 / 150 if at < calm else 1 / 6))
        at = min(following, calm) if at < calm else following
        if at >= now:
            return
        who = draw.choice(PEOPLE)
        if step % 23 == 11:
            before, text, comment = text, "nothing to see here", ""
            who = draw.choice(PEOPLE[5:7])
        elif before:
            text, before, comment, who = before, "", "Reverted vandalism", PEOPLE[draw.randrange(5)]
        else:
            text, comment = f"{text}\n\n{draw.choice(paragraphs)}. {draw.choice(paragraphs)}.".strip(), "more about it"
        person = (
            f"<ip>{who}</ip>"
            if who[0].isdigit()
            else f"<username>{escape(who)}</username><id>{PEOPLE.index(who) + 1}</id>"
        )
        stamp = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        yield (
            f"<revision><id>@ID@</id><timestamp>{stamp}</timestamp><contributor>{person}</contributor>"
            f"<comment>{escape(comment)}</comment><model>wikitext</model><format>text/x-wiki</format>"
            f'<text bytes="{len(text.encode())}" xml:space="preserve">{escape(text)}</text></revision>\n'
        )
