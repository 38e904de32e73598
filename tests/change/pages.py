"""Pages for the tests of `change`: a shop in Spanish, a newspaper in English."""

from hemeroteca.change import Snapshot

HTML = "text/html; charset=utf-8"


def html(body: str, head: str = "<title>A page</title>", **facts: object) -> Snapshot:
    text = f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>"
    return Snapshot(text.encode(), HTML, "https://example.org/", **facts)  # type: ignore[arg-type]


def shop(
    price: str = "10,00 €",
    visits: str = "1.234",
    moment: str = "3 de mayo de 2024 10:32",
    ago: str = "hace 3 minutos",
    token: str = "a91f27c3d5e84b60",
    advertisement: str = "Compre ahora su coche",
    extra: str = "",
) -> Snapshot:
    """The page of a product with everything that moves by itself on such pages."""
    return html(
        f"""
        <header class="cabecera"><a href="/"><img src="/logo.png?v={token[:6]}" alt="Tienda"></a>
        <nav><ul><li><a href="/camisas?PHPSESSID={token}">Camisas</a></li>
        <li><a href="/zapatos">Zapatos</a></li></ul></nav></header>
        <main><h1>Camisa de lino</h1><p class="precio">Precio: <b>{price}</b></p>
        <p>Camisa fresca para el verano, de lino cultivado en la región y cosida a mano por un taller familiar.</p>
        <p>Tallas: S, M, L y XL. Envío en 3 días.</p>{extra}
        <form method="post" action="/carro"><input type="hidden" name="csrf" value="{token}"><input name="cantidad">
        <button>Comprar</button></form></main>
        <aside><div class="publicidad"><p>{advertisement}</p><img src="https://ads.example/{token}.jpg"></div>
        <p>Última compra {ago}</p></aside>
        <footer><p>{visits} visitas</p><p>Última actualización: {moment}</p>
        <p>Página generada en 0,{int(token[:3], 16)} segundos</p>
        <script nonce="{token}">window.csrf = "{token}"; window.now = 17147{int(token[:3], 16)};</script>
        <p>© 2024 Tienda</p></footer>""",
        f'<title>Camisa de lino</title><link rel="stylesheet" href="/app.{token[:8]}.css">'
        f'<meta name="csrf-token" content="{token}">',
    )


def newspaper(
    date: str = "3 May",
    clock: str = "10:32:05",
    ago: str = "5 minutes ago",
    views: str = "12,345",
    request: str = "8f3a9c2b7d1e4f60",
    lead: str = "The council meets to decide on the new library.",
) -> Snapshot:
    return html(
        f"""
        <header><p>{clock} GMT</p><p>Last updated on Monday, 6 May 2024 at {clock[:5]} am</p></header>
        <article><h1>Council to vote on library</h1><p>By A. Writer · {ago} · {views} views</p>
        <p>{lead}</p><p>The meeting is on {date} at the town hall, and everyone is welcome.</p>
        <img src="/photos/hall.jpg" alt="The town hall">
        <p>The library cost 3.2 million and had 1,200 visitors a day.</p></article>
        <footer><p>There are {views[:2]} users online</p><p>Request ID: {request}</p>
        <p>Page generated in 0.{request[:2].translate(str.maketrans("abcdef", "123456"))} seconds</p></footer>"""
    )
