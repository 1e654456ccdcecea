"""Writes docs/reference/scenario.md, the reference of scenario files, from scenarios/schema.json and the scenarios there.

The types of Quell write the schema, in a test; the examples are values of the scenarios that the tests run.
`python3 docs/site/scenario.py` writes the page, `--check` only says whether it is as it should be.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/scenario.md"
SCHEMA: dict[str, Any] = json.loads((ROOT / "scenarios/schema.json").read_text())
DEFS: dict[str, Any] = SCHEMA["$defs"]
# A table that is one of the forms of a value gets a name as others have, and so a section; several share it.
for _name in list(DEFS):
    _forms = [form for form in DEFS[_name].get("anyOf", []) if "properties" in form]
    if not _forms:
        continue
    _table = dict(_forms[0])
    for _form in _forms[1:]:
        _table["properties"] = {**_table["properties"], **_form["properties"]}
        _table["required"] = [key for key in _table.get("required", []) if key in _form.get("required", [])]
        _table["description"] = f"{_table['description']} Or: {_form['description']}"
    DEFS[f"{_name} as a table"] = _table
    for _form in _forms:
        _form.clear()
        _form["$ref"] = f"#/$defs/{_name} as a table"


HEAD = """\
# Scenario keys

<!-- Written from scenarios/schema.json by `python3 docs/site/scenario.py`: do not edit. -->

Every key of a scenario file, with its value, its default and an example. A scenario is one TOML file: the network
(`dumbbell`, `parking_lot` or `graph`), the traffic (`flows`), the algorithms to compare (`aqm`), and how long it runs.
`quell scenario check FILE` checks a file and names the line, the value and the rule of each mistake, and `quell scenario show FILE`
prints it with every default filled in. `quell scenario schema` prints the JSON Schema, for editors that complete and check
TOML.

```toml
schema = 1
duration = "60 s"
warmup = "20 s"

[dumbbell]
rate = "10 Mbit/s"
delay = "10 ms"
buffer = "1 bdp"

[[flows]]
name = "ftp"
count = 10
rtt = "80 ms"

[[aqm]]
algorithm = "drop-tail"

[[aqm]]
algorithm = "codel"
```

A [dialect](../dialects.md) replaces the defaults of this page by those of another simulator or of hosts.

## Values

| value | is written as |
| --- | --- |
| time | a number and `ns`, `us`, `ms`, `s`, `min` or `h`: `"100 ms"` |
| rate | a number and `bit/s`, `kbit/s`, `Mbit/s`, `Gbit/s` or `Tbit/s`: `"10 Mbit/s"` |
| size | a number and `B`, `kB`, `MB`, `GB`, `KiB` or `MiB`: `"1500 B"` |
| queue size | a size, or a number of `packets`: `"50 packets"`, `"75 kB"` |
| number, whole number, probability | as TOML has it: `0.02`, `10` |
| yes or no | `true` or `false` |

Every number, time, rate and size may also be an **expression** of other fields, such as `"0.2 * dumbbell.buffer"` or
`"max(5 ms, 2 * dumbbell.delay)"`: numbers with units, fields, `+ - * / ( )` (spaces around `+` and `-`), `min`, `max`, `round`,
and `bdp`, the bandwidth-delay product in packets. [Sweeps](../sweeps.md) tells more.

