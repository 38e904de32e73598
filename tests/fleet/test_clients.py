"""What a client of the fleet sees: orders, results in order, events, webhooks, signatures."""

import base64
import dataclasses
import hashlib
import json
import re
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.conf import settings
from django.test import Client as Browser

from hemeroteca.accounts import SYSTEM, Role
from hemeroteca.accounts import services as accounts
from hemeroteca.api.fetch import MAX_WAITS
from hemeroteca.engine import overview
from hemeroteca.fetch.client import GuardedClient, Reply
from hemeroteca.fleet import dispatch, fetches, opt_out, services
from hemeroteca.fleet.dispatch import Resolved
from hemeroteca.fleet.models import ClosedHost, FetchJob, FetchResult
from hemeroteca.fleet.signatures import Signer
from hemeroteca.frontier.models import Crawl
from hemeroteca.jobs import queries as job_queries
from hemeroteca.jobs import services as jobs
from hemeroteca.jobs.models import Job
from hemeroteca.jobs.runner import Runner

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


class Caller:
    def __init__(self, name: str, role: Role = Role.READER) -> None:
        self.user = accounts.add_user(SYSTEM, name, role, "a long password")
        self.token = accounts.create_token(SYSTEM, self.user, "test").secret
        self.browser = Browser()

    def ask(self, method: str, path: str, value: object = None, **headers: str):
        named = {"Authorization": f"Bearer {self.token}", **headers}
        content = json.dumps(value) if value is not None else ""
        return self.browser.generic(method, f"/api/v1/{path}", content, content_type="application/json", headers=named)


@pytest.fixture
def operator():
    return Caller("olga", Role.ADMINISTRATOR)


def resolve(job: str, url: str, status: int = 200, reason: str = "") -> None:
    row = FetchResult.objects.get(job__public_id=job, url=url)
    dispatch.keep([], {}, [Resolved(job=row.job_id, key=row.key, status=status, reason=reason)], 70)


def test_a_job_is_ordered_and_read_page_by_page_though_results_come_out_of_order(operator):
    urls = [f"http://a.test/{n}" for n in range(5)]
    made = operator.ask("POST", "fetch", {"urls": urls})
    assert made.status_code == 201
    assert set(made.json()) >= {"id", "state"}
    job = made.json()["id"]
    assert made.json()["state"] == "running"
    seen, cursor = [], ""
    for url in reversed(urls):
        resolve(job, url, reason="robots.txt of a.test forbids it", status=0) if url == urls[2] else resolve(job, url)
        part = operator.ask("GET", f"fetch/{job}/results?cursor={cursor}&limit=2").json()
        seen += part["results"]
        cursor = part["next_cursor"] or cursor
    assert [one["url"] for one in seen] == urls[::-1]  # none is passed over
    assert seen[2]["status"] == 0
    assert "forbids" in seen[2]["reason"]
    told = operator.ask("GET", f"fetch/{job}").json()
    assert (told["state"], told["resolved"], told["answered"], told["refused"]) == ("finished", 5, 4, 1)


def test_what_clients_have_fetched_stands_among_no_crawls(operator):
    operator.ask("POST", "fetch", {"urls": ["http://a.test/private"]})
    made = Crawl.objects.get()
    assert operator.ask("GET", "crawls").json()["items"] == []
    assert operator.ask("GET", f"crawls/{made.pk}").status_code == 404
    assert operator.ask("POST", f"crawls/{made.pk}/stop").status_code == 409
    assert overview.status().crawls == []


def test_jobs_of_others_are_not_seen(operator):
    job = operator.ask("POST", "fetch", {"urls": ["http://a.test/"]}).json()["id"]
    other = Caller("eva")
    assert other.ask("GET", f"fetch/{job}").status_code == 403
    assert other.ask("GET", f"fetch/{job}/results").status_code == 403
    refused = other.ask("POST", "fetch", {"urls": ["http://a.test/"]})
    assert (refused.status_code, refused.json()["code"]) == (409, "not-a-client")
    assert operator.ask("POST", "fetch", {"urls": ["http://a.test/"], "country": "ES"}).status_code == 422


