#!/usr/bin/env bash
# Builds everything that is released, in dist/. `make packages` runs it; docs/how-to/release.md describes a release.
#
#   packaging/packages.sh [PART...]      page, command, wheel, debian; all of them unless named
#
# A part whose sources have not changed since it was built is left as it is, so an interrupted run goes on where it was.
# Files enter dist/ whole. Everything in between is in target/dist.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
parts=("$@")
[ $# -gt 0 ] || parts=(page command wheel debian)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
machine=$(uname -m)
# The C library of CentOS 7, which zig links against: the wheel and the command run with it and with every later one.
glibc=2.17
target=$machine-unknown-linux-gnu
work=$PWD/target/dist
tools=$work/tools/bin
built=$work/built
stamps=$work/stamps
mkdir -p dist "$built" "$stamps"
export CARGO_TARGET_DIR=$work
# The same time in every file for the same commit.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

say() { echo "packages: $*" >&2; }

# A digest of the files in some folders, as they are now, and of the compiler.
digest() {
  {
    rustc -vV
    git ls-files -z --cached --others --exclude-standard -- "$@" | LC_ALL=C sort -zu |
      while IFS= read -r -d '' file; do [ ! -f "$file" ] || sha256sum "$file"; done
  } | sha256sum | cut -c 1-16
}

# part NAME DIGEST FILES COMMAND...: runs the command, unless it has already made FILES (a pattern) of these sources.
part() {
  local name=$1 digest=$2 files=$3 begun=$SECONDS
  shift 3
  if [ "$(cat "$stamps/$name" 2> /dev/null)" = "$digest" ] && compgen -G "$files" > /dev/null; then
    say "$name is up to date"
    return
  fi
  say "$name"
  rm -f "$stamps/$name"
  "$@"
  echo "$digest" > "$stamps/$name"
  say "$name took $((SECONDS - begun)) s"
}

# Files enter a folder whole, and replace what an older version left there.
put() {
  local folder=$1 file
  shift
  for file in "$@"; do
    cp "$file" "$folder/.new"
    mv "$folder/.new" "$folder/$(basename "$file")"
  done
}

# archive NAME FOLDER: dist/NAME.tar.gz of FOLDER, whose files have NAME as their folder.
archive() {
  tar -C "$2" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --exclude=.gitignore \
    --transform "s:^\.:$1:" -cf - . | gzip -9n > dist/.new
  mv dist/.new "dist/$1.tar.gz"
}

# The programs that compile and pack, in an environment of their own.
get_tools() {
  "$PYTHON" -m venv "$work/tools"
  "$tools/python" -m pip install --quiet --disable-pip-version-check -r packaging/requirements.txt
}

# The page, which the command and the Python package have in them.
build_page() {
  "$PYTHON" tests/lab.py build >&2
  archive "quell-lab-$version" lab/dist
}

# A profile of what the command does in the benchmark's cases, for the compiler. The system's linker makes the build
# that counts, because zig's does not know the option that profiling adds. The profile also fits what zig links: the
# compiler gives functions the same names.
build_profile() {
  local llvm merge quell=$work/$target/dist/quell profile=$work/profile
  llvm=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
  # The compiler's profiles are read by the tool of its own LLVM alone.
  merge=$(rustc --print target-libdir)/../bin/llvm-profdata
  [ -x "$merge" ] || merge=$(command -v "llvm-profdata-$llvm") || {
    say "there is no llvm-profdata of LLVM $llvm: rustup component add llvm-tools, or apt-get install llvm-$llvm"
    exit 1
  }
  rm -rf "$profile"
  mkdir -p "$profile"
  # With a target named, the flags do not reach what runs while it is compiled.
  RUSTFLAGS="-Cprofile-generate=$profile/raw" cargo build --locked --quiet --profile dist --bin quell --target "$target"
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
  "$merge" merge --output "$work/new.profdata" "$profile/raw"
  mv "$work/new.profdata" "$work/quell.profdata"
  rm -rf "$profile"
}

# Cargo sees that a flag changed, but not that the file did which the flag names.
with_profile() {
  local named
  named=$work/$(sha256sum "$work/quell.profdata" | cut -c 1-16).profdata
  [ -e "$named" ] || { cp "$work/quell.profdata" "$named.new" && mv "$named.new" "$named"; }
  PATH="$tools:$PATH" RUSTFLAGS="-Cprofile-use=$named" "$@"
}

build_command() {
  local out=$work/$target release=$work/command
  with_profile cargo-zigbuild zigbuild --locked --quiet --profile dist --bin quell --target "$target.$glibc"
  put "$built" "$out/dist/quell"
  rm -rf "$release" "$built/share"
  mkdir -p "$release" "$built/share/completions"
  "$built/quell" man "$built/share/man"
  "$built/quell" completions bash > "$built/share/completions/quell.bash"
  "$built/quell" completions zsh > "$built/share/completions/_quell"
  "$built/quell" completions fish > "$built/share/completions/quell.fish"
  cp -r "$built/quell" "$built/share" LICENSE-APACHE LICENSE-MIT README.md "$release"
  archive "quell-$version-$target" "$release"
}

build_wheel() {
  rm -rf "$work/wheels"
  with_profile "$tools/maturin" build --quiet --locked --profile dist --zig --target "$target" \
    --compatibility manylinux2014 --out "$work/wheels"
  rm -f dist/quell-*.whl
  put dist "$work"/wheels/*.whl
}

build_debian() {
  local out=$work/$target
  PATH="$tools:$PATH"
  cargo-zigbuild zigbuild --locked --quiet --profile router -p quell-gateway --target "$target.$glibc"
  library() { cargo-zigbuild rustc --locked --quiet --profile dist -p quell-capi --lib --target "$target.$glibc" "$@"; }
  library --crate-type cdylib -- -Clink-arg=-Wl,-soname,libquell.so.0
  library --crate-type staticlib
  put "$built" "$out/router/quell-gateway" "$out/dist/libquell.so" "$out/dist/libquell.a"
  rm -rf "$work/debian"
  mkdir "$work/debian"
  packaging/debian.sh "$built" "$work/debian"
  rm -f dist/*.deb
  put dist "$work"/debian/*.deb
}

wanted() { [[ " ${parts[*]} " == *" $1 "* ]]; }

for name in "${parts[@]}"; do
  case $name in
    page | command | wheel | debian) ;;
    *) say "there is no part $name: page, command, wheel, debian"; exit 2 ;;
  esac
done

rust=$(digest crates Cargo.toml Cargo.lock scenarios conformance papers drafts lab packaging)
# What is built says from which commit.
commit=$(git rev-parse HEAD)
[ -z "${QUELL_WASM:-}" ] || page=$(sha256sum "$QUELL_WASM" | cut -c 1-16)
part tools "$(digest packaging/requirements.txt)" "$tools/maturin" get_tools
# Whatever is built has the page in it.
[ -e lab/dist/index.html ] || rm -f "$stamps/page"
part page "$rust-$(digest docs/references.bib)-$commit-${page:-}" "dist/quell-lab-$version.tar.gz" build_page
whole=$rust-$commit-$(cat "$stamps/page" 2> /dev/null | sha256sum | cut -c 1-16)
if wanted command || wanted wheel || wanted debian; then
  part profile "$(digest crates Cargo.toml Cargo.lock benches/cases scenarios packaging)" "$work/quell.profdata" build_profile
fi
if wanted command || wanted debian; then
  part command "$whole-$(digest README.md LICENSE-*)" "dist/quell-$version-$target.tar.gz" build_command
fi
if wanted wheel; then
  part wheel "$whole-$(digest python pyproject.toml README.md)" "dist/quell-$version-*.whl" build_wheel
fi
if wanted debian; then
  part debian "$whole-$(digest packaging/debian.sh crates/gateway/dist)" "dist/quell_${version}_*.deb" build_debian
fi
ls -l dist
