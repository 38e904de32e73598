"""The tables of an instance, as this version needs them.

Migrations say what the tables are. Two dozen of them, most of them Django's own, take almost a second to arrive at
tables that are always the same, so in SQLite an app that has no tables yet gets them from the models (a test holds both
to be the same) and all its migrations are noted as applied. PostgreSQL, and apps of an earlier version, go through the
migrations. A crawl in a new folder makes those of the machinery; the pages' own come with the first full start.
"""

import pkgutil
from pathlib import Path
from typing import Any

from django.apps import apps

from hemeroteca.errors import Unavailable


def load_machinery() -> None:
    """`django.setup` for who shows no pages: without the apps that only pages need, and Django's views."""
    from django.conf import settings

    apps.populate(settings.MACHINERY)


def prepare() -> None:
    """Make or bring up to date the tables. Of several processes that start at once, one does it.

    Raises Unavailable when a server of databases does not answer.
    """
    from django.db import OperationalError, connection

    try:
        waiting = migrations_waiting()
    except OperationalError as error:
        if connection.vendor == "sqlite":
            raise
        why = str(error).strip().partition("\n")[0]
        raise Unavailable(f"the database cannot be reached ({why}); start it, or correct the setting `database`")
    if not waiting:
        return
    from django.conf import settings
    from django.core.management import call_command

    with settings.INSTANCE.alone("prepare.lock"):
        if not migrations_waiting():
            return
        if connection.vendor == "sqlite":
            create_tables()
        if migrations_waiting():
            call_command("migrate", interactive=False, verbosity=0)


def migrations_waiting() -> bool:
    """Whether a migration has not been applied. Without importing them, or Django's: this is asked at every start."""

    return not set(migrations()) <= set(_applied())


def create_tables() -> None:
    """The tables of all apps that have none yet from the models, in one transaction."""
    from django.db import connection
    from django.db.migrations.recorder import MigrationRecorder

    applied: Any = MigrationRecorder(connection).Migration
    known = {app for app, _ in _applied()}
    new = [(app, name) for app, name in migrations() if app not in known]
    labels = {app for app, _ in new}
    with connection.schema_editor() as editor:
        if not known:
            editor.create_model(applied)
        for model in apps.get_models():
            if model._meta.app_label in labels:
                editor.create_model(model)
        applied.objects.bulk_create(applied(app=app, name=name) for app, name in new)


def _applied() -> list[tuple[str, str]]:
    """App and name of every migration that the database notes."""
    from django.db import connection

    if "django_migrations" not in connection.introspection.table_names():
        return []
    with connection.cursor() as cursor:
        cursor.execute("SELECT app, name FROM django_migrations")
        return cursor.fetchall()


def migrations() -> list[tuple[str, str]]:
    """App and name of every migration, found as Django finds them."""
    return [
        (app.label, module.name)
        for app in apps.get_app_configs()
        for module in pkgutil.iter_modules([str(Path(app.path) / "migrations")])
        if not module.ispkg and module.name[0] not in "_~"
    ]
