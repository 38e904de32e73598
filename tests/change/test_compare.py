"""What counts as a change, how much of one, and what is only noise."""

import json

import pytest

from hemeroteca.change import ChangeRules, RulesError, Snapshot, check, compare
from tests.change.pages import html, newspaper, shop


def test_the_same_bytes_are_no_change_and_are_not_even_read():
    change = compare(shop(), shop())
    assert change.same_bytes
    assert change.total == 0
    assert not change.important


def test_everything_that_moves_by_itself_on_a_spanish_page_is_noise():
    change = compare(
        shop(),
        shop(
            visits="1.301",
            moment="4 de mayo de 2024 09:05",
            ago="hace 2 horas",
            token="0c44de8811aa77b2",
            advertisement="Viaje a la playa",
        ),
    )
    assert not change.same_bytes
    assert change.total == 0, change


def test_everything_that_moves_by_itself_on_an_english_page_is_noise():
    change = compare(
        newspaper(), newspaper(clock="11:47:31", ago="1 hour ago", views="13,001", request="1d2c3b4a59687760")
    )
    assert change.total == 0, change


def test_a_price_that_changes_from_10_to_12_counts():
    change = compare(shop(price="10,00 €"), shop(price="12,00 €", visits="1.301", ago="hace 2 horas"))
    assert change.important
    assert change.content["text"] > 0
    assert (change.words_removed, change.words_added) == (1, 1)


