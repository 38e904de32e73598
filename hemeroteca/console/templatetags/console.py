"""Filters and tags of the console's templates."""

import html
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from django import template
from django.template.defaultfilters import filesizeformat
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext

from hemeroteca import __version__
from hemeroteca.accounts import Role
from hemeroteca.accounts.models import ROLES
from hemeroteca.console import charts, names, reasons, refusals
from hemeroteca.frontier.reasons import detail
from hemeroteca.warc.timestamps import moment

register = template.Library()

MAX_TABLE_ROWS = 400  # of the figures below a chart
_BOLD = re.compile(r"(</?b>)")


@register.filter
def snippet(text: str) -> SafeString:
    """A snippet of search with its highlights. Whatever else it holds is escaped again, whoever made it."""
    parts = _BOLD.split(text)
    kept, opened = [], 0
    for part in parts:
        if part == "<b>":
            kept.append("<mark>")
            opened += 1
        elif part == "</b>":
            if opened:
                kept.append("</mark>")
                opened -= 1
        else:
            kept.append(html.escape(html.unescape(part)))
    return mark_safe("".join(kept) + "</mark>" * opened)  # noqa: S308 - every part was escaped just above


register.filter(reasons.said)
register.filter(detail)
register.filter(refusals.told)


@register.filter
def web_address(url: str) -> str:
    """An address for href; empty for anything a browser would run."""
    return url if url.lower().startswith(("http://", "https://")) else ""


