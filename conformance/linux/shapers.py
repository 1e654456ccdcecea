"""Holds Quell's shapers and trees against Linux's tbf and htb, in virtual time.

Both get the same arrivals: Linux's code as kernel.py cuts it out of the source, with shaper_stand_ins.h before and
shaper_glue.c behind it, and Quell's as crates/queue/examples/shapers.rs. Both write what leaves, and when.

- tbf: each departure at the same nanosecond, and the same drops. Where a byte does not take whole nanoseconds at the
  rate, Linux cuts a packet's time, and is earlier by less than a nanosecond per packet and bucket.
- htb: each departure at the same nanosecond, and the same drops, where times are whole. Otherwise the order is the same
  until a nanosecond decides a turn, which is thousands of packets. The first 1000 are compared, and then each class's
  bytes, which must agree within 1%.
"""

from __future__ import annotations

import random
import shlex
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent

PSCHED = {
    "include/net/sch_generic.h": "psched_ratecfg psched_l2t_ns",
    "net/sched/sch_generic.c": "psched_ratecfg_precompute__",
}

CUTS = {
    "tbf": {**PSCHED, "net/sched/sch_tbf.c": "tbf_sched_data tbf_enqueue tbf_peak_present tbf_dequeue"},
    "htb": {
        **PSCHED,
        "net/sched/sch_htb.c": """
            htb_hysteresis htb_cmode htb_prio htb_class htb_level htb_sched HTB_DIRECT htb_add_to_id_tree
            htb_add_to_wait_tree htb_next_rb_node htb_add_class_to_row htb_safe_rb_erase htb_remove_class_from_row
            htb_activate_prios htb_deactivate_prios htb_lowater htb_hiwater htb_class_mode htb_change_class_mode
            htb_activate htb_deactivate htb_enqueue htb_accnt_tokens htb_accnt_ctokens htb_charge_class htb_do_events
            htb_id_find_next_upper htb_lookup_leaf htb_dequeue_tree htb_dequeue""",
    },
}

SECOND = 1_000_000_000
MBIT = 125_000
SAME_ORDER = 1000
JITTERS = 4


@dataclass
class Run:
    """A case: lines that both sides read, and how exact the answers must be."""

    name: str
    lines: list[str]
    # The packets: time, class, bytes.
    packets: list[tuple[int, int, int]]
    # Nanoseconds per packet by which Linux may be early; 0 asks for the same.
    slack: int = 0
    # Classes whose bytes are compared, if departures are not.
    leaves: list[int] = field(default_factory=list)

    def text(self) -> str:
        packets = (f"packet {at} {leaf} {size}" for at, leaf, size in self.packets)
        return "\n".join([*self.lines, *packets, ""])


Event = tuple[str, int, int]


