"""The compiled fast path says exactly what the tree says, or says nothing."""

import random
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import hemeroteca
from hemeroteca.extract import Limits, html, markup, native
from hemeroteca.extract.document import Document
from simweb.model import Settings, Web
from simweb.render import page as simulated_page

pytestmark = pytest.mark.skipif(native.load() is None, reason="the fast path is not built here")

JAVA = Path("/usr/share/doc/openjdk-17-jre-headless/api")
PYTHON = Path("/usr/share/doc/python3.11/html")
WARCS = Path(__file__).parents[3] / "shared" / "data" / "warc"
LIMITS = Limits()
SMALL = Limits(text_chars=500, links=6, anchor_chars=10, href_chars=30, headings_chars=20, line_chars=12, html_tags=60)


def quickly(data: bytes, limits: Limits = LIMITS) -> Document | None:
    """By the compiled reader alone."""
    found = native.read(data, limits, context=True)
    document = Document(notes=[])
    return document if found is not None and html._fill(document, found, data, limits, "") else None


def slowly(data: bytes, limits: Limits = LIMITS) -> Document:
    """By the tree alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "read", lambda *_, **__: None)
        document = Document(notes=[])
        html.read_html(data, document, limits, "", True)
        return document


def same(data: bytes, limits: Limits = LIMITS) -> bool:
    """Whether the page is plain; if so, both must agree."""
    document = quickly(data, limits)
    if document is None:
        return False
    expected = slowly(data, limits)
    agree(document, expected)
    return True


def agree(document: Document, expected: Document) -> None:
    for name in ("links", *(set(Document.__struct_fields__) - {"listed", "packed"})):
        assert getattr(document, name) == getattr(expected, name), name


def sample(root: Path, count: int) -> list[bytes]:
    if not root.exists():
        pytest.skip("this documentation is not installed")
    files = sorted(root.glob("**/*.html"))
    return [path.read_bytes() for path in files[:: max(1, len(files) // count)]]


def test_the_java_documentation_is_plain() -> None:
    pages = sample(JAVA, 120)
    assert sum(map(same, pages)) > 0.95 * len(pages)


def test_the_python_documentation_is_the_same() -> None:
    for data in sample(PYTHON, 40):
        same(data)


def test_the_simulated_web_is_plain() -> None:
    web = Web(Settings(hosts=8, pages_per_host=10, charsets="utf-8"))
    pages = [simulated_page(web.host_at(host), number, 0, 0.0).encode() for host in range(8) for number in range(10)]
    assert sum(map(same, pages)) > 0.95 * len(pages)


def test_archived_pages_are_the_same() -> None:
    if not WARCS.exists():
        pytest.skip("no ../shared/data")
    looked_at = 0
    for path in sorted(WARCS.glob("*original.warc.gz")):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream, record_types=WarcRecordType.response, parse_http=True):
                same(record.reader.read().decode("utf-8", "replace").encode())
                looked_at += 1
    assert looked_at


_PIECES = """
    <p> </p> <div> </div> <div·class="nav·x"> <div·id=sidebar> <span> </span> <a·href=/x> </a> <a·href="#f">
    <a·href="y?a=1&amp;b=2#z"·rel="nofollow"> <a·href=m·title=T> <nav> </nav> <main> </main> <header> </header>
    <article> </article> <footer> </footer> <aside> </aside> <b> </b> <i> </i> <code> </code> <em·x> </em>
    <table> </table> <tr> </tr> <td> </td> <th> <tbody> <thead> <caption> </caption> <colgroup> <col> <ul> </ul>
    <ol> <li> </li> <dl> <dt> <dd> </dd> </dl> <script> </script> <script>a<b</script>
    <style>a{background:url(s)}</style> <style>a{}</style> <noscript> </noscript> <title>T&amp;t</title> <title>
    </title> <h1> </h1> <h2> </h2> <h3> </h3> <h4> </h4> <br> <br/> <hr> <img·src=a> <img·src=b·alt="B·b">
    <img·srcset="b,·c·2x"> <iframe·src=f></iframe> <base·href=/> <html·lang=es> </html> <body> </body> <head>
    </head> <div·hidden> <p·hidden=""> <div·aria-hidden=true> <p·style="display:none"> <b·style="left:-9999px">
    <p·style="clip:rect(0·0·0·0);position:fixed"> <p·style="clip-path:inset(50%)"> <b·style="margin-left:-9999px">
    <link·rel=preload·imagesrcset="a·1x,b·2x"> <script·type=module>import·"./m.js"</script>
    <div·role=main> <div·role=MAIN> <ul·role=navigation> <p·style="x:url(y)">
    <P·STYLE="x:url(z)"> <P> </P> <A·HREF="U"> </A> <meta·name=robots·content=none>
    <meta·name=author·content=Ann> <meta·property=og:title·content=O> <meta·name=date·content=2020-01-02>
    <meta·name=description·content="D·d"> <meta·http-equiv=refresh·content="0;url=r">
    <link·rel=canonical·href=c> <link·rel=next·href=n>
    <link·rel="alternate"·type=application/rss+xml·href=r·title=R> <link·rel=icon·href=i> <object> </object>
    <button> </button> <form> </form> <input·src=q> <select> </select> <option> </option> <textarea>x</textarea>
    <label> </label> <area·href=k·title=K> <time·pubdate·datetime=2019-02-03> <svg> </svg> <math> <template>
    <dialog> </dialog> <section·class=comments> </section> <pre> </pre> <foo-bar> </foo-bar> <x·=y> <!--·c·-->
    <!--<p>--> <!--> <!DOCTYPE·html> <!doctype·x> <![CDATA[ ]]> <?xml·?> </br> </ > < > & &amp; &lt; &nbsp;
    &copy &copy; &#65; &#9; &#1; &hellip; &bogus; a word some·more·words·here · ñ 漢字 \u3000 \u2028 \x01 \x0c \r
    \n \t \ufeff \" ' = /"""
