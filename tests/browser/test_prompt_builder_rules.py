"""The prompt builder checks, reads and writes rows as the worker does: what it accepts, the job accepts."""

from __future__ import annotations

import base64
import json
import unicodedata
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page

from job.options import OPTIONS
from job.prompt_template import PromptTemplate
from rows.errors import RowError
from support.pages.builder_worker import cases, line_of, verdict

pytestmark = pytest.mark.browser
ASK = "(lines) => lines.map((line) => promptBuilder.checkLine(line))"
RELAXED = settings(max_examples=12, suppress_health_check=list(HealthCheck))


def is_text(case: dict[str, Any]) -> bool:
    return "line" in case


def test_the_page_takes_or_marks_every_case_as_the_worker_does(page: Page) -> None:
    known = [case for case in cases() if is_text(case)]
    found = page.evaluate(ASK, [case["line"] for case in known])
    wrong = [
        (case["name"], answer)
        for case, answer in zip(known, found, strict=True)
        if any(answer[name] != case[name] for name in ("ok", "dialect", "code"))
        or (case["message_contains"] or "") not in (answer["message"] or "")
    ]
    assert wrong == []


def test_the_page_marks_lines_that_are_not_utf8_by_their_number_as_the_worker_does(page: Page) -> None:
    known = [case for case in cases() if not is_text(case) and b"\n" not in line_of(case)]
    data = b"\n".join([b'{"prompt": "fine"}', *map(line_of, known)])
    page.set_input_files("#file", {"name": "a.jsonl", "mimeType": "text/plain", "buffer": data})
    page.wait_for_selector("#import-dialog[open]")
    listed = page.locator("#import-problems li").all_inner_texts()
    assert [text.split(" the")[0] for text in listed] == [f"Line {n + 2}" for n in range(len(known))]
    assert all("not UTF-8" in text for text in listed)


def test_the_page_knows_the_same_options_with_the_same_bounds_as_the_worker(page: Page) -> None:
    assert page.evaluate("() => promptBuilder.optionWords()") == {n: o.must for n, o in OPTIONS.items()}


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.integers(), st.floats(allow_nan=False), st.text(max_size=5)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
messages = st.lists(
    st.one_of(
        values,
        st.fixed_dictionaries({"role": st.sampled_from(["user", "system"]), "content": st.one_of(st.text(), values)}),
    ),
    max_size=2,
)
names = st.sampled_from(
    [
        *OPTIONS,
        "prompt",
        "text",
        "model",
        "system",
        "sampling_params",
        "stream",
        "guided_decoding_backend",
        "id",
    ]
)
options = st.dictionaries(names, values, max_size=3)
bodies = st.one_of(
    values,
    st.builds(
        lambda some, talk, more: some | ({"messages": talk} if talk is not None else {}) | more,
        options,
        st.one_of(st.none(), messages, values),
        st.dictionaries(
            st.sampled_from(
                ["openai_route", "openai_input", "route", "body", "method", "inputText", "inferenceConfig"]
            ),
            st.one_of(values, options),
            max_size=2,
        ),
    ),
)
shapes = st.dictionaries(
    st.sampled_from(["custom_id", "method", "url", "body", "params", "input", "modelInput", "recordId", "instruction"]),
    st.one_of(bodies, st.sampled_from(["POST", "GET", "/v1/chat/completions", "/score", "x"])),
    max_size=4,
)
some_rows = st.builds(
    lambda shape, own, talk: shape | own | ({"messages": talk} if talk else {}),
    shapes,
    options,
    st.one_of(st.none(), messages),
)


@RELAXED
@given(st.lists(some_rows, min_size=20, max_size=60))
def test_the_page_and_the_worker_agree_on_made_up_rows(page: Page, made: list[Any]) -> None:
    lines = [json.dumps(row) for row in made]
    wanted = [verdict(line.encode()) for line in lines]
    found = page.evaluate(ASK, lines)
    for line, one, other in zip(lines, wanted, found, strict=True):
        assert (one["ok"], one["dialect"], one["code"]) == (other["ok"], other["dialect"], other["code"]), line


