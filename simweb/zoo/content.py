"""Monsters of the body: bombs, huge and deep documents, charset lies, hostile XML and PDF, odd links, XSS."""

import struct
import zlib
from collections.abc import Iterator
from functools import lru_cache

import brotli

from simweb import media
from simweb.messages import Request, Response, Stream
from simweb.model import DOMAIN
from simweb.zoo.cage import MIB, ZOO_HOST, head, html, monster, repeat

BOMB_BYTES = 1 << 30  # what a bomb unpacks to
DEEP = 100_000
NODES = 10_000_000
LINKS = 1_000_000


@monster("gzip-bomb", "1 MiB of gzip that unpacks to 1 GiB.", "unpacked up to the limit only", "decompression-limit")
def gzip_bomb(request: Request) -> Response:
    return Response(200, "text/html", packed_gzip(), "Content-Encoding: gzip\r\n")


@monster(
    "brotli-bomb", "200 KB of brotli that unpack to 1 GiB.", "unpacked up to the limit only", "decompression-limit"
)
def brotli_bomb(request: Request) -> Response:
    return Response(200, "text/html", packed_brotli(), "Content-Encoding: br\r\n")


@monster(
    "nested-gzip", "gzip in gzip: a few KiB, 1 MiB, 1 GiB.", "unpacked up to the limit only", "decompression-limit"
)
def nested_gzip(request: Request) -> Response:
    return Response(200, "text/html", _nested(), "Content-Encoding: gzip, gzip\r\n")


@monster("bad-gzip", "Says gzip and is not.", "kept as received, with a note", "bad-gzip", "not-gzip")
def bad_gzip(request: Request) -> Response:
    return Response(200, "text/html", b"<!DOCTYPE html><title>Plain</title><p>not packed", "Content-Encoding: gzip\r\n")


