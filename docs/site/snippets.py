"""Checks the code on the pages without running it: commands, options and files exist, TOML has only keys that scenarios know,
Python compiles and calls what the package has.

What runs is run elsewhere: the Python of README.md and of the reference in tests/python/test_readme.py, pages of scenarios in
crates/scenario/tests. `<!-- unchecked: WHY -->` before a fence leaves it out.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import stage
import tomllib

ROOT = stage.ROOT
CLI = ROOT / "docs/reference/cli.md"
SCHEMA: dict[str, Any] = json.loads((ROOT / "scenarios/schema.json").read_text())
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
# Folders of the repository whose files pages name; those that builds make are not there yet.
FOLDERS = ("scenarios/", "docs/", "crates/", "lab/", "conformance/", "papers/", "tests/")
MADE = ("lab/dist", "docs/performance.md")
ENDS = {"|", "||", "&&", ";", "&", "(", ")"}


@dataclass
class Snippet:
    """A fence of code: where it is, its language, and its text."""

    where: str
    language: str
    text: str


def check(sources: list[str]) -> list[str]:
    """What is wrong with the code of these pages."""
    commands = reference()
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    signatures = functions()
    wrong = []
    for snippet in (snippet for source in sources for snippet in snippets(source)):
        if snippet.language in ("sh", "bash"):
            found = shell(snippet.text, commands, targets)
        elif snippet.language == "toml":
            found = toml(snippet.text)
        elif snippet.language == "python":
            found = python(snippet.text, signatures)
        elif snippet.language == "json":
            found = parsed(json.loads, snippet.text)
        else:
            found = []
        wrong += [f"{snippet.where}: {problem}" for problem in found]
    return wrong


def snippets(source: str) -> Iterator[Snippet]:
    text = (ROOT / source).read_text()
    for match in FENCE.finditer(text):
        before = text[: match.start()].rstrip().rpartition("\n")[2]
        if before.startswith("<!-- unchecked:"):
            continue
        indent = match[1]
        lines = [line.removeprefix(indent) for line in match[3].splitlines()]
        yield Snippet(
            f"{source}:{text[: match.start()].count(chr(10)) + 1}", match[2], "\n".join(lines) + "\n"
        )


def parsed(parse: Any, text: str) -> list[str]:
    try:
        parse(text)
    except ValueError as error:
        return [str(error)]
    return []


def reference() -> dict[tuple[str, ...], set[str]]:
    """The options of each command, from the reference that is made of its help."""
    found: dict[tuple[str, ...], set[str]] = {(): set()}
    path: tuple[str, ...] = ()
    for line in CLI.read_text().splitlines():
        if heading := re.match(r"^##+ `quell ([\w -]+)`$", line):
            path = tuple(heading[1].split())
            found[path] = set()
        elif line.startswith("- **`"):
            found[path] |= set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", line.partition("`**")[0]))
    return found


def shell(text: str, commands: dict[tuple[str, ...], set[str]], targets: set[str]) -> list[str]:
    """What is wrong with commands: of Quell, of make, and the files of the repository that they name."""
    wrong: list[str] = []
    folder, waiting = ROOT, ""
    for line in text.splitlines():
        waiting += line.removesuffix("\\")
        try:
            words = list(split(waiting))
        except ValueError:
            # A quote goes on in the next line.
            waiting += "\n"
            continue
        if line.endswith("\\"):
            continue
        waiting = ""
        command: list[str] = []
        for word in [*words, ";"]:
            if word not in ENDS:
                command.append(word)
                continue
            if command[:1] == ["cd"]:
                folder = folder / command[1]
            wrong += one_command(command, commands, targets, folder)
            command = []
    return [*wrong, f"a quote is not closed: {waiting}"] if waiting.strip() else wrong


def split(line: str) -> Iterator[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;()")
    lexer.whitespace_split = True
    return lexer


def one_command(
    words: list[str], commands: dict[tuple[str, ...], set[str]], targets: set[str], folder: Path
) -> list[str]:
    wrong = []
    for word in words:
        path = word.partition("#")[0]
        ours = path.startswith(FOLDERS) and not path.startswith(MADE) and not re.search(r"[*$<>{]", path)
        if ours and not (folder / path).exists():
            wrong.append(f"{path} does not exist")
    if words[:1] == ["make"]:
        named = [word for word in words[1:] if re.fullmatch(r"[a-z][\w-]*", word)]
        wrong += [f"make {name}: the Makefile has no such target" for name in named if name not in targets]
    if words[:1] == ["quell"]:
        path: tuple[str, ...] = ()
        rest = words[1:]
        while rest and (*path, rest[0]) in commands:
            path, rest = (*path, rest[0]), rest[1:]
        if rest and not path and re.fullmatch(r"[a-z][\w-]*", rest[0]):
            return [*wrong, f"quell {rest[0]}: there is no such command"]
        known = commands[path] | {"--help", "-h", "--version"}
        for word in rest:
            if word == "--":
                break
            option = word.partition("=")[0]
            if re.fullmatch(r"--?[A-Za-z][\w-]*", option) and option not in known:
                wrong.append(f"quell {' '.join(path)} {option}: there is no such option")
    return wrong


def toml(text: str) -> list[str]:
    """What is wrong with TOML: its form, and keys of a scenario that no scenario has."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return [str(error)]
    # Other files have other keys: documents, configurations of the gateway.
    if not set(data) & {"dumbbell", "parking_lot", "graph", "flows"} or not set(data) <= set(
        SCHEMA["properties"]
    ):
        return []
    return unknown(data, SCHEMA, "")


