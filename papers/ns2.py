"""Run what ns2.toml names with ns-2, and put the rows into ns2.csv.

`python3 papers/ns2.py` runs everything, `python3 papers/ns2.py vrc/5 redtail` what gives cells that begin so. A
row is replaced by that of the same cell and reading; others stay. `--list` shows what would be run, `--check`
whether every row has a script and as many runs as ns2.toml asks for.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, stdev

HERE = Path(__file__).resolve().parent
TABLE = HERE / "ns2.csv"
VERSION = "2.35"


@dataclass
class Run:
    """One setting of a script, with the cells that its output gives."""

    script: Path
    arguments: str
    seeds: int
    setting: str
    program: Path | None = None
    prefix: str = ""
    # The id of a cell, and the word of the script's output.
    cells: dict[str, str] = field(default_factory=dict)

    @property
    def command(self) -> list[str]:
        """The command, with SEED for the seed."""
        return ["ns", self.script.name, *shlex.split(self.arguments)]

    def matches(self, patterns: list[str]) -> bool:
        """Return whether it gives a cell that begins like a pattern, or like which a pattern begins."""
        ids = [*self.cells, *([self.prefix] if self.prefix else [])]
        wanted = [(i, p) for i in ids for p in patterns]
        return not patterns or any(
            i.startswith(p) or (i == self.prefix and p.startswith(i)) for i, p in wanted
        )


def planned() -> list[Run]:
    """Read ns2.toml: a run for each set of values; what is run alike is run once."""
    with open(HERE / "ns2.toml", "rb") as file:
        plan = tomllib.load(file)
    runs: dict[tuple[object, ...], Run] = {}
    for entry in plan["runs"]:
        metrics = entry.get("metrics", {})
        if isinstance(metrics, str):
            metrics = plan["metrics"][metrics]
        algorithms = entry.get("algorithm", [""])
        names = algorithms.items() if isinstance(algorithms, dict) else [(name, name) for name in algorithms]
        for (in_cells, in_script), more in itertools.product(names, entry.get("each", [{}])):
            arguments = entry["arguments"].format(algorithm=in_script, **more)
            setting = entry["setting"].format(algorithm=in_script, **more)
            program = entry.get("program")
            prefix = entry["cells"].format(algorithm=in_cells, **more)
            key = (entry["script"], arguments, entry["seeds"], setting)
            run = runs.setdefault(key, Run(HERE / entry["script"], arguments, entry["seeds"], setting))
            if program:
                run.program, run.prefix = HERE / program, prefix
            for metric, word in metrics.items():
                run.cells[prefix.replace("METRIC", metric)] = word.format(**more)
    return list(runs.values())


def figures() -> list[tuple[str, Path]]:
    """Read the commands that write figures for claims, with their documents."""
    with open(HERE / "ns2.toml", "rb") as file:
        return [(entry["of"], HERE / entry["command"]) for entry in tomllib.load(file).get("figures", [])]


def output(run: Run, seed: int) -> str:
    """Run the script with a seed; returns what it prints."""
    command = [str(seed) if word == "SEED" else word for word in run.command]
    done = subprocess.run(command, cwd=run.script.parent, capture_output=True, text=True, check=False)
    if done.returncode != 0 or "=" not in done.stdout:
        said = done.stderr or done.stdout or "printed nothing"
        sys.exit(f"{shlex.join(command)} in {run.script.parent}: {said}")
    return done.stdout


def rows_of(run: Run, printed: list[str]) -> list[list[str]]:
    """Make the rows of ns2.csv from what was printed for each seed."""
    if run.program:
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
            file.writelines(printed)
            file.flush()
            command = [sys.executable, str(run.program), run.setting, file.name]
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return list(csv.reader(text.splitlines()))
    values = [dict(re.findall(r"(\S+)=(\S+)", text.strip().splitlines()[-1])) for text in printed]
    rows = []
    for cell, word in run.cells.items():
        found = [float(of_seed[word]) for of_seed in values]
        spread = f"{stdev(found):.3g}" if len(found) > 1 else ""
        rows.append([cell, f"{mean(found):.5g}", spread, str(len(found)), VERSION, run.setting])
    return rows


def table() -> list[list[str]]:
    """Read the rows of ns2.csv, with its head."""
    with open(TABLE, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def key(row: list[str]) -> tuple[str, str]:
    """Return the cell and the reading of a row."""
    reading = re.match(r"\[([^\]]*)\]", row[5])
    return row[0], reading[1] if reading else ""


def merged(old: list[list[str]], new: list[list[str]]) -> list[list[str]]:
    """Put new rows in the places of old ones, or behind the last of their cell or document.

    A row without a reading is replaced as well, since no script gives it.
    """
    rows = list(old)
    for row in new:
        same = [i for i, other in enumerate(rows) if key(other) == key(row) or key(other) == (row[0], "")]
        if same:
            rows[same[0]] = row
            for i in reversed(same[1:]):
                del rows[i]
            continue
        for part in (row[0], row[0].split("/")[0] + "/"):
            place = [i for i, other in enumerate(rows) if other[0].startswith(part)]
            if place:
                rows.insert(place[-1] + 1, row)
                break
        else:
            rows.append(row)
    return rows


def unknown(patterns: list[str], plan: list[Run]) -> str:
    """Return the patterns that no run matches, and no command of figures; empty if there are none."""
    documents = [document for document, _ in figures()]
    lost = [p for p in patterns if p not in documents and not any(run.matches([p]) for run in plan)]
    return ", ".join(lost)


def other_seeds(rows: list[list[str]], plan: list[Run]) -> list[str]:
    """Say which rows have another number of runs than the plan asks for."""
    asked: dict[str, set[int]] = {}
    for run in plan:
        for cell in run.cells:
            asked.setdefault(cell, set()).add(run.seeds)
    different = [row for row in rows if row[0] in asked and int(row[3]) not in asked[row[0]]]

    def plans(cell: str) -> str:
        return " or ".join(map(str, sorted(asked[cell])))

    return [f"{row[0]}: {row[3]} runs, ns2.toml asks for {plans(row[0])}" for row in different]


def main() -> None:
    """Run, and write ns2.csv."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cells", nargs="*", help="beginnings of the ids of cells; default: all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many runs at a time")
    parser.add_argument("--list", action="store_true", help="show what would be run, and run nothing")
    parser.add_argument(
        "--check",
        action="store_true",
        help="fail if a row has no script, say which have other numbers of seeds than ns2.toml; run nothing",
    )
    args = parser.parse_args()
    everything = planned()
    plan = [run for run in everything if run.matches(args.cells)]
    if lost := unknown(args.cells, everything):
        ids = [i for run in everything for i in [*run.cells, run.prefix] if i]
        tables = sorted({"/".join(i.split("/")[:2]) for i in ids})
        sys.exit(f"{lost}: nothing in ns2.toml gives cells that begin so; there are {', '.join(tables)}")
    if args.check:
        _, *old = table()
        known = {cell for run in plan for cell in run.cells}
        prefixes = tuple(run.prefix for run in plan if run.prefix)
        known |= {row[0] for row in old if prefixes and row[0].startswith(prefixes)}
        lost = sorted({row[0] for row in old} - known)
        if lost:
            sys.exit(f"{TABLE.name}: no script gives {', '.join(lost)}")
        for line in other_seeds(old, plan):
            print(line)
        return
    if args.list:
        for document, command in figures():
            print(f"{command}: figures of claims of {document}")
        for run in plan:
            print(f"{run.script.parent}: {shlex.join(run.command)}, seeds 1 to {run.seeds}")
        return
    for document, command in figures():
        if not args.cells or document in args.cells:
            subprocess.run([str(command)], check=True)
    rows = 0
    with ThreadPoolExecutor(args.jobs) as pool:
        waiting = [[pool.submit(output, run, seed) for seed in range(1, run.seeds + 1)] for run in plan]
        for run, printed in zip(plan, waiting, strict=True):
            new = rows_of(run, [text.result() for text in printed])
            # Read now, since others may have written it meanwhile; and written now, since the next may fail.
            head, *old = table()
            with open(TABLE, "w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([head, *merged(old, new)])
            rows += len(new)
    print(f"{rows} rows of {sum(run.seeds for run in plan)} runs", file=sys.stderr)


if __name__ == "__main__":
    main()
