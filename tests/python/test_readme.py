"""The Python of pages runs as printed, and references are what the package and the command are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import quell
import tomllib

ROOT = Path(__file__).parents[2]
COLUMNS = ROOT / "docs/reference/columns.md"


def run_page(path: str) -> dict[str, object]:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / path).read_text(), re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    return names


def test_the_python_of_the_readme_runs_in_any_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    results = run_page("README.md")["results"]
    assert "every-50th" in str(results.table())  # type: ignore[attr-defined]


def test_the_python_of_the_reference_runs_in_any_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(run_page("docs/reference/python.md")["frame"]) > 0  # type: ignore[arg-type]


def test_the_reference_names_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    page = (ROOT / "docs/reference/python.md").read_text()
    assert sorted(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == sorted(extras)


def test_the_reference_of_the_command_is_what_it_prints() -> None:
    check = [sys.executable, str(ROOT / "docs/site/cli.py"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_reference_of_columns_has_those_of_results() -> None:
    short = {"duration": "2 s", "warmup": "1 s"}
    results = quell.run(ROOT / "scenarios/dumbbell.toml", seeds=1, overrides=short)
    tables = re.split(r"^## `(\w+)\.parquet`$", COLUMNS.read_text(), flags=re.MULTILINE)
    keys, pages = tables[0], dict(zip(tables[1::2], tables[2::2], strict=True))
    assert len(pages) == 9
    for name, page in pages.items():
        found: list[str] = getattr(results, name).column_names
        written = re.findall(r"^\| `(\w+)` \|", keys + page, flags=re.MULTILINE)
        if name == "metrics":
            assert found[: len(written)] == written
        else:
            assert found == written, name