def test_a_date_in_the_text_of_an_article_counts():
    assert compare(newspaper(date="3 May"), newspaper(date="4 May")).important


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<p>hace 3 minutos</p>", "<p>hace una hora</p>"),
        ("<p>Publicado hace 1 hora y 20 minutos</p>", "<p>Publicado hace 2 días</p>"),
        ("<p>posted 3 hours ago</p>", "<p>posted a day ago</p>"),
        ("<p>just now</p>", "<p>2 minutes ago</p>"),
        ("<p>Updated 12:01 PM</p>", "<p>Updated 3:44 PM</p>"),
        ("<p>Actualizado el lunes, 3 de mayo de 2024</p>", "<p>Actualizado el martes, 4 de junio de 2024</p>"),
        ("<p>Last modified: 2024-05-03 10:11:12</p>", "<p>Last modified: 2024-06-01 00:00:01</p>"),
        ("<p>Server time: 10:11</p>", "<p>Server time: 12:59</p>"),
        ("<p>Actualizado a las 10.30 h</p>", "<p>Actualizado a las 11.45 h</p>"),
        ("<p>Hoy es lunes, 3 de mayo</p>", "<p>Hoy es martes, 4 de mayo</p>"),
        ("<p>Mon, 06 May 2024 10:11:12 GMT</p>", "<p>Tue, 07 May 2024 09:00:01 GMT</p>"),
        ("<p>2024-05-03T10:23:11Z</p>", "<p>2024-05-04T11:24:12Z</p>"),
        ("<span>1.234 visitas</span>", "<span>1.235 visitas</span>"),
        ("<p>Visitas: 99</p>", "<p>Visitas: 1.000</p>"),
        ("<p>Juan · 12 comentarios · 1.2k likes</p>", "<p>Juan · 15 comentarios · 2k likes</p>"),
        ("<p>Eres el visitante número 5.121</p>", "<p>Eres el visitante número 5.122</p>"),
        ("<p>Hay 12 usuarios en línea</p>", "<p>Hay 31 usuarios en línea</p>"),
        ("<p>Ray ID: 7c9e6679f1b2a3d4</p>", "<p>Ray ID: 11aa22bb33cc44dd</p>"),
        ("<p>Served in 23 ms</p>", "<p>Served in 41 ms</p>"),
        ("<p>© 2023 Tienda</p>", "<p>© 2024 Tienda</p>"),
        ('<img src="/a.png?v=1">', '<img src="/a.png?v=2">'),
        ('<img src="/a.png?1714730000">', '<img src="/a.png?1714740000">'),
        ('<a href="/x?utm_source=a&id=1">x</a>', '<a href="/x?id=1">x</a>'),
        ('<a href="/x;jsessionid=A1?id=1">x</a>', '<a href="/x;jsessionid=B2?id=1">x</a>'),
        ('<script src="/main.8f3a9c2b.js"></script>', '<script src="/main.11bb22cc.js"></script>'),
        ('<input type="hidden" name="csrf" value="1">', '<input type="hidden" name="csrf" value="2">'),
        ('<p nonce="a" data-t="1">x</p>', '<p nonce="b" data-t="2">x</p>'),
        ('<div class="Card_root__x8Kd2">x</div>', '<div class="Card_root__p9Lq1">x</div>'),
        (
            '<ins class="adsbygoogle"><a href="/ad1">Buy</a></ins>',
            '<ins class="adsbygoogle"><a href="/ad2">Sell</a></ins>',
        ),
        ('<script>var t = "abc", n = 12;</script>', '<script>var t = "xyz", n = 99;</script>'),
        ("<p>a  b</p>", "<p>a\n b</p>"),
    ],
)
def test_noise(old, new):
    change = compare(html(f"<h1>Title</h1>{old}"), html(f"<h1>Title</h1>{new}"))
    assert change.total == 0, change


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<p>10 €</p>", "<p>12 €</p>"),
        ("<p>$1,299.00</p>", "<p>$1,199.00</p>"),
        ("<p>The meeting is on 3 May</p>", "<p>The meeting is on 4 May</p>"),
        ("<p>La reunión es el 3 de mayo a las 10:30</p>", "<p>La reunión es el 3 de mayo a las 11:30</p>"),
        ("<td>3 May 2024 18:00</td>", "<td>3 May 2024 19:00</td>"),
        ("<p>Updated: the meeting is on 3 May</p>", "<p>Updated: the meeting is on 4 May</p>"),
        ("<p>El museo recibió 1.234 visitantes</p>", "<p>El museo recibió 2.000 visitantes</p>"),
        ("<p>Quedan 3 plazas</p>", "<p>Quedan 2 plazas</p>"),
        ("<p>Precio actualizado: 10.50</p>", "<p>Precio actualizado: 12.50</p>"),
        ("<p>Price updated: 10.50 €</p>", "<p>Price updated: 12.50 €</p>"),
        ("<p>Actualizado: 10.5 puntos</p>", "<p>Actualizado: 12.5 puntos</p>"),
        ("<td>2:03:59</td>", "<td>2:04:59</td>"),
        ('<a href="/article.php?sid=123">film</a>', '<a href="/article.php?sid=124">film</a>'),
        ('<img src="/chart.png?d=2024-05-03">', '<img src="/chart.png?d=2024-05-04">'),
        ("<p>Only 5 left in stock</p>", "<p>Only 4 left in stock</p>"),
        ("<p>El candidato obtuvo 1.234 votos</p>", "<p>El candidato obtuvo 1.334 votos</p>"),
        ("<p>Teléfono: 555 1234</p>", "<p>Teléfono: 555 4321</p>"),
        ("<code>sha256 8f3a9c2b7d1e4f608f3a</code>", "<code>sha256 0f3a9c2b7d1e4f608f3a</code>"),
        ("<p>dog bites man</p>", "<p>man bites dog</p>"),
        ('<img src="/a.png">', '<img src="/b.png">'),
        ('<a href="/watch?v=abc">film</a>', '<a href="/watch?v=xyz">film</a>'),
        ('<a href="/report-2023.pdf">report</a>', '<a href="/report-2024.pdf">report</a>'),
        ('<video src="/a.mp4"></video>', '<video src="/b.mp4"></video>'),
        ('<div class="anuncio">Corte de agua el lunes</div>', '<div class="anuncio">Corte de agua el martes</div>'),
        ('<form><input name="a"></form>', '<form><input name="a"><input name="b"></form>'),
    ],
)
def test_not_noise(old, new):
    filler = "<p>Some more words that stay as they are, for a page has many of them.</p>" * 30
    change = compare(html(filler + old), html(filler + new))
    assert change.important, change


