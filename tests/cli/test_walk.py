"""A walk over all commands: help, examples, wrong values, things that are not there, times, files handed out."""

import contextlib
import io
import json
import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from hemeroteca.cli import command_line, usage_errors
from hemeroteca.cli.examples import EXAMPLES
from simweb.api import SimWeb
from tests.commands import run
from tests.waiting import PATIENCE

WHOLE = typer.main.get_command(command_line())
usage_errors.explain(WHOLE, EXAMPLES)
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
LIKE_A_MOMENT = re.compile(r"(?:19|20)\d\d-?[01]\d-?[0-3]\d[T ]?\d\d:?\d\d.*")


def leaves(command=WHOLE, words=()):
    if hasattr(command, "commands"):
        for name, below in command.commands.items():
            yield from leaves(below, (*words, name))
    else:
        yield " ".join(words), command


LEAVES = dict(leaves())


@pytest.mark.parametrize("words", LEAVES)
def test_help_is_readable_at_80_columns(words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    context = LEAVES[words].make_context(words, [], resilient_parsing=True)
    told = LEAVES[words].get_help(context)
    assert max(map(len, told.splitlines())) <= 80
    assert not re.search(r"<(int|float|str|path)|x[<>]=", told), told
    assert "For example:" in told
    assert not re.search(r"^Usage: .*\{", told), "an argument that is required is not a choice"
    assert "--data FOLDER" in told


def test_every_example_is_of_a_command_and_can_be_read():
    assert not EXAMPLES.keys() - LEAVES.keys()
    for words, lines in EXAMPLES.items():
        for line in lines:
            typed = shlex.split(line.rpartition("| ")[2])
            assert typed.pop(0) == "hemeroteca"
            if typed[: len(words.split())] == words.split():
                typed = typed[len(words.split()) :]
            else:
                assert words == "search find"  # its verb may be left out
                assert typed.pop(0) == "search"
            said = ""
            try:
                LEAVES[words].make_context(words, typed)
            except usage_errors.UsageError as error:
                said = str(error)
            assert not said or "does not exist" in said, (line, said)  # the files of an example need not be there


def test_values_that_cannot_be_are_told_in_words():
    tried = 0
    for words, command in LEAVES.items():
        for param in command.params:
            kind = getattr(param.type, "name", "")
            if param.param_type_name != "option" or not kind.startswith(("int", "float", "choice")):
                continue
            option = max(param.opts, key=len)
            needed = ["1" for one in command.params if one.param_type_name == "argument" and one.required]
            code, _, said = call([*words.split(), *needed, option, "thirteen"])
            tried += 1
            if code == 2 and "is missing" in said:
                continue  # another option is needed first
            assert code == 2, (words, option, said)
            assert f"{option} is 'thirteen'; write" in said, (words, option, said)
            assert not re.search("valid|range", said), said
    assert tried > 50


@pytest.mark.parametrize("words", [["--data", "x", "status"], ["watch", "--json", "list"]])
def test_an_option_before_its_command_is_told_where_it_goes(words):
    code, _, said = call(words)
    assert code == 2
    assert "comes after the command, as in `hemeroteca status --" in said


MANY = """
import json, os, sys
os.umask(0o022)
from tests.cli.test_walk import call
from hemeroteca.cli.common import setup
setup()
for words in json.loads(sys.argv[1]):
    print(json.dumps([words, *call(words)]))
"""


def call(words):
    """Exit code, standard output and errors of a command, called in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            WHOLE.main(args=words, prog_name="hemeroteca")
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
    return code, out.getvalue(), err.getvalue()


NOBODY = "00000000-0000-4000-8000-000000000000"
ABSENT = [
    ["job", "show", "99"], ["job", "follow", "99"], ["job", "cancel", "99"], ["watch", "show", "99"],
    ["watch", "learn", "99"], ["watch", "pause", "99"], ["watch", "check", "99"], ["watch", "check", "http://nope.test/"],
    ["watch", "remove", "99"], ["watch", "webhook", "99"],
    ["watch", "edit", "99", "--mode", "simple"], ["watch", "channel", "remove", "9"], ["watch", "channel", "test", "9"],
    ["watch", "collection", "remove", "nope"], ["archive", "export", "/nowhere/x.csv", "--collection", "nope"],
    ["archive", "get", "http://nope.test/"], ["archive", "versions", "http://nope.test/"],
    ["archive", "diff", "http://nope.test/"], ["user", "password", "nobody"], ["user", "remove", "nobody"],
    ["token", "create", "nobody"], ["token", "revoke", "nope"], ["search", "unsave", "99"], ["geo", "show", "99"],
    ["geo", "withdraw", "99"], ["site", "show", "nope.test"], ["held", "take", "99"],
    ["held", "list", "99"], ["backup", "/proc/nowhere/copy"],
    ["focus", "explain", "http://nope.test/"], ["focus", "thesaurus", "show", "nope"],
    ["fleet", "device", "revoke", "nope"], ["fleet", "client", "approve", "nope"], ["fleet", "open", "nope.test"],
    ["wiki", "status", "99"],
    *(["order", verb, "nope"] for verb in ("run", "pause", "resume", "remove")),
    *(["watch", verb, "99"] for verb in ("resume", "approve")), ["watch", "refuse", "99", "--reason", "no news"],
    *(["watch", "channel", verb, "9"] for verb in ("pause", "resume")),
    *(["watch", "collection", verb, "nope"] for verb in ("publish", "unpublish")),
    ["watch", "category", "remove", "999"], ["watch", "add", "http://nope.test/", "--category", "nope"],
    ["watch", "add", "http://nope.test/", "--owner", "nobody"], ["watch", "list", "--collection", "nope"],
    ["watch", "list", "--category", "nope"], ["watch", "pages", "--collection", "nope"],
    ["watch", "export", "-", "--collection", "nope"], ["watch", "report", "nope"],
    *(["watch", *words.split(), "--subscription", "99"] for words in ("pages", "changes", "sources", "report rounds")),
    ["search", "save", "x", "--channel", "99"], ["search", "save", "x", "--owner", "nobody"],
    ["archive", "takedown", "lift", "99"], ["archive", "diff", "http://nope.test/", NOBODY],
    ["focus", "finds", "--crawl", "99"], ["user", "role", "nobody", "reader"], ["user", "two-factor-off", "nobody"],
    ["job", "resume", "99"], ["geo", "claim", "99"], ["geo", "check", "99"],
    *(["fleet", "device", verb, "nope"] for verb in ("show", "code", "rotate", "set")),
    ["fleet", "device", "add", "x", "--owner", "nobody"], ["fleet", "complaint", "99", "--uphold"],
    ["fleet", "client", "add", "nobody", "--purpose", "Measure how sites differ between countries."],
    ["fleet", "client", "refuse", "nope", "--reason", "no reason"],
    ["fleet", "vantage", "order", "http://nope.test/", "--user", "nobody"],
    ["fleet", "load-test", "propose", "http://nope.test/", "--user", "nobody"],
    *(["fleet", "vantage", verb, NOBODY] for verb in ("show", "end")),
    *(["fleet", "load-test", verb, NOBODY] for verb in ("start", "stop", "show")),
    ["fleet", "vantage", "show", "nope"], ["fleet", "load-test", "start", "nope"],
    ["wiki", "metrics", "Nope"], ["wiki", "compare", "Nope", "Nada"], ["wiki", "count", "--title", "Nope"],
    ["wiki", "revisions", "--title", "Nope"], ["wiki", "verify", "Nope"], ["wiki", "refresh", "--wiki", "nope"],
]  # fmt: skip
NO_FILE = [
    ["archive", "import", "/nowhere"], ["watch", "import", "/nowhere"], ["wiki", "import", "/nowhere"],
    ["search", "import", "/nowhere"], ["focus", "thesaurus", "import", "x", "/nowhere"],
    ["crawl", "--from-file", "/nowhere"],
    ["search", "query", "--from-file", "/nowhere"], ["simulate", "--trace", "/nowhere"],
    ["wiki", "extract", "--titles", "/nowhere"], ["wiki", "query", "/nowhere.json"],
]  # fmt: skip


def test_what_is_not_there_ends_with_1_and_says_so(tmp_path):
    told = run(MANY, tmp_path / "data", json.dumps(ABSENT)).stdout.splitlines()
    for line in told:
        words, code, _, said = json.loads(line)
        assert code == 1, (words, code, said)
        assert re.fullmatch("hemeroteca: .+\n", said), (words, said)


def test_a_file_that_is_not_there_ends_with_2_and_says_so_once(tmp_path):
    for line in run(MANY, tmp_path / "data", json.dumps(NO_FILE)).stdout.splitlines():
        words, code, _, said = json.loads(line)
        assert (code, said.count("/nowhere")) == (2, 1), (words, code, said)
        assert re.fullmatch("hemeroteca: .+\n", said), (words, said)
        assert "Errno" not in said, words


def test_what_is_no_address_is_told_as_such_also_where_nothing_is_archived(tmp_path):
    lines = [["archive", verb, "no address"] for verb in ("versions", "get", "diff")]
    for line in run(MANY, tmp_path / "data", json.dumps(lines)).stdout.splitlines():
        words, code, _, said = json.loads(line)
        assert (code, "is not a web address: it has spaces" in said) == (2, True), (words, said)


BEGINNING = {  # with one of these an instance may begin
    "serve", "crawl", "order save", "focus thesaurus import", "search import", "archive tag", "archive note",
    "archive import", "archive takedown add", "watch add", "watch import", "watch collection set", "watch category set",
    "watch channel add", "wiki extract", "wiki import", "geo add", "geo harvest", "site set", "user add", "user invite",
    "fleet set",
}  # fmt: skip
WITHOUT_A_FOLDER = {"simulate", "predict simulate", "fleet simulate", "worker", "config", "geo inspect"}
EACH = """
import json, os, sys
from tests.cli.test_walk import call
for words in json.loads(sys.argv[1]):
    print(json.dumps([words, *call(words), os.path.exists(os.environ["HEMEROTECA_DATA"])]))
"""


def test_a_data_folder_that_is_not_there_is_told_and_not_made(tmp_path):
    asked = []
    for words in LEAVES.keys() - BEGINNING - WITHOUT_A_FOLDER:
        needed = ["1" for one in LEAVES[words].params if one.param_type_name == "argument" and one.required]
        asked.append([*words.split(), *needed])
    told = 0
    for line in run(EACH, tmp_path / "typo", json.dumps(asked)).stdout.splitlines():
        words, code, said, error, made = json.loads(line)
        assert (code in (1, 2), said, made) == (True, "", False), (words, code, said, error)
        told += f"{tmp_path / 'typo'}" in error
    assert told > 60


@pytest.mark.parametrize(
    "words", [["crawl", "wrong-thing"], ["watch", "add", "https://example.org/", "hello world"], ["fleet", "set", "x"]]
)
def test_what_was_typed_wrongly_leaves_no_data_folder(tmp_path, words):
    (line,) = run(EACH, tmp_path / "new" / "data", json.dumps([words])).stdout.splitlines()
    _, code, said, _, made = json.loads(line)
    assert (code, said, made, list(tmp_path.iterdir())) == (2, "", False, [])


def test_of_several_addresses_all_are_watched_or_none(tmp_path):
    lines = [["watch", "add", "https://example.org/", "hello world"], ["watch", "list", "--json"]]
    told = run(MANY, tmp_path / "data", json.dumps(lines)).stdout.splitlines()
    assert [(code, said) for _, code, said, _ in map(json.loads, told)] == [(2, ""), (0, "")]


def test_a_place_where_nothing_can_be_written_is_told_in_a_line(tmp_path):
    (file := tmp_path / "documents.jsonl").write_text('{"id": "1", "text": "bread"}')
    for words in (["search", "import", str(file)], ["user", "add", "eva"]):
        (line,) = run(EACH, "/proc/nowhere", json.dumps([words])).stdout.splitlines()
        _, code, _, error, _ = json.loads(line)
        assert (code, "Errno" in error) == (1, False), error
        assert re.fullmatch("hemeroteca: .*/proc/nowhere.*No such file or directory.*\n", error), error


@pytest.mark.parametrize("words", [[], ["watch"], ["watch", "channel"], ["fleet", "device"]])
def test_a_noun_without_a_verb_shows_its_verbs(words):
    code, out, err = call(words)
    assert (code, (out + err).lstrip().startswith("Usage: ")) == (2, True), (out, err)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A data folder with a crawl, a subscription, a job, a token and more, and the web it came from."""
    data = tmp_path_factory.mktemp("walk") / "data"
    with SimWeb(seed=5, hosts=2, pages_per_host=8, page_bytes=2000, trouble=0, robots="open") as web, \
            pytest.MonkeyPatch.context() as patch:  # fmt: skip
        patch.setenv("HEMEROTECA_RESOLVE", web.resolve)
        patch.setenv("HEMEROTECA_ALLOW_PRIVATE", "1")
        patch.setenv("HEMEROTECA_DELAY", "0")
        seed = web.seed_urls(1)[0]
        first = run("from hemeroteca.cli import main; main()", data, "crawl", seed, "--limit", "6", "--json")
        again = run("from hemeroteca.cli import main; main()", data, "crawl", seed, "--limit", "2", "--json")
        yield data, seed, first, again


@pytest.fixture(scope="module")
def aged(tmp_path_factory):
    """A data folder with sixty days of a watched page, most of which brought nothing new."""
    folder = tmp_path_factory.mktemp("aged")
    data, url = folder / "data", "http://old.example/"
    days = [f"2024-{1 + day // 28:02d}-{1 + day % 28:02d}T00:00:00Z" for day in range(60)]
    texts = [(url, day, f"version {number // 3} {'word ' * (number // 3)}") for number, day in enumerate(days)]
    main = "from hemeroteca.cli import main; main()"
    from tests.engine.test_imports import write_warc  # needs models, and programs of this module import it before them

    run(main, data, "archive", "import", write_warc(folder / "old.warc.gz", texts))
    run(main, data, "watch", "add", url)
    run(main, data, "watch", "learn", "1")
    # the engine would know the page after its first visit
    run(
        "import django; django.setup(); from hemeroteca.watch.models import Subscription, WatchedPage; "
        "from hemeroteca import urls; sub = Subscription.objects.get(); "
        "place = {'site': 'old.example', 'url': sub.url}; "
        "WatchedPage.objects.create(subscription=sub, key=urls.key(sub.url), first_ms=1, last_ms=1, **place)",
        data,
    )
    return data


READING = [
    ["status"], ["archive", "stats"], ["archive", "verify"], ["archive", "versions", "SEED", "--all"],
    ["archive", "get", "SEED"], ["job", "list"], ["job", "show", "1"], ["watch", "add", "SEED"], ["watch", "list"],
    ["watch", "show", "1"], ["watch", "pages"], ["watch", "changes"], ["watch", "metrics"], ["watch", "sources"],
    ["watch", "collection", "list"], ["watch", "channel", "list"], ["search", "find", "a"], ["search", "saved"],
    ["user", "add", "ana"], ["user", "list"], ["token", "create", "ana"], ["token", "list"], ["held", "list"],
    ["site", "show", "HOST"], ["fleet", "status"], ["fleet", "devices"],
    ["fleet", "device", "add", "x", "--owner", "ana"], ["fleet", "log"],
    ["fleet", "credits"], ["geo", "stats"], ["geo", "search"], ["config"],
    ["order", "save", "weekly", "SEED", "--every", "168"], ["order", "list"], ["audit"], ["backup", "COPY"],
    ["archive", "tag", "SEED", "one"], ["archive", "note", "SEED", "hello"], ["archive", "noted"],
    ["archive", "takedown", "add", "http://nope.test/", "--reason", "a letter"], ["archive", "takedown", "list"],
    ["archive", "erase", "http://nope.test/", "--reason", "a letter of its author", "--yes"], ["archive", "erasures"],
    ["archive", "prune", "--one-per", "day"], ["archive", "diff", "SEED"], ["archive", "export", "COPY.csv"],
    ["archive", "offload"], ["archive", "import", "DUMP"], ["search", "save", "a"], ["search", "unsave", "1"],
    ["search", "rebuild"], ["search", "explain", "a", "SEED"], ["search", "suggest", "a"], ["search", "learn"],
    ["search", "rank"], ["search", "prefer"], ["search", "query", "--from-file", "DUMP"], ["search", "import", "DUMP"],
    ["watch", "edit", "1", "--threshold", "0.1"], ["watch", "check", "1"], ["watch", "learn", "1"],
    ["watch", "proposals"], ["watch", "import", "DUMP"], ["watch", "report", "rounds"],
    ["watch", "report", "storage"], ["watch", "category", "list"], ["site", "set", "HOST", "delay=0"],
    ["site", "noise", "HOST"], ["held", "take", "1"], ["focus", "explain", "SEED"], ["focus", "finds"],
    ["focus", "thesaurus", "import", "x", "DUMP"], ["focus", "thesaurus", "list"],
    ["focus", "thesaurus", "show", "geography"], ["job", "cancel", "1"], ["job", "resume", "1"], ["job", "follow", "1"],
    ["wiki", "import", "DUMP"], ["wiki", "articles"], ["wiki", "revisions"], ["wiki", "count"],
    ["wiki", "avg", "--datestart", "2020-01-01", "--dateend", "2020-12-31"], ["wiki", "mode", "--of", "date"],
    ["wiki", "metrics"], ["wiki", "metrics", "Caracas"], ["wiki", "compare", "Caracas", "Caracas"], ["wiki", "trends"],
    ["wiki", "query", "select * from revisions"], ["wiki", "query", "select * from articles"],
    ["wiki", "status", "1"], ["wiki", "verify"], ["wiki", "refresh"], ["wiki", "export", "COPY.xml"],
    ["wiki", "compact"], ["wiki", "extract"], ["job", "list"], ["simulate", "--pages", "5", "--days", "90"],
    ["predict", "calibrate"], ["geo", "inspect", "DUMP"], ["geo", "show", "1"], ["geo", "export", "COPY.geojson"],
    ["geo", "check"], ["fleet", "simulate"], ["fleet", "set", "x=1"], ["fleet", "close", "nope.test"],
    ["fleet", "close"], ["fleet", "complaint"], ["fleet", "device", "show", "x"], ["fleet", "device", "code", "x"],
    ["fleet", "device", "rotate", "x"], ["fleet", "vantage", "order", "SEED", "--user", "ana"],
    ["fleet", "client", "add", "ana", "--purpose", "Measure how sites differ between countries.", "--approve"],
    ["fleet", "client", "list"], ["fleet", "vantage", "order", "SEED", "--user", "ana"], ["fleet", "vantage", "list"],
    ["fleet", "vantage", "show", NOBODY], ["fleet", "load-test", "propose", "SEED", "--user", "ana"],
    ["fleet", "load-test", "list"], ["fleet", "load-test", "start", NOBODY], ["fleet", "load-test", "show", NOBODY],
]  # fmt: skip
ASK_OTHERS = {
    "crawl",
    "geo add",
    "geo harvest",
}  # what talks with a server is not walked here; the first is the fixture
DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="es"><siteinfo>
<sitename>W</sitename><dbname>w</dbname><base>https://wiki.test/wiki/X</base></siteinfo><page><title>Caracas</title>
<ns>0</ns><id>1</id><revision><id>7</id><timestamp>2020-03-01T10:00:00Z</timestamp><contributor>
<username>Ana</username><id>1</id></contributor>
<model>wikitext</model><format>text/x-wiki</format><text bytes="4">hola</text></revision></page>
</mediawiki>"""


def test_times_have_one_shape_in_every_json(filled, tmp_path):
    data, seed, first, _ = filled
    given = {"SEED": seed, "HOST": seed.split("/")[2], "DUMP": str(tmp_path / "dump.xml")}
    (tmp_path / "dump.xml").write_text(DUMP)
    asked = []
    for words in READING:
        whole = [given.get(word, word.replace("COPY", str(tmp_path / "copy"))) for word in words]
        asked.append([*whole, "--json"] if "--json" in options_of(words) else whole)
    seen = moments(json.loads(first.stdout.splitlines()[-1]), "crawl")
    for told in run(MANY, data, json.dumps(asked)).stdout.splitlines():
        words, code, said, error = json.loads(told)
        assert code in (0, 1, 2), (words, code, error)
        assert said or error or not code, words
        for line in said.splitlines() if words[-1] == "--json" else ():
            seen |= moments(json.loads(line), " ".join(words))
    assert len(seen) > 40, seen


def test_every_json_is_walked():
    able = {words for words, command in LEAVES.items() if "--json" in options_of(words.split())}
    assert able - {name_of(words) for words in READING} == ASK_OTHERS


def name_of(words):
    return next(name for end in (3, 2, 1) if (name := " ".join(words[:end])) in LEAVES)


def options_of(words):
    return [option for param in LEAVES[name_of(words)].params for option in param.opts]


def moments(value, where):
    """Names of the times in an answer; each has the one shape."""
    if isinstance(value, list):
        return set().union(*(moments(one, where) for one in value))
    if isinstance(value, str):
        assert not LIKE_A_MOMENT.fullmatch(value) or MOMENT.fullmatch(value), (where, value)
        return set()
    if not isinstance(value, dict):
        return set()
    found = set()
    for name, one in value.items():
        assert not name.endswith("_ms") or name == "response_ms", (where, name)
        found |= {f"{where} {name}"} if isinstance(one, str) and MOMENT.fullmatch(one) else moments(one, where)
    return found


def test_that_nobody_can_reach_us_is_said_once(filled):
    _, _, first, again = filled
    assert "`contact` is empty" in first.stderr
    assert "contact" not in again.stderr


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["archive", "export"], "all.warc.gz"),
        (["archive", "export"], "all.csv"),
        (["watch", "export"], "watched.csv"),
        (["geo", "export"], "services.geojson"),
        (["wiki", "export"], "histories.csv"),
        (["archive", "get", "SEED", "-o"], "page.html"),
        (["simulate", "--pages", "5", "--days", "90", "--plot"], "chart.svg"),
    ],
)
def test_a_file_handed_out_is_readable_and_replaces_nothing_unless_told(filled, tmp_path, words, name):
    data, seed, _, _ = filled
    order = [seed if word == "SEED" else word for word in words]
    hands_out_safely(data, order, tmp_path / name)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["archive", "prune", "--one-per", "year", "--report"], "gone.jsonl"),
        (["archive", "prune", "--one-per", "year", "--report"], "gone.csv"),
        (["predict", "calibrate", "--plot"], "reliability.svg"),
        (["archive", "diff", "http://old.example/", "--output"], "changes.html"),
    ],
)
def test_so_is_one_about_the_past(aged, tmp_path, words, name):
    hands_out_safely(aged, words, tmp_path / name)


def test_every_command_that_hands_out_a_file_is_among_them():
    marks = (
        test_a_file_handed_out_is_readable_and_replaces_nothing_unless_told.pytestmark
        + test_so_is_one_about_the_past.pytestmark
    )
    shown = {" ".join(words) for mark in marks for words, _ in mark.args[1]}
    able = {words for words, command in LEAVES.items() if any("--force" in param.opts for param in command.params)}
    assert {words for words in able if not any(one.startswith(words) for one in shown)} == set()


def hands_out_safely(data, order, target):
    """Into a file that is not there, into one that is, and into one that may be replaced; then to standard output."""
    name = target.name
    kept, replaced = (target.parent / folder / name for folder in ("kept", "replaced"))
    for file in (kept, replaced):
        file.parent.mkdir()
        file.write_bytes(b"mine")
    lines = [[*order, str(target)], [*order, str(kept)], [*order, str(replaced), "--force"]]
    ended = [json.loads(line) for line in run(MANY, data, json.dumps(lines)).stdout.splitlines()]
    assert [code for _, code, _, _ in ended] == [0, 1, 0], ended
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert target.read_bytes()
    assert "--force" in ended[1][3]
    assert kept.read_bytes() == b"mine"
    assert replaced.read_bytes() != b"mine"
    main = "from hemeroteca.cli import main; main()"
    format_ = {"warc.gz": "warc", "csv": "csv", "geojson": "geojson"}.get(name.partition(".")[2])
    more = ["--format", format_] if format_ and order[1] == "export" and order[0] != "watch" else []
    shown = subprocess.run(
        [sys.executable, "-c", main, *order, "-", *more],
        env={**os.environ, "HEMEROTECA_DATA": str(data), "HEMEROTECA_DATABASE": ""},
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    if order[1] == "prune":
        assert shown.stdout.count(b"\n") > 10  # as JSON lines, whatever the file is
    elif not name.endswith(".warc.gz"):  # which says its own name
        said, kept = (re.sub(rb"^# written .*", b"", data) for data in (shown.stdout, target.read_bytes()))
        assert said == kept
    assert shown.stdout
    assert not Path("-").exists()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("hemeroteca archive ex", "export"),
        ("hemeroteca crawl --max-t", "--max-time"),
        ("hemeroteca crawl --scope do", "domain"),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_told_how_a_line_goes_on(tmp_path, monkeypatch, shell, line, found):
    asked = {
        "_HEMEROTECA_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    told = run("import sys; sys.argv = ['hemeroteca']; from hemeroteca.cli import main; main()", tmp_path)
    assert re.findall(r"[-\w]+", told.stdout.replace("_arguments", ""))[0] == found, told.stdout


def test_files_of_the_folder_a_command_is_started_in_are_not_taken_for_modules(tmp_path):
    (tmp_path / "ipaddress.py").write_text("import sys; sys.exit('a stranger runs')")
    done = subprocess.run(
        [Path(sys.executable).with_name("hemeroteca"), "watch", "add", "https://example.org/", "--ignore", "aside"],
        cwd=tmp_path,
        env={**os.environ, "HEMEROTECA_DATA": str(tmp_path / "data"), "HEMEROTECA_DATABASE": ""},
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"1  https://example.org/\n", b"")


def test_one_of_a_kind_is_not_told_as_several(tmp_path):
    from tests.engine.test_imports import write_warc  # needs models, and programs of this module import it before them

    warc = write_warc(tmp_path / "old.warc.gz", [("http://old.example/", "2024-01-01T00:00:00Z", "bread")])
    lines = [["archive", "import", str(warc)], ["archive", "verify"]]
    told = run(MANY, tmp_path / "data", json.dumps(lines)).stdout.splitlines()
    assert json.loads(told[-1])[2].startswith("1 file, ")


def test_where_nothing_was_learned_the_reason_is_told(tmp_path):
    (cdx := tmp_path / "of-others.cdx").write_text("nothing of a CDX\n")
    lines = [
        ["watch", "add", "https://example.org/"],
        ["watch", "learn", "1"],
        ["watch", "learn", "1", "--cdx", str(cdx)],
    ]
    _, own, of_others = run(MANY, tmp_path / "data", json.dumps(lines)).stdout.splitlines()
    assert json.loads(own)[2] == "0 observations learned: the archive has no captures of its pages yet\n"
    assert json.loads(of_others)[2] == f"0 observations learned: no line of {cdx} is about its pages\n"


def test_people_read_times_as_everywhere_and_to_the_minute(tmp_path):
    lines = [["order", "save", "weekly", "https://example.org/", "--every", "168"], ["order", "list"]]
    lines += [["archive", "note", "https://example.org/", "hello"]]
    for line in run(MANY, tmp_path / "data", json.dumps(lines)).stdout.splitlines():
        words, code, said, _ = json.loads(line)
        assert code == 0, words
        assert re.search(r" \d{4}-\d\d-\d\d \d\d:\d\d UTC ", said), said
        assert not MOMENT.search(said), said


def test_histories_are_handed_out_without_a_word_of_the_libraries(tmp_path):
    (tmp_path / "dump.xml").write_text(DUMP)
    main = "from hemeroteca.cli import main; main()"
    run(main, tmp_path / "data", "wiki", "import", tmp_path / "dump.xml")
    for words in (["export", tmp_path / "out.xml"], ["export", tmp_path / "out.parquet"], ["metrics", "Caracas"]):
        assert run(main, tmp_path / "data", "wiki", *words).stderr == "", words
