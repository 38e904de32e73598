"""Queries that take long wait for each other; short ones for nobody."""

import threading

import pytest

from hemeroteca.search.throttle import Throttle, TooManyError, takes_long
from tests.waiting import wait_for

HEAVY = "*a*e*i*"


@pytest.mark.parametrize(
    "query",
    [
        "pan",
        "¿cómo se hace el pan?",
        'site:example.org "pan casero" -seco',
        "pan OR vino",
        "https://example.org/a?b=1&c=2",
    ],
)
def test_what_people_ask_does_not_wait(query):
    assert not takes_long(query)


@pytest.mark.parametrize("query", [HEAVY, "pan~2", "pan " * 100, "(" * 20, " ".join(f"-p{i}" for i in range(9))])
def test_what_may_take_long_waits(query):
    assert takes_long(query)


def test_one_after_the_other_a_few_wait_and_the_rest_is_told():
    turns = Throttle(at_once=1, waiting=1, seconds=240)
    may_end, began, answered = threading.Event(), threading.Event(), []

    def ask(name):
        with turns.turn_for(HEAVY):
            began.set()
            may_end.wait(240)
            answered.append(name)

    first = threading.Thread(target=ask, args=("first",))
    first.start()
    assert began.wait(240)
    second = threading.Thread(target=ask, args=("second",))
    second.start()
    wait_for(lambda: turns._places._value == 0, "the second waits")
    with turns.turn_for("pan"):
        answered.append("short")
    with pytest.raises(TooManyError, match="in a moment"), turns.turn_for(HEAVY):
        pass
    may_end.set()
    first.join()
    second.join()
    assert answered == ["short", "first", "second"]
    with turns.turn_for(HEAVY):
        pass


def test_nobody_waits_for_ever():
    turns = Throttle(at_once=1, waiting=1, seconds=0.01)
    with turns.turn_for(HEAVY), pytest.raises(TooManyError), turns.turn_for(HEAVY):
        pass
