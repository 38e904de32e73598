"""Tags and notes: shared, found again by word and by tag, removed by who wrote them."""

import pytest

from hemeroteca.accounts import SYSTEM, Actor, Role, services
from hemeroteca.archive import notes
from hemeroteca.errors import Denied, Invalid, NotFound

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture
def eva(db):
    return Actor.of(services.add_user(SYSTEM, "eva", Role.DIRECTOR, "una frase bien larga"))


def test_a_page_has_its_tags_whatever_the_spelling_of_its_address(eva):
    assert notes.set_tags(eva, "https://a.example/x", ["Pan ", "harina", "pan"]) == ["harina", "pan"]
    assert notes.tags_of("http://www.a.example/x/") == ["harina", "pan"]
    assert notes.set_tags(eva, "https://a.example/x", ["pan", "trigo"]) == ["pan", "trigo"]
    notes.set_tags(eva, "https://a.example/y", ["pan"])
    assert notes.tags() == [("pan", 2), ("trigo", 1)]
    for wrong in (["a" * 61], [str(number) for number in range(51)]):
        with pytest.raises(Invalid):
            notes.set_tags(eva, "https://a.example/x", wrong)
    with pytest.raises(Invalid):
        notes.set_tags(eva, "not an address", ["pan"])


def test_pages_are_found_by_tag_by_words_and_by_address(eva):
    notes.set_tags(eva, "https://a.example/x", ["pan"])
    notes.add_note(eva, "https://a.example/x", "El precio SUBE otra vez")
    notes.add_note(eva, "https://b.example/", "100% harina_")
    assert [one.url for one in notes.find(tag="PAN")] == ["https://a.example/x"]
    assert [(one.url, one.tags, one.notes) for one in notes.find("sube precio")] == [
        ("https://a.example/x", ("pan",), 1)
    ]
    assert [one.url for one in notes.find("0%")] == ["https://b.example/"]
    assert notes.find("harinaX") == []
    assert {one.url for one in notes.find()} == {"https://a.example/x", "https://b.example/"}
    assert len(notes.find(limit=1)) == len(notes.find(limit=1, offset=1)) == 1
    assert notes.find(limit=1) != notes.find(limit=1, offset=1)


def test_a_note_is_removed_by_who_wrote_it_or_an_administrator(eva):
    other = Actor.of(services.add_user(SYSTEM, "bea", Role.DIRECTOR, "una frase bien larga"))
    reader = Actor("leo", roles=(Role.READER,))
    note = notes.add_note(eva, "https://a.example/x", "uno")
    with pytest.raises(Denied):
        notes.remove_note(other, note.pk)
    with pytest.raises(Denied):
        notes.add_note(reader, "https://a.example/x", "dos")
    with pytest.raises(Denied):
        notes.set_tags(reader, "https://a.example/x", ["pan"])
    assert notes.remove_note(eva, note.pk) == "https://a.example/x"
    with pytest.raises(NotFound):
        notes.remove_note(eva, note.pk)
    with pytest.raises(Invalid):
        notes.add_note(eva, "https://a.example/x", "  ")
