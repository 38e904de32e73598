"""pywb, pointed at our CDX server from outside, replays our pages. HEMEROTECA_PYWB may name its `wayback` command."""

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from hemeroteca import config
from hemeroteca.replay import program
from tests.waiting import PATIENCE, held_port, wait_for

ROOT = Path(__file__).parents[2]

SERVER = """
import sys
import django
from django.conf import settings
settings.ROOT_URLCONF = "hemeroteca.api.routes"
django.setup()
from django.core.management import call_command
settings.INSTANCE.create()
call_command("migrate", verbosity=0)
from tests.archive.making import small_archive
small_archive(settings.INSTANCE.warc_dir)
from django.core.wsgi import get_wsgi_application
import waitress
server = waitress.create_server(get_wsgi_application(), host="127.0.0.1", port=0)
print(server.effective_port, flush=True)
server.run()
"""


def wayback_command():
    """That of an installation of one's own, or pywb's program in the environment of replay."""
    own = os.environ.get("HEMEROTECA_PYWB")
    if own:
        return [own]
    python = program.python_of(config.Config())
    return [python, "-I", str(Path(__file__).with_name("pywb_outside.py"))] if python else None


@pytest.fixture(scope="module")
def own_port():
    with held_port() as port:
        yield port


@pytest.fixture(scope="module")
def replay(tmp_path_factory, own_port):
    command = wayback_command()
    if command is None:
        pytest.skip("replay is not installed (python -m hemeroteca.replay.install)")
    folder = tmp_path_factory.mktemp("pywb")
    environment = {
        **os.environ,
        "HEMEROTECA_DATA": str(folder / "data"),
        "HEMEROTECA_DATABASE": "",
        "DJANGO_SETTINGS_MODULE": "hemeroteca.django_settings",
    }
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    port = server.stdout.readline().strip()
    (folder / "config.yaml").write_text(
        f"collections:\n  h:\n    index: cdx+http://127.0.0.1:{port}/cdx\n    archive_paths: {folder}/data/warc/\n"
    )
    said = folder / "pywb.log"
    pywb = subprocess.Popen(
        [*command, "-p", str(own_port), "-b", "127.0.0.1"], cwd=folder, stdout=said.open("w"), stderr=subprocess.STDOUT
    )

    def answers():
        assert pywb.poll() is None, said.read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", own_port)) == 0

    try:
        wait_for(answers, said.read_text)
        yield f"http://127.0.0.1:{own_port}/h"
    finally:
        for process in (pywb, server):
            process.terminate()
            process.wait()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stamp", "url", "begin"),
    [
        ("20240101000000", "http://example.org/", b"<p>first words"),
        ("20240102000000", "http://example.org/", b"<p>first words"),
        ("20240103000000", "http://example.org/", b"<p>first words"),
        ("20240104000000", "http://example.org/", b"<p>second words"),
        ("20240105000000", "http://mirror.example/", b"<p>second words"),
        ("20240101000000", "http://example.org/about", b"<p>about us"),
    ],
    ids=["response", "revisit", "not modified", "second version", "payload of another address", "other page"],
)
def test_pywb_replays_what_we_archived(replay, stamp, url, begin):
    with urllib.request.urlopen(f"{replay}/{stamp}id_/{url}", timeout=PATIENCE) as answer:
        assert answer.status == 200
        assert answer.read().startswith(begin)


@pytest.mark.slow
def test_pywb_knows_what_is_not_there(replay):
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{replay}/2024id_/http://unknown.example/", timeout=PATIENCE)
    assert caught.value.code == 404
