"""What differs at every visit of a realistic page weighs nothing, and what an editor did to it is important."""

import pytest

from hemeroteca.change import compare
from tests.change.pages import html

LAZY = """<img class="lazyload" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" data-src="{0}" loading="lazy"
 alt="{1}"><noscript><img src="{0}" alt="{1}"></noscript>"""
EAGER = '<img src="{0}" alt="{1}">'
BANNER = """<div id="cookie-banner" class="cc-window" role="dialog"><p>Usamos cookies propias y de terceros.
 <a href="/cookies">Política de cookies</a></p><button>Aceptar</button><button>Rechazar</button></div>"""
ENGLISH_BANNER = """<section class="CookieConsent" aria-label="Cookie notice"><h2>We value your privacy</h2><p>We use
 cookies. By clicking accept you agree to our use of them.</p>
 <form><button name="ok">Accept all</button></form></section>"""
PRIVACY_BANNER = """<div id="onetrust-banner-sdk"><h2>We value your privacy</h2><p>We and our 845 partners store and
 access information on your device.</p><button>Accept all</button><button>Manage options</button></div>"""
LINKED_BANNER = """<div class="aviso-legal"><p>Utilizamos cookies para analizar el tráfico. Si sigue, acepta su uso.</p>
 <a href="/cookies">Más información</a> <a href="#">Aceptar</a></div>"""
SECTIONS = ("Economía", "Deportes", "Cultura", "Sociedad", "Opinión", "Internacional")
NEWS = [f"El ayuntamiento aprueba la obra {name} del barrio" for name in ("uno", "dos", "tres", "cuatro", "cinco")]


def front_page(
    clock="10:32",
    weather="Madrid 21 °C",
    sky="Soleado",
    today="martes, 17 de noviembre de 2026",
    banner="",
    cdn="https://cdn1.diario.example",
    scheme="http",
    image=EAGER,
    news=NEWS,
    sections=SECTIONS,
    alt="La plaza mayor",
    moved=False,
    map_alt="Ala norte",
    hero="background-image: url('https://cdn1.diario.example/portada.jpg')",
    site="http://diario.example/",
):
    """A newspaper's front page: masthead with clock, date and weather, menu, articles with pictures, a footer."""
    articles = [
        f'<article class="card"><h2><a href="{scheme}://diario.example/n/{number}">{title}</a></h2>'
        f"{image.format(f'{cdn}/fotos/{number}.jpg', alt if number == 0 else f'Foto {title}')}"
        f"<p>El pleno celebrado ayer por la tarde decidió sobre {title.lower()} tras un largo debate.</p></article>"
        for number, title in enumerate(news)
    ]
    paragraphs = [
        f"<p>Nota de la redacción sobre {word}, con varias frases más.</p>" for word in ("agua", "luz", "aire")
    ]
    if moved:
        paragraphs.append(paragraphs.pop(0))
    return html(
        f"""{banner}<header><div class="top"><span id="hora">{clock}</span></div><p>{today}</p>
        <div class="tiempo-caja"><div>{weather}</div><div>{sky}</div></div>
        <nav><ul>{"".join(f'<li><a href="/{name.lower()}">{name}</a></li>' for name in sections)}</ul></nav></header>
        <main>{"".join(articles)}<section>{"".join(paragraphs)}</section></main>
        <div {hero if hero.startswith("data-") else f'style="{hero}"'}>Suscríbase en {site}</div>
        <map name="m"><area href="/ala" alt="{map_alt}"></map>
        <footer><a href="{scheme}://diario.example/aviso">Aviso legal</a></footer>""",
        f'<title>Diario</title><link rel="stylesheet" href="{cdn}/estilos.css"><script src="{cdn}/app.js"></script>',
    )