def test_one_word_of_a_very_long_page_is_important_by_default():
    filler = "".join(f"<p>passage {n} of a long page about nothing in particular</p>" for n in range(8000))
    assert compare(html(f"{filler}<p>yes</p>"), html(f"{filler}<p>no</p>")).important


def test_resources_are_named_by_kind():
    change = compare(
        html('<a href="/a">x</a><img src="/1.png">'),
        html('<a href="/a">x</a><img src="/2.png"><a href="/r.pdf">r</a><iframe src="/v"></iframe>'),
    )
    assert {(r.kind, r.address, r.added) for r in change.resources} == {
        ("images", "/1.png", False),
        ("images", "/2.png", True),
        ("files", "/r.pdf", True),
        ("media", "/v", True),
    }
    assert change.content["links"] == 0


def test_a_redesign_shows_in_view_and_form_but_not_in_content():
    words = [f"passage number {word}" for word in ("one", "two", "three", "four", "five", "six", "seven")]
    old = html("".join(f'<div class="row"><p style="color:#111">{w}</p></div>' for w in words))
    new = html("<table>" + "".join(f'<tr class="cell"><td bgcolor="#eee">{w}</td></tr>' for w in words) + "</table>")
    change = compare(old, new)
    view, form, content = change.sums
    assert view > 0.5
    assert form > 0.5
    assert content == 0
    assert change.important


def test_text_in_another_order_says_the_same_words_and_is_a_change_of_content():
    lines = [f"<p>passage number {n}</p>" for n in range(10)]
    change = compare(html("".join(lines)), html("".join(lines[::-1])))
    assert change.content["text"] == 0
    assert change.content["order"] > 0.3


def test_the_same_words_cut_into_other_blocks_say_the_same():
    change = compare(html("<p>one two</p><p>three</p>"), html("<p>one</p><p>two three</p>"))
    assert change.content["text"] == 0


def test_another_status_is_a_change_of_content():
    change = compare(html("<p>x</p>", status=200), html("<p>x</p>", status=404))
    assert change.content["status"] == 1
    assert change.important


# Rules of a site


def test_ignored_parts_do_not_count_by_css_and_by_xpath():
    old = html("<div id=a><p class=quote>one</p></div><p>stays</p>")
    new = html("<div id=a><p class=quote>two</p></div><p>stays</p>")
    assert compare(old, new).important
    for rule in (".quote", "#a > p", "//p[@class='quote']", "(//p)[1]"):
        change = compare(old, new, ChangeRules(ignore=(rule,)))
        assert change.total == 0, (rule, change)


def test_only_kept_parts_count_by_css_and_by_xpath():
    old = html("<div id=price>10 €</div><p>one</p><div id=also>a<b id=price>b</b></div>")
    noise = html("<div id=price>10 €</div><p>two</p><div id=also>a<b id=price>b</b></div>")
    price = html("<div id=price>12 €</div><p>one</p><div id=also>a<b id=price>b</b></div>")
    for rule in ("#price", "//div[@id='price']"):
        rules = ChangeRules(keep=(rule,))
        assert compare(old, noise, rules).total == 0, rule
        assert compare(old, price, rules).important, rule


def test_text_that_matches_an_expression_does_not_count():
    old, new = html("<p>Lucky number 7 of today</p>"), html("<p>Lucky number 9 of today</p>")
    assert compare(old, new).important
    assert compare(old, new, ChangeRules(ignore_text=(r"[Nn]umber \d+",))).total == 0


def test_a_threshold_and_weights_of_the_site_decide():
    old, new = shop(price="10,00 €"), shop(price="12,00 €")
    assert not compare(old, new, ChangeRules(threshold=0.9)).important
    assert not compare(old, new, ChangeRules(weights=("text=0",))).important


