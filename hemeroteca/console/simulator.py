"""Simulator: visiting policies compared on generated histories, an uploaded one or that of a watched site, as a job."""

import zlib
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from hemeroteca.accounts import Actor
from hemeroteca.console import charts, jobs
from hemeroteca.console.search import number_in
from hemeroteca.console.section import ConsolePage, Section
from hemeroteca.console.templatetags.console import size
from hemeroteca.errors import Invalid
from hemeroteca.jobs import queries, services
from hemeroteca.plain import whole_number
from hemeroteca.predict import traces
from hemeroteca.predict.experiment import Experiment
from hemeroteca.predict.simulator import STRIP_DAYS
from hemeroteca.watch import queries as watch

KIND = "predict.simulate"
POLICIES = {
    "auto": gettext_lazy("the predictor of this program"),
    "simple": gettext_lazy("the rule of 2015"),
    "fixed:24": gettext_lazy("every day"),
    "fixed:168": gettext_lazy("every week"),
    "simple-notify": gettext_lazy("the rule of 2015, and what sites announce"),
    "simple-history": gettext_lazy("the rule of 2015 over the days of its history"),
    "day-type": gettext_lazy("by working days, weekends and holidays (2015)"),
    "exponential": gettext_lazy("by the mean distance of its changes (2018)"),
    "nutch": gettext_lazy("as Apache Nutch does"),
    "lambda-crawl": gettext_lazy("LambdaCrawl, by estimated rates of change (2019)"),
}
PROCESSES = {
    "bernoulli:p=.9": gettext_lazy("High: a change on 9 days of 10"),
    "bernoulli:p=.55": gettext_lazy("Medium: a change on 11 days of 20"),
    "bernoulli:p=.15": gettext_lazy("Low: a change on 3 days of 20"),
    "poisson": gettext_lazy("At random, pages at their own rates"),
    "bursty": gettext_lazy("In bursts, with long silences"),
    "seasonal": gettext_lazy("By weekday and season"),
    "academic:p=.8": gettext_lazy("A university's news: working days of term"),
    "academic:p=.2": gettext_lazy("A quiet faculty: seldom, and only in term"),
    "regime": gettext_lazy("Habits that change now and then"),
    "sections": gettext_lazy("Pages of a section together"),
    "releases": gettext_lazy("All at once, now and then"),
    "silent": gettext_lazy("Almost never"),
}
BUDGETS = {
    "same-as:simple": gettext_lazy("As many visits as the rule of 2015 makes"),
    "same-as:simple/3": gettext_lazy("A third of them"),
    "own": gettext_lazy("Every rule at its own pace"),
}
MAX_DAYS, MAX_PAGES = 1095, 400
MAX_TRACE = 2 << 20  # bytes of an uploaded history
MAX_TRACE_PAGES = 2000
UPLOADED = "upload"
LETTERS = {
    "v": ("visit", "·", gettext_lazy("visited, nothing new")),
    "s": ("seen", "●", gettext_lazy("changed and visited")),
    "x": ("lost", "✗", gettext_lazy("changed and not visited that day")),
    ".": ("none", "", gettext_lazy("nothing")),
}


def simulator(request: HttpRequest) -> HttpResponse:
    actor = Actor.of(request.user)
    form: dict[str, Any] = {"source": "bursty", "budget": "same-as:simple", "days": "240", "warmup": "60"}
    form |= {"pages": "100", "seed": "0", "policies": ["auto", "simple", "fixed:24"]}
    failure = ""
    if request.method == "POST":
        form = {name: request.POST.get(name, "")[:40] for name in form if name != "policies"}
        form["policies"] = [name for name in POLICIES if name in request.POST.getlist("policies")]
        try:
            job = services.submit(actor, KIND, _order(form, _uploaded(request)))
            return redirect(f"{reverse('simulator')}?job={job.pk}")
        except Invalid as error:
            failure = str(error)
    number = number_in(request.GET.get("job", ""), 0)
    earlier = queries.recent(actor, 5, kind=KIND)
    shown = [job for job in earlier if job.state == "done"][:1] if request.method != "POST" else []
    found = queries.find(actor, min(number, (1 << 63) - 1)) if number else next(iter(shown), None)
    context: dict[str, Any] = {
        "form": form,
        "failure": failure,
        "processes": PROCESSES.items(),
        "budgets": BUDGETS.items(),
        "policies": POLICIES.items(),
        "sites": watch.subscriptions(200),
        "job": jobs.shown(actor, found) if found is not None else None,
        "earlier": [jobs.shown(actor, job) for job in earlier],
        "letters": [(css, sign, said) for css, sign, said in LETTERS.values() if sign],
        "strip_days": STRIP_DAYS,
    }
    if found is not None and request.method != "POST":
        context |= _again(found.arguments, form, {str(site.pk): site.name for site in context["sites"]})
    facts = (found.result or {}).get("facts") if found is not None and isinstance(found.result, dict) else None
    if facts:
        context |= _outcome(facts)
    return render(request, "console/simulator.html", context, status=422 if failure else 200)


