"""Holds the queue disciplines of a Linux kernel against the vectors.

    python3 conformance/linux/kernel.py                          # of the source that is found
    python3 conformance/linux/kernel.py --source linux-7.2       # of this one
    python3 conformance/linux/kernel.py --only-shapers           # tbf and htb alone

What decides is cut out of the kernel's source by name, into a temporary folder, and compiled there with stand-ins for
the rest of the kernel (stand_ins.h) and with what asks it (glue.c). Nothing of the kernel's text is in this tree. Linux
6.1 and 7.2 are known to work. Shapers have no vectors: shapers.py gives both sides the same packets.

The source is a folder, or the archive that Debian's linux-source packages install: --source, QUELL_LINUX_SOURCE, what
get.sh has brought to target/linux-source, or one of /usr/src. Without one nothing is tested, and a line says so; with
QUELL_REQUIRE_LINUX_SOURCE=1 that is a failure.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import shapers

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECOND = 1_000_000_000

CODEL = {
    "include/net/codel.h": """
        codel_time_t codel_tdiff_t CODEL_SHIFT MS2TIME codel_get_time codel_time_after codel_time_before
        codel_time_after_eq codel_params codel_vars REC_INV_SQRT_BITS REC_INV_SQRT_SHIFT
        CODEL_MAX_DROPS_PER_DEQUEUE? codel_stats CODEL_DISABLED_THRESHOLD codel_skb_len_t codel_skb_time_t
        codel_skb_drop_t codel_skb_dequeue_t""",
    "include/net/codel_impl.h": """
        codel_params_init codel_vars_init codel_stats_init codel_Newton_step codel_control_law
        codel_should_drop codel_dequeue""",
    "include/net/codel_qdisc.h": "codel_skb_cb get_codel_cb codel_get_enqueue_time codel_set_enqueue_time",
}

# What is cut out of which file, in this order. A name with a question mark is not in every kernel, and one after an
# equals sign is what it is called here.
CUTS = {
    "codel": {
        **CODEL,
        "net/sched/sch_codel.c": """
            codel_sched_data dequeue_func drop_func __codel_qdisc_dequeue? codel_dequeue_drop?
            codel_qdisc_dequeue codel_qdisc_enqueue""",
    },
    "fq-codel": {
        **CODEL,
        "net/sched/sch_fq_codel.c": """
            fq_codel_flow fq_codel_sched_data dequeue_head flow_queue_add fq_codel_drop fq_codel_enqueue
            dequeue_func drop_func __fq_codel_dequeue? fq_codel_dequeue_drop? fq_codel_dequeue""",
    },
    "pie": {
        "include/net/pie.h": """
            MAX_PROB DTIME_INVALID QUEUE_THRESHOLD DQCOUNT_INVALID PIE_SCALE pie_params pie_vars pie_stats
            pie_skb_cb pie_params_init pie_vars_init=kernel_pie_vars_init get_pie_cb pie_get_enqueue_time
            pie_set_enqueue_time""",
        "net/sched/sch_pie.c": """
            pie_sched_data pie_drop_early pie_qdisc_enqueue pie_process_dequeue pie_calculate_probability
            pie_qdisc_dequeue""",
    },
    "cobalt": {
        "net/sched/sch_cake.c": """
            cobalt_params cobalt_vars cobalt_skb_cb get_cobalt_cb cobalt_get_enqueue_time
            cobalt_set_enqueue_time REC_INV_SQRT_CACHE inv_sqrt_cache? cobalt_rec_inv_sqrt_cache?
            cobalt_newton_step cobalt_invsqrt cobalt_cache_init? cobalt_vars_init cobalt_control
            cobalt_queue_full cobalt_queue_empty cobalt_should_drop""",
    },
    "cake": {
        "net/sched/sch_cake.c": """
            CAKE_SET_WAYS CAKE_MAX_TINS CAKE_QUEUES cobalt_params cobalt_vars CAKE_SET_NONE cake_flow cake_host
            cake_heap_entry cake_tin_data cake_sched_data CAKE_FLAG_OVERHEAD us_to_ns cobalt_skb_cb get_cobalt_cb
            cobalt_get_enqueue_time cobalt_set_enqueue_time precedence diffserv8 diffserv4 diffserv3 besteffort
            normal_order bulk_order REC_INV_SQRT_CACHE inv_sqrt_cache? cobalt_rec_inv_sqrt_cache?
            cobalt_newton_step cobalt_invsqrt cobalt_cache_init? cobalt_vars_init cobalt_control
            cobalt_queue_full cobalt_queue_empty cobalt_should_drop cake_dsrc cake_ddst
            cake_dec_srchost_bulk_flow_count cake_inc_srchost_bulk_flow_count
            cake_dec_dsthost_bulk_flow_count cake_inc_dsthost_bulk_flow_count dequeue_head flow_queue_add
            cake_get_iphdr cake_get_tcphdr cake_get_tcpopt cake_tcph_sack_compare cake_tcph_get_tstamp
            cake_tcph_may_drop cake_ack_filter cake_ewma cake_calc_overhead cake_heap_swap
            cake_heap_get_backlog cake_heapify_up cake_advance_shaper cake_drop
            cake_handle_diffserv cake_select_tin cake_dequeue_one cake_clear_tin cake_set_rate
            cake_config_besteffort cake_config_precedence cake_config_diffserv8 cake_config_diffserv4
            cake_config_diffserv3 cake_reconfigure cake_enqueue cake_dequeue""",
    },
    "red": {
        "include/net/red.h": """
            RED_STAB_SIZE RED_STAB_MASK red_parms red_vars red_maxp red_set_vars red_set_parms red_is_idling
            red_start_of_idle_period red_end_of_idle_period red_calc_qavg_from_idle_time
            red_calc_qavg_no_idle_time red_calc_qavg red_random red_mark_probability RED_BELOW_MIN_THRESH
            red_cmp_thresh RED_DONT_MARK red_action""",
    },
}

# The vectors that it must pass, and what it may do otherwise beside the decisions, which docs/conformance.md explains.
VECTORS: dict[str, set[str]] = {
    "codel/linux": set(),
    "codel/linux-marks": set(),
    "codel/linux-ticks": set(),
    "fq-codel/linux": set(),
    "fq-codel/linux-marks": set(),
    "fq-codel/linux-full": set(),
    "pie/linux": {"draws", "cause"},
    "pie/linux-marks": {"draws", "cause"},
    "cobalt/drops": set(),
    "cobalt/marks": set(),
    "cobalt/bytes": set(),
    "cobalt/sizes": set(),
    "cobalt/ticks": set(),
    "cobalt/blue": set(),
    "cobalt/steps": set(),
    "cobalt/target": set(),
    "cake/drops": set(),
    "cake/marks": set(),
    "cake/bytes": set(),
    "cake/sizes": set(),
    "cake/triple-isolate": set(),
    "cake/dual-srchost": set(),
    "cake/dual-dsthost": set(),
    "cake/hosts": set(),
    "cake/srchost": set(),
    "cake/dsthost": set(),
    "cake/unshaped": set(),
    "cake/flows": set(),
    "cake/flowblind": set(),
    "cake/ingress": set(),
    "cake/egress": set(),
    "cake/ingress-marks": set(),
    "cake/ingress-hosts": set(),
    "cake/ingress-unshaped": set(),
    "cake/ack-filter": set(),
    "cake/ack-filter-aggressive": set(),
    "red/shift-bytes": {"draws"},
}

# Those of a kernel whose CoDel remembers in an empty queue that it stood (before March 2026), in their place.
KEEPS: dict[str, set[str]] = {
    **{name: may for name, may in VECTORS.items() if "codel" not in name},
    "codel/linux-keeps": set(),
    "fq-codel/linux-keeps": set(),
}

SIGNALS = {
    "codel": ["count", "dropping"],
    "fq-codel": [],
    "pie": ["p", "delay", "burst_allowance", "accumulated"],
    "cobalt": ["p", "dropping", "count"],
    "cake": [],
    "red": [],
}

# What tc shows of a tin of CAKE, without what the kernel's hash does.
OF_A_TIN = """thresh target interval pk_delay av_delay sp_delay backlog pkts bytes drops marks ack_drop sp_flows bk_flows
    un_flows max_len quantum""".split()
TINS = {
    "besteffort": ["best_effort"],
    "diffserv3": ["best_effort", "bulk", "voice"],
    "diffserv4": ["best_effort", "bulk", "video", "voice"],
}
# The numbers of tc's words.
DIFFSERV = ["diffserv3", "diffserv4", "diffserv8", "besteffort"]
ISOLATION = """flowblind srchost dsthost hosts flows dual-srchost dual-dsthost triple-isolate""".split()
FRAMING = ["noatm", "atm", "ptm"]
ACK_FILTER = ["off", "on", "aggressive"]


class Config(ctypes.Structure):
    """The fields of glue.c's, all whole numbers: nanoseconds, bytes, parts of 2^32."""

    _fields_ = [
        (name, ctypes.c_int64)
        for name in """limit_packets limit_bytes ecn target interval ce_threshold ce_ect1 mtu flows quantum limit
        memory batch alpha beta max_burst mtu_time p_inc p_dec low high weight_log slope_log packet_ns
        rate rtt diffserv isolation overhead mpu framing header ingress wash ack_filter autorate""".split()
    ]


