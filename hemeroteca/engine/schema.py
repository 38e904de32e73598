"""The tables of a new instance on SQLite, made in one go.

Two dozen migrations, most of them Django's own, take half a second to arrive at tables that are always the same.
`schema.sql` holds what they make, with a fingerprint of the migrations it was made by; it is used only for an empty
SQLite database and only while the fingerprint is right. Everything else (PostgreSQL, another version of Django, a
folder of an earlier version) goes through the migrations, which stay the meaning.

    python -m hemeroteca.engine.schema     writes schema.sql anew, after a new migration or another Django
"""

import os
import pkgutil
import sqlite3
import tempfile
from hashlib import blake2b
from pathlib import Path

import django

SCHEMA = Path(__file__).with_name("schema.sql")
MARK = "-- migrations: "
NOW = "UPDATE django_migrations SET applied = strftime('%Y-%m-%d %H:%M:%f', 'now');"


def migrations_waiting() -> bool:
    """Whether a migration has not been applied. Without importing them: this is asked at every start."""
    from django.db import connection
    from django.db.migrations.recorder import MigrationRecorder

    known = {(app, name) for app, name, _ in _migrations()}
    return not known <= MigrationRecorder(connection).applied_migrations().keys()


def create_at_once() -> bool:
    """Make all tables of an empty SQLite database; False when they must come from the migrations."""
    from django.db import connection

    if connection.vendor != "sqlite" or connection.introspection.table_names():
        return False
    script = SCHEMA.read_text("utf-8") if SCHEMA.exists() else ""
    if script.partition("\n")[0] != MARK + fingerprint():
        return False
    with connection.wrap_database_errors:
        try:
            connection.connection.executescript(script)  # one transaction
        except sqlite3.Error:
            connection.connection.rollback()
            raise
    return True


def fingerprint() -> str:
    """Changes with any migration and with Django."""
    whole = blake2b(django.__version__.encode(), digest_size=16)
    for app, name, folder in sorted(_migrations()):
        file = folder / f"{name}.py"
        whole.update(f"\0{app}.{name}\0".encode() + (file.read_bytes() if file.exists() else b""))
    return whole.hexdigest()


def dump(database: Path) -> str:
    """A migrated database as a script: tables, indexes, and the rows that migrations make."""
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE django_migrations SET applied = ''")
        begin, *lines, commit = connection.iterdump()
        connection.rollback()
    lines.sort(key=lambda line: not line.startswith("CREATE TABLE"))  # rows refer to tables that come later
    return "\n".join([MARK + fingerprint(), begin, *lines, NOW, commit, ""])


def _migrations() -> list[tuple[str, str, Path]]:
    """App, name and folder of every migration, found as Django finds them."""
    from django.apps import apps

    found = []
    for app in apps.get_app_configs():
        folder = Path(app.path) / "migrations"
        for module in pkgutil.iter_modules([str(folder)]):
            if not module.ispkg and module.name[0] not in "_~":
                found.append((app.label, module.name, folder))
    return found


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="hemeroteca-schema-") as folder:
        os.environ["HEMEROTECA_DATA"] = folder
        os.environ["HEMEROTECA_DATABASE"] = ""
        os.environ["DJANGO_SETTINGS_MODULE"] = "hemeroteca.django_settings"
        django.setup()
        from django.conf import settings
        from django.core.management import call_command
        from django.db import connection

        call_command("migrate", interactive=False, verbosity=0)
        connection.close()
        SCHEMA.write_text(dump(settings.INSTANCE.database_path), "utf-8")


if __name__ == "__main__":
    main()