def _again(asked: dict[str, Any], form: dict[str, Any], sites: dict[str, str]) -> dict[str, Any]:
    """The form as that simulation was asked for, and the name of its history."""
    source = str(asked.get("subscription") or next(iter(asked.get("processes") or ()), UPLOADED))
    history = {**PROCESSES, **sites, UPLOADED: _("A file of mine")}.get(source, source)
    kept = {name: f"{asked[name]:.0f}" for name in ("days", "warmup", "pages", "seed") if asked.get(name)}
    kept |= {"source": source, "policies": asked.get("policies", form["policies"])}
    kept |= {"budget": asked["budget"]} if asked.get("budget") in BUDGETS else {}
    return {"form": form | kept, "history": history}


def _uploaded(request: HttpRequest) -> str:
    """The text of an uploaded history, checked; empty when there is none. Raises Invalid."""
    sent = request.FILES.get("trace")
    if sent is None:
        return ""
    data = sent.read(MAX_TRACE + 1)
    if data[:2] == b"\x1f\x8b":
        try:
            data = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, MAX_TRACE + 1)
        except zlib.error as error:
            raise Invalid(_("The file cannot be unpacked: %(reason)s") % {"reason": str(error)})
    if len(data) > MAX_TRACE:
        raise Invalid(_("The file has more than %(size)s; cut it into parts.") % {"size": filesizeformat(MAX_TRACE)})
    try:
        text = data.decode("utf-8-sig")
        found = traces.parse(text.splitlines(), sent.name or "trace.csv")
    except (UnicodeDecodeError, ValueError) as error:
        raise Invalid(str(error))
    if not 1 <= len(found) <= MAX_TRACE_PAGES:
        raise Invalid(_("A history has 1 to %(most)d pages.") % {"most": MAX_TRACE_PAGES})
    return text


def _order(form: dict[str, Any], trace: str = "") -> Experiment:
    """What was asked for, within what one machine does in a minute or two. Raises Invalid."""
    figures = {}
    for name, most in (("days", MAX_DAYS), ("warmup", MAX_DAYS), ("pages", MAX_PAGES), ("seed", 1 << 31)):
        number = whole_number(form[name])
        if number is None or number > most:
            raise Invalid(_("“%(text)s” is not a whole number up to %(most)d.") % {"text": form[name], "most": most})
        figures[name] = number
    if not form["policies"]:
        raise Invalid(_("Choose at least one policy."))
    if form["budget"] not in BUDGETS:
        raise Invalid(_("Choose one of the budgets."))
    if trace or form["source"] == UPLOADED:
        if not trace:
            raise Invalid(_("Choose the file with the history."))
        source: dict[str, Any] = {"trace": trace, "days": 0.0, "min_changes": 1}
    elif (number := whole_number(form["source"])) is not None:
        source = {"subscription": number, "days": 0.0, "min_changes": 0}
    elif form["source"] in PROCESSES:
        source = {"processes": [form["source"]], "days": float(figures["days"]), "pages": max(figures["pages"], 1)}
    else:
        raise Invalid(_("Choose a process or a watched site."))
    if "processes" in source and figures["warmup"] >= figures["days"]:
        raise Invalid(_("The first days that are not counted leave nothing to count; give more days."))
    return Experiment(
        policies=form["policies"], budget=form["budget"], warmup=float(figures["warmup"]), seed=figures["seed"],
        batches=8, **source,
    )  # fmt: skip


def _outcome(facts: dict[str, Any]) -> dict[str, Any]:
    rows = [_row(outcome) for outcome in facts["policies"]]
    published = [_row(outcome) for outcome in facts["published_2015"]]
    lost = [{"policy": row["policy"], "share": round(row["lost_share"], 4)} for row in rows]
    spent = [{"policy": row["policy"], "visits": row["visits"]} for row in rows]
    strips = [
        {"policy": row["policy"], "days": [LETTERS.get(letter, LETTERS["."]) for letter in outcome.get("strip", "")]}
        for row, outcome in zip(rows, facts["policies"], strict=True)
    ]
    groups = [
        {"policy": outcome["policy"], **group} for outcome in facts["policies"] for group in outcome.get("groups", [])
    ]
    titles = (_("Policy"), _("Share of the changes lost"))
    return {
        "facts": facts,
        "rows": rows,
        "published": published,
        "groups": groups,
        "strips": strips,
        "lost_chart": charts.spec(lost, "policy", "share", kind="nominal", titles=titles),
        "visits_chart": charts.spec(spent, "policy", "visits", kind="nominal", titles=(_("Policy"), _("Visits"))),
    }


def _row(o: dict[str, Any]) -> dict[str, Any]:
    lost = o["lost"] / o["changes"] if o["changes"] else 0.0
    fresh = o.get("freshness")
    return {
        **{name: o[name] for name in ("policy", "visits", "changes", "lost", "lost_by_day", "unnecessary")},
        "lost_share": lost,
        "lost_percent": f"{number_format(100 * lost, decimal_pos=1)}%",
        "fresh": f"{fresh:.0%}" if fresh is not None else "",
        "delay": f"{o['mean_delay_hours']:.0f}" if "mean_delay_hours" in o else "",
        "stored": size(o["bytes_stored"]),
    }


SECTION = Section(
    "simulator",
    gettext_lazy("Simulator"),
    (ConsolePage("simulator", "simulator", simulator, "predict.simulate", "predict.simulate"),),
)
