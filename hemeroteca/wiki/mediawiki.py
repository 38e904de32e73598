"""The API of a wiki, on the fetch room: guarded, within the farm's budget, patient.

Every request carries `maxlag`, so that a wiki whose copies lag behind can say so; 429, `Retry-After`, `maxlag` and
`ratelimited` hold back every worker of this instance. robots.txt is not asked for the API: it tells crawlers which
*pages* to leave alone (Wikimedia's forbids /w/ for that reason), while the API is an offer to programs with a policy
of its own, which `budget` follows (docs/decisions/0085-wiki-api-and-robots.md). Pages (`page`) obey robots.txt.
"""

from __future__ import annotations

import dataclasses
import selectors
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from hemeroteca import urls
from hemeroteca.config import Config
from hemeroteca.errors import Denied, NotFound, Refused, Unavailable
from hemeroteca.extract.decode import decode_body
from hemeroteca.fetch import FetchSettings, Request, Result
from hemeroteca.plain import whole_number
from hemeroteca.wiki.budget import RequestBudget

MAX_BODY_BYTES = 64 << 20
MAX_DECODED_BYTES = 256 << 20
SPOOL_BYTES = 16 << 20  # of an answer; a longer one goes to a file
MAX_TRIES = 6
MAXLAG = 5
SECONDS = 120.0
ROBOT = "hemeroteca"

Decode = Callable[[bytes], Any]  # raises msgspec.DecodeError


class ApiError(Refused):
    """The wiki answered with an error of its own."""

    code = "wiki-error"

    def __init__(self, error: str, info: str, url: str) -> None:
        super().__init__(f"{url} answered {error!r}: {info}")
        self.error = error


class ApiClosed(Unavailable):
    """There is no API at this address, or it is closed to us."""

    code = "wiki-api-closed"


class ApiReply(msgspec.Struct, frozen=True):
    status: int
    body: bytes
    url: str
    retry_after: float = 0.0
    failure: str = ""
    lasting: bool = False  # the same failure would come again: an address that is not public, a bad certificate