PIECES = [piece.replace("·", " ") for piece in _PIECES.split()]  # the dot stands for a space
PIECES += ["\n", "\t", "\r", "\r\n", "\x0c", "\u3000", "\u2028", "\xa0", "\0"]


@settings(derandomize=True, max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(PIECES), max_size=40), st.sampled_from([LIMITS, SMALL]))
@example(["\ufeff"], LIMITS)
def test_any_soup(pieces: list[str], limits: Limits) -> None:
    same("".join(pieces).encode(), limits)


_INSIDE = """
    p div span a·href=/x a·href="y?a=1&amp;b=2#z" nav main header article·id=a footer aside b i code em ul li dl
    dd dt h1 h2 h3 section·class=menu div·class="page-with-sidebar" div·id=sidebar div·hidden ul·role=navigation
    span·aria-hidden=true div·style="display:none" section·style="font-size:0" p·style="font:0/0·a"
    div·style="width:1px;clip-path:inset(50%)" div·style="position:absolute;clip:rect(1px,1px,1px,1px)"
    div·style="color:#fff;background:white" div·style="height:0;overflow:hidden" label button select option
    div·role=main table tr td th tbody button form label pre dialog select option noscript object foo-bar figure
    blockquote address details summary fieldset center video·src=v·poster=w audio
    time·pubdate·datetime=2019-02-03 p·style="background:url(u)" td·class=comments center P A·HREF=U"""
INSIDE = [piece.replace("·", " ") for piece in _INSIDE.split()]
_ALONE = """
    <br> <hr> <img·src=a·alt="B·b"> <img·srcset="b,·c·2x"> <!--·c·--> <script>x</script>
    <style>@import·"s"</style> <input·src=q> <link·rel=icon·href=i> <meta·name=author·content=Ann>
    <textarea>t·t</textarea> <area·href=k> <iframe·src=f></iframe> &amp; &eacute; &#8217; a word
    some·more·words·in·a·row·that·make·a·line·of·text ñandú 漢字 <wbr> <embed·src=e>
    <svg·role=img><title>S</title><path·d="M0"/><use·href="s.svg#i"/><text>s</text></svg>
    <svg·hidden><g><image·href=g></g></svg>"""
ALONE = [piece.replace("·", " ") for piece in _ALONE.split()] + ["\n", "\t"]


