#!/usr/bin/env python3
"""Writes the copyright notices and licenses of what is linked into a program: the crates, and Rust's own library.

    packaging/notices.py OUT CRATE TARGET... [--file TITLE=PATH]... [--any-rust]

OUT gets a text for the program or library that CRATE (of the workspace) becomes on the targets. Each license is in it
once, below the copyright lines of the crates that have it. `--file` appends the text of something that Cargo does not
know, such as musl. A crate without a license file, or a compiler without its list of notices, is an error; `--any-rust`
makes the second a warning.
"""

import argparse
import html
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LICENSE = re.compile(r"licen[cs]e|copying|unlicense", re.IGNORECASE)
NOTICE = re.compile(r"notice|copyright", re.IGNORECASE)
MIT = re.compile(r"licen[cs]e.mit(\.|$)", re.IGNORECASE)
# "Copyright (c) 2020 Somebody", and not "copyright notice", as the licenses themselves write it.
HOLDER = re.compile(r"^\s*(//\s*)?(Copyright( \([cC]\)| ©)?|\([cC]\)|©) ?[\d,\- ]*[^\s\[{].*$")
TITLE = re.compile(r"^\s*#*\s*(the )?mit license( \(mit\))?:?\s*$", re.IGNORECASE)
RULE = "-" * 80


def fail(why: str) -> None:
    sys.exit(f"notices: {why}")


def cargo(*command: str) -> str:
    try:
        done = subprocess.run(["cargo", *command, "--locked"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    except FileNotFoundError:
        fail("there is no `cargo` in PATH; to get it: https://rustup.rs")
    if done.returncode != 0:
        fail(f"cargo {' '.join(command)}: exit status {done.returncode}")
    return done.stdout


def linked(crate: str, target: str) -> list[dict]:
    """The crates of others that are linked into `crate`: macros run in the compiler and are not."""
    metadata = json.loads(cargo("metadata", "--format-version", "1", "--filter-platform", target))
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}
    # The metadata has the features of the whole workspace, the tree those of this crate.
    tree = cargo("tree", "-p", crate, "--target", target, "-e", "normal", "--prefix", "none", "--format", "{p}")
    used = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    found, ahead = {}, [key for key, package in packages.items() if package["name"] == crate]
    if not ahead:
        fail(f"CRATE: the workspace has no crate {crate}")
    while ahead:
        key = ahead.pop()
        package = packages[key]
        is_macro = any("proc-macro" in made["kind"] for made in package["targets"])
        if key in found or is_macro or (package["name"], f"v{package['version']}") not in used:
            continue
        found[key] = package
        ahead += [dep["pkg"] for dep in nodes[key] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
    return [package for package in found.values() if package["source"]]


def texts(package: dict) -> list[str]:
    """The license that the crate is used under, and its notices."""
    license = package["license"] or ""
    files = [path for path in sorted(Path(package["manifest_path"]).parent.iterdir()) if path.is_file()]
    licenses = [path for path in files if LICENSE.match(path.name)]
    if " AND " not in license:
        # Of a choice, the shortest license that is in all of them.
        licenses = [path for path in licenses if MIT.match(path.name)] or licenses
    found = licenses + [path for path in files if NOTICE.match(path.name)]
    if licenses:
        return [path.read_text(errors="replace") for path in found]
    if not re.search(r"\bMIT\b(?!-)", license):
        fail(f"{package['name']} {package['version']} has no file with its license ({license or 'none named'})")
    # It names the license without its text.
    ours = [line for line in (ROOT / "LICENSE-MIT").read_text().splitlines() if not HOLDER.match(line)]
    authors = ", ".join(re.sub(r" *<.*?>", "", author) for author in package["authors"]) or "the authors"
    return ["\n".join([f"Copyright (c) {authors} of {package['name']}", *ours])]


def grouped(packages: list[dict]) -> str:
    """The texts of the packages, each once, with the copyright lines of all that have it."""
    groups: dict[str, tuple[str, list[str]]] = {}
    for package in sorted(packages, key=lambda package: (package["name"], package["version"])):
        name = f"{package['name']} {package['version']} ({package['license']})"
        for text in texts(package):
            lines = text.replace("\r", "").strip().splitlines()
            holders = [line.strip() for line in lines if HOLDER.match(line)]
            # Long licenses have examples of copyright lines; they are kept as they are.
            body = [line for line in lines if not HOLDER.match(line)] if len(lines) < 60 else lines
            plain = " ".join(word for line in body if not TITLE.match(line) for word in line.split())
            key = re.sub(r"[^a-z0-9]+", " ", plain.lower())
            _, owners = groups.setdefault(key, ("\n".join(line.rstrip() for line in body).strip("\n"), []))
            owners.append("\n".join([name, *[f"    {line}" for line in (holders if len(lines) < 60 else [])]]))
    parts = ["\n".join(owners) + "\n\n" + body for body, owners in groups.values()]
    return f"\n\n{RULE}\n\n".join(parts)


def rust(any_rust: bool) -> str:
    """The notices of Rust's standard library, which rustup's toolchains bring along."""
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], stdout=subprocess.PIPE, text=True, check=True).stdout
    path = Path(sysroot.strip()) / "share/doc/rust/COPYRIGHT-library.html"
    if not path.exists():
        why = f"the compiler has no {path}, which comes with rustup's toolchains"
        if not any_rust:
            fail(why)
        print(f"notices: {why}; what others wrote of the standard library is not named", file=sys.stderr)
        return "Copyright (c) The Rust Project Developers (https://thanks.rust-lang.org); MIT or Apache-2.0"
    page = path.read_text()
    page = page[page.index('<h2 id="longer-version">') :]
    seen: dict[str, int] = {}

    def once(found: re.Match) -> str:
        text = found.group(1)
        if text in seen:
            return f"\n(text {seen[text]}, above)\n"
        seen[text] = len(seen) + 1
        return f"\n(text {seen[text]})\n{text}\n"

    page = re.sub(r"<pre>(.*?)</pre>", once, page, flags=re.DOTALL)
    lines = [line.rstrip() for line in html.unescape(re.sub(r"<[^>]+>", "", page)).splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("crate")
    parser.add_argument("targets", nargs="+")
    parser.add_argument("--file", action="append", default=[], metavar="TITLE=PATH")
    parser.add_argument("--any-rust", action="store_true", help="a compiler without its list of notices is no error")
    asked = parser.parse_args()
    crates = {package["id"]: package for target in asked.targets for package in linked(asked.crate, target)}
    if not crates:
        fail(f"{asked.crate} is linked with no crate")
    sections = [("Crates", grouped(list(crates.values()))), ("The standard library of Rust", rust(asked.any_rust))]
    for named in asked.file:
        title, path = named.split("=", 1)
        sections.append((title, Path(path).read_text().strip()))
    text = (
        "Quell contains the software of others that is named here, under the licenses and with the copyright notices\n"
        "below. Quell itself is under MIT or Apache-2.0, at your option.\n"
    )
    for title, body in sections:
        text += f"\n{'=' * 80}\n{title}\n{'=' * 80}\n\n{body}\n"
    new = asked.out.with_name(asked.out.name + ".new")
    new.write_text(text)
    new.replace(asked.out)


main()
