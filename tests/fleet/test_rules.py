"""The pure rules: who is checked, who gets a block, what looks like an attack, whether two answers say the same."""

from statistics import mean

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca import urls
from hemeroteca.fleet import agreement, assignment, credit_ledger, refusals, trust, trust_simulator
from hemeroteca.fleet.assignment import STRATEGIES, AssignableBlock, AssignableDevice
from hemeroteca.fleet.credit_ledger import Kind
from hemeroteca.fleet.trust import Check, Reputation
from hemeroteca.warc import Capture


def test_a_new_device_is_always_checked_and_a_known_one_sometimes():
    draws = [n / 10_000 for n in range(10_000)]
    assert all(trust.check_for(Reputation(9), draw) is not Check.NONE for draw in draws)
    for row in (10, 20, 100, 10_000):
        checks = [trust.check_for(Reputation(row), draw) for draw in draws]
        checked = sum(check is not Check.NONE for check in checks) / len(checks)
        assert checked == pytest.approx(0.05 + 0.95 / min(row, 50), abs=0.001)
        assert checks.count(Check.AUDIT) / len(checks) == pytest.approx(0.05, abs=0.001)  # never fewer
        assert checked == pytest.approx(trust.share_checked(Reputation(row)), abs=0.001)


def test_one_wrong_result_takes_all_trust_and_ten_right_ones_bring_it_back():
    reputation = Reputation()
    for _ in range(200):
        reputation = reputation.confirmed()
    reputation = reputation.refuted()
    assert (reputation.in_a_row, reputation.valid, reputation.invalid, reputation.slowed) == (0, 200, 1, True)
    for _ in range(9):
        reputation = reputation.confirmed()
    assert reputation.slowed
    assert reputation.confirmed(old=True).slowed  # what it took before it was caught earns nothing
    assert not reputation.confirmed().slowed


PATIENT = trust_simulator.Mix(lying=0, patient=20, colluding=0)
COLLUDING = trust_simulator.Mix(lying=0, patient=0, colluding=20)


