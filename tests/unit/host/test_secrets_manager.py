"""The Hugging Face token: from Secrets Manager (moto's, on loopback), from the aws command, or from the job itself."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from host import secrets_manager
from host.secrets_manager import SecretError, hugging_face_token

TOKEN = "hf_abcdefghijklmnop"
FORMS = {
    "plain": TOKEN,
    "with a line break": f"{TOKEN}\n",
    "the console's JSON": json.dumps({"HF_TOKEN": TOKEN}),
    "JSON with other names": json.dumps({"user": "me", "token": TOKEN}),
}


@pytest.fixture(scope="module", autouse=True)
def secrets() -> Iterator[None]:
    """Give a Secrets Manager on loopback that holds the token in every form."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_DEFAULT_REGION", "us-west-2")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "testing")
        client = boto3.client("secretsmanager")
        for name, value in FORMS.items():
            client.create_secret(Name=name.replace(" ", "-").replace("'", ""), SecretString=value)
        yield
    server.stop()


@pytest.mark.parametrize("name", FORMS)
def test_a_token_is_found_in_the_forms_that_people_store_it_in(name: str) -> None:
    assert hugging_face_token(name.replace(" ", "-").replace("'", ""), "") == TOKEN


def test_a_secret_that_is_not_there_is_named_with_the_permission_it_needs() -> None:
    with pytest.raises(SecretError, match=r"HfTokenSecretId 'nothing'.*secretsmanager:GetSecretValue"):
        hugging_face_token("nothing", "")


def test_the_plain_token_is_taken_when_no_secret_is_named() -> None:
    assert hugging_face_token("", TOKEN) == TOKEN
    assert hugging_face_token("", "") == ""


@pytest.fixture
def no_boto3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Take boto3 away, and put an empty folder on PATH in place of the machine's programs."""
    monkeypatch.setitem(sys.modules, "boto3", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_without_boto3_the_aws_command_is_asked(no_boto3: Path) -> None:
    program = no_boto3 / "aws"
    program.write_text(f'#!/bin/sh\n[ "$1 $4" = "secretsmanager my-secret" ] && echo {TOKEN}\n', encoding="utf-8")
    program.chmod(0o755)
    assert hugging_face_token("my-secret", "") == TOKEN


def test_without_boto3_and_aws_the_message_says_so(no_boto3: Path) -> None:
    with pytest.raises(SecretError, match="neither boto3 nor the aws command"):
        hugging_face_token("my-secret", "")


def test_a_json_secret_without_a_token_is_not_guessed_at() -> None:
    assert secrets_manager._token("{}") == ""
