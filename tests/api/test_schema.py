"""Requests made from the OpenAPI document, right and wrong, as everybody: nothing makes the server fail."""

import pytest
import schemathesis
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from hemeroteca.accounts import SYSTEM, Role, services
from hemeroteca.api.routes import api
from hemeroteca.archive import notes
from hemeroteca.frontier import crawl_orders
from hemeroteca.ingest import heavy_reads
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.urls import Scope
from hemeroteca.watch import services as watch

pytestmark = [pytest.mark.slow, pytest.mark.database, pytest.mark.django_db]

EXAMPLES = 2  # of each operation and kind
MANY = 15  # … where people write


@pytest.fixture
def reads(monkeypatch):
    monkeypatch.setattr(heavy_reads, "_READS", found := heavy_reads.Reads(at_once=1))
    yield found
    found.close()


def test_no_request_makes_the_server_fail(world, reads):
    """Each as a stranger and as every role: to make them up costs more than to answer them."""
    everybody = [{}]
    for role in Role:
        user = services.add_user(SYSTEM, role, role, "a-long-password-1")
        everybody.append({"authorization": f"Bearer {services.create_token(SYSTEM, user, 'test').secret}"})
    watch.subscribe(SYSTEM, watch.Order(url="https://diario.example/"))
    client = Client(raise_request_exception=False)
    asked = 0
    for operation in operations():
        for mode in schemathesis.GenerationMode:
            asked += _try(operation, mode, client, everybody)
    assert asked > 100


CLOSELY = ("/captures", "/orders", "/notes", "/tags", "/people", "/invitations", "/account", "/favourites")
WRITING = ("POST", "PUT", "PATCH", "DELETE")


def test_what_people_write_is_tried_more_closely(world, administrator, director):
    """Save-now, kept orders, notes, tags, people: with many values, and with an order and a note that exist."""
    crawl_orders.save(SYSTEM, "0", ["https://diario.example/"], CrawlOptions(scope=Scope()))
    notes.add_note(SYSTEM, "https://diario.example/", "0")
    headers = {"authorization": f"Bearer {services.create_token(SYSTEM, administrator, 'test').secret}"}
    client = Client(raise_request_exception=False)
    asked = 0
    for operation in operations():
        if operation.method.upper() in WRITING and operation.path.startswith(tuple(f"/api/v1{p}" for p in CLOSELY)):
            for mode in schemathesis.GenerationMode:
                asked += _try(operation, mode, client, [headers], MANY)
    assert asked > 20 * MANY


def operations():
    return (found.ok() for found in schemathesis.openapi.from_dict(api.get_openapi_schema()).get_all_operations())


def _try(operation, mode, client, askers, examples=EXAMPLES):
    done = 0

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=examples, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    def ask(case):
        nonlocal done
        done += 1
        sent = case.as_transport_kwargs(base_url="http://localhost")
        url = sent["url"]
        for headers in askers:
            answer = client.generic(
                sent["method"],
                url.removeprefix("http://localhost"),
                _body(sent),
                content_type=(sent.get("headers") or {}).get("Content-Type", "application/json"),
                headers=headers,
            )
            assert answer.status_code < 500, f"{sent['method']} {url} {sent.get('json')}"

    try:
        ask()
    except Unsatisfiable:
        pass  # nothing wrong can be sent
    return done


def _body(sent):
    import json

    if "json" in sent:
        return json.dumps(sent["json"]).encode()
    data = sent.get("data") or b""
    return data if isinstance(data, bytes) else str(data).encode()
