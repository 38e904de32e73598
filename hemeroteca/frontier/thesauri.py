"""Thesauri of the data folder: imported by people, used by the focus of a crawl."""

from collections.abc import Iterable
from pathlib import Path

from django.conf import settings

from hemeroteca.accounts import Actor, require
from hemeroteca.errors import NotFound
from hemeroteca.focus import thesaurus
from hemeroteca.focus.definition import CompiledFocus, Definition
from hemeroteca.focus.thesaurus import Thesaurus


def import_thesaurus(actor: Actor, name: str, files: Iterable[Path]) -> Thesaurus:
    """Read SKOS files together and keep them under a name, in place of an earlier one."""
    require(actor, "focus.import")
    found = thesaurus.read(name, files)
    thesaurus.save(_folder(), found)
    return found


def thesauri(actor: Actor) -> list[Thesaurus]:
    """All that a focus may name, the built-in ones too."""
    require(actor, "focus.read")
    names = dict.fromkeys((*thesaurus.BUILT_IN, *thesaurus.kept(_folder())))
    return [thesaurus.load(_folder(), name) for name in names]


def one_thesaurus(actor: Actor, name: str) -> Thesaurus:
    require(actor, "focus.read")
    return thesaurus.load(_folder(), name)


def by_name(name: str) -> Thesaurus:
    """For other rooms, which have asked for permissions of their own."""
    return thesaurus.load(_folder(), name)


def check(definition: Definition) -> None:
    """Raises `NotFound` when a thesaurus that a focus names is not there."""
    known = (*thesaurus.BUILT_IN, *thesaurus.kept(_folder()))
    for name in definition.thesauri:
        if name not in known:
            raise NotFound(
                f"the focus {definition.name} names the thesaurus {name}, which is not there; "
                f"`hemeroteca focus thesaurus import {name} FILES…` makes it"
            )


def compiled(definition: Definition) -> CompiledFocus:
    """A focus with the thesauri it names, for the engine."""
    from hemeroteca.focus import relevance  # only here: most crawls have no focus

    return relevance.compiled(definition, lambda name: thesaurus.load(_folder(), name))


def _folder() -> Path:
    return settings.INSTANCE.thesauri_dir
