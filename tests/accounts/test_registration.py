"""Registration, recovery by mail, change of address, two-factor sign-in, sessions: through the pages, with mail."""

import re
from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from django.core import mail
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from hemeroteca import config
from hemeroteca.accounts import SYSTEM, PermissionDenied, Role, audit, services
from hemeroteca.accounts.models import AuditEntry, Invitation, User
from hemeroteca.accounts.permissions import Actor
from hemeroteca.errors import Conflict, Invalid
from tests.console.conftest import PASSWORD, instance  # noqa: F401
from tests.console.test_pages import replaced
from tests.waiting import wait_for

pytestmark = [pytest.mark.database, pytest.mark.django_db]
NEW = "otra frase bien larga"


@pytest.fixture(autouse=True)
def fresh(settings, instance):  # noqa: F811
    cache.clear()
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    mail.outbox = []
    yield
    cache.clear()


@pytest.fixture
def with_mail(settings):
    """As an instance with a mail server begins."""
    settings.CONFIG = replaced(
        settings.CONFIG, mail_server="smtp://127.0.0.1", registration="open", public_url="https://hemeroteca.example"
    )
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    settings.ACCOUNT_SIGNUP_FIELDS = ["username*", "email*", "password1*"]


@pytest.fixture
def ana(db):
    user = services.add_user(SYSTEM, "ana", Role.READER, PASSWORD)
    EmailAddress.objects.create(user=user, email="ana@example.org", verified=True, primary=True)
    User.objects.filter(pk=user.pk).update(email="ana@example.org")
    return services.find_user("ana")


def browser():
    return Client(headers={"host": "localhost"})


def sign_in(client, name, password=PASSWORD):
    return client.post("/sign-in", {"name": name, "password": password})


def is_in(client):
    return client.get("/account").status_code == 200


def mails(count):
    wait_for(lambda: len(mail.outbox) >= count, "mail")
    return mail.outbox


def link_in(message):
    (link,) = re.findall(r"https?://\S+/(?:register/confirm|password|register\?)\S*", message.body)
    return link


def path_of(link):
    assert link.startswith("https://hemeroteca.example/")
    return link.removeprefix("https://hemeroteca.example")


def register(client, name="nora", email="nora@example.org", **more):
    return client.post("/register", {"username": name, "email": email, "password1": NEW, **more})


class TestRegistration:
    def test_who_registers_confirms_the_address_before_they_come_in(self, with_mail):
        client = browser()
        assert "Make an account" in client.get("/sign-in").content.decode()
        assert register(client).headers["Location"] == "/register/sent"
        assert not is_in(client)
        assert sign_in(client, "nora", NEW).headers["Location"] == "/register/sent"
        page = path_of(link_in(mails(1)[0]))
        assert "nora@example.org" in client.get(page).content.decode()
        client.post(page)
        sign_in(client, "nora", NEW)
        assert is_in(client)
        assert services.find_user("nora").role == Role.READER
        assert sign_in(browser(), "nora@example.org", NEW).status_code == 302

    def test_nothing_tells_whether_a_name_or_an_address_is_known(self, with_mail, ana):
        known, unknown = browser(), browser()
        one, other = register(known, "new1", "ana@example.org"), register(unknown, "new2", "else@example.org")
        assert (one.status_code, one.headers["Location"]) == (other.status_code, other.headers["Location"])
        pages = [client.get("/register/sent").content.decode() for client in (known, unknown)]
        alike = {re.sub(r'value="\w{64}"|(ana|else)@example.org', "", page) for page in pages}
        assert len(alike) == 1
        assert not User.objects.filter(name="new1").exists()
        told = next(one for one in mails(2) if one.to == ["ana@example.org"])
        assert "there is one already" in told.body
        register(browser(), "Ana", "third@example.org")
        assert User.objects.get(email="third@example.org").name == "ana2", "a name that is taken gets a number"

    def test_without_mail_or_when_closed_the_page_says_what_to_do(self, settings):
        for registration, told in (("open", "mail_server"), ("invitation", "invitation"), ("closed", "add you")):
            settings.CONFIG = replaced(settings.CONFIG, registration=registration)
            answer = browser().get("/register")
            assert answer.status_code == 403
            assert told in answer.content.decode()
            assert register(browser()).status_code == 403
        assert not User.objects.exists()

    def test_registration_is_limited_per_address(self, with_mail):
        statuses = {register(browser(), f"n{i}", f"n{i}@example.org").status_code for i in range(12)}
        assert 429 in statuses

    def test_names_and_passwords_that_cannot_be_are_refused(self, with_mail):
        for name, password in (("two words", NEW), ("", NEW), ("nora", "short")):
            client = browser()
            answer = client.post("/register", {"username": name, "email": "n@example.org", "password1": password})
            assert answer.status_code == 200
            assert 'role="alert"' in answer.content.decode()
            cache.clear()
        assert not User.objects.exists()


