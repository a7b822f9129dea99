"""What a session keeps to itself: its key, tokens, signed addresses, and its port."""

from __future__ import annotations

import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from support.fake_server import FakeServer, Fault
from support.programs import Session, rows

TOKEN = "hf_aTokenThatNobodyMaySee"
SIGNATURE = "aSignatureThatNobodyMaySee"


def test_neither_key_nor_token_nor_signature_is_seen_anywhere(tmp_path: Path) -> None:
    lines = rows(map(str, range(60)))
    page = Fault(body=b"".join(line + b"\n" for line in lines))
    with FakeServer() as files:
        files.pages["*"] = page
        session = Session(tmp_path / "job", prompts="1-60", options={"max_concurrency": "2"})
        secrets = {"url": f"{files.url}/in.jsonl?X-Amz-Signature={SIGNATURE}", "token": TOKEN}
        for name, text in secrets.items():
            (session.folder / name).write_text(text)
        fetched = {"input_file": "", "input_url_file": str(session.folder / "url")}
        started = session.start(hf_token_file=str(session.folder / "token"), **fetched).check()
        chunk = session.launch(session.chunk_argv())
        seen = ""
        while chunk.poll() is None:
            seen += "\n".join(command_lines())
        said = session.finish(chunk).check().text
        said += session.aggregate(**fetched).check().text + session.stop().check().text
    key = session.environment["VLLM_API_KEY"]
    assert len(key) >= 32
    directives = [line for line in started.text.split("\n") if line.startswith("openjd_redacted_env: ")]
    assert directives == [f"openjd_redacted_env: VLLM_API_KEY={key}", f"openjd_redacted_env: HF_TOKEN={TOKEN}"]
    said += "".join(line for line in started.text.split("\n") if line not in directives)
    kept = [path for path in session.folder.rglob("*") if path.is_file() and path.name not in secrets]
    written = b"".join(path.read_bytes() for path in kept).decode(errors="replace")
    assert "run_chunk.py" in seen
    assert [name for name in (key, TOKEN, SIGNATURE) if name in seen + said + written] == []
    assert session.written()[59]["generated_text"] == "echo: 59"


def command_lines() -> Iterator[str]:
    """Yield the command line of every process, as anybody on the machine can read it."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                yield (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has ended


def test_the_server_listens_on_loopback_behind_a_key(session: Session) -> None:
    session.start().check()
    port = int(session.note().engines[0].url.rpartition(":")[2])
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    assert next(address for address in listening if address.endswith(f":{port:04X}")).startswith("0100007F:")
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET /v1/models HTTP/1.1\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 401")


def test_what_the_session_keeps_is_for_its_owner_only(session: Session) -> None:
    session.start().check()
    folder = session.folder / "session"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for name in ("engine.json", "server-1.log", "supervisor.log"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
