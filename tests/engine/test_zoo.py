"""The zoo: a crawl of every monster ends by itself, in bounded memory, each with its reason on record."""

import pytest

from simweb import SimWeb
from simweb.zoo import MONSTERS
from tests.commands import run
from tests.engine.system import System

MEMORY = 700 << 20  # all processes together; bodies of 8 MiB, documents of 16 MiB once unpacked

OPEN = """import sys
from hemeroteca.cli import common
common.setup()
from hemeroteca.accounts import SYSTEM
from hemeroteca.frontier import services
for host in sys.argv[1:]:
    services.set_site(SYSTEM, host, {"allow_private": "true"})
"""  # `hemeroteca site set` for all of them in one process
HARMLESS = {"cookie-flood"}  # kept like any page; the jar is bounded (tests/fetch)
NEVER_QUEUED = {"private-addresses"}  # its links lead out of the crawl: the last test looks for them


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    with SimWeb(seed=5, hosts=2, pages_per_host=5, zoo=True) as web:
        system = System(
            tmp_path_factory.mktemp("zoo") / "data",
            resolve=web.resolve,
            delay=0,
            timeout=30,  # far from what a busy machine takes for 8 MiB, or to take up a connection
            connect_timeout=20,
            low_speed_seconds=8,
            max_body_bytes=8 << 20,
            host_page_cap=1500,
            same_text_cap=50,
            retries=1,
            # the simulated hosts live on loopback; everything else private stays refused
            allow_private=0,
        )
        run(OPEN, system.data, *_hosts(web))
        summary = system.crawl(web.zoo_url, "--scope", "domain", "--delay", "0", timeout=540)
        yield web, system, summary


def _hosts(web):
    return sorted({monster.host for monster in MONSTERS} | {"zoo.sim.test"})


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_crawl_ends_by_itself_in_bounded_memory(crawled):
    _, _, summary = crawled
    assert summary["state"] == "finished"
    assert summary["queued"] == 0
    assert summary["max_rss_bytes"] < MEMORY


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("monster", [m for m in MONSTERS if m.codes], ids=lambda m: m.name)
def test_each_monster_has_its_reason_on_record(crawled, monster):
    web, system, summary = crawled
    if monster.needs_tls and not web.tls_port:
        pytest.skip("no certificate could be made here (openssl is missing)")
    cage = monster.path.split("/")[1]
    rows = system.rows(
        "SELECT page.url, state, reason FROM visit JOIN page ON page.id = page_id JOIN host ON host.id = page.host_id "
        "WHERE host.name = ? AND (? OR page.url LIKE ?)",
        monster.host,
        monster.whole_host,
        f"{monster.scheme}://{monster.host}/{cage}%",
    )
    reasons = [reason for _, _, reason in rows]
    if monster.name in HARMLESS | NEVER_QUEUED:
        assert [state for _, state, _ in rows] == [1]
        return
    if monster.name == "endless-names":
        assert summary["reasons"]["host-page-cap"] > 0
        return
    assert any(code in reason for reason in reasons for code in monster.codes), (monster.outcome, rows[:5])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_private_address_was_asked_and_politeness_held(crawled):
    web, system, _ = crawled
    stats = web.stats()
    assert stats.max_active <= 1
    assert stats.forbidden == 0
    inside = "url LIKE 'http://169.254.%' OR url LIKE 'http://127.%' OR url LIKE 'http://10.%' OR url LIKE 'http://192.168.%'"
    assert not system.rows(f"SELECT url FROM capture WHERE {inside}")
