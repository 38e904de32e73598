"""Every field of an order is in the command, the API, the CSV file and the reference, and means the same in each."""

import json
from pathlib import Path

import pytest
import typer
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from hemeroteca.accounts import SYSTEM, Role
from hemeroteca.accounts import services as accounts
from hemeroteca.api import watch_shapes
from hemeroteca.cli import command_line, common
from hemeroteca.errors import Invalid
from hemeroteca.watch import services, subscription_files
from hemeroteca.watch.fields import CHANNEL, COLLECTION, SUBSCRIPTION, Field, Order
from hemeroteca.watch.models import Subscription

REFERENCE = Path(__file__).parents[2] / "docs/reference/subscriptions.md"
# One value of every field that is not its default; a new field needs one here.
VALUES = {
    "url": "https://news.test/section/",
    "name": "News",
    "scope": "prefix",
    "include": ["/a", "/b"],
    "exclude": ["/c"],
    "depth": 4,
    "collection": "Press",
    "category": "news",
    "purpose": "to know",
    "threshold": 0.2,
    "ignore": ["#clock"],
    "keep": ["#price", "//main"],
    "ignore_text": ["[0-9]+ visits"],
    "mode": "fixed 12",
    "min_hours": 1.5,
    "max_hours": 48.0,
    "weight": 2.0,
    "weights": ["colours=0.5"],
    "visits_per_day": 10,
    "bytes_per_day": 5_000_000,
    "windows": ["mon 08:00-18:00 Europe/Madrid"],
    "notify": ["appears strike", "below 9.5"],
    "country": "ES",
    "requisites": False,
    "active": False,
}


def options(command: str, verb: str) -> set[str]:
    group = typer.main.get_command(command_line("watch")).commands["watch"]
    for part in command.split():
        group = group.commands[part]
    return {parameter.name for parameter in group.commands[verb].params}


@pytest.mark.parametrize("field", SUBSCRIPTION.values(), ids=lambda field: field.name)
def test_every_field_of_a_subscription_is_in_all_four_faces(field: Field):
    assert field.name in VALUES
    taken, edited = options("", "add"), options("", "edit")
    assert field.fixed or {field.option or field.name} <= taken & edited
    for model in (watch_shapes.SubscriptionIn, watch_shapes.SubscriptionOut):
        assert model.model_fields[field.name].description == field.help
    assert field.fixed or field.name in watch_shapes.SubscriptionEdit.model_fields
    assert field.name in subscription_files.as_csv([]).strip().split(",")
    assert f"| `{field.name}` |" in REFERENCE.read_text()


@pytest.mark.parametrize("field", COLLECTION.values(), ids=lambda field: field.name)
def test_every_field_of_a_collection_is_in_the_command_the_api_and_the_reference(field: Field):
    assert field.name in options("collection", "set")
    assert field.name in watch_shapes.CollectionIn.model_fields
    assert field.name in watch_shapes.CollectionOut.model_fields
    assert f"| `{field.name}` |" in REFERENCE.read_text()


@pytest.mark.parametrize("field", CHANNEL.values(), ids=lambda field: field.name)
def test_every_field_of_a_channel_is_in_the_command_the_api_and_the_reference(field: Field):
    assert field.name in options("channel", "add")
    assert field.name in watch_shapes.ChannelIn.model_fields
    assert (field.name in watch_shapes.ChannelOut.model_fields) == (field.name != "target")
    assert f"| `{field.name}` |" in REFERENCE.read_text()


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("face", ["service", "command", "edit", "api", "csv"])
def test_an_order_means_the_same_in_every_face(face, monkeypatch):
    if face == "service":
        services.subscribe(SYSTEM, Order(**VALUES))
    elif face in ("command", "edit"):
        monkeypatch.setattr(common, "setup", lambda *_, **__: None)
        if face == "edit":
            number = str(services.subscribe(SYSTEM, Order(url=VALUES["url"]))[0].pk)
        words = ["watch", "add", VALUES["url"]] if face == "command" else ["watch", "edit", number]
        for name, field in SUBSCRIPTION.items():
            option = f"--{(field.option or name).replace('_', '-')}"
            if field.kind is bool:
                words.append(option.replace("--", "--no-"))
            elif not field.fixed:
                values = VALUES[name] if field.kind is tuple else [VALUES[name]]
                words += [word for value in values for word in (option, str(value))]
        assert CliRunner().invoke(command_line("watch"), words).exit_code == 0
    elif face == "api":
        user = accounts.add_user(SYSTEM, "ana", Role.DIRECTOR, "correct horse battery")
        token = accounts.create_token(SYSTEM, user, "test").secret
        client = Client(headers={"host": "localhost", "authorization": f"Bearer {token}"})
        answer = client.post("/api/v1/watch/subscriptions", json.dumps(VALUES), content_type="application/json")
        assert answer.status_code == 201
        assert {name: answer.json()[name] for name in VALUES} == VALUES | {"windows": ["mon 08:00-18:00 Europe/Madrid"]}
    else:
        row = ",".join(f'"{field.write(VALUES[name])}"' for name, field in SUBSCRIPTION.items())
        report = subscription_files.read_file(SYSTEM, f"{','.join(SUBSCRIPTION)}\n{row}\n".encode(), "list.csv")
        assert report.new == 1, report.lines
    order = vars(services.order_of(Subscription.objects.select_related("collection", "crawl").get()))
    assert {name: list(value) if isinstance(value, tuple) else value for name, value in order.items()} == VALUES


@given(st.sampled_from([*SUBSCRIPTION.values(), *CHANNEL.values()]), st.data())
def test_what_a_field_writes_it_reads_back(field, data):
    texts = st.text("abc/.#ñ", min_size=1, max_size=20)
    kinds = {
        str: texts,
        int: st.integers(1, 10**6),
        float: st.floats(0.01, 700).map(lambda value: float(f"{value:g}")),
        bool: st.booleans(),
        tuple: st.lists(texts, max_size=5),
    }
    value = data.draw(kinds[field.kind])
    assert field.read(field.write(value)) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [("weight", 0), ("weight", float("nan")), ("depth", -1), ("visits_per_day", True), ("name", "x" * 201)],
)
def test_values_out_of_bounds_are_refused_by_the_name_of_the_field(name, value):
    with pytest.raises(Invalid, match=name):
        SUBSCRIPTION[name].check(value)


def test_lists_that_are_too_long_are_refused():
    with pytest.raises(Invalid, match="20 are allowed"):
        SUBSCRIPTION["windows"].check(["sat"] * 21)