def test_a_single_url_may_be_waited_for(operator, monkeypatch):
    url = "http://a.test/wait"

    def meanwhile(_: float) -> None:
        """The engine resolves it while the request waits."""
        row = FetchResult.objects.get(url=url)
        resolve(str(row.job.public_id), url, 404)

    monkeypatch.setattr("hemeroteca.api.fetch.time.sleep", meanwhile)
    told = operator.ask("POST", "fetch", {"urls": [url]}, Prefer="wait=30").json()
    assert told["result"]["status"] == 404
    assert told["state"] == "finished"


def test_events_tell_each_result_once_and_the_end(operator):
    urls = ["http://a.test/1", "http://a.test/2"]
    job = operator.ask("POST", "fetch", {"urls": urls}).json()["id"]
    for url in urls:
        resolve(job, url)
    stream = b"".join(operator.ask("GET", f"fetch/{job}/events").streaming_content).decode()
    assert stream.count("event: result") == 2
    assert stream.endswith("event: end\ndata: {}\n\n")
    first = re.findall(r"id: (\S+)", stream)[0]
    rest = b"".join(operator.ask("GET", f"fetch/{job}/events", **{"Last-Event-ID": first}).streaming_content).decode()
    assert rest.count("event: result") == 1


def test_readers_of_events_and_waits_leave_threads_for_others(operator, monkeypatch):
    job = operator.ask("POST", "fetch", {"urls": ["http://a.test/1", "http://a.test/2"]}).json()["id"]
    resolve(job, "http://a.test/1")
    naps: list[float] = []
    monkeypatch.setattr("hemeroteca.api.fetch.time.sleep", naps.append)
    seated = [operator.ask("GET", f"fetch/{job}/events") for _ in range(MAX_WAITS)]  # each holds a thread
    late = operator.ask("GET", f"fetch/{job}/events")
    told = b"".join(late.streaming_content).decode()
    assert told.count("event: result") == 1  # what there is …
    assert told.endswith("retry: 5000\n\n")  # … and when to come for more
    rest = operator.ask("GET", f"fetch/{job}/results?wait=30").json()
    assert len(rest["results"]) == 1
    waited = operator.ask("GET", f"fetch/{job}/results?wait=30&cursor={rest['next_cursor']}").json()
    assert waited["results"] == []
    assert not naps  # nobody waited
    for one in (*seated, late):
        one.close()  # some of them were never read
    naps.clear()
    monkeypatch.setattr("hemeroteca.api.fetch.time.sleep", lambda _: resolve(job, "http://a.test/2"))
    waited = operator.ask("GET", f"fetch/{job}/results?wait=30&cursor={rest['next_cursor']}").json()
    assert [one["url"] for one in waited["results"]] == ["http://a.test/2"]  # there is room again


class Ear:
    def __init__(self) -> None:
        self.heard: list[tuple[bytes, dict]] = []
        ear = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                ear.heard.append((body, dict(self.headers)))
                self.send_response(500 if len(ear.heard) == 1 else 204)
                self.end_headers()

            def do_GET(self):
                body = ear.proof.encode()
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.proof = ""
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def ear():
    ear = Ear()
    yield ear
    ear.server.shutdown()
    ear.server.server_close()


def test_statistics_are_of_the_device_with_that_number_whatever_others_call_theirs(operator):
    ana, bea = Caller("ana"), Caller("bea")
    pi = services.add_device(SYSTEM, "pi", ana.user).device
    services.add_device(SYSTEM, str(pi.pk), bea.user)
    assert len(ana.ask("GET", f"fleet/devices/{pi.pk}/days").json()) == 30
    assert ana.ask("GET", f"fleet/statement?device={pi.pk}").json() == []
    assert bea.ask("GET", f"fleet/devices/{pi.pk}/days").status_code == 403
    assert "no device 999" in ana.ask("GET", "fleet/devices/999/days").json()["detail"]


