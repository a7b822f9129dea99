"""The key of the session's server, which programs are given in their environment."""

from __future__ import annotations

import os

from engine.note import ServerError

KEY_VARIABLE = "VLLM_API_KEY"  # read by vLLM itself; keeps the key off the command line
_KEY_VARIABLES = (KEY_VARIABLE, "OPENAI_API_KEY")


def read_key() -> str:
    """Return the key of the session's server, from the environment. Raises ServerError for one that cannot be sent."""
    name = next((name for name in _KEY_VARIABLES if os.environ.get(name)), "")
    key = os.environ.get(name, "").strip()  # a file's last line break, often
    if not (key.isascii() and key.isprintable()):
        raise ServerError(f"{name} holds a character that no key has; set it anew")
    return key