"""

# How deep tables stand in each other.
DEEPEST = 5
# An end of a range that is only how far a program counts.
LARGE = 1e6
# What a definition of the schema is called, and needs no section.
SCALARS = {
    "Duration": "time",
    "BitRate": "rate",
    "Bytes": "size",
    "QueueSize": "queue size",
    "Count": "number",
    "Expression": "",
}
# Sections that people look for by another word.
SAYS = {
    "": "The keys at the top of the file, outside of any table.",
    "flows.tcp": "The senders and receivers of a group: [Senders](../senders.md) explains them together, and "
    "[each part](../senders/README.md) has a page.",
    "aqm": "Each table is one algorithm that the scenario is run with. Its parameters stand beside `algorithm`: the table below names "
    "them, and the page of the algorithm has the unit, the default and the source of each.",
}


class Writer:
    """Collects the page; each table of the format has one section, at its first place."""

    def __init__(self) -> None:
        self.out = [HEAD]
        self.where: dict[str, list[str]] = defaultdict(list)
        self.examples = examples()
        self.queue: list[tuple[str, dict[str, Any], str]] = []

    def page(self) -> str:
        """The whole page."""
        self.places(SCHEMA, "")
        self.table("", SCHEMA, "")
        done: set[str] = set()
        while self.queue:
            path, schema, name = self.queue.pop(0)
            if name and name in done:
                continue
            done.add(name)
            path = self.where[name][0] if self.where[name] else path
            later, self.queue = self.queue, []
            self.table(path, schema, name)
            # The tables of a table follow it.
            self.queue += later
        return re.sub(r"\n{3,}", "\n\n", "".join(self.out)).rstrip() + "\n"

    def places(self, schema: dict[str, Any], path: str) -> None:
        """Notes every path of each definition that is a table; the shortest first."""
        level = [(schema, path)]
        for _ in range(DEEPEST):
            below = []
            for one, at in level:
                for key, value in one.get("properties", {}).items():
                    tables = [name for name in refs(value) if "properties" in DEFS[name]]
                    for name in tables:
                        full = f"{at}.{key}".lstrip(".")
                        self.where[name] += [full] if full not in self.where[name] else []
                        below.append((DEFS[name], full))
            level = below

    def table(self, path: str, schema: dict[str, Any], name: str) -> None:
        """A section with all keys of a table."""
        listed = name and any(is_list_of(prop, name) for prop in self.holders(path))
        title = f"`[[{path}]]`" if listed else f"`[{path}]`" if path else "Top of the file"
        self.out.append(f"\n## {title}\n\n")
        if text := SAYS.get(path) or words(schema.get("description", "")):
            self.out.append(f"{text}\n\n")
        if others := self.where[name][1:]:
            self.out.append(f"Also as {', '.join(f'`{other}`' for other in others)}.\n\n")
        if path == "aqm":
            self.algorithms(schema)
            return
        required = schema.get("required", [])
        for key, value in schema["properties"].items():
            self.key(f"{path}.{key}".lstrip("."), value, key in required)

    def holders(self, path: str) -> list[dict[str, Any]]:
        """The schemas of the key at a path."""
        schema, found = SCHEMA, []
        for key in path.split("."):
            for candidate in [schema, *(DEFS[name] for name in refs(schema))]:
                if key in candidate.get("properties", {}):
                    schema = candidate["properties"][key]
                    break
            found = [schema]
        return found

    def key(self, path: str, schema: dict[str, Any], required: bool) -> None:
        """A key: what it takes, its default, what it means, an example."""
        self.out.append(f"### `{path}`\n\n")
        text = words(schema.get("description", ""))
        text, unit, default = details(text)
        facts = [kind(schema) or (unit and unit_kind(unit)) or "value"]
        if required:
            facts.append("**required**")
        elif default:
            facts.append(f"default {default}")
        elif (given := schema.get("default")) is not None and "default" not in text.lower():
            facts.append(f"default `{toml(given)}`")
        self.out.append(
            f"{'; '.join(fact[0].upper() + fact[1:] if n == 0 else fact for n, fact in enumerate(facts))}.\n\n{text}\n\n"
        )
        self.choices(schema)
        # One on one line is an example; a whole file is in the folder of scenarios.
        if found := [one for one in self.examples.get(path, []) if len(one) <= 70]:
            shown = min(
                found, key=lambda one: (one == toml(schema.get("default")), len(one) > 45, one.count("{"))
            )
            last = path.rpartition(".")[2]
            self.out.append(f"```toml\n{last} = {shown}\n```\n\n")
        for name in refs(schema):
            if "properties" in DEFS[name] or path == "aqm":
                self.queue.append((path, DEFS[name], name))
        if "properties" in schema and path != "sweep":
            self.queue.append((path, schema, path))

    def choices(self, schema: dict[str, Any]) -> None:
        """The names that a key takes, or the tables, each with what it means."""
        for name in refs(schema):
            for one in DEFS[name].get("oneOf", []) if name != "Aqm" else []:
                if "const" in one:
                    self.out.append(f'- `"{one["const"]}"`: {words(one.get("description", ""))}\n')
                else:
                    self.out.append(f"- `{form(one)}`: {words(one.get('description', ''))}\n")
        self.out.append("\n")

    def algorithms(self, schema: dict[str, Any]) -> None:
        """The algorithms with the names of their parameters."""
        self.key(
            "aqm.algorithm", {"type": "string", "description": "The algorithm, by its name below."}, True
        )
        label = schema["oneOf"][0]["properties"]["label"]
        self.key("aqm.label", label, False)
        self.out.append(
            "### Parameters of each algorithm\n\nIn parentheses are the values that a parameter takes while the others have "
            "their defaults: `(0, 1]` is above 0 and at most 1.\n\n| algorithm | parameters |\n| --- | --- |\n"
        )
        for one in schema["oneOf"]:
            name = one["properties"]["algorithm"].get("const")
            if not name:
                continue
            page = name.replace("-", "_").replace("+", "_")
            names = [
                f"`{key}`{limits(value.get('x-range', {}))}"
                for key, value in one["properties"].items()
                if key not in ("algorithm", "label")
            ]
            self.out.append(f"| [{name}](../algorithms/{page}.md) | {', '.join(names) or 'none'} |\n")


def refs(schema: Any) -> list[str]:
    """The definitions that a schema names, in order, those of its parts too, but not those of other keys."""
    found: list[str] = []
    if isinstance(schema, dict):
        if "$ref" in schema:
            found.append(schema["$ref"].rpartition("/")[2])
        for key in ("anyOf", "items", "oneOf"):
            if key in schema:
                found += refs(schema[key])
        # A definition that only chooses among others is as if it were written out.
        for name in list(found):
            if "anyOf" in DEFS[name] and name not in SCALARS:
                found += [below for below in refs(DEFS[name]) if below not in found]
    elif isinstance(schema, list):
        for part in schema:
            found += [name for name in refs(part) if name not in found]
    return [name for name in found if name not in SCALARS]


def is_list_of(schema: dict[str, Any], name: str) -> bool:
    """Whether what a key takes may be a list of these tables."""
    if "$ref" in schema:
        target = DEFS[schema["$ref"].rpartition("/")[2]]
        return "anyOf" in target and is_list_of(target, name)
    if isinstance(schema.get("items"), dict) and name in refs(schema["items"]):
        return True
    return any(is_list_of(one, name) for one in schema.get("anyOf", []))


def kind(schema: dict[str, Any]) -> str:
    """What a key takes, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in SCALARS:
            return SCALARS[name]
        target = DEFS[name]
        if "anyOf" in target:
            return kind(target)
        if all("const" in one for one in target.get("oneOf", [{}])):
            return "one of these names"
        return "table"
    if "const" in schema:
        return f'`"{schema["const"]}"`'
    if "anyOf" in schema:
        kinds = [kind(one) for one in schema["anyOf"]]
        return " or ".join(dict.fromkeys(word for word in kinds if word and word != "null"))
    types = schema.get("type", [])
    for one in [types] if isinstance(types, str) else types:
        if one == "array":
            items = schema.get("items")
            inner = kind(items) if isinstance(items, dict) else "value"
            return f"list of {plural(inner)}"
        if one == "integer":
            return "whole number"
        if one != "null":
            return {"number": "number", "string": "text", "boolean": "yes or no", "object": "table"}[one]
    return "null" if types else ""


