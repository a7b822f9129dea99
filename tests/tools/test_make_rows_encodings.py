"""Text in the encodings that spreadsheets save becomes rows, and what it was taken for is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.conversions import converted


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_whatever_excel_saves_is_read(encoding: str, separator: str, tmp_path: Path) -> None:
    text = f"id{separator}text\r\n007{separator}Größe “à la carte” für 5 € – naïve\r\n"
    rows = converted(tmp_path, "a.csv", text.encode(encoding))
    assert rows == [{"id": "007", "text": "Größe “à la carte” für 5 € – naïve"}]


def test_bytes_that_are_no_utf_8_are_read_as_windows_1252_and_that_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = "text\nplain\nüber\n".encode() + "Café au lait\nmañana\n".encode("cp1252")
    rows = converted(tmp_path, "a.csv", content)
    assert [row["text"] for row in rows] == ["plain", "über", "Café au lait", "mañana"]
    [note] = [line for line in capsys.readouterr().err.splitlines() if "note" in line]
    assert "is read as Windows-1252, as Excel saves it ('Café')" in note


@pytest.mark.parametrize(
    ("encoding", "text"), [("cp1251", "Привет"), ("shift_jis", "こんにちは"), ("mac_roman", "café")]
)
def test_an_encoding_that_is_named_is_taken(encoding: str, text: str, tmp_path: Path) -> None:
    [row] = converted(tmp_path, "a.csv", f"text\n{text}\n".encode(encoding), "--encoding", encoding)
    assert row == {"text": text}
