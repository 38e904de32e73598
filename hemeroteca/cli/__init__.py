"""The `hemeroteca` command: nouns and verbs, one small module each. This one only wires them."""

import gc
import os
import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from hemeroteca import __version__, outgoing
from hemeroteca.accounts import PermissionDenied
from hemeroteca.accounts.permissions import may_try
from hemeroteca.cli import common, usage_errors
from hemeroteca.cli.examples import EXAMPLES
from hemeroteca.errors import Refused

# name, which is its module too → what the module has for it (a function, or an `app` with verbs), and its first line
COMMANDS = {
    "serve": ("serve", "Run the whole system: console, API and engine. Ctrl-C stops it cleanly."),
    "crawl": ("crawl", "Crawl sites: visit, archive and index everything in the scope."),
    "order": ("app", "Orders of crawls that are kept, and given again by hand or by the clock."),
    "focus": ("app", "Focused crawls: why a page was fetched when, and the thesauri they use."),
    "search": (
        "app",
        "Search what was captured: `hemeroteca search QUERY`. Also: rebuild, explain, import, suggest, …",
    ),
    "held": ("app", "What crawls held back as a possible trap, and taking it after all."),
    "status": ("status", "Show what is queued, running, stored and failing, and why."),
    "archive": ("app", "Versions of pages; WARC files checked, exchanged, counted, thinned out."),
    "watch": ("app", "Pages and sites under watch: when they change, and who is told."),
    "wiki": ("app", "Histories of MediaWiki articles: extracted, counted, measured."),
    "simulate": ("simulate", "Compare visiting policies on real or generated histories of change."),
    "predict": ("app", "How good the predictions of this instance are."),
    "geo": ("app", "Geographic services: recognise, find, watch, export."),
    "site": ("app", "Settings of one host: delay, login, robots, certificates."),
    "user": ("app", "People who may sign in, and their roles."),
    "token": ("app", "Tokens for programs that use the API."),
    "audit": ("audit", "Show who did what: sign-ins, roles, tokens, erasures, settings of sites, approvals."),
    "job": ("app", "Long work: imports, exports, checks, backups, rebuilds, learning."),
    "fleet": ("app", "Devices people lend, clients, credits, and how the fleet stands."),
    "worker": ("worker", "Lend this machine to a fleet. Ctrl-C stops it without loss."),
    "backup": (
        "backup",
        "Copy the data folder, also while the system runs. The copy is an instance of its own.",
    ),
    "config": ("config", "Show every setting with its present value (file hemeroteca.toml, environment HEMEROTECA_*)."),
}

COMPLETING = "_HEMEROTECA_COMPLETE"  # set by the script that `--install-completion` gives to a shell

