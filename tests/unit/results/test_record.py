"""A record is read as it was written, and no figure beside an answer costs the answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.record import Record, decode_record, glance, read_key

HEAD = {
    "line": 1,
    "status": "succeeded",
    "dialect": "prompt",
    "attempts": 1,
    "started": 1_700_000_000.25,
    "seconds": 1.5,
}
ANSWER = Record(HEAD, b'{"id": 1, "output": {"x": ",\\"output\\":"}}')
FIGURES = ["started", "seconds", "in", "out", "attempts"]
ABSURD = [-1, -0.5, 1e300, 10**400, float("inf"), float("nan"), "1", None, [], {}]
OTHERS = st.dictionaries(
    st.text() | st.sampled_from(["started", "seconds", "finish", "output", "row", "question", "repeats"]),
    st.text() | st.integers(0, 10**9) | st.floats(0, 1e9),
)


@given(OTHERS, st.dictionaries(st.text(), st.text()))
def test_any_record_survives_the_round_trip(more: dict[str, Any], output: dict[str, str]) -> None:
    head = {name: value for name, value in more.items() if name not in FIGURES or not isinstance(value, str)}
    record = Record({**head, **HEAD}, json.dumps(output).encode())
    assert "output" in head or decode_record(record.encode()) == record
    assert record.encode().count(b"\n") == 1


@given(OTHERS, st.booleans())
def test_a_glance_sees_what_the_whole_record_holds(more: dict[str, Any], first: bool) -> None:
    heads = [{name: value for name, value in more.items() if name != "output"}, HEAD]
    record = Record({**heads[first], **heads[not first]}, b"{}")
    line = record.encode()
    head = decode_record(line).head
    keys = read_key(head.get("row")), read_key(head.get("question"))
    times = head.get("started"), head.get("seconds")
    assert glance(line) == (head["line"], head["status"], *times, *keys, head.get("repeats") == 1)


@pytest.mark.parametrize("cut", [1, 2, 10])
def test_a_torn_record_is_not_believed(cut: int) -> None:
    with pytest.raises(ValueError, match="torn"):
        decode_record(ANSWER.encode()[:-cut])


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("figure", ABSURD, ids=map(repr, ABSURD))
def test_a_figure_that_cannot_be_is_left_out_and_the_answer_stays(name: str, figure: Any) -> None:
    line = json.dumps({**HEAD, name: figure, "output": 0}, separators=(",", ":")).encode() + b"\n"
    record = decode_record(line)
    assert record.head == {key: value for key, value in HEAD.items() if key != name}
    assert record.output == b"0"
    assert getattr(glance(line), name, None) is None


@pytest.mark.parametrize(
    "changed",
    [{"line": "1"}, {"line": True}, {"status": "odd"}, {"status": []}, {"dialect": None}, {"status": "failed"}],
)
def test_what_has_no_line_or_outcome_is_no_record(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no record"):
        decode_record(Record({**HEAD, **changed}, b"{}").encode())