def plural(words: str) -> str:
    def one(word: str) -> str:
        if word.startswith("list "):
            return "lists " + word.removeprefix("list ")
        return word if word.startswith("`") or word == "yes or no" else f"{word}s"

    return " or ".join(map(one, words.split(" or ")))


def form(schema: dict[str, Any]) -> str:
    """A table with few keys, as one writes it in a line."""
    parts = []
    for key, value in schema.get("properties", {}).items():
        kinds = kind(value)
        if kinds.startswith("list of"):
            one = kinds.removeprefix("list of ").rstrip("s")
            kinds = f"[{one}, {one}]" if value.get("maxItems") == 2 else f"[{one}, ...]"
        elif kinds == "table":
            kinds = form(DEFS[refs(value)[0]])
        parts.append(f"{key} = {kinds}")
    return "{ " + ", ".join(parts) + " }"


def words(text: str) -> str:
    """A description as one paragraph of Markdown."""
    text = " ".join(text.split())
    text = re.sub(r"\[`([^`\]]+)`\](?!\()", r"`\1`", text)
    return (
        re.sub(r'(?<![`"\w{])"([^"\s]{1,40})"(?!`)', r'`"\1"`', text)
        if text.count('"') % 2 == 0 and "{" not in text
        else text
    )


def details(text: str) -> tuple[str, str, str]:
    """The unit and the default that descriptions of parameters end with, apart from the rest."""
    if match := re.search(r"^(.*?)\s*Unit: (.+?)\. Default: (.+?)\.?$", text):
        return match.group(1), match.group(2), match.group(3)
    # What is short stands in the line above the text, and not in the text too.
    if match := re.search(r"^(.*?)[;:,]\s*default:?\s+([^;:,()]{1,40})\.$", text):
        return f"{match.group(1)}.", "", match.group(2)
    return text, "", ""


