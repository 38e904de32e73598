"""No body raises, and what comes out is within the limits."""

import time

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hemeroteca.extract import Document, Limits, markup, read
from hemeroteca.extract.document import BREAK

LIMITS = Limits(html_tags=300, depth=50, text_chars=500, links=20, anchor_chars=30, href_chars=100, headings_chars=100)
SECONDS = 60  # of processor time, for what takes one here
TYPES = [
    "text/html", "text/html; charset=utf-16", "text/html; charset=shift_jis", "application/xhtml+xml", "text/xml",
    "application/rss+xml", "application/atom+xml", "application/feed+json", "application/json", "text/css",
    "text/plain", "", "application/octet-stream", "nonsense", "text/html; charset=\0",
]  # fmt: skip
SOUP = """<p> </p> <div> </div> <a·href=/x> </a> <a·href="#"> <nav> </nav> <main> </main> <header> </header>
    <article> </article> <footer> <aside> <b> <b·i=1> </b> <i> <table> <tr> <td> </td> </table> <ul> <li> <script>
    </script> <style> </style> <noscript> </noscript> <template> <svg> <math> <select> <option> <title> </title> <h1>
    </h1> <iframe·src=f> </iframe> <img·src=a·srcset="b,c·2x"> <base·href=/> <html·lang=es> <body> <head>
    <frameset> <frame·src=x> <!-- --> <![CDATA[ ]]> <!DOCTYPE·html> <?xml·?> <div·hidden> <div·role=main>
    <div·class=nav> <p·style="x:url(y)"> <meta·name=robots·content=none> <link·rel=canonical·href=c>
    <meta·http-equiv=refresh·content="0;url=r"> <object> </object> <button> <form> <textarea> <plaintext> <rss>
    <channel> <item> </item> <urlset> <url> <loc> </loc> </url> <feed> <entry> <link> http://x/ url(z) &amp; &lt; &#1;
    &#x1F600; hola mundo \x01 \x02 \x03 \x04 \x051\x06 \x07 \x00 " ' < > = / ñ 漢字 \ufeff"""
PIECES = [piece.replace("·", " ") for piece in SOUP.split()]  # the dot stands for a space


def within(document: Document, limits: Limits) -> None:
    assert len(document.text) <= limits.text_chars
    assert len(document.main) <= limits.text_chars
    assert len(document.links) <= limits.links
    assert len(document.title) <= limits.line_chars
    assert len(document.headings) <= limits.headings_chars
    assert all(len(link.text) <= limits.anchor_chars for link in document.links)
    assert all(0 < len(link.href) <= limits.href_chars for link in document.links)
    assert all(link.region in ("main", "nav", "header", "footer", "aside") for link in document.links)
    assert len(set(document.notes)) == len(document.notes)


@settings(max_examples=400)
@given(st.lists(st.sampled_from(PIECES), max_size=60), st.sampled_from(TYPES), st.booleans())
def test_any_soup_of_tags(pieces: list[str], content_type: str, want_context: bool) -> None:
    body = "".join(pieces).encode("utf-8", "surrogatepass")
    within(read(body, content_type, "http://example.org/", limits=LIMITS, want_context=want_context), LIMITS)


@settings(max_examples=300)
@given(st.binary(max_size=3000), st.one_of(st.sampled_from(TYPES), st.text(max_size=50)), st.text(max_size=30))
def test_any_bytes(body: bytes, content_type: str, url: str) -> None:
    if body.startswith(b"%PDF-"):
        return  # its own process: test_pdf.py
    within(read(body, content_type, url, limits=LIMITS, want_context=True), LIMITS)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6), st.integers(1, 60_000), st.sampled_from(TYPES[:6]))
def test_any_soup_repeated(pieces: list[str], times: int, content_type: str) -> None:
    """Repetition is how small mistakes become large ones: pages of some megabytes that take for ever."""
    body = "".join(pieces).encode()[:200] * times
    before = time.process_time()
    within(read(body, content_type, "http://example.org/"), Limits())
    assert time.process_time() - before < SECONDS


@settings(deadline=None)
@given(st.lists(st.sampled_from([*(part.replace("·", " ") for part in SOUP.split()), " ", "\n", "é"]), max_size=60))
def test_a_tab_stands_before_each_tag_of_a_block(parts):
    scan = markup._Scan(("x" + "".join(parts)).encode())
    blocks = set(scan.tags[markup._IS_BLOCK[scan.codes]].tolist())
    expected = bytearray()
    for at, byte in enumerate(scan.bytes.tobytes()):
        if at in blocks and expected[-1] <= 32:
            expected[-1] = ord(BREAK)
        elif at in blocks:
            expected += BREAK.encode()
        expected.append(byte)
    assert markup._marked(scan) == bytes(expected)
