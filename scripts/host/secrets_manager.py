"""The Hugging Face token and a given server's key, from AWS Secrets Manager or a job's parameter. Never printed.

A secret is the token as plain text, or a JSON object that has it under one of the names of its kind. Anything else is
refused: what a secret of another service holds must not be sent to the hub, nor to a server.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

NAMES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACEHUB_API_TOKEN", "HUGGINGFACE_TOKEN", "HF_API_TOKEN", "TOKEN")
KEY_NAMES = ("OPENAI_API_KEY", "VLLM_API_KEY", "AZURE_OPENAI_API_KEY", "API_KEY", "KEY", "TOKEN")
CONNECT_SECONDS, READ_SECONDS = 10, 20  # for each of TRIES
TRIES = 3
COMMAND_SECONDS = 60
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{4,}=*")  # what an Authorization header can carry. Source: RFC 6750, b64token
_ARN_REGION = re.compile(r"arn:[a-z-]+:secretsmanager:([a-z0-9-]+):")


class SecretError(Exception):
    """A secret that could not be read or holds no token; the message names it and what it needs."""


def hugging_face_token(secret_id: str, plain: str) -> str:
    """Return the token, "" when the job names none. Raises SecretError."""
    if secret_id:
        secret = _Secret("HfTokenSecretId", secret_id)
        return _find_token(secret.read(), str(secret), NAMES)
    return _find_token(plain, "HfToken", NAMES) if plain.strip() else ""


def server_key(secret_id: str) -> str:
    """Return the key of a given server, "" when the job names none. Raises SecretError."""
    if not secret_id:
        return ""
    secret = _Secret("ServerKeySecretId", secret_id)
    return _find_token(secret.read(), str(secret), KEY_NAMES)


def _find_token(text: str, name: str, names: Sequence[str]) -> str:
    """Take the token out of a text or of a JSON object, as the console writes it. Raises SecretError."""
    text = text.strip().removeprefix("\ufeff")
    if text.startswith("{"):
        text = _pick(text, name, names)
    token = text.strip().strip("\"'").strip()
    if not _TOKEN.fullmatch(token):
        what = "is empty" if not token else "holds a text that is no token"
        raise SecretError(f"{name} {what}; it must be the token alone, or a JSON object with {names[0]}")
    return token


def _pick(text: str, name: str, names: Sequence[str]) -> str:
    """Return the value of the best known name of a JSON object."""
    try:
        fields: dict[str, Any] = {_plain_name(key): value for key, value in json.loads(text).items()}
    except (ValueError, RecursionError):
        raise SecretError(f"{name} begins like a JSON object and is none; store the token alone") from None
    for known in map(_plain_name, names):
        if isinstance(fields.get(known), str):
            return str(fields[known])
    raise SecretError(f"{name} has no token under a name that is known ({', '.join(names)}); store it as {names[0]}")


def _plain_name(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


@dataclass(frozen=True, slots=True)
class _Secret:
    """A secret of Secrets Manager, and the parameter that names it."""

    parameter: str
    id: str

    def __str__(self) -> str:
        return f"{self.parameter} {self.id!r}"

    def read(self) -> str:
        """Return the secret's text, also of one that is stored as bytes. Raises SecretError."""
        try:
            import boto3
            from botocore.config import Config
        except ImportError:
            return self._text(self._ask_command())
        retries = {"total_max_attempts": TRIES, "mode": "standard"}
        config = Config(connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, retries=retries)
        region = _ARN_REGION.match(self.id)
        try:
            client = boto3.client("secretsmanager", region_name=region[1] if region else None, config=config)
            return self._text(client.get_secret_value(SecretId=self.id))
        except SecretError:
            raise
        except Exception as error:  # noqa: BLE001 - botocore raises classes that it makes at run time
            raise self._refuse(str(error)) from None

    def _text(self, answer: dict[str, Any]) -> str:
        if isinstance(answer.get("SecretString"), str):
            return str(answer["SecretString"])
        try:
            return bytes(answer["SecretBinary"]).decode("utf-8")
        except (KeyError, TypeError, ValueError):
            raise SecretError(f"{self} holds bytes that are no text; store the token alone") from None

    def _ask_command(self) -> dict[str, Any]:
        """Ask the AWS command line, where boto3 is not installed."""
        program = shutil.which("aws")
        if program is None:
            raise self._refuse("neither boto3 nor the aws command is on this worker")
        query = [program, "secretsmanager", "get-secret-value", "--secret-id", self.id, "--output", "json"]
        if region := _ARN_REGION.match(self.id):
            query += ["--region", region[1]]
        try:
            result = subprocess.run(
                query, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=COMMAND_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise self._refuse(f"the aws command did not answer within {COMMAND_SECONDS} s") from None
        except OSError as error:
            raise self._refuse(f"the aws command cannot be run ({error.strerror})") from None
        if result.returncode:
            raise self._refuse(result.stderr.decode("utf-8", "replace").strip())
        try:
            answer: dict[str, Any] = dict(json.loads(result.stdout))
            if isinstance(answer.get("SecretBinary"), str):
                answer["SecretBinary"] = base64.b64decode(answer["SecretBinary"])
        except (ValueError, TypeError):
            raise self._refuse("the aws command gave no JSON") from None
        return answer

    def _refuse(self, reason: str) -> SecretError:
        return SecretError(
            f"{self} could not be read: {reason[:300]}. The queue's role needs secretsmanager:GetSecretValue for it"
        )