class Outcome(ctypes.Structure):
    """Likewise."""

    _fields_ = [
        ("id", ctypes.c_int64),
        ("marked", ctypes.c_int64),
        ("drops", ctypes.c_int64),
        ("used", ctypes.c_int64),
        ("dropped", ctypes.c_int64 * 4096),
        ("not_before", ctypes.c_int64),
        ("signals", ctypes.c_double * 80),
    ]


class Description(ctypes.Structure):
    """Likewise."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in "flow dscp protocol source destination data number flags has_stamps".split()),
        ("stamps", ctypes.c_int64 * 2),
        ("blocks", ctypes.c_int64 * 6),
    ]

    @classmethod
    def of(cls, packet: dict[str, Any]) -> Description:
        """What CAKE reads of a packet besides its size."""
        hosts, ack = packet.get("hosts", {}), packet.get("ack", {})
        blocks = [number for block in ack.get("blocks", []) for number in block] or [0] * 6
        return cls(
            flow=packet.get("flow", 0),
            dscp=packet.get("dscp", 0),
            protocol=packet.get("protocol", 6) if ack else 17,
            source=hosts.get("source", 0),
            destination=hosts.get("destination", 0),
            data=ack.get("data", 0),
            number=ack.get("number", 0),
            flags=ack.get("flags", 0),
            has_stamps="stamps" in ack,
            stamps=(ctypes.c_int64 * 2)(*ack.get("stamps", [0, 0])),
            blocks=(ctypes.c_int64 * 6)(*blocks),
        )


def cut(text: str, name: str) -> str | None:
    """The definition of a function, a structure, a type, a macro, an enumeration (by its first name) or a table."""
    word = re.escape(name)
    forms = [
        rf"^(?:static|bool|void|int|u32)\b[^\n;{{}}()]*\n?[^\n;{{}}()]*\b{word}\([^;{{}}]*\)\n\{{\n.*?^\}}\n",
        rf"^struct {word} \{{\n.*?^\}};",
        rf"^typedef [^;]*\b{word}\b[^;]*;",
        rf"^#[ \t]*define {word}\b(?:[^\n]*\\\n)*[^\n]*\n",
        rf"^enum (?:\{{\s*{word}\b|{word} \{{)[^}}]*\}};",
        rf"^static [^\n;(){{]*\b{word}(?:\[| [^\n;(){{]*=)[^;]*;",
    ]
    found = (re.search(form, text, re.M | re.S) for form in forms)
    return next((match.group(0) + "\n" for match in found if match), None)


class Missing(Exception):
    """The source has not what is asked of it."""


def translation_unit(source: Path, algorithm: str, cuts: dict[str, str], before: list[Path], glue: Path) -> str:
    """All that is cut for an algorithm, between the stand-ins and the glue."""
    parts = [f"#define KERNEL_{algorithm.upper().replace('-', '_')}\n", *(path.read_text() for path in before)]
    for path, names in cuts.items():
        text = (source / path).read_text(errors="replace")
        for word in names.split():
            name, _, here = word.rstrip("?").partition("=")
            part = cut(text, name)
            if part is None and not word.endswith("?"):
                raise Missing(f"{source / path} has no {name}: this kernel is unknown here, mend CUTS in {__file__}")
            if part and word.endswith("?"):
                parts.append(f"#define HAS_{name}\n")
            parts.append(re.sub(rf"\b{name}\b", here, part) if part and here else part or "")
    return "\n".join([*parts, glue.read_text()])


def unpacked(archive: Path, folder: Path) -> Path:
    """The files that are needed of an archive, in a folder."""
    paths = {path for cuts in (CUTS, shapers.CUTS) for files in cuts.values() for path in files} | {"Makefile"}
    with tarfile.open(archive) as all_of_it:
        for member in all_of_it:
            _, _, path = member.name.removeprefix("./").partition("/")
            if path in paths and (data := all_of_it.extractfile(member)):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(data.read())
                paths.remove(path)
            if not paths:
                break
    return folder


def found(given: str | None) -> Path | None:
    """The source that is asked for, or one that is here."""
    asked = given or os.environ.get("QUELL_LINUX_SOURCE")
    if asked:
        return Path(asked)
    folders = [ROOT / "target/linux-source", Path("/usr/src")]
    here = [path for folder in folders for path in sorted(folder.glob("linux-source-*"), reverse=True)]
    archives = [path for path in here if path.name.endswith((".tar.xz", ".tar.gz", ".tar.bz2"))]
    return next((path for path in [*here, *archives] if path in archives or (path / "net/sched").is_dir()), None)


def version(source: Path) -> str:
    """The version that the source says of itself."""
    text = (source / "Makefile").read_text(errors="replace") if (source / "Makefile").is_file() else ""
    numbers = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) *= *(\d+)", text, re.M))
    return ".".join(numbers.values()) or "of a version that it does not say"


# ---- The adaptor. ----


def integer(size: dict[str, float] | None, otherwise: int) -> int:
    """Bytes or packets of a size in a header."""
    return otherwise if size is None else int(next(iter(size.values())))


def ns(seconds: float) -> int:
    return round(seconds * SECOND)


def log2(x: float) -> int:
    """The logarithm of a power of two."""
    bits = round(x).bit_length() - 1
    assert 2.0**bits == x, x
    return bits


def configured(header: dict[str, Any]) -> Config:
    """What the glue builds for a header."""
    p, link, config = header["parameters"], header["link"], Config()
    size = link["buffer"]
    config.limit_packets = integer(size, 0) if "packets" in size else 1 << 30
    config.limit_bytes = integer(size, 0) if "bytes" in size else 1 << 30
    config.ecn = header["ecn"]
    algorithm = header["algorithm"]
    if algorithm not in ("red", "cake"):
        config.target = ns(p["target"])
    if algorithm in ("codel", "fq-codel"):
        config.interval = ns(p["interval"])
        config.ce_threshold = -1 if p["ce_threshold"] is None else ns(p["ce_threshold"])
        config.mtu = integer(p["mtu"], -1)
    if algorithm == "fq-codel":
        config.ce_ect1 = p["ce_threshold_for"] == "ect1"
        config.flows, config.limit, config.batch = p["flows"], p["limit"], p["drop_batch"]
        config.quantum, config.memory = integer(p["quantum"], 0), integer(p["memory_limit"], 0)
    elif algorithm == "pie":
        config.alpha, config.beta = round(p["alpha"] * 16), round(p["beta"] * 16)
        config.max_burst = ns(p["max_burst"])
    elif algorithm == "cobalt":
        config.interval = ns(p["interval"])
        config.mtu_time = (8 * integer(p["mtu"], 0) * SECOND + link["rate_bps"] // 2) // link["rate_bps"]
        config.p_inc, config.p_dec = round(p["p_inc"] * 2**32), round(p["p_dec"] * 2**32)
    elif algorithm == "cake":
        config.rate = int(p["bandwidth"] or 0) // 8
        config.rtt = ns(p["rtt"])
        config.diffserv, config.isolation = DIFFSERV.index(p["diffserv"]), ISOLATION.index(p["isolation"])
        config.overhead, config.mpu = integer(p["overhead"], 0), integer(p["mpu"], 0)
        config.framing, config.ack_filter = FRAMING.index(p["framing"]), ACK_FILTER.index(p["ack_filter"])
        config.header = 14 if p["layer"] == "ethernet" else 0
        config.ingress, config.wash, config.autorate = p["ingress"], p["wash"], p["autorate_ingress"]
    elif algorithm == "red":
        config.low, config.high = integer(p["min_th"], 0), integer(p["max_th"], 0)
        config.weight_log = log2(1 / p["weight"])
        config.slope_log = log2((config.high - config.low) / p["max_p"])
        config.packet_ns = 8 * link["mean_packet_bytes"] * SECOND // link["rate_bps"]
    return config


def answer(folder: str) -> None:
    """Speaks the protocol."""
    header = json.loads(sys.stdin.readline())

    def say(line: dict[str, Any]) -> None:
        print(json.dumps(line), flush=True)

    algorithm = header["algorithm"]
    if header["vector"] not in VECTORS | KEEPS:
        return say({"skip": "not the kernel's"})
    kernel = ctypes.CDLL(f"{folder}/{algorithm}.so")
    kernel.kernel_start(ctypes.byref(configured(header)))
    say({"ready": True})
    signals = SIGNALS[algorithm]
    if header["parameters"].get("statistics"):
        signals = [f"{tin}_{name}" for tin in TINS[header["parameters"]["diffserv"]] for name in OF_A_TIN]
    for line in sys.stdin:
        event = json.loads(line)
        given = event.get("draws", [])
        # 53 bits of 64.
        numbers = (ctypes.c_uint64 * len(given))(*(int(u * 2**53) << 11 for u in given))
        draws, out = (len(given), numbers), Outcome()
        now, what = ctypes.c_int64(event["t"]), event["do"]
        if what == "enqueue":
            packet = event["packet"]
            ecn = ("notect", "ect1", "ect0", "ce").index(packet.get("ecn", "notect"))
            if algorithm == "cake":
                kernel.kernel_describe(ctypes.byref(Description.of(packet)))
            place = (ctypes.c_int64(packet["id"]), ctypes.c_int64(packet["bytes"]), ecn, event.get("queue", 0))
            kernel.kernel_enqueue(now, *place, *draws, ctypes.byref(out))
        else:
            getattr(kernel, f"kernel_{what}")(now, *draws, ctypes.byref(out))
        reply: dict[str, Any] = {"dropped": out.dropped[: out.drops], "used": out.used}
        if what == "enqueue":
            refused = packet["id"] in reply["dropped"]
            reply["verdict"] = "dropped" if refused else "marked" if out.marked else "queued"
            reply["dropped"] = [one for one in reply["dropped"] if one != packet["id"]]
        elif what == "dequeue":
            reply["marked"] = bool(out.marked)
            if out.id >= 0:
                reply["sent"] = out.id
            elif algorithm == "cake" and out.not_before >= 0:
                reply["not_before"] = out.not_before
        if signals:
            reply["signals"] = dict(zip(signals, out.signals))
        say(reply)


# ---- The test. ----


def unknown(source: Path) -> dict[str, str]:
    """Algorithms that this kernel has in a form that the glue does not know, and why."""
    text = (source / "net/sched/sch_cake.c").read_text(errors="replace")
    return {"cake": "its configuration is apart, for cake_mq"} if "struct cake_sched_config {" in text else {}


def compiled(source: Path, folder: Path) -> None:
    """A library for each algorithm."""
    for algorithm in CUTS.keys() - unknown(source).keys():
        text = folder / f"{algorithm}.c"
        text.write_text(translation_unit(source, algorithm, CUTS[algorithm], [HERE / "stand_ins.h"], HERE / "glue.c"))
        compiler = shlex.split(os.environ.get("CC", "cc"))
        flags = ["-std=gnu11", "-O1", "-w", "-fno-strict-aliasing", "-shared", "-fPIC", "-o"]
        subprocess.run([*compiler, *flags, str(folder / f"{algorithm}.so"), str(text)], check=True)


def vectors_of(source: Path) -> dict[str, set[str]]:
    """The vectors of the dialect that this kernel has."""
    text = cut((source / "include/net/codel_impl.h").read_text(errors="replace"), "codel_dequeue") or ""
    empty = re.search(r"if \(!skb\) \{.*?\}", text, re.S)
    return VECTORS if empty and "first_above_time" in empty.group(0) else KEEPS


def judged(report: dict[str, Any], vectors: dict[str, set[str]]) -> list[str]:
    """What is wrong with a run."""
    wrong = []
    came = {vector["vector"]: vector for vector in report["vectors"]}
    for name, may in vectors.items():
        vector = came.get(name, {"outcome": "not run"})
        if vector["outcome"] != "passed":
            wrong.append(f"{name}: {vector['outcome']}: {vector.get('text', vector)}")
        parts = {warning["part"]: warning for warning in vector.get("warnings", [])}
        wrong += [f"{name}: {part}: {parts[part].get('text', parts[part])}" for part in sorted(parts.keys() - may)]
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", help="the kernel's source: a folder, or an archive")
    parser.add_argument("--quell", default="cargo run --quiet --bin quell --", help="the command (cargo run ...)")
    parser.add_argument("--shapers", help="the program of crates/queue/examples/shapers.rs (built by cargo)")
    parser.add_argument("--only-shapers", action="store_true", help="tbf and htb, and not the vectors")
    args = parser.parse_args()
    source = found(args.source)
    lacks = "a kernel's source (conformance/linux/get.sh)" if source is None else "a C compiler"
    if source is None or not shutil.which(shlex.split(os.environ.get("CC", "cc"))[0]):
        if os.environ.get("QUELL_REQUIRE_LINUX_SOURCE") == "1":
            sys.exit(f"linux: there is not {lacks}, and QUELL_REQUIRE_LINUX_SOURCE asks for it")
        print(f"linux: there is not {lacks}, skipped")
        return
    with tempfile.TemporaryDirectory() as scratch:
        if source.is_file():
            source = unpacked(source, Path(scratch) / "source")
        if args.only_shapers:
            return shaped(source, Path(scratch), args.shapers)
        try:
            compiled(source, Path(scratch))
        except (Missing, OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"linux: {error}")
        vectors = vectors_of(source)
        for algorithm, why in unknown(source).items():
            print(f"linux: {algorithm} is not tested: {why}")
            vectors = {name: may for name, may in vectors.items() if not name.startswith(algorithm + "/")}
        asked = [f"--vector={name}" for name in vectors]
        command = [*shlex.split(args.quell), "conformance", "run", "--format", "json", *asked, "--"]
        adaptor = [sys.executable, str(Path(__file__).resolve()), "answer", scratch]
        ran = subprocess.run([*command, *adaptor], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        if not ran.stdout:
            sys.exit(f"linux: `{shlex.join(command)}` said nothing")
        wrong = judged(json.loads(ran.stdout), vectors)
        if wrong:
            sys.exit("linux: the queues of Linux " + version(source) + " differ:\n" + "\n".join(wrong))
        print(f"linux: {len(vectors)} vectors agree with Linux {version(source)}")
        shaped(source, Path(scratch), args.shapers)


def built_shapers() -> str:
    """The program that runs Quell's shapers."""
    command = "cargo build --quiet --locked --package quell-queue --example shapers --message-format json".split()
    ran = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    made = (json.loads(line).get("executable") for line in ran.stdout.splitlines())
    return next(path for path in made if path)


def shaped(source: Path, folder: Path, quell: str | None) -> None:
    """Shapers and trees against tbf and htb."""
    try:
        compiler = shlex.split(os.environ.get("CC", "cc"))
        linux = shapers.programs(source, folder, translation_unit, compiler)
        count, wrong = shapers.compare(linux, [quell or built_shapers()])
    except (Missing, OSError, RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(f"linux: {error}")
    if wrong:
        sys.exit("linux: the shapers of Linux " + version(source) + " differ:\n" + "\n".join(wrong))
    print(f"linux: {count} runs of tbf and htb agree with Linux {version(source)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["answer"]:
        answer(sys.argv[2])
    else:
        main()
