"""VllmArgs: further arguments of the server, as a person writes or pastes them.

They are split as a shell splits words, and no shell runs. What was pasted from a page or a command line and means
something else there is refused with the character shown, on the user's machine and before a model is loaded. The
server's address, key and model are the bundle's own.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence

RESERVED_FLAGS = (
    "--api-key",
    "--hf-token",
    "--host",
    "--port",
    "--uds",
    "--ssl-keyfile",
    "--ssl-certfile",
    "--root-path",
    "--config",
    "--grpc",
    "--model",
)
_WHY = {
    "--hf-token": "all users of a machine can read command lines; set HfTokenSecretId (or HfToken)",
    "--model": "set ModelName",
    "": "the server stays on loopback behind a key of its own",
}
OF_PARAMETERS = {  # flags that say what a parameter says; VllmArgs come last on the command line, so that they win
    "--max-model-len": "MaxModelLen",
    "--gpu-memory-utilization": "GpuMemoryUtilization",
    "--tensor-parallel-size": "TensorParallelSize",
    "-tp": "TensorParallelSize",
}
PARALLEL_FLAGS = (  # over which GPUs a server runs, and how: whoever says one says all of it
    "--tensor-parallel-size",
    "-tp",
    "--pipeline-parallel-size",
    "-pp",
    "--data-parallel-size",
    "-dp",
    "--data-parallel-rank",
    "--data-parallel-start-rank",
    "--nnodes",
    "--device-ids",
)
_DASHES = "‐‑‒–—―−"
_QUOTES = "“”„‟‘’‚«»″′`"
_SPACES = "\u00a0\u2007\u202f\u200b\u2060\u3000\ufeff"  # that look like a space, or like nothing
_OF_TEMPLATES = ("{%", "{{", "{#")  # a chat template may stand on the command line
_SHORTEST = len("--abcd")  # a flag's beginning that stands for one flag; a shorter one begins many
_OF_SHELLS = frozenset({"&&", "||", "|", "&", ";", ">", ">>", "<", "2>&1"})


class ArgumentsError(Exception):
    """VllmArgs that cannot be used; the message shows where and says how to write it."""


def split_arguments(text: str) -> list[str]:
    """Return the arguments that a text says. Raises ArgumentsError."""
    try:
        found = shlex.split(text.replace("\\\r\n", " ").replace("\\\n", " "))
    except ValueError as error:
        what = {"No closing quotation": "a quotation mark is not closed", "No escaped character": "it ends in a \\"}
        reason = what.get(str(error), str(error))
        raise ArgumentsError(f"VllmArgs cannot be split into arguments: {reason}") from None
    if found and not found[0].startswith(("-", *_DASHES, *_QUOTES)):
        raise ArgumentsError(
            f"VllmArgs begins with {found[0]!r}; write only the options, without the command and the model, such as "
            "--max-num-seqs 8"
        )
    for argument in found:
        _refuse_reserved(argument)
        _refuse_pasted(argument)
    return found


def overridden(arguments: Sequence[str]) -> dict[str, str]:
    """Return the parameters, by name, that the arguments say again, each with its value there."""
    found = {}
    for place, flag in enumerate(arguments):
        _, equals, value = flag.partition("=")
        parameter = next((name for known, name in OF_PARAMETERS.items() if _is(flag, known)), "")
        if parameter:
            found[parameter] = value if equals else "".join(arguments[place + 1 : place + 2])
    return found


def _is(argument: str, flag: str) -> bool:
    """Tell whether an argument is a flag or, as vLLM's parser reads it, the flag's beginning."""
    name = argument.partition("=")[0].replace("_", "-")
    return name == flag or (name.startswith("--") and len(name) >= _SHORTEST and flag.startswith(name))


def _refuse_pasted(argument: str) -> None:
    flag, _, value = argument.partition("=")
    _refuse_opening(value if flag.startswith("--") and value else argument)
    strange = next((char for char in argument if char in _SPACES), "")
    if strange and (argument.startswith("-") or argument.strip(_SPACES) != argument):
        name = f"U+{ord(strange):04X}"
        raise ArgumentsError(f"VllmArgs: there is a character {name} in {argument!r} that is no space; write a space")
    if re.match(r"\s*--\w\S*\s|\s+--\w", flag):
        raise ArgumentsError(
            f"VllmArgs: {argument!r} is one argument with a space in it; leave out the quotation marks around it, or "
            "the \\ before the space"
        )
    if argument in _OF_SHELLS or argument.endswith(";") or argument.startswith(("$", "#")):
        raise ArgumentsError(f"VllmArgs: no shell reads {argument!r}; write the server's options alone")


def _refuse_opening(text: str) -> None:
    """Refuse an argument, or its value, that begins as nothing does that was written for a shell."""
    first = text[:1]
    if first and first in _DASHES:
        raise ArgumentsError(f"VllmArgs: {text!r} begins with {first!r}, a dash that is no hyphen; write --")
    if first and first in _QUOTES:
        raise ArgumentsError(f"VllmArgs: {text!r} begins with {first!r}; write straight quotation marks, ' or \"")
    if first == "{" and not text.startswith(_OF_TEMPLATES) and not _is_json(text):
        raise ArgumentsError(f"VllmArgs: {text!r} is no JSON; put JSON in single quotes, '{{\"name\": 1}}'")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse_reserved(argument: str) -> None:
    flag = argument.split("=", maxsplit=1)[0].replace("_", "-")
    if not flag.startswith("--") or flag == "--":
        return
    if meant := [own for own in RESERVED_FLAGS if own.startswith(flag)]:  # a beginning stands for the flag
        raise ArgumentsError(
            f"VllmArgs must not hold {flag}: {_WHY.get(meant[0] if len(meant) == 1 else '', _WHY[''])}"
        )


def has_flag(arguments: Sequence[str], flag: str) -> bool:
    """Tell whether a flag is among the arguments."""
    return any(_is(argument, flag) for argument in arguments)


def values_of(arguments: Sequence[str], flag: str) -> list[str]:
    """Return the values that follow a flag, or stand behind its equals sign."""
    found: list[str] = []
    taking = False
    for argument in arguments:
        _, equals, value = argument.partition("=")
        if argument.startswith("-"):
            taking = _is(argument, flag)
            found += [value] if taking and equals else []
        elif taking:
            found.append(argument)
    return found
