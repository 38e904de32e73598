"""`hemeroteca user` and `hemeroteca token`, as typed."""

import json

import pytest
from typer.testing import CliRunner

from hemeroteca.accounts import SYSTEM, Role, services
from hemeroteca.accounts.models import User
from hemeroteca.cli import command_line

pytestmark = [pytest.mark.database, pytest.mark.django_db]


@pytest.fixture
def run(settings, monkeypatch, tmp_path):
    (tmp_path / "hemeroteca.sqlite3").touch()  # there is an instance; its tables are those of the tests
    monkeypatch.setenv("HEMEROTECA_DATA", str(tmp_path))
    return lambda *arguments, **more: CliRunner().invoke(command_line(arguments[0]), arguments, **more)


def test_add_list_password_remove(run):
    added = run("user", "add", "Eva", "--role", "director", "--password", "-", input="una frase bien larga\n")
    assert added.exit_code == 0, added.output
    assert "una frase" not in added.output
    assert User.objects.get(name="eva").check_password("una frase bien larga")
    (line,) = run("user", "list", "--json").output.splitlines()
    assert json.loads(line)["role"] == "director"
    assert "eva" in run("user", "list").output
    changed = run("user", "password", "eva")
    assert User.objects.get().check_password(changed.output.split()[-1]), "a random password is shown, once"
    assert run("user", "remove", "eva").exit_code == 0
    assert not User.objects.exists()


def test_an_invitation_leads_to_where_the_console_really_is(run, settings, monkeypatch):
    monkeypatch.setattr(type(settings.INSTANCE), "served_at", lambda self: "http://127.0.0.1:8791/")
    invited = run("user", "invite", "--role", "subscriber")
    assert invited.output.startswith("http://127.0.0.1:8791/register?invitation=")


def test_mistakes_are_told_in_one_line(run):
    for arguments, code in (
        (["user", "remove", "nobody"], 1),
        (["user", "add", "x", "--password", "short"], 2),
        (["token", "revoke", "hem_x"], 1),
    ):
        result = run(*arguments)
        assert result.exit_code == code
        assert result.output.startswith("hemeroteca: ")
        assert len(result.output.splitlines()) == 1


def test_a_token_is_printed_once_and_can_be_revoked(run):
    services.add_user(SYSTEM, "eva", Role.DIRECTOR, "una frase bien larga")
    created = run("token", "create", "eva", "--label", "script", "--role", "reader", "--days", "30")
    secret = created.stdout.splitlines()[0]
    assert services.token_actor(secret).roles == (Role.DIRECTOR, Role.READER)
    (line,) = run("token", "list", "--json").output.splitlines()
    row = json.loads(line)
    assert row["expires_at"]
    assert secret not in line
    assert secret.startswith(row["prefix"])
    assert run("token", "revoke", row["prefix"]).exit_code == 0
    assert services.token_actor(secret) is None
