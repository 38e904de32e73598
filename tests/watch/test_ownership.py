"""Who is no director changes only what is theirs: subscriptions, channels, sources, saved searches."""

import json

import pytest
from django.test import Client

from hemeroteca.accounts import STRANGER, SYSTEM, Actor, PermissionDenied, Role
from hemeroteca.accounts import services as accounts
from hemeroteca.errors import NotFound
from hemeroteca.watch import saved_searches, services
from hemeroteca.watch.fields import ChannelOrder, Order
from hemeroteca.watch.models import Channel, SavedSearch, SignalSource, Subscription

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def ana():
    """She was a director, made things, and is a reader now."""
    user = accounts.add_user(SYSTEM, "ana", Role.DIRECTOR, "correct horse battery")
    director = Actor.of(user)
    services.subscribe(director, Order(url="https://ana.test/"))
    services.add_channel(director, ChannelOrder(target="https://hooks.test/ana"))
    services.subscribe(SYSTEM, Order(url="https://other.test/"))
    services.add_channel(SYSTEM, ChannelOrder(target="https://hooks.test/other"))
    user.role = Role.READER
    user.save()
    return Actor.of(user)


def subscription(url: str) -> int:
    return Subscription.objects.get(url=url).pk


def channel(target: str) -> Channel:
    """Found by reading all: targets are sealed in the table."""
    return next(one for one in Channel.objects.all() if one.target == target)


def test_things_belong_to_whoever_made_them(ana):
    assert Subscription.objects.get(url="https://ana.test/").owner == ana.user
    assert Subscription.objects.get(url="https://other.test/").owner is None
    assert channel("https://hooks.test/ana").owner == ana.user


def test_a_reader_changes_their_own_subscription_and_no_other(ana):
    own, other = subscription("https://ana.test/"), subscription("https://other.test/")
    assert services.edit(ana, own, {"name": "Mine"}).name == "Mine"
    assert not services.pause(ana, own).active
    assert services.resume(ana, own).active
    _, token = services.add_webhook(ana, own)
    assert token
    services.remove_source(ana, SignalSource.objects.get().pk)
    for change in (
        lambda: services.edit(ana, other, {"name": "Mine"}),
        lambda: services.pause(ana, other),
        lambda: services.resume(ana, other),
        lambda: services.remove(ana, other),
        lambda: services.add_webhook(ana, other),
        lambda: services.subscribe(ana, Order(url="https://new.test/")),
        lambda: services.set_collection(ana, "press", {}),
        lambda: services.remove(STRANGER, own),
    ):
        with pytest.raises(PermissionDenied):
            change()
    services.remove(ana, own)
    assert list(Subscription.objects.values_list("url", flat=True)) == ["https://other.test/"]
    with pytest.raises(NotFound):
        services.remove(SYSTEM, own)


def test_a_reader_changes_their_own_channel_and_saved_search_and_no_other(ana):
    own, other = (channel(f"https://hooks.test/{name}").pk for name in ("ana", "other"))
    assert not services.set_channel_active(ana, own, False).active
    for change in (
        lambda: services.set_channel_active(ana, other, False),
        lambda: services.remove_channel(ana, other),
        lambda: services.add_channel(ana, ChannelOrder(target="https://hooks.test/new")),
    ):
        with pytest.raises(PermissionDenied):
            change()
    services.remove_channel(ana, own)
    mine = SavedSearch.objects.create(name="a", query="a", owner=ana.user, created_ms=0)
    theirs = SavedSearch.objects.create(name="b", query="b", created_ms=0)
    with pytest.raises(PermissionDenied):
        saved_searches.remove(ana, theirs.pk)
    saved_searches.remove(ana, mine.pk)
    assert list(SavedSearch.objects.all()) == [theirs]


def test_the_api_lets_owners_in_and_others_out(ana):
    token = accounts.create_token(SYSTEM, ana.user, "test").secret
    client = Client(headers={"host": "localhost", "authorization": f"Bearer {token}"})
    own, other = subscription("https://ana.test/"), subscription("https://other.test/")
    body = json.dumps({"name": "Mine"})
    answers = [
        client.patch(f"/api/v1/watch/subscriptions/{number}", body, content_type="application/json").status_code
        for number in (own, other, 999)
    ]
    assert answers == [200, 403, 404]
    assert client.delete(f"/api/v1/watch/subscriptions/{other}").status_code == 403
    assert client.delete(f"/api/v1/watch/subscriptions/{own}").status_code == 204
    stranger = Client(headers={"host": "localhost"})
    assert stranger.delete(f"/api/v1/watch/subscriptions/{other}").status_code == 401
