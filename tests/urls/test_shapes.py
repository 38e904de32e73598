"""Traps are seen on the address; ordinary addresses are not taken for traps."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemeroteca import urls


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        ("a/b/a/b/a/b", "path repeats '/a/b'"),
        ("x/a/b/c/a/b/c/a/b/c/y", "path repeats '/a/b/c'"),
        ("img/img/img/logo.png", "path repeats '/img'"),
        ("1/1/1/1", "path repeats '/1'"),
        ("a/1/b/2/a/3/b/4/a/5/c/a", "path repeats '/a'"),
        ("////////", "path repeats '/'"),
        ("a" * 2000, "longer than 2,000 characters"),
        ("/".join(map(str, range(30))), "more than 25 path segments"),
        ("?" + "&".join(f"p{number}=1" for number in range(31)), "more than 30 parameters"),
        ("?a=1&a=1&a=1", "parameter 'a=1' is repeated"),
        ("?" + "&".join(f"tag={number}" for number in range(11)), "parameter 'tag' comes more than 10 times"),
        ("login?next=%2525252Flogin", "encoded again and again (%252525)"),
    ],
)
def test_traps(tail: str, reason: str) -> None:
    assert urls.trap(f"https://example.org/{tail}") == reason


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/",
        "https://example.org/2011/11/11/11-11-11",
        "https://tiles.example.org/0/0/0.png",
        "https://example.org/en/docs/en/docs",
        "https://example.org/?id[]=1&id[]=2&id[]=3",
        "https://archive.example.org/web/2010/http://example.org/a//b",
        "https://docs.example.org/api/java.base/java/util/java.base/x/java/y.html",
    ],
)
def test_ordinary_addresses_are_no_traps(url: str) -> None:
    assert urls.trap(url) is None


@pytest.mark.parametrize(
    ("family", "shape"),
    [
        (["/calendar/2024/11?month=3", "/calendar/1999/1?month=12"], "/calendar/{n}/{n}?month={n}"),
        (["/day/2024-11-05", "/day/1999-01-31"], "/day/{id}"),
        (
            ["/x/3f2504e0-4f89-11d3-9a0c-0305e82c3301", "/x/9d1e8f36-aabc-4f55-b0cd-1c2e3f405162"],
            "/x/{id}",
        ),
        (["/page-12.html", "/page-7.html"], "/page-{n}.html"),
        (["/Espa%C3%B1a%2012", "/Espa%C3%B1a%203"], "/Espa%C3%B1a%20{n}"),
        (["/about"], "/about"),
        ([""], "/"),
    ],
)
def test_one_shape_for_one_family(family: list[str], shape: str) -> None:
    assert {urls.shape(f"https://example.org{tail}") for tail in family} == {shape}


@settings(deadline=None)
@given(st.text())
def test_no_text_raises(text: str) -> None:
    urls.trap(text)
    urls.shape(text)
    urls.trap(f"https://example.org/{text}")
    urls.shape(f"https://example.org/{text}")
