"""Builds the laboratory's page and tests it: types, style, the tests in Node, and the pages in a browser.

Without Node.js, a compiler for WebAssembly or Chromium, what they are for is skipped and named; with
QUELL_REQUIRE_TARGETS=1 that is a failure (`tests/toolchains.sh` gets them).

`lab.py build` only builds it, into lab/dist, and fails if it cannot; `lab.py page` builds it where that can be done, and
`lab.py test` tests what was built, with the command that QUELL names, which has that page (`make test-lab` builds both).
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LAB = ROOT / "lab"
DIST = LAB / "dist"
# A cargo that builds the standard library for any target, made by tests/toolchains.sh.
FROM_SOURCE = ROOT / "target/toolchains/cargo"
NODE = 20
REQUIRED = os.environ.get("QUELL_REQUIRE_TARGETS") == "1"
BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
# Copyright notices and licenses, which the page links to.
NOTICES = "licenses.txt"
# The whole page, compressed: what a phone loads before it shows anything. Of it, the advice for a link takes 120 kB:
# the scenarios and the judge of `quell recommend`, what routers are told, and the lines of tc.
MOST_BYTES = 2_300_000


def run(*command: str, cwd: Path = LAB, env: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, env=os.environ | (env or {}), check=False)
    if done.returncode != 0:
        sys.exit(f"lab: {' '.join(command)}: exit status {done.returncode}")


def missing() -> str | None:
    """What the page cannot be built without, and is not here."""
    node = shutil.which("node")
    if not node or not shutil.which("npm"):
        return f"Node.js and npm are missing: {NODE} or later (https://nodejs.org, or apt-get install nodejs npm)"
    version = subprocess.run([node, "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    if int(version.lstrip("v").split(".")[0] or 0) < NODE:
        return f"Node.js {version} is too old: {NODE} or later is needed (https://nodejs.org)"
    target = ["rustc", "--print", "target-libdir", "--target", "wasm32-unknown-unknown"]
    libraries = subprocess.run(target, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    if not (Path(libraries).is_dir() or FROM_SOURCE.exists() or os.environ.get("QUELL_WASM")):
        return "the compiler has no WebAssembly: rustup target add wasm32-unknown-unknown, or tests/toolchains.sh"
    return None


def build() -> None:
    """The page, in lab/dist."""
    lock, installed = LAB / "package-lock.json", LAB / "node_modules/.package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error")
        installed.touch()
    if not os.environ.get("QUELL_WASM"):
        run("node", "wasm.mjs")
    notices = LAB / "dist-wasm" / NOTICES
    notices.parent.mkdir(exist_ok=True)
    program = [sys.executable, "packaging/notices.py", "--any-rust"]
    run(*program, str(notices), "quell-web", "wasm32-unknown-unknown", cwd=ROOT)
    run("node", "build.mjs")


def size() -> int:
    """The bytes of the page as they are sent: each of its files compressed."""
    return sum(path.stat().st_size for path in DIST.glob("*.gz") if path.name != f"{NOTICES}.gz")


def browser() -> str | None:
    named = [os.environ.get("CHROMIUM"), *BROWSERS]
    return next((path for path in named if path and Path(path).exists()), None)


def skip(why: str, what: str) -> None:
    if REQUIRED:
        sys.exit(f"lab: {why}; QUELL_REQUIRE_TARGETS asks for it: run tests/toolchains.sh")
    print(f"lab: {why}; {what} skipped")


def test() -> None:
    if size() > MOST_BYTES:
        sys.exit(f"lab: the page has {size()} bytes compressed, and at most {MOST_BYTES} are allowed")
    run("npm", "run", "--silent", "check")
    run("npm", "run", "--silent", "lint")
    run("npm", "run", "--silent", "test")
    if chromium := browser():
        run("npm", "run", "--silent", "pages", env={"CHROMIUM": chromium, "QUELL_LAB_EMBEDDED": "1"})
    else:
        skip("there is no Chromium (apt-get install chromium, or CHROMIUM=path)", "the pages are")


what = " ".join(sys.argv[1:])
if what not in ("build", "page", "test"):
    sys.exit(f"lab: {what or 'nothing'} is asked for: must be build, page or test")
if why := missing():
    if what == "build":
        sys.exit(f"lab: {why}")
    skip(why, "the page is")
elif what == "test":
    test()
else:
    build()
    if what == "build":
        print(f"lab/dist is the page, {size() / 1e6:.2f} MB compressed. To see it: `cargo run --release --bin quell -- lab`,")
        print("or any file server: `python3 -m http.server --directory lab/dist --bind 127.0.0.1 8765`.")
