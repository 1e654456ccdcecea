//! The comparison as text for a terminal.

use std::fmt::Write;

use crate::compare::{Comparison, Row, Verdict, count};

pub fn table(comparisons: &[Comparison]) -> String {
    let mut out = String::new();
    for c in comparisons {
        let _ = writeln!(out, "{}", c.case);
        if let Some(why) = &c.left_out {
            let _ = writeln!(out, "  not compared: {why}");
        }
        for row in &c.rows {
            let _ = writeln!(out, "{}", line(row));
        }
        if let Some(little) = c.little.filter(|l| !l.holds()) {
            let _ = writeln!(out, "  Little's law fails: queue {}, law {}", little.queue, little.law);
        }
    }
    let _ = writeln!(
        out,
        "\n{} inside, {} outside, {} excused",
        count(comparisons, Verdict::Inside),
        count(comparisons, Verdict::Outside),
        count(comparisons, Verdict::Excused)
    );
    out
}

fn line(row: &Row) -> String {
    let mean = |m: crate::compare::Mean| {
        let error = m.error.map_or(String::new(), |e| format!("{:.*}", row.decimals, e));
        format!("{:>9.*} ± {error:<6}", row.decimals, m.value)
    };
    let verdict = match row.verdict {
        Verdict::Inside => "inside",
        Verdict::Outside => "OUTSIDE",
        Verdict::Excused => "excused",
    };
    let percent = match row.ns2.value {
        0.0 => String::new(),
        x => format!("{:+.1} %", 100.0 * row.difference() / x),
    };
    format!(
        "  {:<17} {} {} {:>+9.*} {:>8}  {verdict}",
        row.figure,
        mean(row.ns2),
        mean(row.quell),
        row.decimals,
        row.difference(),
        percent,
    )
}
