"""Links given by names of hosts, as the engine gives them to the link graph: packed keys."""

from collections.abc import Sequence

import numpy as np

from hemeroteca.ingest.search_document import document_key
from hemeroteca.search.graph import LinkWriter


def add_links(
    writer: LinkWriter, page: int, host: str, targets: Sequence[int], hosts: Sequence[str], anchors: Sequence[str] = ()
) -> None:
    texts = list(zip(targets, anchors, strict=True)) if anchors else []
    writer.add(page, document_key(host), _packed(targets), _packed([document_key(name) for name in hosts]), texts)


def _packed(keys: Sequence[int]) -> bytes:
    return np.array(keys, dtype=np.int64).tobytes()
