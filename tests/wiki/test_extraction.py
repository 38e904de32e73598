"""Histories extracted from a real MediaWiki: complete, kept up to date, nothing twice, nothing lost."""

import pytest

from hemeroteca.accounts import SYSTEM
from hemeroteca.wiki import queries
from hemeroteca.wiki.jobs import Extract, Refresh, Verify
from hemeroteca.wiki.models import Article
from tests.wiki.mediawiki import MediaWiki, page
from tests.wiki.world import CARACAS, older

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True), pytest.mark.slow]


def extract(run, wiki: MediaWiki, *titles: str, **options):
    return run("wiki.extract", Extract(wiki=wiki.api_url, titles=list(titles), **options))


def told(wiki: MediaWiki, title: str) -> list[dict]:
    """All revisions as the wiki itself tells them, oldest first."""
    found, further = [], {}
    while further is not None:
        answer = wiki.api(
            action="query", prop="revisions", titles=title, rvlimit=500, rvdir="newer", rvslots="main",
            rvprop="ids|flags|timestamp|user|userid|size|sha1|comment|tags|content", **further,
        )  # fmt: skip
        found += answer["query"]["pages"][0].get("revisions", [])
        further = answer.get("continue")
    return found


def rows(**given):
    return list(queries.every_revision(SYSTEM, given, text=True))


def test_a_history_is_kept_as_the_wiki_tells_it(run, mediawiki):
    result = extract(run, mediawiki, "Caracas", text=True)
    assert result["revisions"] == CARACAS
    expected = told(mediawiki, "Caracas")
    kept = rows(title="Caracas")
    assert [row["revid"] for row in kept] == [found["revid"] for found in expected]
    for row, found in zip(kept, expected, strict=True):
        same = ("revid", "parentid", "user", "userid", "size", "sha1", "comment", "minor", "timestamp", "tags")
        assert {name: row[name] for name in same} == {name: found[name] for name in same}
        assert row["text"] == found["slots"]["main"]["content"]
    article = Article.objects.get(title="Caracas")
    assert article.complete
    assert article.text_complete
    assert article.last_revision == expected[-1]["revid"]
    assert article.revisions == CARACAS


def test_extracting_again_keeps_nothing_twice(run, mediawiki):
    extract(run, mediawiki, "Caracas", text=True)
    again = extract(run, mediawiki, "Caracas", text=True)
    assert (again["revisions"], again["changed"], again["texts"], again["events"]) == (0, 0, 0, 0)
    assert queries.count(SYSTEM, {"title": "Caracas"}) == CARACAS
    texts = queries.sql(SYSTEM, "SELECT count(*), count(DISTINCT sha1) FROM texts").rows[0]
    assert texts[0] == texts[1] < CARACAS, "reverts share a text"


def test_a_limit_is_obeyed_stated_and_lifted_later(run, mediawiki):
    first = extract(run, mediawiki, "Caracas", max_revisions=50)
    assert first["limited"] == ["Caracas"]
    assert first["max_revisions"] == first["revisions"] == 50
    assert [row["revid"] for row in rows()] == [found["revid"] for found in told(mediawiki, "Caracas")[:50]]
    rest = extract(run, mediawiki, "Caracas")
    assert (rest["revisions"], rest["limited"]) == (CARACAS - 50, [])
    assert not Article.objects.get().limited


def test_texts_can_be_brought_after_the_metadata(run, mediawiki):
    extract(run, mediawiki, "Valencia")
    assert {row["text"] for row in rows(title="Valencia")} == {None}
    later = extract(run, mediawiki, "Valencia", text=True)
    assert later["revisions"] == later["changed"] == 0
    kept = rows(title="Valencia")
    assert [row["text"] for row in kept] == [found["slots"]["main"]["content"] for found in told(mediawiki, "Valencia")]


def test_missing_titles_and_redirects_are_told(run, mediawiki):
    result = extract(run, mediawiki, "No hay", "Santiago de León", "Mérida")
    assert result["missing"] == ["No hay"]
    assert result["redirects"] == [["Santiago de León", "Caracas"]]
    assert sorted(Article.objects.values_list("title", flat=True)) == ["Caracas", "Mérida"]


def test_hidden_parts_are_hidden_here_too(run, mediawiki):
    extract(run, mediawiki, "Secreto", text=True)
    first, second, third = rows(title="Secreto")
    assert (first["user"], first["comment"], first["userhidden"], first["commenthidden"]) == (None, None, True, True)
    assert (second["text"], second["texthidden"]) == (None, True)
    assert (third["user"], third["text"], third["texthidden"]) == ("Carla", "tres", False)


