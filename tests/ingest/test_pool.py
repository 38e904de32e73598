"""Ingest processes: what they return, and that a page which kills one is kept all the same."""

import os
import selectors
import signal
import time

import pytest

from hemeroteca import urls
from hemeroteca.ingest import pool as pool_module
from hemeroteca.ingest.pool import Pool
from hemeroteca.ingest.rules import CrawlOptions, CrawlRules, Rules
from hemeroteca.ingest.worker import Task
from hemeroteca.warc import Capture
from tests.waiting import wait_for

PAGE = (
    b"<!doctype html><title>Prueba</title><main><p>Una pagina de prueba con texto suficiente.</p><a href=/otra>otra</a>"
)


@pytest.fixture
def running():
    selector = selectors.DefaultSelector()
    answers = []
    pool = Pool(1, selector, answers.extend)
    scope = urls.Scope(kind="host", seeds=("http://a.test/",))
    pool.learn(CrawlRules(crawl=1, options=CrawlOptions(scope=scope), max_depth=200))

    def until(count):
        wait_for(lambda: len(answers) >= count, turn=turn)
        return answers

    def turn():
        for key, mask in selector.select(0.1):
            key.data(key.fd, mask)
        pool.check(time.monotonic())

    yield pool, until
    pool.close()
    selector.close()


def task(number, body=PAGE):
    url = f"http://a.test/{number}"
    capture = Capture(
        url=url,
        captured_ms=1_760_000_000_000,
        status=200,
        protocol="http/1.1",
        request_head=b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        response_head=b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n",
        body=body,
    )
    return Task(capture, Rules(crawl=1, key=urls.key(url), host="a.test"))


def test_a_capture_comes_back_with_records_links_and_document(running):
    pool, until = running
    pool.submit(task(1))
    (_, done), *_ = until(1)
    assert done.document.title == "Prueba"
    assert [found.url for found in done.candidates] == ["http://a.test/otra"]
    assert done.records.data
    assert done.digest.startswith("sha256:")
    pool.submit(task(2))
    _, (_, second) = until(2)
    assert second.candidates == []  # the link was sent already


def test_the_page_that_kills_a_reader_is_kept_unread_and_the_others_are_read(running):
    pool, until = running
    victim = pool.readers[0].process.pid
    os.kill(victim, signal.SIGSTOP)  # it cannot answer before it dies
    for number in range(3):
        pool.submit(task(number))
    os.kill(victim, signal.SIGKILL)
    answers = {int(asked.capture.url[-1]): done for asked, done in until(3)}
    assert "reader-died" in answers[0].notes
    assert answers[0].records.data  # kept
    assert answers[0].document is None  # not read
    assert answers[1].document is not None
    assert answers[2].document is not None


def test_a_reader_that_takes_too_long_is_replaced(running, monkeypatch):
    pool, until = running
    monkeypatch.setattr(pool_module, "PATIENCE", 8.0)  # longer than another reader needs to start
    os.kill(pool.readers[0].process.pid, signal.SIGSTOP)
    pool.submit(task(1))
    (_, done), *_ = until(1)
    assert "reader-too-slow" in done.notes
