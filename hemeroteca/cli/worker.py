"""`hemeroteca worker`: lends this machine to a fleet. The options are those of the single-file worker."""

import sys

import typer


def worker(context: typer.Context) -> None:
    """Lend this machine to a fleet: `hemeroteca worker --server URL --token-file F`. Ctrl-C stops it without loss."""
    from hemeroteca.fleet import curl_worker

    sys.argv[0] = "hemeroteca worker"
    curl_worker.main(context.args)
