"""Tables of the catalogue of geographic services. Times are milliseconds since 1970 UTC, as everywhere."""

from django.conf import settings
from django.db import models

from hemeroteca.geo import endpoints


class Service(models.Model):
    """A service or dataset that was found, with what it says of itself and how it stands."""

    class State(models.TextChoices):
        ALIVE = "alive"  # it answered as what it is
        FAILING = "failing"  # it did not, lately
        GONE = "gone"  # not for long, or it says that it is gone
        RESTRICTED = "restricted"  # it wants to know who asks: 401, 403
        CLOSED = "closed"  # robots.txt forbids to ask
        WITHDRAWN = "withdrawn"  # its owner does not want it in the catalogue

    key = models.BigIntegerField(unique=True, db_comment="64-bit hash of type and endpoint")
    type = models.CharField(max_length=20, db_comment="one of the closed list of types")
    version = models.CharField(max_length=20, default="", db_comment="of its interface, the highest seen")
    endpoint = models.TextField(db_comment="where it is asked; may hold a token, which is never shown")
    url = models.TextField(default="", db_comment="the address whose answer described it; never shown with its secrets")
    url_key = models.BigIntegerField(default=0, db_index=True, db_comment="key of the page of that address")
    host = models.CharField(max_length=255, db_index=True, db_comment="host of the endpoint")
    title = models.TextField(default="", db_comment="its title")
    abstract = models.TextField(default="", db_comment="what it says it is")
    keywords = models.JSONField(default=list, db_comment="its keywords, each once")
    provider = models.TextField(default="", db_comment="who provides it")
    contact = models.JSONField(null=True, db_comment="who answers for it, as geo.description.Contact")
    fees = models.TextField(default="", db_comment="what it says of fees")
    constraints = models.TextField(default="", db_comment="what it says of access and use")
    licence = models.CharField(max_length=60, default="unknown", db_comment="what that means, or unknown")
    inspire = models.JSONField(null=True, db_comment="INSPIRE extended capabilities, as geo.description.Inspire")
    language = models.CharField(max_length=20, default="", db_comment="language it describes itself in")
    software = models.CharField(max_length=60, default="", db_comment="what serves it")
    country = models.CharField(max_length=60, default="", db_comment="of its contact, or of its host's domain")
    thumbnail = models.TextField(default="", db_comment="address of a small picture")
    crs = models.JSONField(default=list, db_comment="coordinate systems")
    formats = models.JSONField(default=list, db_comment="formats it answers in")
    operations = models.JSONField(default=list, db_comment="what can be asked of it")
    west = models.FloatField(null=True, db_comment="bounding box, degrees; west > east crosses the date line")
    south = models.FloatField(null=True, db_comment="bounding box, degrees")
    east = models.FloatField(null=True, db_comment="bounding box, degrees")
    north = models.FloatField(null=True, db_comment="bounding box, degrees")
    begin = models.CharField(max_length=40, default="", db_comment="begin of its temporal extent, ISO 8601")
    end = models.CharField(max_length=40, default="", db_comment="end of its temporal extent, ISO 8601")
    words = models.TextField(default="", db_comment="all its words, folded, for search")
    layers_count = models.IntegerField(default=0, db_comment="layers, feature types, coverages, processes, datasets")
    fingerprint = models.BigIntegerField(default=0, db_index=True, db_comment="hash of its layers; equal for mirrors")
    mirror_of = models.ForeignKey(
        "self", models.SET_NULL, null=True, related_name="mirrors", db_comment="another endpoint with the same layers"
    )
    state = models.CharField(max_length=10, choices=State, default=State.ALIVE, db_comment="how it stands")
    reason = models.TextField(default="", db_comment="why it is not alive, for people")
    found_ms = models.BigIntegerField(db_comment="when it was first met")
    seen_ms = models.BigIntegerField(default=0, db_index=True, db_comment="when it last answered as what it is")
    changed_ms = models.BigIntegerField(default=0, db_comment="when its description last changed")
    failed_ms = models.BigIntegerField(default=0, db_comment="since when it does not answer; 0: it does")
    found_on = models.TextField(default="", db_comment="the page that led to it")
    anchor = models.TextField(default="", db_comment="text of the link there")
    way = models.JSONField(default=list, db_comment="pages on the way to it, from the seed")
    crawl = models.ForeignKey("frontier.Crawl", models.SET_NULL, null=True, db_comment="crawl that found it")
    source = models.TextField(default="", db_comment="the catalogue it was harvested from; empty: by a crawl")
    digest = models.TextField(default="", db_comment="payload digest of the document that described it")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, db_comment="who claimed it as theirs"
    )

    class Meta:
        db_table = "geo_service"
        db_table_comment = "geographic services and datasets found"
        indexes = [models.Index(fields=["type", "state"], name="geo_service_type")]

    @property
    def public_endpoint(self) -> str:
        """The endpoint as it may be shown."""
        return endpoints.without_secrets(self.endpoint)

    @property
    def public_url(self) -> str:
        return endpoints.without_secrets(self.url)

    @property
    def bbox(self) -> tuple[float, float, float, float] | None:
        if self.west is None or self.south is None or self.east is None or self.north is None:
            return None
        return (self.west, self.south, self.east, self.north)

    @property
    def identifier(self) -> str:
        """Its name for other catalogues; it does not change."""
        return f"service-{self.key & 0xFFFF_FFFF_FFFF_FFFF:016x}"


