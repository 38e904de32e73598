"""A server that answers as Wikipedia and old wikis did: shapes recorded from their documentation and answers."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

Answer = tuple[int, dict[str, str], object]  # status, headers, JSON or bytes


class Recorded:
    """`answer(parameters)` decides; every request is noted in `asked` as (parameters, headers)."""

    def __init__(self, answer: Callable[[dict[str, str]], Answer]) -> None:
        asked: list[tuple[dict[str, str], dict[str, str]]] = []
        self.asked = asked

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                query = urlsplit(self.path).query + "&" + self.rfile.read(length).decode()
                parameters = {"path": urlsplit(self.path).path, **dict(parse_qsl(query, keep_blank_values=True))}
                asked.append((parameters, {name.lower(): value for name, value in self.headers.items()}))
                status, headers, body = answer(parameters)
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_POST = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


SITE = {"query": {"general": {"sitename": "W", "generator": "MediaWiki 1.45", "lang": "es", "server": "//x"}}}
NO_BOTS = {"query": {"allusers": []}}


def usual(parameters: dict[str, str]) -> Answer | None:
    """What every extraction asks besides revisions."""
    if parameters.get("meta") == "siteinfo":
        return 200, {}, SITE
    if parameters.get("list") == "allusers":
        return 200, {}, NO_BOTS
    if parameters.get("list") == "logevents" and "pageids" not in parameters:
        return 200, {}, {"query": {"logevents": []}}
    if "titles" in parameters:
        return 200, {}, {"query": {"pages": [{"pageid": 7, "ns": 0, "title": parameters["titles"], "lastrevid": 2}]}}
    return None


def revision(revid: int, **more: object) -> dict[str, object]:
    return {
        "revid": revid, "parentid": revid - 1, "user": "Ana", "userid": 5, "size": 10,
        "timestamp": f"2026-01-01T00:00:{revid:02d}Z",
        "sha1": f"{revid:040x}", "comment": "c", "parsedcomment": "c", "tags": [], **more,
    }  # fmt: skip


def history(*found: dict[str, object]) -> Answer:
    return 200, {}, {"query": {"pages": [{"pageid": 7, "ns": 0, "title": "T", "revisions": list(found)}]}}
