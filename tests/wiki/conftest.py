import dataclasses
from collections.abc import Iterator

import pytest
from django.conf import settings as django_settings

from hemeroteca.accounts import SYSTEM
from hemeroteca.instance import Instance
from hemeroteca.jobs import services as jobs
from hemeroteca.jobs.runner import Runner
from tests.wiki.mediawiki import MISSING, MediaWiki, installed, is_installed
from tests.wiki.world import fill


@pytest.fixture(scope="session")
def mediawiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MediaWiki]:
    """A real wiki with histories by several people (tests/wiki/world.py). Tests may add to it, not rely on its end."""
    if not is_installed():
        pytest.skip(MISSING)
    with installed(tmp_path_factory.mktemp("mediawiki")) as wiki:
        fill(wiki)
        yield wiki


@pytest.fixture
def house(tmp_path, settings, db):
    """An instance of its own: data folder, and requests without pauses."""
    settings.INSTANCE = Instance(tmp_path / "data")
    settings.INSTANCE.create()
    settings.CONFIG = dataclasses.replace(
        django_settings.CONFIG, data=tmp_path / "data", wiki_requests_per_minute=1e9, contact="tests@example.org"
    )
    return settings


@pytest.fixture
def run(house):
    """Run a job to its end in this process; gives its result."""

    def done(kind: str, arguments: object):
        job = Runner().run(jobs.submit(SYSTEM, kind, arguments, here=True))
        assert job.state == "done", f"{job.state}: {job.message} {[line.text for line in job.lines.all()]}"
        return job.result

    return done