@pytest.mark.parametrize(
    "later",
    [
        {"clock": "10:47"},
        {"clock": "9:05 h"},
        {"clock": "10:32 PM"},
        {"weather": "Madrid 14 °C"},
        {"weather": "Madrid 7º", "sky": "Nublado"},
        {"today": "miércoles, 18 de noviembre de 2026"},
        {"today": "18/11/2026"},
        {"today": "mié. 18 nov. 2026"},
        {"banner": BANNER},
        {"banner": ENGLISH_BANNER},
        {"banner": '<div class="aviso"><p>Este sitio utiliza cookies para mejorar.</p><button>OK</button></div>'},
        {"banner": "<div><div>This website uses cookies to improve it.</div><p><button>Fine</button></p></div>"},
        {"banner": '<section aria-label="Cookie consent">Choose what cookies you allow<button>None</button></section>'},
        {"banner": PRIVACY_BANNER},
        {"banner": LINKED_BANNER},
        {"today": "Hoy, miércoles 18 de noviembre"},
        {"cdn": "https://static.otracdn.example"},
        {"scheme": "https"},
        {"site": "https://diario.example/"},
        {"hero": "background-image:url(https://otracdn.example/portada.jpg);"},
        {"hero": 'data-bg="/portada.jpg"'},
        {"image": LAZY},
        {"image": '<img src="{0}" srcset="{0} 1x, {0}@2x.jpg 2x" sizes="100vw" alt="{1}">'},
        {"image": '<img class="lazyload" src="data:image/gif;base64,R0lGODlhAQ=" data-srcset="{0} 800w" alt="{1}">'},
        {"image": LAZY, "scheme": "https", "cdn": "//cdn2.diario.example", "clock": "23:59", "banner": BANNER},
    ],
    ids=str,
)
def test_what_differs_at_every_visit_is_below_the_threshold(later):
    old, new = front_page(), front_page(**later)
    assert old.body != new.body
    for change in (compare(old, new), compare(new, old)):
        assert not change.important, change
        assert change.content["text"] == 0
        assert change.resources == []


@pytest.mark.parametrize(
    ("later", "component"),
    [
        ({"moved": True}, "order"),
        ({"news": [NEWS[1], NEWS[0], *NEWS[2:]]}, "order"),
        ({"sections": SECTIONS[::-1]}, "order"),
        ({"alt": "El ayuntamiento en obras"}, "images"),
        ({"map_alt": "Ala sur"}, "links"),
    ],
    ids=str,
)
def test_what_an_editor_did_is_above_the_threshold(later, component):
    change = compare(front_page(), front_page(**later))
    assert change.important, change
    assert change.content[component] > 0.05


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<main><h1>Concierto</h1><p>10:32</p></main>", "<main><h1>Concierto</h1><p>11:32</p></main>"),
        ("<table><tr><td>Tren</td><td>10:32</td></tr></table>", "<table><tr><td>Tren</td><td>10:45</td></tr></table>"),
        ("<dl><dt>Apertura</dt><dd>9:30</dd></dl>", "<dl><dt>Apertura</dt><dd>10:30</dd></dl>"),
        ("<p>3 de mayo de 2024 18:00</p>", "<p>3 de mayo de 2024 19:00</p>"),
        ("<div>10.32 €</div>", "<div>10.45 €</div>"),
        ("<div>$10.32</div>", "<div>$10.45</div>"),
        ("<div>10.32</div>", "<div>10.45</div>"),
        ("<article><p>Nublado</p></article>", "<article><p>Soleado</p></article>"),
        ('<main class="weather"><p>Mañana 21 °C</p></main>', '<main class="weather"><p>Mañana 3 °C</p></main>'),
        ("".join(f"<p>{h}:15</p>" for h in range(8, 13)), "".join(f"<p>{h}:20</p>" for h in range(8, 13))),
        (
            "<div>Oficina: 985 12 34 56 <button>Preferencias de cookies</button></div>",
            "<div>Oficina: 985 12 34 65 <button>Preferencias de cookies</button></div>",
        ),
        ("<img srcset='/a.jpg 1x, /b.jpg 2x'>", "<img srcset='/c.jpg 1x, /b.jpg 2x'>"),
        ('<p>Receta</p><div class="cookie">Con azúcar</div>', '<p>Receta</p><div class="cookie">Con miel</div>'),
        ('<div style="background:url(/a.jpg)">x</div>', '<div style="background:url(/b.jpg)">x</div>'),
        ('<p>We use cookies. <a href="#top">Top</a></p>', '<p>We sell cookies. <a href="#top">Top</a></p>'),
        ('<a href="https://a.example/x">x</a>', '<a href="https://b.example/x">x</a>'),
        ('<img src="https://cdn.example/a.jpg">', '<img src="https://cdn.example/b.jpg">'),
        ('<img data-src="/a.jpg" src="/p.gif">', '<img data-src="/b.jpg" src="/p.gif">'),
    ],
)
def test_what_the_page_is_about_counts_even_if_it_looks_like_a_clock_or_a_banner(old, new):
    assert compare(html(f"<h1>Una página</h1>{old}"), html(f"<h1>Una página</h1>{new}")).important


MASTHEAD = "<header>{}</header><main><h1>Biblioteca</h1><p>Préstamos de tres semanas.</p></main>"
INSIDE = "<header>Biblioteca</header><main><h1>Biblioteca</h1><p>Préstamos de tres semanas.</p>{}</main>"


