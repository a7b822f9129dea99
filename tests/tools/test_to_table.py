"""tools/to_table.py: a user's columns as they were, then the answers' fields, whatever the lines' dialects."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import make_rows
import to_table
from dialects.exchange import Failure
from support.dialect_rows import CHAT, USER, answered, chat_body, failed
from support.tables import failure, result, table, tabled, write_results

ROOT = Path(__file__).resolve().parents[2]
MOOD = {"sentiment": "positive", "topics": ["service", "price"]}
TOPICS = '["service", "price"]'


def test_own_columns_come_first_then_the_fields_of_the_answers(tmp_path: Path) -> None:
    rows = [
        result({"id": "007", "text": "Good.", "stars": 5}, MOOD),
        result({"id": "8", "text": "Bad.", "stars": 1}, MOOD),
    ]
    assert table(tmp_path, rows) == [
        ["id", "text", "stars", "sentiment", "topics"],
        ["007", "Good.", "5", "positive", TOPICS],
        ["8", "Bad.", "1", "positive", TOPICS],
    ]


def test_answers_that_are_no_objects_stay_one_column(tmp_path: Path) -> None:
    assert table(
        tmp_path, [result({"id": 1}, "fine"), result({"id": 2}, '{"a": 1} or so'), result({"id": 3}, "[1]")]
    ) == [
        ["id", "generated_text"],
        ["1", "fine"],
        ["2", '{"a": 1} or so'],
        ["3", "[1]"],
    ]


def test_where_most_answers_are_objects_the_others_stay_whole(tmp_path: Path) -> None:
    assert table(
        tmp_path, [result({"id": 1}, {"a": 1}), result({"id": 2}, "sorry"), result({"id": 3}, {"b": None})]
    ) == [
        ["id", "a", "b", "generated_text"],
        ["1", "1", "", ""],
        ["2", "", "", "sorry"],
        ["3", "", "", ""],
    ]


def test_an_object_between_fences_is_an_object(tmp_path: Path) -> None:
    assert table(tmp_path, [result({}, '```json\n{\n  "a": [1,\n 2]\n}\n```\n')]) == [["a"], ["[1, 2]"]]


def test_objects_without_common_fields_are_data_and_stay_whole(tmp_path: Path) -> None:
    rows = [result({"id": n}, {f"word{n}": n}) for n in range(300)]
    assert table(tmp_path, rows)[0] == ["id", "generated_text"]


def test_the_users_own_column_keeps_its_name(tmp_path: Path) -> None:
    rows = [result({"sentiment": "gold", "finish_reason_": 1}, MOOD)]
    assert table(tmp_path, rows)[0] == ["sentiment", "finish_reason_", "answer.sentiment", "topics"]


def test_fields_that_gave_way_to_the_results_come_back(tmp_path: Path) -> None:
    own = {"id": 1, "error": "E7", "generated_text": "an older one", "finish_reason": "mine"}
    lines = [answered({"prompt": "p", **own}, chat_body("new")), failed({"prompt": "p", **own}, Failure("x", "y"))]
    heading, *rows = table(tmp_path, lines)
    assert heading == ["prompt", "id", "error", "generated_text", "finish_reason", "answer.generated_text"]
    assert rows == [["p", "1", "E7", "an older one", "mine", "new"], ["p", "1", "E7", "an older one", "mine", ""]]


def test_details_are_added_where_they_are_asked_for(tmp_path: Path) -> None:
    rows = [result({"id": 1}, "a", reasoning="so", previous={"prompt_tokens": "mine"}), failure({"id": 2})]
    assert table(tmp_path, rows, "--details") == [
        [
            *("id", "prompt_tokens", "generated_text", "finish_reason", "result.prompt_tokens", "completion_tokens"),
            *("reasoning", "error_code", "error_message"),
        ],
        ["1", "mine", "a", "stop", "7", "9", "so", "", ""],
        ["2", "", "", "", "", "", "", "too_many_failures", "not asked"],
    ]


LINES: dict[str, dict[str, Any]] = {
    "openai": {"custom_id": "a", "method": "POST", "url": CHAT, "body": {"messages": USER}},
    "anthropic": {"custom_id": "a", "params": {"max_tokens": 9, "messages": USER}},
    "runpod": {"id": "a", "note": "n", "input": {"messages": USER}},
    "bedrock": {"recordId": "a", "note": "n", "modelInput": {"messages": USER, "max_tokens": 9}},
}
MESSAGE = {"type": "message", "content": [{"type": "text", "text": json.dumps(MOOD)}], "stop_reason": "end_turn"}


@pytest.mark.parametrize("dialect", LINES)
def test_every_dialect_gives_its_id_and_the_answers_fields(tmp_path: Path, dialect: str) -> None:
    body = MESSAGE | {"usage": {}} if dialect == "anthropic" else chat_body(json.dumps(MOOD))
    heading, row = table(tmp_path, [answered(LINES[dialect], body)])
    cells = dict(zip(heading, row, strict=True))
    assert (row[0], heading[-2:]) == ("a", ["sentiment", "topics"])
    assert (cells["sentiment"], cells["topics"]) == ("positive", TOPICS)
    assert cells.get("note", "n") == "n"


@pytest.mark.parametrize("dialect", LINES)
def test_every_dialects_failure_says_why(tmp_path: Path, dialect: str) -> None:
    failure = Failure("rate_limited", "too many at once", 429, 5)
    heading, row = table(tmp_path, [failed(LINES[dialect], failure)], "--details")
    cells = dict(zip(heading, row, strict=True))
    assert row[0] == "a"
    assert cells["error_message"] == "too many at once"
    assert cells["error_code"]


@pytest.mark.parametrize(
    "body",
    [
        {"generation": "so", "stop_reason": "stop"},
        {"results": [{"outputText": "so"}]},
        {"outputs": [{"text": "so"}]},
        {"generations": [{"text": "so"}]},
        {"content": [{"type": "text", "text": "so"}], "stop_reason": "end_turn"},
        {"output": {"message": {"role": "assistant", "content": [{"text": "so"}]}}, "stopReason": "end_turn"},
        {"choices": [{"text": "so", "finish_reason": "stop"}]},
    ],
    ids=["llama", "titan", "mistral", "cohere", "anthropic", "converse", "completions"],
)
def test_an_answer_in_a_model_familys_shape_is_its_text(tmp_path: Path, body: dict[str, Any]) -> None:
    line = {"recordId": "R", "modelInput": {}, "modelOutput": body}
    assert table(tmp_path, [line]) == [["recordId", "modelInput", "generated_text"], ["R", "{}", "so"]]


@pytest.mark.parametrize(
    ("results", "names"),
    [
        ({"score": 0.5, "prompt_tokens": 3}, ["score"]),
        ({"scores": [0.5, 1], "prompt_tokens": 3}, ["scores"]),
        ({"embedding": [0.1, 0.2], "prompt_tokens": 3}, ["embedding"]),
        ({"label": "a", "probs": [1], "num_classes": 1, "prompt_tokens": 3}, ["label", "probs", "num_classes"]),
        ({"results": [{"index": 0}]}, ["results"]),
    ],
    ids=["score", "scores", "vector", "class", "ranks"],
)
def test_answers_of_encoders_are_columns(tmp_path: Path, results: dict[str, Any], names: list[str]) -> None:
    heading, row = table(tmp_path, [{"id": 1, "text": "t", **results}])
    assert heading == ["id", "text", *names]
    assert [json.loads(cell) for cell in row[2:] if cell != "a"] == [results[name] for name in names if name != "label"]


def test_a_line_that_was_no_row_keeps_its_place(tmp_path: Path) -> None:
    lines = [result({"id": 1}, "a"), {"line": 2, "error": {"code": "invalid_json", "message": "not JSON"}}]
    assert table(tmp_path, lines, "--details")[2][-2:] == ["invalid_json", "line 2: not JSON"]


def test_numbers_stand_as_they_do_in_the_results(tmp_path: Path) -> None:
    numbers = ["12345678901234567890.123456789", "1e400", "-1e999", "1.50", "12345678901234567890"]
    own = ", ".join(f'"n{place}": {number}' for place, number in enumerate(numbers))
    answer = json.dumps(f'{{"{{": {numbers[0]}, "list": [1e400]}}')
    line = f'{{{own}, "generated_text": {answer}, "finish_reason": "stop", "prompt_tokens": 1, "completion_tokens": 1}}'
    assert table(tmp_path, [line])[1] == [*numbers, numbers[0], "[1e400]"]
    written = tabled(tmp_path, [line], "t.jsonl").read_text()
    assert all(f": {number}" in written for number in numbers)


def test_the_columns_of_the_users_file_alone_in_its_order(tmp_path: Path) -> None:
    source = tmp_path / "reviews.csv"
    source.write_text("stars,prompt,id\n5,Good.,7\n")
    rows = tmp_path / "rows.jsonl"
    assert make_rows.main([str(source), "-o", str(rows), "--template", "Judge: {{prompt}}"]) == 0
    [row] = [json.loads(line) for line in rows.read_text().splitlines()]
    assert row == {"stars": "5", "prompt_beside": "Good.", "id": "7", "prompt": "Judge: Good."}
    assert table(tmp_path, [result(row, MOOD)], "--like", str(source)) == [
        ["stars", "prompt", "id", "sentiment", "topics"],
        ["5", "Good.", "7", "positive", TOPICS],
    ]


def test_a_name_that_had_to_give_way_comes_back(tmp_path: Path) -> None:
    assert table(tmp_path, [result({"prompt": "p", "messages_beside": [1]}, "a")])[0] == [
        *("prompt", "messages", "generated_text"),
    ]


@pytest.mark.parametrize("separator", [";", "\t", "|", ","])
def test_a_csv_like_another_has_its_separator(tmp_path: Path, separator: str) -> None:
    like = tmp_path / "a.csv"
    like.write_text(separator.join(("id", '"a, b"')) + "\n" + separator.join(("1", "x")) + "\n")
    made = tabled(tmp_path, [result({"id": "1", "a, b": "x;y"}, {"a": 1})], "t.csv", "--like", str(like))
    [heads, cells] = csv.reader(made.read_text("utf-8-sig").splitlines(), delimiter=separator)
    assert (heads, cells) == (["id", "a, b", "a"], ["1", "x;y", "1"])


def test_the_last_lines_say_what_there_is_and_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    like = tmp_path / "a.csv"
    like.write_text("id,gone\n1,2\n")
    rows = [
        result({"id": 1}, {"a": 1}),
        result({"id": 2}, "x"),
        failure({"id": 3}),
        result({"id": 4}, {"a": "y" * 40_000}),
    ]
    tabled(tmp_path, rows, "t.csv", "--like", str(like))
    assert capsys.readouterr().err.splitlines() == [
        "4 rows, 4 columns: id, gone, a, generated_text",
        "1 row has no answer; --details says why",
        "1 answer is no JSON object and stays whole",
        "1 cell is cut at what a spreadsheet's can hold; .jsonl has it whole",
        "no row has a column 'gone'",
    ]


def test_what_makes_no_table_is_refused_and_leaves_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refusal(*arguments: str) -> str:
        assert to_table.main([*arguments]) == 1
        return capsys.readouterr().err

    run = write_results(tmp_path, ["{}", "{broken"])
    empty = write_results(tmp_path / "empty", [])
    lines = run / "output" / "output.jsonl"
    assert "output.jsonl:2: not JSON" in refusal(str(run), "-o", str(tmp_path / "t.csv"))
    assert "holds no results" in refusal(str(empty), "-o", str(tmp_path / "t.csv"))
    assert "there is no output.jsonl in" in refusal(str(tmp_path), "-o", str(tmp_path / "t.csv"))
    assert "is not there" in refusal(str(tmp_path / "nowhere"), "-o", str(tmp_path / "t.csv"))
    assert "does not say its form" in refusal(str(run), "-o", str(tmp_path / "t.doc"))
    assert "is the file to read" in refusal(str(lines), "-o", str(lines))
    assert {path.name for path in tmp_path.iterdir()} == {"run", "empty"}


@pytest.mark.parametrize(("library", "form"), [("openpyxl", "xlsx"), ("pyarrow", "parquet")])
def test_a_library_that_is_missing_is_named_with_what_to_install(tmp_path: Path, library: str, form: str) -> None:
    run = write_results(tmp_path, [result({"id": 1}, "a")])
    program = f"import sys; sys.modules['{library}'] = None; import to_table; sys.exit(to_table.main())"
    command = [sys.executable, "-c", program, str(run), "-o", str(tmp_path / f"t.{form}")]
    done = subprocess.run(command, cwd=ROOT / "tools", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"pip install {library}" in done.stderr
