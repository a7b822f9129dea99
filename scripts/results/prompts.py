"""What the model got that is not in its row: a template's text, made again for the page, and the system prompt."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from dialects.line import RawLine, read_line
from dialects.prompt import COMPARING
from job.parameters import JobError
from job.prompt_template import PromptTemplate
from results.terms import Terms
from rows.errors import RowError
from rows.json_text import quote

LARGEST = 1 << 18  # bytes of a prompt that the page shows


@dataclass(frozen=True, slots=True)
class Prompts:
    """The template that made the prompts of a job's rows, None where the rows have them, and its system prompt."""

    template: PromptTemplate | None = None
    system: str = ""

    @classmethod
    def of(cls, terms: Terms | None) -> Self:
        """Return those of a job's terms; nothing of a job whose shards do not tell them."""
        with contextlib.suppress(JobError):
            return cls(terms.defaults.template, terms.defaults.system_prompt) if terms else cls()
        return cls()

    def is_template_for(self, head: Mapping[str, Any]) -> bool:
        """Tell whether a result's row was asked through the template."""
        return bool(self.template and head["dialect"] == "prompt" and head.get("endpoint") not in COMPARING)

    def remake_for(self, head: Mapping[str, Any], raw: bytes) -> bytes:
        """Return what the template makes of a result's line, as the JSON of a `prompt` or of `messages`.

        Return b"" where there is none, where it cannot be made, and where it is too long for the page.
        """
        if not raw or not self.is_template_for(head):
            return b""
        with contextlib.suppress(RowError):
            content = self.template.render(dict(read_line(RawLine(0, raw)).row.fields)) if self.template else ""
            text = quote({"messages" if isinstance(content, list) else "prompt": content}).encode()
            return text if content and len(text) <= LARGEST else b""
        return b""
