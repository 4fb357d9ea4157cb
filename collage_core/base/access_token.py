"""Creates, reads and compares the token by which a server of this program knows who may ask: `collage explore` and `collage serve`.

What the user chose and what a request brings enter; a token, or whether it is the right one, leaves. Nothing is kept or printed.
"""

from __future__ import annotations

import hmac
import secrets

from ..errors import CollageError

ENVIRONMENT = "COLLAGE_TOKEN"
"""The variable that holds the token, for users who don't want it in a command line that others can list."""

TOKEN_BYTES = 32
_MOST_CHARACTERS = 512


def new_token() -> str:
    """Return a token that nobody can guess, of characters that are plain in an address."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def token_of(chosen: str | None, is_off: bool = False) -> str | None:
    """Return the token of a server: the one that its user chose, else a new one; None where it asks for none.

    Args:
        chosen: From ``--token`` or `ENVIRONMENT`; none or empty for a new one.
        is_off: ``--no-token``.

    Raises:
        CollageError: it cannot stand in a header.
    """
    if is_off:
        return None
    if not chosen:
        return new_token()
    if len(chosen) > _MOST_CHARACTERS or not all("!" <= character <= "~" for character in chosen):
        raise CollageError(
            f"the token has {len(chosen)} characters, or some that a header cannot hold",
            f"give at most {_MOST_CHARACTERS} ASCII characters without spaces, or leave it out for a new one",
            "bad_token",
        )
    return chosen


def is_same(brought: str | None, token: str) -> bool:
    """Return whether a request brought `token`; how long that takes does not depend on how much of it is right."""
    return brought is not None and hmac.compare_digest(brought.encode("utf-8", "surrogatepass"), token.encode())


def bearer(authorization: str | None) -> str | None:
    """Return the token in an ``Authorization: Bearer`` header; None where it holds none."""
    scheme, _, token = (authorization or "").strip().partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
