# What a user types: `make run` and `make test`. Everything else is a part of one of them.

# A build from nothing, which this mostly is, is cheaper without the pieces for the next one.
export CARGO_INCREMENTAL := 0

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
SITE_VENV := .venv-site

# The command whole; with what runs scenarios alone, which is less to compile (ARCHITECTURE.md); and that with the theory.
QUELL := cargo run --release --quiet --bin quell
RUN := $(QUELL) --no-default-features -- run
ANALYZE := $(QUELL) --no-default-features --features quell-cli/theory -- analyze

.PHONY: run site test-site vectors papers characterize drafts ns2 papers-quick compare leaderboard l4s theory validate bench bench-peers gateway-bench packages try-packages lab test fuzz lint test-rust test-linux test-kernel test-new-algorithm test-targets toolchains page command test-lab test-package test-py py docs fmt clean

run: ## Compare seven algorithms on one link, and write the report
	cargo build --release --bin quell --no-default-features
	$(RUN) scenarios/main.toml --out results/main --overwrite

lab: ## Build the laboratory as a page, in lab/dist: for any file server, and for `quell lab` of the next build
	$(PYTHON) tests/lab.py build

site: $(SITE_VENV)/.ready ## Build the documentation as a site, in site/; with the laboratory in it if `make lab` ran
	$(SITE_VENV)/bin/python docs/site/build.py

compare: ## Run every algorithm with its defaults, and write docs/algorithms/comparison.md
	mkdir -p results
	$(RUN) scenarios/catalog.toml --out results/catalog --overwrite \
	  --format json --metric all --segments > results/catalog.json
	$(PYTHON) docs/algorithms/comparison.py < results/catalog.json

# The extension as it is released: the profile of the tests would take twice as long.
leaderboard: $(VENV)/.ready ## Run every algorithm under every sender on every named link, and write docs/leaderboard.md (half an hour)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m pip install --quiet --disable-pip-version-check \
	  --no-build-isolation --no-deps --force-reinstall .
	$(PY) -m quell.leaderboard --docs docs --out python/quell/leaderboard/leaderboard.json

L4S := grid round_trips bursty classic_queue
L4S_FIGURES := utilization,queue_delay_mean_s,queue_delay_p99_s,goodput_bps[l4s],goodput_bps[classic],goodput_bps[l4s]/goodput_bps[classic],mark_rate[lane:l],queue_delay_mean_s[lane:c],queue_delay_p99_s[lane:c],queue_delay_mean_s[lane:l],queue_delay_p99_s[lane:l]

l4s: ## Run what shows of L4S, the grid of the PI2 paper among it, and write docs/l4s.md
	mkdir -p results/l4s
	for name in $(L4S); do $(RUN) scenarios/l4s/$$name.toml \
	  --out results/l4s/$$name --overwrite --format json --metric '$(L4S_FIGURES)' > results/l4s/$$name.json || exit 1; done
	$(PYTHON) docs/l4s.py results/l4s

theory: ## Put the linear model's verdicts beside what packets do, and write docs/theory.md
	mkdir -p results
	$(ANALYZE) scenarios/theory.toml --check --format json \
	  --svg docs/images/theory.svg > results/theory.json
	$(ANALYZE) scenarios/theory_coupled.toml --check --format json \
	  --svg docs/images/theory_coupled.svg > results/theory_coupled.json
	$(ANALYZE) scenarios/theory_senders.toml --check --format json \
	  > results/theory_senders.json
	$(ANALYZE) --rate 12Mbit/s --rtt 500ms --flows 30 --aqm hred --check \
	  --svg docs/images/hred_cycle.svg --diagram series > /dev/null
	$(PYTHON) docs/theory.py results/theory.json results/theory_coupled.json results/theory_senders.json

papers: ## Run every experiment of the documents, judge each printed number, and write docs/papers
	$(QUELL) -- reproduce --record --docs docs/papers --out results/papers

characterize: ## Put the whole catalog through the scenarios of RFC 7928, and write docs/characterization.md
	$(QUELL) -- characterize all --out results/characterization --overwrite \
	  --docs docs/characterization.md

drafts: ## Judge the cases of drafts of senders, and put the verdicts on record
	$(QUELL) -- reproduce --papers drafts --record

ns2: ## Run what papers/ns2.toml names with ns-2 2.35, and put the rows into papers/ns2.csv
	$(PYTHON) papers/ns2.py

papers-quick: ## The same with one seed, which judges less, and writes only results/papers
	$(QUELL) -- reproduce --quick --out results/papers

# The same bytes for the same sources.
vectors: ## Write the conformance vectors, for those without Rust: results/quell-vectors.tar.gz, which releases carry
	rm -rf results/quell-vectors
	$(QUELL) -- conformance write results/quell-vectors
	cp conformance/digests.txt conformance/schema.json results/quell-vectors
	tar -C results --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -cf - quell-vectors \
	  | gzip -9n > results/quell-vectors.tar.gz

