"""Finds casts that wrap, in the crates that run in a browser, too.

Three kinds count. `step as usize` of 10 s in nanoseconds is 1.4 s where `usize` has 32 bits, as in a browser, and only
there: no test on this machine sees it. `quell_units::index` is what to write instead. And times, bytes and counts that
become a smaller type wrap everywhere: `try_from` is what to write, or a limit that is checked and named in EXCEPTIONS.
And what becomes a signed type of its size (`u64 as i64`) turns negative.

The compiler's types tell such casts from those that fit (`u32 as usize`), so clippy is asked. Numbers of things in
memory (`usize as u32`) do not count: four billion of them fit in no memory that a simulation has. Casts of f64
saturate, `usize` in a browser at 2^32 - 1: those that become an index or a length are of things in memory, or have a
limit that is checked before.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CRATES = "units aqm queue tc tcp names sim traces scenario presets metrics theory analysis view web".split()
LINTS = ("clippy::cast_possible_truncation", "clippy::cast_possible_wrap")
# What cargo runs in place of the compiler: clippy with these lints alone. It also asks the compiler who it is.
DRIVER = f"""\
#!/bin/sh
case " $* " in *" --crate-name "*) set -- "$@" --allow clippy::all {" ".join(f"--warn {lint}" for lint in LINTS)} ;; esac
exec clippy-driver "$@"
"""
# What clippy says of u64, i64, u128 and i128 as usize or isize.
POINTERS = "on targets with 32-bit wide pointers"
POINTERS_RULE = "wraps where usize has 32 bits, as in a browser: use quell_units::index"
SMALLER = re.compile(r"casting `(?P<of>\w+)` to `(?P<to>\w+)`")
SMALLER_RULE = "wraps: use try_from, or name what limits it in EXCEPTIONS of tests/casts.py"
# Casts that lose nothing, or are to lose it: the file, why, and the lines, each of which the file has once.
EXCEPTIONS: dict[str, tuple[str, set[str]]] = {
    "aqm/src/catalog/delay/cobalt.rs": (
        "a root of at most 1 in parts of 2^-32, so that it is at most the interval",
        {
            "t + Duration::from_nanos(((u128::from(interval.nanos()) * u128::from(root)) >> 32) as u64)",
        },
    ),
    "aqm/src/catalog/flow/cake.rs": (
        "of at most MTU; buckets are as many as a hash of 16 bits tells apart; a packet has few bytes, and a window too few "
        "for 2^64 of them a second",
        {
            "(u128::from(bytes) * 1_000_000_000 / u128::from(time.nanos().max(1))) as u64",
            "tin.quantum = tin.threshold.map_or(MTU.get() as i32, quantum);",
            "(threshold.bps() / 8 / 4096).clamp(300, MTU.get()) as i32",
            "quantum: threshold.map_or(MTU.get() as i32, quantum),",
            "self.table.find(hash, |i| counts[i] > 0) as u16",
            "tin.deficit -= wire as i64;",
        },
    ),
    "aqm/src/catalog/flow/fq_codel.rs": (
        "`check_quantum` allows 2^24 B",
        {
            "quantum: self.quantum.get() as i32,",
        },
    ),
    "aqm/src/part/ack_filter.rs": (
        "a difference of numbers that wrap, of which the sign is asked",
        {
            "(b.wrapping_sub(a) as i32) < 0",
        },
    ),
    "queue/src/shaped.rs": (
        "packets in memory",
        {
            "let full = |limit: Limit| !limit.has_room(packets as u32, bytes, size.get());",
            "packets: Packets::new(self.waiting.packets as u32),",
        },
    ),
    "queue/src/tree/mod.rs": (
        "packets in memory",
        {
            "packets: Packets::new(self.waiting.packets as u32),",
        },
    ),
    "queue/src/tree/scheduler.rs": (
        "below LEVELS, 8",
        {
            "level: *level as u8,",
            "in_use[used] = level as u8;",
        },
    ),
    "scenario/src/plan/classes.rs": (
        "below 64; leaves are at most MOST_LEAVES, 255; `draw_flows` refuses more groups",
        {
            "let of = |rule: &Rule| rule.leaf(group, host, dscp as u8);",
            "let leaves = (first..built.len()).map(|leaf| leaf as u8).collect();",
            "Some(number) => Ok(number as u16),",
        },
    ),
    "aqm/src/catalog/red/wred.rs": (
        "a constant, 8",
        {
            "for precedence in 0..CLASSES as u8 {",
            "let all_steps = (0..CLASSES as u8).all(|precedence| step(precedence).is_some());",
            "let mut steps: Vec<Remark> = (0..CLASSES as u8).filter_map(step).collect();",
        },
    ),
    "aqm/src/integer/pi.rs": (
        "clamped before",
        {
            "p.clamp(0, i128::from(ONE62)) as u64",
        },
    ),
    "aqm/src/part/fixed.rs": (
        "compared before; below 2^127",
        {
            "let size = mul_shift_wide(x.abs_diff(y), self.mantissa, self.shift) as i128;",
            "if rounded > u128::from(u64::MAX) { u64::MAX } else { rounded as u64 }",
        },
    ),
    "aqm/src/part/flows.rs": (
        "a mean of values of 64 bits",
        {
            "n => Some(Duration::from_nanos((self.sum / n as u128) as u64)),",
        },
    ),
    "aqm/src/part/per_flow.rs": (
        "`check_quantum` allows 2^24 B",
        {
            "(self.given.quantum.get() as i32, self.given.service == Service::NewFirst);",
            "let quantum = self.given.quantum.get() as i32;",
            "self.rounds.inherit(lane, self.given.quantum.get() as i32, self.given.service == Service::NewFirst);",
        },
    ),
    "queue/src/line.rs": (
        "the smaller of it and the largest; the low half is wanted",
        {
            "Transmitter { ns_per_byte: (ns / rate.bps().max(1) as u128).min(u64::MAX as u128) as u64 }",
            "ns => (Duration::from_nanos(ns).min(Self::LONGEST), time as u32),",
        },
    ),
    "scenario/src/files/arrivals.rs": (
        "`whole` has compared it with its limits",
        {
            "bytes: self.whole(1, 1, u16::MAX.into())? as u16,",
            "dscp: self.whole(6, 0, 63)? as u8,",
        },
    ),
    "scenario/src/plan/flows.rs": (
        "`draw_flows` has counted groups and classes; a rest of a number of 16 bits",
        {
            "group: group as u16,",
            "let class_of = |name: &str| names.iter().position(|c| c == name).unwrap_or(0) as u16;",
            "let source = g.hosts.map_or(0, |n| first_host.saturating_add((number % u64::from(n)) as u16));",
        },
    ),
    "sim/src/engine/tree.rs": (
        "a mask has as many bits as sources have",
        {
            "let source = (key & ((1 << self.bits) - 1)) as u32;",
        },
    ),
    "sim/src/flow/responsiveness.rs": (
        "`packet` of a sender is at most 65535 B; few packets are an answer",
        {
            "let (way, wire) = (self.to_client(), cfg.tcp.wire_bytes().get() as u16);",
            "let name = (pkt.flow(), step | (i as u8) << INDEX, pkt.seq());",
            "let wire = cfg.tcp.wire_bytes().get() as u16;",
        },
    ),
    "sim/src/flow/tcp.rs": (
        "`packet` of a sender is at most 65535 B",
        {
            "data: packet(Kind::Data, tcp.wire_bytes().get() as u16, tcp.ecn(false)),",
            "let mut again = packet(Kind::Data, tcp.wire_bytes().get() as u16, tcp.ecn(true));",
        },
    ),
    "sim/src/packet.rs": (
        "fields of a word, taken apart",
        {
            "((self.1 >> PRECEDENCE) as u8 & 7) << 3 | (self.1 >> DSCP_LOW) as u8 & 7",
            "(self.1 >> BYTES) as u16",
            "(self.1 >> HOP) as u8",
            "self.0 as u32",
        },
    ),
    "sim/src/trace/log.rs": (
        "`packet` of a sender is at most 65535 B",
        {
            "payload: cfg.payload as u32,",
            "wire: cfg.tcp.wire_bytes().get() as u32,",
        },
    ),
    "tcp/src/congestion/dctcp.rs": (
        "at most 64: no more bytes are marked than there are",
        {
            "(kept + (u64::from(marked) * 64 / u64::from(of)) as u32).min(PARTS)",
        },
    ),
    "tcp/src/float.rs": (
        "counts and nanoseconds, below 2^63",
        {
            "n as i64 as f64",
        },
    ),
    "tcp/src/params.rs": (
        "the table of limits allows 65535 B; an acknowledgment has three blocks",
        {
            "gro_packets: (GRO_BYTES / p.packet.get()).max(1) as u32,",
            "ack_size: p.ack_size.get() as u16,",
            "let options = if self.sack_sizes && blocks > 0 { 4 + 8 * blocks as u16 } else { 0 };",
            "syn_size: p.syn_size.get() as u16,",
        },
    ),
    "tcp/src/receiver.rs": (
        "two halves of a word, taken apart",
        {
            "SackBlocks::of([a, b, c].map(|block| (block as u32, (block >> 32) as u32)), len)",
        },
    ),
    "tcp/src/sender.rs": (
        "packets of a window, below 2^31",
        {
            "self.inflation = (self.inflation - newly as i32 + 1).max(1 - self.window.cwnd as i32);",
            "self.inflation = cfg.dup_threshold as i32;",
        },
    ),
    "theory/src/linear/roots.rs": (
        "classes and filters in memory",
        {
            "roots += self.classes.iter().filter(|c| -c.own.0 - c.own.1 > sigma).count() as i64;",
            "roots += self.filters().iter().filter(|&&f| -f > sigma).count() as i64;",
        },
    ),
    "traces/src/flows.rs": (
        "the smaller of it and the largest",
        {
            "(flow.wire.min(u16::MAX.into()) as u16, flow.payload.min(u16::MAX.into()) as u16);",
        },
    ),
    "traces/src/headers.rs": (
        "a rest of less than 65536; a port or an identification that begins anew is not wrong",
        {
            "identification: index as u16,",
            "if packet.queue_flow == packet.flow { ports } else { (packet.queue_flow as u16, service) };",
            "let (own, service) = ((EPHEMERAL + numbered.connection % (65536 - EPHEMERAL)) as u16, SERVICE);",
        },
    ),
    "traces/src/numbers.rs": (
        "a clock of 32 bits in milliseconds, which begins anew as RFC 7323 has it; the last byte is wanted",
        {
            "(time.nanos() / 1_000_000) as u32 + 1",
            "let ahead = i64::from(number.wrapping_sub(newest as u8) as i8);",
        },
    ),
    "traces/src/pcapng.rs": (
        "two halves of a word, taken apart; a text is cut to 65535 B before",
        {
            "let [low, high] = [time.nanos() as u32, (time.nanos() >> 32) as u32];",
            "options.extend((value.len() as u16).to_le_bytes());",
        },
    ),
    "traces/src/perfetto.rs": (
        "tracks are numbered from 1; a queue is in memory",
        {
            "writer.count(time, queue.bytes, Value::Int(event.queue_bytes as i64))?;",
            "let pid = Some(self.next_track as i32);",
        },
    ),
    "view/src/chart/text.rs": (
        "at most 25",
        {
            "char::from(b'a' + i.min(25) as u8)",
        },
    ),
}


def rule_of(text: str) -> str | None:
    """What is wrong with a cast, by clippy's words on it."""
    if POINTERS in text:
        return POINTERS_RULE
    types = SMALLER.search(text)
    if not types or types["of"] in ("f32", "f64") or (types["of"], types["to"]) == ("usize", "u32"):
        return None
    return SMALLER_RULE


