"""Every route of the API, page of the console and command, as everybody: what happens is what the table says.

Routes, pages and commands are found where they are (OpenAPI document, URL resolver, command line), so one that is added
without a permission fails here.
"""

import json
import re
from uuid import UUID

import pytest
import typer
from django.test import Client
from django.urls import URLResolver, get_resolver
from typer.testing import CliRunner

from hemeroteca import cli
from hemeroteca.accounts import STRANGER, SYSTEM, Actor, Role, can, services
from hemeroteca.accounts.permissions import ACTIONS, SCOPES, Strangers, may_try
from hemeroteca.api.protocols import PROTOCOLS
from hemeroteca.api.routes import api
from hemeroteca.cli import common
from hemeroteca.console.routes import PAGES
from tests.console.conftest import PASSWORD, instance  # noqa: F401
from tests.console.test_pages import replaced

pytestmark = pytest.mark.django_db

VALUES = {"id": UUID(int=0), "record_id": UUID(int=0), "number": 1, "action": "pause", "stamp": "20260131120000"}
PROVEN = {"watch.feed": "watch.read", "search.feed": "search.read"}  # without its key


@pytest.fixture
def people(db):
    return {role: services.add_user(SYSTEM, role, role, PASSWORD) for role in Role}


@pytest.fixture
def tokens(people):
    """Programs: one for each role, and one of the administrator for each scope; with who they are."""
    made = [services.create_token(SYSTEM, user, role) for role, user in people.items()]
    root = people[Role.ADMINISTRATOR]
    made += [services.create_token(SYSTEM, root, scope, scopes=[scope]) for scope in SCOPES]
    return [("", STRANGER), *((new.secret, Actor.with_token(new.token)) for new in made)]


@pytest.fixture(params=[pytest.param(True, marks=pytest.mark.database), False], ids=["open", "closed"])
def is_open(request, settings, instance):  # noqa: F811
    """On PostgreSQL the open one only: who may do what is not asked of the database."""
    settings.CONFIG = replaced(settings.CONFIG, open_search=request.param)
    return request.param


KINDS = {"uuid": "00000000-0000-7000-8000-000000000000", "slug": "example", "int": 1}


def filled(path):
    return re.sub(
        r"[{<](?:(\w+):)?(\w+)[}>]", lambda found: str(VALUES.get(found[2], KINDS.get(found[1], "example.org"))), path
    )


def allowed(actor, action):
    return can(actor, PROVEN.get(action, action))


def only_as_owner(actor, action):
    """The door is open, but the thing asked for belongs to nobody: 403 and 404 are both right."""
    return may_try(actor, action) and not can(actor, action)


def the_same_when_open(actor, action):
    """Closing an archive matters to strangers, and to others for what strangers may do while it is open."""
    return actor is not STRANGER and ACTIONS[action].strangers is not Strangers.OPEN


def test_every_route_of_the_api_as_everybody(is_open, tokens):
    client = Client()
    document = api.get_openapi_schema()
    asked = 0
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            action = operation["x-permission"]
            for secret, actor in tokens:
                if not is_open and the_same_when_open(actor, action):
                    continue
                headers = {"authorization": f"Bearer {secret}"} if secret else {}
                answer = client.generic(method.upper(), filled(path), "{}", "application/json", headers=headers)
                who = f"{method} {path} ({action}) as {actor.role} {sorted(actor.scopes or ())}: {answer.status_code}"
                if not only_as_owner(actor, action):
                    assert (answer.status_code not in (401, 403)) == allowed(actor, action), who
                assert answer.status_code < 500, who
                if answer.status_code >= 400:
                    assert answer.headers["Content-Type"] == "application/problem+json", who
                asked += 1
    assert asked > 50 * (len(tokens) if is_open else 1)


def test_every_page_and_protocol_as_everybody(is_open, people, tokens):
    for role in (None, *Role):
        client = Client()
        if role:
            client.force_login(people[role])
        actor = Actor.of(people[role]) if role else STRANGER
        for page in PAGES:
            for method, action in (("GET", page.see), ("POST", page.send)):
                if not action or ACTIONS[action].strangers is Strangers.ALWAYS:
                    continue
                if not is_open and the_same_when_open(actor, action):
                    continue
                answer = client.generic(method, f"/{filled(page.address)}")
                refused = answer.status_code == 403 or answer.headers.get("Location", "").startswith("/sign-in")
                who = f"{method} /{page.address} ({action}) as {role}: {answer.status_code}"
                assert refused != may_try(actor, action), who
                assert answer.status_code < 500, who
    client = Client()
    for address, action, _, _ in PROTOCOLS:
        for secret, actor in tokens:
            headers = {"authorization": f"Bearer {secret}"} if secret else {}
            answer = client.get(f"/{filled(address)}", headers=headers)
            who = f"/{address} ({action}) as {actor.role} {sorted(actor.scopes or ())}: {answer.status_code}"
            assert (answer.status_code not in (401, 403)) == allowed(actor, action), who


