"""Feeds and sitemaps."""

import gzip
import json
from pathlib import Path

import pytest

from hemeroteca.extract import Document, Limits, read

OGC = Path(__file__).parents[3] / "shared" / "data" / "ogc"

SITEMAP = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml"
  xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:video="http://www.google.com/schemas/sitemap-video/1.1">
  <url>
    <loc> http://example.org/a?b=1&amp;c=2 </loc><lastmod>2024-01-31T10:00:00+01:00</lastmod><priority>0.8</priority>
    <xhtml:link rel="alternate" hreflang="en" href="http://example.org/en/a"/>
    <xhtml:link rel="alternate" hreflang="es" href="http://example.org/a?b=1&amp;c=2"/>
    <image:image><image:loc>http://example.org/a.jpg</image:loc></image:image>
    <video:video><video:content_loc>http://example.org/a.mp4</video:content_loc></video:video>
  </url>
  <url><loc><![CDATA[http://example.org/b?x&y]]></loc><lastmod>2024-02</lastmod><priority>7</priority></url>
  <url><lastmod>2024-01-01</lastmod></url>
</urlset>"""
INDEX = """<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap>
<loc>http://example.org/1.xml.gz</loc><lastmod>2024-01-31</lastmod></sitemap></sitemapindex>"""
RSS = """<?xml version="1.0"?><rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>
<title>Noticias &amp; m&aacute;s</title><link>http://example.org/</link>
<description>De todo &nbsp; un poco</description>
<language>es-es</language><image><title>logo</title><link>http://example.org/logo</link></image>
<item><title>Pan & vino</title><link>http://example.org/1</link><pubDate>Wed, 31 Jan 2024 10:00:00 +0100</pubDate>
<description>&lt;p&gt;Hola &amp;amp; adiós&lt;/p&gt;</description>
<enclosure url="http://example.org/1.mp3" type="audio/mpeg"/></item>
<item><title><![CDATA[<b>Dos</b>]]></title><guid>http://example.org/2</guid><dc:date>2024-02-01</dc:date>
<content:encoded><![CDATA[<p>Texto largo de la segunda noticia</p>]]></content:encoded></item>
<item><title>Tres</title><guid isPermaLink="false">http://example.org/no</guid></item>
</channel></rss>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel><title>Viejo</title></channel><item><title>Uno</title><link>http://example.org/1</link></item></rdf:RDF>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="ca"><title type="html">El &lt;i&gt;diari&lt;/i&gt;</title>
<link href="http://example.org/"/><link rel="next" href="http://example.org/feed?2"/><updated>2024-02-02T00:00:00Z</updated>
<author><name>Anna</name></author>
<entry><title>Primer</title><link rel="edit" href="/edit"/><link href="/1"/><id>urn:1</id>
<published>2024-01-01T00:00:00Z</published><updated>2024-01-31T09:00:00Z</updated><summary>Resum</summary></entry></feed>"""
JSON_FEED = json.dumps(
    {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "Diario",
        "language": "es",
        "home_page_url": "http://example.org/",
        "items": [{"url": "/1", "title": "Uno", "date_published": "2024-01-31T09:00:00Z"}, 7, {"content_text": "x"}],
    }
)


def links(document: Document) -> list[tuple[str, str, str, int]]:
    return [(link.kind, link.href, link.text, link.modified) for link in document.links]


def doc(
    body: str | bytes, content_type: str = "application/xml", url: str = "http://example.org/x", **options
) -> Document:
    return read(body if isinstance(body, bytes) else body.encode(), content_type, url, **options)


@pytest.mark.parametrize("content_type", ["application/xml", "text/xml; charset=utf-8", "text/html", ""])
def test_sitemap(content_type: str) -> None:
    document = doc(SITEMAP, content_type)
    assert (document.kind, document.notes) == ("sitemap", [])
    assert links(document) == [
        ("page", "http://example.org/a?b=1&c=2", "", 1706691600000),
        ("alternate", "http://example.org/en/a", "en", 0),
        ("requisite", "http://example.org/a.jpg", "", 0),
        ("requisite", "http://example.org/a.mp4", "", 0),
        ("page", "http://example.org/b?x&y", "", 1706745600000),
    ]
    assert [link.priority for link in document.links if link.kind == "page"] == [0.8, 1.0]


def test_sitemap_index() -> None:
    assert links(doc(INDEX)) == [("sitemap", "http://example.org/1.xml.gz", "", 1706659200000)]


@pytest.mark.parametrize("content_type", ["application/x-gzip", "application/gzip", "text/xml", ""])
def test_compressed_sitemap(content_type: str) -> None:
    document = doc(gzip.compress(SITEMAP.encode()), content_type, "http://example.org/sitemap.xml.gz")
    assert (document.kind, len(document.links)) == ("sitemap", 5)


def test_sitemap_as_text() -> None:
    body = "http://example.org/a\nhttps://example.org/b#c\n\nhttp://example.org/a\n"
    document = doc(body, "text/plain", "http://example.org/sitemap.txt")
    assert (document.kind, [link.href for link in document.links], document.text) == (
        "sitemap",
        ["http://example.org/a", "https://example.org/b"],
        "",
    )
    assert doc(body, "text/plain", "http://example.org/list.txt").kind == "text"


def test_a_sitemap_cut_short_gives_what_it_has() -> None:
    assert [link.href for link in doc(SITEMAP[: SITEMAP.index("<lastmod>2024-02<")]).links if link.kind == "page"] == [
        "http://example.org/a?b=1&c=2",
        "http://example.org/b?x&y",
    ]


def test_too_many_entries() -> None:
    document = doc("<urlset>" + "<url><loc>http://example.org/</loc></url>" * 20, limits=Limits(links=5))
    assert (len(document.links), document.notes) == (5, ["links-cut"])


@pytest.mark.parametrize("content_type", ["application/rss+xml", "text/xml", "text/html", "application/octet-stream"])
def test_rss(content_type: str) -> None:
    document = doc(RSS, content_type)
    assert (document.kind, document.title, document.description) == ("feed", "Noticias & más", "De todo un poco")
    assert (document.language, document.notes) == ("es", [])
    assert links(document) == [
        ("page", "http://example.org/", "Noticias & más", 0),
        ("page", "http://example.org/1", "Pan & vino", 1706691600000),
        ("requisite", "http://example.org/1.mp3", "", 0),
        ("page", "http://example.org/2", "Dos", 1706745600000),
    ]
    assert document.text.splitlines() == [
        "Pan & vino",
        "Hola & adiós",
        "Dos",
        "Texto largo de la segunda noticia",
        "Tres",
    ]


def test_rdf() -> None:
    assert links(doc(RDF)) == [("page", "http://example.org/1", "Uno", 0)]


def test_atom() -> None:
    document = doc(ATOM, "application/atom+xml")
    assert (document.title, document.author, document.language) == ("El diari", "Anna", "ca")
    assert document.published == 1706832000000
    assert links(document) == [
        ("page", "http://example.org/", "El diari", 0),
        ("feed", "http://example.org/feed?2", "", 0),
        ("page", "/1", "Primer", 1706691600000),
    ]


@pytest.mark.parametrize("content_type", ["application/feed+json", "application/json"])
def test_json_feed(content_type: str) -> None:
    document = doc(JSON_FEED, content_type)
    assert (document.kind, document.title, document.language) == ("feed", "Diario", "es")
    assert links(document) == [("page", "http://example.org/", "Diario", 0), ("page", "/1", "Uno", 1706691600000)]


@pytest.mark.parametrize("body", ["{", "[]", "{}", '{"items": 3, "title": []}', "nonsense", ""])
def test_json_that_is_no_feed(body: str) -> None:
    assert doc(body, "application/feed+json").links == []


def test_other_charsets() -> None:
    body = '<?xml version="1.0" encoding="iso-8859-1"?><rss><channel><title>Año</title></channel></rss>'
    assert doc(body.encode("latin-1")).title == "Año"
    assert doc(body.replace("iso-8859-1", "utf-16").encode("utf-16")).title == "Año"


def test_entities_are_refused_and_files_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secreto")
    for declaration in (f'SYSTEM "{secret.as_uri()}"', '"interno"'):
        body = f"<!DOCTYPE rss [<!ENTITY x {declaration}>]><rss><channel><title>a&x;b</title></channel></rss>"
        document = doc(body)
        assert document.notes == ["entities-refused"]
        assert "secreto" not in document.title
        assert "interno" not in document.title


def test_external_definitions_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "x.dtd").write_text('<!ENTITY x "secreto">')
    body = f'<!DOCTYPE rss SYSTEM "{(tmp_path / "x.dtd").as_uri()}"><rss><channel><title>a&x;b</title></channel></rss>'
    assert "secreto" not in doc(body).title


def test_other_xml_is_left_alone() -> None:
    assert doc("<?xml version='1.0'?><inventory/>").kind == "other"
    assert doc("<?xml version='1.0'?><!DOCTYPE html><html><title>t</title>").kind == "xhtml"


@pytest.mark.skipif(not OGC.exists(), reason="no ../shared/data")
def test_real_files() -> None:
    kinds = {path.name: doc(path.read_bytes(), "text/xml").kind for path in OGC.glob("*.xml")}
    feeds = {name for name, kind in kinds.items() if kind == "feed"}
    assert feeds == {"atom_owc_wms_meris.xml", "inspire_atom.xml"}
    assert doc((OGC / "inspire_atom.xml").read_bytes(), "text/xml").links
