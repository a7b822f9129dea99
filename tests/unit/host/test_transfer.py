"""Downloads and uploads by http: scripted servers that cut, lie, redirect and are busy."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from host import transfer
from rows.source import SourceError, prepare
from support.scripted_server import Scripted, Step, scripted, status

CONTENT = b"".join(b'{"prompt": "Question %d", "id": %d}\n' % (i, i) for i in range(5_000))


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "FIRST_PAUSE", 0.001)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def cut_short(etag: str = '"1"') -> Step:
    """Promise all of CONTENT and send half of it."""
    return lambda request: request.reply(200, CONTENT[: len(CONTENT) // 2], Content_Length=str(len(CONTENT)), ETag=etag)


def rest(request: Scripted) -> None:
    """Send the part that was asked for, as a server that can resume does."""
    start = int(request.headers["Range"].removeprefix("bytes=").rstrip("-"))
    request.reply(206, CONTENT[start:], Content_Range=f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}", ETag='"1"')


def fetched(server: Any, folder: Path, path: str = "/x?sig=secret") -> bytes:
    said: list[str] = []
    transfer.download(server.base + path, folder / "in", said.append)
    assert not [line for line in said if "secret" in line]
    return (folder / "in").read_bytes()


def test_a_download_resumes_with_the_object_that_it_began(tmp_path: Path) -> None:
    with scripted(cut_short(), rest) as server:
        assert fetched(server, tmp_path) == CONTENT
        headers = server.seen[1][2]
        assert (headers["Range"], headers["If-Range"]) == (f"bytes={len(CONTENT) // 2}-", '"1"')


def test_packed_data_that_was_cut_on_its_way_is_fetched_again(tmp_path: Path) -> None:
    packed = gzip.compress(CONTENT)
    with scripted(status(200, packed[:-9]), status(200, packed)) as server:
        source = prepare("", server.base + "/in.jsonl.gz?sig=secret", tmp_path, lambda _: None)
        assert source.size == len(CONTENT)


def test_packed_data_that_stays_damaged_is_refused_after_a_few_attempts(tmp_path: Path) -> None:
    with scripted(status(200, gzip.compress(CONTENT)[:-9])) as server:
        with pytest.raises(SourceError, match="damaged or cut off"):
            prepare("", server.base + "/in.jsonl.gz?sig=secret", tmp_path, lambda _: None)
        assert len(server.seen) == 3


def test_an_object_that_changed_meanwhile_is_fetched_from_its_start(tmp_path: Path) -> None:
    with scripted(cut_short(), status(200, b"new content\n", ETag='"2"')) as server:
        assert fetched(server, tmp_path) == b"new content\n"


def test_a_part_that_was_not_asked_for_is_not_appended(tmp_path: Path) -> None:
    wrong = status(206, CONTENT[:10], Content_Range=f"bytes 0-9/{len(CONTENT)}", ETag='"1"')
    with scripted(cut_short(), wrong, status(200, CONTENT)) as server:
        assert fetched(server, tmp_path) == CONTENT


def test_a_part_that_is_shorter_than_the_rest_is_not_the_whole(tmp_path: Path) -> None:
    def short(request: Scripted) -> None:
        start = int(request.headers["Range"].removeprefix("bytes=").rstrip("-"))
        told = f"bytes {start}-{start + 99}/{len(CONTENT)}"
        request.reply(206, CONTENT[start : start + 100], Content_Range=told, ETag='"1"')

    with scripted(cut_short(), short, rest) as server:
        assert fetched(server, tmp_path) == CONTENT


def test_parts_of_two_objects_are_not_put_together(tmp_path: Path) -> None:
    other = CONTENT.replace(b"Question", b"QUESTION")

    def rest_of_another(request: Scripted) -> None:
        start = int(request.headers["Range"].removeprefix("bytes=").rstrip("-"))
        told = f"bytes {start}-{len(other) - 1}/{len(other)}"
        request.reply(206, other[start:], Content_Range=told, ETag='"2"')

    with scripted(cut_short(), rest_of_another, status(200, other, ETag='"2"')) as server:
        assert fetched(server, tmp_path) == other


def test_what_came_of_a_chunk_that_was_cut_is_kept(tmp_path: Path) -> None:
    def chunk(request: Scripted) -> None:
        request.protocol_version = "HTTP/1.1"
        request.send_response(200)
        for name, value in {"Transfer-Encoding": "chunked", "ETag": '"1"'}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(b"%x\r\n" % len(CONTENT) + CONTENT[:1000])
        request.close_connection = True

    with scripted(chunk, rest) as server:
        assert fetched(server, tmp_path) == CONTENT
        assert server.seen[1][2]["Range"] == "bytes=1000-"


def test_a_redirect_to_a_host_that_cannot_be_is_told_in_a_sentence(tmp_path: Path) -> None:
    with (
        scripted(status(302, Location="http://a..b/?sig=secret")) as server,
        pytest.raises(transfer.TransferError) as raised,
    ):
        fetched(server, tmp_path)
    assert "no URL that can be read" in str(raised.value)


def test_an_output_url_with_a_host_that_cannot_be_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "output.jsonl").write_bytes(b"{}\n")
    with pytest.raises(transfer.TransferError, match="no URL that can be read"):
        transfer.upload(tmp_path / "output.jsonl", "https://bucket..s3.example/o?sig=secret", lambda _: None)


def test_a_download_that_advances_is_not_given_up(tmp_path: Path) -> None:
    def thousand(request: Scripted) -> None:
        start = int((request.headers["Range"] or "bytes=0-").removeprefix("bytes=").rstrip("-"))
        whole = {"Content_Length": str(len(CONTENT) - start), "ETag": '"1"'}
        if start:
            whole["Content_Range"] = f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}"
        request.reply(206 if start else 200, CONTENT[start : start + 20_000], **whole)

    with scripted(thousand) as server:
        assert fetched(server, tmp_path) == CONTENT
        assert len(server.seen) > transfer.ATTEMPTS


def test_a_download_that_stays_short_never_appears(tmp_path: Path) -> None:
    with scripted(cut_short()) as server, pytest.raises(transfer.TransferError, match="5 attempts"):
        fetched(server, tmp_path)
    assert not (tmp_path / "in").exists()


def part(size: int) -> Step:
    """Promise all of CONTENT and send so much of it, without a word of what object it is."""
    return lambda request: request.reply(200, CONTENT[:size], Content_Length=str(len(CONTENT)))


def test_the_last_attempt_is_not_given_up_when_it_advances(tmp_path: Path) -> None:
    steps = [part(100), *[part(0)] * (transfer.ATTEMPTS - 1), part(200), status(200, CONTENT)]
    with scripted(*steps) as server:
        assert fetched(server, tmp_path) == CONTENT


def test_attempts_that_reach_no_further_than_one_before_are_given_up(tmp_path: Path) -> None:
    steps = [part(200), *[part(100), part(150)] * transfer.ATTEMPTS]
    with scripted(*steps) as server:
        with pytest.raises(transfer.TransferError, match="5 attempts"):
            fetched(server, tmp_path)
        assert len(server.seen) == 1 + transfer.ATTEMPTS


def test_a_download_resumes_by_the_date_where_the_etag_is_weak(tmp_path: Path) -> None:
    date = "Mon, 30 Nov 2026 10:00:00 GMT"

    def cut(request: Scripted) -> None:
        whole = {"Content_Length": str(len(CONTENT)), "ETag": 'W/"1"', "Last_Modified": date}
        request.reply(200, CONTENT[: len(CONTENT) // 2], **whole)

    def rest_by_date(request: Scripted) -> None:
        half = len(CONTENT) // 2
        told = {"Content_Range": f"bytes {half}-{len(CONTENT) - 1}/{len(CONTENT)}", "ETag": 'W/"1"'}
        request.reply(206, CONTENT[half:], **told, Last_Modified=date)

    with scripted(cut, rest_by_date) as server:
        assert fetched(server, tmp_path) == CONTENT
        assert server.seen[1][2]["If-Range"] == date


def test_a_length_that_is_no_number_is_no_length(tmp_path: Path) -> None:
    with scripted(lambda request: request.reply(200, CONTENT, Content_Length="abc")) as server:
        assert fetched(server, tmp_path) == CONTENT


def test_a_redirect_to_what_is_no_address_shows_nothing_of_it(tmp_path: Path) -> None:
    with (
        scripted(status(302, Location="http://user:secret@127.0.0.1/x")) as server,
        pytest.raises(transfer.TransferError, match="it leads to no URL that can be read"),
    ):
        fetched(server, tmp_path)


@pytest.mark.parametrize("code", [429, 500, 503, 507])
def test_a_busy_server_is_asked_again(code: int, tmp_path: Path) -> None:
    with scripted(status(code), status(code), status(200, CONTENT)) as server:
        assert fetched(server, tmp_path) == CONTENT


def test_an_expired_url_is_final_and_says_so_without_its_signature(tmp_path: Path) -> None:
    with scripted(status(403)) as server:
        with pytest.raises(transfer.TransferError, match=r"/x\?\.\.\.: HTTP 403; a presigned URL may have expired$"):
            fetched(server, tmp_path)
        assert len(server.seen) == 1


def test_a_redirect_of_the_input_is_followed(tmp_path: Path) -> None:
    with scripted(status(302, Location="/elsewhere"), status(200, CONTENT)) as server:
        assert fetched(server, tmp_path) == CONTENT
        assert server.seen[1][1] == "/elsewhere"


@pytest.mark.parametrize("code", [307, 308])
def test_a_redirect_of_the_output_is_followed_with_the_whole_file(code: int, tmp_path: Path) -> None:
    path = tmp_path / "output.jsonl"
    path.write_bytes(CONTENT)
    with scripted(status(code, Location="/region"), status(200)) as server:
        transfer.upload(path, server.base + "/x?sig=secret", lambda _: None)
        method, where, headers, body = server.seen[1]
    assert (method, where, body) == ("PUT", "/region", CONTENT)
    assert headers["Content-Length"] == str(len(CONTENT))


def test_an_upload_is_not_given_a_content_type_that_the_signature_lacks(tmp_path: Path) -> None:
    path = tmp_path / "output.jsonl"
    path.write_bytes(b"{}\n")
    with scripted(status(200)) as server:
        transfer.upload(path, server.base + "/x", lambda _: None)
        assert "Content-Type" not in server.seen[0][2]


@pytest.mark.parametrize("path", ["/a b?sig=secret", "/données?sig=secret", "/100%25?sig=a%2Bb"])
def test_a_url_with_unusual_characters_is_asked(path: str, tmp_path: Path) -> None:
    with scripted(status(200, CONTENT)) as server:
        assert fetched(server, tmp_path, path) == CONTENT


@pytest.mark.parametrize(
    "url",
    [
        "s3://bucket/key?sig=secret",
        "file:///etc/passwd",
        "http://[::1?sig=secret",
        "http://host:port/?sig=secret",
        "http://user:secret@127.0.0.1/x",
        "http://user:secret@127.0.0.1:9/x",
    ],
)
def test_a_url_that_cannot_be_asked_is_refused_without_its_query(url: str, tmp_path: Path) -> None:
    with pytest.raises(transfer.TransferError) as raised:
        transfer.download(url, tmp_path / "in", lambda _: None)
    assert "secret" not in str(raised.value)


def test_no_part_of_a_url_that_can_be_secret_is_shown() -> None:
    assert (
        transfer.shown("https://user:pw@host:8443/a/b.jsonl?X-Amz-Signature=s#f") == "https://host:8443/a/b.jsonl?..."
    )
