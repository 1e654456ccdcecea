"""Runs the fuzz targets, each for some seconds, and prints a line for each; fails if one crashed.

    python3 fuzz/run.py [--seconds 60] [--sanitizer address] [--keep] [TARGET ...]

What is found goes to `fuzz/found`, which git ignores, and the next run begins with it. With --keep nothing is run: the
corpus in `fuzz/corpus` becomes the inputs of both folders that reach most, smallest first.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FUZZ = Path(__file__).resolve().parent
ROOT = FUZZ.parent
BINARIES = FUZZ / "target/x86_64-unknown-linux-gnu/release"
TARGETS = sorted(path.stem for path in (FUZZ / "fuzz_targets").glob("*.rs"))

# The longest inputs in bytes, where 4096 are too few or more than are read.
LONGEST = {"capi": 8192, "capture": 8192, "entry": 65536, "expressions": 2048, "gateway_log": 8192, "papers": 16384,
           "queue_events": 8192, "scenario": 32768, "vectors": 16384}
# The schemas and files whose words are worth trying, beside those of `fuzz/dict`.
SCHEMAS = {"scenario": "scenarios/schema.json", "expressions": "scenarios/schema.json",
           "papers": "scenarios/schema.json", "vectors": "conformance/schema.json"}
# What a run may take of the memory.
MEMORY_MB = 4096
# The corpus in the tree: so many inputs of a target, of so many bytes together.
MOST_INPUTS, MOST_BYTES = 40, 64_000


def needed() -> None:
    """Says how to get what is missing."""
    if shutil.which("cargo") is None:
        sys.exit("fuzz: there is no `cargo` in PATH; to get it, and a nightly compiler by it: rustup (https://rustup.rs)")
    for command, how in [
        (["cargo", "+nightly", "--version"], "rustup toolchain install nightly"),
        (["cargo", "fuzz", "--version"], "cargo install cargo-fuzz"),
    ]:
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode != 0:
            sys.exit(f"fuzz: `{' '.join(command)}` does not work here; to get it: {how}")


def words(schema: object) -> set[str]:
    """The keys and names of a JSON Schema."""
    found: set[str] = set()
    if isinstance(schema, dict):
        found.update(schema.get("properties", {}))
        found.update(word for word in [*schema.get("enum", []), schema.get("const")] if isinstance(word, str))
    values: Iterable[object] = schema.values() if isinstance(schema, dict) else schema
    for value in values:
        if isinstance(value, dict | list):
            found |= words(value)
    return found


def dictionary(target: str, folder: Path) -> Path | None:
    """The words of a target in libFuzzer's form."""
    own = FUZZ / f"dict/{target}.dict"
    text = own.read_text() if own.exists() else ""
    if target in SCHEMAS:
        found = words(json.loads((ROOT / SCHEMAS[target]).read_text()))
        text += "".join(f'"{word}"\n' for word in sorted(found) if re.fullmatch(r"[\w .+/-]{2,60}", word, re.ASCII))
    path = folder / f"{target}.dict"
    path.write_text(text)
    return path if text else None


def folders(target: str) -> list[Path]:
    """Those that inputs are in; new ones go to the first."""
    found, kept = FUZZ / "found" / target, FUZZ / "corpus" / target
    found.mkdir(parents=True, exist_ok=True)
    kept.mkdir(parents=True, exist_ok=True)
    return [found, kept]


