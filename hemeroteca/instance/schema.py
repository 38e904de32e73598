"""The tables of an instance, as this version needs them.

Migrations say what the tables are. Two dozen of them, most of them Django's own, take almost a second to arrive at
tables that are always the same, so an empty SQLite file gets them from the models (a test holds both to be the same)
and all migrations are noted as applied. PostgreSQL, and a folder of an earlier version, go through the migrations.
"""

import pkgutil
from pathlib import Path
from typing import Any

from django.apps import apps


def prepare() -> None:
    """Make or bring up to date the tables. Of several processes that start at once, one does it."""
    if not migrations_waiting():
        return
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connection

    with settings.INSTANCE.alone("prepare.lock"):
        if not migrations_waiting():
            return
        if connection.vendor == "sqlite" and not connection.introspection.table_names():
            create_tables()
        else:
            call_command("migrate", interactive=False, verbosity=0)


def migrations_waiting() -> bool:
    """Whether a migration has not been applied. Without importing them, or Django's: this is asked at every start."""
    from django.db import connection

    if "django_migrations" not in connection.introspection.table_names():
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT app, name FROM django_migrations")
        return not set(migrations()) <= set(cursor.fetchall())


def create_tables() -> None:
    """All tables of an empty database from the models, in one transaction."""
    from django.db import connection
    from django.db.migrations.recorder import MigrationRecorder

    applied: Any = MigrationRecorder(connection).Migration
    with connection.schema_editor() as editor:
        for model in (applied, *apps.get_models()):
            editor.create_model(model)
        applied.objects.bulk_create(applied(app=app, name=name) for app, name in migrations())


def migrations() -> list[tuple[str, str]]:
    """App and name of every migration, found as Django finds them."""
    return [
        (app.label, module.name)
        for app in apps.get_app_configs()
        for module in pkgutil.iter_modules([str(Path(app.path) / "migrations")])
        if not module.ispkg and module.name[0] not in "_~"
    ]
