#!/bin/busybox sh
# The first program of the guest that boot.py boots: it tries each case, sends what was seen over the second serial line,
# and turns the machine off. The console is the first one, where the kernel may say what it likes.

/bin/busybox mkdir -p /bin /proc /sys /dev /seen
/bin/busybox --install -s /bin
# This shell has a tc and an ip of its own, which it prefers to every other but a function.
tc() { /usr/sbin/tc "$@"; }
ip() { /usr/sbin/ip "$@"; }
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
ip link set lo up

# A device with a peer: what is sent to 10.0.0.2 leaves by eth0, and what is sent to 10.0.9.2 comes in by it. Nobody
# answers.
fresh() {
  ip -force -batch - << END
link del eth0
link del ifb4eth0
link add eth0 type veth peer name peer0
link set eth0 up
link set peer0 up
END
}

addresses() {
  ip -batch - << END
addr add 10.0.0.1/24 dev eth0
addr add 10.0.9.1/24 dev peer0
neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev eth0
neigh add 10.0.9.2 lladdr 02:00:00:00:09:02 dev peer0
END
}

for case in /cases/*; do
  name=${case##*/}
  mkdir "/seen/$name"
  cd "/seen/$name" || exit
  fresh 2> /dev/null
  # shellcheck disable=SC1091 # Of boot.py.
  (. "$case/lines" && { [ ! -e "$case/again" ] || . "$case/lines"; }) 2> stderr
  echo $? > status
  if [ -e "$case/traffic" ]; then
    addresses
    for to in 10.0.0.2 10.0.9.2; do ping -q -c 40 -i 0.01 -s 1400 -W 1 "$to" > /dev/null & done
    wait
  fi
  printf 'qdisc show\nclass show dev eth0\n' > shows
  tc -s -d -batch shows > text
  tc -s -d -j -batch shows > json
  # On the console, so that one sees where it stopped.
  read -r uptime _ < /proc/uptime
  echo "$uptime $name"
done

cd /seen || exit
uname -r > kernel
tc -V > tc
tar cz -f /seen.tgz .
stty -F /dev/ttyS1 raw
{
  base64 /seen.tgz
  sha256sum < /seen.tgz
} > /dev/ttyS1
poweroff -f