def run(target: str, seconds: int, scratch: Path) -> bool:
    """Runs a target, and prints what came of it; true if nothing crashed."""
    own = scratch / target
    artifacts = FUZZ / "artifacts" / target
    for folder in [own, artifacts]:
        folder.mkdir(parents=True, exist_ok=True)
    all_folders = folders(target)
    words = dictionary(target, scratch)
    command = [str(BINARIES / target), *map(str, all_folders), f"-artifact_prefix={artifacts}/",
               f"-max_total_time={seconds}", "-timeout=30", f"-rss_limit_mb={MEMORY_MB}",
               f"-malloc_limit_mb={MEMORY_MB}", f"-max_len={LONGEST.get(target, 4096)}",
               "-print_final_stats=1", *([f"-dict={words}"] if words else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=own, text=True,
                          errors="replace", env={**os.environ, "TMPDIR": str(own)}, check=False)
    figures = dict(re.findall(r"^stat::(\w+):\s+(\d+)", done.stdout, re.MULTILINE))
    coverage = re.findall(r"\bcov: (\d+) ft: (\d+)", done.stdout) or [("0", "0")]
    edges, features = coverage[-1]
    print(f"{target:<14}{figures.get('number_of_executed_units', '?'):>10} executions, {edges:>6} edges, "
          f"{features:>6} features, {figures.get('new_units_added', '?'):>5} new inputs", flush=True)
    if done.returncode != 0:
        crash = re.findall(r"Test unit written to (\S+)", done.stdout)
        log = artifacts / "log.txt"
        log.write_text(done.stdout)
        again = f"{BINARIES / target} {crash[-1]}" if crash else "it did not come so far as to run"
        print(f"{target}: CRASHED, see {log}\n  again: {again}", flush=True)
    return done.returncode == 0


def keep(target: str, scratch: Path) -> None:
    """Makes the corpus of what reaches most: by turns the input that adds most to it, and rather a small one."""
    control = scratch / f"{target}.control"
    out = scratch / f"{target}.merged"
    out.mkdir()
    # This way of merging writes down all features of each input, not only those that the ones before it lack.
    command = [str(BINARIES / target), "-set_cover_merge=1", f"-merge_control_file={control}", str(out),
               *map(str, folders(target)[::-1])]
    subprocess.run(command, capture_output=True, cwd=scratch, env={**os.environ, "TMPDIR": str(scratch)}, check=False)
    lines = control.read_text(errors="replace").splitlines()
    count = int(lines[0])
    names = lines[2 : 2 + count]
    # A feature is an edge and one of eight numbers of times that it was passed.
    of = (line.split()[1:] for line in lines if line.startswith("FT "))
    left = {names[int(n)]: {int(feature) // 8 for feature in features} for n, *features in of}
    size = {name: Path(name).stat().st_size for name in left}
    chosen: list[bytes] = []
    every = set().union(*left.values())
    missing = set(every)
    while left and len(chosen) < MOST_INPUTS:
        best = max(left, key=lambda name: len(left[name]) / (4000 + size[name]))
        reached = left.pop(best)
        if not reached:
            break
        if sum(map(len, chosen)) + size[best] <= MOST_BYTES:
            chosen.append(Path(best).read_bytes())
            left = {name: edges - reached for name, edges in left.items()}
            missing -= reached
    kept = FUZZ / "corpus" / target
    # What has a name was put there by somebody.
    for path in kept.iterdir():
        if re.fullmatch(r"[0-9a-f]{16}", path.name):
            path.unlink()
    named = {path.read_bytes() for path in kept.iterdir()}
    for content in chosen:
        if content not in named:
            (kept / hashlib.sha256(content).hexdigest()[:16]).write_bytes(content)
    print(f"{target:<14}{len(list(kept.iterdir())):>5} inputs, {sum(map(len, chosen)):>6} bytes, which reach "
          f"{len(every - missing)} of {len(every)} edges", flush=True)


def main() -> None:
    """Runs what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=60, help="for each target (60)")
    parser.add_argument("--sanitizer", default="address", help="or none, which is twice as fast")
    parser.add_argument("--keep", action="store_true", help="make the corpus of what was found")
    args = parser.parse_args()
    targets = args.targets or TARGETS
    needed()
    build = ["cargo", "+nightly", "fuzz", "build", "--sanitizer", args.sanitizer]
    if subprocess.run(build, cwd=ROOT, check=False).returncode != 0:
        sys.exit("fuzz: the targets cannot be built")
    scratch = Path(tempfile.mkdtemp(prefix="quell-fuzz-"))
    try:
        if args.keep:
            for target in targets:
                keep(target, scratch)
            return
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        jobs = max(1, min(len(os.sched_getaffinity(0)), pages // (MEMORY_MB << 20)))
        with ThreadPoolExecutor(jobs) as pool:
            sound = list(pool.map(lambda target: run(target, args.seconds, scratch), targets))
        if not all(sound):
            sys.exit("fuzz: a target crashed")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
