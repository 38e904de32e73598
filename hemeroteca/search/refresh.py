"""A turn of what search should do from time to time while pages come in, as a process at the lowest priority.

    python -m hemeroteca.search.refresh INDEX N     keys of the seeds on its standard input (msgpack)

Compacts the link graph, ranks pages and hosts, learns the words of about N documents; what it finds out about link
texts it leaves in a file for whoever writes the index.
"""

import fcntl
import os
import signal
import sys
from itertools import islice
from pathlib import Path

import msgspec

from hemeroteca.search import services
from hemeroteca.search.graph import LinkGraph
from hemeroteca.search.index import SearchError, open_index

TEXTS = "texts.todo"  # [(page key, link texts)]
_MOST_TEXTS = 20_000  # in one turn; the rest at the next


class TurnError(Exception):
    """Why there was no turn; the next one comes later."""


def main(folder: Path, learned: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the engine; it tells us when to stop
    os.nice(15)
    try:
        turn(folder, msgspec.msgpack.decode(sys.stdin.buffer.read(), type=list[int]), learned)
    except TurnError as error:
        raise SystemExit(str(error))


def turn(folder: Path, seeds: list[int], learned: int) -> None:
    alone = (folder / "refresh.lock").open("ab")
    try:
        fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
        index = open_index(None, folder)
        services.refresh(folder, index, seeds, learned)
        changed = services.changed_anchors(index, LinkGraph(folder / "links"))
        texts = [(document.key, text) for document, text in islice(changed, _MOST_TEXTS)]
    except BlockingIOError:
        raise TurnError("a turn of an engine that was killed is still under way; the next one comes later")
    except (SearchError, OSError, ValueError) as error:
        raise TurnError(f"search could not be refreshed: {error}")
    finally:
        alone.close()
    draft = folder / f"{TEXTS}.draft"
    draft.write_bytes(msgspec.msgpack.encode(texts))
    os.replace(draft, folder / TEXTS)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
