"""The virtual clock and the processes by which pages change."""

from collections import Counter
from itertools import pairwise
from statistics import mean, pvariance

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simweb import SimWeb
from simweb.changes import PROCESSES, between, last
from simweb.clock import DAY, EPOCH, HOUR, Clock, http_date, iso_date
from simweb.model import Settings, Web
from tests.simweb.client import Client

KEYS = st.integers(0, 2**64 - 1)
MOMENTS = st.integers(EPOCH, EPOCH + 400 * DAY)


@given(st.sampled_from(sorted(PROCESSES)), KEYS, MOMENTS, st.integers(0, 120 * DAY))
@settings(max_examples=150, deadline=None)
def test_the_last_change_is_the_newest_of_the_listed_ones(name: str, key: int, since: int, span: int) -> None:
    process = PROCESSES[name]
    listed = list(between(process, key, since, since + span))
    assert listed == sorted(set(listed))
    assert all(since < moment <= since + span for moment in listed)
    assert last(process, key, since + span, since) == (listed[-1] if listed else since)


@given(st.sampled_from(sorted(PROCESSES)), KEYS, MOMENTS, st.integers(0, 40 * DAY), st.integers(0, 40 * DAY))
@settings(max_examples=100, deadline=None)
def test_the_past_does_not_depend_on_when_one_looks(name: str, key: int, since: int, first: int, second: int) -> None:
    process = PROCESSES[name]
    middle, end = since + first, since + first + second
    parts = [*between(process, key, since, middle), *between(process, key, middle, end)]
    assert parts == list(between(process, key, since, end))


def test_processes_change_as_often_as_they_say() -> None:
    def gaps(name: str, days: int) -> list[int]:
        times = list(between(PROCESSES[name], 12345, EPOCH, EPOCH + days * DAY))
        return [after - before for before, after in pairwise(times)]

    assert set(gaps("hourly", 5)) == {HOUR}
    assert set(gaps("daily", 30)) == {DAY}
    assert set(gaps("weekly", 100)) == {7 * DAY}
    assert gaps("never", 1000) == []
    poisson = gaps("poisson", 6000)
    assert mean(poisson) == pytest.approx(3 * DAY, rel=0.1)
    assert pvariance(poisson) == pytest.approx((3 * DAY) ** 2, rel=0.3)  # exponential gaps, not regular ones
    bursts = gaps("bursts", 3000)
    assert sum(gap < DAY for gap in bursts) > 0.6 * len(bursts)
    assert max(bursts) > 14 * DAY


def test_seasons_are_busy_in_one_quarter_of_the_year() -> None:
    times = list(between(PROCESSES["seasons"], 8, EPOCH, EPOCH + 3 * 365 * DAY))
    quarters = Counter(int(moment / (365 * DAY) * 4 % 4) for moment in times)
    busiest = quarters.most_common(1)[0][1]
    assert busiest > 0.75 * len(times)


def test_a_clock_stands_runs_and_jumps_but_never_goes_back() -> None:
    real = [100.0]
    clock = Clock(1000, 0, lambda: real[0])
    real[0] += 50
    assert clock.now() == 1000
    clock.set_speed(60)
    real[0] += 2
    assert clock.now() == 1120
    assert clock.advance(DAY) == 1120 + DAY
    with pytest.raises(ValueError, match="cannot go back"):
        clock.advance(-1)


def test_dates_are_written_as_http_and_iso_do() -> None:
    assert http_date(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT"
    assert iso_date(784_111_777) == "1994-11-06T08:49:37Z"


def test_pages_change_exactly_when_the_truth_says() -> None:
    with SimWeb(seed=4, hosts=8, pages_per_host=30, page_bytes=9000, growth=3) as web:
        client = Client(web.port)
        hosts = [host for host in (web.web.host_at(i) for i in range(8)) if not host.noisy]
        urls = [host.url(n) for host in hosts for n in range(0, 30, 3)]
        bodies = {url: client.get(url).body for url in urls}
        checked = Counter[bool]()
        for hours in (1, 5, 24, 24 * 8):
            before = web.now()
            now = web.advance(hours)
            for url in urls:
                body = client.get(url).body
                changed = any(before < moment <= now for moment in web.truth(url).changes)
                assert (body != bodies[url]) == changed, (url, hours)
                bodies[url] = body
                checked[changed] += 1
        client.close()
    assert min(checked.values()) > 40


def test_validators_follow_changes() -> None:
    with SimWeb(seed=1, hosts=1, pages_per_host=20, changes="daily") as web:
        client = Client(web.port)
        url = web.seed_urls()[0]
        tag = client.get(url).headers["etag"]
        assert client.get(url, If_None_Match=tag).status == 304
        web.advance(24)
        after = client.get(url, If_None_Match=tag)
        assert after.status == 200
        assert after.headers["last-modified"] == http_date(web.truth(url).changes[-1])
        client.close()


def test_noisy_hosts_differ_by_the_hour_without_a_real_change() -> None:
    with SimWeb(seed=2, hosts=60, pages_per_host=10, changes="never") as web:
        host = next(host for host in (web.web.host_at(i) for i in range(60)) if host.noisy)
        client = Client(web.port)
        first = client.get(host.url(1))
        assert first.body == client.get(host.url(1)).body
        assert "etag" not in first.headers
        web.advance(2)
        assert client.get(host.url(1)).body != first.body
        assert web.truth(host.url(1)).changes == ()
        client.close()


def test_a_growing_web_bears_pages_that_are_linked_from_old_ones() -> None:
    with SimWeb(seed=3, hosts=2, pages_per_host=30, growth=2, trouble=0, robots="open") as web:
        client = Client(web.port)
        name = web.hosts()[0]
        host = web.web.host_at(0)
        assert len(list(web.urls(name))) == 30
        assert client.get(host.url(30)).status == 404
        before = web.reachable(web.seed_urls(), scope="host")
        web.advance(24 * 5)
        assert len(list(web.urls(name))) == 40
        assert client.get(host.url(39)).status == 200
        born = web.reachable(web.seed_urls(), scope="host") - before
        assert host.url(39) in born
        assert host.url(39) in client.get(host.url(0)).text().replace('href="', f'href="{host.origin}')
        assert web.truth(host.url(39)).born <= web.now()
        client.close()


def test_start_is_fixed_by_the_seed() -> None:
    assert Web(Settings(seed=1)).start == Web(Settings(seed=1, hosts=3)).start != Web(Settings(seed=2)).start