def answers(command: list[str], run: Run) -> list[Event]:
    """What leaves and what is dropped: a word, the time, the packet's number."""
    ran = subprocess.run(command, input=run.text(), capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(f"{run.name}: `{shlex.join(command)}` failed: {ran.stderr.strip()}")
    words = (line.split() for line in ran.stdout.splitlines())
    return [(word, int(at), int(number)) for word, at, number in words]


# ---- Loads. ----


def stream(
    rng: random.Random, leaf: int, load: float, until: float, sizes: list[int], bursts: int = 1
) -> Iterator[tuple[int, int, int]]:
    """Packets of a class at so many bytes per second, with gaps drawn at random, `bursts` of them at a time."""
    at, mean = 0.0, sum(sizes) / len(sizes) * bursts / load
    while (at := at + rng.expovariate(1 / mean)) < until:
        for _ in range(bursts):
            yield round(at * SECOND), leaf, rng.choice(sizes)


def merged(*streams: Iterator[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    return sorted((packet for one in streams for packet in one), key=lambda packet: packet[0])


def whole(rate: int) -> bool:
    """A byte takes whole nanoseconds."""
    return SECOND % rate == 0


def tbf_runs() -> Iterator[Run]:
    rng = random.Random(8312)
    for rate in (MBIT, 1_000_000, 7 * MBIT, 100 * MBIT, 123_457):
        for burst, peak, mtu in ((1600, 0, 0), (10_000, 0, 0), (20_000, 5, 1514), (20_000, 5, 4000)):
            for load in (0.5, 0.97, 3.0):
                peak_rate = peak * rate
                until = min(20.0, 2500 * 900 / (rate * load))
                packets = merged(stream(rng, 0, rate * load, until, [60, 590, 1514, 1514], bursts=3))
                # A pause fills the bucket, and a packet that is too large comes.
                end = packets[-1][0]
                packets += [(end + 10 * SECOND, 0, 20_001), (end + 10 * SECOND, 0, 1514)]
                exact = whole(rate) and (not peak or whole(peak_rate))
                lines = ["link 0 0 0 0", f"shaper {rate} {burst} {peak_rate} {mtu} 30000"]
                name = f"tbf {rate} {burst} {peak_rate} {mtu} at {load}"
                yield Run(name, lines, packets, slack=0 if exact else 2)
    # Overhead and cells of ATM, behind a link that is slower than the peak.
    for layer in ("0 24 0 0", "300 10 64 1"):
        packets = merged(stream(rng, 0, 900_000, 4.0, [40, 576, 1500]))
        yield Run(f"tbf with {layer}", [f"link {layer}", "shaper 1000000 9000 2000000 1800 40000"], packets)


def class_line(
    parent: int, rate: int, ceil: int, prio: int, quantum: int, limit: int, bursts: tuple[int, int] = (8000, 8000)
) -> str:
    burst, cburst = bursts
    return f"class {parent} {rate} {ceil} {burst} {cburst} {prio} {quantum} {limit}"


def htb_runs() -> Iterator[Run]:
    rng = random.Random(1970)
    # The tree of Devera's page: A with two children and B, below a root; rates in bytes per second.
    for unit, byte_ns in ((1_000_000, 0), (1_000_000, 40), (7 * MBIT, 0), (123_457, 0)):
        for a, b, c in (
            (0.0, 2.0, 2.0),
            (2.0, 0.3, 2.0),
            (2.0, 2.0, 2.0),
            (0.6, 0.6, 0.6),
            (0.3, 1.5, 0.0),
            (3, 3, 0.2),
        ):
            for prios in ((0, 0, 0), (0, 1, 2), (2, 1, 0)):
                lines = [
                    f"link {byte_ns} 0 0 0",
                    class_line(-1, unit, unit, 0, 0, 0),
                    class_line(0, unit // 2, unit, 0, 0, 0),
                    class_line(1, unit // 5, unit // 2, prios[0], 3000, 60),
                    class_line(1, unit // 10, unit, prios[1], 1514, 60),
                    class_line(0, unit // 5, unit * 4 // 5, prios[2], 6000, 60),
                ]
                loads = ((2, a), (3, b), (4, c))
                until = (3 if whole(unit) else 10) * 1_000_000 / unit
                streams = (stream(rng, leaf, load * unit, until, [590, 1514], 2) for leaf, load in loads if load)
                name = f"htb {unit} link {byte_ns} loads {a} {b} {c} priorities {prios}"
                yield Run(name, lines, merged(*streams), slack=0 if unit == 1_000_000 else 1, leaves=[2, 3, 4])
    # Overhead and cells of ATM, and packets that no filter classifies.
    for layer in ("0 24 0 0", "10 10 64 1", "0 0 0 0"):
        lines = [
            f"link {layer}",
            class_line(-1, 1_000_000, 1_000_000, 0, 0, 0),
            class_line(0, 500_000, 1_000_000, 0, 3000, 60),
            class_line(0, 250_000, 500_000, 1, 3000, 60),
            "direct 20",
        ]
        loads = ((1, 900_000), (2, 400_000), (3, 300_000))
        packets = merged(*(stream(rng, leaf, load, 4.0, [40, 590, 1514], 3) for leaf, load in loads))
        yield Run(f"htb with {layer}", lines, packets, leaves=[1, 2, 3])
    # Many classes on four levels, which come and go.
    for seed in range(16):
        rng = random.Random(seed)
        unit = 1_000_000
        # Some behind a link that is slower than the bursts, and hardly faster than the tree.
        lines = [f"link {rng.choice((0, 40, 900))} 0 0 0", class_line(-1, unit, unit, 0, 0, 0)]
        inner, leaves = [(0, unit, unit, 1)], []
        while inner:
            parent, rate, above, depth = inner.pop(0)
            for child in range(3):
                number = len(lines) - 1
                # A quarter of the rate at most. What 4 and 5 divide three times still takes whole
                # nanoseconds.
                share = rate // rng.choice((4, 5))
                ceil = rng.choice((above, max(share, above // 2)))
                quantum, bursts = rng.choice((1514, 3000, 9000)), rng.choices((1600, 8000, 40_000), k=2)
                lines.append(class_line(parent, share, ceil, rng.randrange(4), quantum, 40, (bursts[0], bursts[1])))
                if depth < 3 and child:
                    inner.append((number, share, ceil, depth + 1))
                else:
                    leaves.append(number)
        streams = (
            stream(rng, leaf, unit * rng.choice((0.01, 0.1, 0.5)), 3.0, [60, 590, 1514], rng.choice((1, 20)))
            for leaf in leaves
        )
        yield Run(f"htb of {len(leaves)} leaves, {seed}", lines, merged(*streams), leaves=leaves)


# ---- The comparison. ----


def differs(run: Run, linux: list[Event], quell: list[Event]) -> str | None:
    """What is wrong with the departures of a run, if anything is."""
    if not run.slack:
        first = next((pair for pair in zip(linux, quell) if pair[0] != pair[1]), None)
        if first is None and len(linux) == len(quell):
            return None
        return f"{run.name}: Linux: {first and first[0]}, Quell: {first and first[1]}, of {len(linux)}, {len(quell)}"
    if run.leaves:
        for (word, at, number), (other, later, n) in zip(linux[:SAME_ORDER], quell):
            if (word, number) != (other, n) or abs(later - at) > SAME_ORDER * run.slack:
                return f"{run.name}: at first {word} {number} at {at} ns in Linux, {other} {n} at {later} ns in Quell"
        return None
    by_number = [{(word, number): at for word, at, number in events} for events in (linux, quell)]
    if by_number[0].keys() != by_number[1].keys():
        return f"{run.name}: other packets are dropped: {sorted(by_number[0].keys() ^ by_number[1].keys())[:4]}"
    for place, (one, at) in enumerate(by_number[0].items()):
        late = by_number[1][one] - at
        if not 0 <= late <= run.slack * (place + 1):
            return f"{run.name}: {one} leaves {late} ns later than in Linux after {place} packets"
    return None


def jittered(run: Run, seed: int) -> Run:
    """The same with some arrivals a nanosecond later."""
    rng = random.Random(seed)
    packets = sorted(((at + rng.randrange(2), leaf, size) for at, leaf, size in run.packets), key=lambda one: one[0])
    return replace(run, packets=packets)


def bytes_sent(run: Run, events: list[Event]) -> list[int]:
    """Bytes that leave, of each leaf."""
    sent = dict.fromkeys(run.leaves, 0)
    for word, _, number in events:
        if word == "sent":
            _, leaf, size = run.packets[number]
            sent[leaf] += size
    return list(sent.values())


def shares_differ(run: Run, linux: list[str], quell: list[str]) -> str | None:
    """Each class's bytes within 1%, over runs whose arrivals differ by a nanosecond.

    Where priorities are equal, who borrows from whom goes on for a while as it began. Such a nanosecond changes shares
    of Linux's own classes by up to 2% over a run, so several are added up.
    """
    sides = [[0] * len(run.leaves), [0] * len(run.leaves)]
    for seed in range(JITTERS):
        again = jittered(run, seed)
        for side, command in zip(sides, (linux, quell)):
            side[:] = map(sum, zip(side, bytes_sent(again, answers(command, again))))
    for leaf, one, other in zip(run.leaves, *sides):
        if abs(one - other) > one // 100:
            return f"{run.name}: class {leaf} gets {one} bytes in Linux and {other} in Quell"
    return None


def programs(source: Path, folder: Path, unit: Callable[..., str], compiler: list[str]) -> dict[str, list[str]]:
    """Linux's side: a program for each discipline."""
    found = {}
    for kind, cuts in CUTS.items():
        text = folder / f"{kind}.c"
        before = [HERE / "stand_ins.h", HERE / "shaper_stand_ins.h"]
        text.write_text(unit(source, kind, cuts, before, HERE / "shaper_glue.c"))
        program = folder / kind
        flags = ["-std=gnu11", "-O1", "-w", "-fno-strict-aliasing", "-o"]
        subprocess.run([*compiler, *flags, str(program), str(text)], check=True)
        found[kind] = [str(program)]
    return found


def compare(linux: dict[str, list[str]], quell: list[str]) -> tuple[int, list[str]]:
    """How many runs there were, and what is wrong."""
    count, wrong = 0, []
    for run in (*tbf_runs(), *htb_runs()):
        kind = run.name.split()[0]
        difference = differs(run, answers(linux[kind], run), answers(quell, run))
        if run.leaves and run.slack and not difference:
            difference = shares_differ(run, linux[kind], quell)
        count += 1
        wrong += [difference] if difference else []
    return count, wrong
