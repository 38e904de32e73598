"""Histories handed out and taken in: XML that MediaWiki and mwxml read, dumps of every packing, TSV, CSV, Parquet."""

import bz2
import csv
import gzip
import io
import json
import random
import shutil
import subprocess

import pytest

from hemeroteca.accounts import SYSTEM
from hemeroteca.wiki import queries
from hemeroteca.wiki.dumps import COLUMNS, UNPACKERS
from hemeroteca.wiki.job_kinds import ExportHistory, Extract, ImportDump
from hemeroteca.wiki.models import Article
from tests.wiki.mediawiki import dump, page

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]
SAME = ("revid", "timestamp", "user", "minor", "comment", "sha1", "text", "size", "title", "userhidden", "texthidden")


def rows(**given):
    return [{name: row[name] for name in SAME} for row in queries.every_revision(SYSTEM, given, text=True)]


@pytest.mark.slow
def test_an_export_is_read_by_mediawiki_by_mwxml_and_by_ourselves(run, mediawiki, tmp_path):
    titles = ["Caracas", "Secreto"]
    run("wiki.extract", Extract(wiki=mediawiki.api_url, titles=titles, text=True))
    target = tmp_path / "out.xml"
    about = run("wiki.export", ExportHistory(target=str(target), format="xml"))
    assert about["revisions"] == len(rows())
    assert about["wikis"][0]["rights"] == "Creative Commons Attribution-ShareAlike 4.0"
    mwxml = pytest.importorskip("mwxml")
    with target.open(encoding="utf-8") as file:
        read = {page.title: [(r.id, r.text, r.sha1) for r in page] for page in mwxml.Dump.from_file(file)}
    assert list(read) == titles
    kept = {title: [(row["revid"], row["text"]) for row in rows(title=title)] for title in titles}
    assert [(number, text) for number, text, _ in read["Caracas"]] == kept["Caracas"]
    # MediaWiki itself, under other titles
    text = target.read_text("utf-8").replace("</title>", " importada</title>")
    mediawiki.maintain("importDump.php", "--username-prefix=x", given=text)
    found = mediawiki.api(action="query", prop="revisions", titles="Caracas importada", rvlimit=500, rvprop="sha1|ids")
    again = [revision["sha1"] for revision in found["query"]["pages"][0]["revisions"]][::-1]
    assert again == [row["sha1"] for row in rows(title="Caracas")]
    # and an instance that knows nothing of the wiki
    before = rows()
    Article.objects.all().delete()
    from hemeroteca.wiki.models import LakeFile, Wiki

    LakeFile.objects.all().delete()
    Wiki.objects.all().delete()
    taken = run("wiki.import", ImportDump(file=str(target)))
    assert taken["revisions"] == len(before)
    assert rows() == before
    assert run("wiki.import", ImportDump(file=str(target)))["known"] == len(before), "a second time nothing is new"


