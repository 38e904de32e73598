"""The page on this machine that shows what the device does now, and has buttons to stop and to pause it. Loopback only;
the Host header is checked, so that no web page can reach it under another name."""

from __future__ import annotations

import html
import secrets
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

STYLE = "body{font:16px system-ui;margin:2em;max-width:60em} button{font:inherit;padding:.5em 2em}"

Facts = Callable[[], "list[tuple[str, list[str]]]"]  # quoted: Python 3.9


class StatusPage:
    """`facts`: what is shown, as (title, lines). `buttons`: what they say, and what they do."""

    def __init__(self, facts: Facts, buttons: dict[str, Callable[[], None]], port: int = 0) -> None:
        self._buttons = buttons
        self._secret = secrets.token_urlsafe(16)
        page = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page._answer(self, facts)

            def do_POST(self) -> None:
                page._press(self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self.address = f"http://127.0.0.1:{self.port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _known(self, handler: BaseHTTPRequestHandler) -> bool:
        if handler.headers.get("Host", "") in (f"127.0.0.1:{self.port}", f"localhost:{self.port}"):
            return True
        self._send(handler, 421, "This page is only for this machine.")
        return False

    def _answer(self, handler: BaseHTTPRequestHandler, facts: Facts) -> None:
        if not self._known(handler):
            return
        parts = [
            f"<h2>{html.escape(title)}</h2><pre>{html.escape(chr(10).join(lines))}</pre>" for title, lines in facts()
        ]
        hidden = f'<input type=hidden name=k value="{self._secret}">'
        named = "".join(f" <button name=do value={name.replace(' ', '-')}>{name}</button>" for name in self._buttons)
        form = f'<form method=post action="/">{hidden}{named}</form>'
        top = "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=2><title>Hemeroteca</title>"
        top += f"<style>{STYLE}</style>"
        self._send(handler, 200, f"{top}<h1>This device works for the fleet</h1>{form}{''.join(parts)}")

    def _press(self, handler: BaseHTTPRequestHandler) -> None:
        if not self._known(handler):
            return
        size = min(int(handler.headers.get("Content-Length") or 0), 1000)
        given = dict(parse_qsl(handler.rfile.read(size).decode("latin-1")))
        name = given.get("do", "").replace("-", " ")
        if name not in self._buttons or not secrets.compare_digest(given.get("k", "").encode(), self._secret.encode()):
            self._send(handler, 403, "Use the buttons on the page.")
            return
        self._buttons[name]()
        back = "" if name == "Stop" else "<meta http-equiv=refresh content='1;/'>"
        what = "It goes on." if name == "Go on" else f"{name}: what is done is returned, the rest is given back."
        self._send(handler, 200, back + what)

    def _send(self, handler: BaseHTTPRequestHandler, status: int, text: str) -> None:
        data = text.encode()
        handler.send_response(status)
        for name, value in (
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Length", str(len(data))),
            ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'"),
            ("X-Frame-Options", "DENY"),
            ("Cache-Control", "no-store"),
        ):
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)
