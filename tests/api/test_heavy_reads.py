"""One anonymous visitor cannot make the console stand still: costly reads over HTTP, many at a time."""

import resource
import threading

import pytest
from django.db import connection
from django.test import Client

from hemeroteca.accounts import SYSTEM
from hemeroteca.errors import Busy
from hemeroteca.frontier.models import Host
from hemeroteca.ingest import heavy_reads
from hemeroteca.lake import sandbox
from hemeroteca.wiki import free_queries
from tests.console.world import BREAD, NOW, article
from tests.waiting import PATIENCE, wait_for

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def reads(monkeypatch):
    monkeypatch.setattr(heavy_reads, "_READS", found := heavy_reads.Reads(at_once=1))
    monkeypatch.setattr(heavy_reads, "SECONDS", 5.0)
    yield found
    found.close()


def asked_together(paths):
    answers = []

    def ask(path):
        try:
            answers.append(Client().get(path).status_code)
        finally:
            connection.close()

    threads = [threading.Thread(target=ask, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    return threads, answers


def test_a_rule_that_freezes_is_refused_and_one_kept_from_before_freezes_nothing(world, reads):
    from hemeroteca.errors import Invalid
    from hemeroteca.frontier import services

    rule = "p:has(~ p:has(~ q))"
    with pytest.raises(Invalid, match="too long"):
        services.set_site(SYSTEM, "diario.example", {"ignore": [rule]})
    Host.objects.filter(name="diario.example").update(settings={"ignore": [rule]})
    page = world.page("https://diario.example/largo")
    world.capture(page, article("a", "<p>x</p>" * 8000), NOW)
    world.capture(page, article("b", "<p>y</p>" * 8000), NOW + 1000)
    threads, answers = asked_together([f"/compare?url={page.url}", f"/api/v1/history/compare?url={page.url}"])
    assert Client().get(f"/page?url={BREAD}").status_code == 200, "meanwhile others read"
    for thread in threads:
        thread.join()
    assert sorted(answers) == [200, 422], "the page says why, and so does the API"


def long_pdf():
    from fpdf import FPDF

    made = FPDF()
    made.set_font("helvetica", size=6)
    for _ in range(40):
        made.add_page()
        made.multi_cell(0, 3, "palabra " * 800)
    return bytes(made.output())


@pytest.mark.parametrize("kind", ["text/plain", "application/pdf"])
def test_many_readers_of_one_long_document_cost_as_much_as_one(world, reads, kind):
    """Eight readers of one PDF once took 5.3 GB: it is read once, by one process within its limit."""
    page = world.page("https://diario.example/largo")
    world.capture(page, b"palabra " * 600_000 if kind == "text/plain" else long_pdf(), NOW, kind)
    number = world.captures[page.url][0].record_id
    begun = []
    start = heavy_reads._Process.__init__
    heavy_reads._Process.__init__ = lambda *given: (begun.append(1), start(*given))[1]
    try:
        threads, answers = asked_together([f"/v/{number}"] * 16)
        for thread in threads:
            thread.join()
    finally:
        heavy_reads._Process.__init__ = start
    assert set(answers) <= {200, 429}
    assert 200 in answers
    assert len(begun) == 1
    assert Client().get(f"/v/{number}").status_code == 200, "it is known now"
    assert len(begun) == 1
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10 <= heavy_reads.MEMORY


def test_queries_of_members_leave_the_console_its_threads(world, monkeypatch):
    """One at a time and one that waits: eight at once would hold every thread of the console, with half a GB each."""
    going_on, told = threading.Event(), []

    def long(*given):
        told.append("begun")
        going_on.wait(PATIENCE)
        return sandbox.SqlAnswer(columns=("a",), rows=((1,),))

    def ask(number):
        try:
            free_queries.sql(SYSTEM, f"SELECT {number}")
            told.append("answered")
        finally:
            connection.close()

    monkeypatch.setattr(sandbox, "ask", long)
    threads = [threading.Thread(target=ask, args=(number,)) for number in range(2)]
    for thread, left in zip(threads, (1, 0), strict=True):
        thread.start()
        wait_for(lambda left=left: free_queries._places._value == left, lambda: told)
    for number in range(2, 8):
        with pytest.raises(Busy):
            free_queries.sql(SYSTEM, f"SELECT {number}")
    assert told == ["begun"]
    going_on.set()
    for thread in threads:
        thread.join()
    assert told.count("answered") == 2
