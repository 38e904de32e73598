"""Help: a page for each idea one needs to understand what is shown, in the reader's language."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language, gettext_lazy

from hemeroteca.console.section import ConsolePage, Section

IDEAS = {  # in the order of the list; each is a template of every language
    "tour": gettext_lazy("A tour in ten steps"),
    "search": gettext_lazy("How to search"),
    "versions": gettext_lazy("What is a version?"),
    "prediction": gettext_lazy("How are changes predicted?"),
    "politeness": gettext_lazy("What does politeness mean?"),
    "archive": gettext_lazy("What is in the archive?"),
    "watching": gettext_lazy("What does it mean to watch a site?"),
    "signals": gettext_lazy("What is a signal?"),
    "simulator": gettext_lazy("What is the simulator for?"),
    "geo": gettext_lazy("What are geographic services?"),
    "wikis": gettext_lazy("How are wikis measured?"),
    "fleet": gettext_lazy("What is the fleet?"),
    "jobs": gettext_lazy("What is a job?"),
    "roles": gettext_lazy("Who may do what?"),
}


def listing(request: HttpRequest) -> HttpResponse:
    return render(request, "console/help.html", {"ideas": IDEAS})


def idea(request: HttpRequest, name: str) -> HttpResponse:
    if name not in IDEAS:
        raise Http404
    language = "es" if (get_language() or "").startswith("es") else "en"
    context = {"ideas": IDEAS, "name": name, "heading": IDEAS[name], "text": f"console/help/{language}/{name}.html"}
    return render(request, "console/help.html", context)


SECTION = Section(
    "help",
    gettext_lazy("Help"),
    (
        ConsolePage("help", "help", listing, "instance.about"),
        ConsolePage("help/<slug:name>", "help-idea", idea, "instance.about"),
    ),
)