@pytest.mark.parametrize("lie_rate", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("mix", [trust_simulator.Mix(), PATIENT, COLLUDING], ids=["mixed", "patient", "colluding"])
def test_with_a_fifth_of_liars_almost_nothing_wrong_stays_and_checking_is_cheap(mix, lie_rate):
    """Whatever they lie with: a hundredth is the worst for 200,000 URLs (decision 0078)."""
    fleet = msgspec.structs.replace(mix, lie_rate=lie_rate)
    runs = [trust_simulator.simulate(fleet, seed=seed) for seed in (5, 6)]
    assert fleet.liars == pytest.approx(0.2)
    assert mean(run.undetected for run in runs) <= 0.001
    assert mean(run.overhead for run in runs) <= 0.12
    assert all(run.honest_slowed == 0 for run in runs)


def test_the_seed_decides_everything():
    first = trust_simulator.simulate(trust_simulator.Mix(), 20_000, seed=3)
    assert first == trust_simulator.simulate(trust_simulator.Mix(), 20_000, seed=3)
    assert first != trust_simulator.simulate(trust_simulator.Mix(), 20_000, seed=4)
    assert first.caught["lying"] == 7


def test_without_any_check_the_liars_would_get_through(monkeypatch):
    monkeypatch.setattr(trust, "check_for", lambda reputation, draw: Check.NONE)
    assert trust_simulator.simulate(trust_simulator.Mix(), 10_000).undetected > 0.01


def test_strategies_choose_as_their_names_say():
    madrid, lima = (40.0, -4.0), (-10.0, -75.0)
    idle = AssignableDevice(1, total=900, pending=0, waiting=0, speed=1.0, place=lima)
    new = AssignableDevice(2, total=0, pending=50, waiting=40, speed=10.0, place=madrid)
    fast = AssignableDevice(3, total=500, pending=20, waiting=10, speed=40.0, place=madrid)
    work = AssignableBlock(urls=64, place=lima)
    chosen = {name: strategy.place(work, [idle, new, fast]) for name, strategy in STRATEGIES.items()}
    assert chosen == {"democratic": 2, "less-busy": 1, "geography": 1, "auto": 3}
    thief = AssignableDevice(9, place=lima)
    robbed = {name: strategy.victim(thief, [idle, new, fast]) for name, strategy in STRATEGIES.items()}
    assert robbed == {"democratic": None, "less-busy": 2, "geography": 2, "auto": 2}
    assert STRATEGIES["less-busy"].victim(thief, [idle]) is None  # nothing that is not delivered


def test_among_equally_fast_devices_the_nearest_gets_the_block():
    near = AssignableDevice(2, speed=5.0, place=(40.0, -4.0))
    far = AssignableDevice(1, speed=5.0, place=(-10.0, -75.0))
    assert STRATEGIES["auto"].place(AssignableBlock(urls=10, place=(41.0, -3.0)), [far, near]) == 2
    assert assignment.distance((40.0, -4.0), (-10.0, -75.0)) == pytest.approx(9500, rel=0.05)


def test_the_oracle_of_the_split():
    """28.00 → 19.60 and 8.40."""
    sides = [side for _ in range(28) for side in credit_ledger.split(1000, 70, [1])]
    assert sum(side.amount for side in sides if side.kind == Kind.DEVICE) == 19_600
    assert sum(side.amount for side in sides if side.kind == Kind.OPERATOR) == 8_400


@given(st.integers(0, 10**9), st.integers(0, 100), st.lists(st.integers(1, 50), unique=True, max_size=9))
def test_a_split_loses_nothing_and_is_fair(price, percent, devices):
    sides = credit_ledger.split(price, percent, devices)
    assert sum(side.amount for side in sides) == price
    assert all(side.amount > 0 for side in sides)
    theirs = [side.amount for side in sides if side.kind == Kind.DEVICE]
    if len(theirs) == len(devices) and theirs:
        assert max(theirs) - min(theirs) <= 1


@pytest.mark.parametrize(
    "url",
    [
        "http://a.test/?id=1%27%20or%20%271%27=%271",
        "http://a.test/?id=1+UNION+ALL+SELECT+password+FROM+users",
        "http://a.test/../../etc/passwd",
        "http://a.test/?f=..%252f..%252fetc%252fpasswd",
        "http://a.test/.env",
        "http://a.test/.git/config",
        "http://a.test/wp-login.php",
        "http://a.test/?q=%3Cscript%3Ealert(1)",
        "http://a.test/?x=;cat%20/etc/passwd",
        "http://a.test/?x=${jndi:ldap://b.test/a}",
        "http://a.test/%25252525252e",
    ],
)
def test_attacks_are_recognised(url):
    assert refusals.attack(url)


@pytest.mark.parametrize(
    "text",
    [
        "http:a.test/.env",
        "http:/a.test/.env",
        "http:\\\\a.test\\.git\\config",
        "http://a.test?id=1 union select password from users",
        "http://a.test/.\tenv",
    ],
)
def test_attacks_that_are_spelled_so_that_only_the_canonical_form_shows_them(text):
    assert refusals.attack(text, urls.canonical(text))


@pytest.mark.parametrize(
    "url",
    [
        "http://a.test/",
        "http://a.test/union/select-a-plan?page=2",
        "http://a.test/l'or-et-l'argent?y=1",
        "https://es.wikipedia.org/wiki/Espa%C3%B1a",
        "http://a.test/search?q=drop+shipping;lang=es",
        "http://a.test/environment/etc",
        "http://a.test/a..b/c",
    ],
)
def test_ordinary_addresses_are_not(url):
    assert refusals.attack(url) == ""


def page(body: str, status: int = 200, kind: str = "text/html", **headers: str) -> agreement.Fingerprint:
    fields = {"Content-Type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
    head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n"
    capture = Capture(
        url="http://a.test/", captured_ms=1, status=status, response_head=head.encode(), body=body.encode()
    )
    return agreement.fingerprint(capture)


WORDS = " ".join(f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(400))


def test_honest_answers_agree_though_their_bytes_differ():
    one = page(f"<p>{WORDS}</p><a href='/x?sid=1'>x</a><script>t=123</script>", Date="now", Set_Cookie="a=1")
    other = page(f"<div>{WORDS} extra</div><a href='/x?sid=2'>x</a><!-- 77 -->", Date="later", Set_Cookie="a=2")
    assert agreement.agree(one, other)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"status": 404}, "status 200 and 404"),
        ({"body": f"<p>{WORDS} price 12</p><a href='/x'>x</a>"}, "numbers"),
        ({"body": f"<p>{WORDS} price 10</p><a href='/evil'>x</a>"}, "links"),
        ({"body": f"<p>{WORDS[:1200]} price 10 buy cheap pills</p><a href='/x'>x</a>"}, "text"),
        ({"kind": "text/plain"}, "headers"),
    ],
)
def test_what_a_liar_changes_is_seen(changed, what):
    right = {"body": f"<p>{WORDS} price 10</p><a href='/x'>x</a>"}
    assert agreement.difference(page(**right), page(**{**right, **changed})) == what


def test_a_hostile_body_is_compared_in_bounded_time():
    agreement.fingerprint(
        Capture(url="http://a.test/", captured_ms=1, status=200, response_head=b"HTTP/1.1 200 OK\r\n\r\n",
                body=b"<" * (3 << 20))
    )  # fmt: skip
