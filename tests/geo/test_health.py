"""Health: what counts as a failure, and that it is kept, named and told once."""

import struct
import zlib

import pytest

from hemeroteca import config
from hemeroteca.fetch.client import Reply
from hemeroteca.geo import health, queries, services
from hemeroteca.geo.models import HealthCheck, Service
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
