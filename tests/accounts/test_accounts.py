"""People, roles and tokens: who gets in, who does not, and what is kept."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.apps import apps
from django.test import Client, RequestFactory
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.accounts import SYSTEM, PermissionDenied, Role, services, throttle
from hemeroteca.accounts.models import ApiToken, FailedSignIn, User
from hemeroteca.accounts.permissions import Actor, can, covers
from hemeroteca.errors import Refused

PASSWORD = "una frase bien larga"


@pytest.fixture
def ana(db):
    return services.add_user(SYSTEM, "Ana", Role.DIRECTOR, PASSWORD)


@pytest.mark.database
@pytest.mark.django_db
class TestPeople:
    def test_the_first_start_makes_one_administrator_and_no_later_one_does(self):
        user, password = services.ensure_administrator()
        assert user.role == Role.ADMINISTRATOR
        assert len(password) >= 20
        assert user.check_password(password)
        assert services.ensure_administrator() is None

    def test_a_name_is_one_person_however_it_is_spelled(self, ana):
        with pytest.raises(Refused, match="already a user 'ana'"):
            services.add_user(SYSTEM, "  ANA ", Role.READER, PASSWORD)
        assert services.find_user("aNa") == ana

    @pytest.mark.parametrize("name", ["", "two words", "x" * 65, "line\nbreak", "<b>"])
    def test_names_that_cannot_be_used_are_refused(self, name):
        with pytest.raises(Refused):
            services.add_user(SYSTEM, name, Role.READER, PASSWORD)
        assert not User.objects.exists()

    @pytest.mark.parametrize("password", ["", "short", "1234567890", "password123"])
    def test_weak_passwords_are_refused(self, password):
        with pytest.raises(Refused):
            services.add_user(SYSTEM, "eva", Role.READER, password)

    def test_the_last_administrator_cannot_be_removed(self, ana):
        services.add_user(SYSTEM, "root", Role.ADMINISTRATOR, PASSWORD)
        with pytest.raises(Refused, match="last administrator"):
            services.remove_user(SYSTEM, "root")
        services.add_user(SYSTEM, "other", Role.ADMINISTRATOR, PASSWORD)
        services.remove_user(SYSTEM, "root")
        assert not User.objects.filter(name="root").exists()

    def test_only_administrators_enter_djangos_admin(self, ana):
        root = services.add_user(SYSTEM, "root", Role.ADMINISTRATOR, PASSWORD)
        assert root.is_staff
        assert root.has_perm("anything")
        assert root.has_module_perms("accounts")
        assert not (ana.is_staff)
        assert not (ana.is_superuser)
        assert not (ana.has_perm("anything"))
        assert not (ana.has_module_perms("accounts"))
        root.is_active = False
        assert not root.is_staff


def test_each_role_includes_those_before_it():
    assert [[covers(one, other) for other in Role] for one in Role] == [
        [True, False, False, False],
        [True, True, False, False],
        [True, True, True, False],
        [True, True, True, True],
    ]


@pytest.mark.parametrize("label", ["accounts"])
def test_every_table_and_column_says_what_it_is(label):
    for model in apps.get_app_config(label).get_models():
        assert model._meta.db_table_comment, model
        for field in model._meta.local_concrete_fields:
            assert field.db_comment or field.name == "id", f"{model.__name__}.{field.name}"


def try_sign_in(name, password, address="192.0.2.1"):
    return services.sign_in(RequestFactory().post("/sign-in"), name, password, address)


@pytest.mark.database
@pytest.mark.django_db
class TestSigningIn:
    def test_the_right_password_gets_in_and_a_wrong_one_and_an_unknown_name_sound_the_same(self, ana):
        assert try_sign_in("ANA", PASSWORD) == ana
        with pytest.raises(services.SignInRefused) as wrong:
            try_sign_in("ana", "nope")
        with pytest.raises(services.SignInRefused) as unknown:
            try_sign_in("nobody", "nope")
        assert str(wrong.value) == str(unknown.value)

    def test_five_wrong_passwords_close_the_door_for_that_address_only(self, ana):
        for _ in range(5):
            with pytest.raises(services.SignInRefused, match="wrong"):
                try_sign_in("ana", "nope")
        with pytest.raises(services.SignInRefused, match="Too many"):
            try_sign_in("ana", PASSWORD)
        assert try_sign_in("ana", PASSWORD, address="198.51.100.7") == ana, "nobody can lock her out from elsewhere"

    def test_the_door_opens_again_after_the_window(self, ana):
        past = timezone.now() - throttle.WINDOW - timedelta(seconds=1)
        for _ in range(9):
            throttle.failed("ana", "192.0.2.1", past)
        assert throttle.wait("ana", "192.0.2.1", past) is not None
        assert try_sign_in("ana", PASSWORD) == ana

    def test_one_machine_that_tries_a_list_of_names_is_stopped(self, ana):
        for number in range(30):
            throttle.failed(f"name{number}", "192.0.2.1")
        with pytest.raises(services.SignInRefused, match="Too many"):
            try_sign_in("ana", PASSWORD)

    def test_a_whole_ipv6_network_counts_as_one_machine(self, ana):
        for number in range(5):
            throttle.failed("ana", f"2001:db8::{number:x}")
        assert throttle.wait("ana", "2001:db8::ffff") is not None
        assert throttle.wait("ana", "2001:db8:0:1::1") is None

    def test_wrong_passwords_from_many_networks_do_not_lock_out_who_was_here_before(self, ana):
        form = {"name": "ana", "password": PASSWORD}
        hers = Client()
        assert hers.post("/sign-in", form).status_code == 302
        hers.post("/sign-out")
        for number in range(200):
            throttle.failed("ana", f"2001:db8:{number % 40:x}::{number:x}")
        other = Client()
        assert other.post("/sign-in", form).status_code != 302, "guessing goes on nowhere"
        other.cookies[services.KNOWN_COOKIE] = "ana"
        assert other.post("/sign-in", form).status_code != 302, "nobody can say by themselves that they were here"
        assert hers.post("/sign-in", form).status_code == 302

    def test_people_of_ipv4_who_come_in_by_ipv6_are_not_one(self):
        for _ in range(throttle.LIMITS["pair"]):
            throttle.failed("ana", "::ffff:192.0.2.1")
        assert throttle.wait("ana", "192.0.2.1") is not None
        assert throttle.wait("ana", "::ffff:192.0.2.2") is None

    def test_a_locked_person_cannot_sign_in(self, ana):
        User.objects.update(is_active=False)
        with pytest.raises(services.SignInRefused):
            try_sign_in("ana", PASSWORD)

    def test_the_table_of_failures_stays_bounded_and_keeps_the_blocked(self, monkeypatch):
        monkeypatch.setattr(throttle, "MAX_ROWS", 30)
        for _ in range(5):
            throttle.failed("victim", "192.0.2.1")
        for number in range(50):
            throttle.failed(f"name{number}", f"198.51.100.{number}")
        assert FailedSignIn.objects.count() <= 30
        assert throttle.wait("victim", "192.0.2.1") is not None


@given(st.text(), st.text())
def test_any_name_and_address_have_three_different_keys(name, address):
    assert sorted(throttle._keys(name, address).values()) == ["address", "name", "pair"]


@pytest.mark.database
@pytest.mark.django_db
class TestTokens:
    def test_a_token_works_until_it_is_revoked_and_is_not_kept_itself(self, ana):
        token, secret = services.create_token(SYSTEM, ana, "script")
        assert services.token_actor(secret).user == ana
        row = ApiToken.objects.values().get()
        assert secret not in str(row)
        assert secret.startswith(token.prefix)
        services.revoke_token(SYSTEM, token.prefix)
        assert services.token_actor(secret) is None

    def test_wrong_tokens_are_nobody(self, ana):
        token, secret = services.create_token(SYSTEM, ana, "script")
        for wrong in ("", "hem_", token.prefix, secret[:-1], secret + "x", secret.upper(), "x" * 10_000, "ñ" * 50):
            assert services.token_actor(wrong) is None, wrong

    def test_an_expired_token_and_one_of_a_locked_person_are_nobody(self, ana):
        _, secret = services.create_token(SYSTEM, ana, "script", expires=timezone.now() + timedelta(hours=1))
        assert services.token_actor(secret) is not None
        ApiToken.objects.update(expires=timezone.now() - timedelta(seconds=1))
        assert services.token_actor(secret) is None
        ApiToken.objects.update(expires=None)
        User.objects.update(is_active=False)
        assert services.token_actor(secret) is None

    def test_a_token_never_does_more_than_its_owner_may_now(self, ana):
        with pytest.raises(Refused, match="cannot give a token"):
            services.create_token(SYSTEM, ana, "script", Role.ADMINISTRATOR)
        _, secret = services.create_token(SYSTEM, ana, "script", Role.DIRECTOR)
        _, lesser = services.create_token(SYSTEM, ana, "reading", Role.READER)
        assert not can(services.token_actor(lesser), "crawl.submit")
        assert can(services.token_actor(secret), "crawl.submit")
        User.objects.update(role=Role.READER)
        assert not can(services.token_actor(secret), "crawl.submit")

    def test_a_token_can_be_limited_to_scopes(self, ana):
        with pytest.raises(Refused, match="can be limited to search, archive"):
            services.create_token(SYSTEM, ana, "script", scopes=["everything"])
        _, secret = services.create_token(SYSTEM, ana, "script", scopes=["crawl"])
        assert can(services.token_actor(secret), "crawl.submit")
        assert not can(services.token_actor(secret), "site.change")

    def test_people_manage_their_own_tokens_and_nobody_elses(self, ana):
        eva = services.add_user(SYSTEM, "eva", Role.READER, PASSWORD)
        token, _ = services.create_token(Actor.of(eva), eva, "mine")
        assert services.tokens(Actor.of(eva), eva) == [token]
        for refused in (
            lambda: services.create_token(Actor.of(eva), ana, "hers"),
            lambda: services.tokens(Actor.of(eva), ana),
            lambda: services.tokens(Actor.of(ana)),
            lambda: services.revoke_token(Actor.of(ana), token.prefix),
            lambda: services.set_password(Actor.of(ana), "eva", PASSWORD),
            lambda: services.add_user(Actor.of(ana), "leo", Role.READER, PASSWORD),
        ):
            with pytest.raises(PermissionDenied, match="needs the role administrator; yours is"):
                refused()
        services.revoke_token(Actor.of(eva), token.prefix)

    def test_use_is_noted_but_not_on_every_call(self, ana, django_assert_num_queries):
        _, secret = services.create_token(SYSTEM, ana, "script")
        with django_assert_num_queries(2):
            services.token_actor(secret)
        with django_assert_num_queries(1):
            services.token_actor(secret)
        assert ApiToken.objects.get().last_used is not None

    def test_revoking_needs_a_prefix_that_names_one(self, ana):
        services.create_token(SYSTEM, ana, "one")
        services.create_token(SYSTEM, ana, "two")
        for vague in ("", "hem_", "hem", "nothing"):
            with pytest.raises(Refused, match="does not name one token"):
                services.revoke_token(SYSTEM, vague)
        assert ApiToken.objects.count() == 2


@pytest.mark.django_db
def test_nobody_locks_a_person_out_from_elsewhere():
    """200 wrong passwords from 40 networks: who signed in with this browser before comes in, and a new password too."""
    services.add_user(SYSTEM, "ana", Role.ADMINISTRATOR, "a-long-password-1")
    browser, other = Client(REMOTE_ADDR="192.0.2.1"), Client(REMOTE_ADDR="192.0.2.2")
    good = {"name": "ana", "password": "a-long-password-1"}
    assert browser.post("/sign-in", good).status_code == 302
    for network in range(40):
        for _ in range(5):
            throttle.failed("ana", f"2001:db8:0:{network:x}::1")
    assert other.post("/sign-in", good).status_code == 403
    assert browser.post("/sign-in", good).status_code == 302
    browser.cookies["hemeroteca_known"] = browser.cookies["hemeroteca_known"].value.replace("ana", "eva")
    assert browser.post("/sign-in", good).status_code == 403, "the cookie cannot be made by others"
    services.set_password(SYSTEM, "ana", "another-password-2")
    assert other.post("/sign-in", {**good, "password": "another-password-2"}).status_code == 302


def seen_by(client, path, language):
    """The texts of a page that a person reads."""
    page = client.get(path, headers={"accept-language": language}).content.decode()
    main = re.sub(r"(?s)<(script|style|svg)\b.*?</\1>|<!--.*?-->", " ", page)
    return {text for part in re.findall(r">([^<>]+)<", main) if (text := " ".join(unescape(part).split()))}


def test_pages_of_administration_are_in_the_language_of_their_reader(ana):
    """What is read in both languages is a name, a number or a sign."""
    root = services.add_user(SYSTEM, "raíz", Role.ADMINISTRATOR, PASSWORD)
    services.create_token(SYSTEM, root, "programa")
    client = Client()
    client.force_login(root)
    paths = ["", "accounts/user/", "accounts/user/add/", f"accounts/user/{root.pk}/change/"]
    paths += [
        f"accounts/user/{root.pk}/password/",
        f"accounts/user/{root.pk}/delete/",
        f"accounts/user/{root.pk}/history/",
    ]
    paths += ["accounts/apitoken/", f"accounts/apitoken/{root.tokens.get().pk}/change/", "password_change/"]
    for path in paths:
        both = seen_by(client, f"/admin/{path}", "en") & seen_by(client, f"/admin/{path}", "es")
        words = {text.strip(":› ") for text in both if re.search(r"[^\W\d]{2}", text)}
        words = {text for text in words if not re.search(r"raíz|hem_|\*\*|scrypt|programa", text)}
        assert words <= SAME, path
        spanish = client.get(f"/admin/{path}", headers={"accept-language": "es"}).content.decode()
        assert not FORMAL.search(spanish), path
    assert client.get("/admin/usersessions/usersession/").status_code == 404


FORMAL = re.compile(
    r"\b(usted|[SE](u contraseña|mpiece|eleccione|lija)|[Ii]ntroduzca|[Ii]ngrese|[Pp]ulse|[Mm]antenga)\b"
)
# what is called the same; and of allauth, which has no Spanish for it, what goes with a person who is deleted
SAME = {"Hemeroteca", "No", "ana", "director", "token", "tokens", "Tokens", "Token", "1 token", "Tokens: 1"} | {
    *("User sessions: 1", "User session: 127.0.0.1 ()"),
}