def test_a_refresh_brings_what_is_new_and_keeps_what_changed(run, mediawiki):
    mediawiki.edit("Cambiante", "uno", "Ana")
    bad = mediawiki.edit("Cambiante", "malo", "Carla")
    extract(run, mediawiki, "Cambiante", text=True)
    assert [row["tags"] for row in rows(title="Cambiante")][1] == []
    mediawiki.edit("Cambiante", "uno", "Admin", "deshago", undo=bad)
    mediawiki.maintain("runJobs.php")  # the tag mw-reverted is given later
    result = run("wiki.refresh", Refresh(every=True))
    assert (result["articles"], result["revisions"], result["changed"]) == (1, 1, 1)
    assert rows(title="Cambiante")[1]["tags"] == ["mw-reverted"]
    earlier = queries.sql(SYSTEM, f"SELECT tags FROM earlier WHERE revid = {bad}")
    assert earlier.rows == (([],),), "what it was is kept"
    quiet = run("wiki.refresh", Refresh(every=True))
    assert (quiet["unchanged"], quiet["articles"]) == (1, 0)


def test_imported_older_revisions_are_found_by_the_log(run, mediawiki):
    mediawiki.edit("Antiguo", "hoy", "Ana")
    extract(run, mediawiki, "Antiguo")
    mediawiki.upload(older("Antiguo", "hace mucho", "hace menos"))
    result = extract(run, mediawiki, "Antiguo")
    assert [row["revid"] for row in rows(title="Antiguo")] == [found["revid"] for found in told(mediawiki, "Antiguo")]
    assert result["revisions"] == 3, "two older ones, and the note of the import"
    assert queries.sql(SYSTEM, "SELECT type FROM events").rows == (("import",),)


def test_a_moved_article_is_found_by_both_titles(run, mediawiki):
    mediawiki.edit("Nombre viejo", "texto", "Ana")
    extract(run, mediawiki, "Nombre viejo")
    mediawiki.admin(action="move", **{"from": "Nombre viejo", "to": "Nombre nuevo"}, noredirect=1)
    extract(run, mediawiki, "Nombre nuevo")
    article = Article.objects.get()
    assert (article.title, article.former_titles) == ("Nombre nuevo", ["Nombre viejo"])
    assert {row["title"] for row in rows()} == {"Nombre nuevo"}
    assert queries.count(SYSTEM, {"title": "Nombre viejo"}) == queries.count(SYSTEM, {"title": "Nombre nuevo"}) == 2
    assert ("move",) in queries.sql(SYSTEM, "SELECT type FROM events").rows
    assert queries.sql(SYSTEM, "SELECT DISTINCT title FROM revisions").rows == (("Nombre nuevo",),)


def test_a_deleted_article_stays_and_says_so(run, mediawiki):
    mediawiki.edit("Borrable", "texto", "Ana")
    extract(run, mediawiki, "Borrable", text=True)
    mediawiki.admin(action="delete", title="Borrable", reason="prueba")
    result = extract(run, mediawiki, "Borrable")
    assert (result["deleted"], result["missing"]) == (["Borrable"], [])
    assert Article.objects.get().deleted
    assert [row["text"] for row in rows()] == ["texto"]
    assert queries.sql(SYSTEM, "SELECT type, action FROM events").rows == (("delete", "delete"),)


def test_verify_marks_what_is_gone_and_finds_what_was_hidden(run, mediawiki):
    mediawiki.load(page("Revisable", [{"user": "Ana", "text": f"texto {n}", "at": n} for n in range(3)]))
    last = told(mediawiki, "Revisable")[-1]["timestamp"]
    extract(run, mediawiki, "Revisable")
    mediawiki.admin(action="revisiondelete", type="revision", ids=rows()[0]["revid"], hide="user")
    mediawiki.admin(action="delete", title="Revisable", reason="para volver")
    mediawiki.admin(action="undelete", title="Revisable", timestamps=last)
    result = run("wiki.verify", Verify())
    assert result["changed"] == 2
    assert [row["gone"] for row in rows()] == [True, True, False]


def test_a_category_is_followed_to_its_depth_also_in_rings(run, mediawiki):
    flat = extract(run, mediawiki, category="Ciudades")
    assert flat["articles"] == 2
    deep = extract(run, mediawiki, category="Lugares", depth=5)
    assert deep["articles"] == 3
    assert sorted(Article.objects.values_list("title", flat=True)) == ["Mérida", "Plaza", "Valencia"]
    assert Article.objects.get(title="Plaza").categories == ["Lugares"]


def test_articles_of_a_user_are_extracted_whole(run, mediawiki):
    extract(run, mediawiki, user="Beto")
    assert {"Plaza", "Valencia"} <= set(Article.objects.values_list("title", flat=True))
    assert {row["user"] for row in rows(title="Valencia")} > {"Ana", "Beto"}
