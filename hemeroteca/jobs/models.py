"""Jobs and their logs."""

from django.conf import settings
from django.db import models


class Job(models.Model):
    """Long work that somebody ordered."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    kind = models.CharField(max_length=40, db_comment="what is done: archive.import, search.rebuild, …")
    arguments = models.JSONField(default=dict, db_comment="of its kind")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        db_comment="who ordered it; empty: a command or the system",
    )
    actor = models.TextField(db_comment="the name of whoever ordered it")
    exclusive = models.BooleanField(db_comment="needs the data folder without an engine")
    state = models.CharField(max_length=9, choices=State, default=State.QUEUED, db_comment=", ".join(State.values))
    cancel_requested = models.BooleanField(default=False, db_comment="it ends at its next step")
    done = models.BigIntegerField(default=0, db_comment="steps done")
    total = models.BigIntegerField(null=True, db_comment="steps in all, where that is known")
    message = models.TextField(default="", db_comment="what it does now, or why it ended")
    checkpoint = models.JSONField(null=True, db_comment="where to go on after an interruption, in the kind's own terms")
    result = models.JSONField(null=True, db_comment="of its kind; set when it is done")
    code = models.CharField(max_length=40, default="", db_comment="of the error it failed with")
    worker = models.TextField(default="", db_comment="the process that runs it: machine:pid:start")
    lease_ms = models.BigIntegerField(default=0, db_comment="when it counts as forsaken, unless its worker renews this")
    attempts = models.IntegerField(default=0, db_comment="times it was begun since it was ordered or resumed")
    created_ms = models.BigIntegerField(db_comment="when it was ordered")
    started_ms = models.BigIntegerField(default=0, db_comment="when it was begun the last time")
    ended_ms = models.BigIntegerField(default=0, db_comment="when it was done, failed or cancelled")

    class Meta:
        db_table = "job"
        db_table_comment = "Long work: who ordered it, how far it is, what came of it"
        indexes = [models.Index(fields=["state"], name="job_state")]


class JobLine(models.Model):
    """A line of a job's log."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="lines", db_comment="whose log")
    at_ms = models.BigIntegerField(db_comment="when it was written")
    text = models.TextField(db_comment="for people")

    class Meta:
        db_table = "job_line"
        db_table_comment = "Logs of jobs"
