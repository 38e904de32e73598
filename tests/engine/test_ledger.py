"""What happens to open files when writing fails."""

from types import SimpleNamespace

from hemeroteca.engine.ledger import Ledger
from hemeroteca.search.index import IndexWriteError


def test_an_index_that_died_of_a_full_disk_does_not_hide_it_nor_keep_the_warc_files():
    def close():
        raise IndexWriteError("the disk is full")

    done = []
    ledger = object.__new__(Ledger)
    ledger._index, ledger._versions = SimpleNamespace(close=close), None
    ledger.warcs = SimpleNamespace(abandon=lambda: done.append("warcs"))
    ledger.abandon()
    assert done == ["warcs"]
