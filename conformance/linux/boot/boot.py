"""Gives lines of tc to Linux kernels that run in QEMU, and looks at what they make of them.

    python3 conformance/linux/boot/boot.py              # every line, on every kernel
    python3 conformance/linux/boot/boot.py --only red   # those whose name has this in it
    python3 conformance/linux/boot/boot.py --write      # puts on record what the kernels make of the lines

Each line must be accepted by a kernel that has its queue discipline, and what the kernel then shows must read back as
the parameters that were given. What it shows is on record in ../accepted.json and ../defaults.json, as a page in
docs/how-to/tc-kernels.md, and for the tests of readers in crates/tc/tests/data/kernel-*.

Packages come from get.sh. Each kernel boots with a file system in memory that has busybox, the tc of its release, its
modules and the lines. The guest tries them one by one, each on a fresh device, and sends what tc says over a serial
line. It has no disk and no network, QEMU needs neither root nor hardware virtualization, and nothing of the host is
touched.
"""

from __future__ import annotations

import argparse
import base64
import concurrent.futures
import hashlib
import io
import json
import lzma
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import records

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
KERNELS = ROOT / "target/kernel"
LINES = HERE.parent / "lines.json"
CORPUS = ROOT / "crates/tc/tests/data"
PROGRAM = "conformance/linux/boot/boot.py"
GET = "conformance/linux/boot/get.sh"
QEMU = "qemu-system-x86_64"
# What a guest may take, on a machine that has much else to do.
DEADLINE_S = 300

# Modules are compressed, but not those of 6.1.
SUFFIX = re.compile(r"\.ko(\.xz)?$")
MODULES = re.compile(r"sch_.*|cls_(matchall|u32)|act_mirred|ifb|veth")
PROGRAMS = ("usr/sbin/tc", "usr/bin/ip")
LINK = 0o120777
# How cases are called that show defaults.
DEFAULT = "-default"
# What a guest sends of each case, beside its exit status.
SENT = ("stderr", "text", "json")


class Failed(Exception):
    """A guest did not do what was asked of it."""


@dataclass(frozen=True)
class Case:
    """What lines.json says to try on a device, and what must be seen then."""

    name: str
    qdisc: str
    # Lines, or what `quell aqm tc` is given to print them.
    lines: list[str] = field(default_factory=list)
    quell: list[str] = field(default_factory=list)
    # Words that `tc -s -d qdisc show` must have.
    shows: list[str] = field(default_factory=list)
    # With --write packets are sent through the device, and what tc shows then is kept for the tests of its readers.
    keep: bool = False

    def of(self, kernel: Kernel, quell: list[str]) -> Case | None:
        """The case with the lines for a kernel; nothing if Quell says that it has no such queue discipline."""
        if not self.quell:
            return self
        said = asked(quell, [*self.quell, "--dev", "eth0", "--kernel", kernel.version])
        if said is None and not kernel.has(self.qdisc):
            return None
        if said is None:
            raise Failed(
                f"{self.name}: quell aqm tc {shlex.join(self.quell)} prints no lines for Linux {kernel.version}"
            )
        return replace(self, lines=said["lines"])

    def script(self) -> str:
        """The lines as a program of a shell that says which of them fails."""
        wrong = '{ echo "line %d: exit status $?" >&2; exit 1; }'
        return "".join(f"{line} || {wrong % i}\n" for i, line in enumerate(self.lines, 1))


def asked(quell: list[str], words: list[str], text: str | None = None) -> dict[str, Any] | None:
    """What `quell aqm tc` says of words; nothing if it refuses them."""
    command = [*quell, "aqm", "tc", *words, "--format", "json"]
    ran = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return json.loads(ran.stdout) if ran.returncode == 0 else None


@dataclass(frozen=True)
class Seen:
    """What a kernel made of a case."""

    accepted: bool
    stderr: str
    # `tc -s -d qdisc show` and `tc -s -d class show`, and the same with -j.
    text: str
    json: str

    def qdiscs(self) -> str:
        """What `tc -s -d -j qdisc show` prints."""
        return json.dumps(json.JSONDecoder().raw_decode(self.json)[0])


@dataclass(frozen=True)
class Answer:
    """What a guest says: the versions of its kernel and of its tc, and what was seen of each case."""

    linux: str
    tc: str
    cases: dict[str, Seen]


