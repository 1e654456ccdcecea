//! `docs/validation.md`: everything that was compared, in Markdown.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::compare::{Comparison, Row, Standing, count, needed};
use crate::excuse;
use crate::laws::{Law, Laws};

const HEAD: &str = "\
# Validation

`make validate` writes this file: every figure in it comes from a run, and the same sources give the same
file. It compares Quell with ns-2 2.35, the simulator of the five source papers, and with laws that do not depend on it.

";

const METHOD: &str = "\
## How it is done

`crates/validate/ns2` holds the measurements made with ns-2, the script that made them, and what one must
know about them ([README](../crates/validate/ns2/README.md)). Rules in `crates/validate/src/translate.rs`
turn the script's parameters into a scenario; no rule is made for a single case.
`cargo run --release -p quell-validate -- --scenarios --only R4` prints them as files for `quell run`.

A figure agrees if the means over seeds lie within its band:

| figure | band |
| --- | --- |
| utilization | 1 point |
| loss, marks | 10 %; 0.05 points where ns-2 has less than 0.5 % |
| mean queue | 10 % or 1.5 packets |
| deviation of the queue | 20 % or 1.5 packets |

Quell runs each case with 10 seeds, or with 60 where the standard error of a mean over 10 exceeds a fifth of
its band, whatever the mean.

± is one standard error of the mean. Queues are in packets; \"/bytes\" means in bytes over the mean packet.

R2, R4 and R5 are greedy Reno flows under each algorithm; R4-tcp has the other kinds of TCP; R7-mixed adds
web clients, on/off UDP and reverse flows, with queues measured in bytes; TM-S1 and VRC-B2 are
scenarios of the source papers (Trinh and Molnár; Park et al. 2004). The cases X1 to X15 differ from all these in the number of flows,
capacity, round-trip times, buffer and kind of TCP; they were added last, and nothing was changed for
them.

";

/// The whole file.
pub fn page(comparisons: &[Comparison], laws: &Laws) -> String {
    let mut out = HEAD.to_string();
    summary(&mut out, comparisons, laws);
    out.push_str(METHOD);
    excuses(&mut out, comparisons);
    left_out(&mut out, comparisons);
    out.push_str("## Every case\n");
    for comparison in comparisons.iter().filter(|c| c.left_out.is_none()) {
        case(&mut out, comparison);
    }
    little(&mut out, comparisons);
    throughput(&mut out, laws);
    others(&mut out, laws);
    out
}

fn summary(out: &mut String, comparisons: &[Comparison], laws: &Laws) {
    let of = |verdict| count(comparisons, verdict);
    let _ = writeln!(
        out,
        "Of {} figures of {} cases, {} lie inside their bands, {} outside, and {} outside where ns-2 is wrong. \
         The laws {}.\n",
        comparisons.iter().map(|c| c.rows.len()).sum::<usize>(),
        comparisons.iter().filter(|c| c.left_out.is_none()).count(),
        of(Standing::Inside),
        of(Standing::Outside),
        of(Standing::Excused),
        if laws.hold() { "hold" } else { "do not all hold" },
    );
    out.push_str("Differences from ns-2, in percent of its value:\n\n");
    out.push_str("| figure | figures | mean | root mean square |\n| --- | ---: | ---: | ---: |\n");
    let mut figures: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let rows = comparisons.iter().flat_map(|c| &c.rows);
    for row in rows.filter(|r| r.reference.value > 0.0 && r.verdict != Standing::Excused) {
        figures.entry(row.figure).or_default().push(100.0 * row.difference() / row.reference.value);
    }
    for (figure, differences) in figures {
        let n = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / n;
        let square = (differences.iter().map(|d| d * d).sum::<f64>() / n).sqrt();
        let _ = writeln!(out, "| {figure} | {n} | {mean:+.1} | {square:.1} |");
    }
    out.push('\n');
}

fn excuses(out: &mut String, comparisons: &[Comparison]) {
    out.push_str("## Where ns-2 is wrong\n\n");
    for excuse in excuse::all() {
        let _ = writeln!(out, "**{}** ({}).", excuse.cases.join("; "), excuse.figures.join(", "));
        let _ = writeln!(out, "{}", excuse.reason.trim());
        let _ = writeln!(out, "*Evidence:* {}", excuse.evidence.trim());
        if !needed(excuse, comparisons) {
            out.push_str("(All of these figures lie inside their bands now.)\n");
        }
        out.push('\n');
    }
}

fn left_out(out: &mut String, comparisons: &[Comparison]) {
    let all: Vec<_> = comparisons.iter().filter_map(|c| Some((&c.case, c.left_out.as_ref()?))).collect();
    if !all.is_empty() {
        out.push_str("Not compared:\n\n");
        for (case, why) in all {
            let _ = writeln!(out, "- {case}: {why}.");
        }
        out.push('\n');
    }
}

