#!/usr/bin/env bash
# Packs what was built into Debian packages: quell, quell-gateway, libquell0 and libquell-dev.
#
#   packaging/debian.sh BUILT OUT
#
# BUILT has quell, quell-gateway, libquell.so (its soname is libquell.so.0), libquell.a, and share/ with the manual pages
# and completions. `packaging/packages.sh` builds all of these and then runs this script, which compiles nothing. It needs
# dpkg-dev.
set -euo pipefail
cd "$(dirname "$0")/.."
built=$(realpath "$1") out=$(realpath "$2")

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
architecture=$(dpkg --print-architecture)
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
maintainer='Quell developers <quell@quell-aqm.example>'
homepage=https://github.com/quell-aqm/quell
# The same bytes for the same commit.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The packages of the shared libraries that files need. dpkg-shlibdeps runs only in a source package.
mkdir "$work/debian"
printf 'Source: quell\n\nPackage: quell\nArchitecture: any\n' > "$work/debian/control"
libraries() {
  local found
  found=$(cd "$work" && dpkg-shlibdeps -O "$@" 2> "$work/said") || { cat "$work/said" >&2; return 1; }
  depends=$(sed -n 's/^shlibs:Depends=//p' <<< "$found")
  [ -n "$depends" ] || { echo "debian: dpkg-shlibdeps names no package for $*" >&2; return 1; }
}

put() { install -D -m "$1" "$2" "$3"; }
packed() { mkdir -p "$(dirname "$2")" && gzip -9nc "$1" > "$2" && chmod 644 "$2"; }

# The files of every package: its license, its changes, and the list of the crates that are linked into it.
documents() {
  local folder=$work/$1/usr/share/doc/$1 crate=$2
  mkdir -p "$folder"
  {
    printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n'
    printf 'Upstream-Name: Quell\nSource: %s\n\n' "$homepage"
    printf 'Files: *\nCopyright: 2026 The Quell developers\nLicense: Expat or Apache-2.0\n\n'
    printf 'License: Expat\n'
    sed -n '/^Permission/,$p' LICENSE-MIT | sed 's/^$/./; s/^/ /'
    printf '\nLicense: Apache-2.0\n On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n'
  } > "$folder/copyright"
  {
    printf 'quell (%s) unstable; urgency=medium\n\n  * See %s.\n\n' "$version" "$homepage"
    printf ' -- %s  %s\n' "$maintainer" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")"
  } > "$work/changes"
  packed "$work/changes" "$folder/changelog.gz"
  cargo tree --locked --quiet -p "$crate" -e normal --prefix none --format '{p} {l}' |
    sed 's/ (\*)$//; s/ ([^)]*crates[^)]*)//; s/ (proc-macro)//' | LC_ALL=C sort -u > "$work/crates"
  packed "$work/crates" "$folder/crates.txt.gz"
}

# pack NAME SECTION DEPENDS MORE SUMMARY, and the long description on standard input.
pack() {
  local name=$1 root=$work/$1
  mkdir -p "$root/DEBIAN"
  {
    printf 'Package: %s\nVersion: %s\nArchitecture: %s\n' "$name" "$version" "$architecture"
    printf 'Maintainer: %s\nSection: %s\nPriority: optional\nHomepage: %s\n' "$maintainer" "$2" "$homepage"
    printf 'Installed-Size: %s\n' "$(du -sk --apparent-size "$root" | cut -f 1)"
    [ -z "$3" ] || printf 'Depends: %s\n' "$3"
    [ -z "$4" ] || printf '%s\n' "$4"
    printf 'Description: %s\n' "$5"
    sed 's/^$/./; s/^/ /'
  } > "$root/DEBIAN/control"
  (cd "$root" && find usr -type f -printf '%P\0' | LC_ALL=C sort -z | (cd usr && xargs -0 md5sum) | sed 's:  :  usr/:') \
    > "$root/DEBIAN/md5sums"
  find "$root" -type d -exec chmod 755 {} +
  find "$root" -newermt "@$SOURCE_DATE_EPOCH" -print0 | xargs -0r touch --no-dereference --date="@$SOURCE_DATE_EPOCH"
  dpkg-deb --root-owner-group -Zxz "-z${XZ_LEVEL:-6}" --build "$root" "$work/new.deb" > /dev/null
  mv "$work/new.deb" "$out/${name}_${version}_$architecture.deb"
}

strip_to() { mkdir -p "$(dirname "$3")" && strip "$1" -o "$3" "$2" && chmod "$4" "$3"; }

