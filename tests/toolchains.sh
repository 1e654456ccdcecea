#!/usr/bin/env bash
# Gets what tests/targets.py and tests/lab.py need, as far as it is missing. The targets: by `rustup` where it can fetch,
# and otherwise, on Debian, a compiler with the sources of its standard library, unpacked into target/toolchains.
# `target/toolchains/cargo` is then a cargo that builds the standard library for any target. For the page: Node.js and
# Chromium, by Debian's packages where root may install them; nothing else of the system changes.
set -euo pipefail
cd "$(dirname "$0")/.."

# BPF is not among them: its standard library is nowhere to be fetched, and is always built from the sources.
TARGETS="thumbv7em-none-eabihf x86_64-unknown-none wasm32-unknown-unknown
         aarch64-unknown-linux-musl aarch64-apple-darwin x86_64-pc-windows-gnu"
FOLDER=$PWD/target/toolchains

packages=()
command -v node > /dev/null && command -v npm > /dev/null || packages+=(nodejs npm)
[ -n "${CHROMIUM:-}" ] || command -v chromium chromium-browser google-chrome > /dev/null || packages+=(chromium)
if [ ${#packages[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
  apt-get install --yes --quiet=2 --no-install-recommends "${packages[@]}" > /dev/null ||
    { apt-get update --quiet=2 && apt-get install --yes --quiet=2 --no-install-recommends "${packages[@]}" > /dev/null; }
fi

has_all() {
  for target in $TARGETS; do
    [ -d "$(rustc --print target-libdir --target "$target")" ] || return 1
  done
  [ -f "$(rustc --print sysroot)/lib/rustlib/src/rust/library/Cargo.lock" ]
}

if ! has_all && command -v rustup > /dev/null; then
  # shellcheck disable=SC2086 # A word for each target.
  { rustup target add $TARGETS && rustup component add rust-src; } > /dev/null 2>&1 || true
fi
if has_all; then
  mkdir -p "$FOLDER"
  printf '#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec cargo "$@"\n' > "$FOLDER/cargo.new"
  chmod +x "$FOLDER/cargo.new"
  mv "$FOLDER/cargo.new" "$FOLDER/cargo"
  exit 0
fi
if [ -d "$FOLDER/root" ]; then exit 0; fi

command -v apt-get > /dev/null || {
  echo "toolchains: rustup cannot fetch the targets, and this is not Debian, whose packages would do" >&2
  exit 1
}
[ -n "$(apt-cache show rustc-web 2> /dev/null)" ] || apt-get update --quiet=2
depends() { apt-cache depends "$1" | sed -n "s/^ *Depends: \($2\)$/\1/p" | sort -V | tail -n 1; }
std=$(depends libstd-rust-web-dev 'libstd-rust-web-[0-9.]*')
llvm=$(depends "$std" 'libllvm[0-9]*')
version=${llvm#libllvm}
unpacked=$FOLDER.new
rm -rf "$unpacked"
mkdir -p "$unpacked/packages" "$unpacked/bin"
(cd "$unpacked/packages" && apt-get download --quiet=2 -o APT::Sandbox::User=root \
  rustc-web libstd-rust-web-dev "$std" rust-web-src "$llvm" "lld-$version")
for package in "$unpacked"/packages/*.deb; do dpkg -x "$package" "$unpacked/root"; done
rm -r "$unpacked/packages"
ln -s "../root/usr/lib/llvm-$version/bin/lld" "$unpacked/bin/rust-lld"
cat > "$unpacked/cargo" <<END
#!/bin/sh
root=$FOLDER/root/usr
export LD_LIBRARY_PATH="\$root/lib/x86_64-linux-gnu:\$root/lib/llvm-$version/lib"
export PATH="$FOLDER/bin:\$PATH" RUSTC="\$root/bin/rustc" RUSTC_BOOTSTRAP=1
exec cargo "\$@"
END
chmod +x "$unpacked/cargo"
rm -rf "$FOLDER"
mv "$unpacked" "$FOLDER"
