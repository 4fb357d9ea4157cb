"""The token of a server: new ones, chosen ones, and what a request brings."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from collage_core.base import access_token
from collage_core.base.access_token import bearer, is_same, new_token, token_of
from collage_core.errors import CollageError


def test_new_tokens_are_long_and_differ() -> None:
    tokens = {new_token() for _ in range(50)}
    assert len(tokens) == 50
    assert all(len(token) >= 43 and token.replace("-", "").replace("_", "").isalnum() for token in tokens)


def test_a_chosen_token_is_kept_and_none_is_a_new_one() -> None:
    assert token_of("my-secret+1") == "my-secret+1"
    assert token_of(None) != token_of(None)
    assert token_of("")  # an empty variable is none
    assert token_of("my-secret", is_off=True) is None


@pytest.mark.parametrize("chosen", ["two words", "schlüssel", "line\n", "x" * 513])
def test_a_token_that_no_header_can_hold(chosen: str) -> None:
    with pytest.raises(CollageError) as caught:
        token_of(chosen)
    assert caught.value.message == f"the token has {len(chosen)} characters, or some that a header cannot hold"
    assert caught.value.hint == "give at most 512 ASCII characters without spaces, or leave it out for a new one"


@pytest.mark.parametrize("brought", [None, "", "secre", "secret ", "Secret", "sécret", "\udcff"])
def test_whatever_is_not_the_token(brought: str | None) -> None:
    assert not is_same(brought, "secret")


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = list[tuple[bytes, bytes]]()
    monkeypatch.setattr(access_token, "hmac", SimpleNamespace(compare_digest=lambda *both: compared.append(both) or True))
    assert is_same("brought", "secret")
    assert compared == [(b"brought", b"secret")]


@pytest.mark.parametrize(
    ("header", "token"),
    [("Bearer abc", "abc"), ("bearer  abc ", "abc"), (None, None), ("", None), ("Bearer", None), ("Bearer ", None), ("Basic abc", None)],
)
def test_the_header_of_programs(header: str | None, token: str | None) -> None:
    assert bearer(header) == token
