"""`hemeroteca simulate` as a person or a program meets it."""

import json
import statistics
from datetime import date, timedelta
from xml.etree import ElementTree

import holidays
import pytest
import typer
from typer.testing import CliRunner

from hemeroteca.cli import common
from hemeroteca.cli.simulate import simulate

FIELDS = {
    *("visits", "changes", "detected", "lost", "unnecessary", "freshness"),
    *("mean_delay_hours", "harmonic_staleness", "bytes_stored"),
}


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    app = typer.Typer()
    app.command()(simulate)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_json_has_the_promised_fields_and_the_published_table(run, tmp_path):
    words = ("--process", "poisson", "--process", "silent", "--pages", 15, "--days", 80, "--warmup", 20)
    chart = tmp_path / "out.svg"
    result = run(*words, "--policy", "auto,simple,fixed:48", "--budget", 5, "--seed", 3, "--json", "--plot", chart)
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert (facts["pages"], facts["days"], facts["visits_per_day"]) == (30, 80, 5)
    assert [p["policy"] for p in facts["policies"]] == ["auto", "simple", "fixed:48"]
    for policy in facts["policies"]:
        assert set(policy) >= FIELDS
        assert policy["lost"] == policy["changes"] - policy["detected"]
    assert facts["policies"][0]["visits"] == 300
    assert facts["policies"][2]["visits"] == 30 * 30
    assert facts["published_2015"][0] == {
        "policy": "simple", "visits": 157, "changes": 137, "detected": 88, "lost": 49, "unnecessary": 69,
        "bytes_stored": 779_000_000,
        "lost_by_day": 49,
        "page_days": 241,
        "surplus": 20,
    }  # fmt: skip
    assert ElementTree.parse(chart).getroot().tag.endswith("svg")


def test_the_table_for_people_shows_the_founding_works_beside_ours(run, tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"s,p{i % 4},{i * 86400 * 2 + 100}" for i in range(40)]
    path.write_text("site,page,seconds\n" + "\n".join(rows))
    result = run("--trace", path, "--policy", "simple", "--warmup", 10)
    assert result.exit_code == 0, result.output
    assert "fixed 15 days" in result.output
    assert "137 changes in 241 days" in result.output
    assert max(len(line) for line in result.output.splitlines()) <= 80
    assert "…" not in result.output
    assert "4 pages" in result.output


def test_a_policy_file_joins_in(run, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import numpy as np\nfrom hemeroteca.predict import IntervalPolicy\n"
        "class Doubling(IntervalPolicy):\n"
        "    def revise(self, pages, interval, gap, changed, now):\n"
        "        return np.where(changed, 24.0, np.minimum(interval * 2, 960.0))\n"
        "POLICIES = {'doubling': Doubling}\n"
    )
    words = ("--process", "poisson", "--pages", 10, "--days", 60, "--warmup", 10, "--policy", "simple", "--json")
    result = run(*words, "--policy-file", path)
    assert [p["policy"] for p in json.loads(result.stdout)["policies"]] == ["simple", "doubling"]


def test_repeated_runs_give_an_interval_around_their_mean(run):
    # Three runs with the seeds 5, 6 and 7: mean and 1.96·s/√3 of what each one alone says.
    words = ("--process", "bernoulli:p=.5", "--pages", 8, "--days", 90, "--warmup", 10, "--policy", "simple", "--json")
    lost = [json.loads(run(*words, "--seed", seed).stdout)["policies"][0]["lost"] for seed in (5, 6, 7)]
    (told,) = json.loads(run(*words, "--seed", 5, "--repeat", 3).stdout)["repeated"]
    assert told["runs"] == 3
    assert told["lost"]["mean"] == pytest.approx(sum(lost) / 3)
    assert told["lost"]["interval"] == pytest.approx(1.96 * statistics.stdev(lost) / 3**0.5)
    refused = run("--repeat", 2, "--policy", "simple")
    assert refused.exit_code == 2
    assert "give --process" in refused.output


def test_the_calendar_of_a_country_begins_on_the_first_day(run, tmp_path):
    # Changes on working days only, from Monday 2024-12-23 on, but for Spain's 25 December and 1 and 6 January (and 1
    # May …): `day-type` that knows the country finds no fewer of them with no more visits in vain.
    first = date(2024, 12, 23)
    off = holidays.country_holidays("ES")
    days = [n for n in range(360) if (day := first + timedelta(n)).weekday() < 5 and day not in off]
    path = tmp_path / "t.csv"
    path.write_text("site,page,seconds\n" + "\n".join(f"s,p,{n * 86400 + 40_000}" for n in days))
    words = ("--trace", path, "--policy", "day-type", "--budget", "own", "--warmup", 60, "--json")
    told = {
        name: json.loads(run(*words, *more).stdout)["policies"][0]
        for name, more in {
            "right": ("--start", "2024-12-23", "--country", "ES"),
            "shifted": ("--start", "2024-12-26", "--country", "ES"),
        }.items()
    }
    assert told["right"]["unnecessary"] < told["shifted"]["unnecessary"]
    refused = run("--start", "yesterday")
    assert refused.exit_code == 2
    assert "2024-01-31" in refused.output


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_charts_and_own_policies_work_on_the_history_of_a_subscription(run, tmp_path, monkeypatch):
    from hemeroteca.watch.models import Observation, WatchedPage
    from tests.watch.driving import START, subscribe

    monkeypatch.setattr(common, "setup", lambda *_, **__: None)
    sub = subscribe()
    WatchedPage.objects.create(
        key=1, subscription=sub, site="news.test", url="https://news.test/", first_ms=0, last_ms=0
    )
    for day in range(100):
        Observation.objects.create(
            key=1, subscription=sub, seen_ms=int(START + day * 86_400) * 1000, interval_ms=86_400_000, status=200,
            changed=day % 3 == 0, important=day % 3 == 0,
        )  # fmt: skip
    mine = tmp_path / "mine.py"
    mine.write_text("from hemeroteca.predict.policies import Fixed\nPOLICIES = {'mine': Fixed}\n")
    chart = tmp_path / "out.svg"
    words = ("--subscription", sub.pk, "--policy", "simple", "--warmup", 10, "--json", "--policy-file", mine)
    result = run(*words, "--plot", chart)
    assert result.exit_code == 0, result.output
    assert [p["policy"] for p in json.loads(result.stdout)["policies"]] == ["simple", "mine"]
    assert "mine" in chart.read_text()
    refused = run("--background", "--plot", chart)
    assert refused.exit_code == 2


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--policy", "magic"], "no policy is called 'magic'"),
        (["--process", "magic"], "no process is called 'magic'"),
        (["--budget", "lots"], "neither visits per day nor same-as"),
        (["--trace", "/does/not/exist.csv"], "cannot read the trace"),
        (["--policy-file", "/does/not/exist.py"], "--policy-file"),
        (["--resolution", "0"], "--resolution"),
        (["--signals", "2,0"], "recall"),
        (["--days", "30"], "warm-up"),
    ],
)
def test_mistakes_end_with_one_line_that_names_them(run, words, reason):
    result = run("--pages", 5, *words)
    assert result.exit_code == 2
    assert reason in result.output
    assert "Traceback" not in result.output
