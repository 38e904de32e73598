"""Tables of the archive: WARC files and the index of captures in them."""

from django.conf import settings
from django.db import models

from hemeroteca.frontier.models import Crawl, Page


class WarcFile(models.Model):
    """A WARC file of this archive."""

    name = models.CharField(max_length=200, unique=True, db_comment="file name in the store")
    size = models.BigIntegerField(default=0, db_comment="bytes acknowledged; more on disk is unfinished work")
    closed = models.BooleanField(default=False, db_comment="complete; will never grow again")
    digest = models.CharField(max_length=80, default="", db_comment="digest of the closed file")
    created_ms = models.BigIntegerField(db_comment="when it was begun")

    class Meta:
        db_table = "warc_file"
        db_table_comment = "WARC files, with how much of each is acknowledged"


class IndexedCapture(models.Model):
    """One fetch of a URL, as it lies in a WARC file."""

    record_id = models.UUIDField(unique=True, db_comment="WARC-Record-ID; the public, permanent name of the capture")
    page = models.ForeignKey(
        Page, models.SET_NULL, null=True, db_index=False, db_comment="page it is a capture of; look up by urlkey"
    )
    crawl = models.ForeignKey(Crawl, models.SET_NULL, null=True, db_index=False, db_comment="crawl that made it")
    url = models.TextField(db_comment="URL as requested")
    urlkey = models.TextField(db_comment="SURT form of the URL, the sort key of the index (services.index_key)")
    captured_ms = models.BigIntegerField(db_comment="when the request was sent")
    status = models.SmallIntegerField(db_comment="HTTP status")
    mime = models.CharField(max_length=120, default="", db_comment="media type, from the header")
    digest = models.TextField(db_comment="payload digest")
    kind = models.CharField(max_length=12, db_comment="response, revisit, resource, metadata, conversion")
    version = models.BooleanField(db_comment="differs from the capture before it")
    importance = models.FloatField(null=True, db_comment="how much it differs, 0 to 1; null when not compared")
    truncated = models.CharField(max_length=12, default="", db_comment="WARC-Truncated reason; empty when whole")
    refers_to = models.UUIDField(
        null=True, db_comment="for a revisit, record_id of the capture that has the payload; null until it came"
    )
    body_size = models.BigIntegerField(default=0, db_comment="bytes of the body as received")
    warc = models.ForeignKey(WarcFile, models.PROTECT, db_comment="file that holds the record")
    offset = models.BigIntegerField(db_comment="where the record begins in the file")
    length = models.BigIntegerField(db_comment="compressed length of the record")

    class Meta:
        db_table = "capture"
        db_table_comment = "index of every capture in the archive"
        indexes = [
            models.Index(fields=["urlkey", "captured_ms"], name="capture_urlkey"),
            # only records that hold a payload can be the original of a revisit
            models.Index(fields=["digest"], name="capture_digest", condition=~models.Q(kind="revisit")),
            models.Index(fields=["id"], name="capture_unjoined", condition=models.Q(kind="revisit", refers_to=None)),
        ]


class SiteNoise(models.Model):
    """What differs at every visit of a site, as `change.NoiseModel` learned it."""

    host = models.CharField(max_length=255, unique=True, db_comment="host, as host.name")
    model = models.TextField(db_comment="blocks of its pages and how often each differed (JSON)")
    learned_ms = models.BigIntegerField(db_comment="when something was last learned")

    class Meta:
        db_table = "site_noise"
        db_table_comment = "blocks of a site's pages that differ at every visit"


class Tally(models.Model):
    """Captures counted by day and kind, so that nobody needs to count millions of rows."""

    day = models.IntegerField(db_comment="of the captures, in days since 1970 UTC")
    status = models.SmallIntegerField(db_comment="HTTP status")
    mime = models.CharField(max_length=120, db_comment="media type, from the header")
    kind = models.CharField(max_length=12, db_comment="response, revisit, resource")
    version = models.BooleanField(db_comment="they differ from the capture before them")
    captures = models.BigIntegerField(db_comment="how many there are")
    body_bytes = models.BigIntegerField(db_comment="bytes of their bodies as received")
    record_bytes = models.BigIntegerField(db_comment="bytes of their records")
    first_ms = models.BigIntegerField(db_comment="first of them")
    last_ms = models.BigIntegerField(db_comment="last of them")

    class Meta:
        db_table = "capture_tally"
        db_table_comment = "captures counted by day, status, type and kind"
        constraints = [
            models.UniqueConstraint(fields=["day", "status", "mime", "kind", "version"], name="capture_tally_once")
        ]


