"""When a page is visited next, and why: the facts, and their sentence in the reader's language.

The codes of the planner come from `predict.SENTENCES`; the scheduler adds its own. Commands, API and console show any
of them by `sentence(reason, "es")`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hemeroteca.predict import SENTENCES, Reason, fill
from hemeroteca.watch.answered_visit import HOUR_MS, WORTH, YOUNG_HOURS, AnsweredVisit, planner_hour
from hemeroteca.watch.models import SignalSource, WatchedPage

if TYPE_CHECKING:
    from hemeroteca.watch.scheduler_state import ActivePage, ActiveSubscription, SchedulerState

WAIT_TOLD = 600.0  # s from which on a budget that is used up or a window that is shut is told, and told again

ENGLISH: dict[str, str] = {
    **SENTENCES,
    "first": "visited for the first time when it was found",
    "young": "visited to learn its habits, for it has not been watched for long",
    "interval": "visited because the policy {policy} asked for a visit after {hours}",
    "share": "visited because the policy {policy} gave it a visit of the budget",
    "listing": "visited because it lists pages of its site and is read every {hours}",
    "told": "visited because {source} announced a change and the policy {policy} listens",
    "retry": "visited again after {failures} without an answer",
    "asked": "visited because somebody asked for it",
    "archive": "learned from captures that were in the archive",
    "news": "visited because {source} announced a change, for the first time",
    "then-policy": "next {hours} later, because the policy {policy} asks for it",
    "then-young": "next {hours} later, to learn its habits",
    "then-chance": "next {hours} later, when a change will be likely enough",
    "then-latest": "next {hours} later, the longest interval allowed",
    "then-listing": "next {hours} later, because it lists pages of its site",
    "then-share": "next when it is the best use of the budget",
    "then-retry": "next try {hours} later, because it did not answer",
    "then-budget-instance": "waits until the instance's budget, which is used up, has filled again",
    "then-budget-collection": "waits until its collection's budget, which is used up, has filled again",
    "then-budget-subscription": "waits until its subscription's budget, which is used up, has filled again",
    "then-budget-site": "waits until its site's budget, which is used up, has filled again",
    "then-window": "waits until its time window opens",
    "then-down": "waits for its site, which does not answer; next try then",
}
SPANISH: dict[str, str] = {
    "signal": "se visita porque {source} anunció un cambio (acertó el {precision} de las veces)",
    "neighbours": "se visita porque {changed} de {visited} páginas de {section} cambiaron hoy",
    "neighbour": "se visita porque una página de {section} cambió hoy",
    "section": "se visita porque {section} ha cambiado {times} veces lo habitual desde la última visita",
    "companion": "se visita porque {page} cambió y suelen cambiar juntas",
    "burst": "se visita porque cambió {changes} veces en los últimos {days}",
    "habit": "se visita porque cambia más o menos cada {days} y se vio por última vez hace {ago}",
    "calendar": "se visita porque a esta hora de la semana su sitio suele cambiar",
    "new": "se visita porque es nueva; las páginas de {section} cambian más o menos cada {days}",
    "overdue": "se visita porque no se ha visto en {ago}, el mayor intervalo permitido",
    "sensor": "se visita porque ninguna página de {section} se ha visto en {ago}",
    "waiting": "se visita porque no se ha visto en {ago}",
    "first": "se visitó por primera vez al encontrarla",
    "young": "se visita para conocer sus hábitos, pues se vigila desde hace poco",
    "interval": "se visita porque la política {policy} pidió visitarla al cabo de {hours}",
    "share": "se visita porque la política {policy} le dio una visita del presupuesto",
    "listing": "se visita porque enumera páginas de su sitio y se lee cada {hours}",
    "told": "se visita porque {source} anunció un cambio y la política {policy} escucha",
    "retry": "se visita de nuevo tras {failures} sin respuesta",
    "asked": "se visita porque alguien lo pidió",
    "archive": "aprendida de capturas que ya estaban en el archivo",
    "news": "se visita porque {source} anunció un cambio, por primera vez",
    "then-policy": "la próxima, {hours} después, porque lo pide la política {policy}",
    "then-young": "la próxima, {hours} después, para conocer sus hábitos",
    "then-chance": "la próxima, {hours} después, cuando un cambio sea bastante probable",
    "then-latest": "la próxima, {hours} después, el mayor intervalo permitido",
    "then-listing": "la próxima, {hours} después, porque enumera páginas de su sitio",
    "then-share": "la próxima, cuando sea el mejor uso del presupuesto",
    "then-retry": "el próximo intento, {hours} después, porque no respondió",
    "then-budget-instance": "espera a que vuelva a llenarse el presupuesto de la instancia, que está agotado",
    "then-budget-collection": "espera a que vuelva a llenarse el presupuesto de su colección, que está agotado",
    "then-budget-subscription": "espera a que vuelva a llenarse el presupuesto de su suscripción, que está agotado",
    "then-budget-site": "espera a que vuelva a llenarse el presupuesto de su sitio, que está agotado",
    "then-window": "espera a que se abra su ventana horaria",
    "then-down": "espera a su sitio, que no responde; el próximo intento, entonces",
}
_DURATIONS = {"hours": 60.0, "days": 1440.0, "ago": 1440.0}  # minutes in a unit
_MINUTES = {"en": ("minute", "minutes"), "es": ("minuto", "minutos")}


def sentence(kept: Mapping[str, Any], language: str = "en") -> str:
    """The sentence of a kept reason; empty when there is none. A reason this version does not know gives its code."""
    code = str(kept.get("code", ""))
    if not code:
        return ""
    words = (SPANISH if language == "es" else ENGLISH).get(code) or ENGLISH.get(code)
    if words is None:
        return code
    try:
        return fill(words, _in_minutes(kept, language), language)
    except (KeyError, ValueError, IndexError):
        return code


def _in_minutes(kept: Mapping[str, Any], language: str) -> dict[str, Any]:
    """Less than an hour is said in minutes."""
    said = dict(kept)
    for name, factor in _DURATIONS.items():
        value = said.get(name)
        if isinstance(value, int | float) and 0 <= value * factor < 59.5:
            minutes = max(round(value * factor), 1)
            said[name] = f"{minutes} {_MINUTES['es' if language == 'es' else 'en'][minutes != 1]}"
    return said


class NextVisit:
    """Why a page is visited now, and when and why it will be next."""

    def __init__(self, state: "SchedulerState") -> None:
        self._state = state
        self._waits: dict[tuple[str, str, int | str], float] = {}  # as they were told last
        self._told_at = 0.0

    def explain(self, key: int, now: float, chance: float) -> None:
        page = self._state.pages[key]
        if page.failures:
            why = Reason("retry", {"failures": page.failures})
        else:
            why = self._state.plan.planner.explain(key, planner_hour(now * 1000))
            if why.code == "companion":
                other = WatchedPage.objects.filter(key=why.values["page"]).values_list("url", flat=True).first()
                why = Reason(why.code, {**why.values, "page": other or "another page"})
            elif why.code == "signal":
                why = self._why_told(key, why)
        why = Reason(why.code, {**why.values, "chance": round(chance, 3)})
        self._state.writes.page_chosen(key, int(now * 1000), why)

    def explain_policy(self, sub: "ActiveSubscription", key: int, now: float) -> None:
        page = self._state.pages[key]
        hours = (now * 1000 - page.last_ms) / HOUR_MS
        assert sub.policy is not None
        code = "share" if sub.policy.shares_budget else "interval"
        if page.failures:
            why = Reason("retry", {"failures": page.failures})
        elif key in self._state.announcements.announced_by and sub.mode == "simple-notify":
            first = next(iter(self._state.announcements.announced_by[key]))
            source = self._state.announcements.sources.get(first)
            why = Reason("told", {"source": source.kind if source else "somebody", "policy": sub.mode})
        elif hours * HOUR_MS >= sub.max_ms and not self._wanted(sub, key, now):
            why = Reason("overdue", {"ago": round(hours / 24, 1)})
        else:
            why = Reason(code, {"policy": sub.mode, "hours": round(hours, 2)})
        self._state.writes.page_chosen(key, int(now * 1000), why)

    def _wanted(self, sub: "ActiveSubscription", key: int, now: float) -> bool:
        """Whether the policy itself asks for a visit now."""
        assert sub.policy is not None
        at = sub.policy.next_at(key)
        return at is not None and at <= planner_hour(now * 1000)

    def then(self, sub: "ActiveSubscription", page: "ActivePage", visit: AnsweredVisit) -> tuple[int, Reason]:
        """About when the next visit will be and why, for people: as if the page went on as it did before this one."""
        if sub.policy is not None:
            hour = sub.policy.next_at(visit.key)
            if hour is None or not np.isfinite(hour):
                return 0, Reason("then-share")
            code, wait = "then-policy", max((hour - planner_hour(visit.at_ms)) * HOUR_MS, sub.min_ms)
            if wait > sub.max_ms:
                code, wait = "then-latest", sub.max_ms
            return visit.at_ms + int(wait), Reason(code, {"policy": sub.mode, "hours": round(wait / HOUR_MS, 2)})
        if sub.budget.visits.per_day:
            return visit.at_ms + int(page.wait) if page.wait else 0, Reason("then-share")
        code, wait = "then-chance", page.wait or sub.max_ms
        if wait >= sub.max_ms:
            code, wait = "then-latest", sub.max_ms
        if page.lessons <= len(YOUNG_HOURS) and (young := YOUNG_HOURS[page.lessons - 1] * HOUR_MS) < wait:
            code, wait = "then-young", max(young, sub.min_ms)
        return visit.at_ms + int(wait), Reason(code, {"hours": round(wait / HOUR_MS, 2)})

    def until_likely(self, sub: "ActiveSubscription", chance: float, interval_ms: int) -> float:
        """Milliseconds until a visit is worth it."""
        rate = -np.log1p(-min(max(chance, 1e-6), 0.999)) / max(interval_ms, 1)
        return float(max(min(-np.log1p(-WORTH) / rate, sub.max_ms), sub.min_ms, HOUR_MS))

    def tell_waits(self, now: float) -> None:
        """Pages that would be visited while one of these lasts: people are told until when."""
        waits: list[tuple[str, str, int | str, float]] = [
            ("instance", "", 0, self._state.budgets.instance.opens),
            *(
                ("collection", "subscription__collection", n, p.opens)
                for n, p in self._state.budgets.collections.items()
            ),
            *(("subscription", "subscription", sub.id, sub.budget.opens) for sub in self._state.subs.values()),
            *(("site", "site", site, p.opens) for site, p in self._state.budgets.sites.items()),
        ]
        until = {(f"then-budget-{whose}", name, value): now + opens for whose, name, value, opens in waits}
        for sub in self._state.subs.values():
            if sub.crawl in self._state.closed:
                until["then-window", "subscription", sub.id] = self._state.closed[sub.crawl]
        for site, again in self._state.outages.down().items():
            until["then-down", "site", site] = again
        told, self._waits = self._waits, {}
        for wait, opens in sorted(until.items(), key=lambda item: item[1]):  # the longest has the last word
            if opens - now < WAIT_TOLD:
                continue
            self._waits[wait] = told.get(wait, 0.0)
            if abs(opens - self._waits[wait]) >= WAIT_TOLD or now - self._told_at >= WAIT_TOLD:
                code, name, value = wait
                self._state.writes.wait({name: value} if name else {}, int(opens * 1000), code)
                self._waits[wait] = opens
        if now - self._told_at >= WAIT_TOLD or now < self._told_at:
            self._told_at = now

    def _why_told(self, key: int, believed: Reason) -> Reason:
        """Who announced it, and how often he was right so far: not what is believed of somebody never heard before."""
        sources = self._state.announcements.announced_by.get(key, ())
        rows = SignalSource.objects.filter(pk__in=sources).order_by("-right", "pk")
        row = rows.values_list("kind", "right", "wrong").first()
        if row is None:
            return believed
        kind, right, wrong = row
        if not right + wrong:
            return Reason("news", {"source": kind})
        return Reason("signal", {"source": kind, "precision": round(right / (right + wrong), 3)})