validate: ## Compare with ns-2, Linux, ns-3 and the laws of TCP, and write docs/validation.md
	cargo run --release --quiet -p quell-validate -- --write docs/validation.md

# Two at a time, since much of each waits: for a browser, for packets, for a lock, or for what one core does alone. The
# page comes first, which the command of the others carries, beside what needs neither; then those that take longest.
TESTS := page test-package test-targets test-rust test-site test-lab test-py lint test-linux test-kernel test-new-algorithm

test: toolchains ## Every test: Rust, the page, the documentation, Python
	@$(MAKE) --no-print-directory --jobs=2 $(MAKEOVERRIDES) two-lanes

.PHONY: two-lanes
two-lanes: $(TESTS)
ifeq ($(MAKECMDGOALS),two-lanes)
# Cargo would share the two jobs.
unexport MAKEFLAGS MFLAGS
command test-rust test-site test-lab py lint test-linux test-kernel test-new-algorithm: page
test-rust test-lab test-linux test-kernel: command
# So that nothing holds a job when the page is ready: make then begins with the first of the tests.
$(VENV)/.ready $(SITE_VENV)/.ready: | page
else
page test-targets: toolchains
endif

SECONDS ?= 60

fuzz: ## Run each fuzz target for SECONDS=60; needs a nightly compiler and cargo-fuzz (CONTRIBUTING.md)
	$(PYTHON) fuzz/run.py --seconds $(SECONDS)

BENCH := cargo run --release --quiet -p quell-bench --

bench: ## What a simulated packet costs; WRITE="--write docs/performance.md" keeps the tables
	$(BENCH) cases $(WRITE)
	$(BENCH) memory $(WRITE)
	$(BENCH) decisions $(WRITE)
	$(BENCH) lanes $(WRITE)
	$(BENCH) scaling $(WRITE)
	$(BENCH) one-run $(WRITE)
	$(BENCH) store $(WRITE)
	$(BENCH) fluid $(WRITE)
	$(BENCH) map $(WRITE)

bench-peers: ## The same in ns-2, and in ns-3 where it is installed
	$(BENCH) peers $(WRITE)

gateway-bench: ## What real packets cost in the gateway, and how exactly it keeps a rate; needs root for most of it
	$(BENCH) gateway $(WRITE)

packages: ## Build what is released, in dist/: wheel, archives and Debian packages (docs/how-to/release.md)
	PYTHON=$(PYTHON) packaging/packages.sh

try-packages: ## Install and use them on bare Debian systems; needs root, mmdebstrap and buildah
	packaging/try.sh

