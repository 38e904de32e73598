"""What is read from a page."""

import pytest

from hemeroteca.extract import Document, Limits, native, read

URL = "http://example.org/dir/page.html"


def page(html: str, content_type: str = "text/html; charset=utf-8", **options) -> Document:
    return read(html.encode(), content_type, URL, **options)


def found(document: Document, kind: str) -> list[str]:
    return [link.href for link in document.links if link.kind == kind]


ARTICLE = """<!DOCTYPE html>
<html lang="es-VE"><head>
  <title> La   hemeroteca
    nacional </title>
  <meta name="description" content="Qué se dijo, y cuándo.">
  <meta property="article:published_time" content="2024-01-31T10:00:00+01:00">
  <meta name="author" content="Ana Pérez">
  <link rel="canonical" href="/canonica">
  <link rel="stylesheet" href="estilo.css">
  <link rel="alternate" type="application/rss+xml" title="Noticias" href="/rss.xml">
  <link rel="alternate" hreflang="en" href="/en/">
  <style>@import url("otro.css"); body { background: url(fondo.png) }</style>
  <script src="/app.js"></script>
</head><body>
  <header><a href="/">Inicio</a><nav><a href="/temas">Temas</a></nav></header>
  <main>
    <h1>La hemeroteca</h1>
    <article><header><p>Por <a href="/ana">Ana</a></p></header>
    <p>Los periódicos de <b>ayer</b> están en <a href="archivo.html#1901">el <i>archivo</i></a> de la ciudad.</p>
    <ul><li>uno</li><li>dos</li></ul><img src="foto.jpg" srcset="foto-2x.jpg 2x, foto,3x.jpg 3x" alt="Una foto">
    </article>
    <aside>Publicidad <a href="/anuncio" rel="sponsored">compre</a></aside>
  </main>
  <footer>Pie de página <a href="/legal">Legal</a></footer>
  <script>var oculto = "<p>no se ve</p>";</script><noscript>Active JavaScript</noscript>
  <div hidden>escondido</div>
</body></html>"""


def test_the_facts_of_an_article() -> None:
    document = page(ARTICLE)
    assert (document.kind, document.charset, document.language) == ("html", "utf-8", "es")
    assert document.title == "La hemeroteca nacional"
    assert document.description == "Qué se dijo, y cuándo."
    assert document.author == "Ana Pérez"
    assert document.published == 1706691600000
    assert document.headings == "La hemeroteca"
    assert document.canonical == "/canonica"
    assert document.notes == []


def test_all_visible_text_a_line_per_block() -> None:
    assert page(ARTICLE).text.splitlines() == [
        "Inicio",
        "Temas",
        "La hemeroteca",
        "Por Ana",
        "Los periódicos de ayer están en el archivo de la ciudad.",
        "uno",
        "dos",
        "Publicidad compre",
        "Pie de página Legal",
    ]


def test_main_text_is_without_navigation() -> None:
    assert page(ARTICLE).main.splitlines() == [
        "La hemeroteca",
        "Por Ana",
        "Los periódicos de ayer están en el archivo de la ciudad.",
        "uno",
        "dos",
    ]


def test_links_by_kind() -> None:
    document = page(ARTICLE)
    assert found(document, "page") == ["/", "/temas", "/ana", "archivo.html", "/anuncio", "/legal"]
    assert found(document, "requisite") == [
        "estilo.css", "otro.css", "fondo.png", "/app.js", "foto.jpg", "foto-2x.jpg", "foto,3x.jpg",
    ]  # fmt: skip
    assert found(document, "feed") == ["/rss.xml"]
    assert found(document, "alternate") == ["/en/"]
    assert found(document, "canonical") == ["/canonica"]


def test_links_know_their_text_place_and_endorsement() -> None:
    links = {link.href: link for link in page(ARTICLE).links if link.kind == "page"}
    assert {href: link.region for href, link in links.items()} == {
        "/": "header",
        "/temas": "nav",
        "/ana": "main",
        "archivo.html": "main",
        "/anuncio": "aside",
        "/legal": "footer",
    }
    assert links["archivo.html"].text == "el archivo"
    assert [href for href, link in links.items() if link.nofollow] == ["/anuncio"]
    assert all(link.context == "" for link in links.values())