class TestInvitations:
    def test_an_invitation_gives_its_role_once(self):
        made = services.invite(SYSTEM, Role.SUBSCRIBER)
        secret = made.path.partition("=")[2]
        assert secret not in str(Invitation.objects.values().get())
        client = browser()
        assert client.get(made.path).status_code == 200
        assert register(client, "sol", "", invitation=secret).status_code == 302
        assert services.find_user("sol").role == Role.SUBSCRIBER
        assert is_in(client), "without mail nothing is to be confirmed"
        assert register(browser(), "tom", "", invitation=secret).status_code == 403

    def test_without_mail_nobody_learns_by_one_which_addresses_have_accounts(self, ana):
        made = services.invite(SYSTEM, Role.READER)
        client = browser()
        assert 'type="email"' not in client.get(made.path).content.decode()
        answer = register(client, "sol", "ana@example.org", invitation=made.path.partition("=")[2])
        assert answer.status_code == 302
        assert services.find_user("sol").email == ""

    def test_two_who_use_it_at_once_are_not_both_let_in(self, ana):
        made = services.invite(SYSTEM, Role.READER).invitation
        services.use_invitation(made, ana)
        eva = services.add_user(SYSTEM, "eva", Role.READER, PASSWORD)
        with pytest.raises(Conflict, match="used already"):
            services.use_invitation(made, eva)
        assert not User.objects.filter(name="eva").exists()

    def test_old_and_withdrawn_ones_are_worth_nothing(self):
        old, withdrawn = services.invite(SYSTEM, Role.READER), services.invite(SYSTEM, Role.READER)
        Invitation.objects.filter(pk=old.invitation.pk).update(expires=timezone.now() - timedelta(seconds=1))
        services.withdraw_invitation(SYSTEM, withdrawn.invitation.pk)
        for one in (old, withdrawn):
            assert services.find_invitation(one.path.partition("=")[2]) is None
        assert services.invitations(SYSTEM) == []

    def test_only_administrators_invite(self, ana):
        with pytest.raises(PermissionDenied):
            services.invite(Actor.of(ana), Role.READER)
        with pytest.raises(Invalid):
            services.invite(SYSTEM, Role.READER, "no address")

    def test_one_sent_by_mail_proves_its_address(self, with_mail):
        root = services.add_user(SYSTEM, "root", Role.ADMINISTRATOR, PASSWORD)
        admin = browser()
        sign_in(admin, "root")
        shown = admin.post("/people", {"do": "invite", "role": "director", "email": "dora@example.org"})
        page = path_of(link_in(mails(1)[0]))
        assert page.partition("?")[2] in shown.content.decode()
        client = browser()
        register(client, "dora", "dora@example.org", invitation=page.partition("=")[2])
        assert is_in(client)
        assert EmailAddress.objects.get(email="dora@example.org").verified
        assert root.is_superuser


class TestRecovery:
    def test_a_link_sets_a_new_password_once_and_ends_sessions(self, with_mail, ana):
        signed_in = browser()
        sign_in(signed_in, "ana")
        client = browser()
        assert client.post("/password", {"email": "ana@example.org"}).headers["Location"] == "/password/sent"
        page = path_of(link_in(mails(1)[0]))
        form = client.get(page).headers["Location"]
        assert client.post(form, {"password1": NEW, "password2": NEW}).headers["Location"] == "/password/set"
        assert not is_in(signed_in)
        assert sign_in(browser(), "ana", NEW).status_code == 302
        assert "used already" in browser().get(page, follow=True).content.decode()
        assert AuditEntry.objects.filter(act="password set", thing="ana").exists()

    def test_an_unknown_address_gets_the_same_answer_and_no_mail(self, with_mail, ana):
        answers = [browser().post("/password", {"email": email}) for email in ("ana@example.org", "no@example.org")]
        assert len({(one.status_code, one.headers["Location"]) for one in answers}) == 1
        assert [one.to for one in mails(1)] == [["ana@example.org"]]

    def test_the_link_never_leads_where_the_request_says(self, with_mail, ana):
        Client(headers={"host": "203.0.113.9"}).post("/password", {"email": "ana@example.org"})
        assert "203.0.113.9" not in mails(1)[0].body

    def test_a_damaged_link_is_worth_nothing(self, with_mail, ana):
        browser().post("/password", {"email": "ana@example.org"})
        page = path_of(link_in(mails(1)[0]))
        for wrong in (page[:-3] + "abc", page.replace("/password/", "/password/z"), "/password/%00/x"):
            answer = browser().get(wrong, follow=True)
            assert answer.status_code < 500
            assert 'type="password"' not in answer.content.decode()

    def test_without_mail_the_page_names_the_command(self, ana):
        page = browser().post("/password", {"email": "ana@example.org"}).content.decode()
        assert "hemeroteca user password" in page

    def test_it_is_limited(self, with_mail, ana):
        statuses = {browser().post("/password", {"email": "ana@example.org"}).status_code for _ in range(6)}
        assert statuses != {302} or len(mail.outbox) <= 3


