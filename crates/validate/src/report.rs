//! `docs/validation.md`: everything that was compared, in Markdown, and its figures.

use std::collections::BTreeMap;
use std::fmt::Write;

use quell_view::chart::{Chart, Curve, Form, Horizontal, Panel};
use quell_view::picture::{self, Sheet};

use crate::chapter::Chapter;
use crate::compare::{ComparedFigure, Comparison, Standing, count, needed};
use crate::excuse;
use crate::findings::{ChapterFindings, Windows};
use crate::laws::{Law, Laws};

const HEAD: &str = "\
# Validation

`make validate` writes this file: every number in it comes from a run, and the same sources give the same
file. It compares Quell with ns-2 2.35, the simulator of the five source papers; with Linux 7.2, its queues under its
TCP; with ns-3 3.44; and with laws that need no other implementation.
`cargo run --release -p quell-validate -- --chapter linux` runs one chapter.
";

const NS2: &str = "\
### How it is done

`crates/validate/ns2` holds the measurements made with ns-2, the script that made them, and what one must
know about them ([README](../crates/validate/ns2/README.md)). Rules in `crates/validate/src/translate.rs`
turn the script's parameters into a scenario; no rule is made for a single case.
`cargo run --release -p quell-validate -- --scenarios --only R4` prints them as files for `quell run`.

A metric agrees if the means over seeds lie within its band:

| metric | band |
| --- | --- |
| utilization | 1 point |
| loss, marks | 10%; 0.05 points if ns-2 has less than 0.5% |
| mean queue | 10% or 1.5 packets |
| deviation of the queue | 20% or 1.5 packets |

Quell runs each case with 10 seeds, or with 60 where the standard error of a mean over 10 exceeds a fifth of
its band, whatever the mean.

± is one standard error of the mean. Queues are in packets; \"/bytes\" means in bytes over the mean packet.

R2, R4 and R5 are greedy Reno flows under each algorithm; R4-tcp has the other kinds of TCP; R7-mixed adds
web clients, on/off UDP and reverse flows, with queues measured in bytes; TM-S1 and VRC-B2 are
scenarios of the source papers (Trinh and Molnár; Park et al. 2004). The cases X1 to X15 differ from all these in the number of flows,
capacity, round-trip times, buffer and kind of TCP; they were added last, and nothing was changed for
them.

";

const LINUX: &str = "\
### How it is done

`crates/validate/linux` holds what Linux 7.2's own queues and TCP did in virtual time, in which a kernel's processor
is infinitely fast, and how that was measured ([README](../crates/validate/linux/README.md)). Quell runs the same
with `dialect = \"linux\"`, whose hosts [Dialects](dialects.md) lists; the rules are in
`crates/validate/src/linux.rs`, none for a single case.

**S** is one flow under random losses, without a queue that fills (Quell loses with the share that was lost in fact).
**W** is one flow at a buffer of one bandwidth-delay product, whose window both report every 20 ms. **N** are 1, 2 or 5
flows at 50 Mbit/s and 40 ms, **K** 20 flows at 10 Mbit/s and 100 ms, **E** the same with ECN; several flows of **N**, **K**,
**E** and **B** begin within half a round trip, each at a time of its own. **R** are five flows over each of two
round-trip times, **U** five flows beside UDP of half the rate, **B** a flow of BBR beside one of CUBIC, **L** as many DCTCP flows
as CUBIC flows at DualPI2, in a queue each: by its `any_ect`, or all with ECN and DCTCP's packets as ECT(1).

A metric agrees if the means over boots and seeds lie within its band:

| metric | band |
| --- | --- |
| utilization | 1 point |
| loss, marks, goodput, retransmissions | 10% |
| mean queue | 10% or 2 packets |
| deviation of the queue | 20% or 2 packets |
| behavior of a window | 10%; one sample, or one of what is counted |

More rows are measured by the programs and the recipe in `crates/validate/linux/measure`, which its README describes.

A reduction is a fall of the window; falls less than half a second apart count as one. The threshold is slow start's.

";

const NS3: &str = "\
### How it is done

`crates/validate/ns3` holds the program that measured, its results and what one must know about them
([README](../crates/validate/ns3/README.md)): greedy flows with selective acknowledgments and proportional rate
reduction over a dumbbell, with round-trip times from 0.8 to 1.2 of the mean. The rules are in
`crates/validate/src/ns3.rs`. The bands are those of Linux.

";

/// The whole file, from all chapters.
pub fn page(found: &[ChapterFindings]) -> String {
    let chapters = found.iter().map(|f| format!("\n{}", chapter(f)));
    HEAD.to_string() + &chapters.collect::<String>()
}

/// A page in which the chapters that were found replace those of the same name.
///
/// # Errors
/// If the page does not have one of them.
pub fn renewed(page: &str, found: &[ChapterFindings]) -> Result<String, String> {
    found.iter().try_fold(page.to_string(), |page, found| {
        let id = found.chapter.id();
        let (begin, end) = marks(found.chapter);
        let parts = page.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
        let (before, after) = parts.ok_or(format!(
            "it has no chapter {id} between {begin:?} and {end:?}; leave out --chapter to write the whole file"
        ))?;
        Ok(format!("{before}{}{}", chapter(found), after.strip_prefix('\n').unwrap_or(after)))
    })
}

