"""Monsters of the connection: slow, endless, cut, silent, lying about lengths, garbled heads, bad TLS, redirects."""

from collections.abc import Iterator
from itertools import repeat as forever

from simweb.messages import Request, Response, Stream
from simweb.model import DOMAIN
from simweb.zoo.cage import MIB, head, html, monster, redirect, repeat


@monster("drip", "Sends one byte per second, for ever.", "given up as too slow", "too-slow", "timeout", host="zoo-drip")
def drip(request: Request) -> Stream:
    def parts() -> Iterator[bytes | float]:
        yield head("Content-Length: 1000000")
        while True:
            yield b"."
            yield 1.0

    return Stream(parts())


@monster(
    "slow-head",
    "Sends its header one byte per second, for ever.",
    "given up as too slow",
    "too-slow",
    "timeout",
    host="zoo-slow-head",
)
def slow_head(request: Request) -> Stream:
    def parts() -> Iterator[bytes | float]:
        yield b"HTTP/1.1 200 OK\r\nX-Slow: "
        while True:
            yield b"z"
            yield 1.0

    return Stream(parts())


@monster(
    "endless",
    "A body without end, as fast as it is read.",
    "cut at the size limit and kept up to there",
    "length",
    "time",
    host="zoo-endless",
)
def endless(request: Request) -> Stream:
    def parts() -> Iterator[bytes]:
        yield head() + b"<!DOCTYPE html><title>Endless</title>\n"
        yield from forever(b"<p>And then another paragraph about the endless sea.</p>\n" * 1000)

    return Stream(parts())


@monster(
    "endless-chunks",
    "A chunked body without end, one byte per chunk.",
    "cut",
    "length",
    "time",
    host="zoo-endless-chunks",
)
def endless_chunks(request: Request) -> Stream:
    def parts() -> Iterator[bytes]:
        yield head("Transfer-Encoding: chunked")
        yield from forever(b"1\r\nx\r\n" * 8000)

    return Stream(parts())


@monster("silent", "Takes the request and never answers.", "timeout", "timeout", "too-slow", host="zoo-silent")
def silent(request: Request) -> Stream:
    return Stream(iter(()), 0, "hang")


@monster("empty", "Closes the connection without a byte.", "empty reply", "empty", "reset", host="zoo-empty")
def empty(request: Request) -> Stream:
    return Stream(iter(()), 0)


@monster("reset", "Resets the connection in the middle of the body.", "reset", "reset", "disconnect", host="zoo-reset")
def reset(request: Request) -> Stream:
    def parts() -> Iterator[bytes | float]:
        yield head("Content-Length: 100000") + b"<!DOCTYPE html><title>Reset</title><p>" + b"half " * 2000
        yield 0.05  # let the first half arrive: data behind a reset may be thrown away

    return Stream(parts(), end="reset")


@monster("garbage", "A status line that is none.", "protocol error", "protocol", host="zoo-garbage")
def garbage(request: Request) -> Stream:
    return Stream(iter((b"\x00\xffBOGUS/9 fish and chips\r\n\r\n\x01\x02\x03",)), 0)


@monster(
    "content-length-long", "Announces 100,000 bytes and sends 1,000.", "kept, marked as cut off", "disconnect", "reset"
)
def content_length_long(request: Request) -> Stream:
    return Stream(iter((head("Content-Length: 100000") + _exactly(1000),)))


@monster("content-length-short", "Announces 1,000 bytes and sends 5,000.", "the announced 1,000 bytes are kept")
def content_length_short(request: Request) -> Stream:
    return Stream(iter((head("Content-Length: 1000") + _exactly(5000),)))


@monster(
    "content-length-twice",
    "Announces two different lengths.",
    "protocol error, or one is believed",
    "protocol",
    "disconnect",
)
def content_length_twice(request: Request) -> Stream:
    return Stream(iter((head("Content-Length: 1000", "Content-Length: 2000") + _exactly(1500),)))


@monster("giant-header", "One header line of 16 MiB.", "header too large", "header-too-large", "protocol")
def giant_header(request: Request) -> Stream:
    def parts() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nX-Giant: "
        yield from repeat(b"g" * 65_536, 256)
        yield b"\r\n\r\n"

    return Stream(parts())


@monster("many-headers", "200,000 header lines.", "header too large", "header-too-large", "protocol")
def many_headers(request: Request) -> Stream:
    def parts() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n"
        for start in range(0, 200_000, 1000):
            yield b"".join(b"X-%d: %d\r\n" % (n, n) for n in range(start, start + 1000))
        yield b"\r\n"

    return Stream(parts())


@monster("cookie-flood", "500 cookies of 100 bytes in one answer.", "fetched; cookies bounded", "header-too-large")
def cookie_flood(request: Request) -> Response:
    response = html("Cookies", "<p>Have some.")
    response.extra = "".join(f"Set-Cookie: c{n}={'c' * 100}; Path=/\r\n" for n in range(500))
    return response


