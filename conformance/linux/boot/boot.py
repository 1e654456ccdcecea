"""Gives lines of tc to Linux kernels that run in QEMU, and looks at what they make of them.

    python3 conformance/linux/boot/boot.py              # every line, on every kernel
    python3 conformance/linux/boot/boot.py --only red   # of the lines those whose name has this in it

Packages come from get.sh. Each kernel boots with a file system in memory that has busybox, the tc of its release, its
modules and the lines. The guest tries them one by one, each on a fresh device, and sends what tc says over a serial
line. It has no disk and no network, QEMU needs neither root nor hardware virtualization, and nothing of the host is
touched.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import lzma
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
KERNELS = ROOT / "target/kernel"
LINES = HERE.parent / "lines.json"
GET = "conformance/linux/boot/get.sh"
QEMU = "qemu-system-x86_64"
# What a guest may take, on a machine that has much else to do.
DEADLINE_S = 300

SUFFIX = ".ko.xz"
MODULES = re.compile(r"sch_.*|cls_(matchall|u32)|act_mirred|ifb|veth")
PROGRAMS = ("usr/sbin/tc", "usr/bin/ip")
LINK = 0o120777
# What a guest sends of each case, beside its exit status.
SENT = ("stderr", "text", "json")


class Failed(Exception):
    """A guest did not do what was asked of it."""


@dataclass(frozen=True)
class Case:
    """Lines to try on one device, and what must be seen then."""

    name: str
    qdisc: str
    lines: list[str]
    # Words that `tc qdisc show` must have.
    shows: list[str] = field(default_factory=list)
    # With --write packets are sent through the device, and what tc shows then is kept for the tests of its readers.
    keep: bool = False

    def script(self) -> str:
        """The lines as a program of a shell that says which of them fails."""
        wrong = '{ echo "line %d: exit status $?" >&2; exit 1; }'
        return "".join(f"{line} || {wrong % i}\n" for i, line in enumerate(self.lines, 1))


@dataclass(frozen=True)
class Seen:
    """What a kernel made of a case."""

    accepted: bool
    stderr: str
    # `tc -s qdisc show` and `tc -s class show`, and the same with -j.
    text: str
    json: str


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
    def modules(self) -> Path:
        return next((self.root / "usr/lib/modules").iterdir())

    @property
    def image(self) -> Path:
        images = [self.root / f"boot/vmlinuz-{self.modules.name}", self.modules / "vmlinuz"]
        return next(path for path in images if path.exists())

    def has(self, qdisc: str) -> bool:
        """True if the kernel has a queue discipline, within it or as a module."""
        module = "sch_fifo" if qdisc in ("pfifo", "bfifo") else f"sch_{qdisc}"
        known = (path.read_text() for path in self.modules.glob("modules.builtin"))
        return any(f"/{module}.ko" in text for text in known) or any(self.modules.rglob(module + SUFFIX))


EVERY = [Kernel("6.12"), Kernel("7.x")]


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
    paths = {path.name.removesuffix(SUFFIX).replace("-", "_"): path for path in kernel.modules.rglob("*" + SUFFIX)}
    wanted = [name for name in paths if MODULES.fullmatch(name)]
    found: dict[str, tuple[bytes, list[str]]] = {}
    while wanted:
        if (name := wanted.pop()) not in found:
            module = lzma.decompress(paths[name].read_bytes())
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
        if case.keep and traffic:
            archive.add(f"cases/{case.name}/traffic", "")
    return archive.whole()


# ---- The guest. ----


def boot(kernel: Kernel, cases: list[Case], traffic: bool = False) -> Answer:
    """Boots a kernel and gives it the cases, those that are kept with packets if traffic is asked for."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "initrd").write_bytes(file_system(kernel, cases, traffic))
        command = [QEMU, "-accel", "tcg", "-cpu", "qemu64", "-m", "512M", "-no-reboot", "-nodefaults", "-display", "none"]
        command += ["-kernel", str(kernel.image), "-initrd", str(folder / "initrd")]
        command += ["-append", "console=ttyS0 quiet panic=-1 ipv6.disable=1"]
        command += ["-serial", f"file:{folder}/console", "-serial", f"file:{folder}/answer"]
        # The time limit holds even if this program is killed, and the group is what can be killed whole.
        command = ["timeout", "--foreground", "--signal=KILL", str(DEADLINE_S), *command]
        machine = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            said, _ = machine.communicate()
        finally:
            if machine.poll() is None:
                os.killpg(machine.pid, signal.SIGKILL)
                machine.wait()
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
    tc = re.findall(r"iproute2-([0-9.]+)", files["tc"])
    cases = {
        case: Seen(files[f"{case}/status"].strip() == "0", *(files[f"{case}/{what}"] for what in SENT))
        for case in {name.split("/")[0] for name in files if "/" in name}
    }
    return Answer(files["kernel"].strip(), *tc, cases)


# ---- The test. ----


def wrong_with(kernel: Kernel, case: Case, seen: Seen) -> list[str]:
    """What a kernel made of a case that it should not have made of it."""
    if not kernel.has(case.qdisc):
        return [f"there is no {case.qdisc}, and yet its lines are accepted"] if seen.accepted else []
    if not seen.accepted:
        return ["it is refused: " + "; ".join(seen.stderr.splitlines())]
    return [f"it does not show {words!r}, but:\n{seen.text}" for words in case.shows if words not in seen.text]


# ---- What is on record. ----


