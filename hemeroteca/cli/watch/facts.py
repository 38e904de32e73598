"""Subscriptions and pages as the commands say them, to people and as JSON."""

import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hemeroteca.watch.models import Subscription, WatchedPage


def of(row: "Subscription") -> dict[str, Any]:
    from hemeroteca.watch import services

    order = asdict(services.order_of(row))
    lists = {name: list(value) for name, value in order.items() if isinstance(value, tuple | list)}
    return {
        "id": row.pk,
        **order,
        **lists,
        "owner": row.owner.name if row.owner else None,
        "crawl": row.crawl_id,
        "failures": row.failures,
        "last_error": row.last_error,
        "fault": row.fault,
    }


def of_page(page: "WatchedPage", language: str) -> dict[str, Any]:
    from hemeroteca.watch.next_visit import sentence

    return {
        "url": page.url,
        "site": page.site,
        "subscription": page.subscription_id,
        "listing": page.listing,
        "group": page.group,
        "behaviour": page.behaviour,
        "visits": page.visits,
        "changes": page.changes,
        "last_visit": moment(page.last_ms),
        "next_visit": moment(page.next_ms),
        "chance": page.chance,
        "why": sentence(page.reason, language),
        "then": sentence(page.next_reason, language),
    }


def state(row: "Subscription") -> tuple[str, str]:
    """active, paused, failing or stopped, and why."""
    if not row.active:
        return "paused", ""
    if row.fault:
        return "stopped", f"the engine cannot work with it: {row.fault}"
    if row.failures >= 3:
        return (
            "failing",
            f"{row.failures} visits in a row since {moment(row.failing_since_ms)}; last: {row.last_error}",
        )
    return "active", f"the last visit failed: {row.last_error}" if row.failures else ""


def who_visits(row: "Subscription") -> str:
    """Why nothing was visited so far, as the end of a sentence."""
    if not row.active:
        return f"; `hemeroteca watch resume {row.pk}` lets it go on"
    return "; `hemeroteca serve` visits them" if not row.fault and not row.failures else ""


def then(page: "WatchedPage", language: str) -> str:
    from hemeroteca.watch.next_visit import sentence

    said = sentence(page.next_reason, language)
    return f"{said} ({moment(page.next_ms)})" if said and page.next_ms else said


def mode(row: "Subscription") -> str:
    return f"fixed {row.fixed_hours:g} h" if row.mode == "fixed" else row.mode


def moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M") if ms else ""


def write(value: Any) -> None:
    import msgspec

    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
