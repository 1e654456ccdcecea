"""papers/ns2.py: every row of ns2.csv has a script, and a new row takes the place of the old one."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

PAPERS = Path(__file__).resolve().parents[2] / "papers"
pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11) or not PAPERS.is_dir(), reason="needs tomllib and the documents"
)


def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ns2", PAPERS / "ns2.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["ns2"] = module
    spec.loader.exec_module(module)
    return module


def test_every_row_has_a_script() -> None:
    done = subprocess.run(
        [sys.executable, str(PAPERS / "ns2.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_row_replaces_that_of_its_cell_and_reading() -> None:
    merged = program().merged
    old = [
        ["a/1/x", "1", "", "1", "2.35", "[one] a.tcl"],
        ["a/1/x", "2", "", "1", "2.35", "[two] a.tcl"],
        ["a/1/y", "3", "", "1", "2.35", "by another script"],
        ["b/1/z", "4", "", "1", "2.35", "[one] b.tcl"],
    ]
    new = [
        ["a/1/x", "20", "", "3", "2.35", "[two] a.tcl: more"],
        ["a/1/x", "30", "", "3", "2.35", "[three] a.tcl"],
        ["a/1/y", "40", "", "3", "2.35", "[one] a.tcl"],
    ]
    assert merged(old, new) == [old[0], new[0], new[1], new[2], old[3]]


def test_words_of_the_last_line_become_means_and_deviations() -> None:
    module = program()
    run = module.Run(PAPERS / "x.tcl", "", 2, "[one] x.tcl", cells={"a/1/x": "queue"})
    printed = ["noise\nx 1 queue=10.0 loss=1\n", "x 2 queue=14.0 loss=2\n"]
    assert module.rows_of(run, printed) == [["a/1/x", "12", "2.83", "2", "2.35", "[one] x.tcl"]]
