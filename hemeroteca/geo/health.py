"""Whether services work: their capabilities, a small map, one feature; certificates; what INSPIRE demands.

A blank picture, an exception instead of one, and no features are failures that name the layer.
"""

import re
import socket
import ssl
import struct
import zlib
from urllib.parse import quote, urlsplit

import msgspec
from django.db.models import Max, Q

from hemeroteca.config import Config
from hemeroteca.fetch.client import GuardedClient, guarded_names
from hemeroteca.geo import queries, services
from hemeroteca.geo.detection import describe
from hemeroteca.geo.models import HealthCheck, Layer, Service

MAX_BYTES = 16 << 20
MAX_LAYERS = 3  # looked at of one service
WIDTH, HEIGHT = 64, 48
MAX_PICTURE = 4 << 20  # unpacked
AVAILABILITY = 99.0  # per cent, as INSPIRE demands of network services


class Change(msgspec.Struct):
    """A service whose state is another than before."""

    service: int
    title: str
    before: str
    after: str
    reason: str


def check(service: Service, client: GuardedClient, config: Config, deep: bool = False) -> Change | None:
    """Look at a service, keep what was seen, and tell when its state changed."""
    before = service.state
    looks = [_capabilities(service, client, config)]
    if deep and looks[0].ok:
        layers = list(Layer.objects.filter(service=service).exclude(name="").order_by("position")[: MAX_LAYERS * 10])
        if service.type == "wms":
            looks += [_map(service, layer, client) for layer in layers if layer.bbox][:MAX_LAYERS]
        elif service.type == "wfs":
            looks += [_feature(service, layer, client) for layer in layers[:MAX_LAYERS]]
    for look in looks:
        services.keep_check(look)
    service.refresh_from_db()
    if service.state == before:
        return None
    return Change(service.pk, service.title, before, service.state, service.reason)


def _capabilities(service: Service, client: GuardedClient, config: Config) -> HealthCheck:
    reply = client.send(service.url or service.endpoint, max_bytes=MAX_BYTES, redirects=3)
    reason = reply.reason
    if reply.ok:
        found = describe(reply.body, reply.content_type, reply.url)
        kinds = (found.type, *found.also)
        reason = "" if service.type in kinds else f"it answered with {found.type or found.reason}"
    return HealthCheck(
        service=service,
        at_ms=services.now_ms(),
        ok=reply.ok and not reason,
        request="capabilities",
        status=reply.status,
        milliseconds=round(reply.seconds * 1000),
        reason=reason,
        expires_ms=certificate_expiry(service.endpoint, config),
    )


def _map(service: Service, layer: Layer, client: GuardedClient) -> HealthCheck:
    """The whole layer as a picture of a few pixels."""
    west, south, east, north = layer.bbox or (-180.0, -90.0, 180.0, 90.0)
    if west > east:
        west, east = -180.0, 180.0
    east, north = max(east, west + 0.001), max(north, south + 0.001)
    old = service.version.startswith(("1.0", "1.1"))
    system = "srs=EPSG:4326" if old else "crs=CRS:84"
    joint = "&" if "?" in service.endpoint else "?"
    url = (
        f"{service.endpoint}{joint}service=WMS&version={'1.1.1' if old else '1.3.0'}&request=GetMap"
        f"&layers={quote(layer.name)}&styles=&{system}&bbox={west:.6f},{south:.6f},{east:.6f},{north:.6f}"
        f"&width={WIDTH}&height={HEIGHT}&format=image/png&exceptions={'application/vnd.ogc.se_xml' if old else 'XML'}"
    )
    reply = client.send(url, max_bytes=MAX_BYTES, redirects=3)
    reason = reply.reason
    if reply.ok:
        reason = picture_fault(reply.body)
    return _look(service, "map", layer, reply.status, reply.seconds, reason)


def _feature(service: Service, layer: Layer, client: GuardedClient) -> HealthCheck:
    joint = "&" if "?" in service.endpoint else "?"
    two = service.version.startswith("2")
    names, most = ("typeNames", "count") if two else ("typeName", "maxFeatures")
    url = (
        f"{service.endpoint}{joint}service=WFS&version={service.version or '1.1.0'}&request=GetFeature"
        f"&{names}={quote(layer.name)}&{most}=1"
    )
    reply = client.send(url, max_bytes=MAX_BYTES, redirects=3)
    reason = reply.reason
    if reply.ok:
        reason = feature_fault(reply.body)
    return _look(service, "feature", layer, reply.status, reply.seconds, reason)


def _look(service: Service, request: str, layer: Layer, status: int, seconds: float, reason: str) -> HealthCheck:
    return HealthCheck(
        service=service,
        at_ms=services.now_ms(),
        ok=not reason,
        request=request,
        layer=layer.name,
        status=status,
        milliseconds=round(seconds * 1000),
        reason=f"layer {layer.name}: {reason}" if reason else "",
    )


