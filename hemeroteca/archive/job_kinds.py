"""Long work of the archive: export, prune, offload."""

import io
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from django.conf import settings

from hemeroteca.archive import export, prune, wacz
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.archive.drafts import draft
from hemeroteca.archive.models import WarcFile
from hemeroteca.archive.selection import Selection
from hemeroteca.errors import CannotWrite, Refused
from hemeroteca.jobs import ActiveJob, kind
from hemeroteca.jobs.models import Job
from hemeroteca.warc import store
from hemeroteca.warc.stored_record import WarcReadError


class Export(msgspec.Struct):
    selection: Selection
    target: str
    format: str  # warc, wacz, csv, json
    title: str = ""


class ExportedFile(msgspec.Struct):
    file: str
    captures: int
    bytes: int
    unreadable: int


class Prune(msgspec.Struct):
    selection: Selection
    rules: prune.Retention
    report: str = ""  # a file that lists what goes


class Offload(msgspec.Struct):
    keep_local: bool = False


class Offloaded(msgspec.Struct):
    files: int
    bytes: int


@kind("archive.export")
def export_captures(job: ActiveJob, order: Export) -> ExportedFile:
    """The file appears when it is whole."""
    target, folder = Path(order.target), settings.INSTANCE.warc_dir
    now_ms = time.time_ns() // 1_000_000
    try:
        if order.format == "warc":
            done = export.export_warc(folder, order.selection, target, now_ms, job.progress)
        elif order.format == "wacz":
            done = wacz.write(folder, order.selection, target, now_ms, order.title, job.progress)
        else:
            with draft(target) as file:
                text = io.TextIOWrapper(file, "utf-8", newline="")
                count = export.export_list(order.selection, text, order.format, job.progress)
                text.detach()  # flushes it
            done = export.Exported(captures=count)
    except store.StoreUnreachableError as error:
        raise Refused(f"{error}; nothing was exported")
    except OSError as error:
        raise CannotWrite(target, error)
    return ExportedFile(str(target), done.captures, target.stat().st_size, done.unreadable)


def exported_file(job: Job) -> Path | None:
    """The file that an export ordered over the network made, until it is gone. Others are not handed out."""
    place = Path(job.arguments.get("target", "")) if job.kind == "archive.export" else Path()
    return place if job.state == "done" and place.parent == exports_folder() and place.is_file() else None


def exports_folder() -> Path:
    """Where exports lie that were ordered over the network, until they are taken away."""
    return Path(settings.INSTANCE.data) / "exports"


def remove_exports(erased: Sequence[CaptureRow]) -> list[str]:
    """Remove the files of that folder that hold one of these captures; their names."""
    removed = []
    for arguments in Job.objects.filter(kind="archive.export").values_list("arguments", flat=True):
        order = msgspec.convert(arguments, Export)
        place = Path(order.target)
        here = place.parent == exports_folder() and place.is_file()
        if here and (not order.selection.urls or any(order.selection.holds(row) for row in erased)):
            place.unlink()
            removed.append(place.name)
    return removed


@kind("archive.prune", exclusive=True)
def let_go(job: ActiveJob, order: Prune) -> prune.Pruned:
    """What was written anew before an interruption stays; the rest is looked at again."""
    with export.listed_in(Path(order.report) if order.report else None) as tell:
        try:
            return prune.prune(settings.INSTANCE.warc_dir, order.selection, order.rules, False, tell, job.progress)
        except WarcReadError as error:
            raise Refused(str(error))


@kind("archive.offload", remote=True)
def bring_to_store(job: ActiveJob, order: Offload) -> Offloaded:
    names = list(WarcFile.objects.filter(closed=True, size__gt=0).order_by("name").values_list("name", flat=True))
    step = iter(range(len(names)))
    try:
        files, total = store.offload(
            settings.INSTANCE.warc_dir,
            names,
            order.keep_local,
            progress=lambda name: job.progress(next(step), len(names), name),
        )
    except store.StoreError as error:
        raise Refused(str(error))
    return Offloaded(files, total)
