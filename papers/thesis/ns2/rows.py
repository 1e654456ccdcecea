"""Rows of ../../ns2.csv from what thesis.tcl printed; README.md says how."""

import csv
import sys
from collections import defaultdict
from statistics import mean, stdev

# Sections whose numbers are of the whole run: the table and its case.
WHOLE = {
    "5.5.1": ("5-1", "rtt-100-900-ms"),
    "5.5.2": ("5-2", "capacity-10-50-mb-s"),
    "5.5.3": ("5-3", "30-200-ftp-flows"),
    "5.5.4": ("5-4", "1-10-http-sessions"),
    "5.5.5": ("5-5", "udp-density-0.1-0.9"),
}
# Sections whose numbers are of 100 s: the table and the case of each of these segments.
SEGMENTS = {
    "6.4.1": ("6-1", {4: "400-500-s-d-u-630-900-ms", 8: "800-900-s-d-u-1-20-ms"}),
    "6.4.2": ("6-2", {5: "500-600-s-d-u-10-5000-ms"}),
    "6.4.3": ("6-3", {1: "100-200-s-15-mb-s", 3: "300-400-s-5-mb-s", 5: "500-600-s-15-mb-s"}),
    "6.4.4": ("6-4", {2: "200-300-s-100-ftp-20-http", 5: "500-600-s-1000-ftp-200-http"}),
    "6.4.5": ("6-5", {2: "200-300-s-udp-density-0.1", 5: "500-600-s-udp-density-0.9"}),
}
NAMES = {
    "utilization": "link_utilization",
    "loss": "loss_rate",
    "queue": "mean_queue",
    "deviation": "queue_deviation",
}


def measured(paths: list[str]) -> dict[str, list[float]]:
    """Values of each cell, one for each run."""
    cells: dict[str, list[float]] = defaultdict(list)
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                kind, section, algorithm, _seed, *rest = line.split()
                values = {name: float(x) for name, x in (item.split("=") for item in rest if "=" in item)}
                name = algorithm.replace("-", "_")
                if kind == "SEGMENT" and section in SEGMENTS:
                    table, cases = SEGMENTS[section]
                    case = cases.get(int(rest[0]))
                    if case:
                        for short, metric in NAMES.items():
                            cells[f"thesis/{table}/{case}/{name}/{metric}"].append(values[short])
                elif section in WHOLE:
                    table, case = WHOLE[section]
                    if kind == "DEVIATION":
                        cells[f"thesis/{table}/{case}/{name}/queue_deviation"].append(float(rest[0]))
                    elif kind == "WHOLE":
                        first = (
                            ("throughput", "throughput")
                            if table == "5-2"
                            else ("utilization", "link_utilization")
                        )
                        for short, metric in (first, ("loss", "loss_rate"), ("queue", "mean_queue")):
                            cells[f"thesis/{table}/{case}/{name}/{metric}"].append(values[short])
    return cells


def main() -> None:
    """Print the rows: the first argument is the setting in words, the others are files."""
    setting, *paths = sys.argv[1:]
    rows = csv.writer(sys.stdout, lineterminator="\n")
    for cell, values in measured(paths).items():
        spread = f"{stdev(values):.3g}" if len(values) > 1 else ""
        rows.writerow([cell, f"{mean(values):.5g}", spread, len(values), "2.35", setting])


if __name__ == "__main__":
    main()
