"""Whether services work: their capabilities, a small map, one feature; certificates; what INSPIRE demands.

A blank picture, an exception instead of one, and no features are failures that name the layer.
"""

import io
import re
import socket
import ssl
from urllib.parse import quote, urlsplit

import msgspec
from django.db.models import Max, Q

from hemeroteca.clock import now_ms
from hemeroteca.config import Config
from hemeroteca.fetch.client import GuardedClient, guarded_names
from hemeroteca.geo import queries, services
from hemeroteca.geo.detection import describe
from hemeroteca.geo.models import HealthCheck, Layer, Service
from hemeroteca.watch import notices
from hemeroteca.watch import services as watch
from hemeroteca.watch.models import Channel

MAX_BYTES = 16 << 20
MAX_LAYERS = 3  # looked at of one service
WIDTH, HEIGHT = 64, 48
MAX_PIXELS = 1 << 20  # of a picture that is looked into
ROUND_MS = 60_000  # links looked at within it belong together
EXPIRY_MS = 14 * 86_400_000  # people are told of certificates that end sooner
AVAILABILITY = 99.0  # per cent, as INSPIRE demands of network services


class StateChange(msgspec.Struct):
    """A service whose state is another than before."""

    service: int
    title: str
    url: str
    before: str
    after: str
    reason: str


def check(service: Service, client: GuardedClient, config: Config, deep: bool = False) -> StateChange | None:
    """Look at a service, keep what was seen, and tell when its state changed."""
    before = service.state
    looks = [_capabilities(service, client, config)]
    if deep and looks[0].ok:
        layers = list(Layer.objects.filter(service=service).exclude(name="").order_by("position")[: MAX_LAYERS * 10])
        if service.type == "wms":
            looks += [_map(service, layer, client) for layer in layers if layer.bbox][:MAX_LAYERS]
        elif service.type == "wfs":
            looks += [_feature(service, layer, client) for layer in layers[:MAX_LAYERS]]
        looks += _links(service, layers, client)
    for look in looks:
        services.keep_check(look)
    tell_expiry(service, looks[0].expires_ms, looks[0].at_ms)
    service.refresh_from_db()
    if service.state == before:
        return None
    change = StateChange(
        service=service.pk,
        title=service.title or service.public_endpoint,
        url=service.public_endpoint,
        before=before,
        after=service.state,
        reason=service.reason,
    )
    tell(change, looks[-1].at_ms)
    return change


