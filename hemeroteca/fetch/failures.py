"""Failures by name: a short code for programs, a sentence for people, and whether trying again makes sense."""

import re
from typing import Final, NamedTuple

import pycurl


class Failure(NamedTuple):
    """Why there is no (whole) response."""

    code: str
    detail: str
    transient: bool = False


DNS: Final = "dns"
REFUSED_ADDRESS: Final = "refused-address"
REFUSED_PORT: Final = "refused-port"
URL: Final = "url"
REQUEST: Final = "request"
PROXY: Final = "proxy"
STORAGE: Final = "storage"
INTERNAL: Final = "internal"
HEADER_TOO_LARGE: Final = "header-too-large"


def from_curl(code: int, message: str, verify_result: int, proxied: bool) -> Failure:
    """The failure behind a libcurl error; `verify_result` is OpenSSL's verdict about the certificate."""
    name, transient = _CODES.get(code, (INTERNAL, False))
    text = message.strip().rstrip(".")
    if name == "timeout" and "too slow" in message.lower():
        name = "too-slow"
    elif proxied and name in ("connect", "reset", "tls") and _BY_PROXY.search(message):
        name, transient = PROXY, True
    elif name == "reset" and "headers" in message and "arge" in message:
        name, transient = HEADER_TOO_LARGE, False
    elif code == pycurl.E_ABORTED_BY_CALLBACK:
        text = "libcurl no longer knew the checked address and may not look it up itself; try again"
    elif name == "tls":
        text, transient = _tls_detail(code, text, verify_result)
    return Failure(name, text or pycurl.easy_strerror(code), transient)


# libcurl's number → (our code, worth trying again)
_CODES: Final = {
    pycurl.E_UNSUPPORTED_PROTOCOL: ("protocol", False),  # also an HTTP/0.9 answer
    pycurl.E_URL_MALFORMAT: (URL, False),
    pycurl.E_COULDNT_RESOLVE_PROXY: ("proxy", True),
    pycurl.E_COULDNT_RESOLVE_HOST: (DNS, True),
    pycurl.E_COULDNT_CONNECT: ("connect", True),
    8: ("protocol", False),  # CURLE_WEIRD_SERVER_REPLY
    pycurl.E_HTTP2: ("protocol", True),
    pycurl.E_PARTIAL_FILE: ("reset", True),
    pycurl.E_WRITE_ERROR: (INTERNAL, False),
    pycurl.E_OUT_OF_MEMORY: (INTERNAL, True),
    pycurl.E_ABORTED_BY_CALLBACK: (DNS, True),
    pycurl.E_OPERATION_TIMEDOUT: ("timeout", True),
    pycurl.E_SSL_CONNECT_ERROR: ("tls", False),
    43: (REQUEST, False),  # CURLE_BAD_FUNCTION_ARGUMENT
    pycurl.E_GOT_NOTHING: ("empty", True),
    pycurl.E_SEND_ERROR: ("reset", True),
    pycurl.E_RECV_ERROR: ("reset", True),
    pycurl.E_SSL_CERTPROBLEM: ("tls", False),
    pycurl.E_SSL_CIPHER: ("tls", False),
    pycurl.E_PEER_FAILED_VERIFICATION: ("tls", False),
    pycurl.E_BAD_CONTENT_ENCODING: ("protocol", False),
    pycurl.E_SSL_CACERT_BADFILE: ("tls", False),
    pycurl.E_SSL_ISSUER_ERROR: ("tls", False),
    92: ("reset", True),  # CURLE_HTTP2_STREAM
    97: ("proxy", True),  # CURLE_PROXY
    100: (HEADER_TOO_LARGE, False),  # CURLE_TOO_LARGE
}

# X509_V_ERR_* of OpenSSL that people meet
_VERDICTS: Final = {
    9: "the certificate is not valid yet",
    10: "the certificate has expired",
    18: "the certificate is self-signed",
    19: "the certificate chain ends in a self-signed certificate nobody here trusts",
    20: "the certificate's issuer is unknown, often because the server does not send its intermediate certificates",
    21: "the certificate's issuer is unknown, often because the server does not send its intermediate certificates",
    23: "the certificate has been revoked",
    62: "the certificate is for another host",
}
_OTHER_HOST: Final = re.compile(r"no alternative certificate subject name|does not match target|subject name", re.I)
_BY_PROXY: Final = re.compile(r"proxy|CONNECT|SOCKS", re.I)
_BROKEN_OFF: Final = re.compile(r"(Send|Recv) failure|reset|broken pipe|SSL_ERROR_SYSCALL|unexpected eof", re.I)


def _tls_detail(code: int, text: str, verify_result: int) -> tuple[str, bool]:
    if code == pycurl.E_SSL_CACERT_BADFILE:
        return f"the file of trusted certificates cannot be read ({text}); install ca-certificates", False
    if code == pycurl.E_PEER_FAILED_VERIFICATION:
        verdict = _VERDICTS.get(verify_result, "")
        if not verdict and _OTHER_HOST.search(text):
            verdict = _VERDICTS[62]
        return f"{verdict or 'the certificate is not valid'} ({text})", False
    if _BROKEN_OFF.search(text):
        return f"the connection broke off during the TLS handshake ({text})", True
    return text, False