@st.composite
def nested(draw: st.DrawFn) -> str:
    """Pages in which what is opened is closed, mostly."""
    leaf = st.sampled_from(ALONE)

    def around(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        name = st.sampled_from(INSIDE)
        inside = st.lists(children, max_size=4).map("".join)
        return st.builds(
            lambda name, inside, closed: f"<{name}>{inside}" + (f"</{name.split()[0]}>" if closed else ""),
            name,
            inside,
            st.integers(0, 9).map(bool),
        )

    body = "".join(draw(st.lists(st.recursive(leaf, around, max_leaves=30), max_size=6)))
    return draw(st.sampled_from(["", "<!DOCTYPE html>", "<html lang=es><head><title>T</title></head><body>"])) + body


@settings(derandomize=True, max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(nested())
def test_any_nesting(page: str) -> None:
    same(page.encode())


WRITTEN = (
    '<!DOCTYPE html><html lang="es-VE"><head><meta charset="utf-8"><title>Noticias &amp; más</title>'
    '<link rel="stylesheet" href="/e.css"><meta name="robots" content="noarchive"><base href="/b/">'
    '<meta name="description" content="De  todo"><script type="application/ld+json">{"datePublished":"2024-05-06"}'
    '</script></head><body class="home"><header><a href="/"><img src="logo.png" alt="Portada"></a></header><nav><ul>'
    '<li><a href="/a#x">A</a><li><a href="/b" rel=nofollow>B</a></ul></nav><div id="cuerpo"><h1>Un <em>título</em></h1>'
    "<p>Primer párrafo,<br>con&nbsp;dos líneas y texto bastante para que cuente como principal.<p>Otro más"
    "<table class=x><tr><td>1<td>2</table>"
    '<img srcset="p.png 1x, q.png 2x"><form><select><option>uno<option>dos</select>'
    '</form><div class="comments">Comentarios</div></div><script>if (a < b) { c() }</script><footer hidden>Pie</footer>'
    "</body></html>\n"
)


@pytest.mark.parametrize(
    "page",
    [
        "<p><b>x</p>\n<p>y</p><p>z</b> w",  # reopened in each paragraph
        "<b><p>x</b>y</p>z",
        "<table><tr><td><i>x<td>y</table>z",
        "<p>x<span>y<div>z</div></span>",
        "<title>t</title><svg><path d=M0 /><title>x</title></svg>",
        "<ul><li>a<li>b</ul><dl><dt>c<dd>d</dl>",
        "<title>x</title><noscript><img src=p></noscript><link rel=icon href=i></head><body class=x><p>y",
    ],
)
def test_common_faults_are_plain(page: str) -> None:
    assert same(f"<!DOCTYPE html>{page}".encode())


def test_an_ordinary_page_is_plain() -> None:
    assert same(WRITTEN.encode())
    document = quickly(WRITTEN.encode())
    assert document is not None
    assert document.title == "Noticias & más"
    assert [link.href for link in document.links] == ["/e.css", "logo.png", "p.png", "q.png", "/", "/a", "/b"]
    assert "Comentarios" in document.text
    assert "Comentarios" not in document.main


@settings(derandomize=True, max_examples=400, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_any_damage_to_a_page(seed: int, wounds: int) -> None:
    chance = random.Random(seed)
    data = bytearray(WRITTEN.encode())
    for _ in range(wounds):
        at = chance.randrange(len(data))
        match chance.randrange(5):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                data[at] = chance.choice(b"<>/\"'=& !-")
            case 2:
                del data[at : at + chance.randrange(1, 40)]
            case 3:
                data[at:at] = chance.choice(PIECES).encode()
            case _:
                start = chance.randrange(len(data))
                data[at:at] = data[start : start + chance.randrange(200)]
    same(bytes(data))


@pytest.mark.parametrize(
    "page",
    [
        "<p><b hidden>x<p>y",  # reopened, and hidden again
        "<div><a href=x>a</div>b",
        "<b><i><p>x</b>y",  # a block is moved
        "<table>x<tr><td>y</table>",  # moved out of the table
        "<a href=x>a<a href=y>b</a></a>",
        "<svg><a href=x></svg>",
        "<svg><p>x</svg>",
        "<p>\0x",
        "\x01",
        "<template><p>x</template>",
        "<div" + " a=1" * 500 + ">",
        "<div>" * 2000,
        "&unheardof;",
        "<nav><article>x</article></nav>",
    ],
)
def test_what_is_not_plain_is_left_to_the_tree(page: str) -> None:
    assert quickly(page.encode()) is None


def test_bytes_that_are_not_utf8_are_left_to_the_tree() -> None:
    assert quickly(b"<p>\xff") is None


def test_a_limit_is_left_to_the_tree() -> None:
    page = b"<a href=x>x</a>" * 10 + b"<a href=y>y</a>"
    assert quickly(page, Limits(links=2)) is not None
    assert quickly(page, Limits(links=1)) is None
    assert quickly(page, Limits(html_tags=21)) is None
    assert quickly(page, Limits(html_bytes=100)) is None
    assert quickly(page, Limits(text_chars=5)) is None


@settings(
    derandomize=True,
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    st.lists(st.sampled_from([*PIECES, "<b x>", "<i a=1 b>", '<p a=">">']), min_size=1, max_size=12),
    st.integers(50, 9000),
)
def test_no_bomb_is_overlooked(pieces: list[str], times: int) -> None:
    """Long pages are read quickly only where `markup` sees no bomb in them."""
    data = ("".join(pieces) * times)[: 300 << 10].encode()
    found = native.read(data, LIMITS)
    if found is not None and not found.doubtful:
        assert not markup.suspicious(data, LIMITS)


def test_a_long_page_is_read_quickly() -> None:
    assert same(b"<p>word <b>x</b></p>" * 3000)


@pytest.mark.parametrize(
    ("piece", "doubtful"),
    [
        (b'<p>word <b class="a b">x</b><br/><a href="x">y</a></p>', False),
        (b"<p>word <b class='a b'>x</b></p>", True),  # too many written so
        (b'<DIV title="a=b">x</div><figcaption >y</figcaption><style>a</style>', False),
        (b"<p>word <b>x<p>y</b></p>", True),
        (b"<div><span></div></span>", True),
        (b"<p a='b'c>word</p>", True),
        (b"<p a=b=c>word</p>", True),
        (b"<x_y>word</x_y>", True),
        (b"<title><b></title></b>", True),
    ],
)
def test_giants_are_looked_at_as_python_does(piece: bytes, doubtful: bool) -> None:
    data = (
        b"<!DOCTYPE html><html><body><!-- - --><b class='a b'>x</b><a href=x>y</a>" + piece * 12_000 + b"</body></html>"
    )
    assert markup.suspicious(data, LIMITS) == doubtful
    found = native.read(data, LIMITS)
    assert found is None or found.doubtful == doubtful
    if not doubtful:
        assert same(data)


def test_a_long_text_is_cut_as_by_the_tree() -> None:
    page = "<main>" + "<p>wörd and word</p>" * 1000 + "</main><p>" + "rest " * 4000
    for limit in (20_000, 30_000, 34_000, 36_000):
        limits = Limits(text_chars=limit)
        assert same(page.encode(), limits) == (limit >= 30_000)
    assert "text-cut" in slowly(page.encode(), Limits(text_chars=30_000)).notes


def test_a_bomb_is_not() -> None:
    bomb = b"".join(b"<b i=%d>x</b><p>y</p>" % number for number in range(4000))
    found = native.read(bomb, LIMITS)
    assert found is not None
    assert found.doubtful


def test_a_reader_of_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert native.load() is not None
    monkeypatch.setattr(hemeroteca, "__version__", "another")
    assert native.load() is None


def test_an_older_build_of_the_same_version_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(native.load(), "Signs")
    assert native.load() is None


@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from([b"/wms", b"<style", b"/w", b"ms", b"<STYLE", b"x", b"<", b"a" * 40]) | st.binary(max_size=9)
    )
)
def test_signs_are_found_wherever_they_stand(pieces: list[bytes]) -> None:
    signs, data = (b"/wms", b"<style", b"<STYLE", b"aaaa"), b"".join(pieces)
    assert native.Signs(signs).are_in(data) == any(sign in data for sign in signs)


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(native.OFF, "0")
    assert native.load() is None


def test_what_is_left_of_a_cut_page_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    page = b"<!doctype html><html><head><title>T</title></head><body>" + b"<p>word <a href='/x'>link</a></p>" * 100
    expected = slowly(page, SMALL)
    monkeypatch.setattr(markup, "prepare", lambda *_: pytest.fail("read by the tree"))
    document = Document(notes=[])
    html.read_html(page, document, SMALL, "", True)
    agree(document, expected)
    assert document.notes == ["tags-cut"]