def _capabilities(service: Service, client: GuardedClient, config: Config) -> HealthCheck:
    reply = client.send(service.url or service.endpoint, max_bytes=MAX_BYTES, redirects=3)
    reason = reply.reason
    if reply.ok:
        found = describe(reply.body, reply.content_type, reply.url)
        kinds = (found.type, *found.also)
        reason = "" if service.type in kinds else f"it answered with {found.type or found.reason}"
    return HealthCheck(
        service=service,
        at_ms=now_ms(),
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
    box = west, south, east, north
    if old:
        system = "srs=EPSG:4326"
    elif "CRS:84" not in service.crs and "EPSG:4326" in service.crs:  # MapProxy refuses what it does not list
        system, box = "crs=EPSG:4326", (south, west, north, east)  # latitude first, since 1.3.0
    else:
        system = "crs=CRS:84"
    joint = "&" if "?" in service.endpoint else "?"
    url = (
        f"{service.endpoint}{joint}service=WMS&version={'1.1.1' if old else '1.3.0'}&request=GetMap"
        f"&layers={quote(layer.name)}&styles=&{system}&bbox={','.join(f'{edge:.6f}' for edge in box)}"
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


def _links(service: Service, layers: list[Layer], client: GuardedClient) -> list[HealthCheck]:
    """Whether the metadata that a service names answers, and leads back to the service."""
    named = [(layer.name, layer.metadata[0]) for layer in layers if layer.metadata]
    if address := (service.inspire or {}).get("metadata_url", ""):
        named.insert(0, ("", address))
    found = []
    for name, address in list({address: (name, address) for name, address in named}.values())[:MAX_LAYERS]:
        reply = client.send(address, max_bytes=MAX_BYTES, redirects=3)
        if not reply.ok:
            reason = f"its metadata does not answer: {reply.reason or f'http-{reply.status}'}"
        elif _leads_back(service, reply.body):
            reason = ""
        else:
            reason = "its metadata answers, but does not name this service"
        found.append(_look(service, "link", Layer(name=name), reply.status, reply.seconds, reason))
    return found


def _leads_back(service: Service, body: bytes) -> bool:
    place = service.public_endpoint.partition("://")[2].partition("?")[0].rstrip("/")
    return place.lower().encode() in body.replace(b"&amp;", b"&").lower()


def _look(service: Service, request: str, layer: Layer, status: int, seconds: float, reason: str) -> HealthCheck:
    return HealthCheck(
        service=service,
        at_ms=now_ms(),
        ok=not reason,
        request=request,
        layer=layer.name,
        status=status,
        milliseconds=round(seconds * 1000),
        reason=(f"layer {layer.name}: {reason}" if layer.name else reason) if reason else "",
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
    except (OSError, SyntaxError, ValueError):
        return "a damaged picture"


def _is_uniform(png: bytes) -> bool:
    """All pixels of a PNG are the same."""
    from PIL import Image  # only here: it is large

    with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
        if image.width * image.height > MAX_PIXELS:
            return False
        return all(band.getextrema()[0] == band.getextrema()[1] for band in image.split())


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
    """When the certificate of a host expires, in ms since 1970; 0 when it has none or does not tell. It is read, not
    believed: whether it is valid is found out by the request for capabilities."""
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        return 0
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with (
            guarded_names(config),
            socket.create_connection((parts.hostname, parts.port or 443), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname=parts.hostname) as secure,
        ):
            certificate = secure.getpeercert(binary_form=True) or b""
        from cryptography import x509  # only here: it is large

        return int(x509.load_der_x509_certificate(certificate).not_valid_after_utc.timestamp() * 1000)
    except (OSError, ValueError):
        return 0


class InspireReport(msgspec.Struct):
    """Own checks of what INSPIRE demands of a network service; each null where it does not apply."""

    extended_capabilities: bool
    metadata_link: bool
    languages: bool
    datasets_linked: bool
    links_work: bool | None  # its metadata answered and led back, when last looked at
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
    last = HealthCheck.objects.filter(service=service, request="link").order_by("-at_ms").first()
    alive = None if last is None else not _failed_together(last)
    passed = extended and link and languages and linked and enough is not False and alive is not False
    return InspireReport(
        extended_capabilities=extended,
        metadata_link=link,
        languages=languages,
        datasets_linked=linked,
        links_work=alive,
        availability=share,
        available_enough=enough,
        passed=passed,
    )


def _failed_together(last: HealthCheck) -> bool:
    """Whether one of the links looked at in the same round was broken."""
    same = HealthCheck.objects.filter(service=last.service, request="link", at_ms__gte=last.at_ms - ROUND_MS)
    return same.filter(ok=False).exists()


def order_checks(config: Config) -> bool:
    """Have services looked at that are due, in a job; whether one was ordered. Asked now and then by the engine."""
    from hemeroteca.accounts import SYSTEM
    from hemeroteca.jobs import queries as jobs
    from hemeroteca.jobs import services as orders

    every_ms = int(config.geo_check_hours * 3_600_000)
    if not every_ms or not due(1, every_ms, now_ms()):
        return False
    if any(job.state in ("queued", "running") for job in jobs.recent(SYSTEM, 5, kind="geo.check")):
        return False
    order = {"deep": config.geo_check_deep, "every_hours": config.geo_check_hours}
    orders.submit(SYSTEM, "geo.check", order, by_itself=True)
    return True


# telling people


def tell(change: StateChange, at_ms: int) -> None:
    """Tell channels that are told of everything: once for each change of state."""
    facts = msgspec.to_builtins(change)
    _write(f"service:{change.service}:{at_ms}", "service", facts, at_ms)


def tell_expiry(service: Service, expires_ms: int, now_ms: int) -> None:
    """A certificate that ends soon is told once."""
    if 0 < expires_ms < now_ms + EXPIRY_MS:
        facts = {"service": service.pk, "title": service.title or service.public_endpoint, "host": service.host}
        facts["expires"] = notices.moment(expires_ms)
        _write(f"certificate:{service.pk}:{expires_ms}", "certificate", facts, now_ms)


def _write(event: str, kind: str, facts: dict[str, object], at_ms: int) -> None:
    channels = list(Channel.objects.filter(active=True, errors=True, subscription=None, collection=None))
    for channel in channels:
        notices.write(channel, event, kind, facts, at_ms)
    if channels:
        watch.wake()


def due(limit: int, every_ms: int, now_ms: int) -> list[Service]:
    """Services not looked at for so long, the longest first."""
    rows = Service.objects.exclude(state__in=(Service.State.WITHDRAWN, Service.State.CLOSED)).exclude(url="")
    looked = rows.annotate(looked=Max("checks__at_ms")).order_by("looked", "pk")
    return list(looked.filter(Q(looked=None) | Q(looked__lte=now_ms - every_ms))[:limit])
