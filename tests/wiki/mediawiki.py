"""A real MediaWiki on loopback: Debian's package, PHP's own server, SQLite, a scratch folder. One per test run.

It is made once (about ten seconds), filled by `fill`, and copied for tests that change it.
"""

import json
import os
import shutil
import signal
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode
from xml.sax.saxutils import escape

from tests.waiting import held_port, wait_for

CODE = Path("/usr/share/mediawiki")
MISSING = "MediaWiki is not installed (tests/install brings it on Debian: mediawiki php-cli php-sqlite3 php-intl)"
PASSWORD = "a-long-password-for-tests"
START = datetime(2024, 1, 1, tzinfo=UTC)
SETTINGS = """
$wgMainCacheType = CACHE_NONE;
$wgParserCacheType = CACHE_NONE;
$wgMessageCacheType = CACHE_NONE;
$wgLocalisationCacheConf['store'] = 'files';
$wgLocalisationCacheConf['storeDirectory'] = $wgCacheDirectory = '{folder}/cache';
$wgJobRunRate = 0;
$wgRateLimits = [];
$wgPasswordAttemptThrottle = [];
$wgEnableUploads = false;
$wgExportAllowHistory = true;
$wgExportMaxHistory = 0;
$wgRightsText = 'Creative Commons Attribution-ShareAlike 4.0';
$wgRightsUrl = 'https://creativecommons.org/licenses/by-sa/4.0/';
$wgGroupPermissions['sysop']['deleterevision'] = true;
$wgGroupPermissions['sysop']['deletelogentry'] = true;
$wgGroupPermissions['sysop']['importupload'] = true;
$wgGroupPermissions['sysop']['mergehistory'] = true;
$wgGroupPermissions['sysop']['applychangetags'] = true;
$wgGroupPermissions['*']['edit'] = true;
$wgPingback = false;
"""


def is_installed() -> bool:
    return (CODE / "index.php").exists() and shutil.which("php") is not None


