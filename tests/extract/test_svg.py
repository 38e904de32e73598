"""What a drawing is made of is found, so that it can be shown as it was."""

from hemeroteca import extract

DRAWING = b"""<?xml version="1.0"?>
<?xml-stylesheet type="text/css" href="outer.css?a=1&amp;b=2"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" style="background: url(paper.png)">
 <style>@import "inner.css"; text { font-family: x; src: url('font.woff2') }</style>
 <metadata><license href="https://licence.test/"/></metadata>
 <defs><linearGradient id="g"/></defs>
 <rect fill="url(#g)" mask="url(masks.svg#m)"/>
 <image href="photo.jpg"/><image xlink:href="old.png"/><image href="data:image/png;base64,AAAA"/>
 <use href="#own"/><use href="icons.svg#home"/><script href="draw.js"/>
 <a href="/next.html"><text>next</text></a>
 <foreignObject><img xmlns="http://www.w3.org/1999/xhtml" src="inside.gif"/></foreignObject>
</svg>"""
NEEDED = {
    "outer.css?a=1&b=2", "paper.png", "inner.css", "font.woff2", "masks.svg", "photo.jpg", "old.png", "icons.svg",
    "draw.js", "inside.gif",
}  # fmt: skip


def of_kind(document: extract.Document, kind: str) -> set[str]:
    return {link.href for link in document.links if link.kind == kind}


def test_what_a_drawing_needs_and_where_it_leads():
    document = extract.read(DRAWING, "image/svg+xml", "https://a.test/d.svg")
    assert document.kind == "svg"
    assert of_kind(document, "requisite") == NEEDED
    assert of_kind(document, "page") == {"/next.html"}
    assert not document.text


def test_a_drawing_is_known_by_its_root_too():
    document = extract.read(DRAWING, "", "https://a.test/d.svg")
    assert document.kind == "svg"
    assert of_kind(document, "requisite") == NEEDED


def test_a_broken_or_hostile_drawing_is_read_as_far_as_it_makes_sense():
    broken = extract.read(b'<svg><image href="a.png"><g><use href="b.svg#x"', "image/svg+xml", "https://a.test/d.svg")
    assert "a.png" in of_kind(broken, "requisite")
    bomb = b'<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><svg><image href="a.png"/><text>&b;</text></svg>'
    read = extract.read(bomb, "image/svg+xml", "https://a.test/d.svg")
    assert "entities-refused" in read.notes
    assert of_kind(read, "requisite") == {"a.png"}


def test_the_style_sheets_of_a_feed_and_of_an_xhtml_page_are_needed():
    style = b'<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="show.xsl"?>'
    feed = extract.read(
        style + b"<rss><channel><item><link>/one</link></item></channel></rss>",
        "application/rss+xml",
        "https://a.test/",
    )
    assert feed.kind == "feed"
    assert of_kind(feed, "requisite") == {"show.xsl"}
    page = extract.read(
        style + b'<html xmlns="http://www.w3.org/1999/xhtml"><body><a href="/x">x</a></body></html>',
        "application/xhtml+xml",
        "https://a.test/",
    )
    assert of_kind(page, "requisite") == {"show.xsl"}
    assert page.leads is None