@register.filter
def short_url(url: str) -> str:
    """Host and path, without the scheme; long paths are cut in the middle."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url[:90]
    rest = (parts.path if parts.path != "/" else "") + (f"?{parts.query}" if parts.query else "")
    return parts.netloc + (rest if len(rest) <= 70 else f"{rest[:45]}…{rest[-22:]}")


@register.filter
def when(ms: int | datetime | None) -> SafeString | str:
    """A moment (milliseconds, or of Django's own tables) in the zone the reader chose, else in UTC, which console.js
    turns into the browser's own time."""
    return _time(ms, '<time datetime="{}">{} {}</time>', " %H:%M")


@register.filter
def exactly(ms: int | None) -> str:
    """A capture's moment, to the second and always in UTC: as the calendar, the replay bar and citations tell it."""
    moment_ = moment(ms or 0)
    return f"{_written(moment_, ' %H:%M:%S')} UTC" if moment_ else "–"


@register.filter
def day(ms: int | datetime | None) -> SafeString | str:
    return _time(ms, '<time datetime="{}" data-day>{}</time>', "")


def _time(ms: int | datetime | None, element: str, clock: str) -> SafeString | str:
    moment_ = ms if isinstance(ms, datetime) else moment(ms or 0)
    if not moment_:
        return "–"
    local = timezone.localtime(moment_)
    return format_html(element, moment_.isoformat(timespec="seconds"), _written(local, clock), local.tzname())


def _written(at: datetime, clock: str) -> str:
    """A date in the reader's language, and the time of day as `clock` has it."""
    return _date(at.date(), get_language()) + (at.strftime(clock) if clock else "")


@lru_cache(maxsize=1000)
def _date(day: date, language: str | None) -> str:
    """Spanish writes its months small."""
    return date_format(day, "j b Y" if language == "es" else "j M Y")


@register.filter
def work(kind: str) -> str:
    """What a kind of job does; the code of one that has no name here."""
    return str(names.WORK.get(kind, kind))


register.filter("browser", names.browser)


@register.filter
def scope_name(scope: str) -> str:
    """An area of the console that a token may be limited to."""
    return str(names.SCOPES.get(scope, scope))


@register.filter
def with_roles(text: str) -> str:
    """What the audit log notes beside an act, with the names of roles in the reader's language."""
    return re.sub(r"\b(?:reader|subscriber|director|administrator)\b", lambda found: str(ROLES[Role(found[0])]), text)


@register.filter
def yes_no(value: Any) -> Any:
    """A truth for people; anything else as it is. Settings come as Python writes them."""
    if value is True or value == "True":
        return gettext("yes")
    return gettext("no") if value is False or value == "False" else value


@register.filter
def ending(text: str) -> str:
    """How a process ended, as the supervisor says it."""
    found = re.fullmatch(r"exit code (\d+)", text)
    return gettext("exit code %s") % found[1] if found else text


@register.filter
def count(number: float | None) -> str:
    return number_format(number or 0, decimal_pos=0, use_l10n=True, force_grouping=True)


@register.filter
def size(count: float | None) -> str:
    """Bytes in the units of the commands and of disks: a kB has 1,000."""
    number = float(count or 0)
    if abs(number) < 1000:
        return filesizeformat(number)
    power = 1 + (abs(number) >= 1e6) + (abs(number) >= 1e9) + (abs(number) >= 1e12)
    return f"{number_format(number / 1000**power, decimal_pos=1)}\xa0{('kB', 'MB', 'GB', 'TB')[power - 1]}"


@register.filter
def seconds(number: float | None) -> str:
    """A duration in the two units that matter."""
    total = int(number or 0)
    for name, size, lower, lower_size in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if total >= size:
            rest = total % size // lower_size
            return f"{total // size} {name} {rest} {lower}" if rest else f"{total // size} {name}"
    exact = 0 < (number or 0) < 10 and number != total
    return f"{number_format(number or 0, decimal_pos=1) if exact else total} s"


@register.simple_tag
def sparkline(values: Sequence[float], label: str = "", width: int = 240, height: int = 44) -> SafeString:
    """A small line of recent figures as SVG."""
    recent = [max(0.0, float(value)) for value in values][-120:]
    top = max(recent, default=0.0) or 1.0
    step = width / max(1, len(recent) - 1)
    points = " ".join(
        f"{index * step:.1f},{height - 2 - value / top * (height - 6):.1f}" for index, value in enumerate(recent)
    )
    area = f"0,{height} {points} {width},{height}" if recent else ""
    return format_html(
        '<svg class="sparkline" viewBox="0 0 {} {}" role="img" aria-label="{}" preserveAspectRatio="none">'
        '<polygon points="{}"></polygon><polyline points="{}"></polyline></svg>',
        width, height, label, area, points,
    )  # fmt: skip


@register.inclusion_tag("console/chart.html")
def chart(spec: Mapping[str, Any], caption: str, source: str = "") -> dict[str, Any]:
    """A chart with its figures as a table below it, for those who cannot see it. The page that has one says
    `{% block scripts %}{% chart_scripts %}{% endblock %}`. With `source` the specification is fetched from there."""
    values = spec.get("data", {}).get("values", []) if spec else []
    columns = list(dict.fromkeys(name for row in values for name in row))
    shown = values[-MAX_TABLE_ROWS:]
    channels = spec.get("encoding", {}).values() if spec else ()
    titles = {channel.get("field"): channel.get("title") for channel in channels}
    return {
        "spec": spec,
        "caption": caption,
        "source": source,
        "columns": [titles.get(name) or name for name in columns],
        "rows": [[row.get(name) for name in columns] for row in shown],
        "more": len(values) > len(shown),
        "shown": len(shown),
        "all": len(values),
    }


@register.simple_tag
def chart_scripts() -> SafeString:
    """The scripts that draw the charts of a page."""
    own = f"{static('console/charts.js')}?{__version__}"
    return format_html(
        '\n<script src="{}" defer></script>\n<script src="{}" defer></script>',
        reverse("charts", args=[charts.library_name()]), own,
    )  # fmt: skip


@register.simple_tag
def map_links() -> SafeString:
    """The style of Leaflet, for `{% block links %}`."""
    return format_html('<link rel="stylesheet" href="{}">', static("leaflet/leaflet.css"))


@register.simple_tag
def map_scripts(*own: str) -> SafeString:
    """Leaflet and scripts of our own that use it, for `{% block scripts %}`."""
    files = [static("leaflet/leaflet.js"), *(f"{static(name)}?{__version__}" for name in own)]
    return format_html_join("\n", '<script src="{}" defer></script>', ((file,) for file in files))
