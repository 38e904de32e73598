"""The `hemeroteca` command: nouns and verbs, one small module each. This one only wires them."""

import os
import sys
from importlib import import_module

import typer

from hemeroteca import __version__

# name, which is its module too → what the module has for it: a function, or an `app` with verbs
COMMANDS = {
    "serve": "serve",
    "crawl": "crawl",
    "search": "app",
    "status": "status",
    "archive": "app",
    "watch": "app",
    "simulate": "simulate",
    "predict": "app",
    "site": "app",
    "user": "app",
    "token": "app",
    "backup": "backup",
    "config": "config",
}


def command_line(only: str = "") -> typer.Typer:
    """Everything, or the one command that is called: half of a short command's time would go into the others."""
    app = typer.Typer(
        name="hemeroteca",
        help="Watches the parts of the web you care about, keeps every version, and lets you search them.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_root)
    for name in [only] if only in COMMANDS else COMMANDS:
        found = getattr(import_module(f"hemeroteca.cli.{name}"), COMMANDS[name])
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.command(name)(found)
    return app


def main() -> None:
    os.umask(0o077)  # secrets, sessions and captures of private pages belong to the owner only
    try:
        command_line(sys.argv[1] if len(sys.argv) > 1 else "")()
    except BrokenPipeError:  # `hemeroteca … | head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _root(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    if version:
        typer.echo(f"hemeroteca {__version__}")
        raise typer.Exit