def shown(case: Case, seen: Seen) -> str:
    """How the kernel shows a case's queue discipline, without its place and its counters."""
    line = next(line for line in seen.text.splitlines() if line.startswith(f"qdisc {case.qdisc} "))
    return re.sub(r" direct_packets_stat.*", "", re.sub(r"^qdisc (\S+) .*?(root refcnt \d+|parent \S+)", r"\1", line)).strip()


def defaults(answer: Answer, cases: list[Case]) -> dict[str, Any]:
    """The options of each queue discipline that got no words but those without which tc refuses it."""
    found = {}
    for case in cases:
        if case.name.endswith(DEFAULT) and answer.cases[case.name].accepted:
            every = [one for dump in json.loads("[" + answer.cases[case.name].json.replace("]\n[", "],[") + "]") for one in dump]
            options = next(one["options"] for one in every if one.get("kind") == case.qdisc)
            words = case.lines[0].partition(f" {case.qdisc} ")[2]
            found[case.qdisc] = {"words": words, "options": {k: v for k, v in options.items() if not k.startswith("direct_")}}
    return found


def records(answers: dict[str, Answer], cases: list[Case]) -> dict[Path, str]:
    """The files that --write writes, but for the dumps."""
    accepted = {
        kernel: {
            "linux": answer.linux,
            "tc": answer.tc,
            "lines": {case.name: shown(case, seen) if (seen := answer.cases[case.name]).accepted else None for case in cases},
        }
        for kernel, answer in answers.items()
    }
    unsaid = {
        kernel: {"linux": answer.linux, "tc": answer.tc, "qdiscs": defaults(answer, cases)}
        for kernel, answer in answers.items()
    }
    return {
        ACCEPTED: json.dumps(accepted, indent=1) + "\n",
        DEFAULTS: json.dumps(unsaid, indent=1) + "\n",
        PAGE: page(answers, cases),
    }


def page(answers: dict[str, Answer], cases: list[Case]) -> str:
    """The page of the documentation."""
    first, *others = answers.values()
    text = PAGE_BEGINS.format(*(version for answer in answers.values() for version in (answer.linux, answer.tc)))
    rows: dict[str, list[str]] = {}
    for case in cases:
        columns = [shown(case, answer.cases[case.name]) if answer.cases[case.name].accepted else "" for answer in answers.values()]
        cells = [f"`{column.removeprefix(case.qdisc).strip()}`" if column else "refused" for column in columns]
        if cells[0] == cells[1]:
            cells[1] = "the same"
        words = case.lines[-1].partition(f" {case.qdisc} ")[2]
        given = f"`{words}`" if words else "nothing"
        rows.setdefault(case.qdisc, []).append(f"| {given} | {place(case)} | {cells[0]} | {cells[1]} |")
    for qdisc, lines in rows.items():
        text += f"\n## {qdisc}\n\n| Given | Place | Linux 6.12 shows | Linux 7.x shows |\n| --- | --- | --- | --- |\n"
        text += "\n".join(lines) + "\n"
    return text


def place(case: Case) -> str:
    """Where a case has its queue discipline."""
    if any(" ifb" in line for line in case.lines):
        return "ifb"
    return "root" if "root" in case.lines[-1] else "behind htb"


def differences(kernel: Kernel, answer: Answer, cases: list[Case]) -> list[str]:
    """Where a kernel of the version on record does something else now."""
    accepted, unsaid = (json.loads(path.read_text())[kernel.name] for path in (ACCEPTED, DEFAULTS))
    if (accepted["linux"].split("+")[0], accepted["tc"]) != (answer.linux.split("+")[0], answer.tc):
        print(f"kernel: on record is Linux {accepted['linux']} with tc {accepted['tc']}: {WRITE} puts this one there")
        return []
    return []


WRITE = "`conformance/linux/boot/boot.py --write`"
def missing() -> str | None:
    """What the test cannot do without, and is not here."""
    lacks = [] if shutil.which(QEMU) else [QEMU]
    lacks += [f"Linux {kernel.name}" for kernel in EVERY if not kernel.root.is_dir()]
    return " and ".join(lacks) or None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="try the lines whose name has this in it")
    args = parser.parse_args()
    if lacks := missing():
        if os.environ.get("QUELL_REQUIRE_QEMU") == "1":
            sys.exit(f"kernel: there is not {lacks} ({GET}), and QUELL_REQUIRE_QEMU asks for it")
        print(f"kernel: there is not {lacks} ({GET}), skipped")
        return
    # As for Ctrl-C: what has been started ends with this program.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("kernel: ended by a signal"))
    cases = [case for case in (Case(**case) for case in json.loads(LINES.read_text())) if args.only in case.name]
    wrong = []
    for kernel in EVERY:
        start = time.monotonic()
        try:
            answer = boot(kernel, cases)
        except Failed as failed:
            sys.exit(f"kernel: {failed}")
        seconds = time.monotonic() - start
        for case in cases:
            wrong += [f"Linux {answer.linux}: {case.name}: {what}" for what in wrong_with(kernel, case, answer.cases[case.name])]
        accepted = sum(seen.accepted for seen in answer.cases.values())
        print(f"kernel: Linux {answer.linux} with tc {answer.tc}: {accepted} of {len(cases)} accepted, {seconds:.0f} s")
    if wrong:
        sys.exit("kernel: " + "\nkernel: ".join(wrong))


if __name__ == "__main__":
    main()
