"""Input and output by presigned URL: a real S3 implementation (moto) behind a proxy that cuts."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from botocore.client import BaseClient
from botocore.config import Config
from moto.server import ThreadedMotoServer

from host import transfer
from rows.ranges import Lines
from rows.source import prepare
from support.cut_proxy import Cuts, cut_proxy

CONTENT = b"".join(b'{"prompt": "Question %d", "id": %d}\n' % (i, i) for i in range(5_000))
BUCKET = "batch"
SIGNED_NAMES = ("Signature", "Credential", "AKIA", "Expires")


@pytest.fixture(scope="module")
def moto_port() -> Iterator[int]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield server.get_host_and_port()[1]
    server.stop()


@pytest.fixture
def cuts(moto_port: int) -> Iterator[Cuts]:
    with cut_proxy(moto_port) as made:
        yield made


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "FIRST_PAUSE", 0.001)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def bucket(port: int, version: str) -> BaseClient:
    """Return an S3 client of the proxy's address, with an empty bucket."""
    s3 = boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-west-2",
        aws_access_key_id="AKIAEXAMPLE",
        aws_secret_access_key="secret-key",
        config=Config(signature_version=version, s3={"addressing_style": "path"}),
    )
    with contextlib.suppress(s3.exceptions.BucketAlreadyOwnedByYou):  # a client's second attempt finds its first's
        s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    return s3


@pytest.fixture(params=["s3v4", "s3"], ids=["signature version 4", "signature version 2"])
def s3(request: pytest.FixtureRequest, cuts: Cuts) -> Iterator[BaseClient]:
    client = bucket(cuts.port, request.param)
    yield client
    for item in client.list_objects_v2(Bucket=BUCKET).get("Contents", []):
        client.delete_object(Bucket=BUCKET, Key=item["Key"])
    client.delete_bucket(Bucket=BUCKET)
    client.close()


def presigned(s3: BaseClient, action: str, key: str) -> str:
    url: str = s3.generate_presigned_url(action, Params={"Bucket": BUCKET, "Key": key}, ExpiresIn=3600)
    return url


def test_a_presigned_input_survives_a_dropped_connection(s3: BaseClient, cuts: Cuts, tmp_path: Path) -> None:
    s3.put_object(Bucket=BUCKET, Key="in/prompts.jsonl", Body=CONTENT)
    url = presigned(s3, "get_object", "in/prompts.jsonl")
    cuts.down.append(100_000)
    said: list[str] = []
    found = prepare("", url, tmp_path, said.append)
    assert (cuts.made, found.name, found.lines) == (1, "prompts.jsonl", 5_000)
    assert Path(found.path).read_bytes() == CONTENT
    assert [line for line in said if "from byte" in line], said
    assert f"{len(CONTENT):,} bytes" in said[0]
    assert not [line for line in said if any(name in line for name in SIGNED_NAMES)]


def test_a_presigned_gzip_input_is_unpacked(s3: BaseClient, tmp_path: Path) -> None:
    s3.put_object(Bucket=BUCKET, Key="prompts.jsonl.gz", Body=gzip.compress(CONTENT), ContentEncoding="gzip")
    found = prepare("", presigned(s3, "get_object", "prompts.jsonl.gz"), tmp_path, lambda _: None)
    assert dict(found.read(Lines([range(5_000, 5_001)]))) == {5_000: b'{"prompt": "Question 4999", "id": 4999}'}


def test_a_second_task_of_the_session_does_not_fetch_again(s3: BaseClient, tmp_path: Path) -> None:
    s3.put_object(Bucket=BUCKET, Key="k.jsonl", Body=CONTENT)
    url = presigned(s3, "get_object", "k.jsonl")
    first = prepare("", url, tmp_path, lambda _: None)
    s3.delete_object(Bucket=BUCKET, Key="k.jsonl")
    assert prepare("", url, tmp_path, lambda _: None) == first


def test_a_presigned_output_survives_a_dropped_connection(s3: BaseClient, cuts: Cuts, tmp_path: Path) -> None:
    path = tmp_path / "output.jsonl"
    path.write_bytes(CONTENT)
    url = presigned(s3, "put_object", "out/output.jsonl")
    cuts.up.append(50_000)
    said: list[str] = []
    transfer.upload(path, url, said.append)
    assert cuts.made == 1
    assert len(said) == 1
    assert not [line for line in said if any(name in line for name in SIGNED_NAMES)]
    assert s3.get_object(Bucket=BUCKET, Key="out/output.jsonl")["Body"].read() == CONTENT
    assert path.read_bytes() == CONTENT


def test_an_object_that_is_not_there_is_refused_at_once(s3: BaseClient, tmp_path: Path) -> None:
    with pytest.raises(
        transfer.TransferError, match=r"^InputUrl http://127\.0\.0\.1:\d+/batch/none\?\.\.\.: HTTP 404$"
    ):
        transfer.download(presigned(s3, "get_object", "none"), tmp_path / "in", lambda _: None)
    assert list(tmp_path.iterdir()) == []