@RELAXED
@given(st.lists(values, min_size=20, max_size=60))
def test_a_template_previews_any_field_as_the_worker_renders_it(page: Page, made: list[Any]) -> None:
    template = "A: {{ field }}, {{row['odd name']}}\n{{field_2.inner[0]}}\n"
    rows_ = [{"field": value, "odd name": value, "field_2": {"inner": [value]}} for value in made]
    found = page.evaluate(
        "([template, rows]) => rows.map((row) => promptBuilder.fillTemplate(template, row).text)",
        [template, [json.dumps(row) for row in rows_]],
    )
    compiled = PromptTemplate(template)
    for row, text in zip(rows_, found, strict=True):
        if is_known(row["field"]):
            assert compiled.render(row) == text


def is_known(value: Any) -> bool:
    """Tell whether every character is one that Unicode has assigned: browser and Python may know different versions."""
    return all(unicodedata.category(char) != "Cn" for char in json.dumps(value, ensure_ascii=False))


def test_a_field_that_the_row_lacks_is_told_by_the_preview_and_by_the_worker(page: Page) -> None:
    missing = page.evaluate("() => promptBuilder.fillTemplate('{{text}} {{more}}', '{\"text\": \"x\"}').missing")
    assert missing == "more"
    with pytest.raises(RowError, match="more"):
        PromptTemplate("{{text}} {{more}}").render({"text": "x"})


spaced = st.sampled_from(["", " ", "  ", "\t"])


@st.composite
def json_texts(draw: st.DrawFn) -> str:
    """Draw a row as text that no JSON writer would give: odd spaces, numbers and escapes."""
    numbers = st.sampled_from(["1.0", "0", "-0", "1e400", "12345678901234567890123", "1E+2", "0.10", "true", "null"])
    strings = st.text(max_size=6).map(lambda text: json.dumps(text, ensure_ascii=draw(st.booleans())))
    odd = st.sampled_from(['"\\u0041\\/"', '"\\ud83d"', '"\u2028"'])
    raw = st.recursive(
        st.one_of(numbers, strings.filter(lambda s: not any("\ud800" <= c <= "\udfff" for c in s)), odd),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda parts: f"[{' , '.join(parts)}]"),
            st.lists(st.tuples(odd, inner), max_size=3).map(
                lambda pairs: "{" + ",".join(f"{k}:{v}" for k, v in pairs) + "}"
            ),
        ),
        max_leaves=5,
    )
    members = draw(
        st.lists(st.tuples(strings.filter(lambda s: not any("\ud800" <= c <= "\udfff" for c in s)), raw), max_size=5)
    )
    gap = draw(spaced)
    return "{" + gap + f"{gap},{gap}".join(f"{key}{gap}:{gap}{value}" for key, value in members) + gap + "}"


@RELAXED
@given(st.lists(json_texts(), min_size=1, max_size=40))
def test_imported_rows_are_exported_byte_for_byte(page: Page, lines: list[str]) -> None:
    data = "".join(f"{line}\n" for line in lines).encode()
    found = page.evaluate(
        """async (text) => {
            const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
            const { parts } = promptBuilder.readText(promptBuilder.decodeBytes(bytes).text, "jsonl");
            const blob = new Blob(promptBuilder.exportParts(parts));
            return [...new Uint8Array(await blob.arrayBuffer())];
        }""",
        base64.b64encode(data).decode(),
    )
    assert bytes(found) == data


@RELAXED
@given(st.lists(json_texts(), min_size=1, max_size=20), st.sampled_from(['"new"', "0", "1.50", "[1, 2]"]))
def test_setting_one_value_leaves_every_other_byte_of_the_row_alone(page: Page, lines: list[str], raw: str) -> None:
    edits = page.evaluate(
        """([lines, raw]) => lines.map((line) => {
            const { setRaw, rawAt, remove } = promptBuilder.jsontext;
            const changed = setRaw(line, ["added"], raw);
            return [changed, rawAt(changed, ["added"]), remove(changed, ["added"])];
        })""",
        [lines, raw],
    )
    for line, (changed, value, back) in zip(lines, edits, strict=True):
        assert value == raw
        assert json.loads(changed) == {**json.loads(line), "added": json.loads(raw)}
        assert back == line or not json.loads(line)