@dataclass(frozen=True)
class Kernel:
    """A kernel with the tc of its release, as get.sh has unpacked it."""

    name: str

    @property
    def root(self) -> Path:
        return KERNELS / self.name / "root"

    @property
    def version(self) -> str:
        """The first two numbers of its version."""
        return ".".join(self.modules.name.split(".")[:2])

    @property
    def modules(self) -> Path:
        return next((self.root / "usr/lib/modules").iterdir())

    @property
    def image(self) -> Path:
        images = [self.root / f"boot/vmlinuz-{self.modules.name}", self.modules / "vmlinuz"]
        return next(path for path in images if path.exists())

    def has(self, qdisc: str) -> bool:
        """True if the kernel has a queue discipline, within it or as a module."""
        # No kernel with queue disciplines is without these.
        if qdisc in ("pfifo", "bfifo"):
            return True
        within = (self.modules / "modules.builtin").read_text()
        return f"/sch_{qdisc}.ko\n" in within or any(self.modules.rglob(f"sch_{qdisc}.ko*"))


EVERY = [Kernel("6.1"), Kernel("6.12"), Kernel("7.x")]


# ---- The file system of the guest. ----


class Archive:
    """A cpio archive of the format that kernels unpack (Documentation/driver-api/early-userspace/buffer-format.rst)."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._names: set[str] = set()

    def add(self, name: str, data: bytes | str, mode: int = 0o100755) -> None:
        """Adds a file, and the folders that it is in."""
        for folder in [str(parent) for parent in reversed(Path(name).parents)][1:]:
            if folder not in self._names:
                self._entry(folder, b"", 0o040755)
        self._entry(name, data.encode() if isinstance(data, str) else data, mode)

    def _entry(self, name: str, data: bytes, mode: int) -> None:
        self._names.add(name)
        numbers = [len(self._names), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
        head = b"070701" + b"".join(b"%08x" % number for number in numbers) + name.encode() + b"\0"
        for part in (head, data):
            self._data += part + bytes(-len(part) % 4)

    def whole(self) -> bytes:
        """The archive with its end."""
        self._entry("TRAILER!!!", b"", 0)
        return bytes(self._data)


def libraries(root: Path, program: str) -> set[Path]:
    """What the loader of a release loads with a program of it."""
    loader, folder = root / "usr/lib64/ld-linux-x86-64.so.2", root / "usr/lib/x86_64-linux-gnu"
    command = [str(loader), "--library-path", str(folder), "--list", str(root / program)]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {Path(path) for path in re.findall(r"=> (\S+) \(", printed) if Path(path) != loader}


def says(module: bytes, word: str) -> list[str]:
    """What a module says of itself under a word."""
    return [value.decode() for value in re.findall(rb"\0%s=([^\0]+)" % word.encode(), module)]


def modules(kernel: Kernel) -> dict[str, tuple[bytes, list[str]]]:
    """The modules that a guest may need, and the names of those that each of them needs at once."""
    every = [path for path in kernel.modules.rglob("*.ko*") if SUFFIX.search(path.name)]
    paths = {SUFFIX.sub("", path.name).replace("-", "_"): path for path in every}
    wanted = [name for name in paths if MODULES.fullmatch(name)]
    found: dict[str, tuple[bytes, list[str]]] = {}
    while wanted:
        if (name := wanted.pop()) not in found:
            module = paths[name].read_bytes()
            module = lzma.decompress(module) if paths[name].suffix == ".xz" else module
            needs = [other for line in says(module, "depends") for other in line.replace("-", "_").split(",")]
            found[name] = (module, needs)
            wanted += needs
    return found


def all_needs(found: dict[str, tuple[bytes, list[str]]], name: str) -> list[str]:
    """What a module needs, and what that needs; nothing comes before what needs it."""
    every: list[str] = []
    for other in found[name][1]:
        rest = [other, *all_needs(found, other)]
        every = [one for one in every if one not in rest] + rest
    return every


def file_system(kernel: Kernel, cases: list[Case], traffic: bool) -> bytes:
    """The programs, the modules with what modprobe reads of them, and the cases."""
    archive, root = Archive(), kernel.root
    archive.add("init", (HERE / "guest.sh").read_bytes())
    archive.add("bin/busybox", (root / "usr/bin/busybox").read_bytes())
    archive.add("sbin/modprobe", "/bin/busybox", LINK)
    archive.add("lib64/ld-linux-x86-64.so.2", (root / "usr/lib64/ld-linux-x86-64.so.2").read_bytes())
    for program in PROGRAMS:
        archive.add(f"usr/sbin/{Path(program).name}", (root / program).read_bytes())
    for library in {path for program in PROGRAMS for path in libraries(root, program)}:
        archive.add(f"lib/x86_64-linux-gnu/{library.name}", library.read_bytes())
    found, folder = modules(kernel), f"lib/modules/{kernel.modules.name}"
    for name, (module, _) in found.items():
        archive.add(f"{folder}/{name}.ko", module)
    needs = {name: " ".join(f"{other}.ko" for other in all_needs(found, name)) for name in found}
    archive.add(f"{folder}/modules.dep", "".join(f"{name}.ko: {needs[name]}\n" for name in found))
    aliases = [(alias, name) for name, (module, _) in found.items() for alias in says(module, "alias")]
    archive.add(f"{folder}/modules.alias", "".join(f"alias {alias} {name}\n" for alias, name in aliases))
    for case in cases:
        archive.add(f"cases/{case.name}/lines", case.script())
        # People type what Quell prints once more, and a script does so with each connection.
        if case.quell:
            archive.add(f"cases/{case.name}/again", "")
        if case.keep and traffic:
            archive.add(f"cases/{case.name}/traffic", "")
    return archive.whole()


# ---- The guest. ----


# What runs now, and whether it is to end, whatever it does.
MACHINES: list[subprocess.Popen[bytes]] = []
ENDED = threading.Event()


def end(machine: subprocess.Popen[bytes]) -> None:
    """Kills a machine, if it still runs, with the program that looks at its time."""
    if machine.poll() is None:
        os.killpg(machine.pid, signal.SIGKILL)


def end_all() -> None:
    """Kills what runs, and what is about to."""
    ENDED.set()
    for machine in MACHINES:
        end(machine)


def boot(kernel: Kernel, cases: list[Case], traffic: bool = False) -> Answer:
    """Boots a kernel and gives it the cases, those that are kept with packets if traffic is asked for."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "initrd").write_bytes(file_system(kernel, cases, traffic))
        command = [
            QEMU,
            "-accel",
            "tcg",
            "-cpu",
            "qemu64",
            "-m",
            "512M",
            "-no-reboot",
            "-nodefaults",
            "-display",
            "none",
        ]
        command += ["-kernel", str(kernel.image), "-initrd", str(folder / "initrd")]
        command += ["-append", "console=ttyS0 quiet panic=-1 ipv6.disable=1"]
        command += ["-serial", f"file:{folder}/console", "-serial", f"file:{folder}/answer"]
        # The time limit holds even if this program is killed, and the group is what can be killed whole.
        command = ["timeout", "--foreground", "--signal=KILL", str(DEADLINE_S), *command]
        machine = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
        MACHINES.append(machine)
        if ENDED.is_set():
            end(machine)
        said, _ = machine.communicate()
        console = (folder / "console").read_text(errors="replace") if (folder / "console").exists() else ""
        answer = (folder / "answer").read_text(errors="replace") if (folder / "answer").exists() else ""
        last = "\n".join([*said.decode(errors="replace").splitlines(), *console.splitlines()[-12:]])
        if machine.returncode != 0:
            late = "took too long" if machine.returncode in (124, 137, -9) else f"exit status {machine.returncode}"
            raise Failed(f"{kernel.name}: QEMU {late}; the last that was seen:\n{last}")
        return unpacked(kernel, answer, last)


