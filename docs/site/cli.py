"""Writes docs/reference/cli.md, the reference of the command, from what `quell COMMAND --help` prints.

`python3 docs/site/cli.py target/release/quell` writes the page; with `--check` it only says whether the page is as it should be.
Without a command it takes that of the Python package in the same environment.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/cli.md"
HEAD = """\
# Command line

<!-- Written from what the command prints by `python3 docs/site/cli.py COMMAND`: do not edit. -->

Every command of `quell` with its arguments and options. `quell COMMAND --help` prints the same, and
[The command](../../crates/cli/README.md) explains what commands have in common: folders of results, settings, exit codes.

"""
# A heading of the help, such as "Options:".
HEADING = re.compile(r"^([A-Z][A-Za-z ]+):$")
# An argument or an option at the begin of its line, perhaps with the first line of its text.
ITEM = re.compile(
    r"^ {2,6}(-\w(?:, --[\w-]+)?(?: <.*?>)?(?:\.\.\.)?|--[\w-]+(?:[ =\[].*?)?|\[?<[A-Z].*?|\[[A-Z].*?)(?: {2,}(.*))?$"
)


def main() -> None:
    """Writes the page, or checks it."""
    given = [argument for argument in sys.argv[1:] if argument != "--check"]
    command = given or [sys.executable, "-m", "quell"]
    text = page(command)
    if "--check" not in sys.argv:
        PAGE.write_text(text)
    elif PAGE.read_text() != text:
        place = PAGE.relative_to(ROOT)
        sys.exit(
            f"{place} is not what the command prints: python3 docs/site/cli.py {' '.join(given)} writes it"
        )


def page(command: list[str]) -> str:
    """The whole page."""
    texts: dict[tuple[str, ...], str] = {}
    todo: list[tuple[str, ...]] = [()]
    with ThreadPoolExecutor() as pool:
        while todo:
            helps = list(pool.map(lambda path: ask(command, path), todo))
            texts |= dict(zip(todo, helps, strict=True))
            todo = [(*path, name) for path, text in zip(todo, helps, strict=True) for name in commands(text)]
    order = list(commands(texts[()]))
    out = [HEAD, "| command | |\n| --- | --- |\n"]
    for name, says in commands(texts[()]).items():
        out.append(f"| [`quell {name}`](#quell-{name}) | {says} |\n")
    out.append("\n")
    for path in sorted(
        (path for path in texts if path), key=lambda path: (order.index(path[0]), len(path) > 1)
    ):
        out.append(section(path, texts[path]))
    return re.sub(r"\n{3,}", "\n\n", "".join(out)).rstrip() + "\n"


def ask(command: list[str], path: tuple[str, ...]) -> str:
    done = subprocess.run(
        [*command, *path, "--help"],
        env=os.environ | {"NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join([*command, *path])} --help: exit status {done.returncode}: {done.stderr}")
    return done.stdout


def commands(text: str) -> dict[str, str]:
    """The names of the commands that a help lists, with what it says of them."""
    found: dict[str, str] = {}
    inside, name = False, ""
    for line in text.splitlines():
        if HEADING.match(line):
            inside = line == "Commands:"
        elif inside and (match := re.match(r"^  ([a-z][\w-]*)(?: {2,}(.*))?$", line)):
            name = match.group(1)
            found[name] = match.group(2) or ""
        elif inside and line.strip() and name:
            found[name] += f" {line.strip()}"
    found.pop("help", None)
    return {name: prose(says.strip()) for name, says in found.items()}


def section(path: tuple[str, ...], text: str) -> str:
    """A command as Markdown."""
    name = " ".join(("quell", *path))
    says, _, rest = text.partition("\nUsage: ")
    usage, _, rest = rest.partition("\n\n")
    usage = " ".join(usage.split())
    # A program is called as its file is; the command is called quell.
    usage = re.sub(r"^\S+", "quell", usage)
    out = [f"{'##' if len(path) == 1 else '###'} `{name}`\n\n{paragraphs(says)}\n\n```text\n{usage}\n```\n\n"]
    heading, block = "", []
    for line in [*rest.splitlines(), "End:"]:
        if found := HEADING.match(line):
            out.append(part(heading, block))
            heading, block = found.group(1), []
        else:
            block.append(line)
    return "".join(out)


def part(heading: str, lines: list[str]) -> str:
    """A part of a help: its arguments and options as a list, its examples as code, anything else as text."""
    text = "\n".join(lines).strip("\n")
    if not text:
        return ""
    if heading == "Commands":
        return ""
    if heading == "Examples":
        examples, _, after = "\n".join(lines).partition("\n\n")
        more = []
        while after.startswith("  "):
            block, _, after = after.partition("\n\n")
            more.append(block)
        code = "\n".join(line.strip() for line in "\n".join([examples, *more]).splitlines())
        return f"```sh\n{code}\n```\n\n{paragraphs(after)}\n\n"
    if heading in ("Arguments", "Options") or any(ITEM.match(line) for line in lines):
        title = "" if heading in ("Arguments", "Options") else f"{heading}:\n\n"
        return title + items(lines) + "\n"
    title = f"{heading}:\n\n" if heading else ""
    return f"{title}{paragraphs(text)}\n\n"


def items(lines: list[str]) -> str:
    """Arguments or options with their texts."""
    found: list[tuple[str, list[str]]] = []
    after: list[str] = []
    for line in lines:
        if match := ITEM.match(line):
            found.append((match.group(1).strip(), [match.group(2) or ""]))
        elif found and (line.startswith("      ") or not line.strip()) and not after:
            found[-1][1].append(line)
        elif line.strip():
            after.append(line)
    out = []
    for name, says in found:
        if name in ("-h, --help", "-V, --version"):
            continue
        out.append(f"- **`{name}`**: {described(says)}\n")
    return "".join(out) + (f"\n{paragraphs(chr(10).join(after))}\n" if after else "")


def described(lines: list[str]) -> str:
    """The text of an option; possible values that have texts of their own become a list below it."""
    text: list[str] = []
    values: list[str] = []
    for line in (line.strip() for line in lines):
        if re.match(r"^- [\w-]+:", line):
            name, _, says = line[2:].partition(":")
            values.append(f"  - `{name}`: {says.strip()}")
        elif values and line and not line.startswith("["):
            values[-1] += f" {line}"
        elif line not in ("", "Possible values:"):
            text.append(line)
    # What clap adds, in the words of this page.
    whole = prose(" ".join(text))
    whole = re.sub(r"\s*\[default: (.+?)\]", r" Default: `\1`.", whole)
    whole = re.sub(
        r"\s*\[possible values: (.+?)\]",
        lambda m: " One of " + ", ".join(f"`{v}`" for v in m[1].split(", ")) + ".",
        whole,
    )
    whole = re.sub(r"\s*\[env: (.+?)=.*?\]", r" From the environment: `\1`.", whole)
    whole = re.sub(r"(?<=[^.;:?!])(?= (?:Default: `|One of `))", ".", whole)
    return "\n".join([whole, *map(prose, values)])


def paragraphs(text: str) -> str:
    """Lines as paragraphs; those that are set in stay as they are."""
    out = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if not block.strip():
            continue
        if all(line.startswith("  ") for line in block.splitlines()):
            out.append("```text\n" + "\n".join(line[2:] for line in block.splitlines()) + "\n```")
        else:
            out.append(prose(" ".join(block.split())))
    return "\n\n".join(out)


def prose(text: str) -> str:
    """Text of the help as Markdown: what Markdown would take for its own is code or escaped."""
    parts = re.split(r"(`[^`]*`)", text)
    for place in range(0, len(parts), 2):
        plain = re.sub(r"(?<![\w-])(--[a-z][\w-]*)", r"`\1`", parts[place])
        plain = re.sub(
            r"(?<![\w`])(docs/[\w/-]+\.md)", lambda m: f"[{m[1]}](../{m[1].removeprefix('docs/')})", plain
        )
        plain = re.sub(r"(?<!`)([*_<>|])(?!`)", r"\\\1", plain) if "](" not in plain else plain
        parts[place] = plain
    return "".join(parts)


if __name__ == "__main__":
    main()
