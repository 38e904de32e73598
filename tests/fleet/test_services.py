"""Devices, tokens, clients, credits, closed hosts: what people do, and what is refused."""

import pytest

from hemeroteca.accounts import SYSTEM, Actor, Role
from hemeroteca.accounts import services as accounts
from hemeroteca.errors import Conflict, Denied, Invalid, NotFound
from hemeroteca.fleet import credit_ledger, dispatch, fetches, queries, services
from hemeroteca.fleet.credit_ledger import Kind, Side
from hemeroteca.fleet.dispatch import Lender, Resolved, Verdict
from hemeroteca.fleet.fetches import FetchJobOrder
from hemeroteca.fleet.models import Answer, Device, Entry, FetchResult, Transfer
from hemeroteca.fleet.trust import Reputation
from hemeroteca.frontier.models import Crawl

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def ana():
    return accounts.add_user(SYSTEM, "ana", Role.READER, "a long password")


@pytest.fixture
def bea():
    return accounts.add_user(SYSTEM, "bea", Role.READER, "a long password")


def lender(device: Device) -> Lender:
    return Lender(
        id=device.pk, pseudonym=device.pseudonym, owner=device.owner_id, network="", country="", version="1",
        categories=frozenset({"general"}),
        activities=frozenset(), trusted=False, speed=0, total=0, slowed=False,
    )  # fmt: skip


def test_a_token_is_kept_as_a_hash_replaced_and_revoked(ana, monkeypatch):
    device, token = services.add_device(Actor.of(ana), "pi", ana)
    assert token not in str(Device.objects.values())
    assert services.device_of(token) == device
    assert services.device_of(token + "x") is None
    second = services.rotate_token(SYSTEM, device)
    assert services.device_of(token) == services.device_of(second) == device  # an hour to change it
    later = services.now_ms() + (services.ROTATION_SECONDS + 1) * 1000
    with monkeypatch.context() as patch:
        patch.setattr(services, "now_ms", lambda: later)
        assert services.device_of(token) is None
        assert services.device_of(second) == device
    device.refresh_from_db()
    services.revoke_token(SYSTEM, device)
    assert services.device_of(second) is None
    assert services.device_of(token) is None


def test_a_token_may_end_by_itself(ana, monkeypatch):
    _, token = services.add_device(SYSTEM, "pi", ana, days=1)
    later = services.now_ms() + 86_400_000 + 1
    monkeypatch.setattr(services, "now_ms", lambda: later)
    assert services.device_of(token) is None


def test_a_device_whose_token_ended_gets_another_that_is_valid(ana, monkeypatch):
    device, token = services.add_device(SYSTEM, "pi", ana, days=1)
    later = services.now_ms() + 86_400_000 + 1
    monkeypatch.setattr(services, "now_ms", lambda: later)
    short = services.rotate_token(SYSTEM, device, days=1)
    assert services.device_of(short) == device
    assert services.device_of(token) is None  # it does not come back for the hour after a rotation
    monkeypatch.setattr(services, "now_ms", lambda: later + 86_400_000 + 1)
    assert services.device_of(short) is None
    assert services.device_of(services.redeem_code(services.make_code(SYSTEM, device))) == device


def test_a_code_works_once_and_not_for_long(ana, monkeypatch):
    device, token = services.add_device(SYSTEM, "pi", ana)
    code = services.make_code(SYSTEM, device)
    given = services.redeem_code(code.lower())
    assert services.device_of(given) == device
    assert services.device_of(token) is None
    for wrong in (code, "", "AAAAA-AAAAA-AAAAA"):
        with pytest.raises(NotFound):
            services.redeem_code(wrong)
    device.refresh_from_db()
    late = services.make_code(SYSTEM, device)
    later = services.now_ms() + services.CODE_SECONDS * 1000 + 1
    monkeypatch.setattr(services, "now_ms", lambda: later)
    with pytest.raises(NotFound):
        services.redeem_code(late)


def test_owners_rule_their_own_devices_only(ana, bea):
    device, _ = services.add_device(Actor.of(ana), "pi", ana)
    with pytest.raises(Denied):
        services.add_device(Actor.of(ana), "pc", bea)
    with pytest.raises(Denied):
        services.rotate_token(Actor.of(bea), device)
    services.set_state(Actor.of(ana), device, Device.State.PAUSED)
    services.set_state(SYSTEM, device, Device.State.EXPELLED, "it lied")
    with pytest.raises(Denied):
        services.set_state(Actor.of(ana), device, Device.State.ACTIVE)
    with pytest.raises(Conflict):
        services.add_device(SYSTEM, "pi", ana)
    assert [one.name for one in queries.devices(Actor.of(ana))] == ["pi"]
    assert queries.devices(Actor.of(bea)) == []


