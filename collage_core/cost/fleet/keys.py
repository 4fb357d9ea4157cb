"""Make the keys of a fleet: a certificate authority of its own, and a certificate with its key for each role."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ...errors import CollageError
from .connection import AUTHORITY, ROLES

_VALID = timedelta(days=3650)
_SKEW = timedelta(days=1)
"""A machine whose clock is behind takes a new certificate as well."""


def make_keys(folder: Path) -> None:
    """Write ``ca.pem`` and, for each role, a file with its certificate and its key into `folder`, which only this user may read.

    The authority's own key is not kept, so nobody can add a certificate later: new keys are made for the whole fleet.

    Raises:
        CollageError: there are keys already, or the folder cannot be written.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    def named(name: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Collage fleet, {name}")])

    def certificate(name: str, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
        is_authority = name == "authority"
        builder = x509.CertificateBuilder().subject_name(named(name)).issuer_name(named("authority")).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - _SKEW).not_valid_after(now + _VALID)
        builder = builder.add_extension(x509.BasicConstraints(is_authority, 0 if is_authority else None), critical=True)
        return builder.sign(authority_key, hashes.SHA256())

    now = datetime.now(UTC)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    pem = serialization.Encoding.PEM
    files = {AUTHORITY: certificate("authority", authority_key).public_bytes(pem)}
    for role in ROLES:
        key = ec.generate_private_key(ec.SECP256R1())
        private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        files[f"{role}.pem"] = certificate(role, key).public_bytes(pem) + private
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        for name, content in reversed(files.items()):  # `AUTHORITY` last: where it is, all of them are
            with open(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
    except FileExistsError as error:
        hint = "the fleet uses them; to make new ones, remove the folder first, on every machine"
        raise CollageError(f"there are keys in {str(folder)!r} already", hint, "bad_option") from error
    except OSError as error:
        raise CollageError(
            f"cannot write keys into {str(folder)!r}: {error.strerror or error}", "name another folder", "unwritable"
        ) from error
