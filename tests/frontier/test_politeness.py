from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.frontier import politeness
from hemeroteca.frontier.politeness import DelayLimits, backoff, delay_after, retry_after

LIMITS = DelayLimits(delay=1.0, factor=5.0, longest=30.0, longest_crawl_delay=120.0)
NOW = 1_760_000_000.0


def test_a_slow_host_is_asked_less_often():
    assert delay_after(0.01, LIMITS, fixed=None, crawl_delay=None) == 1.0
    assert delay_after(2.0, LIMITS, fixed=None, crawl_delay=None) == 10.0
    assert delay_after(60.0, LIMITS, fixed=None, crawl_delay=None) == 30.0


def test_a_persons_delay_replaces_the_adaptive_one_but_not_what_robots_txt_asks():
    assert delay_after(2.0, LIMITS, fixed=0.0, crawl_delay=None) == 0.0
    assert delay_after(2.0, LIMITS, fixed=0.0, crawl_delay=7.0) == 7.0
    assert delay_after(0.0, LIMITS, fixed=None, crawl_delay=10_000.0) == 120.0


@given(st.floats(0, 1e6), st.none() | st.floats(0, 1e6), st.none() | st.floats(0, 1e6))
def test_the_delay_is_never_negative_nor_endless(elapsed, fixed, crawl_delay):
    wait = delay_after(elapsed, LIMITS, fixed=fixed, crawl_delay=crawl_delay)
    assert 0 <= wait <= max(120.0, fixed or 0)


def test_back_off_doubles_and_ends():
    assert [backoff(n) for n in (1, 2, 3)] == [5.0, 10.0, 20.0]
    assert backoff(1000) == politeness.MAX_BACKOFF


def test_retry_after_in_seconds_or_as_a_date():
    assert retry_after("120", NOW) == 120.0
    assert retry_after("Thu, 09 Oct 2025 08:54:20 GMT", NOW) == 60.0
    assert retry_after("Wed, 08 Oct 2025 08:54:20 GMT", NOW) == 0.0
    assert retry_after("999999999999", NOW) == politeness.MAX_RETRY_AFTER
    assert retry_after("", NOW) is None
    assert retry_after("soon", NOW) is None


@given(st.text(max_size=60))
def test_no_header_value_breaks_it(text):
    seconds = retry_after(text, NOW)
    assert seconds is None or 0 <= seconds <= politeness.MAX_RETRY_AFTER
