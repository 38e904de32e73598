"""Tables of the fleet. Times are milliseconds since 1970 UTC."""

from django.db import models

from hemeroteca.accounts.models import User
from hemeroteca.frontier.models import Crawl


class Device(models.Model):
    """A volunteer's machine. What it is called on its own network, and its MAC address, are never asked."""

    class State(models.TextChoices):
        ACTIVE = "active"
        PAUSED = "paused"  # by its owner
        SLOWED = "slowed"  # gave a wrong result: one block a day until it is believed again
        SUSPENDED = "suspended"  # by the operator, for a while
        EXPELLED = "expelled"  # for good

    owner_id: int
    owner = models.ForeignKey(User, models.CASCADE, related_name="devices", db_comment="person who lends it")
    name = models.CharField(max_length=64, db_comment="what its owner calls it")
    pseudonym = models.CharField(max_length=16, unique=True, db_comment="what captures and clients are told instead")
    prefix = models.CharField(max_length=16, unique=True, db_comment="first characters of its token")
    digest = models.CharField(max_length=64, db_comment="SHA-256 of its token; the token itself is not kept")
    old_prefix = models.CharField(max_length=16, default="", db_index=True, db_comment="of the token before …")
    old_digest = models.CharField(max_length=64, default="", db_comment="… which is valid while it is being replaced")
    old_until_ms = models.BigIntegerField(default=0, db_comment="… until then")
    code_digest = models.CharField(max_length=64, default="", db_index=True, db_comment="SHA-256 of its one-time code")
    code_until_ms = models.BigIntegerField(default=0, db_comment="the code is valid until then")
    expires_ms = models.BigIntegerField(default=0, db_comment="its token is not valid from then on; 0: no end")
    state = models.CharField(max_length=9, choices=State, default=State.ACTIVE, db_comment="active, paused, slowed, …")
    reason = models.TextField(default="", db_comment="why it is not active, for people")
    trusted = models.BooleanField(default=False, db_comment="the operator believes it: it may check others")
    created_ms = models.BigIntegerField(db_comment="when it was added")
    connected = models.BooleanField(default=False, db_comment="it said hello and has not said goodbye")
    seen_ms = models.BigIntegerField(default=0, db_comment="last contact; 0 never")
    version = models.CharField(max_length=40, default="", db_comment="of its worker")
    system = models.CharField(max_length=80, default="", db_comment="operating system, as it says")
    network = models.CharField(max_length=64, default="", db_comment="prefix of its address: /24 or /48")
    country = models.CharField(max_length=2, default="", db_comment="of its address, by the operator's database")
    activities = models.JSONField(default=list, db_comment="what its owner agreed to: crawls, clients, vantage, load")
    categories = models.JSONField(default=list, db_comment="kinds of pages its owner lets clients and checks ask for")
    caps = models.JSONField(default=dict, db_comment="bounds its owner set, as it says (fleet.protocol.LentCaps)")
    says = models.CharField(max_length=200, default="", db_comment="what it does now, or why not, in its own words")
    resting = models.BooleanField(default=False, db_comment="it takes no work now; `says` tells why")
    total = models.BigIntegerField(default=0, db_comment="URLs it was ever given")
    speed = models.FloatField(default=0.0, db_comment="URLs per second, measured; 0 unknown")
    room = models.IntegerField(default=1024, db_comment="URLs it had room for when it asked last")
    late = models.IntegerField(default=0, db_comment="blocks in a row it did not return in time")
    next_block_ms = models.BigIntegerField(default=0, db_comment="while it is slowed: no block before")
    counts = models.JSONField(default=dict, db_comment="requests by status class, bytes, valid and invalid results")
    listed = models.BooleanField(default=False, db_comment="its owner wants it on the leaderboard")

    class Meta:
        db_table = "fleet_device"
        db_table_comment = "volunteers' machines"
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="fleet_device_name")]


