"""The `hemeroteca` command: nouns and verbs, one small module each. This one only wires them."""

import os
import sys

import typer

from hemeroteca import __version__
from hemeroteca.cli import (
    archive,
    backup,
    config,
    crawl,
    diff,
    predict,
    search,
    serve,
    simulate,
    site,
    status,
    token,
    user,
    watch,
)

app = typer.Typer(
    name="hemeroteca",
    help="Watches the parts of the web you care about, keeps every version, and lets you search them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("serve")(serve.serve)
app.command("crawl")(crawl.crawl)
app.add_typer(search.app, name="search")
app.command("status")(status.status)
archive.app.command("diff")(diff.diff)
app.add_typer(archive.app, name="archive")
app.add_typer(watch.app, name="watch", help="Pages and sites under watch: when they change, and who is told.")
app.command("simulate")(simulate.simulate)
app.add_typer(predict.app, name="predict", help="How good the predictions of this instance are.")
app.add_typer(site.app, name="site", help="Settings of one host: delay, login, robots, certificates.")
app.add_typer(user.app, name="user", help="People who may sign in.")
app.add_typer(token.app, name="token", help="Tokens for programs that use the API.")
app.command("backup")(backup.backup)
app.command("config")(config.config)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    if version:
        typer.echo(f"hemeroteca {__version__}")
        raise typer.Exit


def main() -> None:
    os.umask(0o077)  # secrets, sessions and captures of private pages belong to the owner only
    try:
        app()
    except BrokenPipeError:  # `hemeroteca … | head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