def unknown(value: Any, schema: dict[str, Any], path: str) -> list[str]:
    """Keys that a schema does not have, in all tables of a value."""
    if isinstance(value, list):
        items = [form["items"] for form in forms(schema) if isinstance(form.get("items"), dict)]
        return [wrong for one in value for wrong in (unknown(one, items[0], path) if items else [])]
    if not isinstance(value, dict):
        return []
    tables = [form for form in forms(schema) if "properties" in form]
    if "algorithm" in value:
        tables = [
            one for one in tables if one["properties"].get("algorithm", {}).get("const") == value["algorithm"]
        ]
        if not tables:
            return [f"{path}: there is no algorithm {value['algorithm']}"]
    if not tables or any(form.get("additionalProperties") not in (False, None) for form in tables):
        return []
    wrong = []
    for key, below in value.items():
        holders = [form["properties"][key] for form in tables if key in form["properties"]]
        here = f"{path}.{key}".lstrip(".")
        wrong += unknown(below, holders[0], here) if holders else [f"{here}: no scenario has this key"]
    return wrong


def forms(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """All forms that a value may have."""
    if "$ref" in schema:
        return forms(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
    return [
        schema,
        *(form for key in ("anyOf", "oneOf") for one in schema.get(key, []) for form in forms(one)),
    ]


def functions() -> dict[str, set[str] | None]:
    """The parameters of each public function; None where any are taken, or where it is no function."""
    found: dict[str, set[str] | None] = dict.fromkeys(stage.public())
    for path in [ROOT / "python/quell/_quell.pyi", *(ROOT / "python/quell").glob("[!_]*.py")]:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                names = (
                    None if node.args.kwarg else {arg.arg for arg in node.args.args + node.args.kwonlyargs}
                )
                modules = ["quell", "quell.theory"] if path.suffix == ".pyi" else [f"quell.{path.stem}"]
                for module in modules:
                    if f"{module}.{node.name}" in found:
                        found[f"{module}.{node.name}"] = names
    return found


def python(text: str, signatures: dict[str, set[str] | None]) -> list[str]:
    """What is wrong with Python: its form, and names and arguments that the package does not have."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        return [str(error)]
    wrong = []
    parts = {name.rpartition(".")[0] for name in signatures}
    for node in ast.walk(tree):
        name = dotted(node) if isinstance(node, ast.Attribute) else ""
        if name and name not in signatures | dict.fromkeys(parts) and name.rpartition(".")[0] in parts:
            wrong.append(f"{name}: the package has no such name")
        if isinstance(node, ast.Call) and (known := signatures.get(dotted(node.func))) is not None:
            given = {keyword.arg for keyword in node.keywords if keyword.arg}
            wrong += [f"{dotted(node.func)}: there is no argument {name}" for name in sorted(given - known)]
    return wrong


def dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def pages() -> list[str]:
    return [page.source for page in {page.source: page for page in stage.Site().pages.values()}.values()]


if __name__ == "__main__":
    print("\n".join(check(pages())))
