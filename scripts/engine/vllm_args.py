"""VllmArgs: further arguments of the server, as a person writes or pastes them.

They are split as a shell splits words, and no shell runs. What was pasted from a page or a command line and means
something else there is refused with the character shown, on the user's machine and before a model is loaded. The
server's address, key and model are the bundle's own.
"""

from __future__ import annotations

import json
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
_SPACES = "\u00a0\u2007\u202f\u200b\u2060\ufeff"  # that look like a space, or like nothing
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
        name, equals, value = flag.partition("=")
        parameter = OF_PARAMETERS.get(name.replace("_", "-"))
        if parameter:
            found[parameter] = value if equals else "".join(arguments[place + 1 : place + 2])
    return found


def _refuse_pasted(argument: str) -> None:
    first = argument[:1]
    if first and first in _DASHES:
        raise ArgumentsError(f"VllmArgs: {argument!r} begins with {first!r}, a dash that is no hyphen; write --")
    if first and first in _QUOTES:
        raise ArgumentsError(f"VllmArgs: {argument!r} begins with {first!r}; write straight quotation marks, ' or \"")
    strange = next((char for char in argument if char in _SPACES), "")
    if strange and argument.startswith("-"):
        name = f"U+{ord(strange):04X}"
        raise ArgumentsError(f"VllmArgs: there is a character {name} in {argument!r} that is no space; write a space")
    if argument in _OF_SHELLS or argument.endswith(";") or argument.startswith(("$", "#")):
        raise ArgumentsError(f"VllmArgs: no shell reads {argument!r}; write the server's options alone")
    if first == "{" and not _is_json(argument):
        raise ArgumentsError(f"VllmArgs: {argument!r} is no JSON; put JSON in single quotes, '{{\"name\": 1}}'")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse_reserved(argument: str) -> None:
    flag = argument.split("=", maxsplit=1)[0].replace("_", "-")
    # vLLM's parser takes a flag's beginning for the flag
    if flag.startswith("--") and len(flag) > len("--") and any(own.startswith(flag) for own in RESERVED_FLAGS):
        raise ArgumentsError(f"VllmArgs must not hold {flag}: {_WHY.get(flag, _WHY[''])}")


def has_flag(arguments: Sequence[str], flag: str) -> bool:
    """Tell whether a flag is among the arguments."""
    return any(argument.partition("=")[0].replace("_", "-") == flag for argument in arguments)


def values_of(arguments: Sequence[str], flag: str) -> list[str]:
    """Return the values that follow a flag, or stand behind its equals sign."""
    found: list[str] = []
    taking = False
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if argument.startswith("-"):
            taking = name.replace("_", "-") == flag
            found += [value] if taking and equals else []
        elif taking:
            found.append(argument)
    return found
