"""The job's template, schema and limits, as they govern rows of every dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.facts import Served
from job.defaults import Defaults
from job.prompt_template import PromptTemplate
from rows.errors import RowError
from support.dialect_rows import (
    CHAT,
    RESPONSES,
    ROUTES,
    SCHEMA,
    USER,
    answered,
    asked,
    chat_body,
    refused,
)


def test_a_judge_reads_the_first_jobs_output_and_loses_nothing() -> None:
    first = answered({"prompt": "2+2?", "id": 1}, chat_body("4"))
    job = Defaults(template=PromptTemplate("Is {{ generated_text }} right for {{ prompt }}"), output_field="verdict")
    assert asked(first, job).body["messages"] == [{"role": "user", "content": "Is 4 right for 2+2?"}]
    second = answered(first, chat_body("yes"), job)
    assert (second["generated_text"], second["verdict"], second["id"]) == ("4", "yes", 1)
    assert second["previous"] == {"finish_reason": "stop", "prompt_tokens": 7, "completion_tokens": 42}


@pytest.mark.parametrize(
    ("line", "template"),
    [
        (
            {"id": "b", "custom_id": "a", "response": {"status_code": 200, "body": chat_body("4")}, "error": None},
            "{{ response.body.choices[0].message.content }}",
        ),
        (
            {"input": {"prompt": "x"}, "status": "COMPLETED", "output": chat_body("4")},
            "{{ output.choices[0].message.content }}",
        ),
        (
            {"recordId": "R1", "modelInput": {"prompt": "x"}, "modelOutput": chat_body("4")},
            "{{ modelOutput.choices[0].message.content }}",
        ),
        (
            {
                "custom_id": "a",
                "result": {"type": "succeeded", "message": {"content": [{"type": "text", "text": "4"}]}},
            },
            "{{ result.message.content[0].text }}",
        ),
    ],
    ids=["openai", "runpod", "bedrock", "anthropic"],
)
def test_a_judge_reads_the_output_of_every_dialect(line: dict[str, Any], template: str) -> None:
    ask = asked(line, Defaults(template=PromptTemplate(template)))
    assert ask.body["messages"] == [{"role": "user", "content": "4"}]


def test_a_template_may_make_a_conversation() -> None:
    job = Defaults(template=PromptTemplate('[{"role": "user", "content": {{ q | tojson }}}]'))
    assert asked({"q": "Hi"}, job).body["messages"] == USER


def test_messages_of_a_template_are_checked_like_a_rows() -> None:
    job = Defaults(template=PromptTemplate('[{"role": "user", "content": 5}]'))
    assert refused({"q": 1}, job)[0] == "invalid_value"


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"prompt": "x"}, {"response_format": {"type": "json_schema"}}),
        ({"custom_id": "a", "method": "POST", "url": CHAT, "body": {"messages": USER}}, {"response_format": {}}),
        ({"input": {"prompt": "x"}}, {"structured_outputs": {"json": SCHEMA}}),
        ({"custom_id": "a", "params": {"messages": USER, "max_tokens": 5}}, {"output_config": {}}),
        ({"custom_id": "a", "url": RESPONSES, "body": {"input": "x"}}, {"text": {}}),
    ],
    ids=["prompt", "openai", "runpod", "anthropic", "responses"],
)
def test_the_jobs_schema_is_enforced_in_every_dialect(row: dict[str, Any], told: dict[str, Any]) -> None:
    ask = asked(row, Defaults(schema=SCHEMA))
    (name,) = told
    assert ask.schema
    assert json.dumps(SCHEMA) in json.dumps(ask.body[name])


@pytest.mark.parametrize("own", [{"response_format": {"type": "text"}}, {"guided_regex": "a"}])
def test_a_rows_own_structure_beats_the_jobs_schema(own: dict[str, Any]) -> None:
    ask = asked({"prompt": "x", **own}, Defaults(schema=SCHEMA))
    assert not ask.schema
    assert "json_schema" not in json.dumps(ask.body)


@pytest.mark.parametrize(
    ("text", "reason", "words"),
    [
        ('{"a": "x"}', "stop", r"breaks the schema at \$\.a"),
        ("{}", "stop", r"breaks the schema at \$: 'a' is a required property"),
        ('{"a": 1', "length", "is not JSON .cut at the token limit: raise MaxTokens."),
    ],
)
@pytest.mark.parametrize(
    "row", [{"prompt": "x"}, {"custom_id": "a", "method": "POST", "url": CHAT, "body": {"messages": USER}}]
)
def test_an_answer_that_breaks_the_jobs_schema_is_the_rows_error(
    row: dict[str, Any], text: str, reason: str, words: str
) -> None:
    with pytest.raises(RowError, match=words) as raised:
        answered(row, chat_body('{"a": 1}', text, reason=reason), Defaults(schema=SCHEMA))
    assert raised.value.code == "schema_mismatch"


def test_a_tool_call_is_no_answer_that_the_schema_governs() -> None:
    body = chat_body("", tool_calls=[{"id": "1"}], reason="tool_calls")
    assert answered({"prompt": "x"}, body, Defaults(schema=SCHEMA))["tool_calls"] == [{"id": "1"}]


def test_the_jobs_limit_is_never_beyond_the_context() -> None:
    short = Served(model="m", routes=ROUTES, tokens=128)
    assert asked({"prompt": "x"}, served=short).body["max_tokens"] == 128
    assert asked({"prompt": "x", "max_tokens": 500}, served=short).body["max_tokens"] == 500


def test_beam_search_is_refused_where_the_job_s_schema_governs() -> None:
    row = {"prompt": "x", "use_beam_search": True, "n": 2}
    assert refused(row, Defaults(schema=SCHEMA))[0] == "invalid_value"
    assert not asked({**row, "response_format": {"type": "text"}}, Defaults(schema=SCHEMA)).schema
