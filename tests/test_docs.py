"""The documentation is true where a program can tell: generated pages, links, and the commands that are shown."""

import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from docs import generate

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page for pattern in ("*.md", "docs/**/*.md", "bench/*.md", "bench/notes/*.md") for page in ROOT.glob(pattern)
)
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHELL = {"", "sh", "bash", "console"}


def test_generated_pages_are_up_to_date():
    done = subprocess.run([sys.executable, "-m", "docs.generate", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_page_that_is_out_of_date_is_noticed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    assert generate.main(["--check"]) == 1
    assert "docs/reference/settings.md is out of date" in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name):
    page = ROOT / name
    broken = []
    for target in links(page.read_text("utf-8")):
        path, _, anchor = target.partition("#")
        goal = (page.parent / path).resolve() if path else page
        there = goal.exists() and goal.is_relative_to(ROOT)
        if not there or (anchor and anchor not in anchors(goal.read_text("utf-8"))):
            broken.append(target)
    assert not broken, f"{name} links to {broken}"


def test_the_index_of_decisions_names_each_page_once_by_its_title():
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"^- \[(.+)\]\((\d{4}-.+\.md)\)$", (folder / "README.md").read_text("utf-8"), re.MULTILINE)
    pages = [(page.read_text("utf-8").partition("\n")[0], page.name) for page in sorted(folder.glob("0*.md"))]
    assert sorted((f"# {title}", name) for title, name in listed) == pages
    assert len({name[:4] for _, name in pages}) == len(pages)
    sections = {name: re.split(r"^#+ ", (folder / name).read_text("utf-8"), flags=re.MULTILINE) for _, name in pages}
    long = [
        name for name, parts in sections.items() if len(parts) > 7 or any(len(part.splitlines()) > 22 for part in parts)
    ]
    assert not long, f"a decision has at most five sections of 20 lines: {long}"


@pytest.mark.parametrize("name", NAMES)
def test_every_command_shown_exists(name):
    wrong = [f"{line}: {problem}" for line in commands((ROOT / name).read_text("utf-8")) if (problem := fault(line))]
    assert not wrong, "\n".join([name, *wrong])


def test_both_readmes_say_the_same():
    english, spanish = ((ROOT / name).read_text("utf-8") for name in ("README.md", "README.es.md"))
    assert levels(english) == levels(spanish)
    assert list(commands(english)) == list(commands(spanish))
    assert rows(english) == rows(spanish)
    own = {"README.md", "README.es.md"}
    assert set(links(english)) - own == set(links(spanish)) - own


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("hemeroteca crawl https://example.org --limit 5 --delay=1", ""),
        ("hemeroteca search 'two words' -n 3", ""),
        ("hemeroteca archive get [--at TIME] URL", ""),
        ("hemeroteca COMMAND --help", ""),
        ("hemeroteca fly", "there is no command `hemeroteca fly`"),
        ("hemeroteca crawl --fast", "`hemeroteca crawl` has no option --fast"),
        ("hemeroteca user add eva --rol director", "`hemeroteca user add` has no option --rol"),
        ("make fire", "the Makefile has no target `fire`"),
        ("simweb advance", "simweb does not take this"),
    ],
)
def test_a_command_that_does_not_exist_is_noticed(line, problem):
    assert fault(line) == problem


def links(text: str) -> list[str]:
    """Relative targets of links and images, code left out."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))
    return [target for target in re.findall(r"\]\(([^)\s]+)\)", prose) if "://" not in target]


def anchors(text: str) -> set[str]:
    """What GitHub calls the headings of a page."""
    found = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def levels(text: str) -> list[int]:
    return [len(mark) for mark in re.findall(r"^(#+) ", FENCE.sub("", text), re.MULTILINE)]


def rows(text: str) -> list[str]:
    """First cells of tables: the names that are not translated."""
    return re.findall(r"^\| ([a-z, A-Z]+) \|", text, re.MULTILINE)[1:]


def commands(text: str) -> list[str]:
    """Commands of ours in shell blocks and in code within lines, without comments and without what stands before."""
    text = text.replace("\\\n", " ")  # a line that goes on
    prose = FENCE.sub("", text)
    lines = [line for kind, block in FENCE.findall(text) if kind in SHELL for line in block.splitlines()]
    lines += re.findall(r"^ {4}((?:hemeroteca|simweb) .*)$", prose, re.MULTILINE)
    lines += re.findall(r"`([^`\n]+)`", prose)
    found = []
    for line in lines:
        plain = re.sub(r"\s#\s.*$", "", line).strip().removeprefix("$ ")
        plain = re.sub(r"^(?:[A-Z_]+=\S+ )+", "", plain).removeprefix(".venv/bin/")
        for part in re.split(r" \| | && |\s{3,}", plain):
            if re.match(r"(hemeroteca|simweb|make) [\w\[<-]", part):
                found.append(part)
    return found


def fault(line: str) -> str:
    """Why this command cannot be given; empty when it can."""
    try:
        program, *words = shlex.split(line.replace("\\|", " "), comments=True)
    except ValueError as error:
        return str(error)
    return {"hemeroteca": _hemeroteca, "simweb": _simweb, "make": _make}[program](words)


command_line = cache(generate.command_line)  # the whole tree, once for all lines


def _hemeroteca(words: list[str]) -> str:
    command, name = command_line(), "hemeroteca"
    words = [word.strip("[]…,") for word in words]
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        if words[0].isupper() and name != "hemeroteca search":
            return ""  # a placeholder for any command
        if words[0] in command.commands:
            command, name = command.commands[words[0]], f"{name} {words.pop(0)}"
        elif "find" in command.commands:
            command = command.commands["find"]
        else:
            return f"there is no command `{name} {words[0]}`"
    known = {flag for param in command.params for flag in (*param.opts, *param.secondary_opts)} | {"--help", "-h"}
    if "--" in words:
        words = words[: words.index("--")]
    for word in words:
        for flag in word.split("/"):
            if re.match(r"-{1,2}[a-z]", flag) and flag.split("=")[0] not in known:
                return f"`{name}` has no option {flag}"
    return ""


def _simweb(words: list[str]) -> str:
    from simweb.cli import _parser

    try:
        _parser().parse_args(words)
    except SystemExit:
        return "simweb does not take this"
    return ""


def _make(words: list[str]) -> str:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    named = [word for word in words if "=" not in word]  # a variable is no target
    return next((f"the Makefile has no target `{word}`" for word in named if word not in targets), "")
