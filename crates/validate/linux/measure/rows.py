#!/usr/bin/env python3
"""Rows of ../results.csv from the results2.csv that collect.py writes: rows.py results2.csv [BLOCK...] > rows.csv"""
import csv
import re
import sys

COLUMNS = (
    "block,qdisc,cc,flows,rate_mbit,rtt_ms,rtt2_ms,apart_ms,asked_loss,limit,seconds,warmup,boot,utilization,"
    "queue_mean,queue_std,loss,goodput_mbps,retransmissions,goodput_c,goodput_l,marks,goodput_1,goodput_2,goodput_tcp,loss_udp,"
    "ecn,variant"
).split(",")

# Where tc was told none; cake's is one of bytes, which is not reached.
DEFAULT_LIMITS = {"dualpi2": "10000", "cake": "20000", "cobalt": "20000"}


def row(r):
    """One boot."""
    block = r["block"]
    limit = re.search(r"parent 1:10 .*limit (\d+)", r["tc_cmds"])
    out = dict.fromkeys(COLUMNS, "")
    for ours, theirs in (
        ("block", "block"), ("qdisc", "qdisc"), ("cc", "cc"), ("flows", "flows"), ("rate_mbit", "rate_mbit"),
        ("rtt_ms", "base_rtt_ms"), ("rtt2_ms", "base_rtt2_ms"), ("apart_ms", "apart_ms"), ("asked_loss", "netem_loss"),
        ("seconds", "dur_s"), ("warmup", "warmup_s"), ("boot", "rep"),
    ):
        out[ours] = r[theirs].removesuffix(".0")
    out["limit"] = limit[1] if limit else DEFAULT_LIMITS.get(r["qdisc"], "")
    packets, drops = float(r["pkts_win"]), float(r["drops_win"])
    loss = "%.6g" % (drops / (packets + drops))
    if block == "S":
        out |= {"loss": loss, "goodput_mbps": r["goodput_mbps"]}
        out["retransmissions"] = "%.6g" % (float(r["retrans"]) / (packets + drops))
        return out
    if block in "WNKL":
        out["goodput_mbps"] = r["goodput_mbps"]
    out |= {"utilization": r["util_link"], "queue_mean": r["qlen_mean_pkts"], "queue_std": r["qlen_sd"]}
    if block == "E":
        out["marks"] = "%.6g" % (float(r["marks_win"]) / packets)
        return out
    out["loss"] = loss
    if block == "G":
        found = re.search(r"_(to2m|offloads)_r\d+$", r["id"])
        out["variant"] = found[1] if found else ""
        if out["variant"] == "to2m":
            # What the link could have sent in the window, at 10 Mbit/s for 9.5 s and at 2 after that.
            out["utilization"] = "%.4g" % (float(r["util_link"]) * 500 / 176)
    if block == "G" and r["ecn"] == "1":
        out["ecn"] = "1"
        out["marks"] = "%.6g" % (float(r["marks_win"] or 0) / packets)
    if block == "L":
        out |= {"goodput_c": r["g1_goodput"], "goodput_l": r["g2_goodput"]}
        if "_remark_" in r["id"]:
            # Its marks say little: the qdisc counts a packet again that its step marks once more.
            out |= {"ecn": "1", "variant": "remark"}
    elif block in ("R", "B"):
        out |= {"goodput_1": r["g1_goodput"], "goodput_2": r["g2_goodput"]}
    elif block == "U":
        out |= {"goodput_tcp": r["g1_goodput"], "loss_udp": r["udp_loss"]}
    return out


rows = [row(r) for r in csv.DictReader(open(sys.argv[1])) if not sys.argv[2:] or r["block"] in sys.argv[2:]]
writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
writer.writeheader()
writer.writerows(rows)
