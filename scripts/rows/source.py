"""The input: one JSONL file, made ready once per session and then read line by line at any place.

`prepare` finds, fetches or unpacks the file and writes an index beside the session's other files: the byte offset of
every STRIDE-th line, the number of lines, and the SHA-256 of the (unpacked) content, which is the input's identity.
`Source.read` gives the bytes of the lines asked for without reading what lies before them.

A line ends at a line feed byte and at nothing else. Lines are counted from 1.
"""

from __future__ import annotations

import array
import gzip
import hashlib
import json
import sys
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from host import files, s3, transfer
from rows.ranges import Lines
from rows.row import BOM, is_blank

STRIDE = 64  # lines between two entries of the index
BLOCK = 1 << 20  # bytes read at a time
FETCHES = 3  # of a file that arrives damaged
LAYERS = 3  # of gzip around one file
SAMPLE = 4096  # bytes looked at to tell a text file from others
_HTML = (b"<!doctype html", b"<html")
_UTF16_OR_32 = (b"\xff\xfe", b"\xfe\xff")
_TAR_AT = 257  # where a tar archive says what it is
_MAGIC = {
    b"PAR1": "a Parquet file; tools/make_rows.py turns it into JSONL",
    b"PK\x03\x04": "a zip archive (or an .xlsx); unpack it, or save it as CSV and use tools/make_rows.py",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it first (zstd -d)",
    b"BZh": "compressed with bzip2; unpack it first (bunzip2)",
    b"\xfd7zXZ": "compressed with xz; unpack it first (unxz)",
    b"%PDF": "a PDF",
    b"SQLite format 3": "an SQLite database",
    b"version https://git-lfs": "a pointer of Git LFS and not the file itself; fetch that (git lfs pull)",
}


class SourceError(Exception):
    """An input that cannot be read at all; the message names it and says what to do."""


class DamagedError(SourceError):
    """Packed data that cannot be unpacked; another copy may be whole."""


@dataclass(frozen=True, slots=True)
class Source:
    """A prepared input. `path` holds plain JSONL, `offsets` the index; `size` counts bytes, `lines` physical lines."""

    path: str
    name: str
    sha256: str
    size: int
    lines: int
    offsets: str
    changed: int  # when the file was last written, in ns; a file that is written to while a job runs is refused

    @classmethod
    def absent(cls, name: str, sha256: str, lines: int) -> Source:
        """Return an input of which it is known what it was, and no line can be read any more."""
        return cls("", name, sha256, 0, lines, "", 0)

    def read(self, wanted: Lines) -> Iterator[tuple[int, bytes]]:
        """Yield (line number, bytes without the line feed) for the lines of `wanted` that the file has, ascending."""
        if not self.path:
            return
        present = wanted.up_to(self.lines)
        with Path(self.path).open("rb") as file, Path(self.offsets).open("rb") as offsets:
            at = None  # the line that the file stands at
            for numbers in present.ranges:
                for number in numbers:
                    if at is None or not at <= number < at + STRIDE:
                        at = _seek(file, offsets, number)
                    for _ in range(number - at):
                        file.readline()
                    yield number, _without_end(file.readline())
                    at = number + 1


def _seek(file: BinaryIO, offsets: BinaryIO, number: int) -> int:
    """Move to the indexed line at or before `number`; return which line that is."""
    entry = (number - 1) // STRIDE
    offsets.seek(entry * 8)
    file.seek(int.from_bytes(offsets.read(8), sys.byteorder))
    return entry * STRIDE + 1


def _without_end(line: bytes) -> bytes:
    return line[:-1] if line.endswith(b"\n") else line


def prepare(input_file: str, input_url: str, folder: Path, report: transfer.Report) -> Source:
    """Return the session's source, made on the first call and read back on later ones.

    Raises SourceError when there is no usable file, and transfer.TransferError when it cannot be fetched.
    """
    record = folder / "input.json"
    if record.exists():
        return _unchanged(Source(**json.loads(record.read_text(encoding="utf-8"))))
    folder.mkdir(parents=True, exist_ok=True)
    path, name = _local_file(input_file, input_url, folder, report)
    source = _indexed(path, name, folder)
    files.write_whole(record, json.dumps(asdict(source)).encode())
    return source


def _unchanged(source: Source) -> Source:
    """Return the source. Raises SourceError when its file is not the one that was indexed any more."""
    path = Path(source.path)
    found = path.stat() if path.exists() else None
    if found is None or (found.st_size, found.st_mtime_ns) != (source.size, source.changed):
        raise SourceError(f"{source.name} was changed or removed while the job was running; submit it again")
    return source


