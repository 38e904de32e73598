"""URLs that no device is ever asked to visit, because they look like an attack: the volunteer would be taken for the
attacker. Pure. What is refused is told to the client with its reason and written into the audit log."""

import re
from urllib.parse import unquote_plus

MAX_DECODES = 3  # attackers encode twice; nobody encodes four times and means well

# what it looks like → the pattern, asked of path and query after decoding
ATTACKS = {
    "path traversal": re.compile(
        r"(?:^|[/\\=])\.\.[/\\]|[/\\]\.\.(?:$|[?#])|(?:^|[/=])(?:etc/(?:passwd|shadow)|proc/self/)", re.I
    ),
    "SQL injection": re.compile(
        r"\bunion(?:\s|/\*.*?\*/|\+|\(){1,40}(?:all\s+)?select\b|['\"]\s*(?:or|and)\s+['\"\d].{0,20}=|"
        r";\s*(?:drop|delete|insert|update)\s+\w+|"
        r"\b(?:sleep|benchmark|pg_sleep|waitfor\s+delay)\s*\(|\binformation_schema\b|--\s*$",
        re.I | re.S,
    ),
    "script injection": re.compile(r"<\s*script|javascript:|onerror\s*=|\$\{jndi:", re.I),
    "command injection": re.compile(r"[;|`]\s*(?:cat|wget|curl|nc|bash|sh|id|whoami)\b|\$\([^)]+\)", re.I),
    "a path where credentials lie": re.compile(
        r"/\.(?:env|git|svn|aws|ssh|htpasswd|npmrc|docker)(?:/|$|[?.])|/(?:wp-config|configuration)\.php|"
        r"/(?:id_rsa|id_ed25519|\.bash_history|credentials\.json|secrets?\.(?:ya?ml|json))(?:$|[?])|/server-status\b|"
        r"/(?:actuator/(?:env|heapdump)|phpmyadmin|adminer\.php|xmlrpc\.php|wp-login\.php)(?:/|$|[?])",
        re.I,
    ),
}


def attack(*spellings: str) -> str:
    """What a URL looks like, in words; empty when nothing is wrong with it. Asked of it as it was written *and* as it
    will be asked (canonical): `http:host/.env` has its path only then."""
    return next((what for one in spellings if (what := _looks_like(one))), "")


def _looks_like(url: str) -> str:
    _, _, rest = url.partition("://")
    _, slash, target = rest.partition("/")
    text = slash + target
    for _ in range(MAX_DECODES):
        for what, pattern in ATTACKS.items():
            if pattern.search(text):
                return what
        decoded = unquote_plus(text)
        if decoded == text:
            return ""
        text = decoded
    return (
        "many layers of encoding"
        if unquote_plus(text) != text
        else next((what for what, pattern in ATTACKS.items() if pattern.search(text)), "")
    )