def found(lines: list[str]) -> list[str]:
    """What to say of cargo's messages: each wrong cast once, and each exception that is none, or is several."""
    said: set[str] = set()
    excepted = [(file, line) for file, (_, texts) in EXCEPTIONS.items() for line in texts]
    places: dict[tuple[str, str], set[int]] = {place: set() for place in excepted}
    for line in lines:
        message = json.loads(line).get("message") or {}
        if (message.get("code") or {}).get("code") not in LINTS or not (rule := rule_of(message["message"])):
            continue
        span = next(span for span in message["spans"] if span["is_primary"])
        file, text = span["file_name"].removeprefix("crates/"), span["text"][0]["text"].strip()
        if file.split("/")[0] not in CRATES:
            continue
        if rule == SMALLER_RULE and (file, text) in places:
            places[file, text].add(span["line_start"])
            continue
        said.add(f"{span['file_name']}:{span['line_start']}:{span['column_start']}: {text}: {rule}")
    for (file, line), at in places.items():
        if not at:
            said.add(f"crates/{file}: {line}: is no such cast: take it out of EXCEPTIONS")
        elif len(at) > 1:
            numbers = ", ".join(map(str, sorted(at)))
            said.add(f"crates/{file}: {line}: in lines {numbers}: EXCEPTIONS is for one, so write them otherwise")
    return sorted(said)


