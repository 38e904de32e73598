"""Health: what counts as a failure, and that it is kept, named and told once."""

import contextlib
import socket
import struct
import threading
import zlib

import pytest

from hemeroteca import config
from hemeroteca.accounts import SYSTEM
from hemeroteca.fetch.client import Reply
from hemeroteca.geo import health, queries, services
from hemeroteca.geo.models import HealthCheck, Service
from hemeroteca.jobs import services as jobs
from hemeroteca.jobs.runner import Runner
from simweb.tls import self_signed_context
from tests.geo.test_catalogue import CAPABILITIES, take
from tests.geo.test_detection import WMS


def png(pixel, size: int = 8) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"".join(bytes(pixel(x, y)) for x in range(size)) for y in range(size))
    head = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_blank_and_broken_pictures_are_failures():
    assert health.picture_fault(png(lambda x, y: (255, 255, 255))) == "a blank picture"
    assert health.picture_fault(png(lambda x, y: (x * 20, y, 0))) == ""
    assert health.picture_fault(png(lambda x, y: (0, 0, 0))[:45]) == "a damaged picture"
    report = b"<ServiceExceptionReport><ServiceException code='LayerNotDefined'>x</ServiceException>"
    assert health.picture_fault(report) == "exception report: LayerNotDefined: x"
    assert health.picture_fault(b"hello") == "no picture"


def test_answers_without_features_are_failures():
    assert health.feature_fault(b'<wfs:FeatureCollection numberReturned="0"/>') == "no features"
    assert health.feature_fault(b"<wfs:FeatureCollection><gml:featureMember/></wfs:FeatureCollection>") == ""
    assert health.feature_fault(b'{"type":"FeatureCollection","features":[]}') == "no features"
    assert health.feature_fault(b"<ExceptionReport><Exception exceptionCode='A'/></ExceptionReport>").startswith(
        "exception"
    )