def test_credits_move_once_and_never_below_zero():
    credit_ledger.issue(7, 1000, "gift")
    credit_ledger.issue(7, 1000, "gift")
    assert credit_ledger.balance(Kind.CLIENT, 7) == 1000
    with pytest.raises(Conflict):
        credit_ledger.transfer("too much", [Side(Kind.CLIENT, 7, -1001), Side(Kind.OPERATOR, 0, 1001)])
    assert credit_ledger.balance(Kind.CLIENT, 7) == 1000
    assert credit_ledger.balance(Kind.OPERATOR) == 0
    assert not Transfer.objects.filter(reason="too much").exists()
    with pytest.raises(AssertionError):
        credit_ledger.transfer("crooked", [Side(Kind.CLIENT, 7, -10), Side(Kind.OPERATOR, 0, 11)])
    assert credit_ledger.total() == 0


def client(user, given: int = 100):
    services.approve(SYSTEM, services.ask(SYSTEM, user, "research about the web"), given)
    return Actor.of(user)


def resolve(job, key, devices=(), status=200):
    told = Resolved(job=job.pk, key=key, status=status, devices=list(devices))
    dispatch.keep([], {}, [told], 70)


def test_a_client_pays_per_resolved_request_and_gets_the_rest_back(ana, bea):
    device, _ = services.add_device(SYSTEM, "pi", bea)
    actor = client(ana)
    job = fetches.order(actor, FetchJobOrder(urls=[f"http://a.test/{n}" for n in range(30)]))
    mine = services.client_of(actor).pk
    assert credit_ledger.balance(Kind.CLIENT, mine) == 70_000
    keys = list(FetchResult.objects.filter(job=job).values_list("key", flat=True))
    for key in keys[:28]:
        resolve(job, key, [lender(device)])
        resolve(job, key, [lender(device)])  # told twice, paid once
    resolve(job, keys[28], status=0)  # no answer: nothing to pay
    Crawl.objects.update(state=Crawl.State.STOPPED)
    fetches.settle(fetches.find(actor, job.public_id))
    assert credit_ledger.balance(Kind.DEVICE, device.pk) == 19_600  # the oracle: 28.00 → 19.60 and 8.40
    assert credit_ledger.balance(Kind.OPERATOR) == 8_400
    assert credit_ledger.balance(Kind.CLIENT, mine) == 72_000
    assert credit_ledger.balance(Kind.JOB, job.pk) == 0
    assert credit_ledger.total() == 0
    assert all(sum(t.entries.values_list("amount", flat=True)) == 0 for t in Transfer.objects.all())


def test_an_answer_of_the_cache_pays_no_device_and_a_complaint_refunds(ana, bea):
    device, _ = services.add_device(SYSTEM, "pi", bea)
    actor = client(ana)
    job = fetches.order(actor, FetchJobOrder(urls=["http://a.test/1", "http://a.test/2"]))
    one, two = FetchResult.objects.filter(job=job).order_by("pk")
    resolve(job, one.key)
    assert credit_ledger.balance(Kind.OPERATOR) == 1000
    resolve(job, two.key, [lender(device)])
    assert credit_ledger.balance(Kind.DEVICE, device.pk) == 700
    fetches.complain(actor, job, two.pk, "this is another page")
    with pytest.raises(Denied):
        fetches.decide(actor, two.pk, True)
    fetches.decide(SYSTEM, two.pk, True)
    with pytest.raises(NotFound):
        fetches.decide(SYSTEM, two.pk, True)
    assert credit_ledger.balance(Kind.DEVICE, device.pk) == 0
    assert credit_ledger.balance(Kind.OPERATOR) == 1000
    assert credit_ledger.balance(Kind.CLIENT, services.client_of(actor).pk) == 99_000
    assert credit_ledger.total() == 0
    assert Entry.objects.count() >= 8


