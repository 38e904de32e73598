"""Focused crawls through the API: ordered, explained, and refused with a reason."""

from urllib.parse import quote

import pytest

from hemeroteca.frontier.models import FocusLink
from tests.api.test_api import call, is_problem, token  # noqa: F401 - fixtures
from tests.frontier.test_focused_links import PageFocus, finish, leased, link, opened, visit_seed

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def test_a_focused_crawl_is_ordered_with_its_own_defaults(call, token, world):  # noqa: F811
    status, crawl, _ = call("POST", "/crawls", token, {"seeds": ["https://a.example/"], "focus": "geo"})
    assert status == 201
    assert crawl["options"]["scope"]["kind"] == "web"
    assert crawl["options"]["order"] == "focused"
    assert crawl["options"]["requisites"] is False
    assert crawl["options"]["focus"]["name"] == "geo"
    own = {"seeds": ["https://b.example/"], "focus": {"name": "x", "terms": {"agua": 1}}, "order": "shark-search"}
    assert call("POST", "/crawls", token, {**own, "scope": "domain"})[1]["options"]["scope"]["kind"] == "domain"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"focus": {"colour": "red", "terms": {"a": 1}}}, "colour"),
        ({"focus": {"terms": {"a": 1}}, "order": "best"}, "shark-search"),
        ({"focus": {"thesauri": ["nowhere"]}}, "nowhere"),
        ({"order": "shark-search"}, "with a focus"),
    ],
)
def test_a_focus_that_cannot_be_used_is_a_problem_with_its_reason(call, token, world, change, reason):  # noqa: F811
    status, problem, _ = call("POST", "/crawls", token, {"seeds": ["https://a.example/"], **change})
    assert status in (404, 422)
    assert reason in problem["detail"]


def test_finds_and_explanations_are_told(call, world):  # noqa: F811
    frontier, crawl = opened()
    visit_seed(frontier, crawl)
    frontier.add([link(crawl, "http://b.test/wms", anchor="WMS", context=0.9)])
    frontier.write(2)
    visit = leased(frontier, 3.0)
    frontier.judge(visit, PageFocus(0.3, "service"), "sha256:abc", 140, 200)
    finish(visit)
    frontier.write(4)
    assert FocusLink.objects.count() == 2
    status, found, _ = call("GET", f"/focus/finds?crawl={crawl}")
    assert status == 200
    assert [(find["url"], find["target"], find["digest"]) for find in found["items"]] == [
        ("http://b.test/wms", "service", "sha256:abc")
    ]
    _, part, _ = call("GET", f"/focus/finds?crawl={crawl}&targets=false&limit=1")
    _, rest, _ = call("GET", f"/focus/finds?crawl={crawl}&targets=false&limit=1&cursor={part['next_cursor']}")
    assert {part["items"][0]["number"], rest["items"][0]["number"]} == {1, 2}
    _, told, _ = call("GET", f"/focus/explain?url={quote('http://b.test/wms', safe='')}")
    assert [step["url"] for step in told["way"]] == ["http://b.test/wms", "http://a.test/"]
    is_problem(call("GET", "/focus/explain?url=http%3A%2F%2Fnowhere.test%2F")[2], 404)
    assert [one["name"] for one in call("GET", "/focus/thesauri")[1]] == ["geography"]
    assert call("GET", "/focus/thesauri/geography")[1]["languages"]["es"] > 60