@monster(
    "redirect-loop",
    "Two addresses that redirect to each other.",
    "redirect loop",
    "redirect-loop",
    "too-many-redirects",
)
def redirect_loop(request: Request) -> Response:
    return redirect("/redirect-loop" if request.target.endswith("/b") else "/redirect-loop/b")


@monster("redirect-self", "Redirects to itself.", "redirect loop", "redirect-loop", "too-many-redirects")
def redirect_self(request: Request) -> Response:
    return redirect(request.target, 301)


@monster(
    "chain", "Redirects to the next number, without end.", "too many redirects", "too-many-redirects", path="/chain/1"
)
def chain(request: Request) -> Response:
    number = request.target.rpartition("/")[2]
    return redirect(f"/chain/{int(number[:15]) + 1 if number.isdecimal() else 1}")


@monster("redirect-garbage", "Redirects to something that is no URL.", "bad redirect", "bad-redirect", "protocol")
def redirect_garbage(request: Request) -> Response:
    return redirect("http://[oops/ \t%zz")


@monster("redirect-nowhere", "A redirect without Location.", "bad redirect", "bad-redirect")
def redirect_nowhere(request: Request) -> Response:
    return Response(302, "text/plain", b"somewhere else\n")


@monster(
    "redirect-metadata",
    "Redirects to the metadata address of a cloud.",
    "refused address, nothing is sent there",
    "refused-address",
    "out-of-scope",
)
def redirect_metadata(request: Request) -> Response:
    return redirect("http://169.254.169.254/latest/meta-data/")


@monster(
    "redirect-loopback", "Redirects to a port of this machine.", "refused address", "refused-address", "out-of-scope"
)
def redirect_loopback(request: Request) -> Response:
    return redirect("http://127.0.0.1:1/")


@monster(
    "redirect-file", "Redirects to a file: address.", "bad redirect", "bad-redirect", "refused-address", "out-of-scope"
)
def redirect_file(request: Request) -> Response:
    return redirect("file:///etc/hostname")


@monster("refresh-loop", "Two pages that refresh to each other.", "each is fetched once")
def refresh_loop(request: Request) -> Response:
    other = "/refresh-loop" if request.target.endswith("/b") else "/refresh-loop/b"
    page = f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={other}"><title>Refresh</title>'
    return Response(200, "text/html", page.encode(), f"Refresh: 0; url={other}\r\n")


@monster(
    "bad-tls",
    "A certificate nobody signed.",
    "TLS error",
    "tls",
    host="zoo-tls",
    path="/",
    whole_host=True,
    scheme="https",
    needs_tls=True,
)
def bad_tls(request: Request) -> Response:
    return html("Behind bad TLS", "<p>Only those who do not check certificates read this.")


@monster(
    "no-tls",
    "An https: address whose port speaks plain HTTP.",
    "TLS error",
    "tls",
    "protocol",
    host="zoo-no-tls",
    path="/",
    whole_host=True,
    scheme="https",
)
def no_tls(request: Request) -> Response:
    return html("Plain", "<p>This was never encrypted.")


@monster(
    "robots-giant",
    "A robots.txt of 100 MiB: one rule at the start, one at the very end.",
    "the first 500 KiB are read; /secreto/ is not fetched",
    host="zoo-robots",
    path="/",
    whole_host=True,
)
def robots_giant(request: Request) -> Response | Stream:
    if request.target != "/robots.txt":
        links = "".join(f'<p><a href="{path}">{path}</a>' for path in ("/secreto/1.html", "/tarde/1.html", "/1.html"))
        return html("Giant robots.txt", links)
    start = b"User-agent: *\nDisallow: /secreto/\n"
    end = b"Disallow: /tarde/\n"
    filler = b"# rules and more rules\n" * 2849  # 65,527 bytes

    def parts() -> Iterator[bytes]:
        size = 100 * MIB
        yield head(f"Content-Length: {size}", media_type="text/plain") + start
        yield from repeat(filler, (size - len(start) - len(end)) // len(filler))
        yield b"#" * ((size - len(start) - len(end)) % len(filler) - 1) + b"\n" + end

    return Stream(parts())


@monster(
    "robots-silent",
    "Its robots.txt never answers.",
    "robots.txt cannot be reached: nothing of the host is fetched",
    "robots",
    "timeout",
    host="zoo-robots-silent",
    path="/",
    whole_host=True,
)
def robots_silent(request: Request) -> Response | Stream:
    return (
        silent(request) if request.target == "/robots.txt" else html("Too early", "<p>You did not wait for robots.txt.")
    )


@monster(
    "robots-loop",
    "Its robots.txt redirects to itself.",
    "no robots.txt can be read; RFC 9309 lets the crawler go on as if there were none",
    host="zoo-robots-loop",
    path="/",
    whole_host=True,
)
def robots_loop(request: Request) -> Response:
    if request.target == "/robots.txt":
        return redirect(f"http://zoo-robots-loop.{DOMAIN}/robots.txt")
    return html("Behind a robots loop", "<p>Hello.")


def _exactly(size: int) -> bytes:
    start = b"<!DOCTYPE html><title>Lengths</title><p>"
    return start + b"x" * (size - len(start))
