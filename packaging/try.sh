#!/usr/bin/env bash
# Installs what `make packages` built on bare Debian systems, uses it as its users do, and removes it again.
#
#   packaging/try.sh [debian|systemd|wheel|archive|static|container...]     all of them unless named
#
# SUITE names the release of Debian (bookworm). It needs root, mmdebstrap and, for the container, buildah. It fetches
# Debian's packages the first time, and target/dist/try keeps them.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=${SUITE:-bookworm}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
machine=$(uname -m)
static=dist/quell-$version-$machine-unknown-linux-musl.tar.gz
base=$PWD/target/dist/try/$suite.tar
root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT

say() { echo "try: $*" >&2; }
# Runs a script in the system that is tried, in namespaces of its own: without network, and /proc ends with it.
inside() {
  unshare --mount --pid --fork --net --mount-proc="$root/proc" chroot "$root" /usr/bin/env -i \
    PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 /bin/bash -euo pipefail -c "$1"
}

bare() {
  if [ ! -f "$base" ]; then
    mkdir -p "${base%/*}"
    # The compiler and pkg-config for C programs, Python for the wheel: what their users have.
    mmdebstrap --quiet --variant=apt --format=tar "$suite" "$base.new" \
      --include=gcc,libc6-dev,pkg-config,man-db,bash-completion,python3,python3-venv,nftables
    mv "$base.new" "$base"
  fi
  rm -rf --one-file-system "${root:?}"/*
  tar -C "$root" --exclude=./dev/* -xf "$base"
  mkdir -p "$root/proc"
  [ -c "$root/dev/null" ] || mknod -m 666 "$root/dev/null" c 1 3
  [ -c "$root/dev/urandom" ] || mknod -m 666 "$root/dev/urandom" c 1 9
  mkdir "$root/try"
  cp scenarios/dumbbell.toml crates/gateway/dist/gateway.toml "$root/try"
}

try_debian() {
  say "Debian packages: $suite, installed, used, removed, purged"
  bare
  cp dist/*.deb "$root/try"
  inside '
    cd /try
    dpkg --get-selections > before
    find / -xdev -path /proc -prune -o -path /try -prune -o -type f -print | sort > files-before
    dpkg -i ./*.deb > said 2>&1 || { cat said; exit 1; }
    # The notices of a crate, of the standard library, and of the page.
    for found in quell:snap quell:preact quell-gateway:libc libquell0:libm libquell-dev:libm; do
      folder=/usr/share/doc/${found%:*}
      zcat "$folder/THIRD-PARTY.gz" > said
      grep -q "^${found#*:} [0-9]" said
      grep -q "Rust Standard Library" said
      grep -q THIRD-PARTY.gz "$folder/copyright"
    done
    # A program that is built against this library needs this build of it, or a later one.
    built=$(dpkg-query -W -f "\${Version}" libquell0)
    grep -qxF "libquell 0 libquell0 (>= $built)" /var/lib/dpkg/info/libquell0*.shlibs
    quell --version
    quell run dumbbell.toml --seeds 2 --set "duration=\"5 s\"" --set "warmup=\"1 s\"" --quiet > said
    grep -q "red" said
    test -s results/dumbbell/report.html
    man -w quell quell-run quell-gateway quell-gateway-run > /dev/null
    man --warnings quell-run 2>&1 > said | { ! grep . ; }
    grep -q -e --overwrite said
    source /usr/share/bash-completion/bash_completion
    _completion_loader quell || [ $? = 124 ]
    COMP_WORDS=(quell conf) COMP_CWORD=1
    _quell quell conf quell
    [ "${COMPREPLY[*]}" = conformance ]
    quell-gateway --version
    quell-gateway --help > /dev/null
    cp /usr/share/doc/quell-gateway/examples/gateway.toml .
    sed -i "s/^wan = .*/wan = \"lo\"/" gateway.toml
    # The configuration is right, even where the kernel lacks what the rules need.
    quell-gateway check --config gateway.toml > said 2>&1 || grep -q "the firewall does not take the rules" said
    grep -q "up: codel at 18 Mbit/s" said
    sed -i "s/^ecn = /ecm = /" gateway.toml
    code=0
    quell-gateway check --config gateway.toml > said 2>&1 || code=$?
    [ $code = 2 ]
    grep -q ecm said
    # A line as in docs/c.md, against the shared and against the static library.
    for how in "" --static; do
      flags=$(pkg-config $how --cflags --libs libquell)
      [ -z "$how" ] || flags=${flags/-lquell/-l:libquell.a}
      gcc -std=c99 -Wall -Wextra -Werror /usr/share/doc/libquell-dev/examples/event_loop.c -o event_loop $flags
      ./event_loop "[aqm]" "algorithm = \"pie\"" > said
      grep -q "arrived 50000" said
      ldd ./event_loop > said
      if [ -z "$how" ]; then grep -q libquell.so.0 said; elif grep libquell said; then exit 1; fi
    done
    mkdir -p /var/log/quell
    touch /var/log/quell/log
    dpkg --remove quell quell-gateway libquell-dev libquell0 > said
    dpkg --purge quell quell-gateway libquell-dev libquell0 > said 2>&1
    dpkg --get-selections | diff before -
    [ ! -e /var/log/quell ]
    # Nothing is left but what dpkg, man and the simulator themselves keep.
    find / -xdev -path /proc -prune -o -path /try -prune -o -type f -print | sort | comm -13 files-before - |
      { ! grep -v -e ^/var/cache/ -e ^/var/lib/dpkg/ -e ^/var/log/ -e ^/root/.cache/ -e ^/etc/ld.so.cache ; }
  '
}

