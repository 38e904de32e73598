"""Costly reads: bounded in time and memory, a few at a time, each address in its turn, known afterwards."""

import subprocess
import sys
import threading
import time
from multiprocessing.connection import Connection
from socket import socketpair

import pytest

from hemeroteca import change
from hemeroteca.errors import Busy, Invalid
from hemeroteca.ingest import heavy_reads
from hemeroteca.warc import Location
from tests.waiting import PATIENCE, wait_for

RULES = [
    {"ignore": ("p:has(~ p:has(~ q))",)},
    {"ignore": ("//*[count(//*[count(//*)>1])>1]",)},
    {"keep": ("div:has(~ div:has(~ div:has(~ q)))",)},
    {"ignore": ("//p[count(//a) > 1]",)},  # only quadratic
    {"keep": ("//a[preceding::p = following::p]",)},
]


@pytest.fixture
def reads(monkeypatch):
    monkeypatch.setattr(heavy_reads, "_READS", found := heavy_reads.Reads(at_once=1))
    yield found
    found.close()


def test_what_takes_too_long_is_ended_and_known_to_be_so(reads):
    for _ in range(2):  # the second time nobody tries
        with pytest.raises(Invalid, match="within"):
            heavy_reads.run(time.sleep, 3600, seconds=0.3)
    assert not reads._idle
    assert heavy_reads.run(abs, -3) == 3, "another process does the next"


def test_a_process_that_cannot_start_in_time_says_nothing_about_what_was_to_be_read(reads, monkeypatch):
    with monkeypatch.context() as busy:
        busy.setattr(heavy_reads._Process, "ready", lambda process: False)
        with pytest.raises(Busy):
            heavy_reads.run(abs, -5)
    assert heavy_reads.run(abs, -5) == 5


def test_what_takes_too_much_memory_is_refused_and_the_rest_goes_on(reads):
    with pytest.raises((MemoryError, Invalid)):
        heavy_reads.run(bytes, heavy_reads.MEMORY)
    assert heavy_reads.run(abs, -3) == 3


def test_the_same_read_is_done_once(reads):
    assert len({heavy_reads.run(time.time_ns) for _ in range(3)}) == 1


def test_one_address_cannot_take_the_turns_of_others(reads):
    """Three at most for one address; whoever comes from another goes before its next."""
    order = []

    def ask(address, number):
        heavy_reads.asker.set(address)
        try:
            heavy_reads.run(time.sleep, 0.4 + number / 1000)
            order.append(address)
        except Busy:
            order.append("busy")

    threads = [threading.Thread(target=ask, args=(f"2001:db8::{n:x}", n)) for n in range(1, 9)]  # one /64
    for thread in threads:
        thread.start()
    wait_for(lambda: order.count("busy") >= 5, lambda: order)
    other = threading.Thread(target=ask, args=("192.0.2.7", 100))
    other.start()
    for thread in (*threads, other):
        thread.join()
    done = [address for address in order if address != "busy"]
    assert len(done) == 4
    assert done.index("192.0.2.7") < 3, "not behind all of the other address"


@pytest.mark.slow
@pytest.mark.parametrize("rules", RULES, ids=lambda rules: str(next(iter(rules.values()))[0]))
def test_rules_whose_cost_grows_with_the_page_are_refused(reads, rules):
    with pytest.raises(change.RulesError):
        heavy_reads.check_rules(change.ChangeRules(**rules))


def test_what_comes_back_is_data_of_the_type_that_was_promised(reads, monkeypatch):
    """A process that a page took over answers what it likes: nothing of it is run, and nonsense is refused."""
    import pickle

    class Evil:
        def __reduce__(self):
            return (exec, ("raise SystemExit('run')",))

    monkeypatch.setattr(
        heavy_reads._Process, "ask", lambda *_: heavy_reads._Outcome(True, pickle.dumps(Evil()), time.monotonic())
    )
    with pytest.raises(Invalid):
        heavy_reads.run(heavy_reads.body, Location("x", "y", 0, 0), 5)


def test_usual_rules_are_taken(reads):
    heavy_reads.check_rules(
        change.ChangeRules(ignore=("nav, .advert, p:has(> a)", "//div[@class='a']//a"), keep=("div",))
    )


def test_a_process_whose_asker_left_before_reading_that_it_is_ready_ends_without_a_word():
    ours, theirs = socketpair()
    command = [sys.executable, "-m", "hemeroteca.ingest.heavy_reads", str(theirs.fileno())]
    with subprocess.Popen(command, pass_fds=[theirs.fileno()], stderr=subprocess.PIPE) as process:
        theirs.close()
        wire = Connection(ours.detach())
        assert wire.poll(PATIENCE)
        wire.close()
        _, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said) == (0, b"")