class MediaWiki:
    """A wiki that runs. `api` asks it as nobody, `admin` and `as_user` as somebody."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.api_url = f"{url}/api.php"
        self._sessions: dict[str, tuple[urllib.request.OpenerDirector, str]] = {}

    def api(self, **parameters: object) -> dict:
        return self._ask(urllib.request.build_opener(), parameters)

    def admin(self, **parameters: object) -> dict:
        return self.as_user("Admin", **parameters)

    def as_user(self, name: str, **parameters: object) -> dict:
        opener, token = self._session(name)
        answer = self._ask(opener, {**parameters, "token": token})
        assert "error" not in answer, answer
        return answer

    def edit(self, title: str, text: str, user: str = "Admin", summary: str = "", **more: object) -> int:
        answer = self.as_user(user, action="edit", title=title, text=text, summary=summary, **more)
        return answer["edit"]["newrevid"]

    def make_user(self, name: str, *groups: str) -> None:
        arguments = [f"--custom-groups={','.join(groups)}"] if groups else []
        self.maintain("createAndPromote.php", *arguments, "--force", name, PASSWORD)

    def maintain(self, script: str, *arguments: str, given: str = "") -> str:
        done = subprocess.run(
            ["php", str(CODE / "maintenance" / script), *arguments],
            env={**os.environ, "MW_CONFIG_FILE": str(self.folder / "LocalSettings.php")},
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def load(self, *pages: str) -> None:
        """Put whole histories there, with their own times and names."""
        self.maintain("importDump.php", "--username-prefix=", given=dump(*pages))

    def upload(self, xml: str) -> None:
        """The same through the API, as people do it: it leaves an entry in the log."""
        opener, token = self._session("Admin")
        mark = "mark-of-the-tests"
        fields = {"action": "import", "format": "json", "token": token, "interwikiprefix": "x", "assignknownusers": "1"}
        lines = [f'--{mark}\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in fields.items()]
        lines.append(
            f'--{mark}\r\nContent-Disposition: form-data; name="xml"; filename="a.xml"\r\n'
            f"Content-Type: application/xml\r\n\r\n{xml}\r\n--{mark}--\r\n"
        )
        request = urllib.request.Request(
            self.api_url,
            data="".join(lines).encode(),
            headers={"Content-Type": f"multipart/form-data; boundary={mark}"},
        )
        answer = json.loads(opener.open(request).read())
        assert "error" not in answer, answer

    def _session(self, name: str) -> tuple[urllib.request.OpenerDirector, str]:
        if name not in self._sessions:
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
            if name:
                token = self._ask(opener, {"action": "query", "meta": "tokens", "type": "login"})
                login = token["query"]["tokens"]["logintoken"]
                done = self._ask(opener, {"action": "login", "lgname": name, "lgpassword": PASSWORD, "lgtoken": login})
                assert done["login"]["result"] == "Success", done
            token = self._ask(opener, {"action": "query", "meta": "tokens"})["query"]["tokens"]["csrftoken"]
            self._sessions[name] = (opener, token)
        return self._sessions[name]

    def _ask(self, opener: urllib.request.OpenerDirector, parameters: dict) -> dict:
        data = urlencode({"format": "json", "formatversion": "2", **parameters}).encode()
        return json.loads(opener.open(self.api_url, data).read())


@contextmanager
def installed(folder: Path) -> Iterator[MediaWiki]:
    """A new wiki, empty but for its main page."""
    with held_port() as port:
        url = f"http://127.0.0.1:{port}"
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["php", str(CODE / "maintenance/install.php"), "--dbtype", "sqlite", "--dbpath", str(folder / "db"),
             "--dbname", "wiki", "--server", url, "--scriptpath", "", "--lang", "es", "--confpath", str(folder),
             "--pass", PASSWORD, "Wiki de pruebas", "Admin"],
            check=True, capture_output=True, env={**os.environ, "MW_CONFIG_FILE": ""},
        )  # fmt: skip
        with (folder / "LocalSettings.php").open("a") as file:
            file.write(SETTINGS.replace("{folder}", str(folder)))
        (folder / "cache").mkdir(exist_ok=True)
        with serving(folder, port) as found:
            yield found


@contextmanager
def serving(folder: Path, port: int) -> Iterator[MediaWiki]:
    """The wiki of a folder."""
    environment = {
        **os.environ,
        "MW_CONFIG_FILE": str(folder / "LocalSettings.php"),
        "PHP_CLI_SERVER_WORKERS": "2",
    }
    server = subprocess.Popen(
        ["php", "-d", "memory_limit=512M", "-S", f"127.0.0.1:{port}", "-t", str(CODE)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wiki = MediaWiki(f"http://127.0.0.1:{port}", folder)
        wait_for(lambda: _answers(wiki), "MediaWiki answers")
        yield wiki
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def _answers(wiki: MediaWiki) -> bool:
    try:
        return "query" in wiki.api(action="query", meta="siteinfo")
    except OSError:
        return False


def page(title: str, revisions: list[dict], ns: int = 0) -> str:
    """A page of a dump: revisions as {user, text, minutes since START, comment, minor}."""
    parts = [f"<page><title>{escape(title)}</title><ns>{ns}</ns>"]
    for found in revisions:
        at = (START + timedelta(minutes=found["at"])).strftime("%Y-%m-%dT%H:%M:%SZ")
        user = found["user"]
        who = f"<ip>{user}</ip>" if user.count(".") == 3 else f"<username>{escape(user)}</username>"
        parts.append(
            f"<revision><timestamp>{at}</timestamp><contributor>{who}</contributor>"
            + ("<minor/>" if found.get("minor") else "")
            + f"<comment>{escape(found.get('comment', ''))}</comment>"
            f"<model>wikitext</model><format>text/x-wiki</format>"
            f'<text xml:space="preserve">{escape(found["text"])}</text></revision>'
        )
    return "".join(parts) + "</page>"


def dump(*pages: str) -> str:
    return (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="es">'
        + "".join(pages)
        + "</mediawiki>"
    )


class Refuser:
    """A proxy before the wiki that closes what a pattern names: for wikis whose API or export is closed."""

    def __init__(self, target: str, closed: tuple[str, ...], robots: str = "") -> None:
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

        seen = self.seen = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length) if length else None
                asked = f"{self.path} {(body or b'').decode()}"
                seen.append(asked)
                if self.path == "/robots.txt":
                    self._give(200 if robots else 404, robots.encode(), "text/plain")
                elif any(part in asked for part in closed):
                    self._give(403, b"closed", "text/plain")
                else:
                    headers = {k: v for k, v in self.headers.items() if k.lower() in ("content-type", "accept")}
                    try:
                        answer = urllib.request.urlopen(
                            urllib.request.Request(target + self.path, data=body, headers=headers)
                        )
                        self._give(answer.status, answer.read(), answer.headers["Content-Type"])
                    except urllib.error.HTTPError as error:
                        self._give(error.code, error.read(), "text/html")

            do_POST = do_GET  # noqa: N815

            def _give(self, status: int, body: bytes, kind: str) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
