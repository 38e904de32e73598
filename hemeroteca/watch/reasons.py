"""Why a page is visited when, as a sentence in the reader's language.

The codes of the planner come from `predict.SENTENCES`; the scheduler adds its own. The console shows any of them by
`sentence(reason, "es")`.
"""

from collections.abc import Mapping
from typing import Any

from hemeroteca.predict import SENTENCES, Reason, fill

ENGLISH: dict[str, str] = {
    **SENTENCES,
    "first": "visited for the first time when it was found",
    "young": "visited to learn its habits, for it has been seen only {visits}",
    "interval": "visited because the policy {policy} asked for a visit after {hours}",
    "share": "visited because the policy {policy} gave it a visit of the budget",
    "listing": "visited because it lists pages of its site and is read every {hours}",
    "told": "visited because {source} announced a change and the policy {policy} listens",
    "retry": "visited again after {failures} without an answer",
    "archive": "learned from captures that were in the archive",
    "news": "visited because {source} announced a change, for the first time",
    "then-policy": "next {hours} later, because the policy {policy} asks for it",
    "then-young": "next {hours} later, to learn its habits",
    "then-chance": "next {hours} later, when a change will be likely enough",
    "then-latest": "next {hours} later, the longest interval allowed",
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
    "young": "se visita para conocer sus hábitos, pues solo se ha visto {visits}",
    "interval": "se visita porque la política {policy} pidió visitarla al cabo de {hours}",
    "share": "se visita porque la política {policy} le dio una visita del presupuesto",
    "listing": "se visita porque enumera páginas de su sitio y se lee cada {hours}",
    "told": "se visita porque {source} anunció un cambio y la política {policy} escucha",
    "retry": "se visita de nuevo tras {failures} sin respuesta",
    "archive": "aprendida de capturas que ya estaban en el archivo",
    "news": "se visita porque {source} anunció un cambio, por primera vez",
    "then-policy": "la próxima, {hours} después, porque lo pide la política {policy}",
    "then-young": "la próxima, {hours} después, para conocer sus hábitos",
    "then-chance": "la próxima, {hours} después, cuando un cambio sea bastante probable",
    "then-latest": "la próxima, {hours} después, el mayor intervalo permitido",
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


def facts(reason: Reason) -> dict[str, Any]:
    """A reason as it is kept."""
    return {"code": reason.code, **reason.values}


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
