"""What the commands of `hemeroteca watch` share: rows as facts and as tables.

In a table the address comes last and is never cut or folded, and what needs a sentence stands below: at 80 columns an
address, a reason and six numbers would have ten characters each; a terminal wraps a whole line in a way that can still
be copied.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hemeroteca.cli import common

if TYPE_CHECKING:
    from hemeroteca.watch.models import Subscription, WatchedPage

MAX_CELL = 24  # characters of a cell that is not the last
Rows = Sequence[tuple[Sequence[str], Sequence[str]]]  # cells, and the lines that stand below them


def find_owner(name: str) -> Any:
    from hemeroteca.accounts import services

    return services.find_user(name) if name else None


def must_be_there(subscription: int | None = None, collection: str = "", category: str = "") -> None:
    """End when a list is asked for of something that does not exist: an empty one would say that it does."""
    from hemeroteca.watch import services

    if subscription is not None:
        services.find(subscription)
    if collection:
        services.find_collection(collection)
    if category:
        services.find_category(category)


# facts


def subscription_facts(row: "Subscription") -> dict[str, Any]:
    from hemeroteca.watch import services

    order = {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(services.order_of(row)).items()}
    known = {"owner": row.owner.name if row.owner else None, "crawl": row.crawl_id, "state": state(row)[0]}
    known["refusal"] = row.refusal
    return {
        "id": row.pk,
        **order,
        **known,
        **common.picked(row, "group", "daily_chance", "behaviour", "in_burst", "failures", "last_error", "fault"),
    }


def page_facts(page: "WatchedPage", language: str) -> dict[str, Any]:
    from hemeroteca.watch.next_visit import sentence

    names = ("url", "site", "listing", "group", "daily_chance", "behaviour", "visits", "changes", "chance")
    facts = common.picked(page, *names)
    facts |= {"subscription": page.subscription_id, "last_visit_ms": page.last_ms, "next_visit_ms": page.next_ms}
    facts |= {"why": sentence(page.reason, language)}
    return facts | {"then": sentence(page.next_reason, language)}


def state(row: "Subscription") -> tuple[str, str]:
    """active, paused, failing or stopped, and why."""
    if row.proposed_ms:
        return "proposed", f"waits for a director since {moment(row.proposed_ms)}"
    if row.refusal:
        return "refused", row.refusal
    if not row.active:
        return "paused", ""
    if row.fault:
        return "stopped", f"the engine cannot work with it: {row.fault}"
    if not row.failures:
        return "active", ""
    from hemeroteca.frontier.reasons import explained_at

    why = explained_at(row.last_error)
    if row.failures >= 3:
        return "failing", f"{row.failures} visits in a row since {moment(row.failing_since_ms)}; last: {why}"
    return "active", f"the last visit failed: {why}"


def mode(row: "Subscription") -> str:
    return f"fixed {row.fixed_hours:g} h" if row.mode == "fixed" else row.mode


def group(name: str, chance: float | None) -> str:
    """With P; unknown before a second visit."""
    return "unknown" if chance is None else f"{name} {chance:.2f}"


def moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M") if ms else ""


# tables


def tell_all(json: bool, columns: Sequence[str], rows: Iterable[tuple[Any, list[str], str]], otherwise: str) -> None:
    """Rows with their facts, their cells and the line below them: the facts of each as JSON, or all as a table."""
    if json:
        for facts, _, _ in rows:
            common.tell(facts)
    else:
        show(columns, [(cells, [below]) for _, cells, below in rows], otherwise)


def show(columns: Sequence[str], rows: Rows, otherwise: str) -> None:
    """`otherwise` is said when there are no rows."""
    sys.stdout.write(("\n".join(map(common.printable, lines(columns, rows))) if rows else otherwise) + "\n")


def lines(columns: Sequence[str], rows: Rows) -> list[str]:
    table = [[_cut(cell) for cell in cells[:-1]] + [cells[-1]] for cells, _ in rows]
    inner = range(len(columns) - 1)
    widths = [max(len(columns[i]), *(len(row[i]) for row in table)) for i in inner]
    right = [all(row[i][:1].isdigit() or not row[i] for row in table) for i in inner]

    def line(cells: Sequence[str]) -> str:
        padded = [cells[i].rjust(widths[i]) if right[i] else cells[i].ljust(widths[i]) for i in inner]
        return "  ".join((*padded, cells[-1])).rstrip()

    found = [line(columns)]
    for row, (_, below) in zip(table, rows, strict=True):
        found.append(line(row))
        found += [f"      {text}" for text in below if text]
    return found


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CELL else text[: MAX_CELL - 1] + "…"