# The scripts of the gateway's package where systemd runs. A stand-in for systemctl writes down what it is told, and
# fails if a file says so. deb-systemd-helper and deb-systemd-invoke are Debian's.
try_systemd() {
  say "the gateway's package with systemd: installed, updated, refused, removed, purged"
  bare
  cp dist/quell-gateway_*.deb "$root/try"
  cat > "$root/usr/bin/systemctl" << 'END'
#!/bin/sh
echo "$*" >> /try/told
case " $* " in
  *" try-restart "* | *" stop "* | *" daemon-reload "*) [ ! -e /try/refuses ] ;;
esac
END
  # And one for the gateway, whose clean-up removes a journal unless its gateway runs.
  cat > "$root/try/gateway" << 'END'
#!/bin/sh
echo "gateway $*" >> /try/told
case $* in
  "clean --id=hand") echo "gateway hand is running" >&2; exit 1 ;;
  "clean --id="*) rm "/run/quell/${2#--id=}.json" ;;
  *) exit 2 ;;
esac
END
  chmod 755 "$root/usr/bin/systemctl" "$root/try/gateway"
  inside '
    cd /try
    mkdir -p /run/systemd/system
    told() { grep -e "$1" told > /dev/null || { echo "systemctl was not told to $1:"; cat told; exit 1; }; }
    not_told() { if grep -e "$1" told; then exit 1; fi; }
    status() { dpkg-query -W -f "\${db:Status-Abbrev}" quell-gateway; }
    link=/etc/systemd/system/multi-user.target.wants/quell-gateway.service
    : > told
    dpkg -i ./*.deb > said 2>&1 || { cat said; exit 1; }
    told daemon-reload
    # It has no configuration yet.
    not_told start
    [ ! -e $link ]
    # What systemctl enable does.
    mkdir -p "${link%/*}"
    ln -s /usr/lib/systemd/system/quell-gateway.service $link
    : > told
    dpkg -i ./*.deb > said 2>&1
    told "try-restart quell-gateway.service"
    not_told stop
    touch refuses
    dpkg -i ./*.deb > said 2>&1 || { cat said; exit 1; }
    [ "$(status)" = "ii " ]
    grep -q "did not start again" said
    # Two gateways were killed, and one that was started by hand still runs.
    mkdir -p /run/quell /var/log/quell
    touch /run/quell/first.json /run/quell/second.json /run/quell/hand.json /run/quell/hand.lock
    cp /try/gateway /usr/bin/quell-gateway
    : > told
    dpkg --remove quell-gateway > said 2>&1 || { cat said; exit 1; }
    told "stop quell-gateway.service"
    for id in first second hand; do told "^gateway clean --id=$id$"; done
    grep -q "gateway hand is running" said
    [ "$(ls /run/quell)" = "$(printf "hand.json\nhand.lock")" ]
    # Without a journal there is nothing to clean.
    rm /run/quell/hand.json
    dpkg -i ./*.deb > said 2>&1 || { cat said; exit 1; }
    cp /try/gateway /usr/bin/quell-gateway
    : > told
    dpkg --remove quell-gateway > said 2>&1 || { cat said; exit 1; }
    not_told "^gateway"
    [ ! -e /run/quell ]
    [ -d /var/log/quell ]
    [ -L $link ]
    dpkg --purge quell-gateway > said 2>&1
    [ ! -e /var/log/quell ]
    [ ! -L $link ]
    find /var/lib/systemd -name "*quell*" | { ! grep . ; }
  '
}

try_wheel() {
  say "the wheel: Python of $suite, from pip to a comparison"
  bare
  cp dist/quell-*.whl "$root/try"
  inside '
    cd /try
    python3 -m venv env
    begun=$(cut -d " " -f 1 /proc/uptime)
    TIMEFORMAT="try: pip, a comparison and its report take %U s of CPU and %S s of the system, %R s in all"
    time {
      env/bin/pip install --quiet --no-index --disable-pip-version-check ./quell-*.whl
      env/bin/quell run dumbbell.toml --seeds 3 --quiet > said
      env/bin/quell compare dumbbell.toml --seeds 3 --baseline red --quiet > said
    }
    grep -q baseline said
    env/bin/quell --version
    notices=$(echo env/lib/python3*/site-packages/quell-*.dist-info/licenses/THIRD-PARTY.txt)
    grep -q "^snap [0-9]" "$notices"
    grep -q "^preact [0-9]" "$notices"
    grep -q "Rust Standard Library" "$notices"
    env/bin/python -c "
