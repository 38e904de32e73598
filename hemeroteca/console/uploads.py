"""Files of captures sent from a page: in parts by its script, or whole when they are small; then imported as a job."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from hemeroteca.accounts import Actor
from hemeroteca.archive import uploads
from hemeroteca.console import jobs
from hemeroteca.errors import Conflict, Invalid, NotFound, Refused
from hemeroteca.jobs.models import Job


def upload_list(request: HttpRequest) -> HttpResponseBase:
    """The form, what is under way, and what came before."""
    actor = Actor.of(request.user)
    failure = ""
    if request.method == "POST":
        try:
            return _act(request, actor)
        except (Invalid, Conflict, NotFound) as error:
            if request.headers.get("Accept") == "application/json":
                return _problem(error)
            failure = str(error)
    shown = [(row, _job(actor, row), 100 * row.received // max(1, row.size)) for row in uploads.listed(actor)]
    context = {"uploads": shown, "failure": failure, "endings": ",".join(uploads.ENDINGS)}
    return render(request, "console/uploads.html", context, status=422 if failure else 200)


@require_POST
def upload_part(request: HttpRequest, number: int) -> HttpResponse:
    """A part of a file, as the script sends it."""
    offset = request.GET.get("offset", "")
    try:
        if not offset.isdecimal() or len(offset) > 18:
            raise Invalid("`offset` says where the part begins")
        row = uploads.add(Actor.of(request.user), min(number, (1 << 63) - 1), int(offset), request.body)
    except RequestDataTooBig:
        return _problem(Invalid(f"a part has at most {uploads.PART_BYTES:,} bytes"))
    except Refused as error:
        return _problem(error)
    return JsonResponse(_facts(row))


def _act(request: HttpRequest, actor: Actor) -> HttpResponseBase:
    given = request.POST
    if given.get("do") == "cancel":
        number = given.get("upload", "")
        uploads.cancel(actor, int(number) if number.isdecimal() and len(number) < 19 else 0)
        messages.success(request, _("The upload is forgotten."))
        return redirect("uploads")
    if "size" in given:  # the script announces a file
        size = given.get("size", "")
        if not size.isdecimal() or len(size) > 15:
            raise Invalid("`size` is the number of bytes of the file")
        return JsonResponse(_facts(uploads.begin(actor, given.get("name", "")[:200], int(size))))
    file = request.FILES.get("file")
    if file is None or not file.size:
        raise Invalid(_("Choose a file first."))
    row = uploads.begin(actor, file.name or "", file.size)
    file.seek(row.received)
    while not row.job and (part := file.read(uploads.PART_BYTES)):
        row = uploads.add(actor, row.pk, row.received, part)
    return redirect("job", row.job)


def _facts(row: Any) -> dict[str, Any]:
    return {"id": row.pk, "received": row.received, "size": row.size, "part": uploads.PART_BYTES, "job": row.job}


def _job(actor: Actor, row: Any) -> Any:
    job = Job.objects.filter(pk=row.job).first() if row.job else None
    return jobs.shown(actor, job) if job is not None else None


def _problem(error: Refused) -> HttpResponse:
    status = {Conflict: 409, NotFound: 404}.get(type(error), 422)
    return JsonResponse({"detail": str(error), "code": error.code}, status=status)