fn marks(chapter: Chapter) -> (String, String) {
    let id = chapter.id();
    (format!("<!-- {id}:begin -->"), format!("<!-- {id}:end -->"))
}

fn chapter(found: &ChapterFindings) -> String {
    let (begin, end) = marks(found.chapter);
    let mut text = format!("{begin}\n");
    let out = &mut text;
    match found.chapter {
        Chapter::Ns2 => {
            out.push_str("## ns-2\n\n");
            summary(out, found, "outside where ns-2 is wrong");
            out.push_str(NS2);
            excuses(out, found, "Where ns-2 is wrong");
            left_out(out, found);
            every_case(out, found);
            little(out, &found.comparisons);
        }
        Chapter::Linux => {
            out.push_str("## Linux\n\n");
            summary(out, found, "outside for a known cause");
            out.push_str(LINUX);
            excuses(out, found, "Where Quell and Linux differ");
            windows(out, &found.windows);
            left_out(out, found);
            every_case(out, found);
        }
        Chapter::Ns3 => {
            out.push_str("## ns-3\n\n");
            summary(out, found, "outside for a known cause");
            out.push_str(NS3);
            excuses(out, found, "Where Quell and ns-3 differ");
            left_out(out, found);
            every_case(out, found);
        }
        Chapter::Laws => {
            out.push_str("## Laws\n\n");
            if let Some(laws) = &found.laws {
                let _ = writeln!(out, "The laws {}.", if laws.hold() { "hold" } else { "do not all hold" });
                throughput(out, laws);
                others(out, laws);
            }
        }
    }
    text + &end + "\n"
}

fn every_case(out: &mut String, found: &ChapterFindings) {
    out.push_str("### Every case\n");
    for comparison in found.comparisons.iter().filter(|c| c.left_out.is_none()) {
        case(out, found.chapter.name(), comparison);
    }
}

fn image_name(windows: &Windows) -> String {
    let setting = &windows.setting;
    format!("validation-window-{}-{}.svg", setting.cc, setting.rate_mbit)
}

fn windows(out: &mut String, all: &[Windows]) {
    out.push_str("### Windows\n\n");
    for windows in all {
        let name = windows.setting.name();
        let _ =
            writeln!(out, "![The window of {name}, in Linux and in Quell](images/{})\n", image_name(windows));
    }
}

/// The figures of the page: name of the file and SVG.
pub fn images(found: &[ChapterFindings]) -> Vec<(String, String)> {
    let image = |windows: &Windows| {
        let [linux, quell] = [&windows.linux, &windows.quell];
        let title = windows.setting.name();
        let chart = Chart {
            title: title.clone(),
            x: Horizontal { label: "time (s)".into(), log: false, names: Vec::new() },
            y: "congestion window (packets)".into(),
            y_factor: 1.0,
            panel_key: String::new(),
            curve_key: "implementation".into(),
            panels: vec![Panel {
                title: String::new(),
                curves: vec![
                    Curve::new("Linux", 0, linux.times(), linux.cwnd.clone()),
                    Curve::new("Quell", 1, quell.times(), quell.cwnd.clone()),
                ],
            }],
            form: Form::OverTime,
            warmup: None,
            events: Vec::new(),
        };
        let description = "The congestion window of one flow, in Linux and in Quell";
        (image_name(windows), picture::chart(&Sheet::new(&title, description), &chart))
    };
    found.iter().flat_map(|f| &f.windows).map(image).collect()
}

fn summary(out: &mut String, found: &ChapterFindings, excused: &str) {
    let (comparisons, name) = (&found.comparisons, found.chapter.name());
    let of = |verdict| count(comparisons, verdict);
    let _ = writeln!(
        out,
        "Of {} metrics of {} cases, {} lie inside their bands, {} outside, and {} {excused}.\n",
        comparisons.iter().map(|c| c.rows.len()).sum::<usize>(),
        comparisons.iter().filter(|c| c.left_out.is_none()).count(),
        of(Standing::Inside),
        of(Standing::Outside),
        of(Standing::Excused),
    );
    let _ = writeln!(out, "Differences from {name}, in percent of its value:\n");
    out.push_str("| metric | values | mean | root mean square |\n| --- | ---: | ---: | ---: |\n");
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
    standings(out, comparisons, "queue", |c| &c.queue);
    standings(out, comparisons, "senders", |c| &c.senders);
    out.push('\n');
}

/// The numbers of figures within and outside their bands, by what cases have in common.
fn standings(out: &mut String, comparisons: &[Comparison], title: &str, of: impl Fn(&Comparison) -> &str) {
    let mut groups: BTreeMap<&str, Vec<&Comparison>> = BTreeMap::new();
    for comparison in comparisons.iter().filter(|c| c.left_out.is_none()) {
        groups.entry(of(comparison)).or_default().push(comparison);
    }
    let _ = writeln!(out, "\n| {title} | cases | inside | outside | excused |");
    out.push_str("| --- | ---: | ---: | ---: | ---: |\n");
    for (name, group) in groups {
        let rows = || group.iter().flat_map(|c| &c.rows);
        let of = |standing| rows().filter(|r| r.verdict == standing).count();
        let [inside, outside, excused] = [Standing::Inside, Standing::Outside, Standing::Excused].map(of);
        let _ = writeln!(out, "| {name} | {} | {inside} | {outside} | {excused} |", group.len());
    }
}

