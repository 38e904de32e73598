"""Questions to the catalogue: search by words, place, type, provider, keyword and date; statistics."""

import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec
from django.db.models import Avg, Count, F, Max, Q, QuerySet

from hemeroteca.accounts import Actor, require
from hemeroteca.clock import now_ms
from hemeroteca.errors import Invalid
from hemeroteca.geo import concepts, services
from hemeroteca.geo.description import TYPES, BBox
from hemeroteca.geo.models import HealthCheck, Layer, Service, SiblingRule

_PLAIN = re.compile(r"[\w -]+")  # nothing that means something in an expression
MAX_RANKED = 5_000  # services put into order by words; the rest follow by their number
SHOWN = (Service.State.ALIVE, Service.State.FAILING, Service.State.RESTRICTED)


class ServiceQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody looks for. Empty fields ask for nothing."""

    words: str = ""
    bbox: BBox | None = None
    types: tuple[str, ...] = ()
    provider: str = ""
    keyword: str = ""
    licence: str = ""
    country: str = ""
    begin: str = ""  # of a span that the temporal extent must touch …
    end: str = ""
    ids: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()  # external identifiers
    states: tuple[str, ...] = SHOWN
    mirrors: bool = False  # show mirrors too
    changed_since_ms: int = 0
    where: Q | None = None  # further conditions, as `catalogue_filters` reads them
    order: tuple[str, ...] = ()  # columns to order by; none: the best fit, then the newest


def search(actor: Actor, wish: ServiceQuery, limit: int = 20, offset: int = 0) -> tuple[list[Service], int]:
    """(this part of what was found, how many there are). The best fit of the words first, then the newest."""
    require(actor, "geo.read")
    rows = _rows(wish)
    total = rows.count()
    words = _words(wish.words)
    if wish.order:
        return list(rows.order_by(*wish.order, "pk")[offset : offset + limit]), total
    if not words:
        return list(rows.order_by("-seen_ms", "pk")[offset : offset + limit]), total
    light = rows.order_by("-seen_ms").values_list("pk", "title", "keywords", "provider", "state", "layers_count")
    ranked = sorted(light[:MAX_RANKED], key=lambda row: (-_score(words, *row[1:]), row[0]))
    wanted = [row[0] for row in ranked[offset : offset + limit]]
    found = Service.objects.in_bulk(wanted)
    return [found[pk] for pk in wanted if pk in found], total


def boxes(actor: Actor, wish: ServiceQuery, limit: int) -> list[tuple[int, str, str, float, float, float, float]]:
    """Number, title, type and sides of what was found and has a place, for a map."""
    require(actor, "geo.read")
    rows = _rows(wish).filter(west__isnull=False, south__isnull=False, east__isnull=False, north__isnull=False)
    sides = ("west", "south", "east", "north")
    return list(rows.order_by("-seen_ms", "pk").values_list("pk", "title", "type", *sides)[:limit])


def every(actor: Actor, wish: ServiceQuery) -> Iterable[Service]:
    """All that fits, for exports; in a fixed order."""
    require(actor, "geo.read")
    return _rows(wish).order_by("pk").iterator(chunk_size=500)


def layers(service: Service) -> list[Layer]:
    return list(Layer.objects.filter(service=service).order_by("position"))


def layers_of(found: list[Service]) -> dict[int, list[Layer]]:
    """Of several services: one question."""
    by_service: dict[int, list[Layer]] = {service.pk: [] for service in found}
    for layer in Layer.objects.filter(service__in=found).order_by("service", "position"):
        by_service[layer.service_id].append(layer)  # type: ignore[attr-defined]
    return by_service


def mirrors(service: Service) -> list[Service]:
    """Other endpoints with the same layers."""
    return list(Service.objects.filter(mirror_of=service).order_by("pk")[:100])


def checks(service: Service, limit: int = 100) -> list[HealthCheck]:
    return list(HealthCheck.objects.filter(service=service).order_by("-at_ms")[:limit])


def reliability(service: Service, since_ms: int = 0) -> float | None:
    """Share of looks at its capabilities that went well, in per cent; None: nobody looked."""
    looked = HealthCheck.objects.filter(service=service, request="capabilities", at_ms__gte=since_ms)
    total = looked.count()
    return round(100 * looked.filter(ok=True).count() / total, 2) if total else None


def availability(service: Service, days: int) -> list[tuple[str, float, int]]:
    """For each of the last days on which somebody looked: the day, per cent of looks that went well, mean ms."""
    day = 86_400_000
    since = (now_ms() // day - days + 1) * day
    looked = HealthCheck.objects.filter(service=service, request="capabilities", at_ms__gte=since)
    by_day: dict[int, list[tuple[bool, int]]] = {}
    for at_ms, ok, ms in looked.order_by("at_ms").values_list("at_ms", "ok", "milliseconds"):
        by_day.setdefault(at_ms // day, []).append((ok, ms))
    return [
        (
            datetime.fromtimestamp(number * 86_400, UTC).date().isoformat(),
            100 * sum(ok for ok, _ in seen) / len(seen),
            round(sum(ms for _, ms in seen) / len(seen)),
        )
        for number, seen in by_day.items()
    ]


def health(service: Service) -> dict[str, Any]:
    """How a service stood and stands."""
    looked = HealthCheck.objects.filter(service=service, request="capabilities")
    facts = looked.aggregate(Avg("milliseconds"), Max("at_ms"), Max("expires_ms"))
    return {
        "state": service.state,
        "reason": service.reason,
        "reliability": reliability(service),
        "milliseconds": round(facts["milliseconds__avg"] or 0),
        "checked_ms": facts["at_ms__max"] or 0,
        "certificate_expires_ms": facts["expires_ms__max"] or 0,
        "failing_layers": sorted(
            set(
                HealthCheck.objects.filter(service=service, ok=False)
                .exclude(layer="")
                .filter(at_ms__gte=(facts["at_ms__max"] or 0) - 86_400_000)
                .values_list("layer", flat=True)
            )
        ),
    }


def statistics(actor: Actor) -> dict[str, Any]:
    """How many services there are now, and how many there ever were: by type, software, country, state."""
    require(actor, "geo.read")
    alive = Service.objects.filter(state__in=SHOWN)
    ages = [
        (seen if failed else now_ms()) - found
        for found, seen, failed in Service.objects.exclude(seen_ms=0).values_list("found_ms", "seen_ms", "failed_ms")
    ]
    day = 86_400_000
    return {
        "services": {"now": alive.count(), "ever": Service.objects.count()},
        "layers": Layer.objects.filter(service__state__in=SHOWN).count(),
        "states": _count(Service.objects.all(), "state"),
        "types": {"now": _count(alive, "type"), "ever": _count(Service.objects.all(), "type")},
        "software": _families(alive),
        "countries": _count(alive.exclude(country=""), "country"),
        "licences": _count(alive, "licence"),
        "survival_days": {
            "mean": round(sum(ages) / len(ages) / day, 1) if ages else 0.0,
            "gone": Service.objects.filter(state=Service.State.GONE).count(),
        },
        "siblings": {
            rule.name: {"tried": rule.tried, "found": rule.found} for rule in SiblingRule.objects.order_by("-found")
        },
    }


def parse_bbox(text: str) -> BBox:
    """`W,S,E,N` as people and OGC APIs write it; six numbers have heights. Raises Invalid."""
    from hemeroteca.geo import places

    parts = [places.number(part) for part in text.split(",")]
    if len(parts) == 6:
        parts = [parts[0], parts[1], parts[3], parts[4]]
    if len(parts) == 4 and None not in parts:
        west, south, east, north = (float(part) for part in parts if part is not None)
        sane = -180 <= west <= 180 and -180 <= east <= 180 and -90 <= south <= north <= 90
        if sane:
            return (west, south, east, north)
    raise Invalid(f"{text[:60]!r} is not a bounding box; write west,south,east,north in degrees, like -9.5,36,4.5,44")


def parse_types(text: Iterable[str]) -> tuple[str, ...]:
    """Names of types, also several with commas. Raises Invalid."""
    names = tuple(name.strip().lower() for part in text for name in part.split(",") if name.strip())
    for name in names:
        if name not in TYPES:
            raise Invalid(f"{name[:40]!r} is not a type; these are: {', '.join(TYPES)}")
    return names


def parse_span(text: str) -> tuple[str, str]:
    """`2001-01-01/2010-12-31`, with `..` for open, or one moment. Raises Invalid."""
    begin, slash, end = text.strip().partition("/")
    begin, end = begin.strip(), (end if slash else begin).strip()
    for one in (begin, end):
        if one not in ("", "..") and not re.fullmatch(r"\d{4}(-\d\d(-\d\d([T ][\d:.]+(Z|[+-]\d\d:?\d\d)?)?)?)?", one):
            raise Invalid(f"{text[:60]!r} is not a time or a span of time; write 2001-01-01 or 2001-01-01/2010-12-31")
    return ("" if begin == ".." else begin), ("" if end == ".." else end)


def has_words(text: str) -> Q:
    """Entries in which all these words occur."""
    found = Q()
    for word in _words(text):
        found &= Q(words__contains=word)
    return found


def keys_of(identifiers: Iterable[str]) -> list[int]:
    """The keys of services by their identifiers; what is none is left out."""
    keys = []
    for name in identifiers:
        try:
            value = int(name.removeprefix("service-"), 16)
        except ValueError:
            continue
        if 0 <= value < 1 << 64:
            keys.append(value - (1 << 64) * (value >= 1 << 63))
    return keys


# parts


def _rows(wish: ServiceQuery) -> QuerySet[Service]:
    rows = Service.objects.all()
    if wish.states:
        rows = rows.filter(state__in=wish.states)
    if not wish.mirrors:
        rows = rows.filter(mirror_of=None)
    if wish.types:
        rows = rows.filter(type__in=wish.types)
    if wish.words:
        rows = rows.filter(has_words(wish.words))
    if wish.where is not None:
        rows = rows.filter(wish.where)
    if wish.provider:
        rows = rows.filter(provider__icontains=wish.provider)
    if wish.keyword:
        named = Q(words__contains=services.fold(wish.keyword))
        others = [label for label in concepts.labels(wish.keyword) if _PLAIN.fullmatch(label)]
        if others:  # whole words: `mar` is not in `marco`
            named |= Q(words__regex=rf"(^|\W)({'|'.join(others)})(\W|$)")
        rows = rows.filter(named)
    if wish.licence:
        rows = rows.filter(licence__istartswith=wish.licence)
    if wish.country:
        rows = rows.filter(country__iexact=wish.country)
    if wish.changed_since_ms:
        rows = rows.filter(changed_ms__gte=wish.changed_since_ms)
    if wish.bbox is not None:
        rows = rows.filter(meets(wish.bbox))
    if wish.begin:
        rows = rows.filter(Q(end__gte=wish.begin) | Q(end="", begin__gt=""))
    if wish.end:
        rows = rows.filter(Q(begin__lte=wish.end + "~", begin__gt="") | Q(begin="", end__gt=""))
    if wish.ids:
        rows = rows.filter(key__in=keys_of(wish.ids))
    if wish.endpoints:
        rows = rows.filter(endpoint__in=wish.endpoints)
    return rows


def meets(box: BBox) -> Q:
    """Boxes that touch this one; either may cross the date line."""
    west, south, east, north = box
    if west > east:
        return meets((west, south, 180.0, north)) | meets((-180.0, south, east, north))
    plain = Q(west__lte=east, east__gte=west)
    crossing = Q(west__gt=F("east")) & (Q(west__lte=east) | Q(east__gte=west))
    return Q(south__lte=north, north__gte=south) & (plain | crossing)


def _words(text: str) -> list[str]:
    """Words to look for; a plural finds the singular too."""
    found = re.findall(r"[\w.-]+", services.fold(text))[:20]
    return [_stem(word) for word in found]


def _stem(word: str) -> str:
    if len(word) > 5 and word.endswith("es") and word[-3] not in "aeiou":
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def _score(words: list[str], title: str, keywords: list[str], provider: str, state: str, count: int) -> float:
    heads, tags, who = services.fold(title), services.fold(" ".join(keywords)), services.fold(provider)
    score = 0.0
    for word in words:
        score += 6.0 * (re.search(rf"\b{re.escape(word)}", heads) is not None) + 1.0 * (word in heads)
        score += 3.0 * (word in tags) + 1.5 * (word in who) + 1.0
    return score + (2.0 if state == Service.State.ALIVE else 0.0) + min(1.0, count / 50)


def _count(rows: QuerySet[Service], name: str) -> dict[str, int]:
    found = rows.values_list(name).annotate(many=Count("pk")).order_by("-many", name)
    return dict(found)


def _families(rows: QuerySet[Service]) -> dict[str, int]:
    """Software without its versions."""
    counts: Counter[str] = Counter()
    for name in rows.exclude(software="").values_list("software", flat=True):
        counts[re.sub(r"[\s/]+v?\d[\w.+-]*$", "", name)] += 1
    return dict(counts.most_common())