def test_a_caught_device_loses_what_nobody_confirmed_as_far_back_as_forty_checks(ana, bea):
    device, _ = services.add_device(SYSTEM, "pi", bea)
    actor = Actor.of(ana)
    services.approve(SYSTEM, services.ask(actor, ana, "study how news sites change"))
    urls = [f"http://a.test/{n}" for n in range(4)]
    job = fetches.order(actor, FetchJobOrder(urls=urls))
    rows = {row.url: row for row in FetchResult.objects.filter(job=job)}

    def judged(url: str, verdict: Answer.Verdict, checks: int, version: str = "2") -> Verdict:
        return Verdict(device.pk, version, job.crawl_id, rows[url].key, 200, 10, verdict, checks=checks)

    def resolved(url: str) -> Resolved:
        return Resolved(job=job.pk, key=rows[url].key, status=200, devices=[lender(device)])

    accepted = [(urls[0], 7, "2"), (urls[1], 8, "2"), (urls[2], 40, "2"), (urls[3], 1, "1")]
    verdicts = [judged(url, Answer.Verdict.UNCHECKED, checks, version) for url, checks, version in accepted]
    known = {(device.pk, "2"): Reputation(47, 47), (device.pk, "1"): Reputation(1, 1)}
    dispatch.keep(verdicts, known, [resolved(url) for url in urls], 70)
    assert credit_ledger.balance(Kind.DEVICE, device.pk) == 4 * 700
    lie = Verdict(device.pk, "2", job.crawl_id, 99, 200, 10, Answer.Verdict.INVALID, checks=47)
    dispatch.keep([lie], {(device.pk, "2"): Reputation(47, 47).refuted()}, [], 70)
    withdrawn = {row.url: row.withdrawn for row in FetchResult.objects.filter(job=job)}
    assert withdrawn == {urls[0]: False, urls[1]: True, urls[2]: True, urls[3]: True}  # of another version: all
    assert credit_ledger.balance(Kind.DEVICE, device.pk) == 700
    assert credit_ledger.total() == 0
    device.refresh_from_db()
    assert device.state == "slowed"


def test_clients_need_approval_credits_and_a_quota(ana):
    actor = Actor.of(ana)
    with pytest.raises(Conflict, match="not a client"):
        fetches.order(actor, FetchJobOrder(urls=["http://a.test/"]))
    asked = services.ask(actor, ana, "research about the web")
    with pytest.raises(Conflict, match="not decided"):
        fetches.order(actor, FetchJobOrder(urls=["http://a.test/"]))
    with pytest.raises(Denied):
        services.approve(actor, asked)
    services.approve(SYSTEM, asked, 3, per_day=5)
    with pytest.raises(Conflict, match="credits"):
        fetches.order(actor, FetchJobOrder(urls=[f"http://a.test/{n}" for n in range(4)]))
    with pytest.raises(Conflict, match="within a day"):
        fetches.order(actor, FetchJobOrder(urls=[f"http://a.test/{n}" for n in range(6)]))
    fetches.order(actor, FetchJobOrder(urls=["http://a.test/"]))


def test_what_cannot_be_fetched_is_a_result_with_its_reason(ana):
    services.close_host(SYSTEM, "closed.test", "its owner asked")
    job = fetches.order(
        client(ana),
        FetchJobOrder(
            urls=["http://www.closed.test/x", "ftp://a.test/", "http://a.test/.env", "http://a.test/", "http://a.test"]
        ),
    )
    reasons = dict(FetchResult.objects.filter(job=job, resolved_ms__gt=0).values_list("url", "reason"))
    assert "closed to the fleet" in reasons["http://www.closed.test/x"]
    assert "not a web address" in reasons["ftp://a.test/"]
    assert "credentials" in reasons["http://a.test/.env"]
    assert job.urls == 4  # the same page is asked once
    assert credit_ledger.balance(Kind.JOB, job.pk) == 1000  # and what is refused reserves nothing
    assert any(line.what == "refused" for line in queries.log(SYSTEM))


@pytest.mark.parametrize("name", ["Cookie", "authorization", "Host", "X-Forwarded-For"])
def test_headers_that_carry_secrets_or_lie_are_refused(ana, name):
    with pytest.raises(Invalid, match="cannot be sent"):
        fetches.order(client(ana), FetchJobOrder(urls=["http://a.test/"], headers={name: "x"}))


def test_settings_change_while_it_runs_and_nonsense_is_refused():
    assert services.change_settings(SYSTEM, {"strategy": "less-busy", "max_block": "8"}).max_block == 8
    assert services.fleet_settings().strategy == "less-busy"
    for wrong in ({"strategy": "magic"}, {"max_block": "0"}, {"colour": "red"}, {"device_percent": "101"}):
        with pytest.raises(Invalid):
            services.change_settings(SYSTEM, wrong)
    for wrong, why in (
        ({"max_block": "many"}, "max_block = many is not possible; write 1 to 1024"),
        ({"local": "maybe"}, "local = maybe is not possible; write true or false"),
    ):
        with pytest.raises(Invalid, match=why):
            services.change_settings(SYSTEM, wrong)
