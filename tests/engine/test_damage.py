"""Nothing that lies in the database or the archive can stop a start: it is set aside, and the rest goes on."""

import json
import os
import random
import sqlite3
import uuid

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone

from hemeroteca import config, urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.engine.loop import Engine
from hemeroteca.engine.rebuild import documents, repair, versions
from hemeroteca.frontier import crawl_orders, takedowns
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.watch import services as watch
from tests.console.conftest import instance, world  # noqa: F401
from tests.engine.test_imports import start_engine, system, write_warc  # noqa: F401
from tests.waiting import PATIENCE, wait_for

ROOMS = ("frontier", "archive", "watch", "jobs")
MORE_ROOMS = ("fleet", "geo", "wiki")  # the engine reads of them, too
STARTS = 40  # of damaged folders
OFFSET = int(os.environ.get("DAMAGE_FROM", "0"))  # to try others
TEXTS = ["", "http://[", "\x01", "http://a:99999999/", "x" * 3000, "null", "{}", "ftp://x/", "-1", "../../x", "a\nb"]
VALUES = [None, True, -1, 1 << 70, 1e308, "", "x", [], [[[]]], {}, {"": None}, {"scope": 7}, ["http://["], "[", [None]]
NUMBERS = [0, -1, 1, 2**31 - 1, -(2**31), 2**62, -(2**62)]


def a_row(model, depth=0):
    """A row with something in every field that must have it."""
    given = {}
    for field in model._meta.fields:
        if field.primary_key or field.has_default():
            continue
        if field.is_relation:
            if not field.null and depth < 5:
                given[field.name] = field.related_model.objects.first() or a_row(field.related_model, depth + 1)
        elif isinstance(field, models.UUIDField):
            given[field.name] = uuid.uuid4()
        elif isinstance(field, models.BinaryField):
            given[field.name] = b"x"
        elif isinstance(field, models.DateField):  # and moments
            given[field.name] = timezone.now()
        elif isinstance(field, models.JSONField):
            given[field.name] = []
        else:
            given[field.name] = "x" if isinstance(field, models.CharField | models.TextField) else 1
    if isinstance(model._meta.pk, models.UUIDField | models.CharField | models.TextField):
        given[model._meta.pk.name] = uuid.uuid4() if isinstance(model._meta.pk, models.UUIDField) else "x"
    return model.objects.create(**given)


def damage(pick, rooms=ROOMS):
    """One value of one row becomes something else that its column can hold."""
    tables = [model for room in rooms for model in apps.get_app_config(room).get_models() if model.objects.exists()]
    model = pick.choice(tables)
    row = pick.choice(list(model.objects.values_list("pk", flat=True)[:50]))
    fields = [f for f in model._meta.fields if not f.primary_key and not f.is_relation and not f.unique]
    if not fields:
        return ""
    field = pick.choice(fields)
    if isinstance(field, models.JSONField):
        value = json.dumps(pick.choice(VALUES))
    elif isinstance(field, models.BooleanField):
        value = pick.choice([True, False])
    elif isinstance(field, models.SmallIntegerField):
        value = pick.choice([0, -1, 32767, -32768])
    elif isinstance(field, models.BigIntegerField):
        value = pick.choice(NUMBERS)
    elif isinstance(field, models.IntegerField):
        value = pick.choice(NUMBERS[:5])
    elif isinstance(field, models.FloatField):
        value = pick.choice([0.0, -1e300, 1e300])
    elif isinstance(field, models.CharField | models.TextField):
        value = pick.choice(TEXTS)[: field.max_length or 3000]
    elif isinstance(field, models.BinaryField):
        value = pick.randbytes(30)
    else:
        return ""
    table, column = connection.ops.quote_name(model._meta.db_table), connection.ops.quote_name(field.column)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"UPDATE {table} SET {column} = %s WHERE {model._meta.pk.column} = %s", [value, row])
    except IntegrityError:  # the database itself refuses it
        return ""
    return f"{model._meta.db_table}.{field.column} of {row} = {value!r}"[:120]