# The modules that `catalog!` declares; cargo fmt does not look into macros.
ALGORITHMS := crates/aqm/src/catalog/*/*.rs

# rustfmt and clippy come with rustup; a cargo of another origin may lack them. `cargo install cargo-deny` has the rest.
lint:
	@cargo fmt --version >/dev/null 2>&1 || { echo "lint: no cargo fmt here, skipped"; exit 0; } && cargo fmt --all --check && rustfmt --edition 2024 --check $(ALGORITHMS)
	@cargo clippy --version >/dev/null 2>&1 || { echo "lint: no cargo clippy here, skipped"; exit 0; } && cargo clippy --workspace --all-targets --quiet -- -D warnings && cargo clippy -p quell-aqm --no-default-features --quiet -- -D warnings && cargo clippy --workspace --bin quell --no-default-features --quiet -- -D warnings && $(PYTHON) tests/casts.py
	@cargo deny --version >/dev/null 2>&1 || { echo "lint: no cargo deny here, skipped"; exit 0; } && cargo deny --log-level error check licenses bans sources
	$(PYTHON) tests/prose.py

test-rust:
	cargo test --workspace --quiet
	cargo test --workspace --quiet --no-default-features --test small

# The command for tests that are not Rust's: a copy, because test-rust also builds one with less in its place. It is built
# as test-rust builds it, so that neither compiles what the other has.
COMMAND := target/tested/quell

command:
	cargo test --quiet --locked --workspace --test wire --no-run
	install -D target/debug/quell $(COMMAND)

# The queues of a Linux kernel against the vectors, where its source is (conformance/linux/get.sh). Where it cannot be had
# it is skipped; with QUELL_REQUIRE_LINUX_SOURCE=1 that is a failure.
test-linux: command
	[ "$$QUELL_REQUIRE_LINUX_SOURCE" != 1 ] || conformance/linux/get.sh
	$(PYTHON) conformance/linux/kernel.py --quell $(COMMAND)

# Lines of tc on real kernels in QEMU (conformance/linux/boot/get.sh): a minute of processor time on two cores. Where they
# cannot be had it is skipped; with QUELL_REQUIRE_QEMU=1 that is a failure.
test-kernel: command
	[ "$$QUELL_REQUIRE_QEMU" != 1 ] || conformance/linux/boot/get.sh
	$(PYTHON) conformance/linux/boot/boot.py --quell $(COMMAND)

# The list of edits in CONTRIBUTING.md, done in a copy.
test-new-algorithm:
	$(PYTHON) crates/aqm/tests/new_algorithm.py

# What a router and a kernel link, and the command for Windows. Where a target cannot be had it is skipped; with
# QUELL_REQUIRE_TARGETS=1 that is a failure. EVERY=1 adds macOS, and the gateway for Arm.
test-targets:
	$(PYTHON) tests/targets.py

# The documentation: its sources, links and anchors, its pages and search in a browser. What cannot be had is skipped.
# EVERY=1 reads every page, and not one of each sort.
test-site: $(SITE_VENV)/.ready
	$(SITE_VENV)/bin/python docs/site/test.py

$(SITE_VENV)/.ready: docs/requirements.txt
	$(PYTHON) -m venv $(SITE_VENV)
	$(SITE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

# The page: the same simulator in WebAssembly, in Node and in Chromium. What cannot be had is skipped, as above. EVERY=1
# looks at each width in both color schemes.
test-lab: page command
	QUELL=$(CURDIR)/$(COMMAND) $(PYTHON) tests/lab.py test

page:
	$(PYTHON) tests/lab.py page

# What tests/toolchains.sh gets, where it is asked for.
toolchains:
	@[ "$$QUELL_REQUIRE_TARGETS" != 1 ] || tests/toolchains.sh

# What crates.io would receive of the crates that stand alone; `cargo publish` without --dry-run uploads it.
# Both are named at once because quell-aqm needs quell-units, which a registry does not have before it is
# published: in one command cargo takes it from here. Older ones than 1.90 publish one package at a time.
# Cargo believes that a version never changes: it keeps what it unpacked and built of an earlier run, so both go first.
test-package:
	@printf '%s\n' 1.90 "$$(cargo --version | cut -d ' ' -f 2)" | sort -CV || \
	  { echo "test-package: cargo older than 1.90 cannot publish two packages at once, skipped"; exit 0; }; \
	  git diff --quiet HEAD -- crates/aqm crates/units 2>/dev/null || dirty=--allow-dirty; \
	  cargo package --quiet --list -p quell-aqm $$dirty > /dev/null && \
	  rm -rf target/publish "$${CARGO_HOME:-$$HOME/.cargo}"/registry/src/-*/quell-units-* && \
	  cargo publish --quiet --dry-run $$dirty --target-dir target/publish -p quell-units -p quell-aqm

# The extension is built with the profile and the features of the tests, which have built most of it already
# (crates/tidy/src/shared.rs).
test-py: py
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/ruff check
	$(VENV)/bin/mypy
	$(VENV)/bin/pytest -q -n auto

py: $(VENV)/.ready ## The Python package with its test tools, in .venv
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m pip install --quiet --disable-pip-version-check \
	  --no-build-isolation --no-deps --force-reinstall -C build-args="--profile dev --features quell-scenario/edit" .

$(VENV)/.ready: tests/python/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

docs: ## Regenerate the generated parts of the documentation
	QUELL_UPDATE_DOCS=1 cargo test --quiet -p quell-aqm --test all docs::
	QUELL_UPDATE_DOCS=1 cargo test --quiet -p quell-tcp --test docs
	QUELL_UPDATE_DOCS=1 cargo test --quiet -p quell-scenario --lib
	QUELL_UPDATE_DOCS=1 cargo test --quiet -p quell-presets
	QUELL_UPDATE_DOCS=1 INSTA_UPDATE=always cargo test --quiet -p quell-router
	QUELL_UPDATE_DOCS=1 cargo test --quiet -p quell-metrics --test all docs::
	QUELL_UPDATE_DOCS=1 cargo test --quiet -p quell-lab --test all traces::
	QUELL_UPDATE_DOCS=1 cargo test --quiet -p quell-conformance --test vectors
	QUELL_UPDATE_DOCS=1 cargo test --quiet -p quell-capi --test all header::
	INSTA_UPDATE=always cargo test --quiet -p quell-sim --test all golden::
	$(MAKE) run py
	$(PY) tests/python/stub.py
	$(PY) -m quell.leaderboard --rewrite --docs docs
	$(PY) docs/site/cli.py
	$(PYTHON) docs/site/scenario.py
	$(PYTHON) docs/site/columns.py
	$(PY) docs/images/main.py results/main

fmt: ## Format Rust and Python
	cargo fmt --all
	rustfmt --edition 2024 $(ALGORITHMS)
	$(VENV)/bin/ruff format

clean:
	cargo clean
	rm -rf $(VENV) $(SITE_VENV) site results lab/node_modules lab/dist-node lab/dist-wasm lab/dist/*
