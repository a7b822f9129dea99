"""Bytes over http and https: a resumable download and a retried upload.

Presigned URLs carry their secret in the query, so no message here holds more of a URL than `shown` lets through.
Nothing here knows what the bytes mean.
"""

from __future__ import annotations

import http.client
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from host import files

ATTEMPTS = 5
FIRST_PAUSE = 0.5  # seconds, doubled after every attempt
TIMEOUT = 60  # seconds without a byte
BLOCK = 1 << 20  # bytes read at a time
UNREADABLE = "no URL that can be read"
_PASSING = frozenset({408, 409, 425, 429})

Report = Callable[[str], None]


class TransferError(Exception):
    """A download or upload that did not succeed; the message says what to do and holds no secret."""


def may_pass(status: int) -> bool:
    """Tell whether an HTTP status is worth another attempt."""
    return status in _PASSING or status >= 500


def shown(url: str) -> str:
    """Return a URL without its query, user and fragment, fit for a log."""
    try:
        parts = urllib.parse.urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return UNREADABLE
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}" + ("?..." if parts.query else "")


def download(url: str, path: Path, report: Report) -> None:
    """Write what `url` answers to `path`, resuming after a lost connection; the file appears whole or not at all.

    Raises TransferError when the server refuses, or after five attempts in a row that bring nothing new.
    """
    what = f"InputUrl {shown(url)}"
    address = _address(url, "InputUrl")
    validator: dict[str, str] = {}
    with files.name_at_end(path) as partial:
        retry(lambda: _download_rest(address, partial, validator, report), what, report, lambda: _size_of(partial))


def upload(path: Path, url: str, report: Report) -> None:
    """PUT a file to `url`. Raises TransferError when the server refuses, or after five attempts."""
    address = _address(url, "OutputUrl")
    retry(lambda: _put(path, address), f"OutputUrl {shown(url)}", report, lambda: 0)


def _address(url: str, name: str) -> str:
    """Return a URL that urllib can ask, its characters beyond ASCII and its spaces escaped."""
    if not url.lower().startswith(("http://", "https://")):
        raise TransferError(f"{name} must begin with http://, https:// or s3://")
    if shown(url) == UNREADABLE:
        raise TransferError(f"{name} is {UNREADABLE}; check it")
    if "@" in urllib.parse.urlsplit(url).netloc:
        raise TransferError(f"{name} must not hold a user or a password, which are not sent; make a presigned URL")
    return urllib.parse.quote(url, safe="%/:?#[]@!$&'()*+,;=~-._")


def retry(action: Callable[[], None], what: str, report: Report, progress: Callable[[], int]) -> None:
    """Run an action until it succeeds; attempts that came further than all before do not count against ATTEMPTS."""
    attempt, furthest = 1, 0
    while True:
        try:
            action()
            return
        except urllib.error.HTTPError as error:
            error.close()
            reason = f"HTTP {error.code}"
            if not may_pass(error.code):
                hint = "; a presigned URL may have expired" if error.code in (400, 403) else ""
                raise TransferError(f"{what}: {reason}{hint}") from None
        except (OSError, http.client.HTTPException) as error:
            reason = _reason(error)
        except ValueError:  # of a host, or of a redirect's address; the message quotes what may be secret
            raise TransferError(f"{what}: it is, or leads to, {UNREADABLE}; check it") from None
        before, furthest = furthest, max(furthest, progress())
        attempt = 1 if furthest > before else attempt + 1
        if attempt > ATTEMPTS:
            raise TransferError(f"{what}: {reason}, {ATTEMPTS} attempts")
        report(f"{what}: {reason}; attempt {attempt} of {ATTEMPTS} follows")
        time.sleep(FIRST_PAUSE * 2 ** (attempt - 1))


def _reason(error: Exception) -> str:
    if isinstance(error, http.client.InvalidURL):  # its message quotes what may be a password
        return f"it leads to {UNREADABLE}"
    cause = getattr(error, "reason", None) or error
    return f"{type(cause).__name__}: {cause}" if not isinstance(cause, str) else cause


def _size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _download_rest(url: str, partial: Path, validator: dict[str, str], report: Report) -> None:
    """Append what is still missing; a server that cannot resume, or whose object changed, starts the file again."""
    have = _size_of(partial)
    headers = {"Accept-Encoding": "identity"}
    if have and validator:
        headers |= {"Range": f"bytes={have}-", "If-Range": validator["version"]}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT) as response:
        resumed = response.status == 206
        part = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
        version = _version(response.headers)
        if resumed and not (part and int(part[1]) == have and version in ("", validator.get("version"))):
            validator.clear()
            raise http.client.HTTPException("the server sent another part than was asked for, or of another object")
        have = have if resumed else 0
        if version:
            validator["version"] = version
        length = part[2] if resumed and part else response.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() else None
        report(f"fetching {shown(url)}, {_size(total)}" + (f", from byte {have:,}" if have else ""))
        with partial.open("ab" if resumed else "wb") as file:
            copied = have + _copy(response, file)
    if total is not None and copied != total:
        raise http.client.IncompleteRead(b"", total - copied)


def _version(headers: Any) -> str:
    """Return what names this very content in If-Range: a strong ETag, else the date (RFC 9110, section 13.1.5)."""
    etag = headers.get("ETag", "")
    return str(headers.get("Last-Modified", "") if not etag or etag.startswith("W/") else etag)


def _copy(response: Any, file: Any) -> int:
    copied = 0
    while block := response.read1(BLOCK):  # what is there: `read` would lose the beginning of a block that is cut
        file.write(block)
        copied += len(block)
    return copied


def _size(count: int | None) -> str:
    return "length not told" if count is None else f"{count:,} bytes"


class _NoContentType(urllib.request.BaseHandler):
    """Takes the content type away that urllib makes up: a presigned URL was signed without one."""

    handler_order = 900  # after the one that adds it

    def http_request(self, request: urllib.request.Request) -> urllib.request.Request:
        """Return the request without it."""
        request.unredirected_hdrs.pop("Content-type", None)
        return request

    https_request = http_request


class _PutRedirects(urllib.request.HTTPRedirectHandler):
    """Follows 307 and 308 of a PUT, which S3 sends while a new bucket's name spreads."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:  # noqa: ARG002
        """Return the same PUT for the new address, its file from the beginning."""
        if code not in (307, 308):
            return None
        req.data.seek(0)
        return urllib.request.Request(newurl, data=req.data, headers=dict(req.header_items()), method="PUT")


def _put(path: Path, url: str) -> None:
    opener = urllib.request.build_opener(_PutRedirects, _NoContentType)
    with path.open("rb") as file:
        headers = {"Content-Length": str(path.stat().st_size)}
        with opener.open(urllib.request.Request(url, data=file, headers=headers, method="PUT"), timeout=TIMEOUT):
            pass
