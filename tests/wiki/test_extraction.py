"""Histories extracted from a real MediaWiki: complete, kept up to date, nothing twice, nothing lost."""

import pytest

from hemeroteca.accounts import SYSTEM
from hemeroteca.jobs import services as jobs
from hemeroteca.jobs.runner import Runner
from hemeroteca.wiki import free_queries, queries
from hemeroteca.wiki.job_kinds import Extract, Refresh, VerifyArticles
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
        same = ("revid", "parentid", "user", "userid", "size", "sha1", "comment", "minor", "tags")
        assert {name: row[name] for name in same} == {name: found[name] for name in same}
        assert row["timestamp"] == found["timestamp"].replace("Z", ".000Z"), "the shape of all our times"
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
    texts = free_queries.sql(SYSTEM, "SELECT count(*), count(DISTINCT sha1) FROM texts").rows[0]
    assert texts[0] == texts[1] < CARACAS, "reverts share a text"


def test_a_limit_is_obeyed_stated_and_lifted_later(run, mediawiki):
    first = extract(run, mediawiki, "Caracas", max_revisions=50)
    assert first["limited"] == ["Caracas"]
    assert first["max_revisions"] == first["revisions"] == 50
    assert [row["revid"] for row in rows()] == [found["revid"] for found in told(mediawiki, "Caracas")[:50]]
    assert run("wiki.refresh", Refresh(every=True))["requests"] == 0, "it is lifted by an order, not by the clock"
    rest = extract(run, mediawiki, "Caracas")
    assert (rest["revisions"], rest["limited"]) == (CARACAS - 50, [])
    article = Article.objects.get()
    assert not article.limited
    assert article.due_ms


def test_what_was_read_before_ctrl_c_is_not_asked_for_again(house, run, mediawiki):
    runner = Runner()
    order = Extract(wiki=mediawiki.api_url, titles=["Caracas"], text=True)
    job = jobs.submit(SYSTEM, "wiki.extract", order, here=True)
    ended = runner.run(job, lambda done, *_: runner.cancel() if done >= 100 else None)
    assert (ended.state, Article.objects.get().revisions) == ("cancelled", 100)
    rest = extract(run, mediawiki, "Caracas", text=True)
    assert (rest["revisions"], len(rows(title="Caracas"))) == (CARACAS - 100, CARACAS)
    assert all(row["text"] for row in rows(title="Caracas"))


def test_walking_all_numbers_does_not_lift_a_limit(run, mediawiki):
    extract(run, mediawiki, "Caracas", max_revisions=50, text=True)
    result = run("wiki.verify", VerifyArticles())
    assert (result["articles"], result["revisions"], result["texts"], result["changed"]) == (1, 0, 0, 0)
    assert result["limited"] == ["Caracas"]
    article = Article.objects.get()
    assert (article.limited, article.complete, article.revisions, article.due_ms) == (True, False, 50, 0)


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
    earlier = free_queries.sql(SYSTEM, f"SELECT tags FROM earlier WHERE revid = {bad}")
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
    assert free_queries.sql(SYSTEM, "SELECT type FROM events").rows == (("import",),)


def test_a_moved_article_is_found_by_both_titles(run, mediawiki):
    mediawiki.edit("Nombre viejo", "texto", "Ana")
    extract(run, mediawiki, "Nombre viejo")
    mediawiki.admin(action="move", **{"from": "Nombre viejo", "to": "Nombre nuevo"}, noredirect=1)
    extract(run, mediawiki, "Nombre nuevo")
    article = Article.objects.get()
    assert (article.title, article.former_titles) == ("Nombre nuevo", ["Nombre viejo"])
    assert {row["title"] for row in rows()} == {"Nombre nuevo"}
    assert queries.count(SYSTEM, {"title": "Nombre viejo"}) == queries.count(SYSTEM, {"title": "Nombre nuevo"}) == 2
    assert ("move",) in free_queries.sql(SYSTEM, "SELECT type FROM events").rows
    assert free_queries.sql(SYSTEM, "SELECT DISTINCT title FROM revisions").rows == (("Nombre nuevo",),)


