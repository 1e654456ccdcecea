"""The pages that a reader follows step by step do what they say, and print what they show.

``QUELL_UPDATE_DOCS=1 pytest tests/python/test_tutorials.py`` writes what is printed now into the pages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pages
import pytest
from pages import ROOT, Reader, agrees, steps

DOCS = ROOT / "docs"
GUIDES = [
    "vary-parameters",
    "tune",
    "link-trace",
    "recommend",
    "import-capture",
    "cite",
    "ns-2-paper",
    "own-implementation",
    "flent",
]
PAGES = sorted(DOCS.glob("tutorials/*.md")) + [DOCS / f"how-to/{name}.md" for name in GUIDES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_says(page: Path, tmp_path: Path) -> None:
    if page.stem == "real-packets" and (why := no_real_packets()):
        pytest.skip(why)
    Reader(page, tmp_path).read()


def no_real_packets() -> str | None:
    """Why there can be no namespaces here, or no traffic in them."""
    command = [sys.executable, "-m", "quell", "wire", "--rate", "10Mbit/s", "--rtt", "10ms", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode == 0 and shutil.which("curl"):
        return None
    why = done.stderr.strip() or "there is no `curl` in PATH"
    assert "QUELL_REQUIRE_NETNS" not in os.environ, f"QUELL_REQUIRE_NETNS is set, and {why}"
    return why


def test_output_that_differs_is_found() -> None:
    assert agrees("a 1\n...\nb 2\n", "a 1\nx\ny\nb 2\n")
    assert agrees("in ... s\n", "in 0.3 s\n")
    assert not agrees("a 1\n...\nb 2\n", "a 1\nx\ny\nb 3\n")
    assert not agrees("a 1\n", "a 1\nb\n")


def test_blocks_are_recognized() -> None:
    page = """
<!-- file: a.toml -->
```toml
x = 1
```

```sh
cat a.toml
```

```text
x = 1
```

<!-- not run: it never ends -->
```sh
yes
```
"""
    found = steps(page)
    assert [(s.language, s.file, s.skipped) for s in found] == [
        ("toml", "a.toml", False),
        ("sh", None, False),
        ("text", None, False),
        ("sh", None, True),
    ]
    with pytest.raises(AssertionError, match="needs `<!-- file: NAME -->`"):
        steps("```toml\nx = 1\n```\n")


def test_a_page_that_shows_something_else_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "UPDATE", False)
    page = tmp_path / "page.md"
    text = "```sh\necho 1; false\n```\n"
    page.write_text(text)
    with pytest.raises(AssertionError, match=r"page\.md:1: exit status 1"):
        Reader(page, tmp_path).read()
    page.write_text("```sh\necho 1\n```\n\n```text\n2\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md:5: the page shows"):
        Reader(page, tmp_path).read()
    monkeypatch.setattr(pages, "UPDATE", True)
    Reader(page, tmp_path).read()
    assert page.read_text() == "```sh\necho 1\n```\n\n```text\n1\n```\n"
