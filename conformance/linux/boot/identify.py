"""Transfers through queues of a Linux kernel in QEMU, captured at their sender, for `quell identify`.

    python3 conformance/linux/boot/identify.py FOLDER          # every queue
    python3 conformance/linux/boot/identify.py FOLDER pie      # those whose name has this in it

The guest is a router with two devices. Behind htb at 8 Mbit/s it has a queue discipline, and netem on the way back. This
machine is the hosts: three transfers of CUBIC from one network namespace to another, which begin four seconds after each
other. The captures are headers only. It needs root, get.sh's kernel 6.12, iperf3 and tcpdump.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import boot

RATE, DELAY_MS, SECONDS = "8mbit", 30, 28
# The truth: a name, what tc is given below htb.
QUEUES = {
    "drop-tail-60ms": "bfifo limit 60000",
    "drop-tail-200ms": "pfifo limit 132",
    "codel-5ms": "codel noecn",
    "codel-20ms": "codel target 20ms interval 400ms noecn",
    "fq-codel-5ms": "fq_codel noecn",
    "pie-15ms": "pie noecn",
    "pie-40ms": "pie target 40ms noecn",
    "red": "red limit 400000 min 15000 max 45000 avpkt 1000 burst 25 adaptive bandwidth 8mbit",
    "cake": "cake unlimited besteffort",
    "random-loss": "",
    "policer": "",
}

GUEST = """#!/bin/busybox sh
/bin/busybox mkdir -p /bin /proc /sys /dev
/bin/busybox --install -s /bin
tc() {{ /usr/sbin/tc "$@"; }}
ip() {{ /usr/sbin/ip "$@"; }}
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for module in virtio_pci virtio_net sch_htb sch_netem; do modprobe $module; done
ip link set lo up
ip addr add 10.77.1.1/24 dev eth0
ip addr add 10.77.2.1/24 dev eth1
ip link set eth0 up
ip link set eth1 up
echo 1 > /proc/sys/net/ipv4/ip_forward
tc qdisc add dev eth0 root netem delay {delay}ms limit 10000
{cases}
poweroff -f
"""

CASE = """tc qdisc del dev eth1 root 2> /dev/null
{lines}
echo "CASE {name}"
sleep {length}
tc -s qdisc show dev eth1
"""


def lines(name: str, queue: str) -> str:
    """The lines of tc of a case."""
    if name == "random-loss":
        return "tc qdisc add dev eth1 root netem loss 1% limit 10000"
    if name == "policer":
        return (
            "tc qdisc del dev eth0 ingress 2> /dev/null; tc qdisc add dev eth0 ingress\n"
            f"tc filter add dev eth0 ingress matchall action police rate {RATE} burst 60000 conform-exceed drop"
        )
    return (
        "tc qdisc add dev eth1 root handle 1: htb default 1\n"
        f"tc class add dev eth1 parent 1: classid 1:1 htb rate {RATE} burst 1600 cburst 1600\n"
        f"tc qdisc add dev eth1 parent 1:1 {queue}"
    )


def run(*words: str) -> None:
    """Runs a command that must succeed."""
    subprocess.run(words, check=True)


def traffic(name: str, folder: Path) -> None:
    """Three transfers, captured."""
    at_sender = ["ip", "netns", "exec", "idA"]
    capture = [*at_sender, "tcpdump", "-i", "idtapA", "-s", "96", "-w", str(folder / f"{name}.pcap"), "tcp"]
    watching = subprocess.Popen(capture, stderr=subprocess.DEVNULL)
    time.sleep(1)
    transfers = []
    for i in range(3):
        client = ["iperf3", "-c", "10.77.2.2", "-p", str(5301 + i), "-C", "cubic", "-t", str(SECONDS - 4 * i)]
        transfers.append(subprocess.Popen([*at_sender, *client], stdout=subprocess.DEVNULL))
        time.sleep(4)
    for transfer in transfers:
        transfer.wait()
    watching.terminate()
    watching.wait()


def main() -> int:
    """Boots the router, and captures each case."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    chosen = {name: queue for name, queue in QUEUES.items() if only in name}
    boot.KERNELS = Path(os.environ.get("KERNELS", boot.KERNELS))
    boot.MODULES = re.compile(r"sch_.*|cls_.*|act_.*|virtio.*|net_failover|failover")
    kernel = boot.Kernel("6.12")
    cases = "".join(CASE.format(name=n, lines=lines(n, q), length=SECONDS + 8) for n, q in chosen.items())
    servers: list[subprocess.Popen[bytes]] = []
    try:
        for end, net in (("A", 1), ("B", 2)):
            run("ip", "netns", "add", f"id{end}")
            run("ip", "tuntap", "add", "dev", f"idtap{end}", "mode", "tap")
        with tempfile.TemporaryDirectory() as scratch:
            guest = Path(scratch) / "guest.sh"
            guest.write_text(GUEST.format(delay=DELAY_MS, cases=cases))
            boot.HERE = Path(scratch)
            (Path(scratch) / "initrd").write_bytes(boot.file_system(kernel, [], False))
            command = [boot.QEMU, "-accel", "tcg", "-cpu", "qemu64", "-m", "512M", "-no-reboot", "-nodefaults"]
            command += ["-display", "none", "-kernel", str(kernel.image), "-initrd", f"{scratch}/initrd"]
            command += ["-append", "console=ttyS0 quiet panic=-1 ipv6.disable=1 no_timer_check", "-serial", "stdio"]
            for end in "AB":
                command += ["-netdev", f"tap,id=n{end},ifname=idtap{end},script=no,downscript=no,vhost=off"]
                command += ["-device", f"virtio-net-pci,netdev=n{end},romfile="]
            machine = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            time.sleep(2)
            for end, net in (("A", 1), ("B", 2)):
                inside = ["ip", "-n", f"id{end}"]
                run("ip", "link", "set", f"idtap{end}", "netns", f"id{end}")
                run(*inside, "link", "set", "lo", "up")
                run(*inside, "link", "set", f"idtap{end}", "up")
                run(*inside, "addr", "add", f"10.77.{net}.2/24", "dev", f"idtap{end}")
                run(*inside, "route", "add", "default", "via", f"10.77.{net}.1")
            for i in range(3):
                server = ["ip", "netns", "exec", "idB", "iperf3", "-s", "-p", str(5301 + i)]
                servers.append(subprocess.Popen(server, stdout=subprocess.DEVNULL))
            assert machine.stdout
            for line in machine.stdout:
                print(line, end="", flush=True)
                if found := re.match(r"CASE (\S+)", line):
                    traffic(found[1], folder)
            return machine.wait()
    finally:
        for server in servers:
            server.kill()
        for end in "AB":
            subprocess.run(["ip", "netns", "del", f"id{end}"], check=False)


if __name__ == "__main__":
    sys.exit(main())