class DeviceReputation(models.Model):
    """How far a device is believed, with one version of its worker."""

    device_id: int
    device = models.ForeignKey(Device, models.CASCADE, db_index=False, db_comment="the device")
    version = models.CharField(max_length=40, db_comment="of its worker")
    in_a_row = models.IntegerField(default=0, db_comment="checked results that were valid, since the last invalid one")
    valid = models.IntegerField(default=0, db_comment="checked results that were valid")
    invalid = models.IntegerField(default=0, db_comment="checked results that were not")
    slowed = models.BooleanField(default=False, db_comment="one block a day until it is believed again")

    class Meta:
        db_table = "fleet_standing"
        db_table_comment = "how far devices are believed"
        constraints = [models.UniqueConstraint(fields=["device", "version"], name="fleet_standing_once")]


class Block(models.Model):
    """The visits of one lease to a device: one row, whatever their number."""

    class State(models.TextChoices):
        WAITING = "waiting"  # in a device's share, not delivered
        LEASED = "leased"
        RETURNED = "returned"  # all of it has arrived; the engine has not looked yet
        DONE = "done"
        EXPIRED = "expired"  # its deadline passed
        WITHDRAWN = "withdrawn"  # by the engine: nobody wanted it, or it was stopped

    state = models.CharField(max_length=9, choices=State, default=State.WAITING, db_comment="waiting, leased, …")
    share = models.ForeignKey(Device, models.CASCADE, related_name="+", db_index=False, db_comment="meant for it")
    device_id: int | None
    device = models.ForeignKey(Device, models.CASCADE, null=True, db_index=False, db_comment="who took it")
    activity = models.CharField(max_length=8, db_comment="crawls, clients, vantage: its taker's owner agreed to that")
    category = models.CharField(max_length=13, default="", db_comment="kind of pages; empty: of no client or check")
    kind = models.CharField(max_length=7, default="visit", db_comment="visit; check of another's answers; vantage")
    owners = models.JSONField(default=list, db_comment="of a check: owners who may not take it")
    networks = models.JSONField(default=list, db_comment="of a check: networks from which it may not be taken")
    urls = models.IntegerField(db_comment="how many")
    work = models.BinaryField(db_comment="hosts and URLs, as fleet.protocol.Work in JSON")
    seconds = models.FloatField(db_comment="time it may take, by its size")
    nonce = models.CharField(max_length=32, default="", db_comment="secret of this lease")
    created_ms = models.BigIntegerField(db_comment="when the engine offered it")
    leased_ms = models.BigIntegerField(default=0, db_comment="when it was taken")
    deadline_ms = models.BigIntegerField(default=0, db_comment="its hosts are free again from then on")
    returned_ms = models.BigIntegerField(default=0, db_comment="when its results had arrived")
    received = models.BigIntegerField(default=0, db_comment="bytes of its results so far")
    recalled = models.BooleanField(default=False, db_comment="its device shall return it as it is")

    class Meta:
        db_table = "fleet_block"
        db_table_comment = "visits leased to devices"
        indexes = [
            models.Index(fields=["share", "id"], name="fleet_share", condition=models.Q(state="waiting")),
            models.Index(fields=["deadline_ms"], name="fleet_leased", condition=models.Q(state="leased")),
            models.Index(fields=["device"], name="fleet_held", condition=models.Q(state="leased")),
            models.Index(fields=["returned_ms"], name="fleet_returned", condition=models.Q(state="returned")),
        ]


class UploadPart(models.Model):
    """A piece of a compressed WARC on its way from a device to the engine: a spool that every web process shares."""

    block = models.ForeignKey(Block, models.CASCADE, db_index=False, db_comment="whose results")
    start = models.BigIntegerField(db_comment="where it begins")
    data = models.BinaryField(db_comment="the bytes")

    class Meta:
        db_table = "fleet_upload"
        db_table_comment = "results on their way from devices"
        constraints = [models.UniqueConstraint(fields=["block", "start"], name="fleet_upload_once")]


