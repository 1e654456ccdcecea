"""Puts results of `quell wire` on record for Fig. 13: record.py 50=RESULTS 60=RESULTS ..., from this folder.

One folder for each load, as `quell wire ../../../scenarios/papers/hred-13.toml --set flows.ftp.count=50` makes it. The
files are those that `quell plot --csv` would write of the folders as one.
"""

import csv
import json
import subprocess
import sys

FIGURES = {
    "13a": ("queue_bytes", "buffer_bytes", 1, "mean queue in bytes / buffer in bytes"),
    "13b": ("queue_std_bytes", "buffer_bytes", 1, "queue deviation in bytes / buffer in bytes"),
    "13c": ("utilization", None, 100, "utilization (%)"),
    "13d": ("loss_rate", None, 100, "loss (%)"),
}
FIELD = "flows.ftp.count"


def load(folder):
    """Each algorithm's metrics."""
    shown = json.loads(subprocess.run(["quell", "show", folder, "--format", "json"], check=True, stdout=-1).stdout)
    [point] = shown["points"]
    whole = [row for row in point["rows"] if row["scope"] == "all" and row["segment"] is None]
    return [(row["algorithm"], row["metrics"]) for row in whole]


def main():
    given = [argument.split("=", 1) for argument in sys.argv[1:]]
    loads = [(int(count), load(folder)) for count, folder in given]
    for number, (metric, over, factor, label) in FIGURES.items():
        with open(f"{number}.csv", "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["algorithm", FIELD, label])
            for algorithm in [name for name, _ in loads[0][1]]:
                for count, rows in loads:
                    values = dict(rows)[algorithm]
                    share = values[over]["mean"] if over else 1
                    out.writerow([algorithm, count, factor * values[metric]["mean"] / share])


if __name__ == "__main__":
    main()
