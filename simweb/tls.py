"""A self-signed certificate for the bad-TLS monster, made afresh by the `openssl` command; no key is shipped."""

import ssl
import subprocess
import tempfile
from pathlib import Path


def self_signed_context() -> ssl.SSLContext | None:
    """A server context nobody should trust; None when the machine has no `openssl` command."""
    with tempfile.TemporaryDirectory(prefix="simweb-tls-") as folder:
        key, certificate = Path(folder, "key.pem"), Path(folder, "certificate.pem")
        command = ["openssl", "req", "-x509", "-nodes", "-days", "30", "-subj", "/CN=zoo-tls.sim.test"]
        command += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        command += ["-keyout", str(key), "-out", str(certificate)]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=20, stdin=subprocess.DEVNULL)
        except (OSError, subprocess.SubprocessError):
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return context
