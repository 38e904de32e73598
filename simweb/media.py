"""Small valid files of other kinds: PNG, GIF, SVG, ICO, CSS, JavaScript and PDF, made from numbers and text."""

import struct
import zlib
from functools import lru_cache


@lru_cache(maxsize=512)
def png(number: int, side: int = 32) -> bytes:
    """A square with a gradient whose colours follow from `number`."""
    red, green, blue = number * 53 % 256, number * 97 % 256, number * 193 % 256
    row = b"".join(bytes(((red + 4 * x) % 256, (green + 2 * x) % 256, blue)) for x in range(side))
    pixels = b"".join(b"\0" + row for _ in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(pixels, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )


def gif(number: int) -> bytes:
    """One pixel."""
    colour = bytes((number * 53 % 256, number * 97 % 256, number * 193 % 256))
    return b"GIF89a\x01\0\x01\0\x80\0\0" + colour + b"\xff\xff\xff,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;"


def svg(number: int) -> bytes:
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
        f'<circle cx="16" cy="16" r="{4 + number % 12}" fill="#{number * 7919 % 0xFFFFFF:06x}"/></svg>'
    ).encode()


def ico() -> bytes:
    """An icon that holds one PNG."""
    image = png(7, 16)
    return struct.pack("<HHHBBBBHHII", 0, 1, 1, 16, 16, 0, 0, 1, 32, len(image), 22) + image


def pdf(title: str, lines: list[str]) -> bytes:
    """A one-page PDF 1.4 with real text (WinAnsi, Helvetica)."""

    def string(text: str) -> bytes:
        escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        return b"(" + escaped.encode("cp1252", "replace") + b")"

    drawing = [b"BT /F1 11 Tf 14 TL 56 780 Td", string(title), b"Tj T* T*"]
    for line in lines[:50]:
        drawing += [string(line), b"Tj T*"]
    content = b"\n".join([*drawing, b"ET"])
    return assemble_pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
            b" /Resources << /Font << /F1 5 0 R >> >> >>",
            b"<< /Length %d >>\nstream\n%b\nendstream" % (len(content), content),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
            b"<< /Title %b /Producer (simweb) >>" % string(title),
        ],
        info=6,
    )


def assemble_pdf(objects: list[bytes], info: int = 0) -> bytes:
    """Number the objects and write header, cross-reference table and trailer; object 1 is the catalogue."""
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    extra = b" /Info %d 0 R" % info if info else b""
    out += b"trailer\n<< /Size %d /Root 1 0 R%b >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, extra, start)
    return bytes(out)


STYLE = b"""@import "/static/extra.css";
body { font-family: Georgia, serif; margin: 0 auto; max-width: 72rem; background: #fff url("/img/fondo.png") }
header, nav, footer, aside { padding: 1rem } nav a { margin-right: .6rem } .ad { border: 1px dashed #aaa }
article p { line-height: 1.5 } table.frame td { vertical-align: top }
"""
EXTRA_STYLE = b".logo { background-image: url(../img/logo.svg) } .breadcrumbs { color: #666 }\n"
SCRIPT = b"""'use strict';
document.addEventListener('DOMContentLoaded', function () {
  document.querySelectorAll('.ad').forEach(function (ad) { ad.dataset.seen = '1'; });
});
"""