@pytest.mark.parametrize(
    ("place", "old", "new"),
    [
        (MASTHEAD, "<p>14:05:33</p>", "<p>09:47:01</p>"),
        (MASTHEAD, "<p>14:05 (GMT+1)</p>", "<p>09:47 (GMT+1)</p>"),
        (MASTHEAD, "<p>Es ist 14:05 Uhr</p>", "<p>Es ist 9:47 Uhr</p>"),
        (MASTHEAD, "<p>Il est 14 h 05</p>", "<p>Il est 9 h 47</p>"),
        (MASTHEAD, "<p>Mercredi 18 novembre 2026</p>", "<p>Jeudi 1er décembre 2026</p>"),
        (MASTHEAD, "<p>Nous sommes le mardi 18 août</p>", "<p>Nous sommes le jeudi 20 août</p>"),
        (MASTHEAD, "<p>Mittwoch, 18. März 2026</p>", "<p>Donnerstag, 19. März 2026</p>"),
        (MASTHEAD, "<p>Heute ist Mittwoch, der 18.11.2026</p>", "<p>Heute ist Donnerstag, der 19.11.2026</p>"),
        (MASTHEAD, "<p>Quarta-feira, 18 de novembro de 2026</p>", "<p>Sábado, 21 de novembro de 2026</p>"),
        (MASTHEAD, "<p>mercoledì 18 novembre 2026</p>", "<p>venerdì 20 novembre 2026</p>"),
        (MASTHEAD, "<p>Dimecres, 18 d’agost de 2026</p>", "<p>Dijous, 19 d’agost de 2026</p>"),
        (MASTHEAD, "<p>Humidity: 45%</p><p>Viento: 12 km/h</p>", "<p>Humidity: 82%</p><p>Viento: 30 km/h</p>"),
        (
            "{}" + INSIDE,
            "",
            "<div>Diese Website verwendet Cookies. <a>Verstanden</a></div>",
        ),
        ("{}" + INSIDE, "", "<div><p>Ce site utilise des cookies.</p><button>Tout accepter</button></div>"),
        (
            "{}" + INSIDE,
            '<div class="consent">We and our 845 partners store information on a device.</div>',
            '<div class="consent">We and our 851 partners access information on a device.</div>',
        ),
        (INSIDE, "<p>Leído 1031 veces</p>", "<p>Leído 1077 veces</p>"),
        (INSIDE, "<p>This page has been viewed 1031 times</p>", "<p>This page has been viewed 1,077 times</p>"),
        (INSIDE, "<p>1 031 vues</p>", "<p>1 077 vues</p>"),
        (INSIDE, "<p>Aufrufe: 1031</p>", "<p>Aufrufe: 1077</p>"),
        (INSIDE, "<p>There are 12 guests and 3 members online</p>", "<p>There are 9 guests and no members online</p>"),
        (INSIDE, "<p>vor 3 Minuten</p>", "<p>vor 2 Stunden</p>"),
        (INSIDE, "<p>Publié il y a 3 minutes</p>", "<p>Publié il y a 2 heures</p>"),
        (INSIDE, "<p>Publicado há 3 minutos</p>", "<p>Publicado há 2 horas</p>"),
        (INSIDE, "<p>Pubblicato 3 minuti fa</p>", "<p>Pubblicato 2 ore fa</p>"),
        (INSIDE, "<p>Posted just now</p>", "<p>Posted yesterday</p>"),
        (INSIDE, "<p>Publicado hoy a las 10:00</p>", "<p>Publicado ayer a las 10:00</p>"),
        (INSIDE, '<iframe src="https://ads.net.example/f?1"></iframe>', '<iframe src="https://ads.net.example/f?2"></iframe>'),
        (INSIDE, '<div class="sponsored">A car</div>', '<div class="sponsored">A flight</div>'),
        (INSIDE, '<a href="http://diario.example">x</a>', '<a href="http://diario.example/">x</a>'),
    ],
)  # fmt: skip
def test_noise_is_known_in_other_languages_and_forms(place, old, new):
    before, after = (html(place.replace("{}", text, 1).replace("{}", "")) for text in (old, new))
    change = compare(before, after)
    assert not change.important, change


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Die Sitzung beginnt um 14:05 Uhr.", "Die Sitzung beginnt um 15:30 Uhr."),
        ("Le film dure 2 h 05.", "Le film dure 2 h 45."),
        ("Anmeldung bis 30. November 2026", "Anmeldung bis 15. Dezember 2026"),
        ("Il y a 12 personnes blessées.", "Il y a 14 personnes blessées."),
        ("Das Gesetz wurde 3 mal gelesen und vertagt.", "Das Gesetz wurde 4 mal gelesen und vertagt."),
        ("La città fa 3 proposte.", "La città fa 4 proposte."),
        ("Stand 12, Halle 3", "Stand 14, Halle 3"),
        ("The crane stops at winds of 50 km/h.", "The crane stops at winds of 60 km/h."),
        ("Published in 3 volumes", "Published in 4 volumes"),
        ("2:03:59", "2:04:59"),
        ("Saturday", "Sunday"),
        ('<a href="https://diario.example/ads/1">x</a>', '<a href="https://diario.example/ads/2">x</a>'),
    ],
)
def test_what_only_looks_like_noise_in_other_languages_counts(old, new):
    assert compare(html(INSIDE.format(f"<p>{old}</p>")), html(INSIDE.format(f"<p>{new}</p>"))).important
    assert compare(html(f"<h1>Biblioteca</h1><p>{old}</p>"), html(f"<h1>Biblioteca</h1><p>{new}</p>")).important


