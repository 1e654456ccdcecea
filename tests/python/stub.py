"""Writes python/quell/_quell.pyi from the signatures and the documentation of the extension.

The documentation is in it too: editors and the reference of the site cannot look into the extension.

A documented type is read as numpydoc writes it: ``str or float``, ``list of str``, ``dict of str to float``,
``(float, float), or None``, ``{"mark", "drop"}``. A container takes what follows it, up to ", or ".
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from quell import _quell

PATH = Path(__file__).parents[2] / "python/quell/_quell.pyi"

HEADER = """\
# Written by tests/python/stub.py from the documentation of the extension: do not edit. A test compares both.

import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, final

import control
import numpy as np
import numpy.typing as npt
import pandas
import polars
import typing_extensions

import quell.plot

DESIGNED: Final[tuple[str, ...]]
PASS: Final[Verdict]
__version__: Final[str]
"""

# Words of the documentation that are not the type's name.
WORDS = {
    "array_like": "npt.ArrayLike",
    "array_like of complex": "npt.ArrayLike",
    "callable": "Callable[..., Any]",
    "numpy.ndarray": "npt.NDArray[np.float64]",
    "numpy.ndarray of complex": "npt.NDArray[np.complex128]",
    "numpy.ndarray of floating": "npt.NDArray[np.floating]",
    "os.PathLike": "os.PathLike[str]",
    "Plots": "quell.plot.Plots",
    "types.CapsuleType": "typing_extensions.CapsuleType",
    "value": "Any",
}

# Methods that the extension does not document: the interpreter does, or they are private.
UNDOCUMENTED = {
    "__bool__": "(self, /) -> bool",
    "__contains__": "(self, name: str, /) -> bool",
    "__eq__": "(self, other: object, /) -> bool",
    "__hash__": "(self, /) -> int",
    "__len__": "(self, /) -> int",
    "__ne__": "(self, other: object, /) -> bool",
    "Bottleneck.__getitem__": "(self, label: str, /) -> Analysis",
    "Columns.__getitem__": "(self, name: str, /) -> list[Any]",
    "_chart": """(self, diagram: str, *, point: int = 0, link: str | None = None, seed: int | None = None,
        algorithms: Sequence[str] | None = None, scope: str = "all", metric: str = "utilization",
        over: str | None = None, by: str | None = None) -> dict[str, Any]""",
    "_repr_html_": "(self) -> str",
}


def annotation(text: str, *, given: bool) -> str:
    """Translate a documented type; what is given may be any mapping where a dict is documented."""

    def one(text: str) -> str:
        if text in WORDS or text[0] in '{"':
            return WORDS.get(text) or f"Literal[{text.strip('{}')}]"
        if text[0] == "(":
            return f"tuple[{', '.join(map(one, text[1:-1].split(', ')))}]"
        container, _, rest = text.partition(" of ")
        if container == "dict":
            key, _, value = rest.partition(" to ")
            of = f"{one(key)}, {one(value)}" if rest else "str, Any"
            return f"{'Mapping' if given else 'dict'}[{of}]"
        if container in ("callable", "list", "sequence"):
            of = f"[{one(rest)}], object" if container == "callable" else one(rest)
            return f"{container if container == 'list' else container.title()}[{of}]"
        first, separator, rest = re.fullmatch(r"(.+?)(, | or |$)(.*)", text).groups()  # type: ignore[union-attr]
        return f"{first if first == text else one(first)} | {one(rest)}" if separator else first

    kinds: list[str] = []
    for part in text.split(", or "):
        kinds.append(one(part).replace("these", " | ".join(kinds)))
    return " | ".join(kinds)


def sections(item: object) -> dict[str, str]:
    """Split the documentation of an item by its headings."""
    parts = re.split(r"^(\w+)\n-+\n", inspect.getdoc(item) or "", flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def entries(item: object, section: str) -> dict[str, str]:
    """Find the types in a list of parameters or attributes, by name."""
    entry = r"^(\w+) : (.+?)(?:, optional|, default .*)?$"
    return dict(re.findall(entry, sections(item).get(section, ""), flags=re.MULTILINE))


def arguments(item: object) -> str:
    """Write the arguments of a function with their types and defaults."""
    types = entries(item, "Parameters")
    parts, keywords = [], False
    for p in inspect.signature(item).parameters.values():  # type: ignore[arg-type]
        if p.kind is p.KEYWORD_ONLY and not keywords:
            keywords = True
            parts.append("*")
        kind = f": {annotation(types[p.name], given=True)}" if p.name in types else ""
        none = " | None" if p.default is None and not kind.endswith("| None") else ""
        default = "" if p.default is p.empty else f" = {p.default!r}"
        parts.append(f"{p.name}{kind}{none}{default}")
    return ", ".join(parts)


def function(name: str, item: object) -> str:
    """Write a function or a method."""
    returns = sections(item).get("Returns")
    kind = annotation(returns.splitlines()[0], given=False) if returns else "None"
    return documented(f"def {name}({arguments(item)}) -> {kind}:", item)


def documented(head: str, item: object) -> str:
    """Write the head of a definition with the documentation of the item below it."""
    text = inspect.getdoc(item)
    if not text:
        return f"{head} ..."
    end = "\n    " if "\n" in text else ""
    quoted = f'{"r" if chr(92) in text else ""}"""{text}{end}"""'
    return f"{head}\n{textwrap.indent(quoted, '    ')}"


def members(cls: type) -> list[str]:
    """Write what a class has."""
    attributes = entries(cls, "Attributes").items()
    lines = [f"{name}: {annotation(kind, given=False)}" for name, kind in attributes]
    for name, item in sorted(vars(cls).items()):
        known = UNDOCUMENTED.get(name) or UNDOCUMENTED.get(f"{cls.__name__}.{name}")
        if known and item is not None:
            lines.append(f"def {name}{known}: ...")
        elif name == "__new__":
            lines.append(f"def __new__(cls, {arguments(cls)}) -> {cls.__name__}: ...")
        elif inspect.isgetsetdescriptor(item) and name[0] != "_":
            kind = (inspect.getdoc(item) or "").split(": ")[0]
            lines += ["@property", documented(f"def {name}(self) -> {annotation(kind, given=False)}:", item)]
        elif inspect.ismethoddescriptor(item) and (name.startswith("__arrow") or name[0] != "_"):
            lines.append(function(name, item))
    return lines


def stub() -> str:
    """Write the whole file."""
    names = [name for name in dir(_quell) if not name.startswith("__")]
    # Constants, classes, functions: the linter wants it.
    kinds = {name: (not name.isupper(), not name[0].isupper(), name) for name in [*names, "__version__"]}
    parts = [HEADER, f"__all__ = {sorted(kinds, key=lambda name: kinds[name])!r}"]
    for name in sorted(names):
        item = getattr(_quell, name)
        if inspect.isclass(item):
            base = item.__bases__[0]
            head = f"@final\nclass {name}:" if base is object else f"class {name}({base.__name__}):"
            # An exception says of itself what its base does.
            documents = inspect.getdoc(item) != inspect.getdoc(base)
            body = textwrap.indent("\n".join(members(item)), "    ")
            parts.append(f"{documented(head, item) if documents else head}\n{body or '    ...'}")
        elif inspect.isroutine(item):
            parts.append(function(name, item))
    formatter = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(PATH), "-"]
    text = "\n".join(parts)
    done = subprocess.run(formatter, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        message = (
            f"{' '.join(formatter)}: {done.stderr.strip()}; tests/python/requirements.txt has what it needs"
        )
        raise RuntimeError(message)
    return done.stdout


if __name__ == "__main__":
    PATH.write_text(stub())
