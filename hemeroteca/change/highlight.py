"""The new version as a page with what came and went marked, safe to show.

Written anew, element by element, from a short list of names: no script, style, frame, form, address or handler of the
page survives, so it can do nothing and fetches nothing; a content security policy inside says so once more.
"""

from collections.abc import Iterator
from html import escape

from resiliparse.parse.html import TEXT, DOMNode

from hemeroteca.change.diffs import Stretch, changed_runs, lines_of, pairs
from hemeroteca.change.sequences import opcodes
from hemeroteca.change.site_rules import ChangeRules
from hemeroteca.change.snapshot import Parts, Snapshot, blocks, events, take_apart
from hemeroteca.extract.document import BREAK

_DEFAULTS = ChangeRules()
_KEPT_NAMES = (
    "p div section article main header footer nav aside h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table thead tbody tfoot "
    "tr td th caption blockquote pre code figure figcaption address details summary b strong i em u s small sub sup "
    "span a q cite abbr time mark kbd samp var hr br"
)
_KEPT = frozenset(_KEPT_NAMES.split())
_VOID = frozenset(["hr", "br"])
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:1rem auto;padding:0 1rem}"
    "ins{background:#d4f5d4;color:#053;text-decoration:none;box-shadow:0 1px #2a7}"
    "del{background:#fbd9d9;color:#700;text-decoration:line-through}"
    "a{color:inherit;text-decoration:underline dotted}td,th{padding:.1rem .5rem;text-align:left;vertical-align:top}"
    ".picture{color:#666;border:1px dashed #aaa;padding:0 .3rem}"
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
"""Send this as Content-Security-Policy together with `sandbox`."""


def highlighted_page(old: Snapshot, new: Snapshot, given: ChangeRules = _DEFAULTS) -> str:
    """HTML of the new version with `<ins>` and `<del>`."""
    page = take_apart(new, given)
    if page.kind == "html" and page.tree is not None and page.tree.body is not None:
        body = _Writer(page, lines_of(old, given)).html()
        title = page.lines[0] if page.lines else ""
    else:
        body = "".join(_plain(lines_of(old, given), lines_of(new, given)))
        title = new.url
    return (
        '<!DOCTYPE html><html><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{escape(title[:200])}</title><style>{_STYLE}</style></head><body>{body}</body></html>"
    )


def _plain(before: list[str], after: list[str]) -> Iterator[str]:
    for op in opcodes(before, after):
        if op.same:
            yield from (f"<p>{escape(line)}</p>" for line in after[op.c : op.d])
            continue
        for x, y in pairs(op, before, after):
            runs = changed_runs(before[x] if x >= 0 else "", after[y] if y >= 0 else "")
            yield f"<p>{''.join(map(_marked, runs))}</p>"


def _marked(run: Stretch) -> str:
    if run.op == "equal":
        return escape(run.text)
    name = "ins" if run.op == "insert" else "del"
    return f"<{name}>{escape(run.text)}</{name}>"


class _Writer:
    """Walks the tree as `blocks` does, with the runs of each line at hand."""

    def __init__(self, page: Parts, before: list[str]) -> None:
        assert page.tree is not None
        self.root: DOMNode = page.tree.body
        all_lines = page.lines  # title and description stand before the lines of the body
        self.lines = [line for line, _ in blocks(page)]
        self.head = max(0, len(all_lines) - len(self.lines))
        self.runs: dict[int, list[Stretch]] = {}  # by the number of the line; only lines that differ
        self.gone: dict[int, list[str]] = {}  # lines that went, by the number of the line they stood before
        self._compare(before, all_lines[: self.head] + self.lines)
        self.number = 0
        self.out: list[str] = []

    def _compare(self, before: list[str], after: list[str]) -> None:
        for op in opcodes(before, after):
            if op.same:
                continue
            place = op.c
            for x, y in pairs(op, before, after):
                if y < 0:
                    self.gone.setdefault(place - self.head, []).append(before[x])
                    continue
                place = y + 1
                self.runs[y - self.head] = changed_runs(before[x] if x >= 0 else "", after[y])

    def html(self) -> str:
        for number in sorted(set(self.runs) | set(self.gone)):  # title and description, which the body does not show
            if number < 0:
                self.out += [f"<p><del>{escape(line)}</del></p>" for line in self.gone.get(number, ())]
                self.out += [f"<p>{''.join(map(_marked, self.runs.get(number, ())))}</p>"]
        self._walk()
        self._left()
        return "".join(self.out)

    def _walk(self) -> None:
        """Elements are opened and closed as they stand; the text of a line is written when the line is complete."""
        pieces: list[tuple[int, str]] = []  # where in `out` a piece of the line belongs, and the piece
        for node, closing in events(self.root):
            if node.type == TEXT:
                for number, piece in enumerate((node.value or "").split(BREAK)):
                    if number:
                        self._line(pieces)
                        pieces = []
                    if piece:
                        pieces.append((len(self.out), piece))
                        self.out.append("")
                continue
            tag = node.tag
            if tag in _KEPT:
                if not closing:
                    self.out.append(f"<{tag}>")
                elif tag not in _VOID:
                    self.out.append(f"</{tag}>")
            elif tag == "img" and not closing:
                label = " ".join((node.getattr("alt") or "").split())[:200]
                self.out.append(f'<span class="picture">{escape(label) or "▢"}</span>')
        self._line(pieces)

    def _line(self, pieces: list[tuple[int, str]]) -> None:
        if not pieces:
            return
        text = "".join(piece for _, piece in pieces)
        if not text or text.isspace():
            for place, _ in pieces:
                self.out[place] = " "
            return
        runs = self.runs.get(self.number)
        gone = "".join(f"<del>{escape(line)}</del> " for line in self.gone.get(self.number, ()))
        self.number += 1
        if runs is None:
            for place, piece in pieces:
                self.out[place] = escape(piece)
        else:
            self._spread(pieces, runs)
        self.out[pieces[0][0]] = gone + self.out[pieces[0][0]]

    def _spread(self, pieces: list[tuple[int, str]], runs: list[Stretch]) -> None:
        """Give each piece of a line its part of the runs. Both are counted in letters that are not white space."""
        waiting = list(reversed(runs))
        left, op = "", "equal"
        for number, (place, piece) in enumerate(pieces):
            last = number == len(pieces) - 1
            need = sum(map(len, piece.split()))
            parts: list[str] = []
            while need or last:
                if not left:
                    if not waiting:
                        break
                    run = waiting.pop()
                    if run.op == "delete":
                        parts.append(_marked(run))
                        continue
                    left, op = run.text, run.op
                cut, need = (len(left), 0) if last else _cut(left, need)
                parts.append(_marked(Stretch(op, left[:cut])))
                left = left[cut:]
            self.out[place] = "".join(parts)

    def _left(self) -> None:
        """Lines that went from the end of the page."""
        for number in sorted(self.gone):
            if number >= self.number:
                self.out += [f"<p><del>{escape(line)}</del></p>" for line in self.gone[number]]


def _cut(text: str, letters: int) -> tuple[int, int]:
    """The length of the beginning of `text` that has so many letters, and how many are still missing."""
    for place, letter in enumerate(text):
        if not letters:
            return place, 0
        letters -= not letter.isspace()
    return len(text), letters
