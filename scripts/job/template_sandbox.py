"""Jinja as PromptTemplateFile may use it: the row's fields come first, null is nothing, and every rendering ends.

A dot finds a field before a method of Python, so that `row.items` is the column. A null is written as nothing, never as
"None". What is no text (a method, a generator) is an error and is not sent to a model. A rendering is bounded by counts
and not by a clock, so that a row fails alike everywhere: STEPS rounds of loops and macros, SIZE characters of text.

Imported by `prompt_template` when a job has a template: jinja2 takes a tenth of a second to load.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

from jinja2 import StrictUndefined, Template, Undefined, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from job.template_bounds import (
    PADDING,
    SIZE,
    STEPS,
    WIDE,
    WRITING,
    RenderingError,
    check_call,
    check_size,
    count_values,
    refuse_bits,
    refuse_product,
)

_DATA = (str, int, float, list, tuple, dict, Undefined)  # what a template may write


class Null:
    """A row's null: written as nothing, equal to none and false."""

    def __str__(self) -> str:
        return ""

    def __repr__(self) -> str:
        return "None"

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, Null)

    def __hash__(self) -> int:
        return hash(None)


NULL = Null()


class Fields(dict[str, Any]):
    """The whole row, which a template calls `row`, also where the row has a column of that name."""

    def find(self, name: Any) -> Any:
        """Return a field, or a member of the column `row`. Raises KeyError."""
        column = super().get("row")
        if name not in self and isinstance(column, dict):
            return column[name]
        return self[name]


class _Method(StrictUndefined):
    """A method of a row's value: it can be called; written or looked at it is a field that is not there."""

    unsafe_callable = alters_data = False
    jinja_pass_arg = None

    def __init__(self, owner: Any, name: str, method: Callable[..., Any]) -> None:
        super().__init__(obj=owner, name=name, hint=f"'{name}' is undefined")
        object.__setattr__(self, "_method", method)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        owner, name = self._undefined_obj, str(self._undefined_name)
        if isinstance(owner, str):
            check_call(name, owner, args)
        return check_size(self._method(*args, **kwargs))


def mark_nulls(value: Any) -> Any:
    """Return a value of JSON with NULL for each null."""
    if value is None:
        return NULL
    if isinstance(value, dict):
        return {name: mark_nulls(inner) for name, inner in value.items()}
    return list(map(mark_nulls, value)) if isinstance(value, list) else value


class Environment(ImmutableSandboxedEnvironment):
    """The sandbox. `write` sees each text before it is written, and may return another."""

    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def __init__(self, write: Callable[[Any], Any] | None = None) -> None:
        super().__init__(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=False, finalize=self._write)
        self._further = write
        self._steps = self._size = 0
        self.policies["json.dumps_function"] = functools.partial(json.dumps, default=_json_value)
        self.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "sort_keys": False}
        self.tests["none"] = lambda value: value is None or isinstance(value, Null)
        self.globals.pop("lipsum")
        for name in (PADDING | WRITING | {"replace", "format"}) & self.filters.keys():
            self.filters[name] = _bounded(name, self.filters[name])

    def write_out(self, template: Template, fields: dict[str, Any]) -> str:
        """Return what a template writes of a row's fields."""
        self._steps = self._size = 0
        marked = mark_nulls(fields)
        return template.render({**marked, "row": Fields(marked)})

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """Parse a template, and put the bounds of a rendering into it."""
        tree = super()._parse(source, name, filename)
        _put_bounds(tree)
        tree.set_environment(self)
        return tree

    def count_step(self) -> None:
        """Count a round of a loop. Raises RenderingError."""
        self._steps += 1
        if self._steps > STEPS:
            raise RenderingError(f"its loops and macros take more than {STEPS:,} rounds for this row")

    def join_texts(self, *parts: Any) -> str:
        """Return what `~` makes of its parts. Raises RenderingError."""
        for part in parts:
            count_values(part)
        return str(check_size("".join(map(str, parts))))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute, unless the result would be too large."""
        if operator == "*":
            refuse_product(left, right)
        elif operator == "**" and isinstance(left, int) and isinstance(right, int):
            refuse_bits(left.bit_length() * right)
        elif operator == "%" and isinstance(left, str) and WIDE.search(left):
            raise RenderingError(f"it formats with the width of {left!r}"[:80])
        return check_size(super().call_binop(context, operator, left, right))

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a field before a method, and a method only to be called."""
        found = _member(obj, attribute)
        if found is not _Method:
            return found
        value = self._named(super().getattr(obj, attribute), obj, attribute)
        plain = isinstance(obj, str | int | float | list | dict | Null)
        return _Method(obj, attribute, value) if plain and callable(value) and not _undefined(value) else value

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return a member; of a row also one that only its column `row` has."""
        found = _member(obj, argument)
        return self._named(super().getitem(obj, argument), obj, argument) if found is _Method else found

    def _named(self, value: Any, obj: Any, name: Any) -> Any:
        """Return a value, or in place of a field that the row lacks one whose error names it."""
        lacks = isinstance(obj, Fields) and _undefined(value)
        return self.undefined(hint=f"'{name}' is undefined") if lacks else value

    def _write(self, value: Any) -> Any:
        """Return a value as it is written. Raises RenderingError for what is no text."""
        if value is None or isinstance(value, Null):
            return ""
        if isinstance(value, Fields) and "row" in value:
            value = value["row"]
        if not (isinstance(value, _DATA) or hasattr(value, "__html__")):
            raise RenderingError(
                f"it writes a {type(value).__name__}, which is no text; write a field, or end with | list"
            )
        self._size += len(value) if isinstance(value, str) else count_values(value)
        if self._size > SIZE:
            raise RenderingError(f"its text grows beyond {SIZE:,} characters for this row")
        return self._further(value) if self._further else value


def _put_bounds(tree: nodes.Template) -> None:
    """Put a count into each loop and macro, and a bounded call in the place of each `a ~ b`."""
    for node in [tree, *tree.find_all(nodes.Node)]:
        if isinstance(node, nodes.For | nodes.Macro | nodes.CallBlock):
            node.body.insert(0, nodes.ExprStmt(_call("count_step", [], node.lineno), lineno=node.lineno))
        for name, value in node.iter_fields():
            if isinstance(value, list):
                value[:] = map(_bounded_join, value)
            else:
                setattr(node, name, _bounded_join(value))


def _bounded_join(value: Any) -> Any:
    return _call("join_texts", value.nodes, value.lineno) if isinstance(value, nodes.Concat) else value


def _call(name: str, parts: list[nodes.Expr], line: int) -> nodes.Call:
    function = nodes.EnvironmentAttribute(name, lineno=line)
    return nodes.Call(function, parts, [], None, None, lineno=line)


def _member(obj: Any, name: Any) -> Any:
    """Return what an object of the row has under a name, or the class _Method where it has nothing."""
    try:
        return obj.find(name) if isinstance(obj, Fields) else obj[name] if isinstance(obj, dict) else _Method
    except (KeyError, TypeError):
        return _Method


def _undefined(value: Any) -> bool:
    return isinstance(value, Undefined)


def _json_value(value: Any) -> None:
    if not isinstance(value, Null):
        raise TypeError(f"{type(value).__name__} is no value of JSON")


def _bounded(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that refuses what would grow too large; the marks that Jinja put on it stay."""

    @functools.wraps(run)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        own = args[1:] if getattr(run, "jinja_pass_arg", None) is not None else args
        if own:
            check_call(name, own[0], (*own[1:], *kwargs.values()))
        return check_size(run(*args, **kwargs))

    return bounded
