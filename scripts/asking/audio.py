"""Audio named by URL: `file_url` of a transcription or translation line, as vLLM's own batch runner takes it.

Only http, https and data URLs are read, never a path of the worker, and no address that only this machine should ask,
at no redirect either.
"""

from __future__ import annotations

import base64
import binascii
import os
import urllib.parse

import aiohttp

from asking.hosts import ClosedHost, open_session
from asking.unanswered import Unanswered
from dialects.exchange import Failure
from host import addresses, transfer
from host.transfer import shown
from rows.errors import RowError

SIZE_LIMIT = int(os.environ.get("VLLM_MAX_AUDIO_CLIP_FILESIZE_MB", "25")) << 20  # bytes; what the server takes
TIMEOUT = aiohttp.ClientTimeout(total=600, sock_connect=60, sock_read=60)  # seconds
BLOCK = 1 << 16  # bytes read at a time
REDIRECTS = 10
_REDIRECT = frozenset({301, 302, 303, 307, 308})


async def fetch(url: str) -> tuple[str, bytes]:
    """Return (file name, content). Raises RowError for what will never be had, Unanswered for what may be later."""
    if url.startswith("data:"):
        return "audio", _decode_data(url)
    if not url.startswith(("http://", "https://")):
        raise RowError("invalid_value", '"file_url" must be an http, https or data URL')
    try:
        content = await _download(url)
    except (aiohttp.InvalidURL, ValueError):  # their texts hold the whole URL
        raise RowError("invalid_value", f'"file_url" {shown(url)} is no URL that can be asked') from None
    except ClosedHost:
        advice = f"set {addresses.ALLOW} on the worker if rows may ask it"
        raise RowError(
            "invalid_value", f'"file_url" {shown(url)} leads to a host that is closed to rows; {advice}'
        ) from None
    except (aiohttp.ClientError, OSError) as error:
        raise _explain(url, error) from None
    if len(content) > SIZE_LIMIT:
        raise RowError("invalid_value", f'"file_url" {shown(url)} is larger than {SIZE_LIMIT:,} bytes')
    return urllib.parse.urlsplit(url).path.rpartition("/")[2] or "audio", content


async def _download(url: str) -> bytes:
    """Return a file's bytes, or a little more than the limit of them."""
    for _ in range(REDIRECTS):
        async with open_session(url, TIMEOUT) as session, session.get(url, allow_redirects=False) as response:
            if response.status not in _REDIRECT or "Location" not in response.headers:
                response.raise_for_status()
                return await _read(response)
            url = urllib.parse.urljoin(url, response.headers["Location"])
        if not url.startswith(("http://", "https://")):
            raise ValueError("a redirect to another scheme")
    raise aiohttp.ClientError(f"more than {REDIRECTS} redirects")


async def _read(response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for block in response.content.iter_chunked(BLOCK):
        content += block
        if len(content) > SIZE_LIMIT:
            break
    return bytes(content)


def _explain(url: str, error: Exception) -> Unanswered:
    status = error.status if isinstance(error, aiohttp.ClientResponseError) else None
    reason = f"HTTP {status}" if status else str(error) or type(error).__name__
    failure = Failure("file_unavailable", f'"file_url" {shown(url)}: {reason}')
    return Unanswered(failure, passing=status is None or transfer.may_pass(status))


def _decode_data(url: str) -> bytes:
    head, comma, data = url.partition(",")
    if not comma:
        raise RowError("invalid_value", '"file_url" is a data URL without data')
    try:
        return (
            base64.b64decode(data, validate=True) if head.endswith(";base64") else urllib.parse.unquote_to_bytes(data)
        )
    except binascii.Error as error:
        raise RowError("invalid_value", f'"file_url" is not base64: {error}') from None
