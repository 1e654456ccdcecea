#!/usr/bin/env python3
"""Runs dumbbell.cc in ns-3 over the grid and prints runs.csv.

usage: run.py PROGRAM > runs.csv

PROGRAM is dumbbell.cc, compiled as README.md says.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from os import cpu_count

COLUMNS = (
    "queue,tcp,rate_mbit,rtt_ms,flows,bdp_packets,seconds,warmup,seed,utilization,loss,queue_mean,queue_std,arrived,"
    "dropped"
)
PATHS = ((10, 100, 10), (20, 40, 20))  # Mbit/s, ms, flows
QUEUES = ("drop-tail", "red", "codel", "pie", "cobalt", "fq-codel")
TCPS = ("newreno", "cubic")
SEEDS = range(1, 6)


def run(program: str, path: tuple[int, int, int], queue: str, tcp: str, seed: int) -> str:
    """Return the line that one run prints."""
    rate, rtt, flows = path
    arguments = [f"--queue={queue}", f"--tcp={tcp}", f"--rate={rate}e6", f"--rtt={rtt}", f"--flows={flows}"]
    command = [program, *arguments, f"--seed={seed}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as e:
        sys.exit(f"ns3: {program} cannot be run: {e.strerror}; the README beside this file says how to build it")
    if done.returncode != 0:
        sys.exit(f"ns3: {' '.join(command)}: exit status {done.returncode}\n{done.stderr.strip()}")
    return done.stdout.strip()


def main() -> None:
    """Run the grid, as many at a time as there are cores."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with ThreadPoolExecutor(cpu_count()) as pool:
        print(COLUMNS)
        for line in pool.map(lambda cell: run(sys.argv[1], *cell), product(PATHS, QUEUES, TCPS, SEEDS)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