class Answer(models.Model):
    """What a device brought for one URL, and what became of it. Kept `dispatch.KEPT_DAYS`."""

    class Verdict(models.TextChoices):
        UNCHECKED = "unchecked"  # accepted alone
        VALID = "valid"
        INVALID = "invalid"
        OPEN = "open"  # the page differs by itself: nobody can tell
        WITHDRAWN = "withdrawn"  # accepted alone, and its device was caught later
        VOID = "void"  # confirmed by another device alone, and its own was caught later: counts only with the other's

    device = models.ForeignKey(Device, models.CASCADE, db_index=False, db_comment="who brought it")
    version = models.CharField(max_length=40, db_comment="of its worker")
    crawl = models.ForeignKey(Crawl, models.CASCADE, db_index=False, db_comment="crawl or job it was for")
    key = models.BigIntegerField(db_comment="64-bit hash of the URL")
    status = models.SmallIntegerField(db_comment="HTTP status")
    verdict = models.CharField(max_length=9, choices=Verdict, db_comment="unchecked, valid, invalid, open, withdrawn")
    audited = models.BooleanField(default=False, db_comment="the engine, or a device the operator trusts, confirmed it")
    checks = models.IntegerField(default=0, db_comment="checks its device had passed then, with that version")
    at_ms = models.BigIntegerField(db_index=True, db_comment="when it was judged")

    class Meta:
        db_table = "fleet_answer"
        db_table_comment = "what devices brought, and what became of it"
        constraints = [models.UniqueConstraint(fields=["device", "crawl", "key"], name="fleet_answer_once")]
        indexes = [
            models.Index(fields=["device"], name="fleet_unchecked", condition=models.Q(verdict="unchecked")),
            models.Index(fields=["crawl", "key"], name="fleet_answer_url"),
        ]


class Client(models.Model):
    """Somebody who may have URLs fetched by the fleet, once the operator approved the purpose."""

    class State(models.TextChoices):
        ASKED = "asked"
        APPROVED = "approved"
        REFUSED = "refused"

    owner = models.OneToOneField(User, models.CASCADE, related_name="fleet_client", db_comment="whose token it uses")
    purpose = models.TextField(db_comment="what for, in its own words")
    state = models.CharField(max_length=8, choices=State, default=State.ASKED, db_comment="asked, approved, refused")
    reason = models.TextField(default="", db_comment="what the operator said")
    per_day = models.IntegerField(default=10_000, db_comment="most URLs in a day")
    price = models.IntegerField(default=1000, db_comment="thousandths of a credit it pays per resolved request")
    secret = models.CharField(max_length=64, db_comment="key its webhooks are signed with")
    created_ms = models.BigIntegerField(db_comment="when it asked")

    class Meta:
        db_table = "fleet_client"
        db_table_comment = "who may have URLs fetched by the fleet"


class FetchJob(models.Model):
    """URLs a client wants fetched; the crawl that does it has the same life."""

    public_id = models.UUIDField(unique=True, db_comment="its name outside")
    client_id: int
    crawl_id: int | None
    client = models.ForeignKey(Client, models.CASCADE, db_comment="who ordered it")
    crawl = models.OneToOneField(
        Crawl, models.PROTECT, null=True, db_comment="the crawl that does it; null: nothing to do"
    )
    category = models.CharField(max_length=13, default="general", db_comment="kind of pages: owners may leave it out")
    method = models.CharField(max_length=4, default="GET", db_comment="GET or HEAD")
    headers = models.JSONField(default=list, db_comment="further headers, of the white list")
    max_age = models.IntegerField(default=0, db_comment="seconds: an answer this old does too")
    urls = models.IntegerField(db_comment="how many")
    price = models.IntegerField(db_comment="thousandths of a credit per resolved request")
    webhook = models.TextField(default="", db_comment="address told when it has finished")
    webhook_state = models.CharField(max_length=200, default="", db_comment="told, or why not")
    webhook_tries = models.SmallIntegerField(default=0, db_comment="how often that was tried")
    webhook_due_ms = models.BigIntegerField(default=0, db_comment="when it is tried next; 0: not wanted, or done")
    created_ms = models.BigIntegerField(db_index=True, db_comment="when it was ordered")
    cancelled_ms = models.BigIntegerField(default=0, db_comment="when its client cancelled it; 0 never")
    settled = models.BooleanField(default=False, db_comment="what it reserved and did not need was given back")

    class Meta:
        db_table = "fleet_job"
        db_table_comment = "URLs that clients want fetched"


