"""Bodies made to exhaust a reader, and a program that measures what each costs.

Run as a program (by test_monsters.py, or by hand with names) it prints a line of JSON per monster: seconds of processor
time and the memory above that of the process before the first one.
"""

import ctypes
import gc
import gzip
import json
import resource
import sys
import time
from collections.abc import Callable

from hemeroteca import extract

Monster = Callable[[], tuple[bytes, str]]


def html(text: str) -> tuple[bytes, str]:
    return text.encode(), "text/html; charset=utf-8"


def xml(text: str) -> tuple[bytes, str]:
    return text.encode(), "text/xml"


def dressed(name: str, count: int) -> str:
    """Elements that differ in an attribute, so that each of them is opened again in every later paragraph."""
    return "".join(f"<{name} i={i}>" for i in range(count))


def attributes(count: int, value: str = "") -> str:
    return " ".join(f"a{i}{value}" for i in range(count))


def laughs(body: str) -> str:
    lines = [f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(12)]
    return f'<!DOCTYPE l [<!ENTITY a "lol">{"".join(lines)}]>{body}'


MONSTERS: dict[str, Monster] = {
    "ten million paragraphs": lambda: html("<p>x" * 10_000_000),
    "ten million list items": lambda: html("<li>" * 10_000_000),
    "a million divs deep": lambda: html("<div>" * 1_000_000),
    "deep, then end tags": lambda: html("<div>" * 50_000 + "</p>" * 50_000),
    "deep behind scopes": lambda: html(("<div>" * 990 + "<table><td>" + "</div>" * 990) * 50),
    "deep by names that look alike": lambda: html("<divx></div>" * 50_000),
    "deep below the threshold": lambda: html("<ul><li>" * 9_990),
    "deep lists": lambda: html("<ul><li>" * 50_000),
    "deep select": lambda: html("<select>" * 90_000),
    "deep svg": lambda: html("<svg>" * 90_000 + "</p>" * 9_000),
    "reopened formatting below the threshold": lambda: html("<p>" + dressed("b", 740) + "</p><p>x" * 370),
    "reopened formatting": lambda: html("<p>" + dressed("b", 900) + "</p><p>x" * 9_000),
    "reopened formatting, deep": lambda: html("<p>" + dressed("b", 3000) + "</p><p>x" * 50_000),
    "reopened formatting without attributes": lambda: html(
        "<p>" + "<b><i><u><s><em><tt><big><small><code><strong><font><strike>" * 3 + "</p><p>x" * 49_000
    ),
    "formatting closed out of reach": lambda: html(
        "<p>" + dressed("b", 900) + "<table><td>" + "</b>" * 900 + "</table></p>" + "<p>x" * 8_000
    ),
    "formatting closed by a false name": lambda: html(
        "<p>" + dressed("code", 900) + "</codex>" * 900 + "</p>" + "<p>x" * 8_000
    ),
    "formatting closed before": lambda: html("</b>" * 900 + "<p>" + dressed("b", 900) + "</p>" + "<p>x" * 8_000),
    "formatting closed in an attribute": lambda: html(
        "<p>" + "".join(f'<b i={i} x="</b>">' for i in range(900)) + "</p><p>x" * 8_000
    ),
    "formatting closed in a comment": lambda: html(
        "<p>" + dressed("b", 900) + "<!-- > " + "</b>" * 900 + " --></p>" + "<p>x" * 8_000
    ),
    "formatting closed in a text field": lambda: html(
        "<p>" + dressed("b", 900) + "<textarea>" + "</b>" * 900 + "</textarea></p>" + "<p>x" * 8_000
    ),
    "formatting that outlives its end tag": lambda: html(
        "".join(f"<b i={i}>{'<div>' * 9}</b>{'</div>' * 9}" for i in range(900)) + "<p>x</p>" * 8_000
    ),
    "deep, closed in attributes": lambda: html('<div x="</div>">' * 45_000),
    "deep, closed in comments": lambda: html("<div><!-- > </div> -->" * 30_000),
    "deep behind forms": lambda: html("<form><div></form>" * 30_000),
    "deep behind spans": lambda: html("<span><div></span>" * 30_000),
    "deep behind objects": lambda: html("<object><table><td></object>" * 20_000),
    "deep behind rows": lambda: html("<tr><table></tr>" * 30_000),
    "deep behind the end of the body": lambda: html(("<div>" * 900 + "</body>") * 90),
    "18,000 attributes": lambda: html(f"<a {attributes(18_000)}>x"),
    "400,000 attributes": lambda: html(f"<a {attributes(400_000)}>x"),
    "attributes behind quoted brackets": lambda: html("<a " + attributes(300_000, '=">"') + ">x"),
    "attributes in many tags": lambda: html(f"<a {attributes(700)}>" * 900),
    "attributes that look quoted": lambda: html(f'<a ="{attributes(300_000)}">x'),
    "attributes of html": lambda: html("".join(f"<html a{i}>" for i in range(99_000))),
    "attributes of body": lambda: html("<p>" + "".join(f"<BODY a{i}>" for i in range(99_000))),
    "an attribute of 60 MB": lambda: html('<a href="' + "x" * 60_000_000 + '">y'),
    "two million links": lambda: html("".join(f"<a href=/{i}>l</a>" for i in range(2_000_000))),
    "links with context": lambda: html("".join(f"<a href=/{i}>l</a>" for i in range(300_000))),
    "anchors in anchors": lambda: html("<a href=1><object>" * 4_900 + "x" * 3_000_000),
    "nav in nav": lambda: html("<nav>" * 9_000 + "x" * 3_000_000),
    "header in header": lambda: html("<header>" * 9_000 + "<a href=1>x</a>" * 500),
    "headings in headings": lambda: html("<h1><div>" * 4_900 + "x" * 3_000_000),
    "hidden in hidden": lambda: html("<div hidden>" * 9_000 + "x" * 3_000_000),
    "boilerplate in boilerplate": lambda: html("<div class=nav>" * 9_000 + "x" * 3_000_000),
    "named boxes": lambda: html("<div class=nav>x</div>" * 16_000 + "x" * 3_000_000),
    "our own marks": lambda: html("<nav></nav>" + "\x01\x02\x03\x04" * 1_000_000),
    "our own anchor marks": lambda: html("<a href=1>x</a>" + "\x051\x06\x07" * 1_000_000),
    "open brackets": lambda: html("<" * 50_000_000),
    "open tags": lambda: html("<a" * 25_000_000),
    "open tags in tags": lambda: html("<a <b" * 49_000),
    "open quotes": lambda: html('<a x="' * 90_000),
    "character references": lambda: html("&amp;" * 10_000_000),
    "comparisons in a script": lambda: html("<script>" + "if(a<b)x;" * 90_000 + "</script><p>hello"),
    "unclosed scripts": lambda: html("<script>" * 90_000),
    "unclosed comments": lambda: html("<!--" * 90_000),
    "text in tables": lambda: html("<table>" + "<a>x" * 90_000),
    "nothing but spaces": lambda: html(" " * 50_000_000),
    "nothing but tabs": lambda: html("\t" * 50_000_000),
    "nothing but NUL": lambda: html("\0" * 50_000_000),
    "UTF-16": lambda: (b"\xff\xfe" + "<p>x".encode("utf-16-le") * 5_000_000, "text/html"),
    "not UTF-8": lambda: (b"\xff\xfe\xfd" * 10_000_000, "text/html; charset=utf-8"),
    "Latin-1": lambda: (b"<p>\xe9" * 3_000_000, "text/html; charset=iso-8859-1"),
    "open url(": lambda: (b"url(" * 10_000_000, "text/css"),
    "many url()": lambda: (b'a{b:url("x")}' * 4_000_000, "text/css"),
    "a wide url(": lambda: (b"url(" + b" " * 10_000_000, "text/css"),
    "style attributes": lambda: html('<p style="x:url(a)">' * 40_000),
    "a long srcset": lambda: html('<img srcset="' + "a," * 1_500_000 + '">'),
    "an empty srcset": lambda: html('<img srcset="' + " ," * 1_500_000 + '">'),
    "classes": lambda: html('<div class="' + "nav" * 1_000_000 + '">x</div>'),
    "JSON-LD": lambda: html('<script type="application/ld+json">' + '"author":{' * 300_000 + "</script>"),
    "JSON-LD, one author": lambda: html(
        '<script type="application/ld+json">"author":{' + '"name"' * 300_000 + "</script>"
    ),
    "addresses in text": lambda: (b"http://x/ " * 5_000_000, "text/plain"),
    "beginnings of addresses": lambda: (b"http://" * 5_000_000, "text/plain"),
    "one long word": lambda: (b"x" * 64_000_000, "text/plain"),
    "closing brackets": lambda: (b"http://x/" + b")" * 4_000_000, "text/plain"),
    "a billion laughs": lambda: xml(laughs("<urlset><url><loc>&m;</loc></url></urlset>")),
    "laughs in an attribute": lambda: xml(laughs('<feed><entry><link href="&m;"/></entry></feed>')),
    "laughs far down": lambda: xml(f"<!--{'x' * 200_000}-->" + laughs("<urlset><url><loc>&m;</loc></url></urlset>")),
    "laughs in UTF-16": lambda: (laughs("<urlset><url><loc>&m;</loc></url></urlset>").encode("utf-16"), "text/xml"),
    "twelve million elements": lambda: xml("<urlset>" + "<a/>" * 12_000_000),
    "deep XML": lambda: xml("<urlset>" + "<a>" * 12_000_000),
    "XML attributes": lambda: xml("<urlset " + attributes(1_000_000, '="1"') + "/>"),
    "ampersands": lambda: xml("<rss>" + "&" * 7_000_000),
    "open CDATA": lambda: xml("<rss>" + "<![CDATA[" * 700_000),
    "a title of 50 MB": lambda: xml("<rss><channel><title>" + "x" * 50_000_000),
    "a sitemap ten times too long": lambda: xml("<urlset>" + "<url><loc>http://h/aaaaaaaaaaaaa</loc></url>" * 500_000),
    "alternates": lambda: xml("<urlset><url><loc>http://h/</loc>" + '<link href="/a"/>' * 1_500_000),
    "doctypes": lambda: xml("<!DOCTYPE " * 5_000_000),
    "processing instructions": lambda: xml("<?xml ?>" + "<?x?>" * 5_000_000),
    "escaped brackets": lambda: xml("<rss><channel><item><description>" + "&lt;" * 1_500_000),
    "deep JSON": lambda: (
        b'{"version":"https://jsonfeed.org/version/1","items":' + b"[" * 4_000_000,
        "application/json",
    ),
    "JSON items": lambda: (
        b'{"version":"https://jsonfeed.org/version/1","items":[' + b"{}," * 2_600_000 + b"{}]}",
        "application/json",
    ),
    "gzip bomb": lambda: (gzip.compress(bytes(500_000_000), 1), "application/x-gzip"),
    "gzip bomb of HTML": lambda: (gzip.compress(b"<html><p>x" * 30_000_000, 1), "application/octet-stream"),
}


def measure(name: str) -> dict[str, object]:
    body, content_type = MONSTERS[name]()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # or what earlier monsters left behind would count, or hide, memory
    floor = memory("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # forget the highest memory so far
    before = time.process_time()
    document = extract.read(body, content_type, "http://example.org/page", want_context="context" in name)
    seconds = time.process_time() - before
    return {
        "name": name,
        "seconds": round(seconds, 3),
        "memory": memory("VmHWM") - floor,
        "kind": document.kind,
        "text": len(document.text),
        "links": len(document.links),
        "notes": document.notes,
    }


def memory(field: str) -> int:
    with open("/proc/self/status") as file:
        return int(file.read().split(f"{field}:")[1].split()[0]) * 1024


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    extract.read(b"<p>x", "text/html", "http://example.org/")
    for monster in sys.argv[1:] or MONSTERS:
        print(json.dumps(measure(monster)), flush=True)