import pathlib, pydoc, quell
text = pydoc.plain(pydoc.render_doc(quell.run))
assert \">>> \" in text, text
assert (pathlib.Path(quell.__file__).parent / \"py.typed\").exists()
print(quell.run(\"dumbbell.toml\", seeds=1).table())
" > said
    env/bin/quell lab --no-open --port 8765 > served 2>&1 &
    lab=$!
    env/bin/python -c "
import time, urllib.request
import fcntl, socket, struct
# The loopback device of new namespaces is down.
with socket.socket() as s:
    fcntl.ioctl(s, 0x8914, struct.pack(\"16sh14x\", b\"lo\", 0x41))
for _ in range(50):
    words = [word.strip(\".,()\") for word in open(\"served\").read().split()]
    urls = [word for word in words if word.startswith(\"http\")]
    if urls:
        break
    time.sleep(0.1)
page = urllib.request.urlopen(urls[0]).read().decode()
assert \"<script\" in page, page
"
    kill $lab
  '
}

try_archive() {
  say "the archives: the command, and the laboratory on a file server"
  bare
  cp "dist/quell-$version-$machine-unknown-linux-gnu.tar.gz" "$root/try/command.tar.gz"
  cp "dist/quell-lab-$version.tar.gz" "$root/try/lab.tar.gz"
  inside '
    cd /try
    mkdir command lab
    tar --strip-components=1 -C command -xzf command.tar.gz
    tar --strip-components=1 -C lab -xzf lab.tar.gz
    command/quell run dumbbell.toml --seeds 2 --quiet > said
    grep -q red said
    man --warnings command/share/man/man1/quell-run.1 > said 2>&1
    grep -q -e --overwrite said
    grep -q "^snap [0-9]" command/THIRD-PARTY.txt
    grep -q "^preact [0-9]" command/THIRD-PARTY.txt
    [ -s command/LICENSE-MIT ]
    [ -s command/LICENSE-APACHE ]
    # The page links to its notices, and every other file that it names is there.
    grep -q "^preact [0-9]" lab/licenses.txt
    grep -q "^libm [0-9]" lab/licenses.txt
    grep -o "\(href\|src\)=\"[^\"#:]*\"" lab/index.html | cut -d "\"" -f 2 > names
    grep -q licenses.txt names
    grep -q wasm names
    while IFS= read -r name; do [ -s "lab/$name" ] || { echo "the page has no $name"; exit 1; }; done < names
    find command lab ! -perm -u=r,g=r,o=r | { ! grep . ; }
  '
}

try_static() {
  say "the static command: in a folder without anything else"
  rm -rf --one-file-system "${root:?}"/*
  tar -C "$root" --strip-components=1 -xzf "$static"
  cp scenarios/dumbbell.toml "$root"
  mkdir "$root/tmp"
  grep -q '^snap [0-9]' "$root/THIRD-PARTY.txt"
  grep -q '^musl, the C library' "$root/THIRD-PARTY.txt"
  alone() { env -i "$(command -v chroot)" "$root" "$@"; }
  alone /quell --version
  alone /quell run dumbbell.toml --seeds 2 --quiet > "$root/said"
  grep -q red "$root/said"
  [ -s "$root/results/dumbbell/report.html" ]
  alone /quell-gateway --version
}

# The image of packaging/Containerfile, whose last stage runs it.
try_container() {
  say "the container: built of the static command, and run"
  rm -rf --one-file-system "${root:?}"/*
  mkdir "$root/context"
  cp "$static" "$root/context/quell.tar.gz"
  cp scenarios/dumbbell.toml "$root/context"
  buildah --root "$root/storage" --runroot "$root/run" --storage-driver vfs build --quiet --isolation chroot \
    --target test --file packaging/Containerfile "$root/context" > "$root/said" 2>&1 || { cat "$root/said"; exit 1; }
}

wanted=("$@")
[ $# -gt 0 ] || wanted=(debian systemd wheel archive static container)
for part in "${wanted[@]}"; do
  case $part in
    debian | systemd | wheel | archive | static | container) "try_$part" ;;
    *) say "there is no part $part: debian, systemd, wheel, archive, static, container"; exit 2 ;;
  esac
done
say "all of it works"