def test_a_weight_of_one_half_halves_its_component_and_nothing_else():
    # One word of a page for another: by default its text counts t, its colours c. With text=0.5 the vectors hold t/2
    # and c; with colours=0 they hold t and 0.
    style = "<title>x</title><style>p {{ color: {} }}</style>"
    old, new = (
        html("<p>one word of many</p>", style.format("red")),
        html("<p>one term of many</p>", style.format("tan")),
    )
    whole = compare(old, new)
    text, colours = whole.content["text"], whole.view["colours"]
    assert min(text, colours) > 0
    half = compare(old, new, ChangeRules(weights=("text=0.5",)))
    assert (half.content["text"], half.view["colours"]) == (pytest.approx(text / 2, abs=1e-6), colours)
    none = compare(old, new, ChangeRules(weights=("colours=0",)))
    assert (none.content["text"], none.view["colours"]) == (text, 0)


def test_noise_can_be_left_in():
    old, new = html("<p>3 minutes ago</p>"), html("<p>4 minutes ago</p>")
    assert compare(old, new, ChangeRules(noise=False)).important


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        (ChangeRules(ignore=("p[",)), "p["),
        (ChangeRules(keep=("//p[",)), "//p["),
        (ChangeRules(ignore_text=("(?=x)",)), "(?=x)"),
        (ChangeRules(threshold=0.0), "threshold"),
        (ChangeRules(threshold=1.0), "threshold"),
        (ChangeRules(weights=("text=2",)), "text"),
        (ChangeRules(weights=("text=nan",)), "text"),
        (ChangeRules(ignore=("",)), "empty"),
    ],
)
def test_a_rule_that_cannot_be_used_is_named(rules, named):
    with pytest.raises(RulesError, match=r".") as error:
        check(rules)
    assert named in str(error.value)


def test_expressions_take_linear_time():
    rules = ChangeRules(ignore_text=(r"(a+)+$",))
    check(rules)
    compare(html("<p>" + "a" * 1500 + "!</p>"), html("<p>" + "a" * 1500 + "?</p>"), rules)


# Other kinds of documents


def test_plain_text_feeds_json_and_binary():
    def both(old: bytes, new: bytes, kind: str):
        return compare(Snapshot(old, kind), Snapshot(new, kind))

    assert both(b"one\ntwo\n", b"one\nthree\n", "text/plain").important
    assert both(b"one\ntwo\n", b"one\r\ntwo\r\n", "text/plain").total == 0
    price = [json.dumps({"product": {"price": value, "tags": ["a", "b"]}}).encode() for value in (10, 12)]
    change = both(*price, "application/json")
    assert change.important
    assert change.form == {"tags": 0.0}
    assert both(b'{"a": 1,  "b": [1, 2]}', b'{"a":1,"b":[1,2]}', "application/json").total == 0
    moved = [json.dumps({"generated_at": f"2024-05-0{day}T10:00:00Z", "n": 1}).encode() for day in (1, 2)]
    assert both(*moved, "application/json").total == 0
    grown = both(b'{"a": 1}', b'{"a": 1, "b": {"c": 2}}', "application/json")
    assert grown.form["tags"] > 0
    feed = b"<?xml version='1.0'?><rss><channel><title>N</title><item><title>%s</title><link>http://a/%s</link></item></channel></rss>"
    assert both(feed % (b"One", b"1"), feed % (b"Two", b"2"), "application/rss+xml").important
    assert both(b"\x89PNG\0\1", b"\x89PNG\0\2", "image/png").content == {"bytes": 1.0}


def test_a_page_that_becomes_another_kind_of_document_is_a_change_of_form():
    change = compare(html("<p>x</p>"), Snapshot(b"x", "text/plain"))
    assert change.form == {"kind": 1.0}
    assert change.important


def test_the_text_of_a_pdf_is_compared():
    from hemeroteca.change import pdf_report

    one, two = (pdf_report(html("<p>x</p>"), html(f"<p>{word}</p>")) for word in ("alpha", "omega"))
    change = compare(Snapshot(one, "application/pdf"), Snapshot(two, "application/pdf"))
    assert change.important
    assert change.content["text"] > 0
    assert "alpha" not in str(change.notes)
