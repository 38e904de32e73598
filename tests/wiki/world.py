"""What the real wiki of the tests holds: articles by several people, moves, deletions, hidden parts, tags, imports."""

from tests.wiki.mediawiki import MediaWiki, dump, page

PEOPLE = ("Ana", "Beto", "Carla")
CARACAS = 120  # revisions of its first history


def caracas() -> list[dict]:
    """Every seventh revision goes back two: an identity revert."""
    texts = [
        f"Caracas es la capital. Version {number}. " + "Texto largo de relleno. " * 30 for number in range(CARACAS)
    ]
    for number in range(7, CARACAS, 7):
        texts[number] = texts[number - 2]
    people = ("Ana", "10.0.0.7", "Beto", "Carla", "Ana")
    return [
        {
            "user": people[number % 5],
            "text": texts[number],
            "at": number * 311,  # minutes
            "comment": f"cambio {number}",
            "minor": number % 4 == 0,
        }
        for number in range(CARACAS)
    ]


def fill(wiki: MediaWiki) -> None:
    for name in PEOPLE:
        wiki.make_user(name)
    wiki.make_user("Robot", "bot")
    wiki.load(
        page("Caracas", caracas()),
        page(
            "Valencia",
            [{"user": "Ana", "text": f"Valencia {n}\n[[Categoría:Ciudades]]", "at": n * 1440} for n in range(30)],
        ),
        page(
            "Mérida",
            [{"user": "Carla", "text": f"Mérida {n} [[Categoría:Ciudades]]", "at": n * 2000} for n in range(8)],
        ),
        page("Categoría:Ciudades", [{"user": "Ana", "text": "[[Categoría:Lugares]]", "at": 5}], ns=14),
        page("Categoría:Lugares", [{"user": "Ana", "text": "[[Categoría:Ciudades]]", "at": 6}], ns=14),
        page("Plaza", [{"user": "Beto", "text": f"Plaza {n} [[Categoría:Lugares]]", "at": n * 100} for n in range(5)]),
    )
    wiki.edit("Valencia", "Valencia, ciudad. [[Categoría:Ciudades]]", "Beto", "de verdad")
    vandal = wiki.edit("Valencia", "vandalismo", "Carla", "jaja")
    wiki.edit("Valencia", "Valencia, ciudad. [[Categoría:Ciudades]]", "Ana", "deshago", undo=vandal)  # tags: mw-undo
    wiki.edit("Valencia", "Valencia, ciudad grande. [[Categoría:Ciudades]]", "Robot", "bot", bot=1)
    wiki.edit("Santiago de León", "#REDIRECCIÓN [[Caracas]]", "Ana")
    # moved, so that its history carries two titles
    wiki.edit("Ciudad Bolivar", "Angostura", "Ana")
    wiki.edit("Ciudad Bolivar", "Angostura del Orinoco", "Beto")
    wiki.admin(action="move", **{"from": "Ciudad Bolivar", "to": "Ciudad Bolívar"}, noredirect=1, reason="acento")
    # hidden parts: user and comment of one revision, text of another
    first = wiki.edit("Secreto", "uno", "Ana", "un comentario")
    second = wiki.edit("Secreto", "dos", "Beto", "otro")
    wiki.edit("Secreto", "tres", "Carla", "final")
    wiki.admin(action="revisiondelete", type="revision", ids=first, hide="user|comment")
    wiki.admin(action="revisiondelete", type="revision", ids=second, hide="content")
    # deleted
    wiki.edit("Efímero", "no dura", "Ana")
    wiki.admin(action="delete", title="Efímero", reason="prueba")


def older(title: str, *texts: str) -> str:
    """A dump of revisions older than any other: they get new numbers when they are imported."""
    found = [{"user": "Ana", "text": text, "at": -10_000 + place} for place, text in enumerate(texts)]
    return dump(page(title, found))
