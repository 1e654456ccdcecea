"""CONTRIBUTING's list of edits for a new algorithm is complete: done in a copy, its tests pass.

The copy lies in the target directory and shares it, so that only quell-aqm and quell-queue are compiled again.
It always lies in the same place, since test programs remember where their sources were.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

# The page of the documentation that takes a reader through the list, with the files that it asks to save.
TUTORIAL = "docs/tutorials/aqm-in-rust.md"
ALGORITHM = "crates/aqm/src/catalog/load/toy.rs"
CATALOG = "crates/aqm/src/catalog/mod.rs"
VECTORS = "crates/aqm/tests/vectors/toy.toml"
PAGE = "docs/algorithms/toy.md"


def block(page: str, comment: str) -> str:
    """The block of code below a comment."""
    (found,) = re.findall(rf"^<!-- {re.escape(comment)} -->\n(?:<!-- unchecked[^\n]*\n)?```\w+\n(.*?)^```$", page, re.M | re.S)
    return found


def main() -> None:
    if shutil.which("cargo") is None:
        sys.exit("new_algorithm: there is no `cargo` in PATH; to get it: rustup (https://rustup.rs)")
    listed = (ROOT / "CONTRIBUTING.md").read_text().split("## Adding an algorithm")[1].split("\n\n")[1]
    edits = re.findall(r"^(\d)\. .*?`([^`]+)`", listed, re.MULTILINE)
    expected = [
        ("1", "crates/aqm/src/catalog/<family>/foo.rs"),
        ("2", "crates/aqm/src/catalog/mod.rs"),
        ("3", "crates/aqm/tests/vectors/foo.toml"),
        ("4", "docs/algorithms/foo.md"),
    ]
    assert edits == expected, f"CONTRIBUTING.md lists {edits}"

    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    copy = target / "new-algorithm"
    try:
        shutil.rmtree(copy, ignore_errors=True)
        skip = shutil.ignore_patterns("target", ".git", ".venv", "results", "__pycache__", "snapshots")
        shutil.copytree(ROOT, copy, ignore=skip, symlinks=True)
        page = (ROOT / TUTORIAL).read_text()
        for path in (ALGORITHM, VECTORS, PAGE):
            (copy / path).write_text(block(page, f"file: {path}"))
        catalog = (copy / CATALOG).read_text()
        begin = "folder: load } aqms {\n"
        assert catalog.count(begin) == 1
        line = block(page, f"not run: a line of {CATALOG}")
        (copy / CATALOG).write_text(catalog.replace(begin, begin + line))

        env = os.environ | {"CARGO_TARGET_DIR": str(target)}
        # Compiling takes longer than these few tests.
        plain = ["quell-aqm", "quell-queue", "quell-units"]
        config = [word for name in plain for word in ("--config", f"profile.dev.package.{name}.opt-level=0")]

        def test(*arguments: str, **more: str) -> None:
            command = ["cargo", "test", "--quiet", "--offline", *config, "-p", "quell-aqm", *arguments]
            done = subprocess.run(command, cwd=copy, env=env | more, check=False)
            if done.returncode != 0:
                sys.exit(f"new_algorithm: {' '.join(command)}: exit status {done.returncode}")

        test("--test", "all", "docs::", QUELL_UPDATE_DOCS="1")
        filters = ["every_", "the_list", "equations_give", "event_sequences", "unknown_parameters"]
        test("--lib", "--test", "all", "--", *filters)
        assert "| [`toy`](toy.md) | Toy | load | nobody | experimental |" in (
            copy / "docs/algorithms/README.md"
        ).read_text()
        row = block(page, "not run: crates/aqm/tests/new_algorithm.py looks for it in the page")
        assert row in (copy / PAGE).read_text()
    finally:
        shutil.rmtree(copy, ignore_errors=True)


if __name__ == "__main__":
    main()
