#!/usr/bin/env bash
# Packs what was built into Debian packages: quell, quell-gateway, libquellN and libquell-dev.
#
#   packaging/debian.sh BUILT OUT
#
# BUILT has quell, quell-gateway, libquell.so, libquell.a, share/ with the manual pages and completions, and the notices
# of what is linked into each: quell.txt, quell-gateway.txt, libquell.txt. `packaging/packages.sh` builds all of these
# and then runs this script, which compiles nothing. It needs dpkg-dev.
set -euo pipefail
cd "$(dirname "$0")/.."
built=$(realpath "$1") out=$(realpath "$2")

release=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
# For Debian, 0.2.0-rc1 would be a revision of 0.2.0 and newer than it; 0.2.0~rc1 is older.
release=${release//-/\~}
# Commits have the version of the release that they lead to, or that they follow: they are older or newer than it.
version=$release
tag=refs/tags/v${release//\~/-}
commit=$(TZ=UTC git log -1 --date=format-local:%Y%m%d.%H%M%S --format=%cd.%h --abbrev=8)
if ! git rev-parse --quiet --verify "$tag^{commit}" > /dev/null || ! git merge-base --is-ancestor "$tag" HEAD; then
  version+="~git$commit"
elif [ "$(git rev-parse "$tag^{commit}")" != "$(git rev-parse HEAD)" ]; then
  version+="+git$commit"
fi
# Its number is the one of the soname.
soname=$(basename crates/capi/abi/libquell.so.*)
library=libquell${soname##*.}
architecture=$(dpkg --print-architecture)
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
maintainer='Quell developers <quell@quell-aqm.example>'
homepage=https://github.com/quell-aqm/quell
# The same time in every file for the same commit.
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

# documents PACKAGE NOTICES: the files that every package has, which are its license, the notices of what is linked into
# it, and its changes.
documents() {
  local folder=$work/$1/usr/share/doc/$1
  [ -s "$built/$2" ] || { echo "debian: there is no $built/$2" >&2; exit 1; }
  mkdir -p "$folder"
  {
    printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n'
    printf 'Upstream-Name: Quell\nSource: %s\n' "$homepage"
    printf 'Comment:\n The programs and libraries also contain libraries of others. Their copyright\n'
    printf ' notices and licenses are in /usr/share/doc/%s/THIRD-PARTY.gz.\n\n' "$1"
    printf 'Files: *\nCopyright: 2026 The Quell developers\n'
    printf ' the authors of the libraries in /usr/share/doc/%s/THIRD-PARTY.gz\n' "$1"
    printf 'License: Expat or Apache-2.0, and third-party\n\n'
    printf 'License: third-party\n The texts are in /usr/share/doc/%s/THIRD-PARTY.gz.\n\n' "$1"
    printf 'License: Expat\n'
    sed -n '/^Permission/,$p' LICENSE-MIT | sed 's/^$/./; s/^/ /'
    printf '\nLicense: Apache-2.0\n On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n'
  } > "$folder/copyright"
  {
    printf 'quell (%s) unstable; urgency=medium\n\n  * See %s.\n\n' "$version" "$homepage"
    printf ' -- %s  %s\n' "$maintainer" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")"
  } > "$work/changes"
  packed "$work/changes" "$folder/changelog.gz"
  packed "$built/$2" "$folder/THIRD-PARTY.gz"
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
documents quell quell.txt
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
documents quell-gateway quell-gateway.txt
mkdir -p "$root/DEBIAN"
# The scripts never fail for systemd: dpkg would leave the package half installed, and apt refuse all else. Only its user
# enables the unit; deb-systemd-helper learns of it, so that it removes the links of `systemctl enable` on purge.
cat > "$root/DEBIAN/postinst" << 'END'
#!/bin/sh
set -e
if [ "$1" = configure ]; then
  deb-systemd-helper update-state quell-gateway.service > /dev/null || true
  if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload > /dev/null || true
    # An update restarts a gateway that runs. The new version may refuse the configuration.
    [ -z "$2" ] || deb-systemd-invoke try-restart quell-gateway.service ||
      echo "quell-gateway did not start again: see journalctl -u quell-gateway" >&2
  fi
fi
END
cat > "$root/DEBIAN/prerm" << 'END'
#!/bin/sh
set -e
if [ "$1" = remove ]; then
  if [ -d /run/systemd/system ]; then
    deb-systemd-invoke stop quell-gateway.service > /dev/null || true
  fi
  # Rules that are left stop traffic where on_exit = "closed", and nothing else knows how to lift them. Without a name,
  # `clean` looks for rules even if there is no journal: in a chroot, these are the rules of the host, which has the same
  # network. It leaves alone a gateway that somebody has started by hand, and says so.
  for journal in /run/quell/*.json; do
    [ -e "$journal" ] || continue
    id=${journal##*/}
    quell-gateway clean --id="${id%.json}" > /dev/null || true
  done
fi
END
cat > "$root/DEBIAN/postrm" << 'END'
#!/bin/sh
set -e
case $1 in
  remove)
    # A journal that is left is of a gateway that runs, or of rules that are still there: only it can undo them.
    ls /run/quell/*.json > /dev/null 2>&1 || rm -rf /run/quell
    [ ! -d /run/systemd/system ] || systemctl --system daemon-reload > /dev/null || true
    ;;
  purge)
    rm -rf /var/log/quell
    if command -v deb-systemd-helper > /dev/null; then
      deb-systemd-helper purge quell-gateway.service > /dev/null || true
    fi
    ;;
esac
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
root=$work/$library
strip_to --strip-unneeded "$built/libquell.so" "$root/usr/lib/$triplet/libquell.so.$release" 644
ln -s "libquell.so.$release" "$root/usr/lib/$triplet/$soname"
documents "$library" libquell.txt
mkdir -p "$root/DEBIAN"
# Functions may come with any commit, so that a program needs the version that it was compiled with, or a later one.
printf 'libquell %s %s (>= %s)\n' "${soname##*.}" "$library" "$version" > "$root/DEBIAN/shlibs"
printf 'activate-noawait ldconfig\n' > "$root/DEBIAN/triggers"
libraries -e"$root/usr/lib/$triplet/libquell.so.$release"
pack "$library" libs "$depends" 'Multi-Arch: same' \
  'queues with active queue management, for programs in C' << 'END'
The queues of Quell for event loops, user-space stacks and simulators: the
program owns its packets, and Quell says in which order they leave, and which
are marked and dropped.
END

root=$work/libquell-dev
strip_to --strip-debug "$built/libquell.a" "$root/usr/lib/$triplet/libquell.a" 644
ln -s "$soname" "$root/usr/lib/$triplet/libquell.so"
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
Version: $release
Cflags: -I\${includedir}
Libs: -L\${libdir} -lquell
Libs.private: -lpthread -ldl -lm -lgcc_s
END
documents libquell-dev libquell.txt
pack libquell-dev libdevel "$library (= $version)" 'Multi-Arch: same' \
  'queues with active queue management, for programs in C (development)' << 'END'
The header, the static library, the file for pkg-config and examples of Quell's
queues for programs in C.
END
