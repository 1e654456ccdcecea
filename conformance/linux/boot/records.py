"""What is on record of the lines that boot.py gives to kernels, and the page of the documentation with it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
ACCEPTED = ROOT / "conformance/linux/accepted.json"
DEFAULTS = ROOT / "conformance/linux/defaults.json"
PAGE = ROOT / "docs/how-to/tc-kernels.md"

# What `tc qdisc show` counts or draws in the midst of the parameters.
COUNTS, DRAWN = "direct_packets_stat", "seed"

PAGE_BEGINS = """\
# What Linux makes of each line of tc

Each line was given to these kernels in QEMU. The tables have what `tc -d qdisc show` printed then:

{versions}

Debian's kernels come without dualpi2, so its module was built from their source. They have 250 jiffies in a second.
PIE's timer runs in whole jiffies, so 15 ms becomes 16 ms there. CoDel counts time in steps of 1.024 us, so 1 ms becomes
999 us.

`make test-kernel` boots the kernels and checks this page. It also checks that Quell reads back the parameters that were
given. The first row of each table has the defaults.
"""


def shown(qdisc: str, text: str) -> str:
    """The parameters in what `tc qdisc show` prints of a queue discipline, without its place and its counters."""
    line = next(line for line in text.splitlines() if line.startswith(f"qdisc {qdisc} "))
    words = re.sub(r"^qdisc \S+ .*?(root refcnt \d+|parent \S+)", "", line)
    return re.sub(rf" ({COUNTS}.*|{DRAWN} \d+)", "", words).strip()


def options(qdisc: str, dump: str) -> dict[str, Any]:
    """The parameters in what `tc -j qdisc show` prints of a queue discipline, without what it counts or draws."""
    found: dict[str, Any] = next(one["options"] for one in json.loads(dump) if one.get("kind") == qdisc)
    return {name: value for name, value in found.items() if name not in (COUNTS, DRAWN)}


def given(qdisc: str, lines: list[str]) -> str:
    """The words that a queue discipline got."""
    line = next(line for line in lines if re.search(rf" qdisc .* {qdisc}( |$)", line))
    return re.sub(rf"^.*? {qdisc} ?", "", line)


def place(lines: list[str]) -> str:
    """Where a queue discipline was put."""
    if any(" ifb" in line for line in lines):
        return "ifb"
    return "behind htb" if any(" htb " in line for line in lines) else "root"


def page(accepted: dict[str, Any]) -> str:
    """The page, of what accepted.json has."""
    kernels = list(accepted.values())
    versions = "\n".join(f"- Linux {one['linux']} with the tc of iproute2 {one['tc']}" for one in kernels)
    text = PAGE_BEGINS.format(versions=versions)
    sections: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for one in kernels for name in one["lines"]):
        tried = [one["lines"].get(name) for one in kernels]
        some = next(one for one in tried if one)
        words = given(some["qdisc"], some["lines"])
        cells = ["not there" if not one or one["shown"] is None else f"`{one['shown']}`" for one in tried]
        cells[1:] = ["the same" if cell == cells[0] else cell for cell in cells[1:]]
        row = [f"`{words}`" if words else "no words", place(some["lines"]), *cells]
        sections.setdefault(some["qdisc"], []).append("| " + " | ".join(row) + " |")
    for qdisc in sorted(sections):
        head = ["Given", "Place", *(f"Linux {name} shows" for name in accepted)]
        rows = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head), *sections[qdisc]]
        text += f"\n## {qdisc}\n\n" + "\n".join(rows) + "\n"
    return text


def written(value: dict[str, Any]) -> str:
    """A record as its file has it."""
    return json.dumps(value, indent=1) + "\n"
