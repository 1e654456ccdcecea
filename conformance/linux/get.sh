#!/usr/bin/env bash
# Gets the kernel's source that kernel.py is run on, as far as it is missing: on Debian, the files that it needs of the
# newest linux-source package, into target/linux-source. Nothing of the system changes. It is a download of 140 MB.
set -euo pipefail
cd "$(dirname "$0")/../.."

FOLDER=$PWD/target/linux-source
for source in "$FOLDER" /usr/src; do
  for there in "$source"/linux-source-*; do if [ -e "$there" ]; then exit 0; fi; done
done

command -v apt-get > /dev/null || {
  echo "linux: this is not Debian, whose package linux-source would do" >&2
  exit 1
}
[ -n "$(apt-cache show linux-source 2> /dev/null)" ] || apt-get update --quiet=2
package=$(apt-cache depends linux-source | sed -n 's/^ *Depends: \(linux-source-[0-9.]*\)$/\1/p' | head -n 1)
[ -n "$package" ] || {
  echo "linux: the package linux-source does not say which version it is" >&2
  exit 1
}
unpacked=$FOLDER.new
rm -rf "$unpacked"
mkdir -p "$unpacked"
(cd "$unpacked" && apt-get download --quiet=2 -o APT::Sandbox::User=root "$package" && \
  dpkg --fsys-tarfile ./*.deb | tar x --wildcards './usr/src/*.tar.xz' && \
  tar xf ./usr/src/*.tar.xz --wildcards \
    "$package"/Makefile "$package"/include/net/'*.h' "$package"/net/sched/'sch_*.c' && \
  rm -r ./*.deb usr)
rm -rf "$FOLDER"
mv "$unpacked" "$FOLDER"
