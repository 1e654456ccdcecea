"""The README's Python runs as printed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_python_of_the_readme_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    results = names["results"]
    assert "every-50th" in str(results.table())  # type: ignore[attr-defined]
