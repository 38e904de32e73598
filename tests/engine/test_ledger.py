"""What happens to open files when writing fails."""

import pytest

from hemeroteca import config
from hemeroteca.engine.ledger import Ledger
from hemeroteca.instance import Instance
from hemeroteca.search.index import IndexWriteError

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
