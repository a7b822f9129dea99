"""What a session refuses before it starts an engine."""

from __future__ import annotations

import functools
import gzip
from pathlib import Path

import pytest

from support.fake_server import FakeServer, know_one_model
from support.programs import Session, rows

TOKEN = "hf_aTokenThatNobodyMaySee"


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
    "a server that is not there": (
        {"server_url": "http://127.0.0.1:9", "server_start_timeout_seconds": "1"},
        "127.0.0.1:9",
    ),
    "no input at all": ({"input_file": ""}, "InputFile"),
}


@pytest.mark.parametrize(("options", "says"), PARAMETERS.values(), ids=PARAMETERS.keys())
def test_a_parameter_that_cannot_be_is_refused_by_its_name(options: dict[str, str], says: str, tmp_path: Path) -> None:
    with FakeServer(know_one_model) as server:
        session = Session(tmp_path, rows(map(str, range(6))), server.url)
        assert TOKEN not in session.start(**options).refused(says)
