"""One's own account and the people, as pages: passwords, tokens, sessions, roles."""

import pytest
from django.test import Client

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM, Role, services
from hemeroteca.accounts.models import ApiToken, User
from hemeroteca.frontier import services as frontier
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.jobs import services as jobs
from tests.console.conftest import PASSWORD

pytestmark = [pytest.mark.database, pytest.mark.django_db]

NEW = "otra frase bien larga"


def signed_in(user, password=PASSWORD):
    client = Client()
    client.post("/sign-in", {"name": user.name, "password": password})
    return client


def test_a_token_is_made_shown_once_and_revoked(instance, director):
    client = signed_in(director)
    sent = {"do": "token", "label": "guión", "role": "reader", "days": "30", "scopes": ["archive"]}
    shown = client.post("/account", sent)
    secret = shown.context["made"].secret
    assert secret in shown.content.decode()
    assert secret not in client.get("/account").content.decode()
    actor = services.token_actor(secret)
    assert (actor.roles, actor.scopes) == ((Role.DIRECTOR, Role.READER), frozenset({"archive"}))
    assert ApiToken.objects.get().expires is not None
    client.post("/account", {"do": "revoke", "prefix": ApiToken.objects.get().prefix})
    assert services.token_actor(secret) is None


def test_the_audit_log_speaks_the_language_of_the_reader(instance, administrator):
    jobs.submit(SYSTEM, "archive.prune", {"selection": {}, "rules": {"one_per": "day"}})
    crawl, _ = frontier.submit_crawl(SYSTEM, ["https://a.test/"], CrawlOptions(scope=urls.Scope(kind="page")))
    page = signed_in(administrator).get("/audit", headers={"accept-language": "es"}).content.decode()
    for said in ("Retirada de versiones sobrantes", f"{crawl.pk}; direcciones de partida: 1"):
        assert said in page


def test_nobody_gives_a_token_more_than_they_have_or_revokes_another_persons(instance, reader, administrator):
    client = signed_in(reader)
    answer = client.post("/account", {"do": "token", "label": "x", "role": "administrator", "days": ""})
    assert answer.status_code == 422
    other = services.create_token(services.SYSTEM, administrator, "x").token
    assert client.post("/account", {"do": "revoke", "prefix": other.prefix}).status_code == 403
    assert ApiToken.objects.get() == other


def test_a_new_password_needs_the_old_one_and_ends_the_other_sessions(instance, reader):
    here, elsewhere = signed_in(reader), signed_in(reader)
    assert here.post("/account", {"do": "password", "old": "wrong", "new": NEW}).status_code == 422
    assert here.post("/account", {"do": "password", "old": PASSWORD, "new": "short"}).status_code == 422
    assert elsewhere.get("/account").status_code == 200
    assert here.post("/account", {"do": "password", "old": PASSWORD, "new": NEW}).status_code == 302
    assert here.get("/account").status_code == 200
    assert elsewhere.get("/account").status_code == 302, "to the sign-in"
    assert signed_in(reader, NEW).get("/account").status_code == 200


def test_guessing_the_old_password_is_slowed_down(instance, reader):
    client = signed_in(reader)
    for _ in range(60):
        answer = client.post("/account", {"do": "password", "old": "wrong", "new": NEW})
        if "Too many" in answer.context["failure"]:
            break
    assert "Too many" in answer.context["failure"]


def test_every_other_browser_is_signed_out_at_once(instance, reader, director):
    here, elsewhere, other = signed_in(reader), signed_in(reader), signed_in(director)
    here.post("/account", {"do": "sessions"})
    assert [client.get("/account").status_code for client in (here, elsewhere, other)] == [200, 302, 200]


def test_the_page_to_sign_in_names_the_role_that_is_needed(instance):
    asked = {"/save": "director", "/people": "administrator", "/history": "reader"}
    for path, role in asked.items():
        assert f"role {role} or more" in Client().get(path, follow=True).content.decode()
    for path in ("/account", "/archive", "/nowhere", ""):
        assert "or more" not in Client().get("/sign-in", {"next": path}).content.decode()


def test_the_first_password_is_mentioned_until_somebody_has_signed_in(instance, administrator):
    told = "password was printed"
    assert told in Client().get("/sign-in").content.decode()
    signed_in(administrator)
    assert told not in Client().get("/sign-in").content.decode()


def test_people_are_added_given_roles_and_locked_out(instance, administrator):
    client = signed_in(administrator)
    client.post("/people", {"do": "add", "name": "Nora", "role": "director", "password": NEW})
    nora = User.objects.get(name="nora")
    session = signed_in(nora, NEW)
    client.post("/people", {"do": "role", "name": "nora", "role": "reader"})
    nora.refresh_from_db()
    assert nora.role == Role.READER
    client.post("/people", {"do": "lock", "name": "nora"})
    assert session.get("/account").status_code == 302
    assert signed_in(nora, NEW).get("/account").status_code == 302
    client.post("/people", {"do": "unlock", "name": "nora"})
    assert signed_in(nora, NEW).get("/account").status_code == 200


@pytest.mark.parametrize("order", [{"do": "lock"}, {"do": "role", "role": "reader"}])
def test_the_last_administrator_stays_one(instance, administrator, order):
    answer = signed_in(administrator).post("/people", {"name": administrator.name, **order})
    assert answer.status_code == 422
    administrator.refresh_from_db()
    assert (administrator.role, administrator.is_active) == (Role.ADMINISTRATOR, True)


@pytest.mark.parametrize(("path", "sent"), [("/account", {}), ("/people", {"do": "add"}), ("/people", {"role": "x"})])
def test_nonsense_is_told(instance, administrator, path, sent):
    assert signed_in(administrator).post(path, sent).status_code == 422


@pytest.mark.browser
@pytest.mark.slow
def test_a_person_makes_a_token_and_changes_the_password(journey, administrator):
    page = journey("/account", administrator)
    page.look("empty")
    page.locator("input[name=label]").fill("Guión de la mañana")
    page.get_by_role("button", name=page.say("Make a token", "Crear una clave")).click()
    page.locator("#secret").wait_for()
    page.look("made")
    page.goto(page.site + "/people")
    page.locator("form.card input[name=name]").fill("nora")
    page.locator("input[name=password]").fill(NEW)
    page.get_by_role("button", name=page.say("Add", "Añadir"), exact=True).click()
    page.get_by_role("heading", name="nora").wait_for()
    page.look("people")