def test_moves_before_the_first_extraction_are_found(run, mediawiki):
    """The log knows them by the title that was left, which nobody told us."""
    mediawiki.edit("Primer nombre", "texto", "Ana")
    mediawiki.admin(action="protect", title="Primer nombre", protections="edit=sysop", expiry="infinite")
    mediawiki.admin(action="move", **{"from": "Primer nombre", "to": "Segundo nombre"}, noredirect=1)
    mediawiki.edit("Primer nombre", "otro artículo", "Ana")
    mediawiki.admin(action="protect", title="Primer nombre", protections="edit=sysop", expiry="infinite")
    mediawiki.admin(action="move", **{"from": "Segundo nombre", "to": "Tercer nombre"}, noredirect=1)
    first = extract(run, mediawiki, "Tercer nombre")
    found = free_queries.sql(SYSTEM, "SELECT title, type, action FROM events ORDER BY logid").rows
    assert found == (
        ("Primer nombre", "protect", "protect"), ("Primer nombre", "move", "move"),
        ("Segundo nombre", "protect", "move_prot"), ("Segundo nombre", "move", "move"),
        ("Tercer nombre", "protect", "move_prot"),
    )  # fmt: skip
    again = run("wiki.verify", VerifyArticles())
    assert (first["events"], again["events"]) == (5, 0)


def test_a_deleted_article_stays_and_says_so(run, mediawiki):
    mediawiki.edit("Borrable", "texto", "Ana")
    extract(run, mediawiki, "Borrable", text=True)
    mediawiki.admin(action="delete", title="Borrable", reason="prueba")
    result = extract(run, mediawiki, "Borrable")
    assert (result["deleted"], result["missing"]) == (["Borrable"], [])
    assert Article.objects.get().deleted
    assert [row["text"] for row in rows()] == ["texto"]
    assert free_queries.sql(SYSTEM, "SELECT type, action FROM events").rows == (("delete", "delete"),)


def test_verify_marks_what_is_gone_and_finds_what_was_hidden(run, mediawiki):
    mediawiki.load(page("Revisable", [{"user": "Ana", "text": f"texto {n}", "at": n} for n in range(3)]))
    last = told(mediawiki, "Revisable")[-1]["timestamp"]
    extract(run, mediawiki, "Revisable")
    mediawiki.admin(action="revisiondelete", type="revision", ids=rows()[0]["revid"], hide="user")
    mediawiki.admin(action="delete", title="Revisable", reason="para volver")
    mediawiki.admin(action="undelete", title="Revisable", timestamps=last)
    result = run("wiki.verify", VerifyArticles())
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


def test_articles_the_search_finds_are_extracted(run, mediawiki):
    mediawiki.maintain("rebuildtextindex.php")
    found = extract(run, mediawiki, search="Valencia")
    assert found["articles"] == Article.objects.count() >= 1
    assert Article.objects.filter(title="Valencia", complete=True).exists()


def everything(wiki: MediaWiki) -> set[int]:
    """Numbers of all revisions of articles, as the wiki lists them."""
    found, further = set(), {}
    while further is not None:
        answer = wiki.api(action="query", list="allrevisions", arvnamespace=0, arvlimit=500, arvprop="ids", **further)
        for entry in answer["query"]["allrevisions"]:
            found |= {revision["revid"] for revision in entry["revisions"]}
        further = answer.get("continue")
    return found


