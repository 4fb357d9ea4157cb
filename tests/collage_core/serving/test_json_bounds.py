"""JSON of requests: what is none, what is too much, and what only looks like too much."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.serving import json_bounds
from collage_core.serving.json_bounds import MOST_NESTED, JsonBounds, parse_json
from collage_core.serving.refusal import Refusal

WIDE = JsonBounds(1 << 30, 1 << 30)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "the body is not JSON"),
        (b"{", "the body is not JSON"),
        (b"\xff", "the body is not JSON"),
        (b'{"a": NaN}', "NaN is no number of JSON"),
        (b"[" * 100_000, "the JSON is nested too deeply: at most 64 lists and objects may lie in each other"),
        (b"[" * 65 + b"]" * 65, "the JSON is nested too deeply"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "the JSON is nested too deeply"),
        (b"1" * 10_000, "the body is not JSON"),
    ],
)
def test_what_is_no_json_is_refused(text: bytes, message: str):
    with pytest.raises(Refusal, match=message) as caught:
        parse_json(text, WIDE)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[[],[],[],[]]", "the JSON has 5 lists and objects, the inputs can need 4: send binary tensors"),
        (b'[{},{"a":{}},{}]', "the JSON has 5 lists and objects, the inputs can need 4: send binary tensors"),
        (b"[1,2,3,4,5,6,7,8,9,10,11,12]", "the JSON has some 12 values, the inputs can need 10: send binary tensors"),
    ],
)
def test_more_than_the_inputs_can_need_is_refused_before_anything_is_made_of_it(text: bytes, message: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(json_bounds.json, "loads", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(Refusal) as caught:
        parse_json(text, JsonBounds(10, 4))
    assert (caught.value.status, caught.value.message) == (413, message)


def test_commas_and_brackets_in_texts_count_for_nothing():
    value = ['[[[,,,{{{\\"[[[,,,', "[" * 100, "\\", ",,,,,,,,,,,"]
    assert parse_json(json.dumps(value).encode(), JsonBounds(10, 4)) == value


def test_a_tensor_of_many_rows_is_read():
    value = [[[0, 1], [2, 3]]] * 1000
    assert parse_json(json.dumps(value).encode(), WIDE) == value
    deep: list[object] = []
    for _ in range(MOST_NESTED - 1):
        deep = [deep]
    assert parse_json(json.dumps([deep[0], *[[]] * 70]).encode(), WIDE) == [deep[0], *[[]] * 70]


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20))
def test_any_json_within_the_bounds_is_what_it_says(value: object):
    text = json.dumps(value, ensure_ascii=False).encode()
    assert parse_json(text, WIDE) == value
    bare = json_bounds._TEXTS.sub(b"", text)
    lists = bare.count(b"[") + bare.count(b"{")
    assert parse_json(text, JsonBounds(lists + bare.count(b","), lists)) == value


@given(st.text(alphabet='[]{}",\\a1', max_size=40))
def test_whatever_is_no_json_is_refused(text: str):
    try:
        want = json.loads(text)
    except ValueError:
        with pytest.raises(Refusal):
            parse_json(text.encode(), WIDE)
        return
    assert parse_json(text.encode(), WIDE) == want
