"""The server's life: started, refused, restarted in mid-chunk and ended, with a stand-in for vLLM that has no model."""

from __future__ import annotations

import functools
import gzip
import signal
import socket
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.address import Address
from engine.inquiry import ask_own
from support.fake_server import ROUTES, FakeServer, Fault
from support.programs import Session, outcome, rows, wait_until

TOKEN = "hf_aTokenThatNobodyMaySee"
SIGNATURE = "aSignatureThatNobodyMaySee"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    one = Session(tmp_path / "job", rows(map(str, range(6))))
    yield one
    one.stop()
    assert one.processes() == []


def test_a_session_starts_serves_and_ends_leaving_no_process(session: Session) -> None:
    assert "model load" in session.start().check().text
    assert len(session.engine_processes()) == 2  # the server and its engine
    session.chunk().check()
    assert "the server has ended" in session.stop().check().text
    assert session.processes() == []
    session.aggregate().check()
    assert [outcome(row) for row in session.written()] == [f"echo: {n}" for n in range(6)]
    assert session.summary()["model_loads"] == 1


def test_the_server_s_temporary_files_go_with_it(session: Session) -> None:
    session.start().check()
    engine = session.note().engines[0]
    assert engine.process
    scratch = Path(engine.scratch)
    server = Path(f"/proc/{engine.process.pid}/environ").read_bytes().split(b"\0")
    assert f"TMPDIR={scratch}".encode() in server
    (scratch / "left_behind").touch()
    session.stop().check()
    assert not scratch.exists()


REFUSED = {
    "it dies while loading": ("dies", "The vLLM server ended while it was starting"),
    "out of memory": ("out-of-memory", "lower MaxModelLen or GpuMemoryUtilization"),
    "a gated model": ("gated", "HfTokenSecretId"),
    "a wrong name": ("no-such-model", "check ModelName"),
    "a log with directives": ("hostile", "The vLLM server ended while it was starting"),
}


@pytest.mark.parametrize(("model", "says"), REFUSED.values(), ids=REFUSED.keys())
def test_a_server_that_ends_while_it_loads_is_told_with_what_to_do(model: str, says: str, session: Session) -> None:
    session.model = model
    session.start().refused(says)
    assert session.processes() == []


def test_a_server_that_never_answers_is_ended_at_the_time_limit(session: Session) -> None:
    session.model = "mute"
    message = session.start(server_start_timeout_seconds="2").refused("not ready after 2 s (ServerStartTimeoutSeconds)")
    assert "ended" not in message
    assert session.processes() == []


def test_a_slow_model_is_waited_for(session: Session) -> None:
    session.model = "slow"
    session.start().check()


def test_a_taken_port_costs_a_second_start_and_nothing_else(session: Session) -> None:
    session.model = "port-taken"
    assert "another program took the port" in session.start().check().text
    session.chunk().check()


def test_a_server_that_ignores_sigterm_is_killed(session: Session) -> None:
    session.model = "stubborn"
    session.start().check()
    assert "the server had to be killed" in session.stop().check().text
    assert session.processes() == []


def test_a_canceled_start_leaves_no_process(session: Session) -> None:
    session.model = "mute"
    program = session.launch(session.start_argv(**START))
    wait_until((session.folder / "session" / "starts").exists, program)
    program.send_signal(signal.SIGTERM)
    session.finish(program).refused("canceled while the server was starting")
    assert session.processes() == []


START = {"max_model_len": "64", "server_start_timeout_seconds": "3600"}


def test_rows_that_kill_the_server_are_set_aside_and_the_others_are_answered(session: Session) -> None:
    texts = [*map(str, range(8)), "poison", "more poison", *map(str, range(8, 14))]  # as many as are tried together
    session.input.write_bytes(b"".join(line + b"\n" for line in rows(texts)))
    session.prompts = "1-16"
    session.start().check()
    text = session.chunk(max_concurrency="16").check().text
    session.aggregate().check()
    written = session.written()
    assert Counter(map(outcome, written)) == Counter(["server_crash"] * 2 + [f"echo: {n}" for n in range(14)])
    assert "while this row was in flight" in written[8]["error"]["message"]
    assert session.summary()["model_loads"] - 1 <= text.count("the server died; the end of its log follows") <= 4


def test_a_lone_row_that_kills_the_server_is_set_aside_after_two_crashes(session: Session) -> None:
    session.input.write_bytes(rows(["poison"])[0])
    session.prompts = "1"
    session.start().check()
    assert session.chunk().check().text.count("the server died") == 2
    session.aggregate().check()
    (row,) = session.written()
    assert (outcome(row), row["error"]["attempts"]) == ("server_crash", 2)
    assert session.summary()["model_loads"] == 2, "no server is started for no row"


