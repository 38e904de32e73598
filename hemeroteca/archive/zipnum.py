"""The index of a large WACZ in blocks: `index.cdx.gz` of gzip members, and `index.idx` that tells where each begins.

A reader (ReplayWeb.page, pywb) loads the short list and then only the blocks it needs; a plain index it reads whole
before it shows anything. The keys are those by which ReplayWeb.page looks, which are not quite ours: it keeps the slash
at an address's end and what we take for the number of a session (docs/decisions/0035-wacz-for-replayweb.md).
"""

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO

import ada_url

PLAIN_BYTES = 1 << 20  # of lines that a reader may load at once: about 3,000 captures
LINES = 1024  # in a block, as other tools have it
DATA, LIST = "index.cdx.gz", "index.idx"


def key(url: str) -> str:
    """What ReplayWeb.page looks for when it is asked for an address."""
    if not url.startswith(("http:", "https:")):
        return url
    try:
        found = ada_url.URL(_WWW.sub(r"\1", url).lower())
    except ValueError:
        return url
    host = ",".join(reversed(found.hostname.split(".")))
    port = f":{found.port}" if found.port else ""
    query = "?" + "&".join(sorted(found.search[1:].split("&"))) if found.search else ""
    return f"{host}{port}){found.pathname}{query}"


def keyed(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines `key timestamp {…}` with the key replaced."""
    for line in lines:
        _, moment, rest = line.split(b" ", 2)
        facts = json.loads(rest)
        url = facts["url"]
        if "method" in facts:
            url += f"{'&' if '?' in url else '?'}__wb_method={facts['method']}&{facts['requestBody']}"
        yield b" ".join((key(url).encode(), moment, rest))


def write(lines: Iterable[bytes], data: IO[bytes], listed: IO[bytes]) -> None:
    """Sorted lines in blocks, and the list of the blocks."""
    listed.write(b"!meta 0 %s\n" % json.dumps({"format": "cdxj-gzip-1.0", "filename": DATA}).encode())
    rest = iter(lines)
    offset = 0
    while block := list(islice(rest, LINES)):
        packer = zlib.compressobj(wbits=31)
        packed = packer.compress(b"".join(block)) + packer.flush()
        place = {"offset": offset, "length": len(packed), "digest": f"sha256:{hashlib.sha256(packed).hexdigest()}"}
        first = b" ".join(block[0].split(b" ", 2)[:2])
        listed.write(b"%s %s\n" % (first, json.dumps({**place, "filename": DATA}).encode()))
        data.write(packed)
        offset += len(packed)


_WWW = re.compile(r"^(https?://)www\d*\.")