TUESDAY = 1_794_911_520_000  # 2026-11-17 10:32 UTC, a Tuesday
LATER = TUESDAY + (24 * 60 + 13) * 60_000  # Wednesday at 10:45


@pytest.mark.parametrize(
    ("old", "new"),
    [  # as they stood at the two visits, here and in other zones
        ("It is 10:32", "It is 10:45"),
        ("Caracas 6:32 a. m.", "Caracas 6:45 a. m."),
        ("नई दिल्ली 16:02:11", "नई दिल्ली 16:15:40"),
        ("Reloj: 11:32:59", "Reloj: 11:46:02"),
        ("Today: 17/11/2026", "Today: 18/11/2026"),
        ("Caracas, martes 17 de noviembre de 2026", "Caracas, miércoles 18 de noviembre de 2026"),
        ("Tue Nov 17 10:32:11 2026", "Wed Nov 18 10:45:12 2026"),
        ("build 1794911520", "build 1794998700"),
        ("Paris, le mardi 17 novembre, 11 h 32", "Paris, le mercredi 18 novembre, 11 h 45"),
        ("Ausgabe vom 17. November 2026", "Ausgabe vom 18. November 2026"),
    ],
)
def test_a_clock_is_known_at_the_second_visit_because_it_moved_as_the_visits_did(old, new):
    def page(text, at_ms):
        return html(f"<h1>Diario</h1><div class=x>{text}</div><p>{' '.join(NEWS)}</p>", at_ms=at_ms)

    assert compare(page(old, TUESDAY), page(new, LATER)).total == 0
    # the same texts at other moments are news: three days later, an hour and seven minutes later
    assert compare(page(old, TUESDAY), page(new, LATER + (3 * 24 * 60 + 67) * 60_000)).important
    assert compare(page(old, 0), page(new, LATER)).important  # and where nobody knows when it was


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The train leaves at 18:05", "The train leaves at 18:40"),
        ("Concert: 21 November 2026", "Concert: 22 November 2026"),
        ("It costs 10.32", "It costs 10.45"),
        ("10.32 €", "10.45 €"),
        ("".join(f"<p>{name} 10:32</p>" for name in NEWS * 2), "".join(f"<p>{name} 10:45</p>" for name in NEWS * 2)),
        ("It is 10:32. Rain", "It is 10:45. Snow"),
    ],
)
def test_times_and_prices_that_are_not_those_of_the_visits_count(old, new):
    pages = [html(f"<h1>Diario</h1><div>{text}</div>", at_ms=at) for text, at in ((old, TUESDAY), (new, LATER))]
    assert compare(*pages).important


def test_text_that_nobody_sees_is_not_compared():
    style = "<title>x</title><style>.trampa { display: none } #otra { position: absolute; left: -9999px }</style>"
    old, new = (
        html(
            f'<p>Lo que se ve</p><p class="trampa">{word}</p><p id="otra">{word}</p><p style="display:none">{word}</p>',
            style,
        )
        for word in ("uno", "dos")
    )
    assert compare(old, new).total == 0


def test_a_moved_paragraph_of_a_long_page_is_important_and_the_others_are_not_counted():
    lines = [f"<p>passage {number} of a long page about nothing in particular</p>" for number in range(2000)]
    change = compare(html("".join(lines)), html("".join([*lines[:10], *lines[11:900], lines[10], *lines[900:]])))
    assert change.important
    assert change.content["order"] < 0.15, "one passage moved, not the hundreds that it passed"


def test_importance_has_one_scale():
    change = compare(html("<p>one</p>", status=200), html("<table><tr><td class=x>two</td></tr></table>", status=404))
    assert change.total == 1.0
