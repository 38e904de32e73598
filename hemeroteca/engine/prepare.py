"""Makes a data folder ready to serve: folders, tables, the first administrator. A process of its own, soon gone.

    python -m hemeroteca.engine.prepare     prints {"name": …, "password": …} when it made the first administrator

The supervisor runs it and shows the password; it reaches neither a log nor the disk.
"""

import json
import os

import django
from django.core.management import call_command

from hemeroteca.engine import schema


def prepare_tables() -> None:
    """Folders, and tables as this version needs them. Of several processes that start at once, one makes them."""
    from django.conf import settings

    if not schema.migrations_waiting():
        return
    with settings.INSTANCE.alone("prepare.lock"):
        if schema.migrations_waiting() and not schema.create_at_once():
            call_command("migrate", interactive=False, verbosity=0)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hemeroteca.django_settings")
    django.setup()
    from hemeroteca.accounts import services

    prepare_tables()
    call_command("clearsessions")  # those that have ended; nothing else ever removes them
    created = services.ensure_administrator()
    if created:
        user, password = created
        print(json.dumps({"name": user.name, "password": password}))


if __name__ == "__main__":
    main()
