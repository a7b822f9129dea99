"""What a server's refusal means, in the words of the servers that are known.

Servers of one API differ in how they say a thing and in the status that they say it with, so that both are looked at. A
sign that is not known means nothing: then the refusal is the row's, in the server's own words.

Source: the words of vLLM 0.10 to 0.33, OpenAI, Azure OpenAI, Anthropic, Mistral, Groq, DeepSeek, OpenRouter, llama.cpp,
Ollama, LM Studio, TGI, SGLang.
"""

from __future__ import annotations

import ast
import html
import json
import re
import time
from email.utils import parsedate_to_datetime
from typing import Any

MAX_TOKENS, MAX_COMPLETION_TOKENS = LIMITS = ("max_tokens", "max_completion_tokens")  # names of a chat's limit
KEY_LENGTH = 4  # characters; a shorter key, such as "none", stands in words that are not it
WORDS_LIMIT = 2_000  # characters of a server's words that are kept
_FURTHER = ("Message", "faultstring", "fault", "text")  # AWS, Apigee, and messages that are objects
_INNER = re.compile(r"(?:^|[:-] ?)(\{.*\})$", re.DOTALL)  # an object at the end of a sentence
_INNER_LIMIT = 20_000  # characters
_OF_ERRORS = frozenset({"error", "errors", "message", "detail", "Message", "fault"})  # an object with one is an error
_ACCOUNT_STATUS = frozenset({401, 402})
_REFUSING = frozenset({400, 413, 422})
_NOT_TAKEN = re.compile(
    r"not supported|not support\b|unsupported|unrecognized|unknown|unexpected|not permitted|not allowed|extra_forbidden"
    r"|no longer|same time|only the default|additional properties",
    re.IGNORECASE,
)
_NEAR = 80  # characters between a field's name and the word that refuses it
_NO_TEMPLATE = re.compile(
    r"no chat.?template|(provide|define|have|set|lacks?) a?n? ?chat.?template|chat template is (no longer|not)"
    r"|template is not (set|defined)|does not support chat",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model.{0,120}(not found|does not exist|not available|not loaded|decommissioned|no longer (available|supported))"
    r"|(no such|unknown|invalid|no endpoints found for|could not find|not a valid) model|no models loaded"
    r"|model_not_found",
    re.IGNORECASE,
)
_OF_PAGES = re.IGNORECASE | re.DOTALL
_USED_UP = re.compile(
    r"insufficient.?(quota|credit|balance|funds)|exceeded your current quota|out of credits?|credit balance is too low"
    r"|billing|payment required|(quota|credits?|balance)[^.]{0,40}(used up|exhausted|depleted)"
    r"|arrears|add (more )?credits",
    re.IGNORECASE,
)
_PER_TIME = re.compile(r"per (second|minute|hour|day)|\b[rt]p[mds]\b|rate.?limit", re.IGNORECASE)
_NO_ROOM = re.compile(
    r"requested (about )?\d+ (output )?tokens|is too large|fewer output tokens"  # vLLM, OpenAI, OpenRouter
    r"|max_new_tokens` must be <=|max_(new_|completion_)?tokens[^.]{0,60}(less than|at most|exceed|valid range|> \d)"
    r"|requested token count exceeds|tokens for the completion"  # SGLang
    r"|max_(new_|completion_)?tokens.{0,80}(maximum|context)|total number of tokens \(prompt and prediction\)",
    re.IGNORECASE | re.DOTALL,
)
_OUTPUT_MOST = re.compile(  # how long an answer may be, whatever the prompt
    r"supports at most (\d+) completion tokens|less than or equal to `?(\d+)`?"
    r"|error: `max_new_tokens` must be <= (\d+)|valid range of max_tokens is \[\d+, ?(\d+)\]"
    r"|max_tokens: \d+ > (\d+)|max_tokens must be at most (\d+)"
)
_LEFT = (  # a context, and what the prompt takes of it, exactly
    re.compile(
        r"maximum context length is (?P<all>\d+) tokens.*?(?P<used>\d+) (in the messages|of text input)", re.DOTALL
    ),
    re.compile(r"maximum context length is (?P<all>\d+) tokens and your request has (?P<used>\d+) input tokens"),
    re.compile(r"max_new_tokens` must be <= (?P<all>\d+)\. Given: (?P<used>\d+) `inputs` tokens"),
    re.compile(r"maximum context length of (?P<all>\d+) tokens.*?: (?P<used>\d+) tokens from the input", re.DOTALL),
    re.compile(r"exceed context limit: (?P<used>\d+) \+ \d+ > (?P<all>\d+)"),
)


def refuses_field(words: str, name: str) -> bool:
    """Tell whether a server does not take a field of a request, or not with this value."""
    named = re.finditer(rf"\b{re.escape(name)}\b", words)
    return any(_NOT_TAKEN.search(words[max(0, one.start() - _NEAR) : one.end() + _NEAR]) for one in named)


def refused_limit(status: int | None, words: str) -> str:
    """Return the name of a chat's limit that a server does not take, else "": the first that it speaks of."""
    if status not in _REFUSING:
        return ""
    named = re.search(rf"\b({'|'.join(LIMITS)})\b", words)
    return named[1] if named and refuses_field(words, named[1]) else ""


def has_no_room(status: int | None, words: str) -> bool:
    """Tell whether an answer of the asked length has no room beside its prompt, or is longer than the server's own."""
    if status == 500:
        return "Context size has been exceeded" in words  # llama.cpp, in the middle of an answer
    return status in _REFUSING and bool(_NO_ROOM.search(words))


