"""`hemeroteca simulate` as a person or a program meets it."""

import json
from xml.etree import ElementTree

import pytest
import typer
from typer.testing import CliRunner

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
