"""Compiles for other machines than this one, where `tests/toolchains.sh` or rustup has got what that takes.

What a router links (crates/aqm/examples/router) is built for this machine, for one without an operating system, for a
kernel and for BPF; it must need nothing but memcpy and use no floating point. The command is checked for Windows, which
differs most from this system. With EVERY=1 it is also checked for macOS, and what handles real packets for another
processor and C library. What a page in a browser needs is built by tests/lab.py.

With QUELL_REQUIRE_TARGETS=1 a target that is missing is a failure; otherwise it is skipped, and named.
"""

import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MANIFEST = ROOT / "crates/aqm/examples/router/Cargo.toml"
TARGET_DIR = ROOT / "target/router"
# A cargo that builds the standard library for any target, made by tests/toolchains.sh.
FROM_SOURCE = ROOT / "target/toolchains/cargo"
REQUIRED = os.environ.get("QUELL_REQUIRE_TARGETS") == "1"
EVERY = os.environ.get("EVERY") == "1"

BARE_METAL = "thumbv7em-none-eabihf"
KERNEL = "x86_64-unknown-none"
BPF = "bpfel-unknown-none"
OTHER_SYSTEMS = ["x86_64-pc-windows-gnu", *(["aarch64-apple-darwin"] if EVERY else [])]
OTHER_PROCESSOR = "aarch64-unknown-linux-musl"

# What the Rust compiler calls to copy memory and, on small machines, to multiply and divide integers;
# it brings both.
OWN_RUNTIME = re.compile(r"mem(cpy|set|move)|__aeabi_(mem\w+|uldivmod|lmul|llsl|llsr)|__(multi3|udivti3|ashlti3|lshrti3)")
FLOATING_POINT = re.compile(r"\t(add|sub|mul|div|sqrt|cvt\w*|u?comi)s[sd] |\tf(ld|st|add|mul|div|ild)\w* ")


def run(*command: str, cwd: Path = ROOT) -> str:
    try:
        done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, text=True, check=False)
    except FileNotFoundError:
        packages = {"ar": "binutils", "nm": "binutils", "objdump": "binutils"}
        package = packages.get(command[0], "rustup (https://rustup.rs)")
        sys.exit(f"targets: there is no `{command[0]}` in PATH; to get it: {package}")
    if done.returncode != 0:
        sys.exit(f"targets: {' '.join(command)}: exit status {done.returncode}")
    return done.stdout


def cargo(subcommand: str, *targets: str, std: str = "core") -> list[str] | None:
    """The beginning of a cargo command for targets, which need `std`; `None` if none of them can be had here."""
    installed = [name for name in targets if Path(run("rustc", "--print", "target-libdir", "--target", name).strip()).is_dir()]

    def named(names: Iterable[str]) -> list[str]:
        return [word for name in names for word in ("--target", name)]

    if installed == list(targets):
        return ["cargo", subcommand, "--quiet", "--locked", *named(targets)]
    if FROM_SOURCE.exists():
        return [str(FROM_SOURCE), subcommand, "--quiet", "--locked", *named(targets), f"-Zbuild-std={std}"]
    missing = ", ".join(name for name in targets if name not in installed)
    if REQUIRED:
        sys.exit(f"targets: {missing} is missing, and QUELL_REQUIRE_TARGETS asks for it: run tests/toolchains.sh")
    print(f"targets: {missing} is not installed, skipped (tests/toolchains.sh gets it)")
    return ["cargo", subcommand, "--quiet", "--locked", *named(installed)] if installed else None


def strict(command: list[str]) -> list[str]:
    """The same with warnings as errors: clippy sees this system alone. A standard library from its sources may warn."""
    return command if command[0] == str(FROM_SOURCE) else [*command, "--config", 'build.rustflags=["-Dwarnings"]']


def router(command: list[str], folder: str) -> Path:
    """The router's library, built by `command`."""
    run(*command, "--release", "--manifest-path", str(MANIFEST), "--target-dir", str(TARGET_DIR))
    return TARGET_DIR / folder / "release/libquell_router_example.a"


def check(library: Path, *, disassemble: bool) -> None:
    """Exits unless `library` exports what a router calls, needs nothing and computes in integers."""
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


check(router(["cargo", "build", "--quiet", "--locked"], ""), disassemble=platform.machine() == "x86_64")
if command := cargo("build", BARE_METAL):
    check(router(command, BARE_METAL), disassemble=False)
if command := cargo("build", KERNEL):
    check(router(command, KERNEL), disassemble=platform.machine() == "x86_64")
if command := cargo("build", BPF):
    # Its objects are bitcode, which this machine's tools cannot read: that it compiles is all that is tested.
    router(command, BPF)
# All at once, so that no core waits for the last crates of a system.
if command := cargo("check", *OTHER_SYSTEMS, std="std,panic_abort"):
    run(*strict(command), "-p", "quell-cli", "--bin", "quell")
# What calls the kernel, whose types depend on the processor and on the C library; the rest does not.
if EVERY and (command := cargo("check", OTHER_PROCESSOR, std="std,panic_abort")):
    run(*strict(command), "-p", "quell-gateway", "-p", "quell-live")
