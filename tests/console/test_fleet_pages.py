"""The pages of the fleet without a browser: everybody sees what they may, in both languages."""

import pytest

from hemeroteca.accounts import SYSTEM, Actor
from hemeroteca.fleet import fetches, load_tests, services, vantage

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]
PUBLIC = ("/fleet/devices", "/fleet/credits", "/fleet/jobs", "/fleet/vantage", "/fleet/load-tests")


@pytest.mark.parametrize("language", ["en", "es"])
def test_every_page_answers_its_people_and_nobody_else(client, instance, administrator, reader, language):
    actor = Actor.of(administrator)
    device, _ = services.add_device(SYSTEM, "pi", administrator)
    job = fetches.order(actor, fetches.FetchJobOrder(urls=["http://a.test/", "http://a.test/../../etc/passwd"]))
    check = vantage.order(actor, vantage.VantageOrder(urls=["http://a.test/"]))
    test = load_tests.propose(actor, load_tests.LoadTestOrder(url="http://a.test/", rate=5))
    private = [
        f"/fleet/devices/{device.pk}", f"/fleet/devices/{device.pk}/start", f"/fleet/jobs/{job.public_id}",
        f"/fleet/vantage/{check.public_id}", f"/fleet/load-tests/{test.public_id}", "/fleet/operate",
    ]  # fmt: skip
    headers = {"accept-language": language}
    for path in (*PUBLIC, *private):
        assert client.get(path, headers=headers).status_code in (302, 403), path  # a stranger
    client.force_login(reader)
    for path in ("/fleet", *PUBLIC):
        assert client.get(path, headers=headers).status_code == 200, path
    for path in private:
        assert client.get(path, headers=headers).status_code in (403, 404), path
    client.force_login(administrator)
    for path in ("/fleet", *PUBLIC, *private, "/fleet/devices?of=all"):
        answer = client.get(path, headers=headers)
        assert answer.status_code == 200, path
        assert f'lang="{language}"' in answer.content.decode()


def test_buttons_do_what_they_say(client, instance, administrator):
    client.force_login(administrator)
    assert client.post("/fleet/devices", {"name": "///"}).status_code == 422
    answer = client.post("/fleet/devices", {"name": "pi"})
    device = services.find_device("pi")
    assert answer.url == f"/fleet/devices/{device.pk}/start"
    page = client.get(answer.url).content.decode()
    code = page.split("--code ")[1].split("<")[0].strip()
    assert services.redeem_code(code).startswith("hemdev_")
    for button, state in (("pause", "paused"), ("go-on", "active"), ("suspend", "suspended"), ("expel", "expelled")):
        client.post(f"/fleet/devices/{device.pk}", {"do": button, "reason": "x"})
        device.refresh_from_db()
        assert device.state == state
    client.post("/fleet/operate", {"do": "set", "strategy": "geography", "max_block": "32", "local": "on"})
    assert (services.fleet_settings().strategy, services.fleet_settings().max_block) == ("geography", 32)
    client.post("/fleet/operate", {"do": "close", "host": "shop.test"})
    assert services.closed_reason("www.shop.test")
    client.post("/fleet/operate", {"do": "open", "host": "shop.test"})
    assert not services.closed_reason("www.shop.test")
    assert client.post("/fleet/vantage", {"urls": "no address"}).status_code == 422
    assert client.post("/fleet/load-tests", {"url": "http://a.test/", "rate": "many"}).status_code == 422
    assert client.post("/fleet/jobs", {"urls": "http://a.test/", "category": "films"}).status_code == 422
    assert "amount" in client.get("/fleet/credits?as=statement").content.decode()