def unpacked(kernel: Kernel, answer: str, last: str) -> Answer:
    """What the guest has sent: an archive, and a checksum of it."""
    *lines, checksum = answer.splitlines() or [""]
    try:
        archive = base64.b64decode("".join(lines))
    except ValueError:
        archive = b""
    if checksum.removesuffix("  -") != hashlib.sha256(archive).hexdigest():
        raise Failed(f"{kernel.name}: the guest's answer did not come whole; the last that was seen:\n{last}")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        files = {
            member.name.removeprefix("./"): data.read().decode(errors="replace")
            for member in tar
            if (data := tar.extractfile(member))
        }
    tc = re.sub(r".*iproute2-([0-9.]+).*", r"\1", files["tc"].strip())
    cases = {
        case: Seen(files[f"{case}/status"].strip() == "0", *(files[f"{case}/{what}"] for what in SENT))
        for case in {name.split("/")[0] for name in files if "/" in name}
    }
    return Answer(files["kernel"].strip(), tc, cases)


# ---- What must hold. ----


def wrong_with(kernel: Kernel, case: Case, seen: Seen, quell: list[str]) -> list[str]:
    """What a kernel made of a case that it should not have made of it."""
    if not kernel.has(case.qdisc):
        return [f"there is no {case.qdisc}, and yet its lines are accepted"] if seen.accepted else []
    if not seen.accepted:
        return ["refused: " + "; ".join(seen.stderr.splitlines())]
    wrong = [f"does not show {words!r}, but:\n{seen.text}" for words in case.shows if words not in seen.text]
    given = meaning(quell, kernel, "\n".join(case.lines))
    wrong += [f"text: {what}" for what in different(given, meaning(quell, kernel, seen.text))]
    if case.name.endswith(DEFAULT) and (unsaid := usual(quell, kernel, case.qdisc, given.get("algorithm", ""))):
        wrong += [f"defaults: {what}" for what in different(unsaid, meaning(quell, kernel, seen.text))]
    # Of JSON the queue disciplines are read, and what a class shapes is not theirs.
    given.pop("rate", None)
    if case.qdisc != "tbf":
        given.pop("shaper", None)
    return wrong + [f"JSON: {what}" for what in different(given, meaning(quell, kernel, seen.qdiscs()))]


