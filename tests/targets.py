"""Builds for other machines than this one, where their targets are installed (`rustup target add TARGET`).

What a router links (crates/aqm/examples/router) is built for this machine too, and must need nothing but memcpy
and use no floating point. quell-scenario is what a page in a browser needs to read and check a scenario.
"""

import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MANIFEST = ROOT / "crates/aqm/examples/router/Cargo.toml"
TARGET_DIR = ROOT / "target/router"
BARE_METAL = "thumbv7em-none-eabihf"
BROWSER = "wasm32-unknown-unknown"
# What the Rust compiler calls to copy memory and, on small machines, to multiply and divide integers;
# it brings both.
OWN_RUNTIME = re.compile(r"mem(cpy|set|move)|__aeabi_(mem\w+|uldivmod|lmul|llsl|llsr)|__(multi3|udivti3|ashlti3|lshrti3)")
FLOATING_POINT = re.compile(r"\t(add|sub|mul|div|sqrt|cvt\w*|u?comi)s[sd] |\tf(ld|st|add|mul|div|ild)\w* ")


def run(*command: str, cwd: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"targets: {' '.join(command)}: exit status {done.returncode}")
    return done.stdout


def built_for(target: str | None) -> Path:
    """The library for `target`, or for this machine."""
    flags = [] if target is None else ["--target", target]
    run("cargo", "build", "--quiet", "--locked", "--release", "--manifest-path", str(MANIFEST), *flags,
        "--target-dir", str(TARGET_DIR))
    return TARGET_DIR / (target or "") / "release/libquell_router_example.a"


def check(library: Path, disassemble: bool) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        objects = [name for name in run("ar", "t", str(library)).split() if name.startswith("quell_router")]
        run("ar", "x", str(library), *objects, cwd=Path(scratch))
        paths = [str(Path(scratch) / name) for name in objects]
        symbols = [line.split() for line in run("nm", *paths).splitlines() if line]
        exported = {words[-1] for words in symbols if words[-2:-1] == ["T"]}
        if not {"quell_start", "quell_arrival", "quell_overflow", "quell_idle"} <= exported:
            sys.exit(f"targets: {library} exports {sorted(exported)}")
        foreign = [words[-1] for words in symbols if words[0] == "U" and not OWN_RUNTIME.fullmatch(words[-1])]
        if foreign:
            sys.exit(f"targets: {library} needs {', '.join(foreign)}")
        if disassemble:
            code = run("objdump", "--disassemble", "--no-show-raw-insn", *paths)
            found = [line for line in code.splitlines() if FLOATING_POINT.search(line)]
            if "quell_arrival" not in code or found:
                sys.exit("targets: floating point:\n" + "\n".join(found[:10]))


def installed(target: str) -> bool:
    is_there = Path(run("rustc", "--print", "target-libdir", "--target", target).strip()).is_dir()
    if not is_there:
        print(f"targets: {target} is not installed, skipped")
    return is_there


check(built_for(None), disassemble=platform.machine() == "x86_64")
if installed(BARE_METAL):
    check(built_for(BARE_METAL), disassemble=False)
if installed(BROWSER):
    run("cargo", "build", "--quiet", "--locked", "-p", "quell-scenario", "--target", BROWSER)
