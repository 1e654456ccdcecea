#!/usr/bin/env python3
"""Makes runs with ns-2 (the command `ns`, 2.35) and adds them to runs.csv.

    python3 run.py TEXT SEED [SEED ...]

runs every case of cases.csv whose name contains TEXT with each seed that it has no run of yet. The
name is "scenario algorithm (variant)". Starts and stops that a seed drew (column `events`) are taken
from the runs of the same scenario.
"""

import csv
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
KEY = ["scenario", "variant", "algorithm", "ecn"]
CLASSES = {"1": "ftp", "2": "http", "3": "udp", "4": "revack"}


def measure(arguments):
    """The figures of one run, by the columns of runs.csv."""
    command = ["ns", HERE / "dumbbell.tcl", *arguments]
    try:
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        sys.exit("ns2: there is no `ns` in PATH; to get it: the package ns2 of Debian")
    except subprocess.CalledProcessError as e:
        sys.exit(f"ns2: {' '.join(map(str, command))}: exit status {e.returncode}\n{e.stderr.strip()}")
    found, segments = {}, []
    for line in out.splitlines():
        kind, *pairs = line.split()
        if kind not in ("RESULT", "SEG", "CLASS"):
            continue
        values = dict(pair.split("=", 1) for pair in pairs)
        if kind == "RESULT":
            found.update(values)
        elif kind == "SEG":
            segments.append(float(values["qstd"]))
        elif values["fid"] in CLASSES and float(values["pa"]) > 0:
            loss = float(values["pp"]) / float(values["pa"])
            found[CLASSES[values["fid"]] + "_loss"] = f"{loss:.6g}"
    if segments:
        found["seg_qstd_mean"] = f"{sum(segments) / len(segments):.6g}"
    return found


def main(text, *seeds):
    with open(HERE / "cases.csv", newline="") as file:
        cases = list(csv.DictReader(file))
    with open(HERE / "runs.csv", newline="") as file:
        reader = csv.DictReader(file)
        columns, runs = reader.fieldnames, list(reader)
    for case in cases:
        if text not in f"{case['scenario']} {case['algorithm']} ({case['variant']})":
            continue
        mine = [run for run in runs if all(run[k] == case[k] for k in KEY)]
        for seed in seeds:
            if any(run["seed"] == seed for run in mine):
                continue
            alike = (r for r in runs if (r["scenario"], r["seed"]) == (case["scenario"], seed))
            events = next((r["events"] for r in alike), "")
            figures = measure([*case["parameters"].split(), "events", events, "seed", seed])
            key = {**{k: case[k] for k in KEY}, "seed": seed, "events": events}
            run = {**dict.fromkeys(columns, ""), **figures, **key}
            runs.append({c: run[c] for c in columns})
            print(*(case[k] for k in KEY), seed, figures["util"], figures["loss"], flush=True)
    with open(HERE / "runs.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(runs)


if __name__ == "__main__":
    main(*sys.argv[1:])