class Answers:
    """A client that gives what a test says."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)

    def send(self, url: str, **options: object) -> Reply:
        return self.replies.pop(0)


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_a_change_of_state_is_told_once_and_reliability_counts(tmp_path):
    settings = config.load(data=tmp_path)
    take(CAPABILITIES)
    service = Service.objects.get()
    good = Reply(200, WMS.encode(), url=CAPABILITIES, seconds=0.2)
    assert health.check(service, Answers(good), settings) is None
    change = health.check(service, Answers(Reply(503, reason="http-503")), settings)
    assert change is not None
    assert (change.before, change.after) == ("alive", "failing")
    assert health.check(service, Answers(Reply(503, reason="http-503")), settings) is None
    assert health.check(service, Answers(good), settings).after == "alive"
    assert queries.reliability(service) == 50.0
    facts = queries.health(service)
    assert facts["milliseconds"] == 100
    assert health.inspire_report(service).available_enough is False


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_a_blank_map_names_its_layer(tmp_path):
    take(CAPABILITIES)
    service = Service.objects.get()
    good = Reply(200, WMS.encode(), url=CAPABILITIES)
    blank, drawn = Reply(200, png(lambda x, y: (1, 1, 1))), Reply(200, png(lambda x, y: (x, y, 0)))
    health.check(service, Answers(good, blank, drawn), config.load(data=tmp_path), deep=True)
    assert list(HealthCheck.objects.filter(ok=False).values_list("reason", flat=True)) == [
        "layer rivers: a blank picture"
    ]
    assert queries.health(service)["failing_layers"] == ["rivers"]
    assert services.find(service.identifier).state == "failing"


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_channels_are_told_of_changes_of_state_only_in_their_language(tmp_path):
    from hemeroteca.watch import notices
    from hemeroteca.watch.models import Channel, Notice

    common = {"kind": "webhook", "target": "https://hook.example/", "created_ms": 1}
    told = Channel.objects.create(name="all", language="es", **common)
    Channel.objects.create(name="silent", errors=False, **common)
    settings = config.load(data=tmp_path)
    take(CAPABILITIES)
    service = Service.objects.get()
    good, bad = Reply(200, WMS.encode(), url=CAPABILITIES), Reply(503, reason="http-503")
    for reply in (good, bad, bad, bad, good, good):
        health.check(service, Answers(reply), settings)
    written = list(Notice.objects.order_by("pk"))
    assert [(one.channel_id, one.kind, one.facts["after"]) for one in written] == [
        (told.pk, "service", "failing"),
        (told.pk, "service", "alive"),
    ]
    title, text = notices.message(written[:1], "es")
    assert title == "Ríos: con fallos"
    assert "http-503" in text


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_metadata_that_does_not_answer_or_does_not_lead_back_is_told_and_changes_no_state(tmp_path):
    linked = WMS.replace(
        "<Title>Rivers</Title>",
        "<Title>Rivers</Title><MetadataURL type='ISO19115:2003'><OnlineResource "
        "xlink:href='https://meta.example/rivers.xml'/></MetadataURL>",
    )
    take(CAPABILITIES, linked)
    service = Service.objects.get()
    good, drawn = Reply(200, linked.encode(), url=CAPABILITIES), Reply(200, png(lambda x, y: (x, y, 0)))
    settings = config.load(data=tmp_path)

    def look(metadata: Reply) -> tuple[str, bool | None]:
        HealthCheck.objects.all().delete()
        health.check(service, Answers(good, drawn, drawn, metadata), settings, deep=True)
        return HealthCheck.objects.get(request="link").reason, health.inspire_report(service).links_work

    assert look(Reply(404, reason="http-404")) == ("layer rivers: its metadata does not answer: http-404", False)
    lost = "layer rivers: its metadata answers, but does not name this service"
    assert look(Reply(200, b"<MD_Metadata/>")) == (lost, False)
    assert services.find(service.pk).state == "alive"
    assert look(Reply(200, b"<URL>https://maps.example.org/wms?request=GetCapabilities</URL>")) == ("", True)


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_services_that_are_due_are_ordered_once(settings, tmp_path):
    from hemeroteca.jobs.models import Job

    ours = config.load(data=tmp_path, geo_check_hours=1.0)
    assert health.order_checks(ours) is False  # there are none
    take(CAPABILITIES)
    assert health.order_checks(config.load(data=tmp_path, geo_check_hours=0)) is False
    assert health.order_checks(ours) is True
    assert health.order_checks(ours) is False  # one is waiting
    job = Job.objects.get()
    assert (job.kind, job.arguments["deep"], job.arguments["every_hours"]) == ("geo.check", True, 1.0)


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_a_certificate_that_ends_soon_is_told_once():
    from hemeroteca.watch.models import Channel, Notice

    Channel.objects.create(name="all", kind="webhook", target="https://hook.example/", created_ms=1)
    take(CAPABILITIES)
    service = Service.objects.get()
    now = services.now_ms()
    for _ in range(3):
        health.tell_expiry(service, now + 86_400_000, now)
    health.tell_expiry(service, now + 90 * 86_400_000, now)
    assert [one.kind for one in Notice.objects.all()] == ["certificate"]


def test_the_end_of_a_certificate_is_read_from_a_real_server(tmp_path):
    """Also of one that nobody trusts: that it has ended is what people want to know."""
    context = self_signed_context()
    if context is None:
        pytest.skip("no openssl command")
    server = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        for _ in range(2):
            plain, _ = server.accept()
            with contextlib.suppress(OSError), context.wrap_socket(plain, server_side=True) as secure:
                secure.recv(1)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    settings = config.load(data=tmp_path, allow_private=True)
    expires = health.certificate_expiry(f"https://127.0.0.1:{server.getsockname()[1]}/wms", settings)
    days = (expires - services.now_ms()) / 86_400_000
    assert 29 < days <= 30
    assert health.certificate_expiry("http://127.0.0.1/wms", settings) == 0
    server.close()


@pytest.mark.django_db
def test_a_check_of_a_service_that_is_not_there_fails_and_says_so():
    job = Runner().run(jobs.submit(SYSTEM, "geo.check", {"services": [999]}, here=True))
    assert job.state == "failed"
    assert "there is no geographic service '999'" in job.message
