"""Filters of catalogue clients (OGC Filter Encoding 1.0 to 2.0, CQL text) as conditions on the catalogue.

What a client may write is bounded in depth and number. A property that the catalogue does not know, or an operator
that makes no sense for it, is an `Invalid` that names it; nothing is quietly left out, as that would find too much.
"""

import re
from datetime import UTC, datetime

from django.db.models import F, Q

from hemeroteca.errors import Invalid
from hemeroteca.geo import places, queries
from hemeroteca.geo.description import DATASETS, SERVICES, BBox
from hemeroteca.geo.xmltree import Element, attribute, child, children, local, text

MAX_CONDITIONS = 200
MAX_DEPTH = 30
OPERATORS = {
    "PropertyIsEqualTo": "=",
    "PropertyIsNotEqualTo": "<>",
    "PropertyIsLessThan": "<",
    "PropertyIsLessThanOrEqualTo": "<=",
    "PropertyIsLessThanEqualTo": "<=",
    "PropertyIsGreaterThan": ">",
    "PropertyIsGreaterThanOrEqualTo": ">=",
    "PropertyIsGreaterThanEqualTo": ">=",
}
SPATIAL = ("BBOX", "Intersects", "Within", "Contains", "Disjoint", "Overlaps", "Equals", "Touches", "Crosses")
NOTHING, ALL = Q(pk__in=[]), ~Q(pk__in=[])
ANY = "\x01"  # stands for one letter, whatever it is
MAX_WILD = 10
_LOOKUPS = {"=": "iexact", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
# Names of Dublin Core, ISO (apiso) and csw:Record, small and without prefix.
_TEXTS = {
    "title": "title", "abstract": "abstract", "description": "abstract", "alternatetitle": "title",
    "creator": "provider", "publisher": "provider", "contributor": "provider", "organisationname": "provider",
    "organizationname": "provider", "language": "language", "rights": "constraints",
    "accessconstraints": "constraints", "servicetypeversion": "version",
}  # fmt: skip
_ANYWHERE = ("anytext", "subject", "keyword", "topiccategory", "any", "relation", "source")
_KINDS = ("type", "servicetype", "format", "protocol")
_TIMES = {"modified": "changed_ms", "revisiondate": "changed_ms", "date": "changed_ms", "creationdate": "found_ms",
          "created": "found_ms", "publicationdate": "found_ms"}  # fmt: skip
_SPANS = {"tempextent_begin": "begin", "tempextent_end": "end"}


def from_xml(element: Element) -> Q:
    """Of an `ogc:Filter` or `fes:Filter`. Raises Invalid."""
    return _Reading().filter(element)


def words_of(element: Element) -> str:
    """Words that every entry must have by this filter: what is found is put into order by them."""
    found = []
    if local(element) == "PropertyIsLike" and "anytext" in text(element, "PropertyName").lower():
        found.append(re.sub(r"[%*?]", " ", text(element, "Literal")))
    elif local(element) in ("Filter", "And"):
        found = [words_of(part) for part in element if isinstance(part.tag, str)]
    return " ".join(found).strip()


def from_cql(cql: str) -> Q:
    """Of CQL text, as `AnyText like '%rivers%' and not type = 'dataset'`. Raises Invalid."""
    return _Cql(cql).whole()


class _Reading:
    """One filter in XML; counts what it has read."""

    def __init__(self) -> None:
        self._count = 0

    def filter(self, element: Element, depth: int = 0) -> Q:
        self._count += 1
        if depth > MAX_DEPTH or self._count > MAX_CONDITIONS:
            raise Invalid(f"a filter may have {MAX_CONDITIONS} conditions, {MAX_DEPTH} deep")
        name = local(element)
        parts = [part for part in element if isinstance(part.tag, str)]
        if name in ("Filter", "And"):
            if parts and all(local(part) in ("GmlObjectId", "FeatureId", "ResourceId") for part in parts):
                return _where("identifier", "in", " ".join(_identity(part) for part in parts))
            found = ALL
            for part in parts:
                found &= self.filter(part, depth + 1)
            return found
        if name == "Or":
            found = NOTHING
            for part in parts:
                found |= self.filter(part, depth + 1)
            return found
        if name == "Not":
            if len(parts) != 1:
                raise Invalid("the filter Not takes one condition")
            return ~self.filter(parts[0], depth + 1)
        if name in SPATIAL:
            return _placed(name.lower(), _geometry(element))
        return self._comparison(name, element)

    def _comparison(self, name: str, element: Element) -> Q:
        prop = text(element, "PropertyName") or text(element, "ValueReference")
        if not prop:
            raise Invalid(f"the filter {name[:40]} is not supported, or names no property")
        if name == "PropertyIsNull" or name == "PropertyIsNil":
            return _missing(prop)
        if name == "PropertyIsBetween":
            low, high = text(element, "LowerBoundary"), text(element, "UpperBoundary")
            return _where(prop, ">=", low) & _where(prop, "<=", high)
        literal = text(element, "Literal")
        if name == "PropertyIsLike":
            wild, single = attribute(element, "wildCard") or "%", attribute(element, "singleChar") or "_"
            return _where(prop, "like", literal.replace(wild, "%").replace("*", "%").replace(single, ANY))
        if name not in OPERATORS:
            raise Invalid(f"the filter {name[:40]} is not supported")
        return _where(prop, OPERATORS[name], literal)


def _identity(element: Element) -> str:
    return attribute(element, "fid") or attribute(element, "rid") or attribute(element, "id")


def _geometry(element: Element) -> BBox:
    """The box around the geometry of a spatial condition."""
    name = local(element)
    shape = next(
        element.iter(*("{*}" + one for one in ("Envelope", "Box", "Polygon", "Point", "LineString", "MultiPolygon"))),
        None,
    )
    if shape is None:
        raise Invalid(f"the filter {name} has no geometry that is known: Envelope, Box, Polygon, Point or LineString")
    system = attribute(shape, "srsName")
    if system and not places.is_geographic(system):
        raise Invalid(f"the filter {name} has a geometry in {system[:60]}; write it in degrees (EPSG:4326 or CRS:84)")
    if local(shape) == "Box" and not system:
        turned = False  # GML 2 writes x,y
    else:
        turned = places.latitude_first(system) if system else True
    numbers: list[float] = []
    for part in shape.iter("{*}lowerCorner", "{*}upperCorner", "{*}pos", "{*}posList", "{*}coordinates"):
        numbers += places.numbers(text(part))
        if local(part) == "coordinates" and not system:
            turned = False
    return _around(numbers, turned, name)


def _around(numbers: list[float], turned: bool, name: str) -> BBox:
    first, second = numbers[0::2], numbers[1::2]
    if not first or len(first) != len(second):
        raise Invalid(f"the geometry of {name} has no pairs of numbers")
    xs, ys = (second, first) if turned else (first, second)
    found = places.box(min(xs), min(ys), max(xs), max(ys))
    if found is None:
        raise Invalid(f"the geometry of {name} is not in degrees")
    return found


def _placed(relation: str, box: BBox) -> Q:
    """How the box of an entry lies to another one."""
    west, south, east, north = box
    here = Q(west__lte=F("east"))  # not over the date line
    if relation == "within":
        return here & Q(west__gte=west, east__lte=east, south__gte=south, north__lte=north)
    if relation == "contains":
        return here & Q(west__lte=west, east__gte=east, south__lte=south, north__gte=north)
    if relation == "equals":
        return Q(west=west, east=east, south=south, north=north)
    if relation == "disjoint":
        return Q(west__isnull=False) & ~queries.meets(box)
    return queries.meets(box)


# properties


def _where(name: str, operator: str, value: str) -> Q:
    """One comparison of a property with a text."""
    field = re.split(r"[:/]", name)[-1].lower()
    value = value.strip()
    if operator == "<>":
        return ~_where(name, "=", value)
    if field in _ANYWHERE:
        if operator not in ("like", "="):
            raise Invalid(f"{name[:40]} can only be searched with like and =")
        return queries.has_words(value.replace("%", " ").replace(ANY, " "))
    if field == "identifier":
        if operator == "in":
            return Q(key__in=queries.keys_of(value.split()))
        if operator == "like":
            raise Invalid("identifier can only be compared with =")
        return Q(key__in=queries.keys_of([value]))
    if field in _KINDS:
        return _of_kind(value, operator, name)
    if field in _TIMES:
        return _at(_TIMES[field], operator, value, name)
    if field in _SPANS:
        if operator == "like":
            raise Invalid(f"{name[:40]} is a time; compare it with =, <, <=, > or >=")
        lookup = "startswith" if operator == "=" else _LOOKUPS[operator]
        return Q(**{f"{_SPANS[field]}__gt": ""}) & Q(**{f"{_SPANS[field]}__{lookup}": value})
    if field in _TEXTS:
        return _text(_TEXTS[field], operator, value)
    raise Invalid(f"{name[:40]} is not a queryable; these are: {', '.join(queryables())}")


def queryables() -> list[str]:
    return sorted({*_TEXTS, *_ANYWHERE, *_KINDS, *_TIMES, *_SPANS, "identifier", "boundingbox"})


def _text(field: str, operator: str, value: str) -> Q:
    if operator != "like":
        return Q(**{f"{field}__{_LOOKUPS[operator]}": value})
    if ANY in value:
        if value.count("%") + value.count(ANY) > MAX_WILD:
            raise Invalid(f"a pattern may have {MAX_WILD} wild cards")
        pattern = "".join({"%": ".*", ANY: "."}.get(one, re.escape(one)) for one in value[:200])
        return Q(**{f"{field}__iregex": f"^{pattern}$"})
    parts = [part for part in value.split("%") if part]
    if "%" not in value:
        return Q(**{f"{field}__iexact": value})
    found = ALL
    if parts and not value.startswith("%"):
        found &= Q(**{f"{field}__istartswith": parts[0]})
    if parts and not value.endswith("%"):
        found &= Q(**{f"{field}__iendswith": parts[-1]})
    for part in parts:
        found &= Q(**{f"{field}__icontains": part})
    return found


def _of_kind(value: str, operator: str, name: str) -> Q:
    """`service`, `dataset`, or one of our types as others write them: `OGC:WMS`, `view`, `urn:ogc:serviceType:WMS`."""
    if operator not in ("like", "="):
        raise Invalid(f"{name[:40]} can only be compared with = and like")
    plain = value.replace("%", "").replace(ANY, "_").strip().lower()
    last = re.split(r"[:\s/]", plain)[-1] if plain else ""
    if plain in ("service", "services"):
        return Q(type__in=tuple(SERVICES))
    if plain in ("dataset", "series", "nongeographicdataset"):
        return Q(type__in=tuple(DATASETS))
    kinds = {"view": ("wms", "wmts", "tms"), "discovery": ("csw", "ogcapi-records"), "transformation": ("wcts",),
             "download": ("wfs", "wcs", "atom", "ogcapi-features", "ogcapi-coverages", "sos", "stac")}  # fmt: skip
    if plain in kinds:
        return Q(type__in=kinds[plain])
    if not plain:
        return ALL
    return Q(type__in=(plain, last))


def _at(field: str, operator: str, value: str, name: str) -> Q:
    if operator == "like":
        raise Invalid(f"{name[:40]} is a time; compare it with =, <, <=, > or >=")
    try:
        moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        raise Invalid(f"{value[:40]!r} is no time; write it like 2026-01-31 or 2026-01-31T12:00:00Z")
    ms = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    whole_day = 86_400_000 if len(value) == 10 else 1000
    if operator == "=":
        return Q(**{f"{field}__gte": ms, f"{field}__lt": ms + whole_day})
    if operator in ("<=", ">"):  # to the end of that day or second, and after it
        return Q(**{f"{field}__{'lt' if operator == '<=' else 'gte'}": ms + whole_day})
    return Q(**{f"{field}__{_LOOKUPS[operator]}": ms})


def _missing(name: str) -> Q:
    field = re.split(r"[:/]", name)[-1].lower()
    if field in ("boundingbox", "spatial", "coverage"):
        return Q(west__isnull=True)
    if field in _TEXTS:
        return Q(**{_TEXTS[field]: ""})
    if field in _SPANS:
        return Q(**{_SPANS[field]: ""})
    return NOTHING


# CQL

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<time>\d{4}-\d\d[\dT:.Z+-]*)|(?P<number>[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)"
    r"|(?P<name>\"[^\"]+\"|[A-Za-z_][\w:.-]*)|(?P<sign><=|>=|<>|!=|[=<>(),]))"
)


