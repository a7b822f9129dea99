"""A Hugging Face token and a given server's key: from Secrets Manager (moto's), the aws command, or the job itself."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from host import secrets_manager
from host.secrets_manager import SecretError, hugging_face_token, server_key

TOKEN = "hf_abcdefghijklmnop"
FORMS = {
    "plain": TOKEN,
    "with a line break": f"{TOKEN}\n",
    "the console's JSON": json.dumps({"HF_TOKEN": TOKEN}),
    "JSON with other names": json.dumps({"user": "me", "token": TOKEN}),
    "in quotation marks": f'"{TOKEN}"\n',
    "JSON in quotation marks": json.dumps({"huggingface-token": f"'{TOKEN}'"}),
    "bytes": TOKEN.encode(),
    "bytes of JSON": json.dumps({"Hf_Token": TOKEN}).encode(),
}
REFUSED = {
    "a key of another service": (json.dumps({"aws_access_key_id": TOKEN, "password": TOKEN}), "a name that is known"),
    "an object in the token's place": (json.dumps({"HF_TOKEN": {"value": TOKEN}}), "a name that is known"),
    "no name": ("{}", "a name that is known"),
    "half an object": (f'{{"HF_TOKEN": "{TOKEN}"', "begins like a JSON object and is none"),
    "a list": (json.dumps([TOKEN]), "no token"),
    "a line of a shell": (f"export HF_TOKEN={TOKEN}", "no token"),
    "two lines": (f"{TOKEN}\n{TOKEN}", "no token"),
    "nothing": (" \n", "is empty"),
    "other bytes": (b"\xff\xfe\x00", "bytes that are no text"),
}


def stored(name: str) -> str:
    """Return the id of a secret."""
    return name.replace(" ", "-").replace("'", "")


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
        for name, value in {**FORMS, **{name: value for name, (value, _) in REFUSED.items()}}.items():
            kind = {"SecretBinary": value} if isinstance(value, bytes) else {"SecretString": value}
            client.create_secret(Name=stored(name), **kind)
        yield
    server.stop()


@pytest.mark.parametrize("name", FORMS)
def test_a_token_is_found_in_the_forms_that_people_store_it_in(name: str) -> None:
    assert hugging_face_token(stored(name), "") == TOKEN


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_token_is_refused_in_a_sentence_that_does_not_show_it(name: str) -> None:
    with pytest.raises(SecretError, match=REFUSED[name][1]) as caught:
        hugging_face_token(stored(name), "")
    assert stored(name) in str(caught.value)
    assert TOKEN not in str(caught.value)


def test_a_server_s_key_is_read_in_the_same_forms_and_under_names_of_its_own() -> None:
    client = boto3.client("secretsmanager")
    client.create_secret(Name="key", SecretString=json.dumps({"user": "me", "OPENAI_API_KEY": "sk-1234"}))
    assert (server_key("key"), server_key("plain"), server_key("")) == ("sk-1234", TOKEN, "")
    for name in ("not-there", stored("two lines")):
        with pytest.raises(SecretError, match=f"ServerKeySecretId '{name}'"):
            server_key(name)
    with pytest.raises(SecretError, match="OPENAI_API_KEY"):
        server_key(stored("no name"))


def test_a_secret_s_own_region_is_asked() -> None:
    region = "eu-central-1"
    client = boto3.client("secretsmanager", region_name=region)
    arn = client.create_secret(Name="far", SecretString=TOKEN)["ARN"]
    assert hugging_face_token(arn, "") == TOKEN


def test_a_secret_that_is_not_there_is_named_with_the_permission_it_needs() -> None:
    with pytest.raises(SecretError, match=r"HfTokenSecretId 'not-there'.*secretsmanager:GetSecretValue"):
        hugging_face_token("not-there", "")


def test_the_plain_token_is_taken_when_no_secret_is_named() -> None:
    assert hugging_face_token("", TOKEN) == TOKEN
    assert hugging_face_token("", f' "{TOKEN}"\n') == TOKEN
    assert hugging_face_token("", "") == hugging_face_token("", " ") == ""


@pytest.fixture
def no_boto3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Take boto3 away, and put an empty folder on PATH in place of the machine's programs."""
    monkeypatch.setitem(sys.modules, "boto3", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def write_command(folder: Path, script: str) -> None:
    """Put an aws command into a folder."""
    program = folder / "aws"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)


@pytest.mark.parametrize(
    "answer", [{"SecretString": TOKEN}, {"SecretBinary": base64.b64encode(TOKEN.encode()).decode()}]
)
def test_without_boto3_the_aws_command_is_asked(answer: dict[str, str], no_boto3: Path) -> None:
    write_command(no_boto3, f'[ "$1 $4" = "secretsmanager my-secret" ] && echo \'{json.dumps(answer)}\'')
    assert hugging_face_token("my-secret", "") == TOKEN


BROKEN = {
    "an aws command that hangs": ("exec /bin/sleep 600", "did not answer within 0.5 s"),
    "an aws command that says no": ("echo 'AccessDenied: no' >&2; exit 254", "AccessDenied: no"),
    "an aws command that talks": ("echo hello", "gave no JSON"),
}


@pytest.mark.parametrize(("script", "says"), BROKEN.values(), ids=BROKEN.keys())
def test_an_aws_command_that_does_not_help_is_told_in_a_sentence(
    script: str, says: str, no_boto3: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets_manager, "COMMAND_SECONDS", 0.5 if "sleep" in script else 600)
    write_command(no_boto3, script)
    with pytest.raises(SecretError, match=says):
        hugging_face_token("my-secret", "")


def test_without_boto3_and_aws_the_message_says_so(no_boto3: Path) -> None:
    with pytest.raises(SecretError, match="neither boto3 nor the aws command"):
        hugging_face_token("my-secret", "")
