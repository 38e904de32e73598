"""Answers that cost something, kept until something is committed to the lake."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Any

import msgspec
from django.conf import settings

from hemeroteca.wiki import commits

KEPT = 128

_kept: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
_lock = Lock()


def recall(key: tuple[Any, ...]) -> Any:
    """What was answered before, of the lake as it is now; None: nothing."""
    full = _full(key, commits.current_version())
    with _lock:
        if full in _kept:
            _kept.move_to_end(full)
        return _kept.get(full)


def remember(key: tuple[Any, ...], answer: Any, version: int) -> None:
    """`version`: of the lake when it was asked."""
    with _lock:
        _kept[_full(key, version)] = answer
        while len(_kept) > KEPT:
            _kept.popitem(last=False)


def _full(key: tuple[Any, ...], version: int) -> tuple[Any, ...]:
    return str(settings.INSTANCE.data), version, *(msgspec.json.encode(part) for part in key)