fn excuses(out: &mut String, found: &ChapterFindings, heading: &str) {
    let own: Vec<_> = excuse::all().iter().filter(|e| e.chapter == found.chapter).collect();
    if own.is_empty() {
        return;
    }
    let _ = writeln!(out, "### {heading}\n");
    for excuse in own {
        let _ = writeln!(out, "**{}** ({}).", excuse.cases.join("; "), excuse.figures.join(", "));
        let _ = writeln!(out, "{}", excuse.reason.trim());
        let _ = writeln!(out, "*Evidence:* {}", excuse.evidence.trim());
        if !needed(excuse, &found.comparisons) {
            out.push_str("(All of these metrics lie inside their bands now.)\n");
        }
        out.push('\n');
    }
}

fn left_out(out: &mut String, found: &ChapterFindings) {
    let all: Vec<_> =
        found.comparisons.iter().filter_map(|c| Some((&c.case, c.left_out.as_ref()?))).collect();
    if !all.is_empty() {
        out.push_str("Not compared:\n\n");
        for (case, why) in all {
            let _ = writeln!(out, "- {case}: {why}.");
        }
        out.push('\n');
    }
}

fn case(out: &mut String, name: &str, comparison: &Comparison) {
    let seeds = comparison.rows.first().map_or((0, 0), |r| (r.reference.seeds, r.quell.seeds));
    let _ = writeln!(out, "\n#### {}\n", comparison.case);
    let _ = writeln!(out, "| | {name} ({}) | Quell ({}) | difference | band | |", seeds.0, seeds.1);
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

fn mean(row: &ComparedFigure, m: crate::compare::Mean) -> String {
    let error = m.error.map_or(String::new(), |e| format!(" ± {e:.*}", row.decimals));
    format!("{:.*}{error}", row.decimals, m.value)
}

fn little(out: &mut String, comparisons: &[Comparison]) {
    let all: Vec<_> = comparisons.iter().filter_map(|c| Some((&c.case, c.little?))).collect();
    let holding = all.iter().filter(|(_, l)| l.holds()).count();
    let share = |l: &crate::little::Little| (l.queue / l.law - 1.0).abs();
    let farthest = all.iter().max_by(|a, b| share(&a.1).total_cmp(&share(&b.1)));
    out.push_str("\n### Little's law\n\n");
    let _ = writeln!(
        out,
        "The mean queue, integrated over time, equals the departure rate times the mean waiting time measured packet \
         by packet, except for what waits at the edges of the window. This holds in every run of {holding} of {} \
         cases.",
        all.len(),
    );
    if let Some((case, l)) = farthest {
        let _ = writeln!(
            out,
            "Largest difference: {case}, {:.3} packets against {:.3}; the edges explain up to {:.3}.",
            l.queue, l.law, l.edges
        );
    }
}

fn throughput(out: &mut String, laws: &Laws) {
    out.push_str(
        "\n### TCP's throughput at a given loss\n\n\
         40 flows with a round-trip time of 100 ms share only a wire that loses each packet with probability p. W \
         is the number of packets sent per flow and round trip. The laws: 1.31/√p for losses that are independent \
         of each other (Ott et al. 1996; periodic ones give 1.22/√p), and Padhye et al. 1998 eq. 30 with timeouts \
         of 200 ms. NewReno and SACK must be within 7% of the first up to p = 0.001, where losses are so rare \
         that each is repaired alone; Reno, which halves again for a second loss in a window, within 15%. Beyond \
         that timers matter, and all three must be within 25% of Padhye's formula, which is for Reno and counts \
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
            "| {} | {} | {:.2} | {:.2} | {:+.1}% | {:.2} | {:+.1}% | {verdict} |",
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
        "\n### Sawtooth and synchronization\n\n\
         One flow fills a link of 8 Mbit/s and a buffer of its bandwidth-delay product (100 packets). Its window \
         grows by one packet per round trip up to one more than fits; duplicate acknowledgments report the loss \
         one round trip later, and the repair takes another. 20 flows with equal round-trip times at a drop-tail \
         buffer grow together and lose together; different round-trip times weaken this.\n\n\
         | | measured | law | |\n| --- | ---: | ---: | --- |\n",
    );
    for c in &laws.checks {
        let verdict = match (c.tolerance, c.holds()) {
            (None, _) => "shown".to_string(),
            (Some(t), true) => format!("holds within {:.0}%", 100.0 * t),
            (Some(_), false) => "**fails**".to_string(),
        };
        let _ = writeln!(out, "| {} | {:.3} | {:.3} | {verdict} |", c.what, c.measured, c.law);
    }
}