def test_context_is_that_of_this_anchor() -> None:
    html = (
        "<p>Primero se habla largamente de los trenes y de su horario <a href=/1>más</a> y luego nada de nada</p>"
        "<p>Después se habla largamente de los barcos y de sus puertos <a href=/2>más</a> "
        "y luego otra cosa, que ya no viene al caso</p>"
    )
    links = {link.href: link.context for link in page(html, want_context=True).links}
    assert "trenes" in links["/1"]
    assert "barcos" not in links["/1"][:70]
    assert "barcos" in links["/2"]
    assert "otra cosa" in links["/2"]
    for href, anchor in (("/1", "horario más y luego"), ("/2", "puertos más y luego")):
        before, _, after = links[href].partition("más")
        assert anchor in links[href]
        assert len(before) >= 30
        assert len(after) >= 30


def test_context_does_not_change_the_text() -> None:
    plain, contextual = page(ARTICLE), page(ARTICLE, want_context=True)
    assert (plain.text, plain.main) == (contextual.text, contextual.main)
    assert {link.href for link in contextual.links if link.context} == {
        "/", "/temas", "/ana", "archivo.html", "/anuncio", "/legal",
    }  # fmt: skip


def test_the_first_of_equal_links_is_kept() -> None:
    document = page(
        '<nav><a href="/a" rel=nofollow></a></nav><a href="/a#x">Segundo</a><a href=" /a ">Tercero</a>'
        '<a href="#y">y</a>'
    )
    assert [(link.href, link.text, link.region, link.nofollow) for link in document.links] == [
        ("/a", "Segundo", "nav", False)
    ]


@pytest.mark.parametrize("href", ["", " ", "#", "mailto:a@b", "javascript:void(0)", "JavaScript:x", "tel:1", "data:,x"])
def test_addresses_that_lead_nowhere(href: str) -> None:
    assert page(f'<a href="{href}">x</a><img src="{href}"><a>y</a><a name=z>z</a>').links == []


def test_the_text_of_an_anchor_may_be_a_picture() -> None:
    document = page('<a href=1><img alt="Portada"></a><a href=2 title="Título"><i></i></a>')
    assert [link.text for link in document.links] == ["Portada", "Título"]


def test_everything_a_page_needs_or_frames() -> None:
    document = page(
        """<link rel="icon" href=a><link rel=preload href=b><link rel="alternate stylesheet" href=c>
        <iframe src=frame></iframe><video src=d poster=e><source src=f><track src=g></video><audio src=h></audio>
        <embed src=i><object data=j></object><input type=image src=k><img data-src=l data-srcset="m 1x">
        <p style="background:url('n')">x</p><svg><image href=o /><use href="p#q"/></svg>
        <picture><source srcset="r, s 2x"></picture><area href=mapa>
        <table background=t><tr><td BACKGROUND="u">x</table>"""
    )
    assert found(document, "requisite") == list("abcdefghijklmnoprstu")
    assert found(document, "frame") == ["frame"]
    assert found(document, "page") == ["mapa"]


def test_framesets() -> None:
    document = page("<title>t</title><frameset><frame src=a><frame src=b></frameset>")
    assert (document.title, found(document, "frame"), document.text) == ("t", ["a", "b"], "")


