"""Answers that somebody must confirm, and nobody comes to do it."""

from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from hemeroteca.config import Config
from hemeroteca.engine.fleet_visits import FleetVisits
from hemeroteca.engine.runs import Run
from hemeroteca.fetch import Request, Result
from hemeroteca.fetch.body import Body
from hemeroteca.fleet import services
from hemeroteca.fleet.dispatch import Lender
from hemeroteca.fleet.models import Block, Device
from hemeroteca.frontier.crawl_counts import Counts
from hemeroteca.frontier.queue import Frontier
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.urls import Scope
from tests.fleet.test_coordinator import Volunteer
from tests.frontier.making import candidates, order

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

CRAWLS = CrawlOptions(scope=Scope(kind="host"))


def answer(visit, text: str) -> Result:
    body = f"<p>Welcome to our friends in {text}, {len(text)} of them</p>".encode()
    return Result(request=Request(url=visit.url, tag=visit), status=200, body=Body(body))


@pytest.fixture
def engine(monkeypatch):
    """What a part of the engine needs of it. Every answer of a device must be confirmed."""
    monkeypatch.setattr("random.random", lambda: 0.5)
    visits = Mock()
    visits.plain_wait.return_value = visits.wait_after.return_value = 0.0
    visits.request.side_effect = lambda visit, run: Request(url=visit.url, tag=visit)
    robots = Mock()
    robots.rules.return_value = None
    return SimpleNamespace(config=Config(), runs={}, visits=visits, fetcher=Mock(), robots=robots, frontier=None)


@pytest.mark.parametrize(
    ("first", "second", "engine_sees", "verdicts"),
    [
        ("Spain", "France", ["Chile", "Chile"], ["open", "open"]),  # it depends on where one asks from
        ("Chile", "France", ["Chile", "Chile"], ["valid", "invalid"]),
        ("Spain", None, ["Chile", "Chile"], ["invalid"]),
        ("Spain", None, ["Chile", "Peru"], ["open"]),  # it differs by itself
    ],
)
def test_nobody_is_blamed_where_each_of_three_was_shown_something_else(engine, first, second, engine_sees, verdicts):
    fleet = FleetVisits(engine)
    run = engine.runs[1] = Run(1, CRAWLS, Counts())
    visit = Mock(url="http://a.test/", crawl=1, key=7, followed=False)
    for number, text in enumerate(one for one in (first, second) if one):
        device = Volunteer(f"d{number}", owner=f"o{number}").row
        assert fleet.confirmations.take(visit, run, Lender.of(device), answer(visit, text), leased_ms=1)
    for text in engine_sees:
        fleet.begin(visit)
        request, answered = engine.fetcher.submit.call_args.args
        assert request.url == visit.url
        answered(answer(visit, text))
    assert [str(one.verdict) for one in fleet.confirmations.verdicts] == verdicts
    assert not fleet.asks(visit)
    engine.visits.answered.assert_called_once()  # one answer goes on


@pytest.mark.parametrize("what", ["nobody takes it", "its deadline passes"])
@pytest.mark.parametrize("stopping", [False, True])
def test_a_check_that_no_device_makes_is_made_by_the_engine_and_the_first_answer_stays(engine, what, stopping):
    """Else a device that lives and takes nothing, always the least busy, would have all answers thrown away."""
    crawl = order()
    frontier = engine.frontier = Frontier(1000)
    frontier.open_crawl(crawl.pk)
    frontier.add(candidates(crawl, "http://a.test/"))
    frontier.write(1)
    fleet = FleetVisits(engine)
    run = engine.runs[crawl.pk] = Run(crawl.pk, CRAWLS, Counts())
    first, second = (Volunteer(name, owner=name).connect().row for name in ("ana", "bea"))
    Device.objects.filter(pk=second.pk).update(network="other", activities=["crawls"])
    visit = frontier.lease(1.0, "fleet", 1e12).visit
    fleet.look(0.0, services.now_ms() / 1000)
    result = answer(visit, "Spain")
    assert fleet.confirmations.take(visit, run, Lender.of(first), result, leased_ms=1)
    assert frontier.lease(1e10).visit is visit  # handed out again, for a device that must confirm it
    fleet.begin(visit)
    fleet.look(0.5, services.now_ms() / 1000)
    block = Block.objects.get()
    assert (block.kind, block.share_id, visit in fleet.confirmations) == ("check", second.pk, True)
    run.stopping = "stopped by ana" if stopping else ""
    if what == "nobody takes it":
        Block.objects.update(created_ms=1)
    else:
        Block.objects.update(state=Block.State.LEASED, device=second.pk, deadline_ms=1)
    fleet.look(2.0, services.now_ms() / 1000)
    if stopping:
        assert visit not in fleet.confirmations
        assert visit.lease is None
        return
    assert fleet.confirmations.asked([visit])[0].id == first.pk
    assert engine.visits.begin.call_args.args[0] is visit  # the next to ask its host, still leased
    fleet.begin(visit)
    engine.fetcher.submit.assert_called_once()  # by the engine, though the device is still there
    assert visit.lease is not None


def test_the_reputation_a_device_has_earned_counts_from_its_first_answer_on(engine):
    from hemeroteca.fleet.models import DeviceReputation

    device = Volunteer("pi").row
    DeviceReputation.objects.create(device=device, version="", in_a_row=1000, valid=1000)
    fleet = FleetVisits(engine)
    run = engine.runs[1] = Run(1, CRAWLS, Counts())
    visit = Mock(url="http://a.test/", crawl=1, key=7)
    assert fleet.confirmations.take(visit, run, Lender.of(device), answer(visit, "Spain"), leased_ms=1)
    assert [str(one.verdict) for one in fleet.confirmations.verdicts] == ["unchecked"]
    assert not fleet.asks(visit)
