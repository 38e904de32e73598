"""A scheduler that breaks must not end the engine, and must come back."""

import logging
from itertools import pairwise

import pytest

from hemeroteca import config
from hemeroteca.accounts import SYSTEM
from hemeroteca.urls.candidate import Candidate
from hemeroteca.watch import scheduler, services
from hemeroteca.watch.fields import Order
from hemeroteca.watch.scheduler import SafeScheduler, Scheduler
from tests.watch.driving import START

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(scheduler.time, "monotonic", made)
    return made


def look(guarded: SafeScheduler) -> None:
    """As the engine does."""
    if guarded.changed():
        guarded.refresh()
    guarded.due(START, {1})
    guarded.write()


def test_a_failure_is_logged_once_shown_and_retried_ever_more_slowly(tmp_path, monkeypatch, clock, caplog):
    services.subscribe(SYSTEM, Order(url="https://news.test/"))
    tries = []

    def broken(self, now, crawls):
        tries.append(clock.now)
        raise RuntimeError("the planner is upside down")

    monkeypatch.setattr(Scheduler, "due", broken)
    guarded = SafeScheduler(config.load(), tmp_path, lambda: START)
    with caplog.at_level(logging.ERROR, "hemeroteca.watch"):
        for _ in range(3600):
            look(guarded)
            clock.now += 1
    assert [round(b - a) for a, b in pairwise(tries)][:4] == [5, 10, 20, 40]
    assert len(tries) < 20
    assert len(caplog.records) == 1
    assert "the planner is upside down" in guarded.trouble
    found = [Candidate(1, "https://news.test/a", "news.test", 1)]
    assert guarded.pace(found, START) == found  # the crawl goes on
    monkeypatch.undo()
    monkeypatch.setattr(scheduler.time, "monotonic", clock)
    clock.now += 700
    look(guarded)
    assert guarded.trouble  # not yet trusted
    clock.now += scheduler.CALM_SECONDS + 1
    look(guarded)
    assert guarded.trouble == ""


def test_rows_that_cannot_be_written_do_not_take_the_engines_transaction_with_them(tmp_path, clock, monkeypatch):
    from django.db import connection, transaction

    from hemeroteca.frontier.models import Host

    guarded = SafeScheduler(config.load(), tmp_path, lambda: START)
    look(guarded)

    def write(self):
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO no_such_table VALUES (1)")

    monkeypatch.setattr(Scheduler, "unwritten", True)
    monkeypatch.setattr(Scheduler, "write", write)
    with transaction.atomic():
        Host.objects.create(name="kept.test")
        guarded.write()
    assert Host.objects.filter(name="kept.test").exists()
    assert "no_such_table" in guarded.trouble
