"""PromptTemplateFile: a Jinja template that makes a row's prompt from the row's fields.

The template is trusted as far as the person who submits the job, the fields not at all: it runs in Jinja's immutable
sandbox, is strict about fields that a row lacks, and a field's text is never compiled. What it renders is the prompt;
when that is a JSON list of messages, and it is the template that makes it one, it is the conversation.
"""

from __future__ import annotations

import json
import re
from typing import Any

from rows import RowError

_CONVERSATION = re.compile(r"\s*\[\s*\{\s*\"")  # how a template begins that can only mean a list of messages


class TemplateError(Exception):
    """A template that does not compile; the message gives the line."""


class PromptTemplate:
    """A compiled template."""

    def __init__(self, text: str) -> None:
        import jinja2  # takes a tenth of a second, and few jobs have a template
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        environment = ImmutableSandboxedEnvironment(
            undefined=jinja2.StrictUndefined, autoescape=False, keep_trailing_newline=False
        )
        environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "sort_keys": False}
        try:
            self._template = environment.from_string(text)
            self._read(environment.parse(text))
        except jinja2.TemplateSyntaxError as error:
            raise TemplateError(f"line {error.lineno}: {error.message}") from None

    def _read(self, tree: Any) -> None:
        """See whether the template itself makes messages: what a row's field looks like must not decide it."""
        from jinja2 import nodes

        literals = [node.data for node in tree.find_all(nodes.TemplateData) if node.data.strip()]
        written = any('"role"' in literal for literal in literals)
        self._may_converse = written or any(node.name == "tojson" for node in tree.find_all(nodes.Filter))
        self._must_converse = written and _CONVERSATION.match(literals[0]) is not None

    def render(self, fields: dict[str, Any]) -> str | list[Any]:
        """Return the prompt, or the list of messages, for a row's fields.

        Raises RowError template_error for a field that the row lacks and for anything the sandbox refuses.
        """
        import jinja2

        try:
            text = self._template.render({"row": fields, **fields})
        except jinja2.UndefinedError as error:
            raise RowError(
                "template_error", f"PromptTemplateFile: {error.message}; the row has no such field"
            ) from None
        except Exception as error:  # noqa: BLE001 - the template is a program: whatever it raises is this row's error
            raise RowError("template_error", f"PromptTemplateFile: {type(error).__name__}: {error}") from None
        if not text.strip():
            raise RowError("template_error", "PromptTemplateFile makes an empty prompt of this row")
        messages = _messages(text) if self._may_converse else None
        if messages is None and self._must_converse:
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
    except ValueError:
        return None
    is_conversation = isinstance(value, list) and value and all(isinstance(m, dict) and "role" in m for m in value)
    return value if is_conversation else None
