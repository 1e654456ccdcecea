#!/usr/bin/env bash
# Gets what boot.py boots, as far as it is missing: Debian's kernels 6.1, 6.12 and 7.x for clouds, with the tc of their
# releases, unpacked into target/kernel, and QEMU, by Debian's package where root may install it. No kernel of Debian's
# has dualpi2, so its module is built for 7.x, of Debian's source with Debian's compiler. The lists of packages are kept
# in target/kernel too: nothing else of the system changes. It is a download of 500 MB.
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
  export DEBIAN_FRONTEND=noninteractive
  qemu() { apt-get install --yes --quiet=2 --no-install-recommends qemu-system-x86 > /dev/null; }
  qemu || { apt-get update --quiet=2 && qemu; }
fi

# The mirror that this machine has its packages from.
mirror() { apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' | sed -n 's/^Debian Debian //p' | head -n 1; }

# Builds a module of a kernel's own source: build FOLDER IMAGE MODULE. Uses what `get` has set. The compiler and what it
# needs are of the kernel's release, and run with that as their whole file system, in name spaces of their own.
build() {
  local root=$1/build version=${2#linux-image-} module=$3 source folder modules
  modules=$1/root/usr/lib/modules/$version/kernel/net/sched
  source=linux-source-$(cut -d . -f 1,2 <<< "$version")
  rm "$1"/cache/archives/*.deb
  apt-get "${apt[@]}" install --download-only --yes --quiet=2 --no-install-recommends \
    "linux-headers-$version" make dash coreutils sed grep gawk findutils > /dev/null
  for package in "$1"/cache/archives/*.deb; do dpkg -x "$package" "$root"; done
  (cd "$1" && apt-get "${apt[@]}" download --quiet=2 "$source" && dpkg -x "$source"_*.deb source)
  mkdir -p "$root"/{dev,proc,tmp,module}
  tar xf "$1/source/usr/src/$source.tar.xz" -C "$root/module" --strip-components 3 "$source/net/sched/$module.c"
  echo "obj-m := $module.o" > "$root/module/Makefile"
  for folder in bin sbin lib lib64; do [ -e "$root/$folder" ] || ln -s "usr/$folder" "$root/$folder"; done
  ln -sf gawk "$root/usr/bin/awk"
  # shellcheck disable=SC2016 # The inner shell's.
  unshare --map-root-user --mount bash -euc '
    mount --rbind /dev "$1/dev"
    mount --rbind /proc "$1/proc"
    exec chroot "$1" /usr/bin/env -i PATH=/usr/bin make --silent -C "/usr/src/linux-headers-$2" M=/module modules
  ' build "$root" "$version"
  xz --check=crc32 --stdout "$root/module/$module.ko" > "$modules/$module.ko.xz"
  rm -r "$root" "$1/source" "$1/$source"_*.deb
}

# Unpacks the newest kernel whose name begins so, of a release of Debian, with its tc: get RELEASE KERNEL, and a module
# to build.
get() {
  local release=$1 kernel=$2 module=${3:-} target=$FOLDER/$2 new=$FOLDER/$2.new uri image packages folder
  if [ -d "$target" ]; then return; fi
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
  # The packages of bookworm have folders beside usr, and later ones have them in it.
  for folder in bin sbin lib lib64; do
    if [ -d "$new/root/$folder" ]; then
      mkdir -p "$new/root/usr/$folder"
      cp -a "$new/root/$folder/." "$new/root/usr/$folder"
      rm -r "${new:?}/root/$folder"
    fi
  done
  ln -sf ../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 "$new/root/usr/lib64/ld-linux-x86-64.so.2"
  if [ -n "$module" ]; then build "$new" "$image" "$module"; fi
  rm -r "$new"/{state,cache,sources.list}
  mv "$new" "$target"
}

get bookworm 6.1
get trixie 6.12
get unstable 7.x sch_dualpi2