def test_relations_of_link_elements() -> None:
    document = page(
        "<link rel=next href=n><link rel=sitemap href=s><link rel=amphtml href=m><link rel=dns-prefetch href=//x>"
        '<link rel=alternate type="application/feed+json" href=j><link href=x><link rel=canonical>'
    )
    assert [(link.kind, link.href) for link in document.links] == [
        ("page", "n"),
        ("sitemap", "s"),
        ("alternate", "m"),
        ("feed", "j"),
    ]
    assert document.canonical is None


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<meta name=robots content=noindex>", (True, False, False)),
        ("<META NAME=Robots CONTENT='NoFollow, NoArchive'>", (False, True, True)),
        ("<meta name=robots content=none>", (True, True, False)),
        ("<meta name=hemeroteca content=noindex><meta name=robots content=nofollow>", (True, True, False)),
        ("<meta name=otherbot content=noindex>", (False, False, False)),
        ("<meta name=robots content='index,follow'>", (False, False, False)),
    ],
)
def test_directives(html: str, expected: tuple[bool, bool, bool]) -> None:
    document = page(html)
    assert (document.noindex, document.nofollow, document.noarchive) == expected


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0; url=/otra", "/otra"),
        ("5;URL='/otra'", "/otra"),
        ("0;/otra", "/otra"),
        ('3 ; url = "http://example.net/?a=b;c"', "http://example.net/?a=b;c"),
        ("5", None),
        ("", None),
        ("0;url=javascript:x", None),
    ],
)
def test_refresh(content: str, target: str | None) -> None:
    document = page(f"<meta http-equiv=Refresh content='{content}'>" if "'" not in content else
                    f'<meta http-equiv=Refresh content="{content}">')  # fmt: skip
    assert document.refresh == target
    assert found(document, "redirect") == ([target] if target else [])


def test_base() -> None:
    assert page("<base href=/a/><base href=/b/>").base == "/a/"
    assert page("<base target=_top>").base is None


@pytest.mark.parametrize(
    "html",
    [
        '<script type="application/ld+json">{"@type":"NewsArticle","datePublished":"2024-01-31","author":'
        '[{"@type":"Person","name":"Ana"}]}</script>',
        "<meta name=author content=Ana><time pubdate datetime=2024-01-31>ayer</time>",
        "<meta itemprop=datePublished content=2024-01-31><meta name=dc.creator content=Ana>",
    ],
)
def test_date_and_author(html: str) -> None:
    document = page(html)
    assert (document.published, document.author) == (1706659200000, "Ana")


def test_blocks_do_not_run_together_and_inline_elements_do_not_part() -> None:
    assert page("<p>H<sub>2</sub>O<div>a</div>b<br>c<td>d<ul><li>e<li>f</ul><DIV>g</DIV>h").text == (
        "H2O\na\nb\nc\nd\ne\nf\ng\nh"
    )
    assert page("<table><tr><td>a</td><td>b</td></tr></table>").text == "a\nb"


@pytest.mark.parametrize("tag", ["font", "mark", "small", "a", "span", "code", "sup"])
def test_inline_elements(tag: str) -> None:
    assert page(f"<p>un<{tag}>i</{tag}>do").text == "unido"


def test_pages_without_landmarks_go_by_class_and_id() -> None:
    document = page(
        '<div class="page-with-sidebar"><div id="main-nav"><a href=/>Inicio</a> <a href=/2>Otro</a></div>'
        '<div class="content"><p>El texto que importa, bastante largo para ser el contenido de la página.</p></div>'
        '<div class="sidebar widget">Lo más leído</div><div class=footer>Pie</div></div>'
    )
    assert document.main == "El texto que importa, bastante largo para ser el contenido de la página."
    assert "Lo más leído" in document.text


def test_a_page_that_is_all_navigation_keeps_its_text() -> None:
    document = page("<nav>" + "<a href=/x>Enlace</a> " * 50 + "</nav><main></main>")
    assert document.main == document.text != ""


def test_nested_landmarks() -> None:
    document = page(
        "<header><nav><a href=1>a</a></nav><a href=2>b</a></header><main><p>Contenido principal del documento aquí"
        "</p><nav><a href=3>c</a></nav> sigue</main><a href=4>d</a>"
    )
    assert [link.region for link in document.links] == ["nav", "header", "nav", "main"]
    assert document.main == "Contenido principal del documento aquí\nsigue"
    assert document.text.split("\n") == ["a", "b", "Contenido principal del documento aquí", "c", "sigue", "d"]


def test_roles_are_landmarks_too() -> None:
    document = page(
        "<div role=navigation><a href=1>x</a></div><div role=main>Todo el contenido que se quiere leer en esta página"
        "</div><div role=contentinfo><a href=2>y</a></div>"
    )
    assert [link.region for link in document.links] == ["nav", "footer"]
    assert document.main == "Todo el contenido que se quiere leer en esta página"


