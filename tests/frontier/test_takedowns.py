"""Which addresses a takedown covers: the same that the archive's index files under it."""

import pytest

from hemeroteca.accounts import SYSTEM, Actor, Role
from hemeroteca.archive import lookup
from hemeroteca.errors import Conflict, Denied, Invalid, NotFound
from hemeroteca.frontier import services, takedowns
from hemeroteca.frontier.models import Crawl
from hemeroteca.frontier.takedowns import Takedowns

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.mark.parametrize(
    ("url", "match", "covered", "free"),
    [
        ("https://a.example/x", "exact", ["http://www.a.example/x/", "urn:dom:https://a.example/x"], ["a.example/x/y"]),
        ("a.example/x*", "exact", ["http://a.example/x", "http://a.example/xyz"], ["http://a.example/", "b.example/x"]),
        ("a.example", "host", ["https://a.example/q?z=1"], ["https://b.a.example/", "https://a.example.org/"]),
        ("*.a.example", "exact", ["https://b.a.example/", "https://a.example/x"], ["https://ba.example/"]),
    ],
)
def test_what_belongs_to_an_address(url, match, covered, free):
    takedowns.take_down(SYSTEM, url, match, "because")
    takedowns.take_down(SYSTEM, "z.example/one", "exact", "because")  # another beside it
    known = Takedowns()
    assert [bool(known.refusal(one)) for one in covered] == [True] * len(covered)
    assert [known.refusal(one) for one in free] == [""] * len(free)


def test_one_inside_another_holds_when_the_inner_is_lifted():
    inner = takedowns.take_down(SYSTEM, "a.example/x/y", "exact", "because")
    takedowns.take_down(SYSTEM, "a.example", "domain", "because")
    known = Takedowns()
    takedowns.lift(SYSTEM, inner.pk)
    known.refresh()
    assert known.refusal("http://a.example/x/y")
    assert known.refusal("http://a.example/zz"), "behind the inner one in the order of keys"
    with pytest.raises(Conflict):
        takedowns.lift(SYSTEM, inner.pk)


def test_only_who_may_erase_takes_down_and_lifts():
    director = Actor("eva", roles=(Role.DIRECTOR,))
    for act in (
        lambda: takedowns.take_down(director, "a.example", "exact", "because"),
        lambda: takedowns.lift(director, 1),
        lambda: takedowns.listed(director),
    ):
        with pytest.raises(Denied):
            act()
    with pytest.raises(NotFound):
        takedowns.lift(SYSTEM, 1)
    with pytest.raises(Invalid):
        takedowns.take_down(SYSTEM, "a.example", "exact", " ")
    with pytest.raises(Invalid):
        takedowns.take_down(SYSTEM, "http://", "exact", "because")


def test_nobody_is_advised_to_crawl_what_was_taken_down():
    takedowns.take_down(SYSTEM, "a.example/x", "exact", "because")
    assert "was taken down" in str(lookup.no_capture("https://a.example/x"))
    assert "hemeroteca crawl https://a.example/y" in str(lookup.no_capture("https://a.example/y"))


def test_a_page_that_was_taken_down_cannot_be_saved():
    takedowns.take_down(SYSTEM, "a.example/x", "exact", "because")
    with pytest.raises(Conflict, match="taken down"):
        services.save_page(SYSTEM, "https://a.example/x")
    assert not Crawl.objects.exists()