class WikiClient:
    """One request at a time. Use it as a context manager."""

    def __init__(self, config: Config, budget: RequestBudget) -> None:
        from hemeroteca.fetch import Fetcher  # only here: pages do without libcurl, some megabytes

        self._config = config
        self._budget = budget
        self._spool = tempfile.TemporaryDirectory(prefix="hemeroteca-wiki-")
        self._selector = selectors.DefaultSelector()
        fetching = FetchSettings.from_config(config, Path(self._spool.name))
        # One answer at a time may stay in memory; nothing of it is archived.
        fetching = dataclasses.replace(fetching, spool_bytes=SPOOL_BYTES, watch=False)
        self._fetcher = Fetcher(fetching, self._selector)
        bytes(31 << 20)  # glibc from now on uses memory of up to this size again: new pages are costly
        self._robots: dict[str, urls.robots_txt.Robots] = {}
        self._signed_in: set[str] = set()
        self.requests = 0

    def __enter__(self) -> WikiClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._fetcher.close()
        self._selector.close()
        self._spool.cleanup()
        self._budget.release()

    def ask(self, api_url: str, parameters: Mapping[str, Any], decode: Decode = msgspec.json.decode) -> dict[str, Any]:
        """One answer of the API. Raises ApiError, ApiClosed or Unavailable."""
        if self._config.wiki_user and not self._config.wiki_token and api_url not in self._signed_in:
            self._sign_in(api_url)
        asked = {"format": "json", "formatversion": "2", "maxlag": str(MAXLAG), **parameters}
        for attempt in range(MAX_TRIES):
            reply = self._send(api_url, asked, attempt)
            if reply is None:
                continue
            if reply.status in (403, 404, 405, 410) or not reply.body.lstrip()[:1] == b"{":
                raise ApiClosed(f"{api_url} is no API that is open to us (HTTP {reply.status})")
            try:
                answer = decode(reply.body)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise Unavailable(f"{api_url} answered what is no JSON of MediaWiki's ({error}); try again later")
            problem = answer.get("error")
            if problem is None:
                return answer
            code, info = str(problem.get("code", "")), str(problem.get("info", ""))[:300]
            if code in ("maxlag", "ratelimited", "readonly", "internal_api_error_DBQueryError"):
                seconds = reply.retry_after or 5.0 * 2**attempt
                self._budget.hold(seconds, code)
                continue
            raise ApiError(code, info, api_url)
        raise Unavailable(f"{api_url} asked for patience {MAX_TRIES} times in a row; the same order goes on later")

    def walk(
        self,
        api_url: str,
        parameters: Mapping[str, Any],
        start: Mapping[str, Any] | None = None,
        decode: Decode = msgspec.json.decode,
    ) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
        """Answers until there are no more, each with what continues after it."""
        further: dict[str, Any] | None = dict(start or {})
        while further is not None:
            answer = self.ask(api_url, {**parameters, **further}, decode)
            further = continuation(answer)
            yield answer, further

    def page(self, url: str, content: bytes | None = None) -> ApiReply:
        """A page for people (Special:Export, a history). Raises Denied where robots.txt forbids it."""
        self._obey_robots(url)
        for attempt in range(MAX_TRIES):
            self._budget.spend()
            asked = Request(url=_canonical(url), **_post(content), timeout=SECONDS, max_body_bytes=MAX_BODY_BYTES)
            reply = self._fetch(asked)
            if not self._must_wait(reply, attempt):
                return reply
        raise Unavailable(f"{url} asked for patience {MAX_TRIES} times in a row; the same order goes on later")

    def stream(self, url: str, seconds: float, headers: tuple[tuple[str, str], ...], limit: int) -> ApiReply:
        """What a stream of events sent in so many seconds; it is then cut, which is no failure."""
        self._budget.spend()
        return self._fetch(Request(url=_canonical(url), headers=headers, timeout=seconds, max_body_bytes=limit))

    def _send(self, api_url: str, parameters: Mapping[str, Any], attempt: int) -> ApiReply | None:
        self._budget.spend()
        text = "&".join(_field(name, value) for name, value in parameters.items() if value is not None)
        headers: tuple[tuple[str, str], ...] = ()
        if self._config.wiki_token:
            headers = (("Authorization", f"Bearer {self._config.wiki_token}"),)
        jar = "wiki" if self._config.wiki_user else ""
        long = len(text) > 1500 or parameters.get("action") in ("login",)
        request = Request(
            url=_canonical(api_url) if long else f"{_canonical(api_url)}?{text}",
            **_post(text.encode() if long else None),
            timeout=SECONDS,
            max_body_bytes=MAX_BODY_BYTES,
            cookie_jar=jar,
        )
        request.headers += headers
        reply = self._fetch(request)
        return None if self._must_wait(reply, attempt) else reply

    def _must_wait(self, reply: ApiReply, attempt: int) -> bool:
        """Whether the same is to be asked again; everybody then waits as long as the wiki says."""
        if reply.failure and not reply.status:
            if reply.lasting or attempt + 1 >= MAX_TRIES:
                where = reply.url.partition("?")[0]
                raise Unavailable(f"{where} cannot be reached ({reply.failure}); the same order goes on later")
            self._budget.hold(min(2.0**attempt, 60.0), reply.failure)
            return True
        if reply.status == 429 or reply.status >= 500 or reply.failure:
            self._budget.hold(reply.retry_after or min(5.0 * 2**attempt, 300.0), f"HTTP {reply.status}")
            return True
        return False

    def _fetch(self, request: Request) -> ApiReply:
        results: list[Result] = []
        self.requests += 1
        self._fetcher.submit(request, results.append)
        while not results:
            wait = self._fetcher.timeout()
            for key, mask in self._selector.select(1.0 if wait is None else min(wait, 1.0)):
                key.data(key.fd, mask)
            self._fetcher.tick()
        result = results[0]
        try:
            body, note = decode_body(result.body.bytes(), result.header("content-encoding"), MAX_DECODED_BYTES)
        finally:
            result.body.discard()
        failure = f"{result.failure}: {result.detail}" if result.failure else "" if note in ("", "body-limit") else note
        lasting = bool(result.failure) and not result.transient
        return ApiReply(
            status=result.status,
            body=body,
            url=request.url,
            retry_after=_seconds(result.header("retry-after")),
            failure=failure,
            lasting=lasting,
        )

    def _sign_in(self, api_url: str) -> None:
        """With a bot password (Special:BotPasswords), which can be given few rights and taken back."""
        self._signed_in.add(api_url)
        answer = self.ask(api_url, {"action": "query", "meta": "tokens", "type": "login"})
        token = answer["query"]["tokens"]["logintoken"]
        name, password = self._config.wiki_user, self._config.wiki_password
        found = self.ask(api_url, {"action": "login", "lgname": name, "lgpassword": password, "lgtoken": token})
        result = found.get("login", {})
        if result.get("result") != "Success":
            self._signed_in.discard(api_url)
            raise Denied(f"{api_url} does not let {name!r} in: {result.get('reason', result.get('result'))}")

    def _obey_robots(self, url: str) -> None:
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self._robots:
            self._budget.spend()
            asked = Request(url=_canonical(f"{origin}/robots.txt"), timeout=30.0, max_body_bytes=1 << 20)
            reply = self._fetch(asked)
            self._robots[origin] = urls.robots_txt.Robots.read(reply.status, reply.body)
        rules = self._robots[origin]
        if not rules.allows(url, ROBOT):
            reason = rules.rule(url, ROBOT) or rules.unreachable
            raise Denied(f"robots.txt of {parts.netloc} forbids {parts.path} ({reason}); import a dump of this wiki")


def continuation(answer: Mapping[str, Any]) -> dict[str, Any] | None:
    """What to add to a request for its next part; None at the end. (`query-continue` is that of old wikis.)"""
    if found := answer.get("continue"):
        return dict(found)
    if old := answer.get("query-continue"):
        return {name: value for part in old.values() for name, value in part.items()}
    return None


@lru_cache(64)
def _canonical(url: str) -> str:
    try:
        return urls.canonical(url, urls.CanonRules(drop_session_ids=False, drop_tracking=False))
    except urls.UrlError as error:
        raise NotFound(f"{url!r} is no address ({error})")


@lru_cache(256, typed=True)  # from one request to the next nearly all stay the same
def _field(name: str, value: Any) -> str:
    return urlencode({name: value})


def _post(content: bytes | None) -> dict[str, Any]:
    if content is None:
        return {}
    kind = ("Content-Type", "application/x-www-form-urlencoded")
    return {"method": "POST", "content": content, "headers": (kind,)}


def _seconds(text: str) -> float:
    """Of a Retry-After: a number, or a date."""
    if (seconds := whole_number(text.strip())) is not None:
        return float(seconds)
    if text:
        from hemeroteca.warc.timestamps import from_http_date

        if (at := from_http_date(text)) is not None:
            return max(0.0, at / 1000 - time.time())
    return 0.0
