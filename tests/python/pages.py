"""Runs a page of the documentation as its reader would: block by block, in an empty folder.

A page is Markdown. What a block of code is for follows from its language and from a comment on the line
before it:

- ``<!-- file: NAME -->``: the block is the content of the file NAME.
- ``sh``: commands. They must succeed.
- ``python``: statements. All blocks of a page share their names.
- ``text`` after one of these: what it prints, on both streams. A ``...`` stands for anything, such as an
  elapsed time.
- ``<!-- not run: WHY -->``: the block is only read.
- ``[...](files/NAME)``: the file, which lies beside the page, is there from the beginning.
- A picture ``![...](../images/NAME.svg)``: what the commands above it wrote into ``NAME.svg``.

A block of any other language needs one of the comments if it could be taken for something to run.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UPDATE = os.environ.get("QUELL_UPDATE_DOCS") == "1"

# What a long command says of itself on the way; how often depends on the machine.
PROGRESS = re.compile(r"^ *\d+ ?% +\d+/\d+ runs.*\n", re.MULTILINE)
BLOCK = re.compile(
    r"(?:^ *<!-- (?P<mark>file|not run): (?P<said>[^\n]+?) -->\n(?: *<!-- unchecked: [^\n]+ -->\n)?)?"
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<body>.*?)^(?P=indent)```$"
    r"|^!\[[^\]]*\]\((?P<picture>[^)]+)\)$",
    re.MULTILINE | re.DOTALL,
)
RUN = ("sh", "python", "text", "toml", "c", "rust", "console", "bash", "csv")


@dataclass
class Step:
    """A block of a page, or a picture."""

    line: int
    language: str
    body: str
    span: tuple[int, int]
    indent: str = ""
    file: str | None = None
    skipped: bool = False
    picture: str | None = None


def steps(page: str) -> list[Step]:
    """The blocks and pictures of a page, in order."""
    found = []
    for block in BLOCK.finditer(page):
        line = page.count("\n", 0, block.start()) + 1
        if block["picture"] is not None:
            found.append(Step(line, "", "", block.span("picture"), picture=block["picture"]))
            continue
        file = block["said"] if block["mark"] == "file" else None
        skipped = block["mark"] == "not run"
        if not (file or skipped) and block["language"] not in ("sh", "python", "text"):
            assert block["language"] not in RUN, f"line {line}: this block needs `<!-- file: NAME -->`"
            continue
        body = re.sub(f"^{block['indent']}", "", block["body"], flags=re.MULTILINE)
        span = block.span("body")
        found.append(Step(line, block["language"], body, span, block["indent"], file, skipped))
    return found


class Reader:
    """Somebody who does what a page says, in a folder of their own."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.names: dict[str, object] = {"__name__": "__main__"}
        beside = str(Path(sys.executable).parent)
        self.env = {
            **os.environ,
            "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}",
            "QUELL_CACHE": str(folder / ".cache"),
            "SOURCE_DATE_EPOCH": "0",
            "COLUMNS": "120",
            "MPLBACKEND": "Agg",
        }

    def read(self) -> None:
        """Do every step, and compare what the page shows; with QUELL_UPDATE_DOCS=1 write it into the page."""
        text = self.page.read_text()
        for name in re.findall(r"\]\(([^)]*\bfiles/[^)]+)\)", text):
            shutil.copy(self.page.parent / name, self.folder)
        printed: str | None = None
        wrong: list[str] = []
        replaced: list[tuple[tuple[int, int], str]] = []
        for step in steps(text):
            where = f"{self.page.relative_to(ROOT)}:{step.line}"
            if step.skipped:
                continue
            if step.picture is not None:
                wrong += self.compare_picture(where, step.picture)
            elif step.file is not None:
                path = self.folder / step.file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(step.body)
            elif step.language == "sh":
                printed = self.shell(where, step.body)
            elif step.language == "python":
                printed = self.python(where, step.body)
            else:
                assert printed is not None, f"{where}: nothing before this block prints"
                shown, printed = printed, None
                if not agrees(step.body, shown):
                    new = textwrap.indent(shorten(shown, step.body), step.indent)
                    replaced.append((step.span, new))
                    wrong.append(f"{where}: the page shows\n{step.body}\nand this is printed\n{shown}")
        if UPDATE:
            for (begin, end), shown in reversed(replaced):
                text = text[:begin] + shown + text[end:]
            self.page.write_text(text)
        assert UPDATE or not wrong, "\n\n".join(wrong)

    def shell(self, where: str, commands: str) -> str:
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", commands],
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, f"{where}: exit status {done.returncode}\n{done.stdout}"
        return tidy(done.stdout.replace(self.env["QUELL_CACHE"], "~/.cache/quell"))

    def python(self, where: str, statements: str) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.chdir(self.folder):
            exec(compile(statements, where, "exec"), self.names)
        return tidy(out.getvalue())

    def compare_picture(self, where: str, picture: str) -> list[str]:
        made = self.folder / Path(picture).name
        kept = (self.page.parent / picture).resolve()
        if not made.exists():
            return [f"{where}: no command above made {made.name}"]
        if kept.exists() and kept.read_bytes() == made.read_bytes():
            return []
        if UPDATE:
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(made, kept)
        return [f"{where}: {kept.relative_to(ROOT)} is not what the commands above it make"]


def tidy(printed: str) -> str:
    """What a page shows of what was printed: no spaces at the ends of lines, no empty lines at its ends."""
    lines = [line.rstrip() for line in PROGRESS.sub("", printed).splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def shorten(printed: str, shown: str) -> str:
    """What is printed now, with ``...`` within the lines where the page had it."""
    short = {}
    for line in shown.splitlines():
        if "..." in line and line.strip(" ."):
            short[line] = re.compile(".*".join(map(re.escape, line.rstrip().split("..."))))
    lines = []
    for line in printed.splitlines():
        lines.append(next((kept for kept, pattern in short.items() if pattern.fullmatch(line)), line))
    return "\n".join(lines) + "\n"


def agrees(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed; doctest's rule for ``...``."""
    return doctest.OutputChecker().check_output(tidy(shown), printed, doctest.ELLIPSIS)
