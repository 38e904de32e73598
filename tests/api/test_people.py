"""Accounts over the API: one's own for everybody, those of others for administrators."""

import json

import pytest
from django.test import Client

from hemeroteca.accounts import SYSTEM, Role, services
from hemeroteca.accounts.models import AuditEntry, Invitation, User
from hemeroteca.search import portal
from tests.console.conftest import PASSWORD, reader  # noqa: F401

pytestmark = [pytest.mark.database, pytest.mark.django_db]


def caller(user, **limits):
    secret = services.create_token(SYSTEM, user, "test", **limits).secret

    def call(method, path, body=None):
        data = "" if body is None else json.dumps(body)
        headers = {"authorization": f"Bearer {secret}"}
        answer = Client().generic(method, f"/api/v1{path}", data, "application/json", headers=headers)
        return answer.status_code, json.loads(answer.content or "null")

    return call


def test_who_am_i(instance, administrator):
    status, told = caller(administrator, role=Role.READER, scopes=["account", "search"])("GET", "/account")
    assert status == 200
    assert (told["name"], told["role"]) == ("root", "administrator")
    assert told["roles"] == ["administrator", "reader"]
    assert told["scopes"] == ["account", "search"]
    assert told["preferences"]["page_size"] == 10


def test_preferences_are_those_of_the_console(instance, reader):  # noqa: F811
    call = caller(reader)
    status, told = call("PATCH", "/account/preferences", {"theme": "dark", "time_zone": "Europe/Madrid"})
    assert (status, told["theme"], told["time_zone"]) == (200, "dark", "Europe/Madrid")
    assert call("PATCH", "/account/preferences", {"page_size": 50})[1]["theme"] == "dark", "what is not named stays"
    assert call("GET", "/account/preferences")[1]["page_size"] == 50
    client = Client()
    client.force_login(reader)
    assert b'data-theme="dark" data-zone="Europe/Madrid"' in client.get("/help").content
    for wrong in ({"page_size": 7}, {"theme": "red"}, {"time_zone": "Mars/Base"}, {"colour": "red"}):
        assert call("PATCH", "/account/preferences", wrong)[0] == 422, wrong
    assert call("PATCH", "/account/preferences", {"theme": ""})[1]["theme"] == ""


def test_history_and_favourites_are_ones_own_and_can_be_erased(instance, reader, director):  # noqa: F811
    mine, other = caller(reader), caller(director)
    portal.note(services.Actor.of(reader), "panaderos")
    portal.note(services.Actor.of(director), "harbour")
    assert mine("GET", "/account/history") == (200, ["panaderos"])
    for url in ("https://a.example/", "https://b.example/"):
        assert mine("PUT", "/favourites", {"url": url})[0] == 200
    assert other("PUT", "/favourites", {"url": "https://c.example/"})[0] == 200
    assert mine("DELETE", "/account/history")[0] == mine("DELETE", "/favourites/all")[0] == 204
    assert (mine("GET", "/account/history")[1], mine("GET", "/favourites")[1]) == ([], [])
    assert other("GET", "/account/history")[1] == ["harbour"]
    assert [row["url"] for row in other("GET", "/favourites")[1]] == ["https://c.example/"]


def test_an_administrator_sees_changes_and_locks_out_people(instance, administrator):
    call = caller(administrator)
    status, made = call("POST", "/people", {"name": "Nora", "role": "subscriber", "password": PASSWORD})
    assert (status, made["name"], made["role"], made["active"]) == (201, "nora", "subscriber", True)
    assert "password" not in json.dumps(made)
    assert [row["name"] for row in call("GET", "/people")[1]] == ["nora", "root"]
    nora = caller(User.objects.get(name="nora"))
    browser = Client()
    browser.force_login(User.objects.get(name="nora"))
    assert call("PATCH", "/people/nora", {"role": "director"})[1]["role"] == "director"
    assert call("PATCH", "/people/nora", {"active": False})[1]["active"] is False
    assert nora("GET", "/account")[0] == 401, "a token of somebody who is locked out"
    assert browser.get("/account").status_code == 302, "and every session"
    assert call("PATCH", "/people/nora", {"active": True})[1]["active"] is True
    assert nora("GET", "/account")[0] == 200
    assert call("GET", "/people/nora")[1]["role"] == "director"
    acts = AuditEntry.objects.filter(thing="nora").order_by("pk").values_list("act", flat=True)
    assert list(acts) == ["user added", "role changed", "sessions ended", "locked out", "let in again"]


def test_what_cannot_be_is_refused(instance, administrator, reader):  # noqa: F811
    call = caller(administrator)
    assert call("PATCH", "/people/root", {"active": False})[0] == 409, "the last administrator"
    assert call("PATCH", "/people/root", {"role": "reader"})[0] == 409
    assert call("PATCH", "/people/nobody", {"role": "reader"})[0] == 404
    assert call("POST", "/people", {"name": "leo", "password": PASSWORD})[0] == 409
    assert call("POST", "/people", {"name": "eva", "password": "short"})[0] == 422
    assert call("POST", "/people", {"name": "eva", "role": "king", "password": PASSWORD})[0] == 422
    low = caller(reader)
    for method, path, body in (
        ("GET", "/people", None),
        ("PATCH", "/people/leo", {"role": "administrator"}),
        ("POST", "/invitations", {"role": "administrator"}),
    ):
        assert low(method, path, body)[0] == 403
    assert User.objects.get(name="leo").role == Role.READER


def test_an_invitation_is_made_used_once_and_can_be_withdrawn(instance, administrator):
    call = caller(administrator)
    status, made = call("POST", "/invitations", {"role": "director", "email": "eva@example.org", "days": 3})
    assert (status, made["role"], made["sent"]) == (201, "director", False), "there is no mail server"
    secret = made["link"].partition("invitation=")[2]
    assert services.find_invitation(secret).pk == made["id"]
    (listed,) = call("GET", "/invitations")[1]
    assert (listed["email"], listed["inviter"]) == ("eva@example.org", "root")
    assert secret not in json.dumps(listed)
    assert call("DELETE", f"/invitations/{made['id']}")[0] == 204
    assert call("DELETE", f"/invitations/{made['id']}")[0] == 404
    assert not Invitation.objects.exists()
    assert call("POST", "/invitations", {"email": "no address"})[0] == 422


@pytest.mark.parametrize("url", ["\0", "https://example.org/\0"])
def test_a_text_that_not_every_database_keeps_is_refused(instance, reader, url):  # noqa: F811
    status, told = caller(reader)("PUT", "/favourites", {"url": url})
    assert (status, "NUL" in told["detail"]) == (422, True), told