def test_a_client_sees_how_it_stands_without_asking_anew():
    ana = Caller("ana")
    assert ana.ask("GET", "fleet/client").status_code == 404
    asked = ana.ask("POST", "fleet/client", {"purpose": "prices of medicines, for a study"}).json()
    services.approve(SYSTEM, services.find_client("ana"), 5, 60)
    (line,) = ana.ask("GET", "fleet/statement").json()
    assert line["amount"] == 5.0
    assert line["at"]
    found = ana.ask("GET", "fleet/client").json()
    assert (found["state"], found["per_day"], found["credits"], found["secret"]) == (
        "approved",
        60,
        5.0,
        asked["secret"],
    )


def test_a_webhook_is_signed_and_tried_again(operator, ear):
    address = f"http://127.0.0.1:{ear.server.server_port}/hook"
    job = operator.ask("POST", "fetch", {"urls": ["http://a.test/"], "webhook": address}).json()["id"]
    resolve(job, "http://a.test/")
    Crawl.objects.update(state=Crawl.State.FINISHED)
    row = FetchJob.objects.get(public_id=job)
    fetches.ended(row.crawl_id)
    fetches.ended(row.crawl_id)
    assert Job.objects.filter(kind="fleet.webhook").count() == 1
    for _ in range(2):
        fetches.tell(FetchJob.objects.select_related("client", "crawl").get(pk=row.pk), settings.CONFIG)
    assert operator.ask("GET", f"fetch/{job}").json()["webhook"] == "told"
    body, headers = ear.heard[1]
    assert json.loads(body)["state"] == "finished"
    secret = services.client_of(accounts.token_actor(operator.token)).secret
    assert headers["X-Hemeroteca-Signature"] == fetches.signature(secret, headers["X-Hemeroteca-Timestamp"], body)


def test_a_webhook_that_never_listens_keeps_no_other_from_being_told(operator, ear, monkeypatch):
    """One job tells all of them, each when it is its turn."""
    monkeypatch.setattr(fetches, "WEBHOOK_SECONDS", 0.1)
    listening = f"http://127.0.0.1:{ear.server.server_port}/hook"
    with socket.create_server(("127.0.0.1", 0)) as closed:
        deaf = f"http://127.0.0.1:{closed.getsockname()[1]}/hook"
    named = {}
    for address in (deaf, listening):
        job = operator.ask("POST", "fetch", {"urls": ["http://a.test/"], "webhook": address}).json()["id"]
        resolve(job, "http://a.test/")
        named[address] = job
    Crawl.objects.update(state=Crawl.State.FINISHED)
    for row in FetchJob.objects.all():
        fetches.ended(row.crawl_id)
    monkeypatch.setattr(fetches, "WEBHOOK_TRIES", 3)
    assert job_queries.limits()["fleet.webhook"] == 1
    first = jobs.claim()
    assert jobs.claim() is None  # the second waits; the first tells both
    Runner().run(first)
    assert operator.ask("GET", f"fetch/{named[listening]}").json()["webhook"] == "told"
    assert "Failed to connect" in operator.ask("GET", f"fetch/{named[deaf]}").json()["webhook"]
    assert FetchJob.objects.get(public_id=named[deaf]).webhook_tries == 3
    assert fetches.next_webhook() is None


def test_a_field_that_is_refused_is_named_as_the_client_wrote_it(operator):
    refused = operator.ask("POST", "fetch", {"urls": ["http://a.test/"], "limt": 2}).json()
    assert [one["field"] for one in refused["errors"]] == ["limt"]


def test_a_webhook_that_is_no_address_is_refused_at_once(operator):
    refused = operator.ask("POST", "fetch", {"urls": ["http://a.test/"], "webhook": "nonsense"})
    assert refused.status_code == 422
    assert "the webhook cannot be told: 'nonsense' is not a web address" in refused.json()["detail"]
    assert not FetchJob.objects.exists()


def test_a_webhook_at_a_private_address_is_not_called(operator, ear, monkeypatch):
    address = f"http://127.0.0.1:{ear.server.server_port}/hook"
    job = operator.ask("POST", "fetch", {"urls": ["http://a.test/"], "webhook": address}).json()["id"]
    row = FetchJob.objects.select_related("client", "crawl").get(public_id=job)
    fetches.tell(row, dataclasses.replace(settings.CONFIG, allow_private=False))
    assert not ear.heard
    assert "public" in FetchJob.objects.get(pk=row.pk).webhook_state