def test_a_whole_wiki_is_read_many_articles_in_a_request(run, mediawiki, monkeypatch):
    """With what was there already: one article complete, one begun, one that is no longer on the wiki."""
    from hemeroteca.wiki import commits

    monkeypatch.setattr(commits, "MAX_ROWS", 50)  # several commits
    mediawiki.edit("Pasajero", "texto", "Ana")
    extract(run, mediawiki, "Pasajero", "Plaza")
    extract(run, mediawiki, "Caracas", max_revisions=30)
    mediawiki.admin(action="delete", title="Pasajero", reason="prueba")
    result = extract(run, mediawiki, whole=True, text=True)
    kept = rows()
    numbers = [row["revid"] for row in kept if row["title"] != "Pasajero"]
    assert len(numbers) == len(set(numbers))
    assert set(numbers) == everything(mediawiki)
    assert all(row["text"] is not None for row in kept if not row["texthidden"] and row["title"] != "Pasajero")
    assert result["deleted"] == ["Pasajero"]
    assert not Article.objects.filter(deleted=False, complete=False).exists()
    assert not Article.objects.filter(deleted=False, text_complete=False).exists()
    assert Article.objects.get(title="Caracas").limited is False
    assert ("move",) in free_queries.sql(SYSTEM, "SELECT DISTINCT type FROM events").rows
    again = extract(run, mediawiki, whole=True, text=True)
    assert (again["revisions"], again["changed"], again["texts"], again["events"]) == (0, 0, 0, 0)
    assert result["requests"] < 15 + Article.objects.count() / 5, "not one request for each article"


def test_an_order_is_cut_into_parts_for_several_workers(run, mediawiki):
    titles = ["Caracas", "Valencia", "Mérida", "Plaza", "No hay"]
    result = extract(run, mediawiki, *titles, text=True, workers=3)
    assert (result["articles"], result["missing"]) == (4, ["No hay"])
    assert result["revisions"] == len(rows())
    from hemeroteca.jobs.models import Job

    parts = Job.objects.filter(kind="wiki.extract", arguments__workers=1)
    assert sorted(title for part in parts for title in part.arguments["titles"]) == sorted(titles)
    assert {part.state for part in parts} == {"done"}


def test_cancelling_an_order_cancels_its_parts_and_resuming_resumes_them(house, mediawiki):
    from hemeroteca.jobs import services
    from hemeroteca.jobs.models import Job
    from hemeroteca.jobs.runner import Runner

    order = Extract(wiki=mediawiki.api_url, titles=["Caracas", "Valencia", "Plaza"], workers=3)
    job = services.submit(SYSTEM, "wiki.extract", order, here=True)
    runner = Runner()

    def show(done, total, message):
        if "parts" in message:  # it was cut; the first part has not begun
            runner.cancel()

    assert runner.run(job, show).state == "cancelled"
    parts = Job.objects.filter(kind="wiki.extract", arguments__workers=1)
    assert [part.state for part in parts] == ["cancelled"] * 3
    assert not Article.objects.exists()
    again = Runner().run(services.resume(SYSTEM, job.pk, here=True))
    assert (again.state, again.result["articles"]) == ("done", 3)
    assert {part.state for part in parts.all()} == {"done"}
    assert parts.count() == 3, "the same parts"


def test_a_bot_password_signs_in(run, house, mediawiki):
    """A wiki that shows its pages to accounts only, read with a bot password of few rights."""
    import dataclasses

    mediawiki.maintain("createBotPassword.php", "--appid", "lector", "--grants", "basic", "Ana", "a" * 32)
    settings = mediawiki.folder / "LocalSettings.php"
    open_to_all = settings.read_text()
    settings.write_text(open_to_all + "\n$wgGroupPermissions['*']['read'] = false;\n")
    try:
        house.CONFIG = dataclasses.replace(house.CONFIG, wiki_user="Ana@lector", wiki_password="a" * 32)
        assert extract(run, mediawiki, "Plaza")["revisions"] >= 5
        house.CONFIG = dataclasses.replace(house.CONFIG, wiki_password="wrong")
        from hemeroteca.jobs import services
        from hemeroteca.jobs.runner import Runner

        order = Extract(wiki=mediawiki.api_url, titles=["Plaza"])
        job = Runner().run(services.submit(SYSTEM, "wiki.extract", order, here=True))
        assert job.state == "failed"
        assert "does not let 'Ana@lector' in" in job.message
    finally:
        settings.write_text(open_to_all)