def usual(quell: list[str], kernel: Kernel, qdisc: str, algorithm: str) -> dict[str, Any]:
    """The defaults that Quell has of a queue discipline; nothing if it has none, or tc needs words."""
    said = asked(quell, [algorithm, "--defaults"]) or {"qdisc": "", "defaults": []}
    words = [one["words"] for one in said["defaults"] if one["kernel"] == kernel.version and said["qdisc"] == qdisc]
    return meaning(quell, kernel, f"tc qdisc add dev eth0 root {qdisc} {words[0]}") if words else {}


def meaning(quell: list[str], kernel: Kernel, text: str) -> dict[str, Any]:
    """The parameters that Quell reads of a text of tc's, by their names, and the algorithm."""
    said = asked(quell, ["--read", "-", "--kernel", kernel.version], text) or {"links": []}
    found: dict[str, Any] = {}
    for link in said["links"]:
        if link["aqm"]:
            found |= link["aqm"] | {"buffer": link["buffer"], "ecn": link["ecn"]}
        if link["rate"]:
            found["rate"] = link["rate"]
        if link["shaper"]:
            found["shaper"] = link["shaper"]["rate"]
    return found


# Units of times and sizes, in seconds and bytes.
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "B": 1.0, "kB": 1e3, "MB": 1e6, "KiB": 2.0**10, "MiB": 2.0**20}
# Debian's kernels have 250 jiffies in a second, and PIE's timer runs in them.
JIFFY_S = 1 / 250
# The finest time of CoDel's clock, and the three digits that tc prints.
CLOCK_S, DIGITS = 1.024e-6, 0.005


def different(given: dict[str, Any], shown: dict[str, Any]) -> list[str]:
    """Parameters that are not the same; what is a number may be rounded as the kernel and tc do."""
    names = sorted(given.keys() | shown.keys())
    pairs = [(name, given.get(name, "nothing"), shown.get(name, "nothing")) for name in names]
    return [
        f"{name} is {ours}, and the kernel shows {theirs}"
        for name, ours, theirs in pairs
        if not same(name, ours, theirs)
    ]


def same(name: str, ours: Any, theirs: Any) -> bool:
    """Tells whether two values of a parameter are the same but for the kernel's rounding."""
    a, b = (re.fullmatch(r"(\d[0-9.e+-]*) ?([A-Za-z/]*)", str(value)) for value in (ours, theirs))
    if not a or not b:
        return bool(ours == theirs)
    x, y = (float(value[1]) * UNITS.get(value[2], 1.0) for value in (a, b))
    if a[2] in ("us", "ms", "s"):
        return abs(x - y) <= max(JIFFY_S if name == "update_interval" else CLOCK_S, DIGITS * x)
    return abs(x - y) <= DIGITS * x if isinstance(ours, float) or a[2] else x == y


# ---- The test. ----


def attempt(kernel: Kernel, every: list[Case], quell: list[str], traffic: bool) -> tuple[list[Case], Answer, list[str]]:
    """Boots a kernel and judges what it makes of the cases."""
    cases = [case for one in every if (case := one.of(kernel, quell))]
    answer = boot(kernel, cases, traffic)
    wrong = [(case, fault) for case in cases for fault in wrong_with(kernel, case, answer.cases[case.name], quell)]
    return cases, answer, [f"Linux {answer.linux}: {case.name}: {fault}" for case, fault in wrong]