# The command.
root=$work/quell
strip_to --strip-all "$built/quell" "$root/usr/bin/quell" 755
for page in "$built"/share/man/man1/*.1; do packed "$page" "$root/usr/share/man/man1/$(basename "$page").gz"; done
put 644 "$built/share/completions/quell.bash" "$root/usr/share/bash-completion/completions/quell"
put 644 "$built/share/completions/_quell" "$root/usr/share/zsh/vendor-completions/_quell"
put 644 "$built/share/completions/quell.fish" "$root/usr/share/fish/vendor_completions.d/quell.fish"
documents quell quell-cli
libraries -e"$root/usr/bin/quell"
pack quell science "$depends" 'Suggests: quell-gateway, libquell-dev' \
  'laboratory for active queue management' << 'END'
Quell simulates networks packet by packet, runs algorithms of active queue
management and congestion control on the same traffic, and compares them
with confidence intervals over paired seeds.
END

# The gateway. Its user configures it and then enables it: before that, it has no link to manage.
root=$work/quell-gateway
strip_to --strip-all "$built/quell-gateway" "$root/usr/bin/quell-gateway" 755
for page in "$built"/share/man/man8/*.8; do packed "$page" "$root/usr/share/man/man8/$(basename "$page").gz"; done
put 644 crates/gateway/dist/quell-gateway.service "$root/usr/lib/systemd/system/quell-gateway.service"
for example in gateway.toml grafana.json; do
  put 644 "crates/gateway/dist/$example" "$root/usr/share/doc/quell-gateway/examples/$example"
done
documents quell-gateway quell-gateway
mkdir -p "$root/DEBIAN"
cat > "$root/DEBIAN/postinst" << 'END'
#!/bin/sh
set -e
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  # An update restarts a gateway that is enabled. If the new one refuses its configuration, dpkg is not to fail for it.
  [ -z "$2" ] || deb-systemd-invoke restart quell-gateway.service || true
fi
END
cat > "$root/DEBIAN/prerm" << 'END'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  deb-systemd-invoke stop quell-gateway.service || true
fi
END
cat > "$root/DEBIAN/postrm" << 'END'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
if [ "$1" = purge ]; then
  rm -rf /var/log/quell
  if command -v deb-systemd-helper > /dev/null; then deb-systemd-helper purge quell-gateway.service > /dev/null; fi
fi
END
chmod 755 "$root"/DEBIAN/post* "$root"/DEBIAN/prerm
libraries -e"$root/usr/bin/quell-gateway"
pack quell-gateway net "$depends" 'Recommends: nftables | iptables' \
  'active queue management on the packets of a router' << 'END'
Quell's gateway has the algorithms of active queue management on real packets:
it shapes, marks, drops, records and replays what goes through a link.

To start it, copy /usr/share/doc/quell-gateway/examples/gateway.toml to
/etc/quell, edit it, and enable the unit quell-gateway.service.
END

# The library.
root=$work/libquell0
strip_to --strip-unneeded "$built/libquell.so" "$root/usr/lib/$triplet/libquell.so.$version" 644
ln -s "libquell.so.$version" "$root/usr/lib/$triplet/libquell.so.0"
documents libquell0 quell-capi
mkdir -p "$root/DEBIAN"
# Functions may come with any version, so that a program needs the one that it was compiled with, or a later one.
printf 'libquell 0 libquell0 (>= %s)\n' "$version" > "$root/DEBIAN/shlibs"
printf 'activate-noawait ldconfig\n' > "$root/DEBIAN/triggers"
libraries -e"$root/usr/lib/$triplet/libquell.so.$version"
pack libquell0 libs "$depends" 'Multi-Arch: same' \
  'queues with active queue management, for programs in C' << 'END'
The queues of Quell for event loops, user-space stacks and simulators: the
program owns its packets, and Quell says in which order they leave, and which
are marked and dropped.
END

root=$work/libquell-dev
strip_to --strip-debug "$built/libquell.a" "$root/usr/lib/$triplet/libquell.a" 644
ln -s "libquell.so.0" "$root/usr/lib/$triplet/libquell.so"
put 644 crates/capi/include/quell.h "$root/usr/include/quell.h"
for example in event_loop.c burst_loop.c; do
  put 644 "crates/capi/examples/$example" "$root/usr/share/doc/libquell-dev/examples/$example"
done
mkdir -p "$root/usr/lib/$triplet/pkgconfig"
cat > "$root/usr/lib/$triplet/pkgconfig/libquell.pc" << END
prefix=/usr
includedir=\${prefix}/include
libdir=\${prefix}/lib/$triplet

Name: libquell
Description: Queues with active queue management, for programs in C
URL: $homepage
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -lquell
Libs.private: -lpthread -ldl -lm -lgcc_s
END
documents libquell-dev quell-capi
pack libquell-dev libdevel "libquell0 (= $version)" 'Multi-Arch: same' \
  'queues with active queue management, for programs in C (development)' << 'END'
The header, the static library, the file for pkg-config and examples of Quell's
queues for programs in C.
END