class FetchResult(models.Model):
    """What a client is told of one URL: written once, in the transaction that keeps its capture."""

    job = models.ForeignKey(FetchJob, models.CASCADE, db_index=False, db_comment="whose URL")
    key = models.BigIntegerField(db_comment="64-bit hash of the canonical URL")
    url = models.TextField(db_comment="as the client wrote it")
    resolved_ms = models.BigIntegerField(default=0, db_comment="when it was resolved; 0 not yet")
    status = models.SmallIntegerField(default=0, db_comment="HTTP status; 0 none")
    reason = models.TextField(default="", db_comment="why there is no answer, for people")
    location = models.TextField(default="", db_comment="where it redirects to")
    capture = models.UUIDField(null=True, db_comment="record id in the archive")
    devices = models.JSONField(default=list, db_comment="pseudonyms of the devices that vouch for it")
    country = models.CharField(max_length=2, default="", db_comment="from where it was asked; clients are not told")
    checked = models.BooleanField(default=False, db_comment="two parties gave the same answer")
    cached = models.BooleanField(default=False, db_comment="answered without a request")
    withdrawn = models.BooleanField(default=False, db_comment="its device was caught lying later; refunded")
    complaint = models.TextField(default="", db_comment="what its client says is wrong with it")
    complaint_state = models.CharField(max_length=8, default="", db_comment="empty, open, upheld, denied")

    class Meta:
        db_table = "fleet_result"
        db_table_comment = "what clients are told of each URL"
        constraints = [models.UniqueConstraint(fields=["job", "key"], name="fleet_result_once")]
        indexes = [
            models.Index(fields=["job", "id"], name="fleet_result_job"),
            models.Index(fields=["job"], name="fleet_unresolved", condition=models.Q(resolved_ms=0)),
        ]


class Account(models.Model):
    """A place where credits lie. Only `issued` may be below zero: it is what the operator has given out."""

    class Kind(models.TextChoices):
        ISSUED = "issued"
        OPERATOR = "operator"
        CLIENT = "client"
        JOB = "job"  # reserved for a job
        DEVICE = "device"

    kind = models.CharField(max_length=8, choices=Kind, db_comment="issued, operator, client, job, device")
    number = models.BigIntegerField(default=0, db_comment="of the client, job or device")
    balance = models.BigIntegerField(default=0, db_comment="thousandths of a credit")

    class Meta:
        db_table = "fleet_account"
        db_table_comment = "where credits lie"
        constraints = [
            models.UniqueConstraint(fields=["kind", "number"], name="fleet_account_once"),
            models.CheckConstraint(
                condition=models.Q(kind="issued") | models.Q(balance__gte=0), name="fleet_not_negative"
            ),
        ]


class Transfer(models.Model):
    """Credits that changed places, once: the same reason again changes nothing."""

    reason = models.CharField(max_length=80, unique=True, db_comment="what for; unique, so that nothing counts twice")
    at_ms = models.BigIntegerField(db_index=True, db_comment="when")

    class Meta:
        db_table = "fleet_transfer"
        db_table_comment = "credits that changed places"


class Entry(models.Model):
    """One side of a transfer; those of a transfer sum to zero."""

    account_id: int
    transfer = models.ForeignKey(Transfer, models.CASCADE, related_name="entries", db_comment="the transfer")
    account = models.ForeignKey(Account, models.PROTECT, related_name="entries", db_comment="whose")
    amount = models.BigIntegerField(db_comment="thousandths of a credit; negative: taken from it")

    class Meta:
        db_table = "fleet_entry"
        db_table_comment = "the sides of each transfer of credits"