@monster("cut-gzip", "gzip that stops half way.", "read as far as it goes, with a note", "bad-gzip", "cut-gzip")
def cut_gzip(request: Request) -> Response:
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    packed = packer.compress(b"<!DOCTYPE html><title>Cut</title>" + b"".join(b"<p>%d" % n for n in range(9000)))
    packed += packer.flush()
    return Response(200, "text/html", packed[: len(packed) // 2], "Content-Encoding: gzip\r\n")


@monster("charset-lie", "Says utf-8, is windows-1252.", "text is read with the right letters, or with a note")
def charset_lie(request: Request) -> Response:
    text = "<!DOCTYPE html><title>Mañana</title><p>El pingüino y la cigüeña comían piñones “en la montaña”."
    return Response(200, "text/html; charset=utf-8", text.encode("cp1252"))


@monster("charset-conflict", "The header says iso-8859-1, the page says utf-8 and is.", "fetched and read")
def charset_conflict(request: Request) -> Response:
    text = '<!DOCTYPE html><meta charset="utf-8"><title>Ñandú</title><p>El ñandú corrió hacia el río.'
    return Response(200, "text/html; charset=iso-8859-1", text.encode())


@monster("charset-unknown", "A charset that does not exist.", "fetched and read by detection")
def charset_unknown(request: Request) -> Response:
    return html("Klingon", "<p>Este texto está en UTF-8: áéíóúñ.", "text/html; charset=x-klingon")


@monster("charset-utf16-lie", "Says utf-16, is ASCII.", "fetched and read")
def charset_utf16_lie(request: Request) -> Response:
    return html("Not wide", "<p>Plain letters all the way down.", "text/html; charset=utf-16")


@monster("type-lie", "An image that says it is HTML.", "fetched; no text")
def type_lie(request: Request) -> Response:
    return Response(200, "text/html", media.png(3))


@monster("binary", "Random bytes that say they are HTML, with NUL in them.", "fetched; no text that means anything")
def binary(request: Request) -> Response:
    from hashlib import shake_128

    return Response(200, "text/html", shake_128(b"zoo binary").digest(200_000))


@monster("deep-dom", f"{DEEP:,} nested elements.", "read up to the depth limit", "dom-too-deep")
def deep_dom(request: Request) -> Response:
    return html("Deep", "<div>" * DEEP + "<p>the bottom of the well</p>" + "</div>" * DEEP)


@monster("huge-dom", f"{NODES:,} elements in 40 MB.", "cut at a limit", "length", "dom-too-large", "text-cut")
def huge_dom(request: Request) -> Stream:
    start = b"<!DOCTYPE html><title>Huge</title><p>"
    block = b"<br>" * 16_000

    def parts() -> Iterator[bytes]:
        yield head(f"Content-Length: {len(start) + 4 * NODES}") + start
        yield from repeat(block, NODES // 16_000)

    return Stream(parts())


@monster("huge-attribute", "One attribute of 20 MB.", "read with bounded memory", "length", "text-cut")
def huge_attribute(request: Request) -> Stream:
    start, end = b'<!DOCTYPE html><title>Attribute</title><p title="', b'">after the attribute'

    def parts() -> Iterator[bytes]:
        yield head(f"Content-Length: {len(start) + 20_000_000 + len(end)}") + start
        yield from repeat(b"a" * 50_000, 400)
        yield end

    return Stream(parts())


@monster(
    "million-links",
    f"{LINKS:,} links on one page; robots.txt forbids where they lead.",
    "links cut at a limit",
    "links-cut",
    "length",
    host="zoo-million",
    path="/",
    whole_host=True,
)
def million_links(request: Request) -> Response | Stream:
    if request.target == "/robots.txt":
        return Response(200, "text/plain", b"User-agent: *\nDisallow: /l/\n")
    if request.target != "/":
        return html("Leaf", "<p>one of a million")

    def parts() -> Iterator[bytes]:
        yield head() + b"<!DOCTYPE html><title>A million links</title>\n"
        for start in range(0, LINKS, 1000):
            yield "".join([f"<a href=/l/{n}>{n}</a>\n" for n in range(start, start + 1000)]).encode()

    return Stream(parts())


@monster(
    "laughs-sitemap",
    "A sitemap whose entities unfold a billion times.",
    "entities refused",
    "entities-refused",
    path="/laughs-sitemap.xml",
)
def laughs_sitemap(request: Request) -> Response:
    body = f"<urlset><url><loc>http://{ZOO_HOST}/&lol9;</loc></url></urlset>"
    return Response(200, "application/xml", _laughs("urlset") + body.encode())


@monster(
    "laughs-feed",
    "A feed whose entities unfold a billion times.",
    "entities refused",
    "entities-refused",
    path="/laughs-feed.xml",
)
def laughs_feed(request: Request) -> Response:
    body = b'<rss version="2.0"><channel><title>&lol9;</title></channel></rss>'
    return Response(200, "application/rss+xml", _laughs("rss") + body)


@monster(
    "xxe-feed",
    "A feed that asks for a file of the reader's machine.",
    "entities refused; nothing is opened",
    "entities-refused",
    path="/xxe-feed.xml",
)
def xxe_feed(request: Request) -> Response:
    entities = '<!ENTITY a SYSTEM "file:///etc/hostname"><!ENTITY b SYSTEM "http://127.0.0.1:1/">'
    head_ = f'<?xml version="1.0"?>\n<!DOCTYPE rss [{entities}]>\n'
    body = '<rss version="2.0"><channel><title>&a;&b;</title><item><title>&a;</title></item></channel></rss>'
    return Response(200, "application/rss+xml", (head_ + body).encode())


@monster(
    "pdf-bomb", "A PDF whose page unpacks to 256 MiB.", "no text, or cut text", "pdf", "text-cut", path="/pdf-bomb.pdf"
)
def pdf_bomb(request: Request) -> Response:
    return Response(200, "application/pdf", _pdf_bomb())


@monster("pdf-loop", "A PDF whose page tree contains itself.", "no text", "pdf", path="/pdf-loop.pdf")
def pdf_loop(request: Request) -> Response:
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000 >>"]
    return Response(200, "application/pdf", media.assemble_pdf(objects))


@monster("pdf-garbage", "Starts like a PDF and is noise.", "no text", "pdf", path="/pdf-garbage.pdf")
def pdf_garbage(request: Request) -> Response:
    return Response(200, "application/pdf", b"%PDF-1.7\n" + bytes(range(256)) * 400 + b"startxref\n99999999999\n%%EOF")


@monster("weird-urls", "Addresses with odd characters.", "each is read as a browser would, or left out")
def weird_urls(request: Request) -> Response:
    if request.target != "/weird-urls":
        return html("Weird", "<p>You found your way here.")
    hrefs = (
        "/weird-urls/with space", "/weird-urls/ñandú", "/weird-urls/%C3%B1", "/weird-urls/%f1", "/weird-urls/%00",
        "/weird-urls/%zz", "/weird-urls/a|b", "/weird-urls/a\\b", "/weird-urls/{x}", "/weird-urls/&#34;quoted&#34;",
        "/weird-urls/😀", "/weird-urls/?q=a b&amp;c=ñ", "/weird-urls/;v=1", "/weird-urls/a//b", "/weird-urls/./x/../y",
        "/weird-urls/%2e%2e/z", "  /weird-urls/spaces-around  ", "/weird-urls/tab\there", "/weird-urls/line\nbreak",
        "\\\\" + ZOO_HOST + "\\weird-urls\\backslashes", "http:weird-urls/no-slashes",
        "http:///" + ZOO_HOST + "/weird-urls/3",
        "http://user:pass@" + ZOO_HOST + "/weird-urls/login", f"http://{ZOO_HOST}:99999/", f"http://{ZOO_HOST}:port/",
        "http://[::1", "http://", "//", "?", "#", "", "http://ñandú." + DOMAIN + "/", "ftp://" + ZOO_HOST + "/file",
        "/weird-urls/" + "long" * 5000, "http://" + "a" * 300 + "." + DOMAIN + "/", "HTTP://ZOO.SIM.TEST/weird-urls/loud",
    )  # fmt: skip
    rows = "".join(f'<li><a href="{href}">{number}</a></li>\n' for number, href in enumerate(hrefs))
    return html("Weird addresses", f"<ul>{rows}</ul>")


@monster("odd-links", "javascript:, data:, mailto: and other links that are no pages.", "none of them is queued")
def odd_links(request: Request) -> Response:
    hrefs = (
        "javascript:alert(1)", " JavaScript:void(0)", "java&#10;script:alert(1)", "data:text/html,<h1>hi</h1>",
        "mailto:a@example.org", "tel:+34", "about:blank", "blob:x", "view-source:http://zoo.sim.test/", "file:///etc/",
    )  # fmt: skip
    rows = "".join(f'<li><a href="{href.replace("<", "&lt;")}">link</a></li>\n' for href in hrefs)
    pixel = '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=">'
    return html("Odd links", f"<ul>{rows}</ul>{pixel}")


@monster("xss", "Markup in the title, the text and the links.", "shown as text everywhere, never run")
def xss(request: Request) -> Response:
    attack = "&lt;script&gt;alert('xss')&lt;/script&gt;&quot;&gt;&lt;img src=x onerror=alert(2)&gt;"
    body = f'<p>{attack} {{{{7*7}}}} <a href="/xss?q=%3Cscript%3Ealert(3)%3C/script%3E" title="{attack}">{attack}</a>'
    return html(attack, f'{body}<meta name="description" content="{attack}">')


@monster(
    "private-addresses",
    "Links to addresses inside: metadata, loopback, private networks.",
    "refused address",
    "refused-address",
    "out-of-scope",
)
def private_addresses(request: Request) -> Response:
    urls = (
        "http://169.254.169.254/latest/meta-data/", "http://127.0.0.1:1/", "http://[::1]:1/", "http://2130706433:1/",
        "http://0x7f.1:1/", "http://[::ffff:127.0.0.1]:1/", "http://10.0.0.1/", "http://192.168.0.1/", "http://0.0.0.0:1/",
        "http://100.64.0.1/", "http://localhost:1/",
    )  # fmt: skip
    return html("Inside", "".join(f'<p><a href="{url}">{url}</a><img src="{url}x.png">' for url in urls))


@lru_cache(maxsize=1)
def packed_gzip() -> bytes:
    """1 GiB of spaces: a fully flushed deflate block depends on nothing before it, so one can be repeated."""
    plain = b" " * MIB
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(plain) + packer.flush(zlib.Z_FULL_FLUSH)
    count = BOMB_BYTES // MIB
    checksum = 0
    for _ in range(count):
        checksum = zlib.crc32(plain, checksum)
    header = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff"
    return header + block * count + b"\x03\0" + struct.pack("<II", checksum, BOMB_BYTES & 0xFFFFFFFF)


@lru_cache(maxsize=1)
def packed_brotli() -> bytes:
    packer = brotli.Compressor(quality=1)
    parts = []
    for _ in range(BOMB_BYTES // (4 * MIB)):
        parts.append(packer.process(b" " * (4 * MIB)))
    return b"".join([*parts, packer.finish()])


@lru_cache(maxsize=1)
def _nested() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(packed_gzip()) + packer.flush()


@lru_cache(maxsize=1)
def _pdf_bomb() -> bytes:
    plain = b"(bomb) Tj T* ".ljust(16) * 65_536
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(plain) + packer.flush(zlib.Z_FULL_FLUSH)
    stream = b"\x78\x9c" + block * 256 + b"\x03\0" + b"\0\0\0\0"
    return media.assemble_pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
            b" /Resources << /Font << /F1 5 0 R >> >> >>",
            b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(stream), stream),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        ]
    )


def _laughs(root: str) -> bytes:
    entities = ['<!ENTITY lol "lol">', '<!ENTITY lol1 "' + "&lol;" * 10 + '">']
    entities += [f'<!ENTITY lol{n} "' + f"&lol{n - 1};" * 10 + '">' for n in range(2, 10)]
    return f'<?xml version="1.0"?>\n<!DOCTYPE {root} [\n{chr(10).join(entities)}\n]>\n'.encode()