def find_room(words: str) -> int | None:
    """Return how many tokens an answer may have by a server's refusal, None where it does not say so exactly."""
    for pattern in _LEFT:
        if left := pattern.search(words):
            return max(0, int(left["all"]) - int(left["used"]))
    return find_most(words)


def find_most(words: str) -> int | None:
    """Return how many tokens an answer may have whatever its prompt, None where a refusal does not say so."""
    most = _OUTPUT_MOST.search(words)
    return int(next(filter(None, most.groups()))) if most else None


def lacks_template(words: str) -> bool:
    """Tell whether the model has no chat template."""
    return bool(_NO_TEMPLATE.search(words))


def lacks_model(words: str) -> bool:
    """Tell whether the server has no model of that name."""
    return bool(_NO_MODEL.search(words))


def is_used_up(status: int | None, words: str) -> bool:
    """Tell whether the account behind the key has nothing left, which no later attempt mends."""
    if status == 402:
        return True
    return status in (400, 403, 429) and bool(_USED_UP.search(words)) and not _PER_TIME.search(words)


def concerns_account(status: int | None, words: str) -> bool:
    """Tell whether the server refuses who asks, and not what is asked."""
    return status in _ACCOUNT_STATUS or is_used_up(status, words)


def read_words(content: bytes, status: int | None) -> str:
    """Return a refusal's words as a sentence: never raw JSON, a page's source, or nothing."""
    text = content.decode("utf-8-sig", "replace").strip()
    try:
        words = describe(json.loads(text))
    except (ValueError, RecursionError):
        words = _title(text) if text.startswith("<") else _unpack(text)
    if words:
        return words[:WORDS_LIMIT]
    return f"HTTP {status}, without a word" if status else "no word"


def hide_key(text: str, key: str) -> str:
    """Return a server's words without the key, which some repeat."""
    return text.replace(key, "***") if len(key) >= KEY_LENGTH else text


def read_after(text: str | None) -> float | None:
    """Return the seconds of a Retry-After, in either form of RFC 9110, section 10.2.3, or with a fraction."""
    told = (text or "").strip()
    try:
        seconds = (
            float(told)
            if re.fullmatch(r"\d{1,18}(\.\d*)?", told, re.ASCII)
            else parsedate_to_datetime(told).timestamp() - time.time()
        )
    except (ValueError, OverflowError):
        return None
    return max(0.0, seconds)


def _title(page: str) -> str:
    if said := re.search(r"<\?xml.*?<message>([^<]+)</message>|<error>.*?<message>([^<]+)</message>", page, _OF_PAGES):
        return html.unescape(said[1] or said[2]).strip()
    found = re.search(r"<(title|h1)[^>]*>(.*?)</\1>", page, _OF_PAGES)
    title = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", found[2])).split()) if found else ""
    return f'a web page, "{title}"' if title else "a web page"


def describe(value: Any) -> str:
    """Return what an error's JSON says in words: OpenAI's `error.message`, FastAPI's `detail`, or its names alone."""
    if isinstance(value, str):
        return _unpack(value.strip())
    if isinstance(value, list):
        return "; ".join(filter(None, map(_describe_item, value[:3])))
    if not isinstance(value, dict):
        return ""
    for name in ("message", "detail", "error", "errors", "msg", "error_message", "reason", "title", *_FURTHER):
        if words := describe(value.get(name)):
            return f"{words}{_cause_of(value)}"
    told = [
        str(value[name]) for name in ("type", "error_type", "code", "status") if isinstance(value.get(name), str | int)
    ]
    return f"{', '.join(told)}, without a message" if told else ""


def _cause_of(error: dict[str, Any]) -> str:
    """Return what a gateway passes on of the server behind it."""
    inner = error.get("metadata")
    raw = inner.get("raw") if isinstance(inner, dict) else None
    words = describe(raw)
    return f": {words}" if words else ""


def _unpack(words: str) -> str:
    """Return a message without the JSON of a server further behind, whose words take its place."""
    start = _INNER.search(words[:_INNER_LIMIT])
    if not start:
        return _shorten_validation(words)
    try:
        inner = _read_value(start[1])
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        inner = None
    if not isinstance(inner, dict) or not inner.keys() & _OF_ERRORS:  # such as a schema, which is what is refused
        return _shorten_validation(words)
    return ": ".join(filter(None, (words[: start.start(1)].rstrip(" :-"), describe(inner))))


def _read_value(text: str) -> Any:
    """Return the value of JSON, or of Python as its programs print it. Raises ValueError or SyntaxError."""
    try:
        return json.loads(text)
    except ValueError:
        return ast.literal_eval(text)


def _describe_item(item: Any) -> str:
    """Return one of several errors; FastAPI's have a place."""
    if isinstance(item, dict) and isinstance(item.get("msg"), str):
        place = item.get("loc")
        named = ".".join(str(step) for step in place if step != "body") if isinstance(place, list | tuple) else ""
        return f"{named}: {item['msg']}" if named else item["msg"]
    return describe(item)


def _shorten_validation(words: str) -> str:
    """Return the first of many validation errors, which pydantic and vLLM list for every way to read a field."""
    if not re.match(r"\d+ validation errors?\b|\[\{'type': ", words):
        return words
    listed = re.findall(r"'loc': \(([^)]*)\), 'msg': (?:'([^']*)'|\"([^\"]*)\")", words)
    if listed:
        steps = [step.strip(" '\"") for step in listed[0][0].split(",")]
        place = ".".join(step for step in steps if step and step != "body")
        return f"{place}: {listed[0][1] or listed[0][2]}"
    lines = [line.strip() for line in words.splitlines()[1:] if line.strip() and "errors.pydantic.dev" not in line]
    if len(lines) > 1:
        return f"{lines[0]}: {lines[1].partition(' [type=')[0]}"
    return lines[0] if lines else words
