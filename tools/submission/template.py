"""A job's own copy of template.yaml, as text: what is written into it in place of a parameter.

The submitter keeps the value of a parameter that came from the form or a command line, whatever a hook says, so a value
that is to differ is written where the template uses the parameter. The text may be the bundle's own or as the form
writes it again. Knows the template's layout and no YAML, since a submitter's Python may have no reader of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

NUMBERS = (
    "BlockSize",
    "ChunkSize",
    "TargetRuntimeSeconds",
)  # where a text would be of another type
ENGINE, CLIENT_PACKAGES = "vllm", "python=3.11 aiohttp jinja2 jsonschema boto3"  # the latter: all that ServerUrl needs
_NAME = re.compile(r"^name:.*$", re.MULTILINE)
_AMOUNTS = re.compile(r"^(?P<indent> +)amounts:\n(?P<items>(?:(?P=indent)[ -].*\n)+)", re.MULTILINE)
_ITEM = re.compile(r"^(?P<indent> *)- .*\n(?:(?P=indent) .*\n)*", re.MULTILINE)
_OF_ENGINE = re.compile(r"\bname: amount\.worker\.(?:gpu|gpu\.memory|memory)\s*(?:,|$)", re.MULTILINE)


def write_values(template: str, values: Mapping[str, str]) -> str:
    """Return the template with values in the place of their parameters. Values are ranges and numbers."""
    for name, value in values.items():
        quote = "[\"']?" if name in NUMBERS else ""
        used = rf"\{{\{{\s*Param\.{name}\s*\}}\}}"
        template = re.sub(f"(?P<quote>{quote}){used}(?P=quote)", value, template)
    return template


def write_name(template: str, name: str) -> str:
    """Return the template with the job's name, as it is where it has that already."""
    found = _NAME.search(template)
    if not found or found[0] in (f"name: {name}", f"name: {json.dumps(name)}"):
        return template
    return template[: found.start()] + f"name: {json.dumps(name)}" + template[found.end() :]


def drop_engine(template: str) -> str:
    """Return the template of a job that starts no engine: its step asks for no GPU, and not for the memory of one.

    What a person added to the step stays. Where more than one step asks for amounts, the form's own page said so.
    """
    blocks = list(_AMOUNTS.finditer(template))
    if len(blocks) != 1:
        return template
    [block] = blocks
    items = "".join(item[0] for item in _ITEM.finditer(block["items"]) if not _OF_ENGINE.search(item[0]))
    kept = f"{block['indent']}amounts:\n{items}" if items else ""
    return template[: block.start()] + kept + template[block.end() :]
