"""Translations without gettext's tools: finds the texts of the console, and compiles catalogues.

    python -m hemeroteca.console.messages            compile every .po next to its .mo, and list what is untranslated
    python -m hemeroteca.console.messages --check    change nothing; fail when something is stale or untranslated

The compiled files are kept in the repository, so that running needs neither this nor msgfmt.
"""

import ast
import re
import struct
import sys
from pathlib import Path

LOCALE = Path(__file__).parent / "locale"
ROOMS = tuple(Path(__file__).parent.parent / room for room in ("console", "accounts", "search"))
_CALLS = {"Note", "_", "gettext", "gettext_lazy", "ngettext", "pgettext"}
_LINE = re.compile(r'(?:(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d+)\])?\s*)?"((?:[^"\\]|\\.)*)"')
_TEMPLATE_CALL = re.compile(r"""\b(n?gettext)\(u?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    wrong = 0
    for source in sorted(LOCALE.glob("*/LC_MESSAGES/*.po")):
        catalogue = read_catalogue(source.read_text("utf-8"))
        compiled = compile_catalogue(catalogue)
        target = source.with_suffix(".mo")
        if check and (not target.exists() or target.read_bytes() != compiled):
            print(f"{target} is stale; run `make messages`")
            wrong += 1
        elif not check:
            target.write_bytes(compiled)
        for text in sorted(texts() - {key.partition("\0")[0] for key, value in catalogue.items() if value}):
            print(f"{source}: no translation of {text!r}")
            wrong += 1
    return 1 if wrong else 0


def read_catalogue(text: str) -> dict[str, str]:
    """Texts and their translations; plural forms joined with a zero byte, as compiled catalogues want them."""
    catalogue: dict[str, str] = {}
    entry: dict[str, str] = {}
    key = ""
    for line in [*text.splitlines(), ""]:
        found = _LINE.fullmatch(line.strip())
        if found is None:
            if "msgid" in entry and not line.startswith("#"):
                _add(catalogue, entry)
                entry = {}
            continue
        if found[1]:
            if found[1] in ("msgid", "msgctxt") and "msgstr" in "".join(entry):
                _add(catalogue, entry)
                entry = {}
            key = found[1] + (found[2] or "")
            entry[key] = ""
        entry[key] += ast.literal_eval(f'"{found[3]}"')
    return catalogue


def compile_catalogue(catalogue: dict[str, str]) -> bytes:
    """GNU .mo: a header, two tables of (length, offset), and the texts, sorted by original."""
    entries = sorted((key.encode(), value.encode()) for key, value in catalogue.items() if value)
    start = 28 + 16 * len(entries)
    tables: list[list[int]] = [[], []]
    data = b""
    for side in (0, 1):
        for entry in entries:
            tables[side] += [len(entry[side]), start + len(data)]
            data += entry[side] + b"\0"
    count = len(entries)
    header = struct.pack("<7I", 0x950412DE, 0, count, 28, 28 + 8 * count, 0, start)
    return header + struct.pack(f"<{4 * count}I", *tables[0], *tables[1]) + data


def texts() -> set[str]:
    """Every text of templates and code that is marked for translation."""
    from django.utils.translation.template import templatize

    found: set[str] = set()
    for room in ROOMS:
        for file in room.rglob("*.html"):
            for call in _TEMPLATE_CALL.finditer(templatize(file.read_text("utf-8"))):
                found.add(ast.literal_eval(call[2]))
        for file in room.rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") in _CALLS and node.args:
                    first = node.args[0]
                    if isinstance(first, ast.Constant) and isinstance(first.value, str):
                        found.add(first.value)
    return found


def _add(catalogue: dict[str, str], entry: dict[str, str]) -> None:
    key = entry["msgid"] + ("\0" + entry["msgid_plural"] if "msgid_plural" in entry else "")
    if "msgctxt" in entry:
        key = f"{entry['msgctxt']}\x04{key}"
    forms = sorted((name for name in entry if name.startswith("msgstr")), key=lambda name: int(name[6:] or 0))
    translated = [entry[name] for name in forms]
    catalogue[key] = "\0".join(translated) if all(translated) else ""


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
