"""Which collections are published, and how: the decision of who may. What readers then see is in `publications`."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from hemeroteca.accounts import Actor
from hemeroteca.errors import Refused
from hemeroteca.watch import publications
from hemeroteca.watch.models import Collection


def publish(request: HttpRequest) -> HttpResponseBase:
    """Which collections are published, and how."""
    actor = Actor.of(request.user)
    names = ("collection", "slug", "title", "description", "colour")
    form = {name: request.POST.get(name, "").strip()[:12_000] for name in names}
    failure = ""
    if request.method == "POST":
        try:
            if request.POST.get("do") == "unpublish":
                publications.unpublish(actor, form["collection"])
                messages.success(request, _("It is not published any more."))
                return redirect("publish")
            colour = form["colour"] if request.POST.get("coloured") else ""
            row = publications.publish(
                actor, form["collection"], form["slug"], form["title"], form["description"], colour, _picture(request)
            )
            messages.success(request, _("Everybody can read it now."))
            return redirect("published", row.slug)
        except Refused as error:
            failure = str(error)
    known = {row.collection.name: row for row in publications.listed()}
    asked = known.get(request.GET.get("collection", ""))
    if asked is not None and not failure:
        form = {name: getattr(asked, name, "") for name in names} | {"collection": asked.collection.name}
    context = {
        "published": [(row, publications.undecided(row)) for row in known.values()],
        "collections": Collection.objects.order_by("name").values_list("name", flat=True)[:500],
        "form": form,
        "failure": failure,
    }
    return render(request, "console/publish.html", context, status=422 if failure else 200)


def _picture(request: HttpRequest) -> bytes | None:
    if request.POST.get("no_picture"):
        return b""
    file = request.FILES.get("picture")
    return file.read(publications.MAX_PICTURE + 1) if file is not None else None
