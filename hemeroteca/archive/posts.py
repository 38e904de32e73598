"""Answers to POST requests, filed so that replay finds them: as pywb and the tools around it do.

The index has one key per address, so what was sent becomes part of the address: `?__wb_method=POST&` and the fields of
the form or of the JSON, else the content in base64. pywb makes the same of the request of a replayed page. Only the key
is made so; the capture keeps the address that was asked.
"""

import base64
import json
import math
from email.parser import BytesHeaderParser
from email.policy import HTTP
from typing import Any
from urllib.parse import unquote_plus, urlencode

MOST_BYTES = 16 << 10
"""Of what is sent; an answer to more is not kept."""
MARK = "__wb_method="
_MOST_QUERY = 4096  # pywb cuts there
_MOST_FIELDS = 1000


def address(url: str, method: str, content_type: str, content: bytes) -> str:
    """The address an answer is filed under."""
    if method.upper() in ("", "GET", "HEAD"):
        return url
    sent = query(content_type, content)
    return f"{url}{'&' if '?' in url else '?'}{MARK}{method.upper()}" + (f"&{sent}" if sent else "")


def query(content_type: str, content: bytes) -> str:
    """What was sent, as the query of an address."""
    if not content:
        return ""
    return _query(content_type, content)[:_MOST_QUERY]


def is_kept(method: str, content: bytes) -> bool:
    """Whether an answer can be filed: to a plain request, or to a POST of little."""
    return method in ("", "GET", "HEAD") or (method == "POST" and len(content) <= MOST_BYTES)


def _query(content_type: str, content: bytes) -> str:
    if content_type.startswith("application/x-www-form-urlencoded"):
        try:
            return unquote_plus(content.decode("utf-8"))
        except UnicodeDecodeError:
            return _binary(content)
    if content_type.startswith("multipart/"):
        fields = _multipart(content_type, content)
        return _binary(content) if fields is None else urlencode(fields, True)
    if content_type.startswith(("application/json", "text/plain")):
        try:
            return urlencode(_json(json.loads(content)))
        except (ValueError, RecursionError):
            return "" if content_type.startswith("application/json") else _binary(content)
    return _binary(content)


def _binary(content: bytes) -> str:
    return "__wb_post_data=" + base64.b64encode(content).decode("ascii")


def _multipart(content_type: str, content: bytes) -> list[tuple[str, str | bytes]] | None:
    """Names and values of a form; None when the content has no boundary."""
    head = BytesHeaderParser(policy=HTTP).parsebytes(f"Content-Type: {content_type}\r\n\r\n".encode())
    boundary = head.get_boundary()
    if not boundary:
        return None
    fields: list[tuple[str, str | bytes]] = []
    for part in (b"\r\n" + content).split(b"\r\n--" + boundary.encode())[1 : _MOST_FIELDS + 1]:
        if part.startswith(b"--"):
            break
        top, _, value = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        about = BytesHeaderParser(policy=HTTP).parsebytes(top + b"\r\n\r\n")
        name = about.get_param("name", header="content-disposition")
        is_file = about.get_param("filename", header="content-disposition") is not None
        fields.append((str(name), value if is_file else value.decode("utf-8", "replace")))
    return fields


def _json(value: Any) -> dict[str, str]:
    """The leaves of a JSON value by the last name on the way to each."""
    found: dict[str, str] = {}
    again: dict[str, int] = {}

    def walk(value: Any, name: str) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(inner, key)
        elif isinstance(value, list):
            for inner in value:
                walk(inner, name)
        elif name:
            key = name
            if name in found:
                again[name] = again.get(name, 1) + 1
                key = f"{name}.{again[name]}_"
            found[key] = _leaf(value)

    walk(value, "")
    return found


def _leaf(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    return str(value)
