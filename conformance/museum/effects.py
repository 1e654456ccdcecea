"""What each exhibit does to results: a small simulation of its own, right and wrong beside each other.

    python3 conformance/museum/effects.py [quell] > table.md

Twenty AIMD senders (one halving per round trip, no timeouts) with a round-trip time of 80 ms share 10 Mbit/s
for 60 s, packets of 1000 bytes, a buffer of 150 packets; two seconds of every ten they are silent. Before DualPI2
every other one says ECT(1), and half a packet less is its answer to each mark. It is not Quell's simulator and has
no TCP: the figures say which way a bug goes and how far, not what a network would see. CAKE is left out.
Parameters are those of the vectors, which the program `quell` is asked for.
"""

import functools
import heapq
import json
import random
import subprocess
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent)]
sys.dont_write_bytecode = True

from museum import EXHIBITS  # noqa: E402, I001  (it says where adaptor.py is)
import adaptor  # noqa: E402

RATE, RTT, SIZE, SENDERS, END = 10_000_000, 80_000_000, 1000, 20, 60_000_000_000
SILENT = (8_000_000_000, 10_000_000_000)
ECN = {"ce-is-marked-again", "pie-braces", "pie-ignores-ecn"}


class Chance(adaptor.Draws):
    def __init__(self, seed):
        super().__init__()
        self.random = random.Random(seed)

    def chance(self, p):
        return p > 0.0 and self.random.random() < p


class Sender:
    def __init__(self, ecn):
        self.cwnd, self.flying, self.next, self.recover, self.slow = 2.0, 0, 0, 0, True
        self.ecn = ecn


@functools.cache
def vector(algorithm):
    quell = sys.argv[1] if len(sys.argv) > 1 else "quell"
    show = [quell, "conformance", "show", f"{algorithm}/drops"]
    try:
        return subprocess.run(show, check=True, capture_output=True, text=True).stdout
    except OSError as e:
        sys.exit(f"effects: {quell} cannot be run: {e.strerror}; name the program: python3 {sys.argv[0]} PATH/TO/quell")
    except subprocess.CalledProcessError as e:
        sys.exit(f"effects: {' '.join(show)}: exit status {e.returncode}: {e.stderr.strip()}")


def header(algorithm, ecn):
    first = json.loads(vector(algorithm).splitlines()[0])
    first["link"] = {"rate_bps": RATE, "buffer": {"packets": 150}, "mean_packet_bytes": SIZE}
    return {**first, "ecn": ecn}


def interval(queue):
    p = queue.params
    if queue.NAME == "pie":
        return round(p["update_interval"] * 1e9)
    if queue.NAME == "pi":
        return round(1e9 / p["sampling_rate"])
    if queue.NAME == "dualpi2":
        return round(1e9 * (p["update_interval"] or min(p["target"], p["rtt_max"] / 3)))
    return round(p["interval"] * 1e9) if queue.NAME == "ared" else None


def codepoint(cls, who, ecn):
    if cls.NAME == "dualpi2" and who % 2 == 1:
        return "ect1"
    return "ect0" if ecn else "notect"


def silent(now):
    return SILENT[0] <= now % SILENT[1]


def simulate(cls, ecn, seed=1):
    queue = cls(header(cls.NAME, ecn))
    queue.draws = Chance(seed)
    senders = [Sender(codepoint(cls, who, ecn)) for who in range(SENDERS)]
    events, order = [], 0
    packets, delays, sent, lost, marks, arrived = {}, [], 0, 0, 0, 0
    busy = False
    transmission = SIZE * 8 * 1_000_000_000 // RATE

    def at(time, what, value):
        nonlocal order
        order += 1
        heapq.heappush(events, (time, order, what, value))

    def signal(now, who, number, scalable):
        sender = senders[who]
        sender.slow = False
        if scalable:
            sender.cwnd = max(1.0, sender.cwnd - 0.5)
        elif number >= sender.recover:
            sender.cwnd, sender.recover = max(1.0, sender.cwnd / 2), sender.next

    def serve(now):
        nonlocal busy, sent, lost, marks
        given = queue.dequeue(now)
        for number in given["dropped"]:
            lost += 1
            at(now + RTT, "lost", packets.pop(number))
        busy = given.get("sent") is not None
        if busy:
            who, number, came, marked = packets.pop(given["sent"])
            marked = marked or given["marked"]
            marks += given["marked"]
            delays.append(now - came)
            sent += 1
            at(now + transmission, "free", None)
            at(now + transmission + RTT, "ack", (who, number, marked))

    def send(now, who):
        nonlocal arrived, lost, marks
        sender = senders[who]
        while sender.flying < int(sender.cwnd) and not silent(now):
            packet = {"id": arrived, "bytes": SIZE, "flow": who, "ecn": sender.ecn}
            arrived += 1
            entry = (who, sender.next, now, False)
            sender.next += 1
            sender.flying += 1
            verdict = queue.enqueue(now, packet)["verdict"]
            marks += verdict == "marked"
            if verdict == "dropped":
                lost += 1
                at(now + RTT, "lost", entry)
            else:
                packets[packet["id"]] = (*entry[:3], verdict == "marked")
                if not busy:
                    serve(now)

    for who in range(SENDERS):
        at(who * 7_000_000, "start", who)
    tick = interval(queue)
    if tick:
        at(tick, "update", None)
    for k in range(1, END // SILENT[1]):
        for who in range(SENDERS):
            at(k * SILENT[1] + who * 1_000_000, "start", who)
    while events and events[0][0] < END:
        now, _, what, value = heapq.heappop(events)
        if what == "update":
            queue.on_update(now)
            at(now + tick, "update", None)
        elif what == "free":
            serve(now)
        elif what == "start":
            send(now, value)
        else:
            who, number = value[0], value[1]
            senders[who].flying -= 1
            if what == "lost" or value[2]:
                signal(now, who, number, what != "lost" and senders[who].ecn == "ect1")
            else:
                sender = senders[who]
                sender.cwnd += 1.0 if sender.slow else 1.0 / sender.cwnd
            send(now, who)
    delays.sort()
    share = (SILENT[0]) / SILENT[1]
    return {
        "mean": sum(delays) / len(delays) / 1e6,
        "p99": delays[len(delays) * 99 // 100] / 1e6,
        "use": 100 * sent * transmission / END / share,
        "loss": 100 * lost / arrived,
        "marks": 100 * marks / arrived,
    }


def row(figures):
    digits = {"mean": 1, "p99": 0, "use": 1, "loss": 2, "marks": 2}
    return " | ".join(f"{figures[name]:.{n}f}" for name, n in digits.items())


def main():
    print("| exhibit | | mean delay, ms | P99, ms | use of the link, % | lost, % | marked, % |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    right = {}
    for name, cls in EXHIBITS.items():
        # Its exhibits are of shapers, tins and hosts, which the senders here have not.
        if cls.NAME == "cake":
            continue
        ecn = name in ECN or cls.NAME == "dualpi2"
        key = (cls.NAME, ecn)
        if key not in right:
            right[key] = simulate(adaptor.ALGORITHMS[cls.NAME], ecn)
        print(f"| {name} | right | {row(right[key])} |")
        print(f"| | wrong | {row(simulate(cls, ecn))} |", flush=True)


if __name__ == "__main__":
    main()