def test_limits_are_kept_and_named() -> None:
    html = "".join(f"<p><a href=/{number}>enlace {number}</a>" for number in range(100))
    limits = Limits(links=10, text_chars=200, anchor_chars=5)
    document = page(html, limits=limits)
    assert len(document.links) == 10
    assert document.links[0].text == "enlac"
    assert len(document.text) <= 200
    assert set(document.notes) == {"links-cut", "text-cut"}
    assert page('<a href="/' + "x" * 5000 + '">y</a>').notes == ["href-too-long"]


def test_titles_from_elsewhere() -> None:
    assert page("<meta property=og:title content='Otro'>").title == "Otro"
    assert page("<svg><title>dibujo</title></svg>").title in ("", "dibujo")


def test_language_from_the_header() -> None:
    assert page("<p>x", content_language="ca-ES").language == "ca"


@pytest.mark.parametrize(
    "html", ["", " ", "<", "<!--", "\0", "<html>", "</html>", "<body/>", "&#1;", "<p", "<a href", "]]>"]
)
def test_almost_nothing(html: str) -> None:
    document = page(html)
    assert (document.kind, document.links) == ("html", [])


def test_an_article_inside_navigation_is_navigation() -> None:
    body = b"<body><nav>Menu<article>Teaser</article></nav><p>What the page is about, at some length.</p></body>"
    document = read(body, "text/html", "http://x.test/")
    assert document.text == "Menu\nTeaser\nWhat the page is about, at some length."
    assert document.main == "What the page is about, at some length."


@pytest.mark.parametrize(
    "hiding",
    [
        "hidden",
        'aria-hidden="true"',
        'style="display:none"',
        'STYLE = "color: red; DISPLAY : None !important"',
        'style="visibility: hidden"',
        'style="position:absolute; left:-9999px"',
        'style="text-indent:-999em"',
        'style="font-size:0"',
        'style="font-size: 0.0px"',
        'style="position:absolute;right:-9999px"',
        'style="position:fixed;bottom:-200vh"',
        'style="font:0/0 a"',
        'style="height:0; overflow: hidden"',
        'style="color:#FFF; background-color: white"',
        'style="color:black;background:#000000 !important"',
    ],
)
@pytest.mark.parametrize("compiled", [True, False])
def test_what_nobody_sees_is_not_read_nor_followed(hiding, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(native, "_module", None)
    html = (
        f"<body><p>Visible text.</p><div {hiding}><h2>Hidden heading</h2><p>cheap pills <a href=/spam>pills</a></p>"
        f"<img src=i.png></div><h2>Heading<span {hiding}>#</span></h2><a href=/honest>Honest<b {hiding}>spam</b></a>"
    )
    shown = page(html)
    assert shown.text == "Visible text.\nHeading\nHonest"
    assert shown.headings == "Heading"
    assert [(link.href, link.text) for link in shown.links] == [("i.png", ""), ("/honest", "Honest")]


@pytest.mark.parametrize(
    "html",
    [
        '<body style="display:none"><p>Text of the page.</p>',  # until its script has run
        '<body><div style="display:none" id=app><p>Text of the page.</p></div>',
        "<body><div aria-hidden=true><main><p>Text of the page.</p></main></div><div role=dialog></div>",
        '<body><p style="display:none;display:block;left:-3px;font-size:.8em">Text of the page.</p>',
        '<body><p style="font: 400 16px/1.5 serif;right:0;height:0;color:#fff;background:#000">Text of the page.</p>',
        '<body><p style="color:inherit;background:inherit;overflow:hidden;width:1px">Text of the page.</p>',
        "<body><p>Text of the page.</p><form><label>Your name</label><select><option>Spain</select>"
        "<textarea>Say it</textarea><button>Send</button></form>",
    ],
)
def test_what_people_see_is_read(html):
    assert page(html).text == "Text of the page."


def test_an_address_behind_a_label_is_followed():
    shown = page("<form><label>I agree to <a href=/terms>the terms</a></label></form><p>More")
    assert [(link.href, link.text) for link in shown.links] == [("/terms", "the terms")]
    assert shown.text == "More"
