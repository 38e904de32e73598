"""Tables made in one go are the tables that the migrations make."""

import json
import os
import sqlite3
import subprocess
import sys

import pytest
from django.core.management import call_command
from django.db import connection

from hemeroteca.engine import schema

DJANGO = """
import json, sys
import django
django.setup()
from django.core.management import call_command
from django.db import OperationalError, connection
from hemeroteca.engine import prepare, schema
"""


def run(data, program: str) -> dict[str, object]:
    """What a program with Django ready prints, in an instance of its own on SQLite."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("HEMEROTECA_")},
        "HEMEROTECA_DATA": str(data),
        "DJANGO_SETTINGS_MODULE": "hemeroteca.django_settings",
    }
    done = subprocess.run(
        [sys.executable, "-c", DJANGO + program], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout else {}


def whole(data) -> tuple[list, dict[str, list]]:
    """Everything in a database but the moments at which migrations were applied."""
    with sqlite3.connect(data / "hemeroteca.sqlite3") as database:
        made = database.execute("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE rootpage").fetchall()
        tables = [name for kind, name, *_ in made if kind == "table"]
        rows = {name: sorted(database.execute(f'SELECT * FROM "{name}"').fetchall()) for name in tables}
    rows["django_migrations"] = [row[:-1] for row in rows["django_migrations"]]
    return sorted(made, key=str), rows


MIGRATE = 'call_command("migrate", interactive=False, verbosity=0)'
PREPARE = "prepare.prepare_tables(); print(json.dumps({'waiting': schema.migrations_waiting()}))"


def test_at_once_and_by_migrations_are_the_same(tmp_path):
    run(tmp_path / "migrated", MIGRATE)
    made = run(tmp_path / "made", "print(json.dumps({'made': schema.create_at_once()}))")
    assert made == {"made": True}, "schema.sql is of other migrations; run `python -m hemeroteca.engine.schema`"
    assert whole(tmp_path / "made") == whole(tmp_path / "migrated")
    with sqlite3.connect(tmp_path / "made" / "hemeroteca.sqlite3") as database:
        assert database.execute("SELECT count(*) FROM django_migrations WHERE applied < '2020'").fetchone() == (0,)


def test_tables_of_other_migrations_are_not_used(tmp_path):
    script = tmp_path / "schema.sql"
    script.write_text(schema.MARK + "of another time\nBEGIN;\nCREATE TABLE wrong (x);\nCOMMIT;\n")
    told = run(tmp_path / "data", f"import pathlib; schema.SCHEMA = pathlib.Path({str(script)!r})\n{PREPARE}")
    assert told == {"waiting": False}
    with sqlite3.connect(tmp_path / "data" / "hemeroteca.sqlite3") as database:
        names = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    assert "page" in names
    assert "wrong" not in names


def test_a_script_that_breaks_off_leaves_nothing(tmp_path):
    script = tmp_path / "schema.sql"
    program = f"""
import pathlib
schema.SCHEMA = pathlib.Path({str(script)!r})
schema.SCHEMA.write_text(schema.MARK + schema.fingerprint() + "\\nBEGIN;\\nCREATE TABLE half (x);\\nNONSENSE;\\n")
try:
    schema.create_at_once()
except OperationalError:
    print(json.dumps({{"tables": connection.introspection.table_names()}}))
"""
    assert run(tmp_path / "data", program) == {"tables": []}


def test_a_folder_of_an_earlier_version_is_migrated(tmp_path):
    run(tmp_path, 'call_command("migrate", "watch", "0001", verbosity=0)')
    assert run(tmp_path, PREPARE) == {"waiting": False}
    migrated = whole(tmp_path)[1]["django_migrations"]
    assert {row[1:] for row in migrated} == {(app, name) for app, name, _ in schema._migrations()}


@pytest.mark.database
@pytest.mark.django_db
def test_what_waits_is_seen(tmp_path):
    assert not schema.migrations_waiting()
    assert not schema.create_at_once()  # there are tables; on PostgreSQL never
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'watch' AND name = '0001_initial'")
    assert schema.migrations_waiting()


@pytest.mark.django_db
def test_every_model_has_its_migration():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
