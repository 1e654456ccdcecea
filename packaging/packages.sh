#!/usr/bin/env bash
# Builds everything that is released, in dist/. `make packages` runs it; docs/how-to/release.md describes a release.
#
#   packaging/packages.sh [PART...]      page, wheel, command, debian, static; all of them unless named
#
# A part whose sources have not changed since it was built is left as it is, so an interrupted run goes on where it was.
# Files enter dist/ whole, and dist/ has files of one commit only. Everything in between is in target/dist.
#
# PROFILE=FILE takes a profile that an earlier build left in target/dist/quell.profdata, in place of recording one.
#
# It refuses sources that differ from the commit, which the packages name as theirs; DIRTY=1 builds them all the same.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
parts=("$@")
[ $# -gt 0 ] || parts=(page wheel command debian static)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
machine=$(uname -m)
# The C library of CentOS 7, which zig links against: the wheel and the command run with it and with every later one.
glibc=2.17
target=$machine-unknown-linux-gnu
musl=$machine-unknown-linux-musl
work=$PWD/target/dist
# Within the tree, as sha256sum and its lists have it.
built=target/dist/built
stamps=target/dist/stamps
tools=$work/tools/bin
export CARGO_TARGET_DIR=$work
# The same time in every file for the same commit.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
# Flags of whoever builds are not those of the packages.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS
umask 022

say() { echo "packages: $*" >&2; }
fail() { say "$*"; exit 1; }

# Rust's text for a panic names source files. They are called the same on every machine.
crates=${CARGO_HOME:-$HOME/.cargo}/registry/src
sysroot=$(rustc --print sysroot)
remap="--remap-path-prefix=$PWD=/quell --remap-path-prefix=$crates=/crates"
remap+=" --remap-path-prefix=$sysroot/lib/rustlib/src/rust=/rustc/$(rustc -vV | sed -n 's/^commit-hash: //p')"

# A digest of the files in some folders, as they are now.
digest() {
  git ls-files -z --cached --others --exclude-standard -- "$@" | LC_ALL=C sort -zu |
    while IFS= read -r -d '' file; do [ ! -f "$file" ] || sha256sum "$file"; done | sha256sum | cut -c 1-16
}

# A digest of what a part is made with: the compiler, the tools, Cargo's settings, and the functions that are named.
with() {
  {
    rustc -vV
    cat packaging/requirements.txt
    env | grep '^CARGO_PROFILE_\(RELEASE\|DIST\|ROUTER\)' | LC_ALL=C sort
    echo "$version $target $glibc $remap"
    declare -f "$@"
  } | sha256sum | cut -c 1-16
}

# part NAME DIGEST COMMAND: runs the command, unless it has run with these sources and its files are as they were.
# The command lists its files in `made`. Those that an earlier run made and this one did not are removed.
part() {
  local name=$1 digest=$2 stamp=$stamps/$1 begun=$SECONDS file
  if [ "$(head -n 1 "$stamp" 2> /dev/null)" = "$digest" ] && tail -n +2 "$stamp" | sha256sum --check --status; then
    say "$name is up to date"
    return
  fi
  say "$name"
  [ ! -e "$stamp" ] || sed -i 1s/.*/interrupted/ "$stamp"
  made=()
  "$3"
  [ "$(git rev-parse HEAD)" = "$commit" ] || fail "HEAD moved while $name was built, and $name may name either commit"
  { echo "$digest"; sha256sum "${made[@]}"; } > "$stamp.new"
  if [ -e "$stamp" ]; then
    tail -n +2 "$stamp" | cut -c 67- | while IFS= read -r file; do
      grep -qF "  $file" "$stamp.new" || rm -f "$file"
    done
  fi
  mv "$stamp.new" "$stamp"
  say "$name took $((SECONDS - begun)) s"
}

# Files enter a folder whole, and replace what an older version left there.
put() {
  local folder=$1 file
  shift
  for file in "$@"; do
    cp "$file" "$folder/.new"
    mv "$folder/.new" "$folder/$(basename "$file")"
    made+=("$folder/$(basename "$file")")
  done
}

# archive NAME FOLDER: dist/NAME.tar.gz of FOLDER, whose files have NAME as their folder.
archive() {
  tar -C "$2" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --exclude=.gitignore --transform "s:^\.:$1:" -cf - . | gzip -9n > dist/.new
  mv dist/.new "dist/$1.tar.gz"
  made+=("dist/$1.tar.gz")
}

# notices OUT CRATE TARGET... [--file TITLE=PATH]: what is linked into a program by others, and in its page.
notices() {
  local site
  site=$("$tools/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/ziglang
  case " $* " in
    *-gnu\ *) set -- "$@" --file "Zig, whose compiler_rt is linked in=$site/LICENSE" ;;
    *) set -- "$@" --file "musl, the C library=$site/lib/libc/musl/COPYRIGHT" ;;
  esac
  case $2 in
    quell-cli | quell-py) set -- "$@" --file "The laboratory's page=lab/dist-node/licenses.txt" ;;
  esac
  packaging/notices.py "$@"
}

