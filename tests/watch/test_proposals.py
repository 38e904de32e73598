"""Subscribers propose sites and manage their own; directors decide what is watched and what it may cost."""

import json
import re

import pytest
from django.test import Client

from hemeroteca.accounts import SYSTEM, Actor, PermissionDenied, Role
from hemeroteca.accounts import services as accounts
from hemeroteca.errors import Conflict, Denied, Invalid, NotFound
from hemeroteca.frontier.models import Crawl
from hemeroteca.watch import queries, services
from hemeroteca.watch.fields import Order
from tests.console.conftest import instance  # noqa: F401

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]
PASSWORD = "correct horse battery"


@pytest.fixture
def sol():
    return Actor.of(accounts.add_user(SYSTEM, "sol", Role.SUBSCRIBER, PASSWORD))


@pytest.fixture
def dora():
    return Actor.of(accounts.add_user(SYSTEM, "dora", Role.DIRECTOR, PASSWORD))


def runs(subscription):
    return Crawl.objects.get(pk=subscription.crawl_id).state == "running"


def seen(subscription):
    """The version of a proposal as it stands."""
    return services.version_of(services.find(subscription.pk))


@pytest.mark.parametrize("change", [{"scope": "domain"}, {"mode": "fixed 1"}, {"exclude": ["/x"]}, {"name": "Press"}])
def test_what_is_approved_is_what_was_looked_at(sol, dora, change):
    made, _ = services.subscribe(sol, Order(url="https://press.test/"))
    looked_at = seen(made)
    assert looked_at == seen(made)
    services.edit(sol, made.pk, change)
    with pytest.raises(Conflict, match="was changed after you looked at it"):
        services.approve(dora, made.pk, looked_at)
    assert not services.find(made.pk).active
    assert services.approve(dora, made.pk, seen(made)).active


def test_a_proposed_site_is_visited_only_when_a_director_approved_it(sol, dora):
    made, new = services.subscribe(sol, Order(url="https://press.test/"))
    assert (new, made.active, made.owner) == (True, False, sol.user)
    assert not runs(made)
    for early in (services.resume, services.check_now):
        with pytest.raises(Conflict, match="waits for"):
            early(sol, made.pk)
    assert not services.edit(sol, made.pk, {"active": True, "mode": "fixed 5"}).active, "a proposal cannot start itself"
    with pytest.raises(PermissionDenied, match="needs the role director"):
        services.approve(sol, made.pk, seen(made))
    assert queries.proposals() == [made]
    approved = services.approve(dora, made.pk, seen(made))
    assert (approved.active, approved.owner, approved.proposed_ms) == (True, sol.user, 0)
    assert runs(approved)
    assert queries.proposals() == []
    with pytest.raises(Conflict, match="no proposal"):
        services.refuse(dora, made.pk, "late")


def test_a_refusal_has_a_reason_and_may_be_answered(sol, dora):
    made, _ = services.subscribe(sol, Order(url="https://press.test/"))
    with pytest.raises(Invalid, match="say why"):
        services.refuse(dora, made.pk, "  ")
    services.refuse(dora, made.pk, "too large")
    assert queries.proposals() == []
    assert [row.refusal for row in queries.refused(sol.user)] == ["too large"]
    services.edit(sol, made.pk, {"scope": "page"})
    assert [row.pk for row in queries.proposals(sol.user)] == [made.pk], "it is proposed again"
    services.remove(sol, made.pk)
    assert queries.proposals() == []


def test_owners_manage_their_site_but_directors_decide_what_it_costs(sol, dora):
    made, _ = services.subscribe(sol, Order(url="https://press.test/"))
    services.approve(dora, made.pk, seen(made))
    assert services.edit(sol, made.pk, {"name": "Press", "notify": ["appears strike"], "mode": "auto"}).name == "Press"
    assert not services.pause(sol, made.pk).active
    assert services.resume(sol, made.pk).active
    for change in ({"mode": "fixed 1"}, {"visits_per_day": 9}, {"scope": "domain"}, {"weight": 9.0}):
        with pytest.raises(Denied, match="only a director changes"):
            services.edit(sol, made.pk, change)
        services.edit(dora, made.pk, change)


def test_proposals_are_bounded_and_make_no_collections(sol, monkeypatch):
    with pytest.raises(NotFound, match="no collection 'mine'"):
        services.subscribe(sol, Order(url="https://press.test/", collection="mine"))
    monkeypatch.setattr(services, "MAX_PROPOSALS", 2)
    for name in "ab":
        services.subscribe(sol, Order(url=f"https://{name}.test/"))
    with pytest.raises(Conflict, match="not approved"):
        services.subscribe(sol, Order(url="https://c.test/"))


def test_the_api_proposes_lists_approves_and_refuses(sol, dora):
    def caller(actor):
        secret = accounts.create_token(SYSTEM, actor.user, "test").secret
        client = Client(headers={"host": "localhost", "authorization": f"Bearer {secret}"})
        return lambda method, path, body=None: client.generic(
            method, f"/api/v1/watch/subscriptions{path}", json.dumps(body or {}), "application/json"
        )

    subscriber, director = caller(sol), caller(dora)
    numbers = [subscriber("POST", "", {"url": f"https://{name}.test/"}).json()["id"] for name in ("one", "two")]
    listed = director("GET", "?proposed=true").json()["items"]
    assert sorted(row["id"] for row in listed) == numbers
    assert all(row["proposed_at"] for row in listed)
    looked_at = {"version": listed[[row["id"] for row in listed].index(numbers[0])]["version"]}
    assert subscriber("POST", f"/{numbers[0]}/approve", looked_at).status_code == 403
    assert director("POST", f"/{numbers[0]}/approve").status_code == 422, "it must be said what was looked at"
    subscriber("PATCH", f"/{numbers[0]}", {"scope": "domain"})
    assert director("POST", f"/{numbers[0]}/approve", looked_at).status_code == 409
    looked_at = {"version": director("GET", f"/{numbers[0]}").json()["version"]}
    assert director("POST", f"/{numbers[0]}/approve", looked_at).json()["active"] is True
    assert director("POST", f"/{numbers[1]}/refuse", {"reason": ""}).status_code == 422
    assert director("POST", f"/{numbers[1]}/refuse", {"reason": "no news"}).json()["refusal"] == "no news"
    assert director("GET", "?proposed=true").json()["items"] == []


def test_the_page_of_proposals_shows_directors_all_and_others_their_own(client, sol, dora, instance):  # noqa: F811
    made, _ = services.subscribe(sol, Order(url="https://press.test/", purpose="local news"))
    other = accounts.add_user(SYSTEM, "otto", Role.SUBSCRIBER, PASSWORD)
    client.force_login(other)
    assert "press.test" not in client.get("/watch/proposals").content.decode()
    assert client.post("/watch/proposals", {"number": made.pk, "do": "withdraw"}).status_code == 403
    assert client.post("/watch/proposals", {"number": made.pk, "do": "approve"}).status_code == 403
    client.force_login(dora.user)
    page = client.get("/watch/proposals").content.decode()
    assert "local news" in page
    form = {"number": made.pk, "do": "approve", "version": re.search(r'name="version" value="(\w+)"', page)[1]}
    services.edit(sol, made.pk, {"purpose": "all of it"})
    answer = client.post("/watch/proposals", form)
    assert answer.status_code == 422
    assert "was changed after you looked at it" in answer.content.decode()
    form["version"] = re.search(r'name="version" value="(\w+)"', answer.content.decode())[1]
    assert client.post("/watch/proposals", form).status_code == 302
    assert queries.proposals() == []