def write(program: Path, text: str) -> None:
    """A program, whole, and only if it is another: cargo would check everything again."""
    if not program.is_file() or program.read_text() != text:
        new = program.with_name(f"{program.name}.{os.getpid()}")
        new.write_text(text)
        new.chmod(0o755)
        new.replace(program)


def main() -> None:
    # Cargo keeps what another wrapper checks apart, so that this and `cargo clippy` do not check everything again in
    # turn. All crates at once, whose dependencies thus have the features that they have for `cargo clippy`.
    wrapper = ROOT / "target/casts-driver"
    wrapper.parent.mkdir(exist_ok=True)
    write(wrapper, DRIVER)
    command = ["cargo", "check", "--workspace", "--lib", "--quiet", "--locked", "--message-format", "json"]
    env = os.environ | {"RUSTC_WORKSPACE_WRAPPER": str(wrapper)}
    try:
        done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=False)
    except FileNotFoundError:
        sys.exit("casts: there is no `cargo` in PATH; to get it: rustup (https://rustup.rs)")
    if done.returncode != 0:
        sys.exit(f"casts: {' '.join(command)}: exit status {done.returncode}")
    if casts := found(done.stdout.splitlines()):
        sys.exit("\n".join([*casts, f"casts: {len(casts)} wrong"]))


if __name__ == "__main__":
    main()