def damage_file(pick, folder):
    file = pick.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    data = bytearray(file.read_bytes())
    for _ in range(pick.randrange(1, 20)):
        if data:
            data[pick.randrange(len(data))] = pick.randrange(256)
    file.write_bytes(data[: pick.choice([len(data), len(data) // 2])])
    return f"{file.name} damaged"


@pytest.mark.slow
@pytest.mark.database
@pytest.mark.django_db
@pytest.mark.parametrize("part", [*range(4), "more rooms"])
def test_no_row_and_no_record_can_stop_a_start(world, instance, part):  # noqa: F811
    settings = config.Config(data=instance.data, ingest_processes=1, allow_private=False)
    watch.subscribe(SYSTEM, watch.Order(url="https://diario.example/"))
    takedowns.take_down(SYSTEM, "https://away.example/", "domain", "because")
    for name in ("uno", "dos"):
        options = CrawlOptions(scope=urls.Scope(kind="page"))
        crawl_orders.save(SYSTEM, name, ["https://diario.example/"], options, every_hours=1)
    files = {path: path.read_bytes() for path in instance.warc_dir.rglob("*") if path.is_file()}
    rooms, seeds = (
        ROOMS,
        range(OFFSET + part, OFFSET + STARTS, 4) if part != "more rooms" else range(OFFSET, OFFSET + 10),
    )
    if part == "more rooms":
        rooms = MORE_ROOMS
        for room in MORE_ROOMS:
            for model in apps.get_app_config(room).get_models():
                a_row(model)
    for seed in seeds:
        pick = random.Random(seed)
        with transaction.atomic():
            done = [damage(pick, rooms) for _ in range(pick.randrange(1, 6 if rooms is ROOMS else 20))]
            if pick.random() < 0.4:
                done.append(damage_file(pick, instance.warc_dir))
            (instance.index_dir / "watermark").unlink(missing_ok=True)
            for file in instance.index_dir.glob("*watermark*"):
                file.unlink()
            looks = []

            def tick(engine, looks=looks):
                looks.append(1)
                if len(looks) > 3:
                    engine.stop("enough")

            try:
                repair(settings, instance)
                Engine(settings, instance, tick=tick).run()
                list(documents(instance))
                list(versions(instance))
            except Exception as error:
                raise AssertionError(f"seed {seed}: {done}") from error
            transaction.set_rollback(True)
        for path in instance.warc_dir.rglob("*"):
            if path.is_file() and path not in files:
                path.unlink()
        for path, data in files.items():
            path.write_bytes(data)


def test_an_address_that_cannot_be_read_stops_neither_import_nor_engine(system, tmp_path):  # noqa: F811
    """`WARC-Target-URI: http://[` ended the import in a traceback, and every start after it."""
    date = "2020-01-01T00:00:00Z"
    good = ("https://good.example/", date, "good one")
    file = write_warc(tmp_path / "x.warc.gz", [good, ("http://[", date, "bad"), ("http://a b/", date, "bad")])
    done = system.run("archive", "import", str(file), "--json")
    assert "Traceback" not in done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["taken"] == 1
    # an archive that has such a row already, from before
    with sqlite3.connect(system.data / "hemeroteca.sqlite3") as database:
        database.execute("UPDATE capture SET url = 'http://['")
        database.execute("INSERT INTO stale_page (urlkey, after_id) SELECT urlkey, 0 FROM capture")
    assert system.run("search", "rebuild").returncode == 0
    engine = start_engine(system)
    wait_for(lambda: not system.rows("SELECT 1 FROM stale_page") or engine.poll() is not None)
    engine.terminate()
    assert engine.wait(PATIENCE) == 0
    told = json.loads(system.run("status", "--json").stdout)["set_aside"]
    assert any("http://[" in trouble["url"] for trouble in told)
    assert "http://[" in system.run("status").stdout
