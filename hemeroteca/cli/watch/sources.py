"""Who tells us that pages change."""

from typing import Annotated

import typer

from hemeroteca.cli import common
from hemeroteca.cli.watch import facts, options, tables
from hemeroteca.cli.watch.session import watching


def sources(
    subscription: Annotated[int | None, typer.Option(help="Only of this subscription.")] = None,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Who tells us that pages change, and how often that was true."""
    with watching(data, must_exist=True):
        from hemeroteca.watch import queries, signals

        found = queries.sources(subscription)
        rows = []
        for row in found:
            precision, recall = signals.precision(row), signals.recall(row)
            if json:
                facts.write(
                    {
                        "id": row.pk,
                        "kind": row.kind,
                        "subscription": row.subscription_id,
                        "site": row.site,
                        "url": row.url,
                        "state": row.state,
                        "received": row.received,
                        "dropped": row.dropped,
                        "precision": precision,
                        "recall": recall,
                        "note": row.note,
                    }
                )
                continue
            cells = [str(row.pk), row.kind, row.state, f"{row.received:,}", f"{row.dropped:,}"]
            cells += ["" if share is None else f"{share:.0%}" for share in (precision, recall)]
            rows.append(([*cells, row.url or row.site], [row.note]))
        if not json:
            columns = ("number", "kind", "state", "heard", "dropped", "precision", "recall", "about")
            tables.show(
                columns, rows, "nobody tells of changes yet; `hemeroteca watch webhook NUMBER` makes an address"
            )


def webhook(number: options.Number, data: common.Data = None) -> None:
    """Make an address by which a site can tell that pages of a subscription changed. It is shown once."""
    with watching(data, must_exist=True) as services:
        from django.conf import settings

        _, token = services.add_webhook(common.actor(), number)
        base = settings.CONFIG.public_url.rstrip("/") or f"http://{settings.CONFIG.host}:{settings.CONFIG.port}"
        typer.echo(f"{base}/api/v1/signals/{token}")