def test_nine_rows_that_kill_the_server_are_found_in_one_attempt_and_the_chunk_ends_well(session: Session) -> None:
    texts = [*map(str, range(20)), *(f"poison {n}" for n in range(9)), *map(str, range(20, 30))]
    session.input.write_bytes(b"".join(line + b"\n" for line in rows(texts)))
    session.prompts = "1-39"
    session.start().check()
    session.chunk(max_concurrency="40").check()
    session.aggregate().check()
    assert Counter(map(outcome, session.written())) == Counter(["server_crash"] * 9 + [f"echo: {n}" for n in range(30)])
    assert session.summary()["rerun"] == "21-29"
    assert session.summary()["model_loads"] <= 1 + 4 * 9


def test_a_server_that_kills_every_row_fails_the_task_so_that_another_worker_takes_the_chunk(session: Session) -> None:
    session.input.write_bytes(b"".join(line + b"\n" for line in rows(f"poison {n}" for n in range(20))))
    session.prompts = "1-20"
    session.start().check()
    session.chunk().refused("rows in a row ended the server, and it never answered any other row")
    assert not list(session.results.glob("lines-*.jsonl"))
    session.chunk("1").refused("never answered")  # the session's next chunk costs no load


def test_a_crash_that_no_row_is_to_blame_for_costs_no_row(session: Session) -> None:
    session.input.write_bytes(b"".join(line + b"\n" for line in rows(["a", "b", "crash-once", "c", "d", "e"])))
    session.start().check()
    assert "model load" in session.chunk().check().text
    session.aggregate().check()
    assert Counter(map(outcome, session.written())) == Counter(
        f"echo: {text}" for text in ("a", "b", "crash-once", "c", "d", "e")
    )
    assert len(session.engine_processes()) == 2