def code_of(user):
    secret = Authenticator.objects.get(user=user, type="totp").wrap()
    from allauth.mfa.adapter import get_adapter

    return code_for(get_adapter().decrypt(secret.instance.data["secret"]))


def code_for(secret, step=0):
    counter = list(yield_hotp_counters_from_time())[0] + step
    return format_hotp_value(hotp_value(secret, counter))


def switch_on(client):
    page = client.get("/account/two-factor/on", follow=True)
    if page.redirect_chain:  # the password once more
        page = client.post(page.redirect_chain[-1][0], {"password": PASSWORD}, follow=True)
    secret = page.context["form"].secret
    assert "data:image/svg+xml" in page.content.decode()
    return secret, client.post("/account/two-factor/on", {"code": code_for(secret)})


@pytest.mark.django_db(transaction=True)
class TestTwoFactor:
    def test_the_password_alone_is_not_enough_any_more(self, ana):
        client = browser()
        sign_in(client, "ana")
        secret, done = switch_on(client)
        assert done.headers["Location"] == "/account/codes"
        stored = str(Authenticator.objects.values_list("data", flat=True)[0])
        assert secret not in stored, "it is sealed"
        codes = client.get("/account/codes.txt").content.decode().split()
        assert len(codes) == 10
        other = browser()
        assert sign_in(other, "ana").headers["Location"].startswith("/sign-in/code")
        assert not is_in(other)
        assert "alert" in other.post("/sign-in/code", {"code": "000000"}).content.decode()
        assert not is_in(other)
        other.post("/sign-in/code", {"code": codes[0]})
        assert is_in(other)
        third = browser()
        sign_in(third, "ana")
        third.post("/sign-in/code", {"code": codes[0]})
        assert not is_in(third), "a recovery code works once"
        acts = set(AuditEntry.objects.values_list("act", flat=True))
        assert {"sign-in", "two-factor on"} <= acts

    def test_guessing_codes_is_limited(self, ana):
        client = browser()
        sign_in(client, "ana")
        secret, _ = switch_on(client)
        guesser = browser()
        sign_in(guesser, "ana")
        for number in range(8):
            guesser.post("/sign-in/code", {"code": f"{number:06}"})
        guesser.post("/sign-in/code", {"code": code_for(secret, 1)})
        assert not is_in(guesser)

    def test_it_needs_the_password_again_to_switch_it_off(self, ana):
        client = browser()
        sign_in(client, "ana")
        switch_on(client)
        session = client.session
        session["account_authentication_methods"] = []
        session.save()
        assert "/account/again" in client.post("/account/two-factor/off").headers["Location"]
        assert Authenticator.objects.filter(user=ana).exists()

    def test_who_runs_the_server_lets_the_owner_in_again(self, ana):
        client = browser()
        sign_in(client, "ana")
        switch_on(client)
        services.drop_two_factor(SYSTEM, "ana")
        other = browser()
        sign_in(other, "ana")
        assert is_in(other)
        with pytest.raises(Conflict):
            services.drop_two_factor(SYSTEM, "ana")


@pytest.mark.django_db(transaction=True)
class TestAddressAndSessions:
    def test_a_new_address_counts_when_it_is_confirmed(self, with_mail, ana):
        client = browser()
        sign_in(client, "ana")
        asked = client.post("/account/email", {"email": "new@example.org", "action_add": "1"})
        assert "/account/again" in asked.headers["Location"], "the password first"
        client.post(asked.headers["Location"], {"password": PASSWORD})  # and goes on with what was asked for
        message = next(one for one in mails(1) if one.to == ["new@example.org"])
        assert services.find_user("ana").email == "ana@example.org"
        client.post(path_of(link_in(message)))
        assert services.find_user("ana").email == "new@example.org"

    def test_who_has_a_second_factor_can_change_the_address_too(self, with_mail, ana):
        client = browser()
        sign_in(client, "ana")
        switch_on(client)
        client.post("/account/email", {"email": "new@example.org", "action_add": "1"})
        wait_for(lambda: any(one.to == ["new@example.org"] for one in mail.outbox), "the link")
        message = next(one for one in mail.outbox if one.to == ["new@example.org"])
        client.post(path_of(link_in(message)))
        assert services.find_user("ana").email == "new@example.org"

    def test_sessions_are_listed_and_ended_one_by_one(self, ana):
        here, there = browser(), Client(headers={"host": "localhost", "user-agent": "Telefono/1"})
        sign_in(here, "ana")
        sign_in(there, "ana")
        page = here.get("/account").content.decode()
        assert "Telefono/1" in page
        other = next(one for one in services.sessions(Actor.of(ana), ana) if one.user_agent == "Telefono/1")
        eva = services.add_user(SYSTEM, "eva", Role.READER, PASSWORD)
        stranger = browser()
        sign_in(stranger, "eva")
        stranger.post("/account", {"do": "session", "session": other.pk})
        assert is_in(there), "nobody ends sessions of others"
        here.post("/account", {"do": "session", "session": other.pk})
        assert (is_in(here), is_in(there)) == (True, False)
        assert eva.is_active