def recorded(answer: Answer, cases: list[Case]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What of an answer goes on record: what the kernel made of each line, and its defaults."""
    tried = [(case, answer.cases[case.name]) for case in cases]
    versions = {"linux": answer.linux, "tc": answer.tc}
    lines = {
        case.name: {
            "qdisc": case.qdisc,
            "lines": case.lines,
            "shown": records.shown(case.qdisc, seen.text) if seen.accepted else None,
        }
        for case, seen in tried
    }
    defaults = {
        case.qdisc: {
            "words": records.given(case.qdisc, case.lines),
            "options": records.options(case.qdisc, seen.qdiscs()),
        }
        for case, seen in tried
        if case.name.endswith(DEFAULT) and seen.accepted
    }
    return versions | {"lines": lines}, versions | {"qdiscs": defaults}


def changed(name: str, now: dict[str, Any], record: Path, part: str, only: bool) -> list[str]:
    """Where a kernel of a version on record does something else than is on record."""
    then = json.loads(record.read_text())[name]
    if (series(then), then["tc"]) != (series(now), now["tc"]):
        return []
    names = sorted(now[part] if only else then[part].keys() | now[part].keys())
    pairs = [(one, then[part].get(one), now[part].get(one)) for one in names]
    return [
        f"Linux {now['linux']}: {record.name}: {one} was {old}, and is {new}" for one, old, new in pairs if old != new
    ]


def series(record: dict[str, Any]) -> list[str]:
    """The first two numbers of a kernel's version: within them it stays the same but for what is mended."""
    return str(record["linux"]).split(".")[:2]


def keep(name: str, answer: Answer, cases: list[Case]) -> None:
    """Writes what tc shows as data of the tests of its readers."""
    folder = CORPUS / f"kernel-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for case in cases:
        seen = answer.cases[case.name]
        if case.keep and seen.accepted:
            (folder / f"{case.name}.txt").write_text(seen.text)
            (folder / f"{case.name}.json").write_text(seen.qdiscs() + "\n")


def missing() -> str | None:
    """What the test cannot do without, and is not here."""
    lacks = [] if shutil.which(QEMU) else [QEMU]
    lacks += [f"Linux {kernel.name}" for kernel in EVERY if not kernel.root.is_dir()]
    return " and ".join(lacks) or None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="try the lines whose name has this in it")
    parser.add_argument("--quell", default="cargo run --quiet --bin quell --", help="the command (cargo run ...)")
    parser.add_argument("--write", action="store_true", help="put on record what is seen")
    args = parser.parse_args()
    if args.write and args.only:
        parser.error("--write puts every line on record: leave --only out")
    if lacks := missing():
        if os.environ.get("QUELL_REQUIRE_QEMU") == "1":
            sys.exit(f"kernel: there is not {lacks} ({GET}), and QUELL_REQUIRE_QEMU asks for it")
        print(f"kernel: there is not {lacks} ({GET}), skipped")
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit("kernel: ended by a signal"))
    quell = shlex.split(args.quell)
    every = [case for case in (Case(**case) for case in json.loads(LINES.read_text())) if args.only in case.name]
    try:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            try:
                tried = list(pool.map(lambda kernel: attempt(kernel, every, quell, args.write), EVERY))
            finally:
                end_all()
    except Failed as failed:
        sys.exit(f"kernel: {failed}")
    wrong: list[str] = []
    accepted: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    for kernel, (cases, answer, faults) in zip(EVERY, tried, strict=True):
        wrong += faults
        accepted[kernel.name], defaults[kernel.name] = recorded(answer, cases)
        if args.write:
            keep(kernel.name, answer, cases)
        else:
            wrong += changed(kernel.name, accepted[kernel.name], records.ACCEPTED, "lines", bool(args.only))
            wrong += changed(kernel.name, defaults[kernel.name], records.DEFAULTS, "qdiscs", bool(args.only))
        count = sum(seen.accepted for seen in answer.cases.values())
        print(f"kernel: Linux {answer.linux} with tc {answer.tc} accepts {count} of {len(every)} settings")
    if args.write:
        records.ACCEPTED.write_text(records.written(accepted))
        records.DEFAULTS.write_text(records.written(defaults))
        records.PAGE.write_text(records.page(accepted))
    elif records.PAGE.read_text() != records.page(json.loads(records.ACCEPTED.read_text())):
        wrong.append(f"{records.PAGE.name} is not what {records.ACCEPTED.name} says")
    if wrong:
        sys.exit("kernel: " + "\nkernel: ".join(wrong) + f"\nkernel: `{PROGRAM} --write` puts on record what is seen")


if __name__ == "__main__":
    main()