def _local_file(input_file: str, input_url: str, folder: Path, report: transfer.Report) -> tuple[Path, str]:
    """Return the path of plain JSONL and the name that people know it by."""
    if input_file:
        path, name = Path(input_file), Path(input_file).name.encode("utf-8", "replace").decode()
        if not path.is_file():
            what = "is a folder" if path.is_dir() else "does not exist"
            raise SourceError(f"InputFile {input_file!r} {what}; choose a .jsonl file")
    elif input_url:
        path = folder / "input.download"
        return _fetch(input_url, folder, report)
    else:
        raise SourceError("There is no input: set InputFile to a .jsonl file, or InputUrl to where one can be fetched")
    return _unpack(path, name, folder), name


def _fetch(url: str, folder: Path, report: transfer.Report) -> tuple[Path, str]:
    """Download the input; data that turns out to be damaged may have been cut on its way, and is fetched again."""
    path = folder / "input.download"
    by_role, name = s3.is_s3(url), name_of(url)
    for left in reversed(range(FETCHES)):
        (s3 if by_role else transfer).download(url, path, report)
        try:
            return _unpack(path, name, folder), name
        except DamagedError as error:
            if not left:
                raise
            report(f"{error}; it is fetched again")
    raise AssertionError("the last attempt returns or raises")


def name_of(url: str) -> str:
    """Return the name by which people know what an address gives."""
    return Path(url if s3.is_s3(url) else transfer.shown(url).removesuffix("?...")).name


def _unpack(path: Path, name: str, folder: Path) -> Path:
    """Return the path of the plain text, which a server may have packed once more than its owner did."""
    for layer in range(LAYERS + 1):
        with path.open("rb") as file:
            head = file.read(SAMPLE)
        if not head.startswith(files.GZIP_MAGIC):
            _refuse_other(head, name)
            return path
        if layer < LAYERS:
            path = _unpack_layer(path, name, folder / f"input-{layer + 1}.jsonl")
    raise SourceError(f"{name} is packed with gzip more than {LAYERS} times; unpack it first")


def _unpack_layer(path: Path, name: str, plain: Path) -> Path:
    try:
        with gzip.open(path, "rb") as packed, plain.open("wb") as file:
            while block := packed.read(BLOCK):
                file.write(block)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DamagedError(f"{name}: the gzip data is damaged or cut off ({error}); copy the file again") from None
    return plain


def _refuse_other(head: bytes, name: str) -> None:
    if head.removeprefix(BOM).lstrip()[:20].lower().startswith(_HTML):
        raise SourceError(
            f"{name} is an HTML page, such as the one to log in on, and not the file itself; the input is JSONL"
        )
    _refuse_binary(head, name)


def _refuse_binary(head: bytes, name: str) -> None:
    if not head.removeprefix(BOM):
        raise SourceError(f"{name} is empty; it needs one JSON object a line")
    if head[_TAR_AT:].startswith(b"ustar"):
        raise SourceError(f"{name} is a tar archive; unpack it; the input is JSONL, one JSON object a line")
    for magic, what in _MAGIC.items():  # before the next, since such files are full of zero bytes
        if head.startswith(magic):
            raise SourceError(f"{name} is {what}; the input is JSONL, one JSON object a line")
    if head.startswith(_UTF16_OR_32) or head.count(b"\x00") * 4 > len(head):
        raise SourceError(
            f"{name} is not UTF-8 text (UTF-16?); convert it: iconv -f UTF-16 -t UTF-8 {name} > utf8.jsonl"
        )


def is_blank_in(source: Source, wanted: Lines) -> bool:
    """Tell whether the lines of `wanted` that the file has are all blank."""
    return all(is_blank(raw) for _, raw in source.read(wanted))


def _indexed(path: Path, name: str, folder: Path) -> Source:
    """Read the file once: count its lines, note every STRIDE-th offset, and take its digest."""
    offsets = array.array("Q", [0])
    digest = hashlib.sha256()
    size = lines = 0
    last = b"\n"
    changed = path.stat().st_mtime_ns
    with path.open("rb", buffering=0) as file:
        while block := file.read(BLOCK):
            digest.update(block)
            lines = _note_offsets(block, size, lines, offsets)
            size += len(block)
            last = block[-1:]
    index = folder / "input.offsets"
    files.write_whole(index, offsets.tobytes())
    return Source(str(path), name, digest.hexdigest(), size, lines + (last != b"\n"), str(index), changed)


def _note_offsets(block: bytes, base: int, lines: int, offsets: array.array[int]) -> int:
    """Add to `offsets` where a line numbered 1 modulo STRIDE begins; return the number of line ends so far."""
    ends = block.count(b"\n")
    due = STRIDE - lines % STRIDE  # line ends until the next entry
    at = -1
    for end in range(1, ends + 1):
        at = block.find(b"\n", at + 1)
        if end == due:
            offsets.append(base + at + 1)
            due += STRIDE
    return lines + ends