class TestAudit:
    def test_what_matters_is_written_with_who_when_and_from_where(self, ana):
        root = Actor.of(services.add_user(SYSTEM, "root", Role.ADMINISTRATOR, PASSWORD))
        services.change_user(root, "ana", role=Role.DIRECTOR)
        services.create_token(root, ana, "x")
        sign_in(browser(), "ana", "wrong")
        sign_in(browser(), "ana")
        found = [(row.who, row.act, row.thing, row.detail) for row in audit.entries(root)]
        assert ("root", "role changed", "ana", "reader → director") in found
        assert ("ana", "sign-in", "ana", "") in found
        assert ("ana", "sign-in refused", "ana", "") in found
        assert {row.address for row in audit.entries(root, act="sign-in")} == {"127.0.0.1"}
        with pytest.raises(PermissionDenied):
            audit.entries(Actor.of(ana))

    def test_it_is_bounded_and_searched(self, monkeypatch, ana):
        monkeypatch.setattr(audit, "MAX_ENTRIES", 10)
        monkeypatch.setattr(audit, "TRIM_EVERY", 5)
        for number in range(40):
            audit.note(SYSTEM, "crawl ordered", f"https://{number}.test/")
        assert AuditEntry.objects.count() <= 15
        (found,) = audit.entries(SYSTEM, thing="39.test")
        assert found.who == "system"

    def test_page_api_and_csv_show_it_to_administrators(self, ana):
        services.add_user(SYSTEM, "root", Role.ADMINISTRATOR, PASSWORD)
        audit.note(SYSTEM, "erased", "=cmd|evil", "<script>")
        client = browser()
        sign_in(client, "root")
        page = client.get("/audit?thing=evil").content.decode()
        assert "&lt;script&gt;" in page
        sheet = b"".join(client.get("/audit?thing=evil&format=csv").streaming_content).decode()
        assert "'=cmd" in sheet
        items = client.get("/api/v1/audit?act=erased").json()["items"]
        assert [row["thing"] for row in items] == ["=cmd|evil"]


def test_favourites_are_of_one_person_and_erasable(ana):
    eva = services.add_user(SYSTEM, "eva", Role.READER, PASSWORD)
    client, other = browser(), browser()
    sign_in(client, "ana")
    sign_in(other, eva.name)
    client.post("/favourites", {"do": "keep", "url": "https://a.test/", "title": "First"})
    client.post("/favourites", {"do": "keep", "url": "https://a.test/", "title": "Again"})
    client.post("/favourites", {"do": "keep", "url": "https://b.test/"})
    assert "Again" in client.get("/favourites").content.decode()
    assert "Again" not in other.get("/favourites").content.decode()
    with pytest.raises(Invalid, match="'no page' is not a web address"):
        services.keep_favourite(Actor.of(ana), "no page")
    other.post("/favourites", {"do": "forget all"})
    client.post("/favourites", {"do": "forget", "url": "https://b.test/"})
    assert [one.title for one in services.favourites(Actor.of(ana))] == ["Again"]
    client.post("/favourites", {"do": "forget all"})
    assert services.favourites(Actor.of(ana)) == []


@pytest.mark.parametrize(
    ("address", "host", "port", "tls", "starttls"),
    [
        ("smtp://127.0.0.1", "127.0.0.1", 25, False, False),
        ("smtp://ana:se%40cret@mail.example.org", "mail.example.org", 587, False, True),
        ("smtps://mail.example.org", "mail.example.org", 465, True, False),
    ],
)
def test_mail_never_leaves_this_machine_in_clear(address, host, port, tls, starttls):
    read = config.mail_server(config.Config(mail_server=address, public_url="https://h.example.org"))
    assert (read.host, read.port, read.tls, read.starttls) == (host, port, tls, starttls)
    assert read.sender == "hemeroteca@h.example.org"
    assert read.password == ("se@cret" if "ana" in address else "")


def test_a_mail_server_that_cannot_be_read_is_told():
    with pytest.raises(config.ConfigError, match="mail_server"):
        config.mail_server(config.Config(mail_server="mail.example.org:587"))
