"""Names that every vLLM this bundle claims understands, flags, variables and routes, and rules that it keeps to.

Run by a maintainer when another vLLM is to be claimed, with the unpacked source distribution of each version:

    python3 tools/maintenance/vllm_flags.py 0.19.0=vllm-0.19.0 0.33.0=vllm-0.33.0 > tools/checking/vllm_flags.json

It reads the sources and imports nothing of them, so it needs no GPU and none of what vLLM needs. The tests hold what
the worker programs use against the file that it writes. Standard library only.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

OPTIONS = ("vllm/engine/arg_utils.py", "vllm/entrypoints/**/cli_args.py")
VARIABLES = ("vllm/envs.py",)
SERVER = ("vllm/entrypoints/**/*.py",)
CONFIGURATION = ("vllm/config/model.py", "vllm/config/scheduler.py")
LAYERS = ("vllm/model_executor/layers/linear.py",)
CHECKS = {"verify_with_parallel_config", "verify_max_model_len"}  # what refuses a split, and a batch


def nodes(root: Path, patterns: tuple[str, ...]) -> Iterator[ast.AST]:
    """Yield every syntax node of the files that match; OSError where none does."""
    paths = sorted({path for pattern in patterns for path in root.glob(pattern)})
    if not paths:
        raise FileNotFoundError(f"{root}: no {' or '.join(patterns)} in it; give the folder that holds vllm/")
    for path in paths:
        yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def called_with(node: ast.AST, methods: set[str], start: str) -> Iterator[str]:
    """Yield the texts that begin so among the arguments of a call of one of these methods."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods:
        for argument in node.args:
            if isinstance(argument, ast.Constant) and str(argument.value).startswith(start):
                yield str(argument.value)


def fields(node: ast.AST) -> Iterator[str]:
    """Yield the names of the annotated fields of a class."""
    for item in node.body if isinstance(node, ast.ClassDef) else []:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            yield item.target.id


def flags(root: Path) -> set[str]:
    """Return the server's long flags: added by name, or made from the fields of the front end's classes."""
    found = set()
    for node in nodes(root, OPTIONS):
        found |= set(called_with(node, {"add_argument"}, "--"))
        if isinstance(node, ast.ClassDef) and node.name.endswith("FrontendArgs"):
            found |= {f"--{name.replace('_', '-')}" for name in fields(node)}
    return found


def environment(root: Path) -> set[str]:
    """Return the environment variables that vLLM reads."""
    texts = (node.value for node in nodes(root, VARIABLES) if isinstance(node, ast.Constant))
    return {text for text in texts if isinstance(text, str) and re.fullmatch(r"VLLM_\w*[A-Z0-9]", text)}


def routes(root: Path) -> set[str]:
    """Return the paths that the server answers."""
    return {path for node in nodes(root, SERVER) for path in called_with(node, {"get", "post", "api_route"}, "/")}


def modules(root: Path) -> set[str]:
    """Return the modules below the entry points that can be run with -m."""
    files = [path for path in root.glob(SERVER[0]) if '__name__ == "__main__"' in path.read_text(encoding="utf-8")]
    return {".".join(path.relative_to(root).with_suffix("").parts) for path in files}


def rules(root: Path) -> set[str]:
    """Return the conditions by which a split or a batch is refused, what a split divides, and what a class is for."""
    found = set()
    for node in nodes(root, CONFIGURATION):
        if isinstance(node, ast.FunctionDef) and node.name in CHECKS:
            found |= {f"{node.name} refuses: {condition}" for condition in refused_by(node)}
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "_SUFFIX_TO_DEFAULTS" and node.value:
            found |= {f"{suffix}: {runner}" for suffix, (runner, _) in ast.literal_eval(node.value)}
    for node in nodes(root, LAYERS):
        if isinstance(node, ast.ClassDef) and node.name == "QKVParallelLinear":
            calls = (ast.unparse(call) for call in ast.walk(node) if isinstance(call, ast.Call))
            found |= {f"{node.name} splits by: {call}" for call in calls if call.startswith("divide(")}
    return found


def refused_by(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the conditions under which a function raises at once."""
    for node in ast.walk(function):
        if isinstance(node, ast.If) and any(isinstance(step, ast.Raise) for step in node.body):
            yield ast.unparse(node.test)


KINDS: dict[str, Callable[[Path], set[str]]] = {
    "flags": flags,
    "environment": environment,
    "routes": routes,
    "modules": modules,
    "rules": rules,
}


def common(versions: dict[str, Path]) -> dict[str, list[str]]:
    """Return the names of each kind that every version has, with the versions."""
    names = {kind: sorted(set.intersection(*map(read, versions.values()))) for kind, read in KINDS.items()}
    return {"versions": list(versions)} | names


def main(argv: list[str] | None = None) -> int:
    """Print the names and rules that the given versions share, as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", metavar="VERSION=FOLDER")
    pairs = [source.partition("=")[::2] for source in parser.parse_args(argv).sources]
    try:
        print(json.dumps(common({version: Path(folder) for version, folder in pairs}), indent=1))
    except (OSError, SyntaxError) as error:
        print(f"vllm_flags.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
