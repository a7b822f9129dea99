"""PromptTemplateFile: a Jinja template that makes a row's prompt from the row's fields.

The template is trusted as far as the person who submits the job, the fields not at all: it runs in Jinja's immutable
sandbox, is strict about fields that a row lacks, and a field's text is never compiled. What it renders is the prompt;
when that is a JSON list of messages, and it is the template that makes it one, it is the conversation.
"""

from __future__ import annotations

import json
import re
import secrets
from typing import Any

from job.template_bounds import RenderingError
from rows.errors import RowError

_BEGIN, _END = "\ue000", "\ue001"  # marks of what the template writes as it is
_NO_MARKS = {ord(_BEGIN): "?", ord(_END): "?"}


class TemplateError(Exception):
    """A template that does not compile; the message gives the line."""


class PromptTemplate:
    """A compiled template."""

    def __init__(self, text: str) -> None:
        from jinja2 import TemplateSyntaxError  # takes a tenth of a second, and few jobs have a template

        from job.template_sandbox import Environment

        self._begin = f"{_BEGIN}{secrets.randbits(64)}:"  # that no field can guess
        self._span = re.compile(f"{self._begin}[^{_BEGIN}{_END}]*{_END}")
        self._plain, self._marking = Environment(), Environment(self._marked)
        try:
            self._template = self._plain.from_string(text)
            self._marked_template = self._marking.from_string(text)
        except TemplateSyntaxError as error:
            raise TemplateError(f"line {error.lineno}: {error.message}") from None

    def render(self, fields: dict[str, Any]) -> str | list[Any]:
        """Return the prompt, or the list of messages, for a row's fields.

        Raises RowError template_error for a field that the row lacks, for anything the sandbox refuses, and for a
        rendering without end.
        """
        from jinja2 import UndefinedError

        try:
            text = self._plain.write_out(self._template, fields)
        except UndefinedError as error:
            raise RowError(
                "template_error", f"PromptTemplateFile: {error.message}; the row has no such field"
            ) from None
        except RenderingError as error:
            raise RowError("template_error", f"PromptTemplateFile: {error}") from None
        except Exception as error:  # noqa: BLE001 - the template is a program: whatever it raises is this row's error
            raise RowError("template_error", f"PromptTemplateFile: {type(error).__name__}: {error}") from None
        if not text.strip():
            raise RowError("template_error", "PromptTemplateFile makes an empty prompt of this row")
        return self._conversation(text, fields) if text.lstrip().startswith("[") else text

    def _marked(self, value: Any) -> Any:
        """Put marks around what the template writes as it is; `tojson` gives Markup, and a macro's text has marks."""
        if hasattr(value, "__html__") or self._begin in (text := str(value)):
            return value
        return self._begin + text.translate(_NO_MARKS) + _END

    def _conversation(self, text: str, fields: dict[str, Any]) -> str | list[Any]:
        """Return the messages of a text that begins like a list, or the text itself.

        What a row's field looks like must not decide: the template's own words, or what `tojson` made of a field, must
        make the list. Raises RowError template_error where a field that the template does not quote breaks it.
        """
        try:
            marked = self._marking.write_out(self._marked_template, fields)
        except Exception:  # noqa: BLE001 - a template that computes with its own text may stumble over the marks
            marked = text
        if marked.lstrip().startswith(self._begin):
            return text
        frame, before = marked, ""
        while frame != before:  # from the innermost marks outwards
            frame, before = self._span.sub("0", frame), frame
        messages, framed = _messages(text), _messages(frame)
        if framed is not None and (messages is None or len(messages) != len(framed)):
            raise RowError(
                "template_error",
                "PromptTemplateFile makes no JSON list of messages of this row; write fields as {{ field | tojson }}",
            )
        return messages or text


def _messages(text: str) -> list[Any] | None:
    """Return the messages when the text is a JSON list of objects that each have a role."""
    if not text.lstrip().startswith("["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_conversation = isinstance(value, list) and value and all(isinstance(m, dict) and "role" in m for m in value)
    return value if is_conversation else None
