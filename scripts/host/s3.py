"""Objects named s3://BUCKET/KEY, by the queue's role: a resumable download, an upload in parts, finding and discarding.

boto3 finds the role's keys in the session's environment. What S3 refuses is told in a sentence that names the object,
who was refused and what it needs. Nothing here knows what the bytes mean.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from host import files, transfer
from host.transfer import BLOCK, Report, TransferError

SCHEME = "s3://"
PART = 64 << 20  # bytes of one part of an upload; boto3 takes larger ones where more than 10,000 would be needed
CONNECT_SECONDS, READ_SECONDS = 20, 60
TYPES = {".jsonl": "application/x-ndjson", ".json": "application/json", ".html": "text/html; charset=utf-8"}
_NO_OBJECT = "there is no such object; check the key"
_DENIED = (
    "{who} is denied; give it {action} for this object (and the use of its KMS key, if it has one), and check that the "
    "object is there"
)
_ELSEWHERE = "the bucket is in {region}; set AWS_DEFAULT_REGION on the worker to its region"
_BAD_KEYS = "S3 does not take the AWS keys here ({code})"
_OTHER = "S3 refuses it ({code}: {message})"
_SENTENCES = {  # by S3's error code, or by the status where an answer has no body. Source: S3 API reference, "Errors"
    **dict.fromkeys(("NoSuchKey", "404", "NotFound"), _NO_OBJECT),
    "NoSuchBucket": "there is no such bucket; check the name",
    **dict.fromkeys(("AccessDenied", "403", "Forbidden", "AllAccessDisabled"), _DENIED),
    **dict.fromkeys(("PermanentRedirect", "301", "AuthorizationHeaderMalformed"), _ELSEWHERE),
    "IllegalLocationConstraintException": _ELSEWHERE,
    **dict.fromkeys(("ExpiredToken", "InvalidToken", "InvalidAccessKeyId", "SignatureDoesNotMatch"), _BAD_KEYS),
    "RequestTimeTooSkewed": _BAD_KEYS,
}


def is_s3(url: str) -> bool:
    """Tell whether a URL names an object of S3."""
    return url.lower().startswith(SCHEME)


def download(url: str, path: Path, report: Report, name: str = "InputUrl") -> None:
    """Write an object to `path`, resuming after a lost connection; the file appears whole or not at all.

    `name` is the parameter that asks for it. Raises TransferError when S3 refuses, or after five attempts in a row that
    bring nothing new.
    """
    what = f"{name} {url}"
    bucket, key = _split(url, name)
    if not key or key.endswith("/"):
        raise TransferError(f"{what} names no object; name one, such as s3://{bucket}/prompts.jsonl")
    client = _connect(what)
    version: dict[str, str] = {}
    with files.name_at_end(path) as partial:

        def fetch() -> None:
            with _told(client, what, "s3:GetObject"):
                _fetch_rest(client, {"Bucket": bucket, "Key": key}, partial, version, report)

        transfer.retry(fetch, what, report, lambda: partial.stat().st_size if partial.exists() else 0)


def upload(path: Path, url: str, name: str = "OutputUrl") -> None:
    """Write a file to an object, or below a prefix that ends in /, in parts where it is large. Raises TransferError."""
    what = f"{name} {url}"
    bucket, key = _split(url, name)
    if not key or key.endswith("/"):
        key += path.name
    client = _connect(what)
    from boto3.s3.transfer import TransferConfig

    kind = {"ContentType": TYPES.get(path.suffix, "application/octet-stream")}
    parts = TransferConfig(multipart_threshold=PART, multipart_chunksize=PART, max_concurrency=4)
    with _refused_as(what), _told(client, what, "s3:PutObject"):
        client.upload_file(str(path), bucket, key, ExtraArgs=kind, Config=parts)


def find(url: str, name: str) -> list[str]:
    """Return the objects whose addresses begin with `url` and that hold something (1,000 at most).

    Raises TransferError.
    """
    what = f"{name} {url}"
    bucket, key = _split(url, name)
    client = _connect(what)
    with _refused_as(what), _told(client, what, "s3:ListBucket"):
        found = client.list_objects_v2(Bucket=bucket, Prefix=key).get("Contents", [])
    return [f"{SCHEME}{bucket}/{each['Key']}" for each in found if each["Size"]]


def discard(url: str, name: str) -> None:
    """Delete an object; where the role may not, leave it empty. Raises TransferError."""
    from botocore.exceptions import ClientError

    what = f"{name} {url}"
    bucket, key = _split(url, name)
    client = _connect(what)
    with _refused_as(what), _told(client, what, "s3:PutObject"):
        try:
            client.delete_object(Bucket=bucket, Key=key)
        except ClientError:  # the role of a queue need not have the right to delete
            client.put_object(Bucket=bucket, Key=key, Body=b"")


@contextlib.contextmanager
def _refused_as(what: str) -> Iterator[None]:
    """Turn what kept failing although it might have passed into TransferError: boto3 has tried it again."""
    try:
        yield
    except OSError as error:
        raise TransferError(f"{what}: {error}") from None


def _split(url: str, name: str) -> tuple[str, str]:
    bucket, _, key = url[len(SCHEME) :].partition("/")
    if not bucket or set(bucket) & set("?#@: "):
        raise TransferError(f"{name} must be s3://BUCKET/KEY")
    return bucket, key


def _connect(what: str) -> Any:
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    except ImportError:
        raise TransferError(f"{what}: s3:// needs boto3, which this worker lacks; name it in CondaPackages") from None
    retries = {"total_max_attempts": transfer.ATTEMPTS, "mode": "standard"}
    config = Config(connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, retries=retries)
    try:
        return boto3.client("s3", config=config)
    except (BotoCoreError, ValueError) as error:
        raise TransferError(f"{what}: {error}") from None


def _fetch_rest(client: Any, object_: dict[str, str], partial: Path, version: dict[str, str], report: Report) -> None:
    """Append what is still missing of the version that was begun; where that is gone, start again."""
    from botocore.exceptions import ClientError

    have = partial.stat().st_size if partial.exists() and version else 0
    rest = {"Range": f"bytes={have}-", "IfMatch": version["etag"]} if have else {}
    try:
        answer = client.get_object(**object_, **rest)
    except ClientError as error:
        if have and _code(error) in ("PreconditionFailed", "412", "InvalidRange", "416"):
            version.clear()
            raise ConnectionError("the object changed meanwhile") from None
        raise
    version["etag"] = answer["ETag"]
    total = have + answer["ContentLength"]
    report(
        f"fetching s3://{object_['Bucket']}/{object_['Key']}, {total:,} bytes"
        + (f", from byte {have:,}" if have else "")
    )
    with partial.open("ab" if have else "wb") as file:
        for block in answer["Body"].iter_chunks(BLOCK):
            file.write(block)
        copied = file.tell()
    if copied != total:
        raise ConnectionError(f"{total - copied:,} bytes are missing")


@contextlib.contextmanager
def _told(client: Any, what: str, action: str) -> Any:
    """Turn what S3 refuses into TransferError, and what may pass into ConnectionError."""
    from boto3.exceptions import S3UploadFailedError
    from botocore import exceptions

    try:
        yield
    except (exceptions.ClientError, S3UploadFailedError) as error:
        refusal = error if isinstance(error, exceptions.ClientError) else error.__context__
        if not isinstance(refusal, exceptions.ClientError):
            raise ConnectionError(str(error)) from None
        raise _explain(refusal, what, action) from None
    except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError, exceptions.CredentialRetrievalError):
        raise TransferError(f"{what}: there are no AWS keys here; on a farm the queue's role gives them") from None
    except exceptions.ParamValidationError as error:
        raise TransferError(f"{what}: {' '.join(str(error).split())[:300]}") from None
    except exceptions.BotoCoreError as error:
        raise ConnectionError(str(error)) from None


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _explain(error: Any, what: str, action: str) -> Exception:
    code, answer = _code(error), error.response.get("ResponseMetadata", {})
    if transfer.may_pass(int(answer.get("HTTPStatusCode", 0))) or code in ("SlowDown", "RequestTimeout"):
        return ConnectionError(code)
    sentence = _SENTENCES.get(code, _OTHER)
    facts = {
        "code": code,
        "action": action,
        "who": _who() if sentence is _DENIED else "",
        "region": answer.get("HTTPHeaders", {}).get("x-amz-bucket-region", "another region"),
        "message": error.response.get("Error", {}).get("Message", "")[:200],
    }
    return TransferError(f"{what}: {sentence.format(**facts)}")


def _who() -> str:
    """Return the role that asks, as far as that can be had."""
    import boto3
    from botocore.config import Config

    with contextlib.suppress(Exception):
        config = Config(connect_timeout=5, read_timeout=5, retries={"total_max_attempts": 1})
        return str(boto3.client("sts", config=config).get_caller_identity()["Arn"])
    return "the queue's role"
