"""What the fleet must not ask for, though the engine may."""

from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from hemeroteca.config import Config
from hemeroteca.engine.fleet_rules import FleetRules
from hemeroteca.engine.runs import Run
from hemeroteca.fetch import Request, Result
from hemeroteca.fetch.body import Body
from hemeroteca.fleet.models import AuditLine, ClosedHost
from hemeroteca.frontier.crawl_counts import Counts
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.urls import Scope
from hemeroteca.urls.robots_txt import Robots

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

ORIGIN = "http://www.a.test"
RUN = Run(1, CrawlOptions(scope=Scope(kind="host")), Counts())
PAGE = SimpleNamespace(url=f"{ORIGIN}/private/x", host=7)


@pytest.fixture
def rules():
    """The engine itself was shown a robots.txt that allows everything."""
    engine = Mock(config=Config())
    engine.robots.rules.return_value = Robots.read(200, b"")
    engine.frontier.host.return_value = SimpleNamespace(name="www.a.test")
    return FleetRules(engine)


def shown(rules: FleetRules, owner: int, text: bytes, status: int = 200) -> Mock:
    body = Mock(wraps=Body(text))
    result = Result(request=Request(url=f"{ORIGIN}/robots.txt"), status=status, body=body)
    rules.take(ORIGIN, SimpleNamespace(owner=owner, pseudonym="kind-otter"), result, [PAGE.url])
    return body


def test_one_device_that_was_shown_other_rules_is_doubted_and_two_owners_are_believed(rules):
    assert rules.wants(ORIGIN, owners=2)
    assert not rules.wants(ORIGIN, owners=2), "a block has been asked for them"
    shown(rules, 1, b"User-agent: *\nDisallow: /private")
    assert rules.refused(PAGE, RUN, ORIGIN) == ""
    assert not rules.wants(ORIGIN, owners=1), "nobody else could look"
    assert rules.wants(ORIGIN, owners=2)
    shown(rules, 1, b"User-agent: *\nDisallow: /private")
    assert rules.refused(PAGE, RUN, ORIGIN) == "", "the same owner's other device"
    shown(rules, 2, b"User-agent: *\nDisallow: /private")
    refused = rules.refused(PAGE, RUN, ORIGIN)
    assert refused == "robots.txt of www.a.test forbids the fleet this page (Disallow: /private)"
    assert rules.leaves_to_engine(PAGE.host), "the engine makes its visits"
    assert AuditLine.objects.filter(what="robots differ", detail__contains="kind-otter").count() == 3


@pytest.mark.parametrize("status", [0, 302, 503])
def test_what_is_no_answer_is_asked_for_again_and_leaves_nothing_behind(rules, status):
    assert rules.wants(ORIGIN, owners=1)
    body = shown(rules, 1, b"moved", status)
    body.discard.assert_called_once()
    assert rules.wants(ORIGIN, owners=1)


def test_a_closed_host_closes_those_below_it(rules):
    ClosedHost.objects.create(host="a.test", at_ms=1)
    assert rules.refused(PAGE, RUN, ORIGIN) == ""
    rules.refresh()
    assert rules.refused(PAGE, RUN, ORIGIN) == "www.a.test is closed to the fleet"