# words of a command → what it does, in the table of permissions (`accounts.permissions`)
ACTIONS = {
    "serve": "instance.operate",
    "crawl": "crawl.submit",
    "order save": "crawl.submit",
    "order list": "crawl.read",
    "order run": "crawl.submit",
    "order pause": "crawl.submit",
    "order resume": "crawl.submit",
    "order remove": "crawl.submit",
    "held list": "crawl.read",
    "held take": "crawl.take",
    "status": "instance.status",
    "simulate": "predict.simulate",
    "backup": "instance.backup",
    "config": "instance.operate",
    "job list": "job.read",
    "job show": "job.read",
    "job follow": "job.read",
    "job cancel": "job.cancel",
    "job resume": "job.cancel",
    "search": "search.read",  # also what is not a verb: a query
    "search find": "search.read",
    "search explain": "search.read",
    "search query": "search.read",
    "search suggest": "search.read",
    "search rebuild": "search.rebuild",
    "search import": "search.import",
    "search learn": "search.learn",
    "search rank": "search.rank",
    "search prefer": "search.prefer",
    "search save": "search.save",
    "search saved": "search.saved",
    "search unsave": "search.forget",
    "archive versions": "archive.read",
    "archive get": "archive.read",
    "archive diff": "archive.read",
    "archive stats": "archive.read",
    "archive verify": "archive.verify",
    "archive import": "archive.import",
    "archive export": "archive.export",
    "archive prune": "archive.prune",
    "archive erase": "archive.erase",
    "archive erasures": "archive.erase",
    "archive takedown add": "archive.erase",
    "archive takedown list": "archive.erase",
    "archive takedown lift": "archive.erase",
    "archive tag": "archive.note",
    "archive note": "archive.note",
    "archive noted": "archive.notes",
    "archive offload": "archive.offload",
    "watch add": "watch.propose",
    "watch import": "watch.subscribe",
    "watch list": "watch.subscriptions",
    "watch show": "watch.subscriptions",
    "watch export": "watch.subscriptions",
    "watch edit": "watch.change",
    "watch check": "watch.change",
    "watch pause": "watch.change",
    "watch resume": "watch.change",
    "watch remove": "watch.end",
    "watch proposals": "watch.subscriptions",
    "watch approve": "watch.approve",
    "watch refuse": "watch.approve",
    "watch pages": "watch.read",
    "watch changes": "watch.read",
    "watch metrics": "watch.read",
    "watch report": "watch.read",
    "watch learn": "watch.learn",
    "watch sources": "watch.sources",
    "watch webhook": "watch.source",
    "watch channel add": "watch.channel",
    "watch channel list": "watch.channels",
    "watch channel test": "watch.channel",
    "watch channel pause": "watch.channel",
    "watch channel resume": "watch.channel",
    "watch channel remove": "watch.channel",
    "watch category list": "watch.read",
    "watch category set": "watch.collect",
    "watch category remove": "watch.collect",
    "watch collection set": "watch.collect",
    "watch collection list": "watch.read",
    "watch collection remove": "watch.collect",
    "watch collection publish": "watch.publish",
    "watch collection unpublish": "watch.publish",
    "focus explain": "focus.read",
    "focus finds": "focus.read",
    "focus thesaurus import": "focus.import",
    "focus thesaurus list": "focus.read",
    "focus thesaurus show": "focus.read",
    "wiki extract": "wiki.extract",
    "wiki articles": "wiki.read",
    "wiki revisions": "wiki.read",
    "wiki count": "wiki.read",
    "wiki avg": "wiki.read",
    "wiki mode": "wiki.read",
    "wiki metrics": "wiki.read",
    "wiki compare": "wiki.read",
    "wiki trends": "wiki.read",
    "wiki query": "wiki.query",
    "wiki status": "job.read",
    "wiki refresh": "wiki.extract",
    "wiki verify": "wiki.extract",
    "wiki import": "wiki.import",
    "wiki export": "wiki.export",
    "wiki compact": "wiki.upkeep",
    "fleet status": "fleet.status",
    "fleet devices": "fleet.devices",
    "fleet credits": "fleet.operate",
    "fleet simulate": "fleet.simulate",
    "fleet set": "fleet.operate",
    "fleet close": "fleet.operate",
    "fleet open": "fleet.operate",
    "fleet log": "fleet.operate",
    "fleet complaint": "fleet.operate",
    "fleet device add": "fleet.device",
    "fleet device show": "fleet.devices",
    "fleet vantage order": "fleet.vantage",
    "fleet vantage list": "fleet.vantages",
    "fleet vantage show": "fleet.vantages",
    "fleet vantage end": "fleet.vantages",
    "fleet load-test propose": "fleet.load",
    "fleet load-test list": "fleet.loads",
    "fleet load-test start": "fleet.loads",
    "fleet load-test stop": "fleet.loads",
    "fleet load-test show": "fleet.loads",
    "fleet device code": "fleet.device",
    "fleet device rotate": "fleet.device",
    "fleet device revoke": "fleet.device",
    "fleet device set": "fleet.device",
    "fleet client add": "fleet.ask",
    "fleet client approve": "fleet.operate",
    "fleet client refuse": "fleet.operate",
    "fleet client list": "fleet.operate",
    "worker": "fleet.work",
    "predict calibrate": "predict.read",
    "geo inspect": "geo.inspect",
    "geo search": "geo.read",
    "geo show": "geo.read",
    "geo add": "geo.add",
    "geo claim": "geo.claim",
    "geo withdraw": "geo.withdraw",
    "geo stats": "geo.read",
    "geo harvest": "geo.harvest",
    "geo check": "geo.check",
    "geo export": "geo.export",
    "site set": "site.change",
    "site show": "site.read",
    "site noise": "site.change",
    "user add": "account.user",
    "user list": "account.users",
    "user password": "account.password",
    "user remove": "account.user",
    "user role": "account.user",
    "user invite": "account.invite",
    "user two-factor-off": "account.user",
    "audit": "account.audit",
    "token create": "account.token",
    "token list": "account.tokens",
    "token revoke": "account.token",
}


class Commands(TyperGroup):
    """Looks whether whoever calls may do this, and ends with one line and an exit code when it is refused."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = (" ".join(args[:length]) for length in (3, 2, 1))
        ctx.obj = next((ACTIONS[name] for name in named if name in ACTIONS), "")
        try:
            return super().parse_args(ctx, args)
        except usage_errors.UsageError as error:
            if type(error).__name__ == "NoArgsIsHelpError":
                raise
            common.give_up(usage_errors.sentence(error), common.USAGE)

    def invoke(self, ctx: Any) -> Any:
        try:
            if ctx.obj and not may_try(common.actor(), ctx.obj):
                raise PermissionDenied(common.actor(), ctx.obj)
            return super().invoke(ctx)
        except Refused as error:
            common.refuse(error)
        except usage_errors.UsageError as error:
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
    for name, (attribute, line) in COMMANDS.items():
        if called not in (None, name):
            app.command(name, help=line)(_not_called)
            continue
        found = getattr(import_module(f"hemeroteca.cli.{name}"), attribute)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.command(name)(found)
    return app


def main() -> None:
    gc.set_threshold(20_000)  # what a command makes first is modules, and they stay
    outgoing.keep_to_owner()
    try:
        completing = COMPLETING in os.environ  # a shell asks how a line may go on: about any command
        command = typer.main.get_command(command_line(None if completing else sys.argv[1] if len(sys.argv) > 1 else ""))
        if {"-h", "--help"} & set(sys.argv) or completing:
            usage_errors.explain(command, EXAMPLES)
        command()
    except BrokenPipeError:  # `hemeroteca … | head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _not_called() -> None:
    """Stands for a command in the list of all."""


def _root(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    if version:
        typer.echo(f"hemeroteca {__version__}")
        raise typer.Exit
