"""Builds the documentation as a site: `make site`.

The site is a folder of files for any server, with a folder for each version: site/index.html leads to the newest,
site/versions.json lists them for the switcher, site/VERSION/ has the pages, and site/lab/ the laboratory if it was built.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import find
import stage
import tomllib

ROOT = stage.ROOT
HERE = Path(__file__).resolve().parent
WORK = ROOT / "target/site"
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
NEWEST = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Quell</title>
<meta http-equiv="refresh" content="0; url={0}/index.html">
<link rel="canonical" href="{0}/index.html">
<p>The documentation of Quell is in <a href="{0}/index.html">{0}</a>.</p>
</html>
"""


def main() -> None:
    """Builds the site, or says what is wrong with it."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--out", type=Path, default=ROOT / "site", help="the folder of the site")
    ask.add_argument(
        "--version", default=VERSION, help="the folder in it, and what the version switcher says"
    )
    ask.add_argument("--ref", default="main", help="the branch or tag that links to sources lead to")
    ask.add_argument("--jobs", default="auto", help="how many processes Sphinx starts")
    given = ask.parse_args()
    site = stage.Site()
    try:
        site.write(WORK / "sources", given.ref)
    except stage.ProblemsError as problems:
        sys.exit(f"site: {len(str(problems).splitlines())} problems\n{problems}")
    stage.package(WORK / "python")
    pages = WORK / "pages.json"
    stage.put(pages, json.dumps({page.path: page.source for page in site.pages.values()}).encode())
    settings = {
        "QUELL_SITE_VERSION": given.version,
        "QUELL_SITE_REF": given.ref,
        "QUELL_SITE_PAGES": str(pages),
    }
    settings["QUELL_SITE_PYTHON"] = str(WORK / "python")
    out = given.out / given.version
    html(out, given.jobs, settings | {"QUELL_SITE_STATIC": str(static())})
    find.write(out, site.words, WORK / "npm")
    beside(given.out)
    print(f"{out / 'index.html'} is the documentation, {len(site.pages)} pages.")


def static() -> Path:
    """A folder with what pages load and what is not written here: the sorter of tables and the search, from npm, and the lab's icon."""
    folder, packages = WORK / "static", WORK / "npm"
    modules = packages / "node_modules"
    libraries = {
        "tablesort.js": modules / "tablesort/dist/tablesort.min.js",
        "minisearch.js": modules / "minisearch/dist/umd/index.js",
    }
    wanted = [(packages / name, (HERE / name).read_bytes()) for name in ("package.json", "package-lock.json")]
    if not all(library.exists() for library in libraries.values()) or any(
        path.read_bytes() != data for path, data in wanted
    ):
        for path, data in wanted:
            stage.put(path, data)
        if not shutil.which("npm"):
            sys.exit(
                "site: npm is missing: Node.js 20 or later (https://nodejs.org, or apt-get install nodejs npm)"
            )
        npm = ["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"]
        if subprocess.run(npm, cwd=packages, check=False).returncode != 0:
            sys.exit(f"site: {' '.join(npm)} in {packages} failed")
    for name, library in libraries.items():
        # Without the name of a map that is not beside it.
        text = re.sub(r"\n//# sourceMappingURL=.*\n?$", "\n", library.read_text())
        stage.put(folder / name, text.encode())
    stage.put(folder / "icon.svg", (ROOT / "lab/src/icon.svg").read_bytes())
    return folder


def html(out: Path, jobs: str, settings: dict[str, str]) -> None:
    """The pages of one version."""
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "--builder",
        "html",
        "--nitpicky",
        "--fail-on-warning",
        "--quiet",
    ]
    command += ["--conf-dir", str(ROOT / "docs"), "--doctree-dir", str(WORK / "doctrees"), "--jobs", jobs]
    done = subprocess.run([*command, str(WORK / "sources"), str(out)], env=os.environ | settings, check=False)
    if done.returncode != 0:
        sys.exit(
            f"site: sphinx: exit status {done.returncode}; the lines it names are those of target/site/sources"
        )


def beside(out: Path) -> None:
    """What stands beside the versions: their list, the way to the newest, and the laboratory."""
    found = [path.parent.name for path in out.glob("*/objects.inv")]
    found.sort(key=lambda name: [int(number) for number in re.findall(r"\d+", name)], reverse=True)
    versions = [
        {"version": name, "name": f"{name} (newest)" if name == found[0] and len(found) > 1 else name}
        for name in found
    ]
    stage.put(out / "versions.json", (json.dumps(versions, indent=1) + "\n").encode())
    stage.put(out / "index.html", NEWEST.format(found[0]).encode())
    if (stage.LAB / "index.html").is_file():
        shutil.copytree(
            stage.LAB, out / "lab", dirs_exist_ok=True, ignore=shutil.ignore_patterns(".gitignore")
        )


if __name__ == "__main__":
    main()
