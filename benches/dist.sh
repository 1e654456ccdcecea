#!/usr/bin/env bash
# Builds what is released, in dist/: the laboratory's page, and the command and the Python package, which have it in them,
# optimized at link time and with a profile of what the command does in the benchmark's cases, and stripped.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
host=$(rustc -vV | sed -n 's/^host: //p')
llvm=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
profile=$PWD/target/dist/profile

# The compiler's profiles are read by the tool of its own LLVM alone.
merge=$(rustc --print target-libdir)/../bin/llvm-profdata
[ -x "$merge" ] || merge=$(command -v "llvm-profdata-$llvm") || {
  echo "dist: there is no llvm-profdata of LLVM $llvm: rustup component add llvm-tools, or apt-get install llvm-$llvm" >&2
  exit 1
}

echo "dist: the page" >&2
"$PYTHON" tests/lab.py build >&2

export CARGO_TARGET_DIR=$PWD/target/dist
# With a target named, the flags do not reach what runs while it is compiled.
build() { cargo build --locked --quiet --profile dist --bin quell --target "$host"; }

echo "dist: a build that counts what it does" >&2
rm -rf "$profile"
mkdir -p "$profile"
RUSTFLAGS="-Cprofile-generate=$profile/raw" build

echo "dist: its training" >&2
quell=$CARGO_TARGET_DIR/$host/dist/quell
train() { "$quell" "$@" > "$profile/said" 2>&1 || { cat "$profile/said" >&2; exit 1; }; }
run() { train run --no-cache --overwrite --seeds 1 --out "$profile/results" "$@"; }
run benches/cases/a.toml --set 'duration="5 s"'
run benches/cases/c.toml --set 'duration="1 s"'
run benches/cases/e.toml --set 'duration="2 s"'
run scenarios/catalog.toml --set 'duration="210 s"'
for scenario in scenarios/bbr/{loss,cubic}.toml scenarios/l4s/bursty.toml scenarios/web_sessions.toml; do
  run "$scenario" --set 'duration="10 s"' --set 'warmup="0 s"'
done
train analyze scenarios/theory.toml
train map --rate 20Mbit/s --rtt 200ms --flows 60 --aqm pi --x rtt=50ms..500ms --y flows=10..100

echo "dist: the build that is released" >&2
"$merge" merge --output "$profile/quell.profdata" "$profile/raw"
export RUSTFLAGS="-Cprofile-use=$profile/quell.profdata"
build
name=quell-$version-$host
rm -rf dist
mkdir -p "dist/$name"
cp "$quell" LICENSE-APACHE LICENSE-MIT README.md "dist/$name"
tar -C dist -czf "dist/$name.tar.gz" "$name"
rm -r "dist/$name"
tar -C lab --transform "s:^dist:quell-lab-$version:" --exclude=.gitignore -czf "dist/quell-lab-$version.tar.gz" dist
"$PYTHON" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist \
  -C build-args="--profile dist --target $host" .
ls -l dist
