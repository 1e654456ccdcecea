"""Everything public is documented, and the stub is the truth."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
import quell
import quell.leaderboard
import quell.papers
import quell.plot
import quell.theory
import stub

CONFIG = str(Path(__file__).parents[2] / "pyproject.toml")
# Attributes whose value is their default, which has no documentation of its own.
DEFAULTS = ("quell.Aqm.update_interval", "quell.leaderboard.Entry.factory")
# They name a failure, or answer like the method of ``quell.Aqm`` that they replace.
WITHOUT_EXAMPLE = {"quell.leaderboard.ProgramError"}
WITHOUT_EXAMPLE |= {
    f"quell.leaderboard.Program.on_{event}" for event in ("enqueue", "dequeue", "overflow", "idle", "update")
}
MODULES = [quell, quell.leaderboard, quell.papers, quell.plot, quell.theory]


def public() -> Iterator[tuple[str, Any]]:
    """Every public function, class, method and property, with its name."""
    for module in MODULES:
        for name in module.__all__:
            if name in ("__version__", "DESIGNED"):
                continue
            item = getattr(module, name)
            yield f"{module.__name__}.{name}", item
            if inspect.isclass(item):
                # A class of the extension lists its members in no fixed order.
                for member, value in sorted(vars(item).items()):
                    if not member.startswith("_"):
                        yield f"{module.__name__}.{name}.{member}", value


ITEMS = dict(public())
CALLABLES = {name: x for name, x in ITEMS.items() if inspect.isroutine(x) or inspect.isfunction(x)}


def test_there_is_something_to_check() -> None:
    assert {"quell.run", "quell.Results.table", "quell.plot.queue", "quell.Aqm.on_enqueue"} <= set(CALLABLES)
    assert "quell.Context.now_s" in ITEMS


@pytest.mark.parametrize("name", [n for n in ITEMS if n not in DEFAULTS])
def test_every_public_item_has_documentation(name: str) -> None:
    text = inspect.getdoc(ITEMS[name]) or ""
    assert len(text) > 10, name
    if inspect.isgetsetdescriptor(ITEMS[name]):
        with_type = r'[A-Za-z({][\w\[\]., (){}"-]*: [A-Z]'
        assert re.match(with_type, text), f"{name}: a property begins with its type"
        assert text.endswith("."), name


@pytest.mark.parametrize("name", CALLABLES)
def test_every_argument_and_result_is_documented(name: str) -> None:
    signature = inspect.signature(CALLABLES[name])
    sections = re.split(r"^(\w[\w ]*)\n-+\n", inspect.getdoc(CALLABLES[name]) or "", flags=re.MULTILINE)
    parts = dict(zip(sections[1::2], sections[2::2], strict=True))
    documented = re.findall(r"^(\w+) : .+", parts.get("Parameters", ""), flags=re.MULTILINE)
    assert documented == [p for p in signature.parameters if p not in ("self", "args", "kwargs")], name
    for parameter in signature.parameters.values():
        if parameter.default not in (None, inspect.Parameter.empty):
            shown = f"default {parameter.default}".replace("'", '"')
            wanted = f'default "{parameter.default}"' if isinstance(parameter.default, str) else shown
            assert wanted in parts["Parameters"], f"{name}: {wanted}"
    silent = {"quell.Aqm.on_overflow", "quell.Aqm.on_idle", "quell.Aqm.on_update"}
    silent |= {name.replace("quell.Aqm", "quell.leaderboard.Program") for name in silent}
    silent |= {"quell.Results.save", "quell.Results.report", "quell.leaderboard.write"}
    assert ("Returns" in parts) != (name in silent), name


@pytest.mark.parametrize(
    "name", ["quell", "quell._aqm", "quell._quell", "quell.leaderboard.cells", "quell.theory"]
)
def test_examples_give_what_they_show(name: str) -> None:
    tests = doctest.testmod(importlib.import_module(name))
    assert tests.failed == 0
    assert tests.attempted > 0


def test_every_function_and_class_has_an_example() -> None:
    bare = [
        name
        for name, item in ITEMS.items()
        if (name in CALLABLES or inspect.isclass(item)) and ">>> " not in (inspect.getdoc(item) or "")
    ]
    assert set(bare) == WITHOUT_EXAMPLE


def test_examples_of_the_extension_are_run() -> None:
    # doctest does not look into functions that were compiled, nor into what decorators wrap.
    finder, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    examples = 0
    for name, item in ITEMS.items():
        test = finder.get_doctest(inspect.getdoc(item) or "", {}, name, None, None)
        examples += len(test.examples)
        runner.run(test)
        plt.close("all")
    assert runner.failures == 0
    assert examples >= 200


def test_the_stub_says_what_the_documentation_says() -> None:
    assert stub.PATH.read_text() == stub.stub(), "run `make docs`, or tests/python/stub.py with this Python"


def test_the_stub_agrees_with_the_extension() -> None:
    check = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "quell._quell", "--concise", "--mypy-config-file", CONFIG],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert check.returncode == 0, check.stdout + check.stderr
