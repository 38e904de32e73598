"""Makes a data folder ready to serve: tables, the first administrator. A process of its own, soon gone.

    python -m hemeroteca.accounts     prints {"name": …, "password": …} when it made the first administrator

The supervisor runs it and shows the password; it reaches neither a log nor the disk.
"""

import json
import os
import sys

import django

from hemeroteca.errors import Refused


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hemeroteca.django_settings")
    django.setup()
    from django.core.management import call_command

    from hemeroteca.accounts import services
    from hemeroteca.instance import schema

    try:
        schema.prepare()
    except Refused as error:
        sys.exit(str(error))
    call_command("clearsessions")  # those that have ended; nothing else ever removes them
    created = services.ensure_administrator()
    if created:
        user, password = created
        print(json.dumps({"name": user.name, "password": password}))


if __name__ == "__main__":
    main()