IMPATIENT = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import run_chunk
run_chunk.STALL_SECONDS /= 100
sys.exit(run_chunk.main())
"""  # the chunk's program, for which a server is stuck long before its rows time out


def test_a_server_that_hangs_is_noticed_by_its_own_signs_and_ended_whole(session: Session) -> None:
    session.input.write_bytes(b"".join(line + b"\n" for line in rows(["a", "stall", "b"])))
    session.prompts = "1-3"
    session.start().check()
    python, _, program, *options = session.chunk_argv()
    text = session.run([python, "-Bc", IMPATIENT, str(Path(program).parent), *options]).check().text
    session.aggregate().check()
    assert [outcome(row) for row in session.written()] == ["echo: a", "server_crash", "echo: b"]
    assert text.count("it is stuck and is ended") == 2
    assert session.engine_processes() == []


def test_a_server_that_dies_for_good_fails_the_chunk_with_its_log(session: Session) -> None:
    session.model = "once"
    session.input.write_bytes(b"".join(line + b"\n" for line in rows(["a", "poison"])))
    session.prompts = "1-2"
    session.start().check()
    result = session.chunk(max_concurrency="1")
    result.refused("The vLLM server ended while it was starting")
    assert "vllm: RuntimeError: the GPU is gone" in result.text
    assert session.engine_processes() == []
    session.aggregate().check()
    assert [outcome(row) for row in session.written()] == ["echo: a", "missing"]


def test_a_cancel_while_the_server_is_brought_back_ends_at_once(session: Session) -> None:
    session.model = "mute-again"
    session.input.write_bytes(b"".join(line + b"\n" for line in rows(["a", "crash-once"])))
    session.prompts = "1-2"
    session.start(server_start_timeout_seconds="7200").check()
    session.notice(7200)
    chunk = session.launch(session.chunk_argv())
    wait_until(lambda: (session.folder / "session" / "starts").stat().st_size == 2, chunk)
    chunk.send_signal(signal.SIGTERM)
    assert session.finish(chunk).status == 143


def test_two_sessions_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    both = [Session(tmp_path / name, rows(f"{name} {n}" for n in range(6))) for name in ("one", "two")]
    for session in both:
        session.start().check()
    chunks = [session.launch(session.chunk_argv()) for session in both]
    for session, chunk in zip(both, chunks, strict=True):
        session.finish(chunk).check()
    both[0].stop().check()
    assert len(both[1].engine_processes()) == 2
    both[1].stop().check()
    for session in both:
        session.aggregate().check()
        assert [outcome(row) for row in session.written()] == [f"echo: {session.folder.name} {n}" for n in range(6)]


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


FILES: dict[str, tuple[bytes | None, str]] = {
    "missing": (None, "does not exist"),
    "empty": (b"", "is empty"),
    "a mark alone": (b"\xef\xbb\xbf", "is empty"),
    "UTF-16": ('{"prompt": "x"}\n'.encode("utf-16"), "iconv"),
    "UTF-16 without a mark": ('{"prompt": "x"}\n'.encode("utf-16-le"), "iconv"),
    "binary": (b"\x00\x01\x02\x00" * 100, "UTF-8"),
    "Parquet": (b"PAR1" + bytes(range(1, 100)), "Parquet"),
    "zip": (b"PK\x03\x04abcdefgh", "zip"),
    "PDF": (b"%PDF-1.7 and so on", "PDF"),
    "gzip cut off": (gzip.compress(b'{"prompt": "x"}\n' * 5000)[:-20], "gzip"),
    "gzip damaged": (b"\x1f\x8b" + b"x" * 100, "gzip"),
    "gzip in gzip in gzip in gzip": (functools.reduce(lambda x, _: gzip.compress(x), range(4), b"{}\n"), "3 times"),
    "a page to log in on": (b'\n<!DOCTYPE html>\n<html>\n{"prompt": "x"}\n</html>', "an HTML page"),
    "blank lines": (b"\n \n", "asks for is blank"),
    "gzip of nothing": (gzip.compress(b""), "is empty"),
}


@pytest.mark.parametrize(("content", "says"), FILES.values(), ids=FILES.keys())
def test_an_input_that_cannot_be_read_is_refused_in_one_sentence(
    content: bytes | None, says: str, tmp_path: Path
) -> None:
    with FakeServer() as server:
        session = Session(tmp_path, url=server.url)
        if content is not None:
            session.input.write_bytes(content)
        session.start().refused("input.jsonl", says)


def test_an_input_that_cannot_be_used_starts_no_engine(session: Session) -> None:
    session.input.write_bytes(b"\n" * 6)
    session.start().refused("every line of input.jsonl that Prompts '1-6' asks for is blank")
    assert not (session.folder / "session" / "starts").exists()


PARAMETERS: dict[str, tuple[dict[str, str], str]] = {
    "a range past the end": ({"prompts": "7-9"}, "past the end of input.jsonl, which has 6 lines"),
    "a range that is none": ({"prompts": "1-x"}, "1-x"),
    "SamplingParams that are no JSON": ({"sampling_params": "{top_p: 1}"}, "SamplingParams"),
    "SamplingParams out of bounds": ({"sampling_params": '{"top_p": 7}'}, "SamplingParams"),
    "a temperature below 0": ({"temperature": "-0.5"}, "Temperature"),
    "a template that is not there": ({"prompt_template_file": "no.txt"}, "PromptTemplateFile"),
    "a schema that is no JSON": ({"response_schema_file": __file__}, "ResponseSchemaFile"),
    "an OutputField that results have": ({"output_field": "error"}, "OutputField"),
    "an open server": ({"vllm_args": "--host 0.0.0.0", "server_url": ""}, "VllmArgs"),
    "a token on the command line": ({"vllm_args": f"--hf-token {TOKEN}", "server_url": ""}, "HfTokenSecretId"),
    "VllmArgs that end in a quote": ({"vllm_args": "--x 'y", "server_url": ""}, "VllmArgs"),
    "a ServerUrl of another kind": ({"server_url": "ftp://x"}, "ServerUrl"),
    "a password in ServerUrl": ({"server_url": f"http://me:{TOKEN}@127.0.0.1:9/v1"}, "OPENAI_API_KEY"),
    "a model that is not served": ({"model_name": "other"}, "ModelName"),
    "a server that is not there": ({"server_url": "http://127.0.0.1:9"}, "127.0.0.1:9"),
    "no input at all": ({"input_file": ""}, "InputFile"),
}


@pytest.mark.parametrize(("options", "says"), PARAMETERS.values(), ids=PARAMETERS.keys())
def test_a_parameter_that_cannot_be_is_refused_by_its_name(options: dict[str, str], says: str, tmp_path: Path) -> None:
    with FakeServer() as server:
        session = Session(tmp_path, rows(map(str, range(6))), server.url)
        assert TOKEN not in session.start(**options).refused(says)


def test_a_server_of_ones_own_is_asked_for_each_route_and_never_for_its_list(session: Session) -> None:
    """vLLM needs more than a second for its list."""
    session.start().check()
    assert session.note().served.routes == set(ROUTES)


def test_a_chunk_without_a_session_says_so(tmp_path: Path) -> None:
    session = Session(tmp_path, rows(["a"]))
    (tmp_path / "session").mkdir()
    session.chunk().refused("the session has no server")


def test_a_route_is_missing_only_where_the_server_says_so() -> None:
    """A server that is busy for a moment must not cost every row of a route."""
    with FakeServer() as server:
        server.pages = {"/v1/embeddings": Fault(503, b"{}"), "/v1/responses": Fault(wire="reset")}
        assert ask_own(Address(server.url, ""), server.model, "").routes == set(ROUTES)
