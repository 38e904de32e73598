"""SQL of strangers: what may be asked is answered, and the known tricks get nowhere."""

import os
from pathlib import Path

import pytest

from hemeroteca.lake import parquet
from hemeroteca.lake.revisions import Revision
from hemeroteca.lake.sandbox import QueryLimits, QueryRefused, SqlAnswer, TableSource, ask

SECRET = "a secret of the machine"


@pytest.fixture(scope="module")
def lake(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    rows = [
        Revision(
            wiki="w", locale="es", ns=0, pageid=n % 3, title=f"T{n % 3}", revid=n, timestamp=n * 1000, user=f"u{n % 2}"
        )
        for n in range(300)
    ]
    parquet.write("revisions", rows, folder / "a.parquet")
    (folder / "a.parquet").chmod(0o600)
    (folder / "secret.csv").write_text(SECRET)
    (folder / "secret.csv").chmod(0o644)
    return folder


@pytest.fixture
def run(lake, monkeypatch):
    monkeypatch.setenv("HEMEROTECA_DATABASE_PASSWORD", SECRET)

    def done(sql: str, **limits) -> SqlAnswer:
        source = TableSource("revisions_bases", files=(str(lake / "a.parquet"),))
        return ask(
            sql, [source], [("revisions", "SELECT * FROM revisions_bases")], ["revisions"], QueryLimits(**limits)
        )

    return done


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT count(*) FROM revisions", ((300,),)),
        ("SELECT user, count(*) FROM revisions GROUP BY ALL ORDER BY 1", (("u0", 150), ("u1", 150))),
        ("WITH x AS (SELECT max(timestamp) AS t FROM revisions) SELECT t FROM x", (("1970-01-01T00:04:59.000Z",),)),
        ("SELECT title FROM revisions WHERE revid IN (SELECT unnest([4, 5])) ORDER BY 1", (("T1",), ("T2",))),
        ("WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 4) SELECT sum(n) FROM t", ((10,),)),
        ("SELECT row_number() OVER (ORDER BY revid DESC) AS r FROM revisions QUALIFY r = 1", ((1,),)),
        ("FROM range(2)", ((0,), (1,))),
        ("WITH revisions AS (SELECT 7 AS n) SELECT n FROM revisions", ((7,),)),
        ("SELECT 1::DECIMAL(38, 0) * 99999999999999999999999999999999999999", (("9" * 38,),)),
        (
            "SELECT 'x'::BLOB, DATE '2020-01-01', TIME '01:00', {'a': 1}, MAP {1: 2}, 1.5::DECIMAL(9, 2), 1e400::REAL",
            (("78", "2020-01-01", "01:00:00", {"a": 1}, [[1, 2]], 1.5, None),),
        ),
    ],
)
def test_selects_are_answered(run, sql, rows):
    assert run(sql).rows == rows


TRICKS = [
    "SELECT * FROM '{folder}/secret.csv'",
    "SELECT * FROM read_csv('{folder}/secret.csv')",
    "SELECT * FROM read_text('{folder}/secret.csv')",
    "SELECT * FROM read_blob('/proc/self/environ')",
    "SELECT * FROM read_parquet('{folder}/a.parquet')",
    "SELECT * FROM parquet_metadata('{folder}/a.parquet')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM sniff_csv('{folder}/secret.csv')",
    "WITH x AS (SELECT * FROM read_text('{folder}/secret.csv')) SELECT * FROM x",
    "SELECT (SELECT content FROM read_text('{folder}/secret.csv'))",
    "SELECT * FROM revisions WHERE EXISTS (FROM read_text('{folder}/secret.csv'))",
    "SELECT * FROM revisions ORDER BY (SELECT 1 FROM glob('/*') LIMIT 1)",
    "COPY revisions TO '{folder}/out.csv'",
    "COPY (SELECT 1) TO '{folder}/a.parquet'",
    "EXPORT DATABASE '{folder}/out'",
    "ATTACH '{folder}/out.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "RESET lock_configuration",
    "PRAGMA database_list",
    "CALL pragma_version()",
    "CREATE TABLE x AS SELECT 1",
    "DROP VIEW revisions",
    "DELETE FROM revisions",
    "UPDATE revisions SET user = 'x'",
    "INSERT INTO revisions_bases SELECT * FROM revisions_bases",
    "CREATE MACRO f() AS TABLE SELECT * FROM read_text('{folder}/secret.csv')",
    "SELECT 1; COPY revisions TO '{folder}/out.csv'",
    "SELECT 1; SELECT 2",
    "EXPLAIN ANALYZE SELECT * FROM revisions",
    "PREPARE p AS SELECT 1",
    "SELECT getenv('HEMEROTECA_DATABASE_PASSWORD')",
    "SELECT current_setting('temp_directory')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM pg_catalog.pg_class",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM main.revisions",
    "SELECT * FROM system.information_schema.tables",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('revisions_bases')",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
    "SELECT * FROM 'https://example.org/x.parquet'",
    "SELECT * FROM read_parquet('s3://bucket/x.parquet')",
    "SELECT * FROM arrow_scan(1, 2, 3)",
    # a name of WITH, known in one part of the query, used in another
    'SELECT * FROM (WITH "{folder}/secret.csv" AS (SELECT 1) SELECT 2), "{folder}/secret.csv"',
    "SELECT * FROM (WITH duckdb_tables AS (SELECT 1) SELECT 2), duckdb_tables",
    "WITH sqlite_master AS (SELECT * FROM sqlite_master) SELECT * FROM sqlite_master",
    "SELECT * FROM (WITH revisions_bases AS (SELECT 1) SELECT 2), revisions_bases",
    "SELECT * FROM \"read_text\"('{folder}/secret.csv')",
    "/* */ SELECT content FROM READ_TEXT('{folder}/secret.csv') -- x",
    "SELECT * FROM system.main.read_text('{folder}/secret.csv')",
    "SELECT list_transform(['HEMEROTECA_DATABASE_PASSWORD'], x -> getenv(x))",
    "SELECT 'HEMEROTECA_DATABASE_PASSWORD'.getenv()",
    "FROM (SHOW TABLES)",
    "EXECUTE p",
    "SELECT $1",
    "SELECT 1 \u2028; DROP VIEW revisions",
    "SELECT '\ud83d'",
    "SHOW TABLES",
    "SUMMARIZE revisions",
    "DESCRIBE revisions",
    "SELECT * FROM other",
    "",
    "SELECT",
    "\x00",
    "SELECT " + "(" * 2000 + "1 FROM other" + ")" * 2000,
]