@pytest.mark.parametrize("role", [None, *Role])
def test_only_administrators_enter_the_administration(role, people, instance):  # noqa: F811
    client = Client()
    if role:
        client.force_login(people[role])
    assert (client.get("/admin/").status_code == 200) == (role == Role.ADMINISTRATOR)
    answer = client.get("/admin/accounts/user/")
    assert (answer.status_code == 200) == (role == Role.ADMINISTRATOR)


def test_there_is_no_address_without_a_permission():
    known = {page.address for page in PAGES} | {address for address, *_ in PROTOCOLS}
    found, described = set(), {path.removeprefix("/api/v1/") for path in api.get_openapi_schema()["paths"]}
    for pattern in get_resolver().url_patterns:
        if isinstance(pattern, URLResolver) and str(pattern.pattern) == "api/v1/":
            routes = {re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(route.pattern)) for route in pattern.url_patterns}
            assert routes - described == {"", "openapi.json", "docs"}, "the API describes all of its routes"
        elif isinstance(pattern, URLResolver):
            assert str(pattern.pattern) == "admin/"
        else:
            found.add(str(pattern.pattern))
    assert found == known
    assert {action for page in PAGES for action in (page.see, page.send) if action} <= ACTIONS.keys()


def commands():
    def leaves(group, words):
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                yield from leaves(command, [*words, name])
            else:
                yield " ".join([*words, name])

    return list(leaves(typer.main.get_command(cli.command_line()), []))


def test_there_is_no_command_without_a_permission():
    assert set(commands()) == cli.actions().keys()
    assert set(cli.actions().values()) <= ACTIONS.keys()


@pytest.mark.parametrize("opened", [True, False], ids=["open", "closed"])
@pytest.mark.parametrize("role", [None, *Role])
def test_every_command_as_everybody(role, people, monkeypatch, settings, opened):
    actor = Actor.of(people[role]) if role else STRANGER
    settings.CONFIG = replaced(settings.CONFIG, open_search=opened)
    cli.command_line()  # a module loaded with the other actor in place would keep it
    monkeypatch.setattr(common, "actor", lambda: actor)
    for words, action in cli.actions().items():
        if not opened and the_same_when_open(actor, action):
            continue
        done = CliRunner().invoke(cli.command_line(words.split()[0]), [*words.split(), "--help"])
        expected = 0 if may_try(actor, action) else common.NOT_ALLOWED
        assert done.exit_code == expected, (words, done.output)


PIPELINE = {"items": {"additionalProperties": True, "type": "object"}, "type": "array"}


def test_unknown_fields_of_bodies_are_refused():
    """At every depth. Stages of a pipeline have no fields of ours; whoever reads them refuses what they do not know."""
    document = api.get_openapi_schema()
    shapes = document["components"]["schemas"]
    free = []

    def check(path, part, seen=frozenset()):
        if part == PIPELINE:
            free.append(path)
            return
        if name := part.get("$ref", "").rpartition("/")[2]:
            if name not in seen:
                check(path, shapes[name], seen | {name})
            return
        if "properties" in part:
            assert part.get("additionalProperties") is False, f"{path}: {json.dumps(part)[:80]}"
        inner = [*part.get("properties", {}).values(), *(part[key] for key in ("items",) if key in part)]
        for key in ("oneOf", "anyOf", "allOf"):
            inner += part.get(key, [])
        for one in inner:
            check(path, one, seen)

    for path, operations in document["paths"].items():
        for operation in operations.values():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content:
                check(path, content["schema"])
    assert set(free) == {"/api/v1/wiki/query"}


@pytest.mark.parametrize(
    "stage", [{"$nonsense": 1}, {"$match": {}, "limt": 2}, {"$match": {"$limt": 2}}, {"limt": 2}, {}]
)
def test_unknown_stages_of_a_pipeline_are_refused(stage, tokens, instance):  # noqa: F811
    secret = next(secret for secret, actor in tokens if actor.role == Role.ADMINISTRATOR)
    given = {"headers": {"authorization": f"Bearer {secret}"}, "content_type": "application/json"}
    answer = Client().post("/api/v1/wiki/query", json.dumps([stage]), **given)
    assert (answer.status_code, answer.headers["Content-Type"]) == (422, "application/problem+json"), answer.content
