"""Crawls learn which parts of a site's pages differ at every visit, and compare by the rules a person set for it."""

import json

from tests.engine.system import System

PAGE = "http://www.site.test"
STORY = "The council met on Tuesday and spoke about the old bridge, which nobody has crossed for years. " * 4


def page(lucky: int, story: str = STORY, extra: str = "") -> str:
    return (
        f"<!doctype html><title>Council</title><main><p>{story}</p></main>"
        f'<aside class="box"><p class="q">Lucky number {lucky}</p></aside>{extra}'
    )


def visit(system: System, path: str = "/") -> None:
    system.crawl(f"{PAGE}{path}", "--scope", "page", "--no-requisites", "--delay", "0")


def importance(system: System, path: str = "/") -> list[float | None]:
    return [row[0] for row in system.rows("SELECT importance FROM capture WHERE url = ? ORDER BY id", PAGE + path)]


def diff(system: System, *arguments: str) -> dict:
    done = system.run("archive", "diff", f"{PAGE}/", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_differs_at_every_visit_is_learned_kept_and_no_longer_counts(system, site):
    for number in range(6):
        site.pages["/"] = page(number * 37 + 11)
        visit(system)
    weights = importance(system)
    assert weights[0] is None
    assert all(weight > 0.05 for weight in weights[1:5])
    assert weights[5] == 0  # learned from four visits, in processes of their own
    told = json.loads(system.run("site", "noise", "www.site.test", "--json").stdout)
    assert told["noise"] == ["body/aside.box/p.q"]
    last = diff(system)
    assert (last["total"], last["important"], last["ignored"]) == (0, False, ["body/aside.box/p.q"])
    assert "Lucky number" in last["text_diff"]  # a person still sees what the page said

    site.pages["/"] = page(999, STORY + "The bridge fell.")
    visit(system)
    assert importance(system)[-1] > 0.05

    assert system.run("site", "noise", "www.site.test", "--forget").returncode == 0
    assert json.loads(system.run("site", "noise", "www.site.test", "--json").stdout)["noise"] == []


def test_what_one_page_taught_counts_on_another_of_the_site(system, site):
    site.pages["/other"] = page(5)
    visit(system, "/other")
    for number in range(5):
        site.pages["/"] = page(number * 37 + 11)
        visit(system)
    site.pages["/other"] = page(77)
    visit(system, "/other")
    assert importance(system, "/other") == [None, 0]


def test_rules_of_a_site_are_used_by_crawls_and_comparisons(system, site):
    site.pages["/"] = page(1, extra="<div id=teaser>Bread for two</div>")
    visit(system)
    site.pages["/"] = page(1, extra="<div id=teaser>Cheese for everyone</div>")
    visit(system)
    assert diff(system)["important"]

    changed = system.run("site", "set", "www.site.test", "ignore=#teaser", "ignore=//aside", "threshold=0.4")
    assert changed.returncode == 0, changed.stderr
    ruled = diff(system)
    assert (ruled["total"], ruled["threshold"]) == (0, 0.4)
    site.pages["/"] = page(2, extra="<div id=teaser>Wine</div>")
    visit(system)
    assert importance(system)[-1] == 0

    system.run("site", "set", "www.site.test", "ignore=", "threshold=")
    assert diff(system)["important"]
    assert diff(system, "--keep", "main")["total"] == 0
    wrong = system.run("site", "set", "www.site.test", "ignore=p[")
    assert wrong.returncode == 2
    assert "cannot be read" in wrong.stderr
