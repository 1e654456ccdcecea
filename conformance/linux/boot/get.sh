#!/usr/bin/env bash
# Gets what boot.py boots, as far as it is missing: Debian's kernels 6.12 and 7.x for clouds, with the tc of their
# releases, unpacked into target/kernel, and QEMU, by Debian's package where root may install it. The lists of packages
# are kept in target/kernel too: nothing else of the system changes. It is a download of 180 MB.
set -euo pipefail
cd "$(dirname "$0")/../../.."

FOLDER=$PWD/target/kernel

command -v apt-get > /dev/null || {
  echo "kernel: this is not Debian, whose packages would do" >&2
  exit 1
}
if ! command -v qemu-system-x86_64 > /dev/null; then
  [ "$(id -u)" = 0 ] || {
    echo "kernel: there is no QEMU, and only root may install it: apt-get install qemu-system-x86" >&2
    exit 1
  }
  qemu() { DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends qemu-system-x86 > /dev/null; }
  qemu || { apt-get update --quiet=2 && qemu; }
fi

# The mirror that this machine has its packages from.
mirror() { apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' | sed -n 's/^Debian Debian //p' | head -n 1; }

# Unpacks the newest kernel whose name begins so, of a release of Debian, with its tc: get RELEASE KERNEL.
get() {
  local release=$1 kernel=$2 folder=$FOLDER/$2 new=$FOLDER/$2.new uri image packages
  if [ -d "$folder" ]; then return; fi
  uri=$(mirror)
  [ -n "$uri" ] || { apt-get update --quiet=2 && uri=$(mirror); }
  [ -n "$uri" ] || {
    echo "kernel: apt names no source of Debian's packages" >&2
    exit 1
  }
  rm -rf "$new"
  mkdir -p "$new"/{state/lists/partial,cache/archives/partial,root}
  echo "deb $uri $release main" > "$new/sources.list"
  # An empty system: everything that tc needs is then fetched, and all of it of this release.
  local apt=(-o Dir::Etc::sourcelist="$new/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State="$new/state"
    -o Dir::State::status=/dev/null -o Dir::Cache="$new/cache" -o APT::Sandbox::User=root -o APT::Architecture=amd64
    -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false)
  apt-get "${apt[@]}" update --quiet=2
  image=$(apt-cache "${apt[@]}" search --names-only "^linux-image-${kernel%x}[0-9.+deb~bpo-]*-cloud-amd64\$" |
    cut -d ' ' -f 1 | sort -V | tail -n 1)
  [ -n "$image" ] || {
    echo "kernel: Debian's $release has no kernel $kernel for clouds" >&2
    exit 1
  }
  # A kernel of 7.x is in several packages, and this one only names them.
  packages=$(apt-cache "${apt[@]}" depends "$image" |
    sed -n 's/^ *Depends: \(linux-\(base\|binary\|modules\)-[0-9].*\)$/\1/p')
  apt-get "${apt[@]}" install --download-only --yes --quiet=2 --no-install-recommends iproute2 busybox-static > /dev/null
  # shellcheck disable=SC2086 # A word for each package.
  (cd "$new/cache/archives" && apt-get "${apt[@]}" download --quiet=2 "$image" $packages)
  for package in "$new"/cache/archives/*.deb; do dpkg -x "$package" "$new/root"; done
  rm -r "$new"/{state,cache,sources.list}
  mv "$new" "$folder"
}

get trixie 6.12
get unstable 7.x
