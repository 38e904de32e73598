"""Services that robots.txt closes are kept as such, with the rule; nobody asks them."""

import json

import pytest

from tests.engine.system import System


@pytest.mark.slow
def test_a_service_that_robots_txt_closes_is_kept_with_the_rule(tmp_path, http_files):
    page = '<html><body><a href="/closed/wms?service=WMS&amp;request=GetCapabilities">WMS</a></body></html>'
    base, asked = http_files({"/": page, "/robots.txt": "User-agent: *\nDisallow: /closed/\n"})
    system = System(tmp_path / "data", delay=0)
    system.crawl(base + "/", "--probe")
    lines = system.run("geo", "search", "--all", "--json").stdout.splitlines()
    (entry,) = [json.loads(line) for line in lines]
    assert (entry["type"], entry["state"]) == ("wms", "closed")
    assert "Disallow: /closed/" in entry["reason"]
    assert not [path for path in asked if path.startswith("/closed")]
    stats = json.loads(system.run("geo", "stats", "--json").stdout)
    assert stats["states"] == {"closed": 1}
