"""Scripts of the tree that call other programs, where those are not installed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MISSING = [
    (["fuzz/run.py"], "fuzz: there is no `cargo` in PATH; to get it"),
    (["tests/casts.py"], "casts: there is no `cargo` in PATH; to get it"),
    (["tests/targets.py"], "targets: there is no `"),
    (["crates/aqm/tests/new_algorithm.py"], "new_algorithm: there is no `cargo` in PATH; to get it"),
    (["crates/validate/ns2/run.py", "", "999"], "ns2: there is no `ns` in PATH; to get it"),
    (
        ["crates/validate/ns3/run.py", "/absent"],
        "ns3: /absent cannot be run: No such file or directory; the README",
    ),
    (
        ["conformance/museum/effects.py", "/absent"],
        "effects: /absent cannot be run: No such file or directory; name",
    ),
]


@pytest.mark.parametrize(("command", "said"), MISSING, ids=[command[0] for command, _ in MISSING])
def test_a_program_that_is_missing_is_named(command: list[str], said: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / command[0]), *command[1:]],
        env={"PATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