@pytest.mark.parametrize("sql", TRICKS, ids=lambda sql: sql[:40])
def test_tricks_are_refused(run, lake, sql):
    before = {path.name: path.read_bytes() for path in lake.iterdir()}
    with pytest.raises(QueryRefused) as refused:
        run(sql.replace("{folder}", str(lake)))
    assert SECRET not in str(refused.value)
    assert {path.name: path.read_bytes() for path in lake.iterdir()} == before


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT count(*) FROM range(1000000000000) a, range(1000000) b", "longer than"),
        ("SELECT list(r) FROM range(2000000000) t(r)", "memory|longer than"),
        ("WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t", "longer than"),
        ("SELECT rpad('', 2000000000, 'x')", "answer has more|memory|longer than"),
        ("SELECT repeat('x', 300000000)", "answer has more|memory|longer than"),
        ("SELECT max(length(repeat('a', 1000000 + range::INT))) FROM range(100000000)", "longer than|memory"),
    ],
)
def test_a_query_that_would_not_end_is_ended(run, sql, reason):
    with pytest.raises(QueryRefused, match=reason):
        run(sql, seconds=2.0)


def test_a_value_that_has_no_word_is_refused_with_the_way_out(run):
    with pytest.raises(QueryRefused, match="cast it to text"):
        run("SELECT TIMESTAMP '290000-01-01'")


def test_rows_are_bounded_and_that_is_said(run):
    answer = run("SELECT range FROM range(5000)", rows=100)
    assert (len(answer.rows), answer.truncated) == (100, True)


PROBES = [
    ("open", "open('{file}')"),
    ("write", "open('{folder}/new', 'w')"),
    ("network", "socket.socket()"),
    ("start", "os.system('true') and 1 / 0"),
    ("fork", "os.fork()"),
    ("kill", "os.kill({parent}, 0)"),
    ("unlink", "os.unlink('{file}')"),
    ("environment", "os.environ['HEMEROTECA_DATABASE_PASSWORD']"),
]


@pytest.mark.parametrize(("name", "code"), PROBES, ids=[name for name, _ in PROBES])
def test_the_confined_process_itself_can_do_nothing(lake, monkeypatch, name, code):
    """Whatever DuckDB were talked into: the kernel refuses it."""
    import subprocess
    import sys

    monkeypatch.setenv("HEMEROTECA_DATABASE_PASSWORD", SECRET)
    code = code.replace("{file}", str(lake / "secret.csv")).replace("{folder}", str(lake))
    code = code.replace("{parent}", str(os.getpid()))
    program = f"""
import os, socket
from hemeroteca.lake.sandbox_process import confine
confine(20, 512 << 20)
try:
    {code}
except (OSError, KeyError, ZeroDivisionError) as error:
    print("refused", flush=True)
else:
    print("done", flush=True)
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "refused\n", done.stderr
