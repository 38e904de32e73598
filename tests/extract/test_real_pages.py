"""Real sites, where their packages are installed."""

import re
from pathlib import Path

import pytest
from resiliparse.parse.html import HTMLTree

from hemeroteca.extract import read

SITES = {
    "java": Path("/usr/share/doc/openjdk-17-jre-headless/api"),
    "python": Path("/usr/share/doc/python3.11/html"),
}


def pages(site: str) -> list[Path]:
    if not SITES[site].exists():
        pytest.skip(f"the documentation of {site} is not installed")
    files = sorted(SITES[site].glob("**/*.html"))
    return files[:: max(1, len(files) // 60)]


@pytest.mark.parametrize("site", SITES)
def test_pages_are_read_whole(site: str) -> None:
    for path in pages(site):
        body = path.read_bytes()
        document = read(body, "text/html", path.as_uri())
        assert document.kind == "html"
        assert document.title
        assert document.main
        assert len(document.main) <= len(document.text)
        if len(body) < 1 << 20:
            assert document.notes == [], path


@pytest.mark.parametrize("site", SITES)
def test_no_link_is_lost(site: str) -> None:
    for path in pages(site):
        body = path.read_bytes()
        if len(body) > 1 << 20:
            continue
        tree = HTMLTree.parse_from_bytes(body, "utf-8")
        hrefs = {node.getattr("href") for node in tree.document.query_selector_all("a[href]")}
        expected = {href.partition("#")[0].strip() for href in hrefs} - {""}
        expected = {href for href in expected if not re.match(r"(?!https?:)[a-z]+:", href)}
        read_ = {link.href for link in read(body, "text/html", path.as_uri()).links if link.kind == "page"}
        assert expected <= read_, path


@pytest.mark.parametrize("site", SITES)
def test_words_of_the_text_are_those_of_the_page(site: str) -> None:
    """Marking the blocks changes nothing but white space."""
    for path in pages(site)[::6]:
        body = path.read_bytes()
        if len(body) > 1 << 20:
            continue
        tree = HTMLTree.parse_from_bytes(body, "utf-8")
        for node in tree.document.query_selector_all("script,style,noscript,[hidden],label,button,select"):
            node.parent.remove_child(node)
        expected = "".join(tree.body.text.split())
        assert "".join(read(body, "text/html", "http://example.org/").text.split()) == expected, path


def test_english_is_recognised() -> None:
    languages = [read(path.read_bytes(), "text/html", "http://x/").language for path in pages("python")]
    assert languages.count("en") >= 0.95 * len(languages)