# Fails unless an ELF file runs with every C library from $glibc on, or with none (`check_elf FILE static`), and names
# no folder of this machine.
check_elf() {
  local file=$1 newest
  newest=$(objdump -T "$file" 2> /dev/null | grep -o 'GLIBC_[0-9.]*' | cut -c 7- | sort -Vu | tail -n 1) || true
  if [ "${2:-}" = static ]; then
    ! readelf -lW "$file" | grep -q 'INTERP' || fail "$file is not static"
    ! readelf -dW "$file" | grep -q '(NEEDED)' || fail "$file needs shared libraries"
  else
    [ -n "$newest" ] || fail "$file names no version of the C library: it was not linked by zig for $target.$glibc"
    [ "$(printf '%s\n' "$newest" "$glibc" | sort -V | tail -n 1)" = "$glibc" ] ||
      fail "$file needs glibc $newest, and must run with $glibc"
  fi
  ! grep -aqF -e "$crates" -e "$PWD/" "$file" || fail "$file has folders of this machine in it: see remap"
}

# The programs that compile and pack, in an environment of their own.
get_tools() {
  "$PYTHON" -m venv --clear "$work/tools"
  "$tools/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r packaging/requirements.txt
  made=("${tools#"$PWD"/}/maturin" "${tools#"$PWD"/}/cargo-zigbuild")
}

