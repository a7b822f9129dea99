"""Text documents as records: each file of a folder, or of a list of them, is one, with its name and its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from conversion.encodings import Encodings
from conversion.records import Record, RowsError, Say

ENDINGS = frozenset({".txt", ".text", ".md", ".markdown"})


def are_documents(paths: Sequence[str]) -> bool:
    """Tell whether what is named is a folder, several files, or a document by its name."""
    return any(Path(path).is_dir() for path in paths) or all(Path(path).suffix.lower() in ENDINGS for path in paths)


def read_documents(paths: Sequence[str], say: Say, encodings: Encodings) -> Iterator[Record]:
    """Yield a record of `file` and `text` for each document, in the order of their names. Raises RowsError, OSError."""
    others = 0
    for path, base in _files(paths):
        if path.suffix.lower() not in ENDINGS:
            if base == path:
                raise RowsError(f"{path} is no text document ({', '.join(sorted(ENDINGS))}); give it alone")
            others += 1
            continue
        name = path.name if base == path else path.relative_to(base).as_posix()
        yield Record(str(path), {"file": name, "text": _text(path, encodings)})
    if others:
        many = "file that is no text document is" if others == 1 else "files that are no text documents are"
        say(f"{others:,} {many} left out ({', '.join(sorted(ENDINGS))} are read)")


def _files(paths: Sequence[str]) -> Iterator[tuple[Path, Path]]:
    """Yield each file with the folder that was named, or with itself."""
    for name in paths:
        path = Path(name)
        if not path.is_dir():
            yield path, path
            continue
        inner = (each for each in path.rglob("*") if each.is_file())
        yield from ((each, path) for each in sorted(inner) if not _is_hidden(each.relative_to(path)))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _text(path: Path, encodings: Encodings) -> str:
    return encodings.decode(str(path), path.read_bytes()).replace("\r\n", "\n").rstrip("\n")