fn case(out: &mut String, comparison: &Comparison) {
    let seeds = comparison.rows.first().map_or((0, 0), |r| (r.reference.seeds, r.quell.seeds));
    let _ = writeln!(out, "\n### {}\n", comparison.case);
    let _ = writeln!(out, "| | ns-2 ({}) | Quell ({}) | difference | band | |", seeds.0, seeds.1);
    out.push_str("| --- | ---: | ---: | ---: | ---: | --- |\n");
    for row in &comparison.rows {
        let _ = writeln!(
            out,
            "| {}{} | {} | {} | {:+.*} | {:.*} | {} |",
            row.figure,
            if row.unit == "%" { ", %" } else { "" },
            mean(row, row.reference),
            mean(row, row.quell),
            row.decimals,
            row.difference(),
            row.decimals,
            row.band,
            match row.verdict {
                Standing::Inside => "inside",
                Standing::Outside => "**outside**",
                Standing::Excused => "excused",
            },
        );
    }
}

fn mean(row: &Row, m: crate::compare::Mean) -> String {
    let error = m.error.map_or(String::new(), |e| format!(" ± {e:.*}", row.decimals));
    format!("{:.*}{error}", row.decimals, m.value)
}

fn little(out: &mut String, comparisons: &[Comparison]) {
    let all: Vec<_> = comparisons.iter().filter_map(|c| Some((&c.case, c.little?))).collect();
    let holding = all.iter().filter(|(_, l)| l.holds()).count();
    let share = |l: &crate::little::Little| (l.queue / l.law - 1.0).abs();
    let farthest = all.iter().max_by(|a, b| share(&a.1).total_cmp(&share(&b.1)));
    out.push_str("\n## Little's law\n\n");
    let _ = writeln!(
        out,
        "The mean queue, integrated over time, is the rate of departures times the mean of the waits measured \
         packet by packet, except for what waits at the edges of the window. It holds in every run of {holding} of \
         {} cases.",
        all.len(),
    );
    if let Some((case, l)) = farthest {
        let _ = writeln!(
            out,
            "Farthest apart: {case}, {:.3} packets against {:.3}; the edges explain up to {:.3}.",
            l.queue, l.law, l.edges
        );
    }
}

fn throughput(out: &mut String, laws: &Laws) {
    out.push_str(
        "\n## TCP's throughput at a given loss\n\n\
         40 flows with a round-trip time of 100 ms share only a wire that loses each packet with probability p. W \
         is the number of packets sent per flow and round trip. The laws: 1.31/√p for losses that are independent \
         of each other (Ott et al. 1996; periodic ones give 1.22/√p), and Padhye et al. 1998 eq. 30 with timeouts \
         of 200 ms. NewReno and SACK must be within 7 % of the first up to p = 0.001, where losses are so rare \
         that each is repaired alone; Reno, which halves again for a second loss in a window, within 15 %. Beyond \
         that timers matter, and all three must be within 25 % of Padhye's formula, which is for Reno and counts \
         all packets that follow a loss in its round trip as lost: with independent losses at p = 0.1, NewReno and \
         SACK do better. Tahoe starts over from one packet each time, which neither law models: it is shown, not \
         judged.\n\n\
         | TCP | p | W | 1.31/√p | | Padhye | | |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n",
    );
    for w in &laws.windows {
        let verdict = match (w.bound, w.holds()) {
            (None, _) => "shown",
            (_, true) => "holds",
            (_, false) => "**fails**",
        };
        let _ = writeln!(
            out,
            "| {} | {} | {:.2} | {:.2} | {:+.1} % | {:.2} | {:+.1} % | {verdict} |",
            w.recovery,
            w.p,
            w.window,
            w.square_root,
            100.0 * w.against(Law::SquareRoot),
            w.padhye,
            100.0 * w.against(Law::Padhye),
        );
    }
}

fn others(out: &mut String, laws: &Laws) {
    out.push_str(
        "\n## Sawtooth and synchronization\n\n\
         One flow fills a link of 8 Mbit/s and a buffer of its bandwidth-delay product (100 packets). Its window \
         grows by one packet per round trip up to one more than fits; duplicate acknowledgments report the loss \
         one round trip later, and the repair takes another. 20 flows with equal round-trip times at a drop-tail \
         buffer grow together and lose together; different round-trip times weaken this.\n\n\
         | | measured | law | |\n| --- | ---: | ---: | --- |\n",
    );
    for c in &laws.checks {
        let verdict = match (c.tolerance, c.holds()) {
            (None, _) => "shown".to_string(),
            (Some(t), true) => format!("holds within {:.0} %", 100.0 * t),
            (Some(_), false) => "**fails**".to_string(),
        };
        let _ = writeln!(out, "| {} | {:.3} | {:.3} | {verdict} |", c.what, c.measured, c.law);
    }
}
