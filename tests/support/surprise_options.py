"""Options of requests, good and bad, by the routes that read them: what vLLM's server takes and what it refuses.

Each entry is a piece of a request. A piece may be good by itself and bad beside another, as rows of people are.
"""

from __future__ import annotations

from typing import Any

from engine.routes import CHAT, COMPLETIONS, MESSAGES, RESPONSES

LENGTH = 512  # tokens of the server's context
LIMIT = 2  # MaxTokens of the job
HEAT = 0.7  # Temperature of the job
LONG = "word " * 2 * LENGTH
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
DANGLING = {"type": "object", "properties": {"a": {"$ref": "#/$defs/nothing"}}}
TOOL = {"type": "function", "function": {"name": "tide", "parameters": {"type": "object", "properties": {}}}}
NAMED = {"type": "function", "function": {"name": "tide"}}


def _json_schema(schema: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}}


def _each(name: str, *values: Any) -> list[dict[str, Any]]:
    return [{name: value} for value in values]


SAMPLING = [  # read by chats, completions, responses
    *_each("temperature", 0, 0.5, 1, 2, 0.0, None),
    *_each("top_p", 0.1, 1, 1.0, None),
    *_each("top_k", -1, 0, 1, 50, 40.0),
    *_each("min_p", 0, 0.5, 1),
    *_each("presence_penalty", -2, 0, 1.5, 2),
    *_each("frequency_penalty", -2, 0, 0.5),
    *_each("repetition_penalty", 0.5, 1, 1.2),
    *_each("seed", 0, 7, -1, 2**62, 7.0, None),
    *_each("stop", "x", ["a", "b"], [], None, ["a", "b", "c", "d"]),
    *_each("stop_token_ids", [1, 2], [], None),
    *_each("logit_bias", {"5": 1}, {}, {"5": -100.5}, None),
    *_each("ignore_eos", True, False),
    *_each("skip_special_tokens", True, False),
    *_each("include_stop_str_in_output", True, False),
    *_each("user", "somebody", None),
    *_each("metadata", {"team": "a"}, None),
    *_each("an_unknown_option", 1, "x", None),
]
SAMPLING_BAD = [
    *_each("temperature", -1, -0.1, 2.1, 38.5, "hot", [1], {}),
    *_each("top_p", 0, -0.5, 1.5, "most"),
    *_each("top_k", -2, 1.5, "few"),
    *_each("min_p", -0.1, 1.1, [0]),
    *_each("presence_penalty", -3, 2.5, "much"),
    *_each("frequency_penalty", -2.1, 3),
    *_each("repetition_penalty", 0, -1, "none"),
    *_each("seed", 2**63, 1.5, "lucky", [7]),
    *_each("stop", "", ["a", ""], list("abcde"), 5, [1], {"a": 1}),
    *_each("stop_token_ids", [-1], ["x"], 5, [1.5]),
    *_each("logit_bias", {"x": 1}, {"-1": 1}, [1], {"5": "much"}, "5"),
    *_each("ignore_eos", "perhaps", 5),
    *_each("skip_special_tokens", "never", []),
]
OF_BOTH = [  # chats and completions
    *_each("max_tokens", 1, 2, 3, 2.0, None),
    *_each("n", 1, 2, 1.0),
    *_each("min_tokens", 0, 1),
    *_each("bad_words", ["foo"], []),
    *_each("allowed_token_ids", [5, 6, 7], None),
    *_each("prompt_logprobs", 0, 1, None),
    *_each("truncate_prompt_tokens", 5, -1, None),
    *_each("length_penalty", 1.0, 0.5),
    *_each("spaces_between_special_tokens", True, False),
    *_each("response_format", {"type": "text"}, {"type": "json_object"}, None),
    _json_schema(SCHEMA),
    *_each("structured_outputs", {"choice": ["yes", "no"]}, {"json": SCHEMA}, {"regex": "[ab]+"}),
    *_each("structured_outputs", {"grammar": 'root ::= "yes" | "no"'}, {"json_object": True}, None),
    *_each("guided_choice", ["yes", "no"]),
    *_each("guided_json", SCHEMA),
    {"use_beam_search": True, "n": 2},
    {"use_beam_search": True, "n": 2, "temperature": 0},
    *_each("best_of", 2),
    *_each("priority", 0),
    *_each("extra_body", {"top_k": 1}, {"min_tokens": 1}, {}),
    *_each("echo", False),
]
OF_BOTH_BAD = [
    *_each("max_tokens", -1, 0, "many", 1.5, 5 * LENGTH, [2]),
    *_each("n", 0, -1, "two", 1.5, 20_000),
    {"n": 3, "temperature": 0},
    *_each("min_tokens", -1, 5 * LENGTH, "all"),
    {"min_tokens": 3, "max_tokens": 2},
    *_each("min_tokens", LIMIT + 1),
    *_each("bad_words", [""], "foo", [5]),
    *_each("allowed_token_ids", [], [-1], "all", ["x"]),
    *_each("prompt_logprobs", -2, 30, "all"),
    *_each("truncate_prompt_tokens", -5, "half"),
    *_each("length_penalty", "short"),
    *_each("response_format", "json", {"type": "xml"}, {"type": "json_schema"}, {}, []),
    *_each("response_format", {"type": "json_schema", "json_schema": {"schema": SCHEMA}}),
    _json_schema(DANGLING),
    _json_schema({"type": "nonsense"}),
    *_each("structured_outputs", {}, {"choice": []}, {"regex": "("}, {"json": {"type": "nonsense"}}, "yes"),
    *_each("structured_outputs", {"grammar": ""}, {"json_object": False}, {"json": DANGLING}, {"choice": "yes"}),
    *_each("structured_outputs", {"choice": ["a"], "regex": "a"}, {"regex": "a", "json": SCHEMA}),
    *_each("guided_regex", "(", "*"),
    *_each("guided_grammar", "", "not a grammar"),
    *_each("use_beam_search", "yes"),
    *_each("priority", 5, "high"),
    *_each("extra_body", {"top_k": -5}, {"temperature": 9}),
]
OF_CHATS = [
    *_each("max_completion_tokens", 1, 3),
    *_each("logprobs", True, False, None),
    {"logprobs": True, "top_logprobs": 2},
    {"logprobs": True, "top_logprobs": 0},
    *_each("top_logprobs", 0, None),
    *_each("add_generation_prompt", True, False),
    *_each("reasoning_effort", "low", "high", None),
    *_each("include_reasoning", True, False),
    *_each("chat_template_kwargs", {"enable_thinking": False}, {}, None),
    *_each("parallel_tool_calls", True, False),
    {"tools": [TOOL], "tool_choice": "none"},
    *_each("tools", [], None),
    *_each("tool_choice", "none", None),
    {"stream": False, "stream_options": None},
]
OF_CHATS_BAD = [
    *_each("logprobs", "all", 2.5),
    *_each("top_logprobs", 3, -1, -2),
    {"logprobs": True, "top_logprobs": 30},
    {"logprobs": True, "top_logprobs": -2},
    {"add_generation_prompt": True, "continue_final_message": True},
    *_each("reasoning_effort", "huge", 5),
    *_each("include_reasoning", "perhaps"),
    *_each("chat_template_kwargs", 5, "x", []),
    *_each("tools", [TOOL], "hammer", [{"type": "function"}], [{"type": "function", "function": {}}], {"name": "f"}),
    {"tools": [TOOL], "tool_choice": "auto"},
    {"tools": [TOOL], "tool_choice": "required"},
    {"tools": [TOOL], "tool_choice": NAMED},
    {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "other"}}},
    {"tools": [TOOL], "tool_choice": "sometimes"},
    {"tools": [TOOL], "tool_choice": {"name": "tide"}},
    *_each("tool_choice", "auto", "required", NAMED),
]
OF_COMPLETIONS = [
    *_each("logprobs", 0, 1, 5, None),
    *_each("echo", True),
    {"echo": True, "max_tokens": 0, "logprobs": 1},
    {"echo": True, "logprobs": 1},
    *_each("add_special_tokens", True, False),
]
OF_COMPLETIONS_BAD = [
    *_each("logprobs", -2, 30, "all"),
    *_each("echo", "yes please", []),
    *_each("suffix", "end"),
    {"use_beam_search": True, "n": 2, "echo": True, "logprobs": 1},
]
OF_RESPONSES = [
    *_each("max_output_tokens", 1, 3, None),
    *_each("instructions", "Be brief.", None),
    *_each("store", True, False),
    *_each("truncation", "auto", "disabled"),
    {"text": {"format": {"type": "text"}}},
    {"text": {"format": {"type": "json_schema", "name": "a", "schema": SCHEMA}}},
]
OF_RESPONSES_BAD = [
    *_each("max_output_tokens", 0, -1, "many", 1.5),
    *_each("instructions", 5, ["a"]),
    *_each("truncation", "half"),
    {"text": {"format": {"type": "xml"}}},
    {"text": {"format": {"type": "json_schema", "schema": SCHEMA}}},
    {"text": {"format": {"type": "json_schema", "name": "a", "schema": DANGLING}}},
    {"tools": [{"type": "function", "name": "tide", "parameters": {}}], "tool_choice": "required"},
    *_each("tool_choice", "required"),
]
OF_MESSAGES = [
    *_each("max_tokens", 1, 2, 3),
    *_each("temperature", 0, 0.5, 1, None),
    *_each("top_p", 0.5, 1),
    *_each("top_k", 1, 50),
    *_each("stop_sequences", ["a"], [], None),
    *_each("system", "Be brief.", [{"type": "text", "text": "Be brief."}], None),
    *_each("metadata", {"user_id": "a"}),
    {"thinking": {"type": "disabled"}},
]
OF_MESSAGES_BAD = [
    *_each("max_tokens", 0, -1, "many", 1.5),
    *_each("temperature", -1, 3, "hot"),
    *_each("top_p", 0, 2),
    *_each("top_k", -5, "few"),
    *_each("stop_sequences", list("abcde"), "a", [""], [5]),
    *_each("system", 5, [5], {"type": "text", "text": "x"}),
    {"thinking": {"type": "enabled", "budget_tokens": 2000}},
    {"thinking": {"type": "sometimes"}},
    {"tools": [{"name": "tide", "input_schema": {"type": "object"}}]},
    {"tools": [{"name": "tide"}]},
    {"tool_choice": {"type": "tool"}},
    {"tool_choice": "auto"},
]
OPTIONS = {
    CHAT: ([*SAMPLING, *OF_BOTH, *OF_CHATS], [*SAMPLING_BAD, *OF_BOTH_BAD, *OF_CHATS_BAD]),
    COMPLETIONS: ([*SAMPLING, *OF_BOTH, *OF_COMPLETIONS], [*SAMPLING_BAD, *OF_BOTH_BAD, *OF_COMPLETIONS_BAD]),
    RESPONSES: ([*SAMPLING, *OF_RESPONSES], [*SAMPLING_BAD, *OF_RESPONSES_BAD]),
    MESSAGES: (OF_MESSAGES, OF_MESSAGES_BAD),
}
