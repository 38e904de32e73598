"""Jobs over the API: ordered, listed, read, cancelled, resumed; each by those who may."""

import json

import pytest

from hemeroteca.accounts import SYSTEM, Role
from hemeroteca.accounts import services as accounts
from hemeroteca.jobs import services
from hemeroteca.jobs.runner import Runner
from tests.jobs.work import Count, Nothing

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture
def call(client):
    tokens = {}

    def ask(method, path, body=None, role=Role.ADMINISTRATOR):
        if role not in tokens:
            user = accounts.add_user(SYSTEM, role.value, role, "una frase bien larga")
            tokens[role] = accounts.create_token(SYSTEM, user, "test").secret
        answer = client.generic(
            method, f"/api/v1{path}", json.dumps(body) if body is not None else "", "application/json",
            headers={"Authorization": f"Bearer {tokens[role]}"},
        )  # fmt: skip
        return answer.status_code, answer.json()

    return ask


def test_a_job_is_ordered_followed_and_read(call):
    status, ordered = call("POST", "/jobs", {"kind": "test.alone"})
    assert (status, ordered["state"], ordered["actor"]) == (201, "queued", "administrator")
    assert Runner().drain(exclusive=True) == 1
    number = ordered["id"]
    status, found = call("GET", f"/jobs/{number}")
    assert (status, found["state"], found["result"]) == (200, "done", {})
    assert found["ended_at"] >= found["created_at"]
    status, lines = call("GET", f"/jobs/{number}/log")
    assert [line["text"] for line in lines] == ["nobody else is here"]
    assert call("GET", f"/jobs/{number}/log?after={lines[0]['id']}") == (200, [])
    assert [item["id"] for item in call("GET", "/jobs?state=done")[1]["items"]] == [number]
    assert call("GET", "/jobs?state=failed")[1]["items"] == []


def test_cancelled_and_resumed(call):
    job = services.submit(SYSTEM, "test.count", Count(3))
    assert call("POST", f"/jobs/{job.pk}/cancel")[1]["state"] == "cancelled"
    status, problem = call("POST", f"/jobs/{job.pk}/cancel")
    assert (status, problem["detail"]) == (409, f"job {job.pk} has ended: it is cancelled")
    assert call("POST", f"/jobs/{job.pk}/resume")[1]["state"] == "queued"


def test_the_list_goes_on_with_a_cursor(call):
    numbers = [services.submit(SYSTEM, "test.alone", Nothing()).pk for _ in range(3)]
    first = call("GET", "/jobs?limit=2")[1]
    assert [item["id"] for item in first["items"]] == numbers[:0:-1]
    assert [item["id"] for item in call("GET", f"/jobs?cursor={first['next_cursor']}")[1]["items"]] == numbers[:1]


def test_only_those_who_may(call, client):
    job = services.submit(SYSTEM, "test.count", Count(3))
    assert client.get("/api/v1/jobs").status_code == 401
    for role in (Role.READER, Role.DIRECTOR):
        assert call("POST", "/jobs", {"kind": "test.alone"}, role)[0] == 403
        assert call("POST", f"/jobs/{job.pk}/cancel", role=role)[0] == 403
    assert call("GET", f"/jobs/{job.pk}", role=Role.READER)[0] == 403
    assert call("GET", f"/jobs/{job.pk}", role=Role.DIRECTOR)[0] == 200
    assert call("GET", "/jobs", role=Role.READER) == (200, {"items": [], "next_cursor": None})


def test_files_of_the_server_are_not_named_over_the_network(call):
    status, problem = call("POST", "/jobs", {"kind": "test.count", "arguments": {"to": 1}})
    assert (status, "names files of the server" in problem["detail"]) == (403, True)
    assert call("POST", "/jobs", {"kind": "archive.import", "arguments": {"files": ["/etc/passwd"]}})[0] == 403
    assert call("POST", "/jobs", {"kind": "nothing"})[0] == 422
    assert call("GET", "/jobs/99")[0] == 404
