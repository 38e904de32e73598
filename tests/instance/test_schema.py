"""Tables made from the models are the tables that the migrations make."""

import json
import os
import re
import sqlite3
import subprocess
import sys

import pytest
from django.core.management import call_command
from django.db import connection

from hemeroteca.instance import schema

DJANGO = """
import json, sys
import django
django.setup()
from django.core.management import call_command
from django.db import connection
from hemeroteca.instance import schema
"""


def run(data, program: str, begin: str = DJANGO) -> dict[str, object]:
    """What a program with Django ready prints, in an instance of its own on SQLite."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("HEMEROTECA_")},
        "HEMEROTECA_DATA": str(data),
        "DJANGO_SETTINGS_MODULE": "hemeroteca.django_settings",
    }
    done = subprocess.run(
        [sys.executable, "-c", begin + program], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout else {}


def tables(data) -> tuple[dict[str, tuple[set[str], set[str]]], set[tuple[str, str]]]:
    """What each table has (columns and constraints, indexes), whatever their order; and the migrations applied."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    with sqlite3.connect(data / "hemeroteca.sqlite3") as database:
        made = database.execute(
            "SELECT type, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC"
        )
        for kind, table, sql in made.fetchall():
            columns, indexes = found.setdefault(table, (set(), set()))
            if kind == "table":
                columns.update(re.split(r", (?=\"|CONSTRAINT|UNIQUE)", sql.partition("(")[2][:-1]))
            else:
                indexes.add(sql)
        applied = set(database.execute("SELECT app, name FROM django_migrations WHERE applied > '2020'"))
    return found, applied


MIGRATE = 'call_command("migrate", interactive=False, verbosity=0)'
PREPARE = "schema.prepare(); print(json.dumps({'waiting': schema.migrations_waiting()}))"


def test_from_models_and_by_migrations_are_the_same(tmp_path):
    run(tmp_path / "migrated", MIGRATE)
    assert run(tmp_path / "made", PREPARE) == {"waiting": False}
    assert tables(tmp_path / "made") == tables(tmp_path / "migrated")


MACHINERY = "import json; from hemeroteca.instance import schema; schema.load_machinery()\n"


def test_what_pages_need_is_added_to_the_tables_of_a_crawl(tmp_path):
    """A crawl in a new folder loads fewer apps than `serve`; together they make the same tables."""
    run(tmp_path / "migrated", MIGRATE)
    assert run(tmp_path / "made", PREPARE, begin=MACHINERY) == {"waiting": False}
    made_by_crawl, applied = tables(tmp_path / "made")
    assert "crawl" in made_by_crawl
    assert "account_emailaddress" not in made_by_crawl
    assert {app for app, _ in applied} >= {"frontier", "fleet"}
    assert run(tmp_path / "made", PREPARE) == {"waiting": False}
    assert tables(tmp_path / "made") == tables(tmp_path / "migrated")


def test_a_creation_that_breaks_off_leaves_nothing(tmp_path):
    program = """
def broken():
    yield "watch", "0001_initial"
    raise KeyboardInterrupt
listed, schema.migrations = schema.migrations, broken
try:
    schema.create_tables()
except KeyboardInterrupt:
    print(json.dumps({"tables": connection.introspection.table_names()}))
"""
    assert run(tmp_path / "data", program) == {"tables": []}
    assert run(tmp_path / "data", PREPARE) == {"waiting": False}


def test_a_folder_of_an_earlier_version_is_migrated(tmp_path):
    run(tmp_path, 'call_command("migrate", "accounts", "0001", verbosity=0)')
    assert run(tmp_path, PREPARE) == {"waiting": False}
    assert tables(tmp_path)[1] == set(schema.migrations())


@pytest.mark.database
@pytest.mark.django_db
def test_what_waits_is_seen(tmp_path):
    assert not schema.migrations_waiting()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'watch' AND name = '0001_initial'")
    assert schema.migrations_waiting()


@pytest.mark.django_db
def test_every_model_has_its_migration():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
