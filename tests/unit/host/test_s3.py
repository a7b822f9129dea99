"""Objects of S3 (moto's, on loopback, behind a proxy that cuts) by the role's keys in the environment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from host import s3, transfer
from host.transfer import TransferError
from results.delivery import FINISHED, deliver
from rows.source import prepare
from support.cut_proxy import Cuts, cut_proxy
from support.local_s3 import aws_variables, local_s3
from support.scripted_server import scripted, status

CONTENT = b"".join(b'{"prompt": "Question %d"}\n' % n for n in range(20_000))
BUCKET = "batch"


@pytest.fixture(scope="module")
def moto_port() -> Iterator[int]:
    with local_s3() as port:
        yield port


@pytest.fixture
def cuts(moto_port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cuts]:
    monkeypatch.setattr(transfer, "FIRST_PAUSE", 0.001)
    with cut_proxy(moto_port) as made:
        for name, value in aws_variables(made.port).items():
            monkeypatch.setenv(name, value)
        yield made


@pytest.fixture
def bucket(cuts: Cuts) -> Any:
    client = boto3.client("s3")
    client.create_bucket(Bucket=BUCKET)
    return client


def read(client: Any, key: str) -> bytes:
    content: bytes = client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
    return content


def test_an_input_is_read_by_the_role_and_resumes_after_a_lost_connection(
    bucket: Any, cuts: Cuts, tmp_path: Path
) -> None:
    bucket.put_object(Bucket=BUCKET, Key="in/a b?.jsonl", Body=CONTENT)
    said: list[str] = []
    cuts.down.append(200_000)
    found = prepare("", f"s3://{BUCKET}/in/a b?.jsonl", tmp_path, said.append)
    assert (found.name, found.lines, cuts.made) == ("a b?.jsonl", 20_000, 1)
    assert Path(found.path).read_bytes() == CONTENT
    assert [line for line in said if "from byte" in line], said


def test_an_object_that_changes_while_it_is_read_is_read_from_its_start(
    bucket: Any, cuts: Cuts, tmp_path: Path
) -> None:
    bucket.put_object(Bucket=BUCKET, Key="in.jsonl", Body=CONTENT)
    cuts.down.append(200_000)
    new = CONTENT.replace(b"Question", b"Quandary")

    def change(said: str) -> None:
        if "follows" in said:
            bucket.put_object(Bucket=BUCKET, Key="in.jsonl", Body=new)

    s3.download(f"s3://{BUCKET}/in.jsonl", tmp_path / "in.jsonl", change)
    assert (tmp_path / "in.jsonl").read_bytes() == new


def test_an_output_is_written_in_parts_where_it_is_large(
    bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "PART", 5 << 20)
    path = tmp_path / "output.jsonl"
    path.write_bytes(CONTENT * 13)
    assert path.stat().st_size > 5 << 20
    s3.upload(path, f"s3://{BUCKET}/out/one.jsonl")
    assert read(bucket, "out/one.jsonl") == CONTENT * 13
    assert bucket.head_object(Bucket=BUCKET, Key="out/one.jsonl")["ETag"].endswith('-2"')


@pytest.mark.parametrize(
    ("url", "keys"), [("run/7/", [f"run/7/{name}" for name in FINISHED]), ("x.jsonl", ["x.jsonl"])]
)
def test_a_prefix_receives_every_finished_file_and_a_key_the_answers(
    url: str, keys: list[str], bucket: Any, tmp_path: Path
) -> None:
    for name in FINISHED:
        (tmp_path / name).write_text(name, encoding="utf-8")
    assert deliver(f"s3://{BUCKET}/{url}", tmp_path) == ""
    assert [read(bucket, key).decode() for key in keys] == list(FINISHED[: len(keys)])


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (f"s3://{BUCKET}/nothing.jsonl", "there is no such object"),
        ("s3://no-such-bucket-here/x.jsonl", "there is no such bucket"),
        (f"s3://{BUCKET}/", "names no object"),
        (f"s3://{BUCKET}", "names no object"),
        ("s3:///x.jsonl", "must be s3://BUCKET/KEY"),
        ("s3://Not_A_Bucket!/x.jsonl", "Invalid bucket name"),
    ],
)
def test_what_is_not_there_is_told_in_a_sentence(url: str, says: str, bucket: Any, tmp_path: Path) -> None:
    with pytest.raises(TransferError, match=says):
        s3.download(url, tmp_path / "x", lambda _: None)
    assert list(tmp_path.iterdir()) == []


REFUSALS = {
    "AccessDenied": (403, "arn:aws:sts::123456789012:.* is denied; give it s3:GetObject"),
    "PermanentRedirect": (301, "the bucket is in eu-central-1; set AWS_DEFAULT_REGION"),
    "ExpiredToken": (400, "does not take the AWS keys"),
    "InvalidObjectState": (403, "S3 refuses it .InvalidObjectState: archived"),
}


@pytest.mark.parametrize("code", REFUSALS)
def test_a_refusal_names_who_is_refused_and_what_to_do(
    code: str, bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, says = REFUSALS[code]

    def refuse(*_: Any) -> None:
        headers = {"x-amz-bucket-region": "eu-central-1"}
        answer = {"HTTPStatusCode": status, "HTTPHeaders": headers}
        raise ClientError({"Error": {"Code": code, "Message": "archived"}, "ResponseMetadata": answer}, "GetObject")  # type: ignore[arg-type]

    monkeypatch.setattr(s3, "_fetch_rest", refuse)
    with pytest.raises(TransferError, match=says):
        s3.download(f"s3://{BUCKET}/x.jsonl", tmp_path / "x", lambda _: None)


def test_what_a_prefix_holds_is_found_but_for_what_is_empty(bucket: Any) -> None:
    for key, content in {"kept/a-1": b"x", "kept/a-2": b"", "kept/b-1": b"x"}.items():
        bucket.put_object(Bucket=BUCKET, Key=key, Body=content)
    assert s3.find(f"s3://{BUCKET}/kept/a", "Name") == [f"s3://{BUCKET}/kept/a-1"]
    s3.discard(f"s3://{BUCKET}/kept/a-1", "Name")
    assert bucket.list_objects_v2(Bucket=BUCKET, Prefix="kept/a-1")["KeyCount"] == 0


def test_what_the_role_may_not_delete_is_emptied(cuts: Cuts, monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(status(403), status(200)) as refusing:
        monkeypatch.setenv("AWS_ENDPOINT_URL", refusing.base)
        s3.discard(f"s3://{BUCKET}/kept/a-1", "Name")
    [(first, *_), (second, path, headers, _)] = refusing.seen
    assert (first, second, path) == ("DELETE", "PUT", f"/{BUCKET}/kept/a-1")
    assert headers["Content-Length"] == "0"


def test_a_worker_without_keys_says_so(cuts: Cuts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)  # it keeps the keys that it found first
    with pytest.raises(TransferError, match="no AWS keys here"):
        s3.download(f"s3://{BUCKET}/x.jsonl", tmp_path / "x", lambda _: None)


def test_a_delivery_that_is_refused_is_a_note(cuts: Cuts, tmp_path: Path) -> None:
    (tmp_path / "output.jsonl").write_text("{}\n", encoding="utf-8")
    note = deliver("s3://no-such-bucket-here/out.jsonl", tmp_path)
    assert note.startswith(
        "output.jsonl was not sent, it is in OutputDir: OutputUrl s3://no-such-bucket-here/out.jsonl"
    )
    assert "there is no such bucket" in note
