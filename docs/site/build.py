"""Builds the documentation as a site: `make site`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import stage

ROOT = stage.ROOT
HERE = Path(__file__).resolve().parent
WORK = ROOT / "target/site"
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def main() -> None:
    """Builds the site, or says what is wrong with it."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--out", type=Path, default=ROOT / "site", help="the folder of the site")
    ask.add_argument("--version", default=VERSION, help="the folder in it, and what the version switcher says")
    ask.add_argument("--ref", default="main", help="the branch or tag that links to sources lead to")
    ask.add_argument("--jobs", default="auto", help="how many processes Sphinx starts")
    given = ask.parse_args()
    sources = WORK / "sources"
    try:
        stage.Site().write(sources, given.ref)
    except stage.Problems as problems:
        sys.exit(f"site: {len(str(problems).splitlines())} problems\n{problems}")
    out = given.out / given.version
    static = WORK / "static"
    static.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--nitpicky", "--fail-on-warning", "--keep-going"]
    command += ["--conf-dir", str(ROOT / "docs"), "--doctree-dir", str(WORK / "doctrees"), "--jobs", given.jobs, "--quiet"]
    settings = {"QUELL_SITE_VERSION": given.version, "QUELL_SITE_STATIC": str(static), "QUELL_SITE_REF": given.ref}
    done = subprocess.run([*command, str(sources), str(out)], env=os.environ | settings, check=False)
    if done.returncode != 0:
        sys.exit(f"site: sphinx: exit status {done.returncode}")


if __name__ == "__main__":
    main()