def limits(range_: dict[str, Any]) -> str:
    """The values between the ends that a schema gives for sliders; the largest numbers of a computer are no end."""
    least, most = range_.get("least"), range_.get("most")
    if most is not None and most >= LARGE:
        most = None
    if (least, most) in ((None, None), (0, None)):
        return ""
    unit = f" {range_['unit']}" if "unit" in range_ else ""
    if most is None:
        return f" (above {least:g}{unit})" if range_.get("least_outside") else f" (from {least:g}{unit})"
    if least is None:
        return f" (below {most:g}{unit})" if range_.get("most_outside") else f" (to {most:g}{unit})"
    opening = "(" if range_.get("least_outside") else "["
    closing = ")" if range_.get("most_outside") else "]"
    return f" ({opening}{least:g}, {most:g}{closing}{unit})"


def unit_kind(unit: str) -> str:
    return {
        "1": "number",
        "name": "name",
        "true or false": "yes or no",
        "packets or bytes": "queue size",
    }.get(unit, unit)


def examples() -> dict[str, list[str]]:
    """The values of each path in the scenarios of the repository, as TOML; the plainest file first."""
    found: dict[str, list[str]] = defaultdict(list)
    files = sorted(ROOT.glob("scenarios/*.toml")) + sorted(ROOT.glob("scenarios/*/*.toml"))
    files += sorted(ROOT.glob("crates/characterize/suite/*.toml"))

    def note(path: str, value: Any) -> None:
        if path and toml(value) not in found[path]:
            found[path].append(toml(value))
        if isinstance(value, dict):
            for key, below in value.items():
                note(f"{path}.{key}".lstrip("."), below)
        elif isinstance(value, list):
            for one in value:
                if isinstance(one, dict):
                    for key, below in one.items():
                        note(f"{path}.{key}", below)

    for file in files:
        note("", tomllib.loads(file.read_text()))
    return found


def toml(value: Any) -> str:
    """A value as TOML has it in a line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        names = [key if re.fullmatch(r"[\w-]+", key) else json.dumps(key) for key in value]
        return (
            "{ "
            + ", ".join(f"{name} = {toml(below)}" for name, below in zip(names, value.values(), strict=True))
            + " }"
        )
    return str(value)


if __name__ == "__main__":
    text = Writer().page()
    if "--check" in sys.argv:
        if PAGE.read_text() != text:
            sys.exit(
                f"{PAGE.relative_to(ROOT)} is not what scenarios/schema.json gives: python3 docs/site/scenario.py writes it"
            )
    else:
        PAGE.write_text(text)