class AddressCount(models.Model):
    """How many addresses the captures up to one of them have."""

    upto = models.BigIntegerField(db_comment="id of the last capture that was counted")
    addresses = models.BigIntegerField(db_comment="different urlkeys among those captures")

    class Meta:
        db_table = "address_count"
        db_table_comment = "one row: addresses counted so far"


class Erasure(models.Model):
    """Captures that were taken out for good: who asked, why, what went. The audit; rows are never removed."""

    asked_ms = models.BigIntegerField(db_comment="when it was ordered")
    done_ms = models.BigIntegerField(default=0, db_comment="when it was done; 0 not yet")
    actor = models.CharField(max_length=150, db_comment="who ordered it")
    reason = models.TextField(db_comment="who asked for it, and why")
    urls = models.JSONField(default=list, db_comment="addresses as ordered")
    match = models.CharField(max_length=8, default="exact", db_comment="exact, prefix, host or domain")
    since = models.CharField(max_length=20, default="", db_comment="captures from this time on; empty all")
    until = models.CharField(max_length=20, default="", db_comment="captures up to this time; empty all")
    capture = models.UUIDField(null=True, db_comment="one capture, when no address was ordered")
    captures = models.BigIntegerField(default=0, db_comment="captures that went")
    addresses = models.BigIntegerField(default=0, db_comment="addresses they were of")
    bytes = models.BigIntegerField(default=0, db_comment="bytes of their records")
    files = models.BigIntegerField(default=0, db_comment="WARC files that were written anew")
    records = models.JSONField(default=list, db_comment="names of the captures that went, the first 10,000")

    class Meta:
        db_table = "erasure"
        db_table_comment = "captures taken out for good, with reason and report"


class IncomingFile(models.Model):
    """A file of captures that somebody sends in parts; whole, it is imported."""

    name = models.CharField(max_length=200, db_comment="file name, as its owner calls it")
    size = models.BigIntegerField(db_comment="bytes it will have")
    received = models.BigIntegerField(default=0, db_comment="bytes that have come, without a gap")
    digest = models.CharField(max_length=64, default="", db_comment="SHA-256 of the whole, hexadecimal; empty: unknown")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, db_comment="who sends it")
    actor = models.CharField(max_length=150, db_comment="the name of whoever sends it")
    begun_ms = models.BigIntegerField(db_comment="when it was begun")
    touched_ms = models.BigIntegerField(db_comment="when the last part came")
    job = models.BigIntegerField(default=0, db_comment="job that imports it; 0: it is not whole yet")

    class Meta:
        db_table = "incoming_file"
        db_table_comment = "files of captures on their way in"


class PageTag(models.Model):
    """A word that people gave a page, to find it again."""

    urlkey = models.TextField(db_comment="page, as capture.urlkey")
    url = models.TextField(db_comment="its address, as it was tagged")
    tag = models.CharField(max_length=60, db_index=True, db_comment="small letters, without commas")
    actor = models.CharField(max_length=150, db_comment="who gave it")
    made_ms = models.BigIntegerField(db_comment="when")

    class Meta:
        db_table = "page_tag"
        db_table_comment = "words that people gave pages"
        constraints = [models.UniqueConstraint(fields=["urlkey", "tag"], name="page_tag_once")]


class PageNote(models.Model):
    """What somebody wrote about a page."""

    urlkey = models.TextField(db_index=True, db_comment="page, as capture.urlkey")
    url = models.TextField(db_comment="its address, as it was noted")
    text = models.TextField(db_comment="for people, plain text")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, db_comment="who wrote it")
    actor = models.CharField(max_length=150, db_comment="the name of whoever wrote it")
    made_ms = models.BigIntegerField(db_comment="when")

    class Meta:
        db_table = "page_note"
        db_table_comment = "what people wrote about pages"


class StalePage(models.Model):
    """A page whose captures changed beside the crawl: what is known of it must be read again from the archive."""

    urlkey = models.TextField(db_comment="key its captures are filed under")
    after_id = models.BigIntegerField(db_comment="captures with a greater id are new")

    class Meta:
        db_table = "stale_page"
        db_table_comment = "pages to read again from the archive"
