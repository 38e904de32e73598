"""Answers that somebody must confirm, and nobody comes to do it."""

from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from hemeroteca.engine.fleet_visits import FleetVisits, Out, Question, Voice
from hemeroteca.fetch import Request, Result
from hemeroteca.fetch.body import Body
from hemeroteca.fleet.agreement import Fingerprint, fingerprint
from hemeroteca.frontier.queue import Frontier
from hemeroteca.warc import Capture
from tests.frontier.making import candidates, order

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize(
    ("first", "second", "engine", "verdicts"),
    [
        ("Spain", "France", ["Chile", "Chile"], ["open", "open"]),  # it depends on where one asks from
        ("Chile", "France", ["Chile", "Chile"], ["valid", "invalid"]),
        ("Spain", None, ["Chile", "Chile"], ["invalid"]),
        ("Spain", None, ["Chile", "Peru"], ["open"]),  # it differs by itself
    ],
)
def test_nobody_is_blamed_where_each_of_three_was_shown_something_else(first, second, engine, verdicts):
    fleet = FleetVisits.__new__(FleetVisits)
    visit = Mock(url="http://a.test/", host="a.test")
    fleet._engine = SimpleNamespace(runs={1: None})
    fleet._answers, fleet._caught_ms = {}, {}
    fleet._accept = lambda visit, result, devices, checked: None
    fleet._ask_again = lambda *_: None
    judged: list[str] = []
    fleet._verdict = lambda lender, visit, result, verdict, *_: judged.append(str(verdict))

    def answer(text: str) -> Result:
        body = f"<p>Welcome to our friends in {text}, {len(text)} of them</p>".encode()
        return Result(request=Request(url=visit.url, tag=visit), status=200, body=Body(body))

    def voice(number: int, text: str) -> Voice:
        lender = SimpleNamespace(id=number, trusted=False)
        return Voice(lender, answer(text), fingerprint(Capture.fetched(visit.url, answer(text))))

    voices = [voice(number, text) for number, text in enumerate((first, second)) if text]
    fleet._questions = {visit: Question(SimpleNamespace(id=1), False, voices)}
    for text in engine:
        fleet._engine_answered(answer(text))
    assert judged == verdicts


@pytest.mark.parametrize("how", ["_give_back", "_lose"])
@pytest.mark.parametrize("stopping", [False, True])
def test_a_check_that_no_device_makes_is_made_by_the_engine_and_the_first_answer_stays(how, stopping):
    """Else a device that lives and takes nothing, always the least busy, would have all answers thrown away."""
    crawl = order()
    frontier = Frontier(1000)
    frontier.open_crawl(crawl.pk)
    frontier.add(candidates(crawl, "http://a.test/"))
    frontier.write(1)
    visit = frontier.lease(1.0, "fleet", 1e12).visit
    visit.lease.answered(visit, 2.0)
    visit.lease.again(visit, 2.0)
    assert frontier.lease(2.0).visit is visit  # handed out, for a device that must confirm it
    fleet = FleetVisits.__new__(FleetVisits)
    fleet.vantage = SimpleNamespace(holds=lambda visit: False)
    fleet._engine = SimpleNamespace(visits=SimpleNamespace(plain_wait=lambda *_: 0.0))
    fleet._losses = {(visit.crawl, visit.key): 0}
    result = Result(request=Request(url=visit.url), status=200, body=Body(b"x"))
    first = Voice(SimpleNamespace(id=1), result, Fingerprint(200))
    fleet._questions = {visit: Question(SimpleNamespace(stopping=stopping), True, [first])}
    getattr(fleet, how)(Out(2, {visit.url: visit}))
    if stopping:
        assert not fleet._questions
        assert visit.lease is None
        return
    assert fleet._questions[visit].voices == [first]
    assert not fleet._questions[visit].by_peer
    assert frontier.lease(1e10).visit is visit  # the next to ask its host, still leased
    assert visit.lease is not None
