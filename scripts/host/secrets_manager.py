"""The Hugging Face token, from AWS Secrets Manager or from the job's own parameter. It is never printed."""

from __future__ import annotations

import json
import shutil
import subprocess


class SecretError(Exception):
    """A secret that could not be read; the message names it and the permission that is needed."""


def hugging_face_token(secret_id: str, plain: str) -> str:
    """Return the token, "" when the job names none. Raises SecretError."""
    if not secret_id:
        return plain
    return _token(_secret_string(secret_id))


def _token(text: str) -> str:
    """Take the token out of a secret that is plain text, or a JSON object as the console writes it."""
    try:
        value = json.loads(text)
    except ValueError:
        return text.strip()
    if isinstance(value, dict):
        found = [v for k, v in value.items() if k.lower() in ("hf_token", "token", "huggingface_token")]
        found = found or list(value.values())
        return str(found[0]).strip() if found else ""
    return text.strip()


def _secret_string(secret_id: str) -> str:
    try:
        import boto3
    except ImportError:
        return _by_command(secret_id)
    try:
        return str(boto3.client("secretsmanager").get_secret_value(SecretId=secret_id)["SecretString"])
    except Exception as error:  # noqa: BLE001 - botocore raises classes that it makes at run time
        raise _unreadable(secret_id, str(error)) from None


def _by_command(secret_id: str) -> str:
    """Ask the AWS command line, where boto3 is not installed."""
    program = shutil.which("aws")
    if program is None:
        raise _unreadable(secret_id, "neither boto3 nor the aws command is on this worker")
    query = [program, "secretsmanager", "get-secret-value", "--secret-id", secret_id]
    result = subprocess.run(
        [*query, "--query", "SecretString", "--output", "text"], capture_output=True, text=True, check=False, timeout=60
    )
    if result.returncode:
        raise _unreadable(secret_id, result.stderr.strip())
    return result.stdout


def _unreadable(secret_id: str, reason: str) -> SecretError:
    return SecretError(
        f"HfTokenSecretId {secret_id!r} could not be read: {reason[:300]}. "
        "The queue's role needs secretsmanager:GetSecretValue for it"
    )