class Layer(models.Model):
    """A layer, feature type, coverage, process, offering or collection of a service."""

    service = models.ForeignKey(Service, models.CASCADE, related_name="layers", db_comment="service that has it")
    position = models.IntegerField(db_comment="its place in the description")
    name = models.TextField(db_comment="how it is asked for")
    title = models.TextField(default="", db_comment="its title")
    abstract = models.TextField(default="", db_comment="what it shows")
    keywords = models.JSONField(default=list, db_comment="its keywords")
    west = models.FloatField(null=True, db_comment="bounding box, degrees")
    south = models.FloatField(null=True, db_comment="bounding box, degrees")
    east = models.FloatField(null=True, db_comment="bounding box, degrees")
    north = models.FloatField(null=True, db_comment="bounding box, degrees")
    begin = models.CharField(max_length=40, default="", db_comment="begin of its temporal extent")
    end = models.CharField(max_length=40, default="", db_comment="end of its temporal extent")
    crs = models.JSONField(default=list, db_comment="coordinate systems")
    formats = models.JSONField(default=list, db_comment="formats of its own")
    styles = models.JSONField(default=list, db_comment="styles it can be drawn in")
    metadata = models.JSONField(default=list, db_comment="addresses of its metadata")
    url = models.TextField(default="", db_comment="its own address, where it has one")

    class Meta:
        db_table = "geo_layer"
        db_table_comment = "layers, feature types, coverages and processes of services"
        constraints = [models.UniqueConstraint(fields=["service", "position"], name="geo_layer_place")]

    @property
    def bbox(self) -> tuple[float, float, float, float] | None:
        if self.west is None or self.south is None or self.east is None or self.north is None:
            return None
        return (self.west, self.south, self.east, self.north)


class HealthCheck(models.Model):
    """One look at whether a service works."""

    service = models.ForeignKey(Service, models.CASCADE, related_name="checks", db_comment="service looked at")
    at_ms = models.BigIntegerField(db_comment="when")
    ok = models.BooleanField(db_comment="it answered as it should")
    request = models.CharField(max_length=20, db_comment="what was asked: capabilities, map, feature, link")
    layer = models.TextField(default="", db_comment="layer it was asked for")
    status = models.SmallIntegerField(default=0, db_comment="HTTP status; 0: no answer")
    milliseconds = models.IntegerField(default=0, db_comment="until the whole answer was there")
    reason = models.TextField(default="", db_comment="what was wrong, for people")
    expires_ms = models.BigIntegerField(default=0, db_comment="when its certificate expires; 0: unknown or none")

    class Meta:
        db_table = "geo_check"
        db_table_comment = "looks at whether services work"
        indexes = [models.Index(fields=["service", "-at_ms"], name="geo_check_latest")]


class SiblingRule(models.Model):
    """A rule that guesses further services, and how often it was right."""

    name = models.CharField(max_length=200, primary_key=True, db_comment="what it guesses")
    tried = models.IntegerField(default=0, db_comment="requests it led to")
    found = models.IntegerField(default=0, db_comment="services found by them")

    class Meta:
        db_table = "geo_sibling_rule"
        db_table_comment = "rules that guess services from services, with their success"


class Harvest(models.Model):
    """A catalogue of others that is harvested, and what its last harvest saw."""

    url = models.TextField(db_comment="where it is asked")
    key = models.BigIntegerField(unique=True, db_comment="64-bit hash of kind and address")
    kind = models.CharField(max_length=20, db_comment="what it speaks, as geo.harvest.KINDS")
    last_ms = models.BigIntegerField(default=0, db_comment="when it was last harvested to its end")
    report = models.JSONField(default=dict, db_comment="added, changed, vanished, failed of the last harvest")

    class Meta:
        db_table = "geo_harvest"
        db_table_comment = "catalogues of others that are harvested"


class HarvestRecord(models.Model):
    """A record of another catalogue, to tell what is new, changed or vanished."""

    harvest = models.ForeignKey(Harvest, models.CASCADE, db_comment="catalogue it belongs to")
    identifier = models.TextField(db_comment="its name there")
    digest = models.BigIntegerField(db_comment="hash of what it said")
    addresses = models.JSONField(default=list, db_comment="services it names")
    title = models.TextField(default="", db_comment="its title")
    seen_ms = models.BigIntegerField(db_comment="when it was last there")

    class Meta:
        db_table = "geo_harvest_record"
        db_table_comment = "records of catalogues that are harvested"
        constraints = [models.UniqueConstraint(fields=["harvest", "identifier"], name="geo_record_once")]