# The page, which the command and the Python package have in them.
build_page() {
  RUSTFLAGS=$remap "$PYTHON" tests/lab.py build >&2
  # A module that QUELL_WASM names was compiled by somebody else.
  [ -n "${QUELL_WASM:-}" ] || ! grep -aqF -e "$crates" -e "$PWD/" lab/dist/*.wasm ||
    fail "lab/dist/*.wasm has folders of this machine in it: see remap"
  archive "quell-lab-$version" lab/dist
  made+=(lab/dist/* lab/dist-node/licenses.txt)
}

# A profile of what the command does in the benchmark's cases, for the compiler. The system's linker makes the build
# that counts, because zig's does not know the option that profiling adds. The profile also fits what zig links: the
# compiler gives functions the same names.
build_profile() {
  local llvm merge quell=$work/$target/dist/quell profile=$work/profile
  llvm=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
  # The compiler's profiles are read by the tool of its own LLVM alone.
  merge=$(rustc --print target-libdir)/../bin/llvm-profdata
  [ -x "$merge" ] || merge=$(command -v "llvm-profdata-$llvm") ||
    fail "there is no llvm-profdata of LLVM $llvm: rustup component add llvm-tools, or apt-get install llvm-$llvm"
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
  made=(target/dist/quell.profdata)
}

use_profile() {
  cp "$PROFILE" "$work/new.profdata"
  mv "$work/new.profdata" "$work/quell.profdata"
  made=(target/dist/quell.profdata)
}

# Cargo sees that a flag changed, but not that the file did which the flag names.
with_profile() {
  local named
  named=$work/$(sha256sum "$work/quell.profdata" | cut -c 1-16).profdata
  [ -e "$named" ] || { cp "$work/quell.profdata" "$named.new" && mv "$named.new" "$named"; }
  PATH="$tools:$PATH" RUSTFLAGS="$remap -Cprofile-use=$named" "$@"
}

build_wheel() {
  local extension=$work/extension
  rm -rf "$work/wheels" "$extension"
  # maturin puts what pyproject.toml's license-files names into the wheel. Nobody else is to find it there.
  trap 'rm -f THIRD-PARTY.txt' EXIT
  notices THIRD-PARTY.txt quell-py "$target"
  with_profile "$tools/maturin" build --quiet --locked --profile dist --zig --target "$target" \
    --compatibility manylinux2014 --out "$work/wheels"
  rm -f THIRD-PARTY.txt
  unzip -qo "$work"/wheels/*.whl -d "$extension"
  check_elf "$extension"/quell/_quell*.so
  [ -s "$extension"/quell-*.dist-info/licenses/THIRD-PARTY.txt ] || fail "the wheel has no THIRD-PARTY.txt"
  put dist "$work"/wheels/*.whl
}

build_command() {
  local release=$work/command share=$built/share
  with_profile cargo-zigbuild zigbuild --locked --quiet --profile dist --bin quell --target "$target.$glibc"
  check_elf "$work/$target/dist/quell"
  put "$built" "$work/$target/dist/quell"
  rm -rf "$release" "$share"
  mkdir -p "$release" "$share/completions"
  "$built/quell" man "$share/man"
  "$built/quell" completions bash > "$share/completions/quell.bash"
  "$built/quell" completions zsh > "$share/completions/_quell"
  "$built/quell" completions fish > "$share/completions/quell.fish"
  notices "$release/THIRD-PARTY.txt" quell-cli "$target"
  cp "$release/THIRD-PARTY.txt" "$built/quell.txt"
  made+=("$built/quell.txt")
  cp -r "$built/quell" "$share" LICENSE-APACHE LICENSE-MIT README.md "$release"
  archive "quell-$version-$target" "$release"
  mapfile -t -O "${#made[@]}" made < <(find "$share" -type f)
}

build_debian() {
  local out=$work/$target list soname
  list=$(echo crates/capi/abi/libquell.so.*)
  soname=$(basename "$list")
  PATH="$tools:$PATH"
  RUSTFLAGS=$remap cargo-zigbuild zigbuild --locked --quiet --profile router -p quell-gateway --target "$target.$glibc"
  library() {
    RUSTFLAGS=$remap \
      cargo-zigbuild rustc --locked --quiet --profile dist -p quell-capi --lib --target "$target.$glibc" "$@"
  }
  library --crate-type cdylib -- -Clink-arg=-Wl,-soname,"$soname"
  library --crate-type staticlib
  check_elf "$out/router/quell-gateway"
  check_elf "$out/dist/libquell.so"
  objdump -p "$out/dist/libquell.so" | grep -q "SONAME *$soname\$" || fail "libquell.so is not called $soname"
  nm -D --defined-only "$out/dist/libquell.so" | cut -d ' ' -f 3 |
    diff <(grep -o '\bquell_[a-z_]*(' "$list" | tr -d '(' | LC_ALL=C sort) - >&2 ||
    fail "libquell.so does not export the functions of $list"
  put "$built" "$out/router/quell-gateway" "$out/dist/libquell.so" "$out/dist/libquell.a"
  rm -rf "$work/debian"
  mkdir "$work/debian"
  notices "$built/quell-gateway.txt" quell-gateway "$target"
  # libquell0 may be installed for several processors at once, and its documents must be the same in all of them.
  notices "$built/libquell.txt" quell-capi {x86_64,aarch64}-unknown-linux-gnu
  made+=("$built"/{quell-gateway,libquell}.txt)
  packaging/debian.sh "$built" "$work/debian"
  put dist "$work"/debian/*.deb
}

# For systems of any C library, or none: routers, containers, old distributions.
build_static() {
  local release=$work/static out=$work/$musl
  with_profile cargo build --locked --quiet --profile dist --bin quell --target "$musl"
  RUSTFLAGS=$remap cargo build --locked --quiet --profile router -p quell-gateway --target "$musl"
  check_elf "$out/dist/quell" static
  check_elf "$out/router/quell-gateway" static
  rm -rf "$release"
  mkdir "$release"
  notices "$release/THIRD-PARTY.txt" quell-cli "$musl"
  cp "$out/dist/quell" "$out/router/quell-gateway" LICENSE-APACHE LICENSE-MIT README.md "$release"
  archive "quell-$version-$musl" "$release"
}

wanted() { [[ " ${parts[*]} " == *" $1 "* ]]; }

for name in "${parts[@]}"; do
  case $name in
    page | command | wheel | debian | static) ;;
    *) say "there is no part $name: page, wheel, command, debian, static"; exit 2 ;;
  esac
done
[[ $remap != *" "*" "*" "* ]] || fail "Cargo's flags cannot have a space in a folder's name: $PWD, $crates, $sysroot"

commit=$(git rev-parse HEAD)
changed=$(git status --porcelain)
if [ -n "$changed" ]; then
  [ -n "${DIRTY:-}" ] || fail "files differ from commit ${commit::8}, which packages name: commit them, or set DIRTY=1:
$changed"
  say "the packages name commit ${commit::8} and differ from it"
elif ! git tag --points-at HEAD | grep -qxF "v$version"; then
  say "commit ${commit::8} has no tag v$version"
fi

mkdir -p dist "$built" "$stamps"
if [ "$(cat "$stamps/commit" 2> /dev/null)" != "$commit" ]; then
  rm -f "$stamps"/{page,wheel,command,debian,static} dist/*.{whl,deb,tar.gz} dist/SHA256SUMS
  echo "$commit" > "$stamps/commit"
fi

rust=$(digest crates Cargo.toml Cargo.lock scenarios conformance papers drafts)
[ -z "${QUELL_WASM:-}" ] || page=$(sha256sum "$QUELL_WASM" | cut -c 1-16)
part tools "$("$PYTHON" -V)-$(with get_tools)" get_tools
# Whatever is built has the page in it.
own=$(digest lab tests/lab.py packaging/notices.py docs/references.bib)-$(node -v)-${page:-}
part page "$rust-$own-$(with build_page archive)" build_page
[ -s lab/dist/index.html.gz ] || fail "lab/dist has no page"
whole=$rust-$(tail -n +2 "$stamps/page" | sha256sum | cut -c 1-16)-$(digest packaging/notices.py README.md LICENSE-*)
if wanted command || wanted wheel || wanted debian || wanted static; then
  if [ -n "${PROFILE:-}" ]; then
    part profile "$(sha256sum "$PROFILE")" use_profile
  else
    part profile "$rust-$(digest benches/cases)-$(with build_profile)" build_profile
  fi
  whole+=-$(sha256sum "$work/quell.profdata" | cut -c 1-16)
fi
steps=(with_profile notices check_elf archive)
if wanted wheel; then
  part wheel "$whole-$(digest python pyproject.toml)-$(with build_wheel "${steps[@]}")" build_wheel
fi
if wanted command || wanted debian; then
  part command "$whole-$(with build_command "${steps[@]}")" build_command
fi
if wanted debian; then
  own=$(digest packaging/debian.sh)-$(sha256sum "$stamps/command" | cut -c 1-16)
  # The version depends on where the tag is.
  own+=-$(git rev-parse --quiet --verify "refs/tags/v$version^{commit}" || echo untagged)
  part debian "$whole-$own-$(with build_debian "${steps[@]}")" build_debian
fi
if wanted static; then
  part static "$whole-$(with build_static "${steps[@]}")" build_static
fi

for file in dist/*; do
  grep -qF "  $file" "$stamps"/{page,wheel,command,debian,static} 2> /dev/null || rm -f "$file"
done
(cd dist && sha256sum -- * > .new && mv .new SHA256SUMS)
ls -l dist
