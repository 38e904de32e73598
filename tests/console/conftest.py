import pytest

from hemeroteca.accounts import SYSTEM, Role, services
from hemeroteca.instance import Instance
from hemeroteca.search import portal

PASSWORD = "una frase bien larga"


@pytest.fixture
def instance(settings, tmp_path):
    """A data folder of its own for what lies outside the database."""
    settings.INSTANCE = Instance(tmp_path / "data")
    settings.INSTANCE.create()
    portal.searcher_at.cache_clear()
    yield settings.INSTANCE
    portal.searcher_at.cache_clear()


@pytest.fixture
def world(db, instance):
    from tests.console.world import build

    return build(instance)


@pytest.fixture
def reader(db):
    return services.add_user(SYSTEM, "leo", Role.READER, PASSWORD)


@pytest.fixture
def editor(db):
    return services.add_user(SYSTEM, "eva", Role.EDITOR, PASSWORD)


@pytest.fixture
def administrator(db):
    return services.add_user(SYSTEM, "root", Role.ADMINISTRATOR, PASSWORD)
