"""What happens to open files when writing fails."""

import errno
from types import SimpleNamespace

import pytest
import typer
from django.db import OperationalError
from django.db.models import QuerySet

from hemeroteca import config
from hemeroteca.accounts import SYSTEM
from hemeroteca.cli import crawl
from hemeroteca.engine.ledger import Ledger
from hemeroteca.frontier import services
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.instance import Instance
from hemeroteca.instance.status import EngineStatus, read_engine_status, write_engine_status
from hemeroteca.search.index import IndexWriteError
from hemeroteca.urls import Scope

pytestmark = [pytest.mark.database, pytest.mark.django_db]


def test_an_index_that_died_of_a_full_disk_does_not_hide_it_nor_keep_the_warc_files(tmp_path, monkeypatch):
    def close():
        raise IndexWriteError("the disk is full")

    instance = Instance(tmp_path)
    instance.create()
    ledger = Ledger(config.Config(data=tmp_path), instance)
    done = []
    ledger.search.close()
    monkeypatch.setattr(ledger.search, "close", close)
    monkeypatch.setattr(ledger.archive, "abandon", lambda: done.append("warcs"))
    ledger.abandon()
    assert done == ["warcs"]


@pytest.mark.parametrize("error", [OperationalError("database or disk is full"), OSError(errno.ENOSPC, "no room")])
def test_a_full_disk_ends_a_crawl_with_what_to_do(tmp_path, monkeypatch, settings, capsys, error):
    """SQLite, the index and plain files tell it each in another way, and the reason may not be written either."""

    def full(*_):
        raise error

    def unwritten(*_, **__):
        raise OperationalError("database or disk is full")

    settings.INSTANCE = Instance(tmp_path)
    monkeypatch.setattr("hemeroteca.engine.rebuild.repair", full)
    monkeypatch.setattr(QuerySet, "update", unwritten)
    with pytest.raises(typer.Exit):
        crawl._run_engine(1, SimpleNamespace(show_engine=None), [])
    assert f"the disk of {tmp_path} is full; make room and start again" in capsys.readouterr().err


def test_a_crawl_that_its_engine_could_not_begin_says_so_in_its_log(tmp_path, monkeypatch, settings):
    def broken(*_):
        raise OSError("no such device")

    settings.INSTANCE = Instance(tmp_path)
    order, _ = services.submit_crawl(SYSTEM, ["https://example.org/"], CrawlOptions(scope=Scope(kind="page")))
    monkeypatch.setattr("hemeroteca.engine.rebuild.repair", broken)
    with pytest.raises(typer.Exit):
        crawl._run_engine(order.pk, SimpleNamespace(show_engine=None), [])
    order.refresh_from_db()
    assert (order.state, order.stop_reason, order.ended_ms > 0) == ("stopped", "no such device", True)
    assert [(event.what, event.detail) for event in order.crawlevent_set.order_by("pk")] == [
        ("ordered", ""),
        ("stopped", "no such device"),
    ]


def test_a_status_that_cannot_be_written_ends_nothing(tmp_path):
    instance = Instance(tmp_path / "gone")
    write_engine_status(instance, EngineStatus(1, 1, 1))
    assert read_engine_status(instance) is None
