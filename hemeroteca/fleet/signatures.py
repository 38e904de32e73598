"""Web Bot Auth: requests of the fleet carry a signature that says whose they are (RFC 9421, Ed25519).

The coordinator signs per authority, in advance; devices only carry the headers. The key never leaves the data folder;
its public half stands under `/.well-known/http-message-signatures-directory`. A signature is good for one authority and
expires with the lease.
"""

import base64
import hashlib
import json
import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from hemeroteca.instance import Instance

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

TAG = "web-bot-auth"
DIRECTORY_TAG = "http-message-signatures-directory"


class Signer:
    """`agent`: where the directory of keys is, the address people use."""

    def __init__(self, key: "Ed25519PrivateKey", agent: str) -> None:
        self._key = key
        self._agent = agent
        self._x = _base64url(key.public_key().public_bytes_raw())
        canonical = json.dumps({"crv": "Ed25519", "kty": "OKP", "x": self._x}, separators=(",", ":"))
        self._key_id = _base64url(hashlib.sha256(canonical.encode()).digest())  # the JWK thumbprint (RFC 7638)

    @classmethod
    def of(cls, instance: Instance, agent: str = "") -> "Signer":
        from django.conf import settings

        return cls(_key(str(instance.data)), agent or settings.CONFIG.public_url.rstrip("/"))

    def sign(self, authority: str, now: float, seconds: float) -> list[tuple[str, str]]:
        """Headers for requests to an authority, good for `seconds`."""
        life = f'created={int(now)};expires={int(now + seconds)};keyid="{self._key_id}";tag="{TAG}"'
        fields = f'("@authority" "signature-agent");{life}'
        agent = f'"{self._agent}"'
        base = f'"@authority": {authority}\n"signature-agent": {agent}\n"@signature-params": {fields}'
        return [
            ("Signature-Agent", agent),
            ("Signature-Input", f"sig1={fields}"),
            ("Signature", f"sig1=:{self._signed(base)}:"),
        ]

    @property
    def public(self) -> dict[str, str]:
        """The key as a JWK."""
        return {"kty": "OKP", "crv": "Ed25519", "x": self._x, "use": "sig", "kid": self._key_id}

    def directory(self, authority: str, now: float) -> tuple[bytes, list[tuple[str, str]]]:
        """The directory of keys, and the headers that prove that it is ours."""
        life = f"created={int(now)};expires={int(now) + 300}"
        fields = f'("@authority";req);{life};keyid="{self._key_id}";tag="{DIRECTORY_TAG}"'
        base = f'"@authority";req: {authority}\n"@signature-params": {fields}'
        signed = [("Signature-Input", f"sig1={fields}"), ("Signature", f"sig1=:{self._signed(base)}:")]
        return json.dumps({"keys": [self.public]}).encode(), signed

    def _signed(self, base: str) -> str:
        return base64.b64encode(self._key.sign(base.encode())).decode()


@lru_cache(maxsize=4)
def _key(data: str) -> "Ed25519PrivateKey":
    """The key of a data folder, made when it is first wanted."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    path = Path(data) / "fleet.key"
    if not path.exists():
        draft = path.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(Ed25519PrivateKey.generate().private_bytes_raw())
        try:
            os.link(draft, path)  # of two processes that start at once, the first one's key stays
        except FileExistsError:
            pass
        draft.unlink()
    return Ed25519PrivateKey.from_private_bytes(path.read_bytes())


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