class _Cql:
    """CQL text, read from left to right."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        at, text = 0, text.strip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None or len(self._tokens) > 5000:
                raise Invalid(f"the constraint cannot be read from {text[at : at + 30]!r} on")
            self._tokens.append(match[0].strip())
            at = match.end()
        self._at = 0
        self._count = 0

    def whole(self) -> Q:
        found = self._or(0)
        if self._at < len(self._tokens):
            raise Invalid(f"the constraint goes on after its end: {self._peek()[:30]!r}")
        return found

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, *wanted: str) -> str:
        token = self._peek()
        if not token or (wanted and token.upper() not in wanted):
            raise Invalid(
                f"the constraint has {token[:30] or 'its end'!r} where {' or '.join(wanted) or 'more'} should be"
            )
        self._at += 1
        return token

    def _is(self, *words: str) -> bool:
        if self._peek().upper() in words:
            self._at += 1
            return True
        return False

    def _or(self, depth: int) -> Q:
        found = self._and(depth)
        while self._is("OR"):
            found |= self._and(depth)
        return found

    def _and(self, depth: int) -> Q:
        found = self._one(depth)
        while self._is("AND"):
            found &= self._one(depth)
        return found

    def _one(self, depth: int) -> Q:
        self._count += 1
        if depth > MAX_DEPTH or self._count > MAX_CONDITIONS:
            raise Invalid(f"a constraint may have {MAX_CONDITIONS} conditions, {MAX_DEPTH} deep")
        if self._is("NOT"):
            return ~self._one(depth + 1)
        if self._is("("):
            found = self._or(depth + 1)
            self._take(")")
            return found
        name = self._take().strip('"')
        if name.lower() in {one.lower() for one in SPATIAL} and self._peek() == "(":
            return self._place(name.lower())
        if self._is("IS"):
            negated = self._is("NOT")
            self._take("NULL")
            return ~_missing(name) if negated else _missing(name)
        negated = self._is("NOT")
        if self._is("BETWEEN"):
            low = self._value()
            self._take("AND")
            found = _where(name, ">=", low) & _where(name, "<=", self._value())
        elif self._is("LIKE", "ILIKE"):
            found = _where(name, "like", self._value().replace("*", "%").replace("_", ANY))
        else:
            operator = self._take("=", "<>", "!=", "<", "<=", ">", ">=")
            found = _where(name, "<>" if operator == "!=" else operator, self._value())
        return ~found if negated else found

    def _value(self) -> str:
        token = self._take()
        return token[1:-1].replace("''", "'") if token.startswith("'") else token

    def _place(self, relation: str) -> Q:
        """`BBOX(ows:BoundingBox, W, S, E, N)` or `INTERSECTS(…, POLYGON((x y, …)))`; x is the longitude."""
        self._take("(")
        self._take()
        self._take(",")
        depth, numbers = 1, []
        while depth:
            part = self._take()
            depth += {"(": 1, ")": -1}.get(part, 0)
            value = places.number(part)
            if value is not None:
                numbers.append(value)
        if relation == "bbox":
            if len(numbers) < 4:
                raise Invalid("BBOX takes four numbers: west, south, east, north")
            return _placed(relation, queries.parse_bbox(",".join(str(one) for one in numbers[:4])))
        return _placed(relation, _around(numbers, False, relation))


# order


def order(given: list[tuple[str, bool]]) -> tuple[str, ...]:
    """Fields of the catalogue for (property, descending), as Django orders by them. Raises Invalid."""
    found = []
    for name, descending in given[:5]:
        field = re.split(r"[:/]", name)[-1].lower()
        column = _TEXTS.get(field) or _TIMES.get(field) or _SPANS.get(field) or ("key" if field == "identifier" else "")
        column = column or ("type" if field in _KINDS else "")
        if not column:
            raise Invalid(f"{name[:40]} is nothing to sort by")
        found.append(f"-{column}" if descending else column)
    return tuple(found)


def sort_of(element: Element | None) -> list[tuple[str, bool]]:
    """Of `ogc:SortBy`."""
    return [
        (text(one, "PropertyName") or text(one, "ValueReference"), text(one, "SortOrder").upper().startswith("D"))
        for one in children(element, "SortProperty")
        if child(one, "PropertyName") is not None or child(one, "ValueReference") is not None
    ]