class DeviceDay(models.Model):
    """What a device did on one day: the data of its charts."""

    device = models.ForeignKey(Device, models.CASCADE, related_name="days", db_index=False, db_comment="the device")
    day = models.DateField(db_comment="UTC")
    counts = models.JSONField(default=dict, db_comment="requests by status class, bytes, valid and invalid results")

    class Meta:
        db_table = "fleet_device_day"
        db_table_comment = "what each device did on each day"
        constraints = [models.UniqueConstraint(fields=["device", "day"], name="fleet_device_day_once")]


class VantageCheck(models.Model):
    """The same URLs seen from devices in different countries and networks, once or again and again."""

    class State(models.TextChoices):
        ACTIVE = "active"
        ENDED = "ended"

    public_id = models.UUIDField(unique=True, db_comment="its name outside")
    owner_id: int
    owner = models.ForeignKey(User, models.CASCADE, related_name="vantage_checks", db_comment="who ordered it")
    title = models.CharField(max_length=120, default="", db_comment="what its owner calls it")
    urls = models.JSONField(db_comment="addresses that are compared")
    category = models.CharField(max_length=13, db_comment="kind of pages: only devices whose owners agreed to it ask")
    countries = models.JSONField(default=list, db_comment="only from these; empty: from all there are")
    every_hours = models.IntegerField(default=0, db_comment="hours between runs; 0: once")
    state = models.CharField(max_length=6, choices=State, default=State.ACTIVE, db_comment="active, ended")
    next_ms = models.BigIntegerField(default=0, db_index=True, db_comment="when the next run begins; 0: never")
    created_ms = models.BigIntegerField(db_comment="when it was ordered")

    class Meta:
        db_table = "fleet_vantage"
        db_table_comment = "URLs compared from many places"


class VantageRun(models.Model):
    """One time that the URLs of a check were looked at; the crawl that does it has the same life."""

    vantage_id: int
    crawl_id: int | None
    vantage = models.ForeignKey(VantageCheck, models.CASCADE, related_name="runs", db_comment="whose URLs")
    crawl = models.OneToOneField(Crawl, models.PROTECT, null=True, db_comment="the crawl that does it")
    started_ms = models.BigIntegerField(db_comment="when it began")

    class Meta:
        db_table = "fleet_vantage_run"
        db_table_comment = "times that URLs were compared"


class VantageObservation(models.Model):
    """What one place saw of one URL in a run. Each URL has one without a device: what the server saw itself."""

    run = models.ForeignKey(VantageRun, models.CASCADE, related_name="observations", db_index=False, db_comment="of it")
    key = models.BigIntegerField(db_comment="64-bit hash of the URL")
    url = models.TextField(db_comment="what was asked")
    device = models.ForeignKey(
        Device, models.SET_NULL, null=True, db_index=False, db_comment="who looked; null: the server"
    )
    pseudonym = models.CharField(max_length=16, default="", db_comment="of the device; empty: the server")
    country = models.CharField(max_length=2, default="", db_comment="where it was")
    network = models.CharField(max_length=64, default="", db_comment="prefix of its address")
    at_ms = models.BigIntegerField(db_comment="when")
    status = models.SmallIntegerField(default=0, db_comment="HTTP status; 0: no answer")
    failure = models.TextField(default="", db_comment="why there was none")
    location = models.TextField(default="", db_comment="where it redirects to")
    certificate = models.CharField(max_length=64, default="", db_comment="SHA-256 of the certificate it was shown")
    seconds = models.FloatField(default=0.0, db_comment="until the whole answer was there")
    fingerprint = models.JSONField(default=dict, db_comment="what is compared, as fleet.agreement.Fingerprint")
    capture = models.UUIDField(null=True, db_comment="the evidence: record id in the archive")

    class Meta:
        db_table = "fleet_observation"
        db_table_comment = "what places saw of URLs"
        constraints = [models.UniqueConstraint(fields=["run", "key", "pseudonym"], name="fleet_observation_once")]


