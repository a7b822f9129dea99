"""Rows 4 and 5: what our side of a request costs, against a server that answers after a fixed time.

Runs the chunk program itself, on 2,048 rows with 256 in flight, and beside it the same requests by a loop over bare
aiohttp, the least that a client could cost, and by one over the `openai` client, which a user would write. Then one row
at a time, for the seconds from a task's start to its first request.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from figures import Cost, Figure, emit, measured, say
from session import Session, stats, stub

ROWS, IN_FLIGHT, ANSWER_SECONDS = 2048, 256, 1.0
CPU_GOAL, WALL_GOAL, START_GOAL = 2.2, 1.2, 1.0  # ms a row; times the ideal; seconds
STARTS = 5


def write_rows(path: Path, rows: int) -> None:
    """Write prompt rows of a usual size."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            file.write(json.dumps({"id": number, "prompt": f"Tell me of number {number}. " * 8}) + "\n")


async def by_aiohttp(url: str, lines: list[str]) -> None:
    """Send the same requests by aiohttp alone, and keep the answers' texts."""
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=IN_FLIGHT)) as session:

        async def ask(row: dict[str, Any]) -> None:
            async with session.post(f"{url}/v1/chat/completions", json=_body(row)) as reply:
                row["text"] = (await reply.json())["choices"][0]["message"]["content"]

        await _lanes(lines, ask)


async def by_openai(url: str, lines: list[str]) -> None:
    """Send the same requests by the `openai` client, and keep the answers' texts."""
    import openai

    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:

        async def ask(row: dict[str, Any]) -> None:
            answer = await client.chat.completions.create(**_body(row))
            row["text"] = answer.choices[0].message.content

        await _lanes(lines, ask)


def _body(row: dict[str, Any]) -> dict[str, Any]:
    return {"model": "stub", "messages": [{"role": "user", "content": row["prompt"]}], "max_tokens": 64}


async def _lanes(lines: list[str], ask: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
    todo = iter([json.loads(line) for line in lines])

    async def lane() -> None:
        for row in todo:
            await ask(row)

    await asyncio.gather(*(lane() for _ in range(IN_FLIGHT)))


CLIENTS = {"aiohttp": by_aiohttp, "openai": by_openai}


def cost_of_rows(folder: Path, rows: int) -> None:
    """Measure row 4."""
    file = folder / "rows.jsonl"
    write_rows(file, rows)
    ideal = -(-rows // IN_FLIGHT) * ANSWER_SECONDS
    with stub(ANSWER_SECONDS) as url:
        session = Session(folder, file, "stub", f"1-{rows}", concurrency=IN_FLIGHT)
        session.start(server_url=url)
        stats(url)
        ours = session.chunk(f"1-{rows}")
        seen = stats(url)
        others = {name: measured([sys.executable, __file__, "--client", name, url, str(file)]) for name in CLIENTS}
    assert seen["requests"] == rows, seen
    per_row, wall = 1000 * ours.cpu / rows, ours.wall / ideal
    figure = f"{per_row:.2f} ms, wall {wall:.2f} of ideal, {seen['peak']:.0f} in flight at most"
    for name, cost in others.items():
        figure += f"; a loop over {name} {1000 * cost.cpu / rows:.2f} ms and {cost.wall / ideal:.2f}"
    goal = f"{CPU_GOAL} ms of CPU a row, wall {WALL_GOAL} of ideal"
    measure = f"Client cost, {rows:,} rows, {IN_FLIGHT} in flight, process start included"
    emit(Figure(4, measure, goal, figure, met=per_row <= CPU_GOAL and wall <= WALL_GOAL))


def time_to_first_request(folder: Path) -> None:
    """Measure row 5."""
    file = folder / "few.jsonl"
    write_rows(file, STARTS + 1)
    with stub(0.0) as url:
        session = Session(folder / "few", file, "stub", f"1-{STARTS + 1}")
        session.start(server_url=url)
        starts = [_first(session, url, value) for value in range(1, STARTS + 2)][1:]  # the first fills the file cache
    middle = statistics.median(starts)
    figure = f"{middle:.2f} s (median of {STARTS}, {min(starts):.2f} to {max(starts):.2f})"
    goal = f"{START_GOAL} s or less"
    emit(Figure(5, "From a task's start to its first request, server warm", goal, figure, met=middle <= START_GOAL))


def _first(session: Session, url: str, value: int) -> float:
    stats(url)
    cost: Cost = session.chunk(str(value))
    return stats(url)["first"] - cost.began


def main() -> int:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows")
    parser.add_argument("--rows", default="4,5", help="rows of the table, such as 4,5")
    parser.add_argument("--client", nargs=3, metavar=("NAME", "URL", "FILE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.client:
        name, url, file = given.client
        asyncio.run(CLIENTS[name](url, Path(file).read_text(encoding="utf-8").splitlines()))
        return 0
    wanted = {int(row) for row in given.rows.split(",")}
    with tempfile.TemporaryDirectory() as name:
        if 4 in wanted:
            say(f"row 4: {ROWS} rows against a stub server ...")
            cost_of_rows(Path(name), 512 if given.quick else ROWS)
        if 5 in wanted:
            say("row 5: task starts ...")
            time_to_first_request(Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