def seven_zip(data: bytes, folder) -> bytes:
    program = next((found for name in UNPACKERS if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("no program packs 7z (tests/install brings 7zip on Debian)")
    (folder / "dump").write_bytes(data)
    subprocess.run([program, "a", folder / "made.7z", folder / "dump"], check=True, stdout=subprocess.DEVNULL)
    return (folder / "made.7z").read_bytes()


@pytest.mark.parametrize("packing", ["xml", "xml.gz", "xml.bz2", "xml.7z"])
def test_dumps_are_read_in_every_packing(run, tmp_path, packing):
    revisions = [{"user": "Ana" if n % 2 else "10.0.0.1", "text": f"texto {n}", "at": n} for n in range(20)]
    text = (
        dump(page("Caracas", revisions))
        .replace("<revision>", "<revision><id>@</id>")
        .replace("</ns>", "</ns><id>7</id>")
    )
    for number in range(1, 21):
        text = text.replace("@", str(number), 1)
    path = tmp_path / f"dump.{packing}"
    data = text.encode()
    packers = {"xml": bytes, "xml.gz": gzip.compress, "xml.bz2": bz2.compress}
    path.write_bytes(packers[packing](data) if packing in packers else seven_zip(data, tmp_path))
    done = run("wiki.import", ImportDump(file=str(path), wiki="es.example.org", locale="es"))
    assert (done["articles"], done["revisions"], done["texts"]) == (1, 20, 20)
    kept = rows(title="Caracas")
    assert [row["text"] for row in kept] == [f"texto {n}" for n in range(20)]
    assert len(kept[0]["sha1"]) == 40


def test_what_a_dump_hides_stays_hidden_and_its_sha1_is_read_as_the_api_writes_it(run, tmp_path):
    from hemeroteca.wiki.answers import base36

    sha1 = "0a4d55a8d778e5022fab701977c5d840bbc486d0"
    rest = "<model>wikitext</model><format>text/x-wiki</format>"
    revisions = [
        f"<id>1</id><timestamp>2020-01-01T00:00:00Z</timestamp><contributor><username>Ana</username><id>5</id>"
        f'</contributor><comment></comment>{rest}<text bytes="11" sha1="{base36(sha1)}">Hello World'
        f"</text><sha1>{base36(sha1)}</sha1>",
        f'<id>2</id><parentid>1</parentid><timestamp>2020-01-02T00:00:00Z</timestamp><contributor deleted="deleted" />'
        f'<minor/><comment deleted="deleted" />{rest}<text bytes="9" deleted="deleted" />',
        f"<id>3</id><parentid>2</parentid><timestamp>2020-01-03T00:00:00Z</timestamp><contributor>"
        f"<username>~2026-12345-6</username><id>9</id></contributor>{rest}<text bytes=\"0\" />",
        f"<id>4</id><timestamp>2020-01-04T00:00:00Z</timestamp><contributor><ip>imported&gt;Eva</ip></contributor>"
        f'{rest}<text bytes="70" location="tt:4" sha1="{base36(sha1)}" />',
    ]  # fmt: skip
    body = "".join(f"<revision>{revision}</revision>" for revision in revisions)
    path = tmp_path / "dump.xml"
    path.write_text(dump(f"<page><title>T</title><ns>0</ns><id>7</id>{body}</page>"), "utf-8")
    assert run("wiki.import", ImportDump(file=str(path), wiki="es.example.org"))["revisions"] == 4
    first, hidden, empty, stub = queries.every_revision(SYSTEM, {}, text=True)
    assert (first["sha1"], first["text"], first["comment"], first["size"]) == (sha1, "Hello World", "", 11)
    nothing = ("user", "userid", "comment", "text", "sha1", "text_sha1")
    assert {name: hidden[name] for name in nothing} == dict.fromkeys(nothing)
    assert all(hidden[name] for name in ("userhidden", "commenthidden", "texthidden", "sha1hidden", "minor"))
    assert (hidden["size"], hidden["parentid"]) == (9, 1)
    assert (empty["size"], empty["text"], empty["temp"], empty["anon"]) == (0, "", True, False)
    assert (stub["user"], stub["anon"], stub["text_sha1"], stub["size"]) == ("imported>Eva", False, sha1, 70)
    assert stub["text"] == "Hello World", "the dump says it is the same text"


@pytest.mark.parametrize("packing", ["xml.gz", "xml.bz2", "xml.7z", "tsv.gz", "tsv.bz2"])
@pytest.mark.parametrize("damage", ["cut", "broken"])
def test_a_damaged_dump_is_told_by_name(house, tmp_path, packing, damage):
    from hemeroteca.jobs import services
    from hemeroteca.jobs.runner import Runner

    chance = random.Random(16)
    noise = "".join(chance.choices("abcdefghijklmnop", k=60_000))
    if packing.startswith("tsv"):
        plain = ("\t".join(noise[n : n + 9] for n in range(70)) + "\n") * 200 + noise
    else:
        plain = dump(page("Caracas", [{"user": "Ana", "text": noise, "at": 1}]))
    packers = {"gz": gzip.compress, "bz2": bz2.compress, "7z": lambda data: seven_zip(data, tmp_path)}
    packed = packers[packing.rpartition(".")[2]](plain.encode())
    half = len(packed) // 2
    path = tmp_path / f"dump.{packing}"
    path.write_bytes(packed[:half] if damage == "cut" else packed[:half] + bytes(200) + packed[half + 200 :])
    job = Runner().run(services.submit(SYSTEM, "wiki.import", ImportDump(file=str(path), wiki="w"), here=True))
    assert job.state == "failed"
    assert job.code != "internal", job.message
    assert "dump" in job.message


def test_wikimedias_history_dump_is_read(run, tmp_path):
    def line(**cells):
        return "\t".join(str(cells.get(name, "")) for name in COLUMNS) + "\n"

    shared = {"wiki_db": "eswiki", "event_entity": "revision", "event_type": "create", "page_id": 7,
              "page_title": "Caracas", "page_namespace": 0}  # fmt: skip
    lines = [
        line(**shared, revision_id=1, event_timestamp="2020-01-01 10:00:00.0", event_user_text="Ana", event_user_id=3,
             revision_text_bytes=10, revision_text_sha1="phoiac9h4m842xq45sp7s6u21eteeq1", revision_tags="a,b",
             revision_minor_edit="true"),
        line(wiki_db="eswiki", event_entity="user", event_type="create"),
        line(**shared, revision_id=2, event_timestamp="2020-01-02 10:00:00.0", event_user_text="10.0.0.1",
             event_user_id=77, event_user_is_anonymous="true", revision_deleted_parts="user,text"),
        "broken\tline\n",
    ]  # fmt: skip
    path = tmp_path / "2026-10.eswiki.2020.tsv.bz2"
    path.write_bytes(bz2.compress("".join(lines).encode()))
    done = run("wiki.import", ImportDump(file=str(path)))
    assert (done["revisions"], done["unreadable"]) == (2, 1)
    first, second = queries.every_revision(SYSTEM, {})
    assert (first["wiki"], first["locale"], first["tags"], first["minor"]) == (
        "es.wikipedia.org",
        "es",
        ["a", "b"],
        True,
    )
    assert first["sha1"] == "da39a3ee5e6b4b0d3255bfef95601890afd80709"
    assert (second["user"], second["userid"], second["userhidden"], second["texthidden"]) == (None, None, True, True)


@pytest.mark.parametrize("body", [b"", b"hello", b"<mediawiki><page><title>x", b"\x00" * 100])
def test_what_is_no_dump_is_refused_with_its_name(house, tmp_path, body):
    from hemeroteca.jobs import services
    from hemeroteca.jobs.runner import Runner

    path = tmp_path / "dump.xml"
    path.write_bytes(body)
    job = Runner().run(services.submit(SYSTEM, "wiki.import", ImportDump(file=str(path)), here=True))
    assert (job.state, job.code) == ("failed", "invalid")
    assert "dump" in job.message
    assert not Article.objects.exists()


def test_tables_state_their_licence_and_hide_names_on_request(run, house, tmp_path):
    from tests.wiki.making import keep

    wiki = keep([("Caracas", 1, n, f"2026-03-0{n}T00:00:00Z", user, 1, 5, ["a", "b"]) for n, user in
                 enumerate(("Ana", "Beto", "Ana", "=cmd"), 1)])  # fmt: skip
    wiki.rights = "CC BY-SA 4.0"
    wiki.save()
    Article.objects.update(limited=True)
    target = tmp_path / "out.csv"
    about = run("wiki.export", ExportHistory(target=str(target), format="csv", text=False))
    assert about["limited"] == ["Caracas"]
    lines = target.read_text("utf-8").splitlines()
    head = [line for line in lines if line.startswith("#")]
    assert any("CC BY-SA 4.0" in line for line in head)
    assert any("only the first revisions" in line for line in head)
    found = list(csv.DictReader(io.StringIO("\n".join(line for line in lines if not line.startswith("#")))))
    assert [row["user"] for row in found] == ["Ana", "Beto", "Ana", "'=cmd"]
    assert found[0]["tags"] == "a|b"
    hidden = tmp_path / "out.parquet"
    run("wiki.export", ExportHistory(target=str(hidden), format="parquet", text=False, pseudonyms=True))
    import pyarrow.parquet as pq

    table = pq.read_table(hidden)
    users = table.column("user").to_pylist()
    assert users[0] == users[2] != users[1]
    assert not {"Ana", "Beto"} & set(users)
    assert set(table.column("comment").to_pylist()) == {None}
    facts = json.loads(table.schema.metadata[b"hemeroteca"])
    assert (facts["pseudonyms"], facts["wikis"][0]["rights"]) == (True, "CC BY-SA 4.0")
