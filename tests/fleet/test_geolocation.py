"""Countries of addresses, from the files that people can get."""

import dataclasses

import pytest

from hemeroteca.fleet import geolocation

FILE = """ip_from,ip_to,country
"192.0.2.0","192.0.2.127","CL","Chile"
192.0.2.128,192.0.2.255,de
"3405803776","3405804031","US","United States of America"
"281474909602048","281474909602303","FR","France"
2001:db8::,2001:db8:0:ffff:ffff:ffff:ffff:ffff,AR
"203.0.113.0","203.0.113.255","-","-"
198.51.100.9,nonsense,XX
1,2
"""


@pytest.fixture
def country(settings, tmp_path):
    (tmp_path / "places.csv").write_text(FILE)
    settings.CONFIG = dataclasses.replace(settings.CONFIG, address_database=str(tmp_path / "places.csv"))
    geolocation.country.cache_clear()
    yield geolocation.country
    geolocation.country.cache_clear()


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("192.0.2.0", "CL"), ("192.0.2.127", "CL"), ("192.0.2.128", "DE"), ("192.0.2.255", "DE"),
        ("192.0.1.255", ""), ("192.0.3.0", ""), ("::ffff:192.0.2.1", "CL"),
        ("203.0.113.9", "US"),  # IP2Location writes numbers; “-” is no country
        ("252.0.1.9", "FR"),  # … and IPv4 as IPv6
        ("2001:db8::1", "AR"), ("2001:db8:1::", ""), ("::c000:201", ""), ("0.0.0.1", ""), ("nonsense", ""), ("", ""),
    ],
)  # fmt: skip
def test_a_country_is_found_at_both_ends_of_its_range_and_not_beyond(country, address, found):
    assert country(address) == found


def test_a_file_that_is_not_there_is_told(country, settings, tmp_path, caplog):
    settings.CONFIG = dataclasses.replace(settings.CONFIG, address_database=str(tmp_path / "none.csv"))
    assert country("192.0.2.9") == ""
    assert f"there is no file {tmp_path / 'none.csv'}" in caplog.text
