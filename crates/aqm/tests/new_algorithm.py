"""CONTRIBUTING's list of edits for a new algorithm is complete: done in a copy, its tests pass.

The copy lies in the target directory and shares it, so that only quell-aqm and quell-queue are compiled again.
It always lies in the same place, since test programs remember where their sources were.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

# 1. The algorithm.
SOURCE = """//! Toy: the probability is proportional to the queue.

use quell_units::QueueSize;

use crate::params::{ParamError, positive_queue};
use crate::part::Gauge;
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict, params};

params! {
    /// Toy's parameters.
    pub struct ToyParams {
        /// Queue at which everything is signaled.
        full: QueueSize = QueueSize::Packets(200.0), unit "packets or bytes", source "chosen";
    }
}

impl ToyParams {
    /// Toy for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: a queue that the buffer cannot hold.
    pub fn build(&self, link: &Link) -> Result<Toy, ParamError> {
        link.check()?;
        Ok(Toy { full: positive_queue("full", self.full, link)?, gauge: Gauge::of(self.full, link), p: 0.0 })
    }
}

/// Toy's state.
#[derive(Clone, Debug)]
pub struct Toy {
    full: f64,
    gauge: Gauge,
    p: f64,
}

impl Aqm for Toy {
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, _: &PacketMeta) -> Verdict {
        self.p = probability(self.gauge.read(&cx.queue), self.full);
        Verdict::early_if(cx.rng.chance(self.p))
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", self.p);
    }
}

/// Chosen: `p = q / full`, at most 1.
pub fn probability(q: f64, full: f64) -> f64 {
    (q / full).min(1.0)
}

equations! {
    probability(q, full) -> p = probability(q, full);
}
"""

# 2. Its line in the catalog.
LINE = """\
        Toy { name: "toy", params: toy::ToyParams, title: "Toy", source: "nobody", label: Experimental }
"""

# 3. Its known answers.
VECTORS = """algorithm = "toy"

[[equation]]
function = "toy::probability"
source = "chosen"
computed = "by hand: 50 / 200"
input = { q = 50, full = 200 }
expect = { p = 0.25 }

[[case]]
name = "the probability follows the queue"
source = "chosen"
computed = "by hand: 0 / 200, then 300 / 200"
events = [
    { at = "0 s", arrive = "500 B", verdict = "pass", expect = { p = 0 } },
    { at = "1 ms", arrive = "500 B", queue = 300, verdict = "early signal", expect = { p = 1 } },
]
"""

# 4. Its page; the tables are written by the test of the documentation, as `make docs` does.
PAGE = """# Toy

Published by nobody.

## Equations

- `p = q / full`.

## Parameters

<!-- params:begin -->
<!-- params:end -->

## Deviations and misprints

None.

## Cost

A division.
"""


def main() -> None:
    if shutil.which("cargo") is None:
        sys.exit("new_algorithm: there is no `cargo` in PATH; to get it: rustup (https://rustup.rs)")
    listed = (ROOT / "CONTRIBUTING.md").read_text().split("## Adding an algorithm")[1].split("\n\n")[1]
    edits = re.findall(r"^(\d)\. .*?`([^`]+)`", listed, re.MULTILINE)
    expected = [
        ("1", "crates/aqm/src/catalog/<family>/foo.rs"),
        ("2", "crates/aqm/src/catalog/mod.rs"),
        ("3", "crates/aqm/tests/vectors/foo.toml"),
        ("4", "docs/algorithms/foo.md"),
    ]
    assert edits == expected, f"CONTRIBUTING.md lists {edits}"

    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    copy = target / "new-algorithm"
    try:
        shutil.rmtree(copy, ignore_errors=True)
        skip = shutil.ignore_patterns("target", ".git", ".venv", "results", "__pycache__", "snapshots")
        shutil.copytree(ROOT, copy, ignore=skip, symlinks=True)
        aqm = copy / "crates/aqm"
        (aqm / "src/catalog/load/toy.rs").write_text(SOURCE)
        catalog = (aqm / "src/catalog/mod.rs").read_text()
        begin = "folder: load } aqms {\n"
        assert catalog.count(begin) == 1
        (aqm / "src/catalog/mod.rs").write_text(catalog.replace(begin, begin + LINE))
        (aqm / "tests/vectors/toy.toml").write_text(VECTORS)
        (copy / "docs/algorithms/toy.md").write_text(PAGE)

        env = os.environ | {"CARGO_TARGET_DIR": str(target)}
        # Compiling takes longer than these few tests.
        plain = ["quell-aqm", "quell-queue", "quell-units"]
        config = [word for name in plain for word in ("--config", f"profile.dev.package.{name}.opt-level=0")]

        def test(*arguments: str, **more: str) -> None:
            command = ["cargo", "test", "--quiet", "--offline", *config, "-p", "quell-aqm", *arguments]
            done = subprocess.run(command, cwd=copy, env=env | more, check=False)
            if done.returncode != 0:
                sys.exit(f"new_algorithm: {' '.join(command)}: exit status {done.returncode}")

        test("--test", "all", "docs::", QUELL_UPDATE_DOCS="1")
        filters = ["every_", "the_list", "equations_give", "event_sequences", "unknown_parameters"]
        test("--lib", "--test", "all", "--", *filters)
        assert "| [`toy`](toy.md) | Toy | load | nobody | experimental |" in (
            copy / "docs/algorithms/README.md"
        ).read_text()
        assert "`full` | 200 packets |" in (copy / "docs/algorithms/toy.md").read_text()
    finally:
        shutil.rmtree(copy, ignore_errors=True)


if __name__ == "__main__":
    main()
