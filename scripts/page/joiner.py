"""Join ES modules into one script: a browser loads none from disk, and the page's policy allows one script by hash.

Each module stands after those it imports, in a scope of its own, and sees of another only what it imports from it.
Two forms of the language are read, both at the start of a line: `import { a, b } from "./file.js";` and `export` before
a function, a class or a const. What would not run, or runs by luck alone, fails the join: see `JoinError`.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (?:(\w+)|[\[{]([^\]}]*)[\]}]))", re.MULTILINE)
_DECLARED = re.compile(r"^(?:async )?(?:function\*?|class|const|let) (?:(\w+)|[\[{]([^\]}]*)[\]}])", re.MULTILINE)
_OTHER_FORM = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_END = re.compile(r"</(?:script|style)|<!--", re.IGNORECASE)


class JoinError(Exception):
    """Modules do not make a script: one of them is told with what is wrong in it."""


@dataclass(frozen=True, slots=True)
class Module:
    """One file: what it takes from which files, what it gives out, and its text without both words."""

    path: Path
    imports: tuple[tuple[Path, tuple[str, ...]], ...]
    exports: tuple[str, ...]
    body: str


def join(entry: Path) -> str:
    """Return the script of `entry` and all that it imports. Raises JoinError."""
    modules = order(entry)
    given = {module.path: module.exports for module in modules}
    for module in modules:
        for source, names in module.imports:
            if unknown := set(names) - set(given[source]):
                raise JoinError(f"{module.path}: {source.name} exports no {', '.join(sorted(unknown))}")
    return '"use strict";\n(() => {\nconst modules = {};\n' + "".join(_wrap(m, entry) for m in modules) + "})();\n"


def csp_hash(text: str) -> str:
    """Return the Content-Security-Policy source that allows exactly this inline block."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def order(entry: Path) -> list[Module]:
    """List the modules that `entry` needs, each after those it imports. Raises JoinError."""
    done: dict[Path, Module] = {}
    _visit(entry.resolve(), (), done)
    return list(done.values())


def _visit(path: Path, above: tuple[Path, ...], done: dict[Path, Module]) -> None:
    if path in above:
        raise JoinError("modules import each other: " + " > ".join(each.name for each in (*above, path)))
    if path in done:
        return
    module = read_module(path)
    for source, _ in module.imports:
        _visit(source, (*above, path), done)
    done[path] = module


def read_module(path: Path) -> Module:
    """Read one module. Raises JoinError for a file that is not there, or not written as this joiner reads modules."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise JoinError(f"{path}: {error.strerror}") from None
    imports = tuple(((path.parent / source).resolve(), _names(names)) for names, source in _IMPORT.findall(text))
    exports = tuple(_find_names(_EXPORT, text))
    body = _EXPORT.sub("", _IMPORT.sub("", text))
    module = Module(path, imports, exports, body)
    if fault := next(_faults(module), ""):
        raise JoinError(f"{path}: {fault}")
    return module


def _names(listed: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in listed.split(",") if name.strip())


def _find_names(pattern: re.Pattern[str], text: str) -> list[str]:
    """List the names that declarations of a pattern make, each alone or in a pattern such as `{ a, b }`."""
    return [name for one, some in pattern.findall(text) for name in (one, *re.findall(r"\w+", some)) if name]


def _faults(module: Module) -> Iterator[str]:
    """Yield what is wrong within a module."""
    if other := _OTHER_FORM.search(module.body):
        yield f"an import or export of another form: {other[0]}"
    if _END.search(module.body):
        yield "would end its own element"
    imported = [name for _, names in module.imports for name in names]
    names = imported + _find_names(_DECLARED, module.body)
    if twice := sorted({name for name in names if names.count(name) > 1}):
        yield f"declared twice: {', '.join(twice)}"
    if idle := [name for name in imported if not re.search(rf"\b{name}\b", module.body)]:
        yield f"imported and not used: {', '.join(idle)}"


def _wrap(module: Module, entry: Path) -> str:
    """Return a module as a function that runs once: what it imports first, what it exports last."""

    def slot(path: Path) -> str:
        return f'modules["{Path(os.path.relpath(path, entry.resolve().parent)).as_posix()}"]'

    taken = "".join(f"const {{ {', '.join(names)} }} = {slot(path)};\n" for path, names in module.imports)
    head = f"{slot(module.path)} = " if module.exports else ""
    tail = f"return {{ {', '.join(module.exports)} }};\n" if module.exports else ""
    return f"{head}(() => {{\n{taken}{module.body.strip()}\n{tail}}})();\n"
