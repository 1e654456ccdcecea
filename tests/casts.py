"""Finds casts that wrap where `usize` has 32 bits, as in a browser, in the crates that run there.

`step as usize` of 10 s in nanoseconds is 1.4 s there, and only there: no test on this machine sees it. The compiler's
types tell such a cast from one that fits (`u32 as usize`), so clippy is asked, and of what it says about truncation only
this kind counts. `quell_units::index` is what to write instead.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CRATES = "units aqm queue tcp names sim traces scenario presets metrics theory analysis view web".split()
LINT = "clippy::cast_possible_truncation"
# What clippy says of u64, i64, u128 and i128 as usize or isize. The same casts of f64 saturate.
KIND = "on targets with 32-bit wide pointers"
RULE = "wraps where usize has 32 bits, as in a browser: use quell_units::index"


def found(lines: list[str]) -> list[str]:
    """What to say of cargo's messages: each cast of the kind, once."""
    said = []
    for line in lines:
        message = json.loads(line).get("message") or {}
        if (message.get("code") or {}).get("code") == LINT and KIND in message["message"]:
            span = next(span for span in message["spans"] if span["is_primary"])
            place = f"{span['file_name']}:{span['line_start']}:{span['column_start']}"
            said.append(f"{place}: {span['text'][0]['text'].strip()}")
    return sorted(set(said))


def main() -> None:
    crates = [word for crate in CRATES if (ROOT / "crates" / crate).is_dir() for word in ("-p", f"quell-{crate}")]
    # In a folder of its own: another choice of lints would check everything again, here and at the next `make lint`.
    command = ["cargo", "clippy", "--lib", "--quiet", "--locked", "--target-dir", "target/casts", *crates]
    command += ["--message-format", "json", "--", "--allow", "clippy::all", "--warn", LINT]
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    except FileNotFoundError:
        sys.exit("casts: there is no `cargo` in PATH; to get it: rustup (https://rustup.rs)")
    if done.returncode != 0:
        sys.exit(f"casts: {' '.join(command)}: exit status {done.returncode}")
    if casts := found(done.stdout.splitlines()):
        sys.exit("\n".join([*casts, f"casts: each of these {RULE}"]))


if __name__ == "__main__":
    main()
