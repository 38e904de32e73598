"""Packages and modules that are loaded when somebody asks for what is in them: a command pays only for what it uses."""

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


def lazily(package: str, **names: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package: by module, the names it has for others. Its modules are names, too."""
    places = {name: module for module, found in names.items() for name in found.split()}

    def load(name: str) -> Any:
        if name in places:
            value = getattr(import_module(f"{package}.{places[name]}"), name)
            setattr(sys.modules[package], name, value)  # asked once
            return value
        try:
            return import_module(f"{package}.{name}")
        except ModuleNotFoundError:
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    return load


class Module:
    """A module of others that is loaded when it is asked for something: numpy takes longer than a crawl to begin."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)  # asked once
        return value


def load(*packages: ModuleType) -> None:
    """Load every name such packages have for others: before a process is copied, so that no copy does it again."""
    for package in packages:
        for name in package.__all__:
            getattr(package, name)