def test_a_host_is_closed_only_by_whoever_controls_it(ear, monkeypatch):
    host = "127.0.0.1"
    monkeypatch.setattr(opt_out, "PATH", f":{ear.server.server_port}/.well-known/hemeroteca-fleet.txt")
    browser = Browser()
    assert opt_out.proof(host) in browser.get("/bot", {"host": host}).content.decode()
    assert opt_out.proof(host) != opt_out.proof("b.test")
    assert b"was not found" in browser.post("/bot", {"host": host}).content
    assert not ClosedHost.objects.exists()
    ear.proof = opt_out.proof(host)
    assert b"is closed to the fleet" in browser.post("/bot", {"host": host}).content
    assert ClosedHost.objects.get().by_owner
    assert services.closed_reason("127.0.0.1")


@pytest.mark.parametrize(
    "host", ["a.test:8080", "a.test/x?y=", "a.test#", "b@a.test", "a.test\\x", "a b", "", "\x00", "["]
)
def test_nobody_has_us_ask_ports_and_paths_of_their_choice(monkeypatch, host):
    asked = []
    monkeypatch.setattr(GuardedClient, "send", lambda self, url, **_: asked.append(url))
    answer = Browser().post("/bot", {"host": host})
    assert answer.status_code == (422 if host else 200)
    assert asked == []


def test_strangers_do_not_learn_what_names_of_our_network_mean(monkeypatch):
    reason = "refused-address: 10.1.2.3 is not on the public internet"
    monkeypatch.setattr(GuardedClient, "send", lambda self, url, **_: Reply(0, reason=reason))
    told = Browser().post("/bot", {"host": "intranet.test"}).content
    assert b"was not found" in told
    assert b"10.1.2.3" not in told


def test_slow_hosts_do_not_hold_the_console(monkeypatch):
    monkeypatch.setattr(services, "_LOOKS", threading.BoundedSemaphore(1))
    answers = []

    def send(self, url, **_):  # while one is looked at, another is asked for
        answers.append(Browser().post("/bot", {"host": "b.test"}).status_code)
        return Reply(0, reason="slow")

    monkeypatch.setattr(GuardedClient, "send", send)
    assert b"was not found" in Browser().post("/bot", {"host": "a.test"}).content
    assert set(answers) == {429}


@pytest.mark.parametrize("is_open", [True, False])
def test_a_closed_archive_tells_nobody_which_hosts_it_knows(settings, is_open):
    settings.CONFIG = dataclasses.replace(settings.CONFIG, open_search=is_open)
    told = Browser().get("/bot", {"host": "a.test"}).content
    assert (b"pages" in told.partition(b"<h2>")[2]) == is_open
    assert opt_out.proof("a.test").encode() in told


def test_requests_are_signed_for_one_host_and_everybody_can_check_it():
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    directory = Browser().get("/.well-known/http-message-signatures-directory")
    (jwk,) = directory.json()["keys"]
    raw = base64.urlsafe_b64decode(jwk["x"] + "==")
    canonical = json.dumps({"crv": "Ed25519", "kty": "OKP", "x": jwk["x"]}, separators=(",", ":")).encode()
    thumbprint = base64.urlsafe_b64encode(hashlib.sha256(canonical).digest()).decode().rstrip("=")
    headers = dict(Signer.of(settings.INSTANCE, "https://bot.test").sign("site.test", 1000.0, 60))
    fields = headers["Signature-Input"].removeprefix("sig1=")
    assert f'keyid="{thumbprint}"' in fields
    assert "created=1000;expires=1060" in fields
    agent = headers["Signature-Agent"]

    def check(authority: str) -> None:
        base = f'"@authority": {authority}\n"signature-agent": {agent}\n"@signature-params": {fields}'
        signed = base64.b64decode(headers["Signature"].removeprefix("sig1=:").removesuffix(":"))
        Ed25519PublicKey.from_public_bytes(raw).verify(signed, base.encode())

    check("site.test")
    with pytest.raises(InvalidSignature):
        check("other.test")
