"""The `hemeroteca` command: nouns and verbs, one small module each. This one only wires them."""

import gc
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from hemeroteca import __version__, outgoing
from hemeroteca.cli import common, usage_errors
from hemeroteca.cli.examples import EXAMPLES
from hemeroteca.errors import Refused

# name, which is its module too → what it does in the table of permissions (`accounts.permissions`), and its first line;
# a noun does nothing by itself: its module has an `app` with verbs
COMMANDS = {
    "serve": ("instance.operate", "Run the whole system: console, API and engine. Ctrl-C stops it cleanly."),
    "crawl": ("crawl.submit", "Crawl sites: visit, archive and index everything in the scope."),
    "order": ("", "Orders of crawls that are kept, and given again by hand or by the clock."),
    "focus": ("", "Focused crawls: why a page was fetched when, and the thesauri they use."),
    "search": (
        "",
        "Search what was captured: `hemeroteca search QUERY`. Also: rebuild, explain, import, suggest, …",
    ),
    "held": ("", "What crawls held back as a possible trap, and taking it after all."),
    "status": ("instance.status", "Show what is queued, running, stored and failing, and why."),
    "archive": ("", "Versions of pages; WARC files checked, exchanged, counted, thinned out."),
    "watch": ("", "Pages and sites under watch: when they change, and who is told."),
    "wiki": ("", "Histories of MediaWiki articles: extracted, counted, measured."),
    "simulate": ("predict.simulate", "Compare visiting policies on real or generated histories of change."),
    "predict": ("", "How good the predictions of this instance are."),
    "geo": ("", "Geographic services: recognise, find, watch, export."),
    "site": ("", "Settings of one host: delay, login, robots, certificates."),
    "user": ("", "People who may sign in, and their roles."),
    "token": ("", "Tokens for programs that use the API."),
    "audit": ("account.audit", "Show who did what: sign-ins, roles, tokens, erasures, settings of sites, approvals."),
    "job": ("", "Long work: imports, exports, checks, backups, rebuilds, learning."),
    "fleet": ("", "Devices people lend, clients, credits, and how the fleet stands."),
    "worker": ("fleet.work", "Lend this machine to a fleet. Ctrl-C stops it without loss."),
    "backup": (
        "instance.backup",
        "Copy the data folder, also while the system runs. The copy is an instance of its own.",
    ),
    "config": (
        "instance.operate",
        "Show every setting with its present value (file hemeroteca.toml, environment HEMEROTECA_*).",
    ),
}

COMPLETING = "_HEMEROTECA_COMPLETE"  # set by the script that `--install-completion` gives to a shell


class Commands(TyperGroup):
    """Ends with one line and an exit code when something is refused or was typed wrongly."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except usage_errors.UsageError as error:
            if type(error).__name__ == "NoArgsIsHelpError":
                raise
            common.give_up(usage_errors.sentence(error), common.USAGE)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Refused as error:
            common.refuse(error)
        except usage_errors.UsageError as error:
            if type(error).__name__ == "NoArgsIsHelpError":
                raise
            common.give_up(usage_errors.sentence(error), common.USAGE)


def command_line(called: str | None = None) -> typer.Typer:
    """All commands; of those that are not `called`, only their names: most of the time would go into their imports."""
    app = typer.Typer(
        name="hemeroteca",
        help="Watches the parts of the web you care about, keeps every version, and lets you search them.",
        cls=Commands,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_root)
    for name, (action, line) in COMMANDS.items():
        if called not in (None, name):
            app.command(name, help=line)(_not_called)
            continue
        module = import_module(f"hemeroteca.cli.{name}")
        if action:
            app.command(name, cls=common.doing(action))(getattr(module, name))
        else:
            app.add_typer(module.app, name=name, help=line)
    return app


def actions() -> dict[str, str]:
    """What each command does in the table of permissions, by its words."""

    def found(group: Any, words: str) -> Iterator[tuple[str, str]]:
        for name, below in group.commands.items():
            if hasattr(below, "commands"):
                yield from found(below, f"{words}{name} ")
            else:
                yield f"{words}{name}", below.action

    return dict(found(typer.main.get_command(command_line()), ""))


def main() -> None:
    gc.set_threshold(1_000_000)  # what a command makes first is modules, and they stay; see `usage.begin_work`
    outgoing.keep_to_owner()
    os.environ["PYTHONSAFEPATH"] = "1"  # `python -m` of our processes else runs files of the folder we were started in
    try:
        completing = COMPLETING in os.environ  # a shell asks how a line may go on: about any command
        command = typer.main.get_command(command_line(None if completing else sys.argv[1] if len(sys.argv) > 1 else ""))
        if {"-h", "--help"} & set(sys.argv) or completing:
            usage_errors.explain(command, EXAMPLES)
        command()
    except BrokenPipeError:  # `hemeroteca … | head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    finally:
        # SQLite's log goes into the file with the last of them. Settings that could not be read have opened none.
        if (database := sys.modules.get("django.db")) and sys.modules["django.conf"].settings.configured:
            database.connections.close_all()
        if "_duckdb" not in sys.modules:  # which complains of what it finds alive at the end
            gc.freeze()  # Python would look through all of it for garbage, and then end


def _not_called() -> None:
    """Stands for a command in the list of all."""


def _root(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    if version:
        typer.echo(f"hemeroteca {__version__}")
        raise typer.Exit
