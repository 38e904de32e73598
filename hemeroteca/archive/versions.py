"""Which captures are versions: those that differ from the one before."""

from collections.abc import Iterable, Mapping

from hemeroteca.archive import queries, services
from hemeroteca.warc import payload_digest
from hemeroteca.warc.keys import DOM

_EMPTY = payload_digest(b"")


def renumber_versions(keys: Iterable[str]) -> None:
    """Mark as versions, among the captures filed under these keys, those that differ from the one before.

    What a browser made of a page decides where there is such a thing: the shell of a page may stay the same for years.
    """
    for key in dict.fromkeys(key.removeprefix(DOM) for key in keys):
        made = (
            {(row.url, row.captured_ms): row.digest for row in queries.captures_under(DOM + key)} if ")" in key else {}
        )
        shown = {(url.removeprefix(DOM), moment): digest for (url, moment), digest in made.items()}
        _renumber(key, shown)
        if made:
            _renumber(DOM + key, {})


def _renumber(key: str, shown: Mapping[tuple[str, int], str]) -> None:
    last: dict[str, str] = {}
    wrong: list[tuple[bool, int]] = []
    for row in queries.captures_under(key):
        digest = shown.get((row.url, row.captured_ms), row.digest)
        waits = row.kind == "revisit" and row.refers_to is None  # nobody knows whether it brought news
        if digest == _EMPTY and row.kind == "response":  # where a redirect led, only who fetched it knew
            digest = f"{digest} {row.status}"
            version = row.version or last.get(row.url) != digest
        else:
            version = last.get(row.url) != digest and not waits
        if not waits:
            last[row.url] = digest
        if version != row.version:
            wrong.append((version, row.id))
    services.set_versions(wrong)