class LoadTest(models.Model):
    """Many requests to a site whose owner proved, at every address under test, that it is theirs."""

    class State(models.TextChoices):
        PROPOSED = "proposed"  # the proof has not been seen
        PROVEN = "proven"
        RUNNING = "running"
        FINISHED = "finished"
        STOPPED = "stopped"  # by a person, or because the proof was gone

    public_id = models.UUIDField(unique=True, db_comment="its name outside")
    owner_id: int
    owner = models.ForeignKey(User, models.CASCADE, related_name="load_tests", db_comment="who ordered it")
    url = models.TextField(db_comment="what is asked")
    host = models.CharField(max_length=255, db_comment="its host")
    addresses = models.JSONField(default=list, db_comment="of the host when it was proven: only these are asked")
    state = models.CharField(max_length=8, choices=State, default=State.PROPOSED, db_comment="proposed, proven, …")
    reason = models.TextField(default="", db_comment="why it is not proven, or was stopped")
    rate = models.IntegerField(db_comment="requests per second at the top")
    ramp_seconds = models.IntegerField(db_comment="until the top is reached")
    hold_seconds = models.IntegerField(db_comment="at the top")
    created_ms = models.BigIntegerField(db_comment="when it was proposed")
    proven_ms = models.BigIntegerField(default=0, db_comment="when the proof was last read at every address")
    started_ms = models.BigIntegerField(default=0, db_comment="when it began")
    ended_ms = models.BigIntegerField(default=0, db_comment="when it ended")

    class Meta:
        db_table = "fleet_load"
        db_table_comment = "load tests of sites, by their owners"


class LoadSecond(models.Model):
    """A second of a load test: what was handed out for it, and what came of that."""

    test = models.ForeignKey(LoadTest, models.CASCADE, related_name="seconds", db_index=False, db_comment="whose")
    second = models.IntegerField(db_comment="since it began")
    given = models.IntegerField(default=0, db_comment="requests handed out; never more than the plan says")
    shares = models.JSONField(default=dict, db_comment="of those, each device's that it has not told of")
    asked = models.IntegerField(default=0, db_comment="requests made")
    errors = models.IntegerField(default=0, db_comment="without an answer, or with 5xx")
    statuses = models.JSONField(default=dict, db_comment="answers by status")
    times = models.JSONField(default=dict, db_comment="answers by their time, in steps of a tenth (fleet.load_tests)")

    class Meta:
        db_table = "fleet_load_second"
        db_table_comment = "seconds of load tests"
        constraints = [models.UniqueConstraint(fields=["test", "second"], name="fleet_load_second_once")]


class ClosedHost(models.Model):
    """A host the fleet leaves alone: its owner proved it is theirs and asked, or the operator decided."""

    host = models.CharField(max_length=255, unique=True, db_comment="host name; it and all below it")
    reason = models.TextField(db_comment="for people")
    by_owner = models.BooleanField(default=False, db_comment="whoever controls the host asked for it")
    at_ms = models.BigIntegerField(db_index=True, db_comment="since when")

    class Meta:
        db_table = "fleet_closed_host"
        db_table_comment = "hosts the fleet leaves alone"


class AuditLine(models.Model):
    """Who did what with the fleet, and what was refused."""

    at_ms = models.BigIntegerField(db_index=True, db_comment="when")
    who = models.CharField(max_length=80, db_comment="person, client, device, or the system")
    what = models.CharField(max_length=40, db_comment="refused, expelled, opted-out, …")
    detail = models.TextField(db_comment="for people")

    class Meta:
        db_table = "fleet_audit"
        db_table_comment = "who did what with the fleet"


class Setting(models.Model):
    """Settings of the fleet that can be changed while it runs: one row."""

    values = models.JSONField(default=dict, db_comment="as fleet.protocol.FleetSettings")
    changed_ms = models.BigIntegerField(default=0, db_comment="when")

    class Meta:
        db_table = "fleet_setting"
        db_table_comment = "settings of the fleet, changeable while it runs"
