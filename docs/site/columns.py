"""Writes docs/reference/columns.md, the columns of the Parquet tables, from the rows that Rust declares.

A table's columns are the fields of its row (`tables!` and `row!` in crates/metrics), so what documents a field documents a column; a test
of the Python package compares the names with those of results. `python3 docs/site/columns.py` writes the page, `--check` only says
whether it is as it should be.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/columns.md"
SOURCES = [ROOT / "crates/metrics/src/table.rs", ROOT / "crates/metrics/src/replication.rs"]
HEAD = """\
# Columns of the tables

<!-- Written from crates/metrics/src by `python3 docs/site/columns.py`: do not edit. -->

The columns of the Parquet files in a results folder. Python has the same tables as `results.metrics`, `results.series` and so on.
[Results for programs](../results.md) describes the folder and the JSON. Units are in the names: `_s` seconds, `_bps` bits per second,
`_pps` packets per second. Every table begins with the three columns that name the replication of a row:

| column | type | is |
| --- | --- | --- |
| `point` | whole number | The point of the sweep, from 0. |
| `algorithm` | text | The label of the algorithm. |
| `seed` | whole number | The seed. |

"""
TYPES = {"f64": "number", "u32": "whole number", "u64": "whole number", "String": "text", "Arc<str>": "text"}
FIELD = re.compile(r"((?:\s*///[^\n]*\n)*)\s*(?:#\[[^\n]*\n\s*)*(?:pub )?(\w+): ([^\n]+),\n")


def main() -> None:
    """Writes the page, or checks it."""
    text = page()
    if "--check" not in sys.argv:
        PAGE.write_text(text)
    elif PAGE.read_text() != text:
        sys.exit(
            f"{PAGE.relative_to(ROOT)} is not what crates/metrics declares: python3 docs/site/columns.py writes it"
        )


def page() -> str:
    """The whole page."""
    source = "\n".join(path.read_text() for path in SOURCES)
    rows = {
        name: [(field, kind, prose(doc)) for doc, field, kind in FIELD.findall(body + "\n")]
        for name, body in re.findall(r"struct (\w+) \{\n(.*?)\n\s*\}\n", source, re.DOTALL)
    }
    # Samples over time are declared as lists first, and these are documented.
    known = {
        field: doc
        for name in ("LinkSeries", "InternalSeries", "MetricRow")
        for field, _, doc in rows[name]
        if doc
    }
    declared = re.search(r"^tables! \{\n(.*?)^\}", source, re.DOTALL | re.MULTILINE)
    out = [HEAD]
    for doc, name, row in re.findall(
        r'((?:\s*///[^\n]*\n)+)\s*\w+, "(\w+)", (\w+);', declared[1] if declared else ""
    ):
        out.append(f"## `{name}.parquet`\n\n{prose(doc)}\n\n| column | type | is |\n| --- | --- | --- |\n")
        for field, kind, says in rows[row]:
            if kind == "Values":
                out.append(
                    "| each [metric](../metrics.md) | number, may be empty | The metric, under its name. |\n"
                )
                continue
            text = SAYS.get((name, field)) or says or known.get(field) or SAYS.get(("", field))
            if not text:
                sys.exit(
                    f"{name}.{field}: neither {row} in crates/metrics nor SAYS in docs/site/columns.py says what it is"
                )
            inner = re.fullmatch(r"Option<(.+)>", kind)
            kind_text = TYPES[inner[1]] + ", may be empty" if inner else TYPES[kind]
            out.append(f"| `{field}` | {kind_text} | {text} |\n")
        out.append("\n")
    return "".join(out).rstrip() + "\n"


# What fields without a comment of their own are, or with one for programmers.
SAYS = {
    (
        "replications",
        "digest",
    ): "The digest in sixteen hexadecimal digits: equal digests, equal sample paths.",
    ("", "events"): "Events that the engine handled.",
    ("", "elapsed_s"): "The time that it took.",
    ("", "class"): "The class of the packets.",
    ("", "throughput_bps"): "The bits sent during the step over its length.",
    ("internals", "signal"): "The paper's name of the signal.",
    ("internals", "value"): "Its value; empty before the algorithm reported one.",
}


def prose(doc: str) -> str:
    """A comment of Rust as the text of a cell."""
    text = " ".join(line.strip().removeprefix("///").strip() for line in doc.strip().splitlines())
    text = re.sub(r"\[`([^`\]]+)`\](?!\()", lambda m: m[1].lower() if m[1] == "Metric" else f"`{m[1]}`", text)
    return (
        text.replace("`None`", "empty")
        .replace("NaN", "empty")
        .replace("(null:", "(empty:")
        .replace("|", "\\|")
    )


if __name__ == "__main__":
    main()
