"""Files of captures sent over the API in parts, erasures and takedowns ordered there: by those who may."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from hemeroteca.accounts import SYSTEM, Actor, Role
from hemeroteca.accounts import services as accounts
from hemeroteca.archive import uploads
from hemeroteca.archive.models import Erasure, IncomingFile, IndexedCapture
from hemeroteca.errors import Refused
from hemeroteca.frontier.models import Takedown
from hemeroteca.jobs.models import Job
from hemeroteca.jobs.runner import Runner
from tests.console.world import BREAD
from tests.engine.test_imports import write_warc

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]


@pytest.fixture
def call(client):
    tokens = {}

    def ask(method, path, body=b"", role=Role.DIRECTOR):
        if role not in tokens:
            user = accounts.add_user(SYSTEM, role.value, role, "una frase bien larga")
            tokens[role] = accounts.create_token(SYSTEM, user, "test").secret
        raw = isinstance(body, bytes)
        kind = "application/octet-stream" if raw and body else "application/json"
        answer = client.generic(
            method, f"/api/v1{path}", body if raw else json.dumps(body), kind,
            headers={"Authorization": f"Bearer {tokens[role]}"},
        )  # fmt: skip
        return answer.status_code, answer.json() if answer.content else None

    return ask


@pytest.fixture
def warc(tmp_path):
    pages = [(f"http://old.example/{n}", "2020-01-01T00:00:00Z", f"palabra{n} " * 50) for n in range(20)]
    return write_warc(tmp_path / "old.warc.gz", pages).read_bytes()


def test_a_file_sent_in_parts_is_imported_and_removed(call, instance, warc):
    order = {"name": "../../etc/old.warc.gz", "size": len(warc), "digest": hashlib.sha256(warc).hexdigest()}
    status, told = call("POST", "/uploads", order)
    assert (status, told["received"], told["name"], told["job"]) == (201, 0, "old.warc.gz", None)
    place = f"/uploads/{told['id']}"
    half = len(warc) // 2
    assert call("PUT", f"{place}/content?offset=0", warc[:half])[1]["received"] == half
    status, problem = call("PUT", f"{place}/content?offset=0", warc[:half])
    assert (status, problem["code"]) == (409, "wrong-offset")
    assert call("POST", "/uploads", order)[1]["received"] == half, "the same file again goes on"
    status, told = call("PUT", f"{place}/content?offset={half}", warc[half:])
    assert status == 200
    job = Job.objects.get(pk=told["job"])
    (file,) = job.arguments["files"]
    assert Path(file).read_bytes() == warc
    assert Path(file).is_relative_to(instance.data / "incoming")
    Runner().drain(exclusive=False)
    job.refresh_from_db()
    assert (job.state, job.result["taken"]) == ("done", 20), job.message
    assert not Path(file).exists()
    assert IndexedCapture.objects.filter(url__startswith="http://old.example/").count() == 20


def test_what_cannot_be_taken_is_refused_before_it_is_sent(call, instance, settings, monkeypatch):
    assert call("POST", "/uploads", {"name": "notes.exe", "size": 5})[0] == 422
    assert call("POST", "/uploads", {"name": "a.warc", "size": settings.CONFIG.upload_bytes + 1})[0] == 422
    assert call("POST", "/uploads", {"name": "a.warc", "size": 5}, Role.READER)[0] == 403
    monkeypatch.setattr(uploads.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 300 << 20}))
    status, problem = call("POST", "/uploads", {"name": "a.warc", "size": 100 << 20})
    assert (status, problem["code"]) == (409, "disk-full")
    assert not IncomingFile.objects.exists()


def test_a_part_cannot_be_longer_than_announced_or_than_a_request(call, instance):
    _, told = call("POST", "/uploads", {"name": "a.warc", "size": 5})
    place = f"/uploads/{told['id']}/content?offset=0"
    assert call("PUT", place, b"x" * 6)[0] == 422
    assert call("PUT", place, b"x" * (uploads.PART_BYTES + 1))[0] == 422
    assert call("PUT", place, b"x" * (3 << 20))[0] == 422
    assert call("PUT", place, b"")[0] == 422
    assert call("DELETE", f"/uploads/{told['id']}")[0] == 204
    assert list((instance.data / "incoming").iterdir()) == []


def test_an_upload_belongs_to_who_began_it(call, instance):
    _, told = call("POST", "/uploads", {"name": "a.warc", "size": 5}, Role.ADMINISTRATOR)
    assert call("GET", f"/uploads/{told['id']}")[0] == 404
    assert call("PUT", f"/uploads/{told['id']}/content?offset=0", b"x")[0] == 404
    assert call("GET", "/uploads")[1] == []
    assert [one["id"] for one in call("GET", "/uploads", role=Role.ADMINISTRATOR)[1]] == [told["id"]]


def test_a_name_of_any_letters_is_one_that_a_disk_takes(call, instance, warc):
    for name in ("报" * 190 + ".warc.gz", "..\\..\\" + "é" * 180 + ".warc.gz", "\x00\x7f/." + "a" * 180 + ".warc.gz"):
        status, told = call("POST", "/uploads", {"name": name, "size": len(warc)})
        assert status == 201, (name, told)
        assert told["name"].endswith(".warc.gz")
        assert call("PUT", f"/uploads/{told['id']}/content?offset=0", warc[:10])[1]["received"] == 10
        assert call("DELETE", f"/uploads/{told['id']}")[0] == 204
    assert list((instance.data / "incoming").iterdir()) == []


def test_an_upload_whose_bytes_are_gone_begins_anew(call, instance, warc):
    """After a restored backup, say: the folder is not in it."""
    order = {"name": "a.warc.gz", "size": len(warc)}
    _, told = call("POST", "/uploads", order)
    assert call("PUT", f"/uploads/{told['id']}/content?offset=0", warc[:100])[0] == 200
    shutil.rmtree(instance.data / "incoming")
    assert call("PUT", f"/uploads/{told['id']}/content?offset=100", warc[100:])[0] == 404
    _, told = call("POST", "/uploads", order)
    assert told["received"] == 0
    (instance.data / "incoming" / str(told["id"]) / "a.warc.gz").write_bytes(b"")
    IncomingFile.objects.update(received=50)
    assert call("POST", "/uploads", order)[1]["received"] == 0, "not a file with a hole in it"


def test_a_part_that_comes_while_the_upload_is_cancelled_finds_nothing(call, instance, monkeypatch):
    _, told = call("POST", "/uploads", {"name": "a.warc", "size": 5})

    def cancel_meanwhile(*_):
        IncomingFile.objects.all().delete()

    monkeypatch.setattr(uploads.fcntl, "flock", cancel_meanwhile)
    assert call("PUT", f"/uploads/{told['id']}/content?offset=0", b"abc")[0] == 404
    _, told = call("POST", "/uploads", {"name": "a.warc", "size": 5})
    monkeypatch.setattr(uploads.fcntl, "flock", lambda *_: None)
    monkeypatch.setattr(uploads.os, "fdatasync", cancel_meanwhile)
    assert call("PUT", f"/uploads/{told['id']}/content?offset=0", b"abc")[0] == 404
    assert not IncomingFile.objects.exists()


def test_a_whole_file_whose_import_was_not_ordered_is_imported_when_it_is_announced_again(call, instance, warc):
    """Its receiver was killed behind the last part."""
    order = {"name": "a.warc.gz", "size": len(warc)}
    _, told = call("POST", "/uploads", order)
    (instance.data / "incoming" / str(told["id"]) / "a.warc.gz").write_bytes(warc)
    IncomingFile.objects.update(received=len(warc))
    _, told = call("POST", "/uploads", order)
    assert Job.objects.get(pk=told["job"]).kind == "archive.import"


def test_another_file_of_the_same_name_and_size_does_not_go_on_with_the_first(call, instance):
    first = call("POST", "/uploads", {"name": "a.warc", "size": 5, "digest": "0" * 64})[1]["id"]
    assert call("PUT", f"/uploads/{first}/content?offset=0", b"abc")[0] == 200
    _, told = call("POST", "/uploads", {"name": "a.warc", "size": 5, "digest": "1" * 64})
    assert (told["id"] != first, told["received"]) == (True, 0)


def test_one_person_does_not_take_all_places(call, instance):
    for number in range(uploads.MAX_OF_ONE):
        assert call("POST", "/uploads", {"name": f"{number}.warc", "size": 5})[0] == 201
    assert call("POST", "/uploads", {"name": "more.warc", "size": 5})[0] == 409
    assert call("POST", "/uploads", {"name": "mine.warc", "size": 5}, Role.ADMINISTRATOR)[0] == 201


def test_an_upload_is_not_inherited_by_a_name_nor_gone_on_with_by_a_lesser_token(call, instance):
    _, told = call("POST", "/uploads", {"name": "a.warc", "size": 5})
    owner = IncomingFile.objects.get().owner
    for lesser in (Actor("director", owner, (Role.DIRECTOR,), frozenset({"search"})), Actor("director", None, ())):
        for ask in (uploads.find, uploads.cancel, lambda actor, number: uploads.add(actor, number, 0, b"x")):
            with pytest.raises(Refused):
                ask(lesser, told["id"])
    IncomingFile.objects.update(owner=None)  # she went, and somebody came who is called the same
    assert call("GET", f"/uploads/{told['id']}")[0] == 404
    assert call("GET", "/uploads")[1] == []


@pytest.mark.parametrize("body", [b"PK\x03\x04" + b"\0" * 500, b"\x1f\x8b\x08" + b"\xff" * 500, b"WARC/1.0\r\n" * 90])
def test_a_hostile_file_ends_in_a_job_that_says_so_and_nothing_else(call, instance, body):
    _, told = call("POST", "/uploads", {"name": "a.wacz", "size": len(body)})
    _, told = call("PUT", f"/uploads/{told['id']}/content?offset=0", body)
    Runner().drain(exclusive=False)
    job = Job.objects.get(pk=told["job"])
    assert job.state in ("done", "failed")
    assert job.state == "failed" or (job.result["taken"] == 0 and job.result["problems"])
    assert not IndexedCapture.objects.exists()


def test_a_file_with_another_digest_is_forgotten(call, instance):
    _, told = call("POST", "/uploads", {"name": "a.warc", "size": 3, "digest": "0" * 64})
    assert call("PUT", f"/uploads/{told['id']}/content?offset=0", b"abc")[0] == 422
    assert not Job.objects.exists()
    assert call("GET", f"/uploads/{told['id']}")[0] == 404


def test_an_erasure_is_ordered_done_and_kept_out_over_the_api(call, world):
    world.writer.close()
    order = {"url": BREAD, "reason": "letter of the author"}
    assert call("POST", "/erasures", order)[0] == 403
    status, told = call("POST", "/erasures", order, Role.ADMINISTRATOR)
    assert (status, told["done_at"], told["captures"]) == (202, None, 0)
    Runner().drain(exclusive=True)
    job = Job.objects.get(pk=told["job"])
    assert job.state == "done", job.message
    assert not IndexedCapture.objects.filter(url=BREAD).exists()
    (audit,) = call("GET", "/erasures", role=Role.ADMINISTRATOR)[1]
    assert (audit["captures"], audit["reason"], audit["actor"]) == (3, "letter of the author", "administrator")
    assert len(audit["records"]) == 3
    (kept_out,) = call("GET", "/takedowns", role=Role.ADMINISTRATOR)[1]
    assert (kept_out["url"], kept_out["erasure"]) == (BREAD, audit["id"])
    assert call("POST", "/captures", {"url": BREAD})[0] == 409
    assert call("DELETE", f"/takedowns/{kept_out['id']}", role=Role.ADMINISTRATOR)[1]["lifted_by"] == "administrator"
    assert call("POST", "/captures", {"url": BREAD})[0] == 202


def test_one_capture_erased_keeps_nothing_out_unless_asked(call, world):
    capture = str(world.captures[BREAD][0].record_id)
    order = {"capture": capture, "reason": "a telephone number"}
    assert call("POST", "/erasures", order, Role.ADMINISTRATOR)[0] == 202
    assert not Takedown.objects.exists()
    assert call("POST", "/erasures", order | {"keep_out": True}, Role.ADMINISTRATOR)[0] == 202
    assert Takedown.objects.get().url == BREAD
    assert call("POST", "/erasures", {"url": "http://no.example/", "reason": "why"}, Role.ADMINISTRATOR)[0] == 404
    assert Erasure.objects.count() == 2


def test_an_export_made_here_that_holds_an_erased_page_goes_too(world, client, administrator):
    client.force_login(administrator)
    client.post("/archive/export", {"url": BREAD, "match": "exact", "format": "wacz"})
    client.post("/archive/export", {"url": "https://news.example/", "match": "host", "format": "warc"})
    Runner().drain(exclusive=False)
    files = [Path(job.arguments["target"]) for job in Job.objects.order_by("pk")]
    assert all(file.is_file() for file in files)
    world.writer.close()
    client.post("/archive/erase", {"url": BREAD, "match": "exact", "reason": "why not", "do": "erase", "keep_out": ""})
    Runner().drain(exclusive=True)
    assert [file.is_file() for file in files] == [False, True]
    assert not Takedown.objects.exists(), "the tick was taken away"
