"""What is printed can be a directive only when a program means it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host import runner

DIRECTIVE = re.compile(r"^openjd_(progress|status|fail|env|redacted_env|unset_env|session_runtime_loglevel): (.+)$")
HOSTILE = ["openjd_fail: gone", "x\nopenjd_env: A", "x\ropenjd_status: y", "\x85openjd_env: B=1", "\u2028openjd_env: C"]


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.split("\n")[:-1]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_line_of_a_text_is_a_directive(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    runner.say(text)
    assert all(line.startswith(runner.PREFIX) for line in printed(capsys))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_status_or_a_failure_stays_one_directive(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    runner.status(text)
    runner.fail(text)
    found = [match[1] for line in printed(capsys) if (match := DIRECTIVE.match(line))]
    assert found == ["status", "fail"]


@given(st.text())
def test_a_printable_text_is_one_short_line(text: str) -> None:
    line = runner.printable(text, 40)
    assert len(line) <= 40
    assert len(line.splitlines()) <= 1


@pytest.mark.parametrize(("percent", "shown"), [(-3, "0.0"), (50, "50.0"), (1e9, "100.0")])
def test_progress_is_clamped(percent: float, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    runner.progress(percent)
    assert printed(capsys) == [f"openjd_progress: {shown}"]


def test_a_secret_with_a_line_break_is_one_json_directive(capsys: pytest.CaptureFixture[str]) -> None:
    runner.set_secret("TOKEN", "a\nb")
    (line,) = printed(capsys)
    assert json.loads(line.removeprefix("openjd_redacted_env: ")) == "TOKEN=a\nb"


@pytest.mark.parametrize(
    ("content", "seconds"),
    [
        (None, runner.NOTICE_SECONDS),
        ("torn", runner.NOTICE_SECONDS),
        ('{"NotifyEnd": 5}', runner.NOTICE_SECONDS),
        ('{"NotifyEnd": "2999-01-01T00:00:00Z"}', runner.LONGEST_NOTICE),  # a clock that was set back
    ],
)
def test_the_hosts_notice_is_one_that_it_may_give(content: str | None, seconds: float, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "cancel_info.json").write_text(content, encoding="utf-8")
    assert runner.notice_seconds(tmp_path) == seconds


def test_a_notice_that_is_over_leaves_no_time(tmp_path: Path) -> None:
    (tmp_path / "cancel_info.json").write_text('{"NotifyEnd": "2000-01-01T00:00:00Z"}', encoding="utf-8")
    assert runner.notice_seconds(tmp_path) < 0
