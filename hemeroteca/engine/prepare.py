"""Makes a data folder ready to serve: folders, tables, the first administrator. A process of its own, soon gone.

    python -m hemeroteca.engine.prepare     prints {"name": …, "password": …} when it made the first administrator

The supervisor runs it and shows the password; it reaches neither a log nor the disk.
"""

import json
import os

import django
from django.core.management import call_command


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hemeroteca.django_settings")
    django.setup()
    from django.conf import settings

    from hemeroteca.accounts import services

    settings.INSTANCE.create()
    call_command("migrate", interactive=False, verbosity=0)
    call_command("clearsessions")  # those that have ended; nothing else ever removes them
    created = services.ensure_administrator()
    if created:
        user, password = created
        print(json.dumps({"name": user.name, "password": password}))


if __name__ == "__main__":
    main()