def picture_fault(body: bytes) -> str:
    """What is wrong with a map; empty when there is something on it. Only PNG is looked into."""
    if body.lstrip()[:1] in (b"<", b"{"):
        found = describe(body)
        return found.reason if found.reason.startswith("exception") else "text instead of a picture"
    if not body.startswith(b"\x89PNG\r\n\x1a\n"):
        return "" if body.startswith((b"\xff\xd8", b"GIF8", b"RIFF")) else "no picture"
    try:
        return "a blank picture" if _is_uniform(body) else ""
    except (zlib.error, struct.error, IndexError, ValueError):
        return "a damaged picture"


def _is_uniform(png: bytes) -> bool:
    """All pixels of a PNG are the same."""
    at, packed = 8, b""
    width = height = depth = color = 0
    while at + 8 <= len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack_from(">IIBB", png, at + 8)
        elif kind == b"IDAT":
            packed += png[at + 8 : at + 8 + length]
        at += length + 12
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color]
    step = max(1, channels * depth // 8)
    row_bytes = (width * channels * depth + 7) // 8
    if row_bytes * height > MAX_PICTURE:
        return False
    data = zlib.decompressobj().decompress(packed, MAX_PICTURE)
    above = bytearray(row_bytes)
    first: bytes | None = None
    for line in range(height):
        start = line * (row_bytes + 1)
        row = _unfiltered(data[start], bytearray(data[start + 1 : start + 1 + row_bytes]), above, step)
        if first is None:
            first = bytes(row[:step])
        whole = first * (row_bytes // step)
        if depth >= 8 and bytes(row[: len(whole)]) != whole:
            return False
        if depth < 8 and (len(set(row[:-1] or row)) > 1 or row[0] != first[0]):
            return False
        above = row
    return True


def _unfiltered(kind: int, row: bytearray, above: bytearray, step: int) -> bytearray:
    for at in range(len(row)):
        left = row[at - step] if at >= step else 0
        up, corner = above[at], above[at - step] if at >= step else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        elif kind == 4:
            p = left + up - corner
            guess = min((abs(p - left), 0, left), (abs(p - up), 1, up), (abs(p - corner), 2, corner))[2]
        else:
            guess = 0
        row[at] = (row[at] + guess) & 255
    return row


def feature_fault(body: bytes) -> str:
    """What is wrong with an answer that should hold a feature."""
    found = describe(body)
    if found.reason.startswith("exception"):
        return found.reason
    if found.type == "geojson":
        return "" if b'"Feature"' in body else "no features"
    start = body[:4096]
    if re.search(rb"""\bnumberReturned\s*=\s*["']0["']|\bnumberOfFeatures\s*=\s*["']0["']""", start):
        return "no features"
    if re.search(rb"<(?:\w+:)?(?:featureMembers?|member)[\s/>]", body):
        return ""
    return "no features" if b"FeatureCollection" in start else "no collection of features"


def certificate_expiry(url: str, config: Config) -> int:
    """When the certificate of a host expires, in ms since 1970; 0 when it has none or does not tell."""
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        return 0
    context = ssl.create_default_context()
    try:
        with (
            guarded_names(config),
            socket.create_connection((parts.hostname, parts.port or 443), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname=parts.hostname) as secure,
        ):
            certificate = secure.getpeercert() or {}
    except (OSError, ValueError):
        return 0
    until = certificate.get("notAfter")
    return int(ssl.cert_time_to_seconds(until)) * 1000 if isinstance(until, str) else 0


class InspireReport(msgspec.Struct):
    """Own checks of what INSPIRE demands of a network service; each null where it does not apply."""

    extended_capabilities: bool
    metadata_link: bool
    languages: bool
    datasets_linked: bool
    availability: float | None
    available_enough: bool | None
    passed: bool


def inspire_report(service: Service) -> InspireReport:
    found = service.inspire or {}
    layers = Layer.objects.filter(service=service)
    linked = bool(found.get("datasets")) or layers.exclude(metadata=[]).exists()
    share = queries.reliability(service)
    extended = bool(found)
    link = bool(found.get("metadata_url") or (extended and found.get("resource_type")))
    languages = bool(found.get("default_language") or found.get("languages"))
    enough = None if share is None else share >= AVAILABILITY
    passed = extended and link and languages and linked and enough is not False
    return InspireReport(extended, link, languages, linked, share, enough, passed)


def due(limit: int, every_ms: int, now_ms: int) -> list[Service]:
    """Services not looked at for so long, the longest first."""
    rows = Service.objects.exclude(state__in=(Service.State.WITHDRAWN, Service.State.CLOSED)).exclude(url="")
    looked = rows.annotate(looked=Max("checks__at_ms")).order_by("looked", "pk")
    return list(looked.filter(Q(looked=None) | Q(looked__lte=now_ms - every_ms))[:limit])
