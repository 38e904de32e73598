"""Spider traps seen on the address alone: `trap` for single URLs, `shape` for families of URLs without end."""

import re
from collections import Counter

MAX_LENGTH = 2000
MAX_SEGMENTS = 25
MAX_PARAMETERS = 30
MAX_SAME_NAME = 10
MAX_SAME_PAIR = 2


def trap(url: str) -> str | None:
    """Why a canonical URL looks like a spider trap, None when it does not."""
    if len(url) > MAX_LENGTH:
        return f"longer than {MAX_LENGTH:,} characters"
    if "%252525" in url:
        return "encoded again and again (%252525)"
    start = url.find("/", 8)
    path, _, query = url[start:].partition("?") if start > 0 else ("", "", "")
    segments = path.split("/")[1:]
    if len(segments) > 2:
        if len(segments) > MAX_SEGMENTS:
            return f"more than {MAX_SEGMENTS} path segments"
        if len(set(segments)) < len(segments):
            repeated = _repetition(segments)
            if repeated:
                return f"path repeats {repeated!r}"
    return _parameters(query) if "&" in query else None


def shape(url: str) -> str:
    """Path and query with numbers and identifiers replaced: `/calendar/{n}/{n}?month={n}`, `/item/{id}`.

    Pages of one shape on one host are mostly one template; a frontier that counts them can stop an endless calendar.
    """
    start = url.find("/", 8)
    if start < 0:
        return "/"
    text = url[start : start + MAX_LENGTH]
    text = _NUMBER("{n}", text) if "%" not in text else _NUMBER_NOT_ESCAPE("{n}", text)
    return _IDENTIFIER("{id}", text) if _HAS_IDENTIFIER(text) else text


_NUMBER = re.compile(r"[0-9]+").sub
_NUMBER_NOT_ESCAPE = re.compile(r"(?<!%)(?<!%[0-9A-F])[0-9]+").sub  # the 20 of `%20` is no number
# UUIDs, hashes, dates with hyphens: three numbers and more with letters between them.
_HAS_IDENTIFIER = re.compile(r"\{n\}[A-Za-z_-]*\{n\}[A-Za-z_-]*\{n\}").search
_IDENTIFIER = re.compile(r"(?<![A-Za-z_-])(?:[A-Za-z_-]*\{n\}){3,}[A-Za-z_-]*").sub


def _repetition(segments: list[str]) -> str | None:
    """A run of segments that comes three times in a row, or a name met again and again."""
    count = len(segments)
    for size in range(1, count // 3 + 1):
        equal = 0  # segments in a row that equal the one `size` before
        for place in range(size, count):
            equal = equal + 1 if segments[place] == segments[place - size] else 0
            block = segments[place - size + 1 : place + 1]
            # Three numbers alike are a date or a map tile; four are not.
            needed = 2 * size if any(not part.isdigit() for part in block) else 3 * size
            if equal >= needed:
                return "/" + "/".join(block)
    name, times = Counter(part for part in segments if part and not part.isdigit()).most_common(1)[0]
    return f"/{name}" if times >= 4 else None


def _parameters(query: str) -> str | None:
    pairs = query.split("&")
    if len(pairs) > MAX_PARAMETERS:
        return f"more than {MAX_PARAMETERS} parameters"
    if len(set(pairs)) < len(pairs):
        pair, times = Counter(pairs).most_common(1)[0]
        if times > MAX_SAME_PAIR:
            return f"parameter {pair[:50]!r} is repeated"
    if len(pairs) > MAX_SAME_NAME:
        name, times = Counter(pair.partition("=")[0] for pair in pairs).most_common(1)[0]
        if times > MAX_SAME_NAME:
            return f"parameter {name[:50]!r} comes more than {MAX_SAME_NAME} times"
    return None
