//! The comparison as text for a terminal.

use std::fmt::Write;

use crate::compare::{Comparison, Row, Standing, count};
use crate::laws::{Law, Laws};

pub fn table(comparisons: &[Comparison], laws: Option<&Laws>) -> String {
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
    let whole = laws.is_some();
    for excuse in crate::excuse::all().iter().filter(|e| whole && !crate::compare::needed(e, comparisons)) {
        let _ = writeln!(out, "\nno longer needs its excuse: {}", excuse.cases.join("; "));
    }
    if let Some(laws) = laws {
        out.push_str("\nwindow at a loss rate: measured, 1.31/sqrt(p), Padhye\n");
        for w in &laws.windows {
            let verdict = match (w.bound, w.holds()) {
                (None, _) => "shown",
                (_, true) => "holds",
                (_, false) => "FAILS",
            };
            let _ = writeln!(
                out,
                "  {:<8} p {:<7} {:>8.2} {:>8.2} {:>+6.1} % {:>8.2} {:>+6.1} %  {verdict}",
                w.recovery,
                w.p,
                w.window,
                w.square_root,
                100.0 * w.against(Law::SquareRoot),
                w.padhye,
                100.0 * w.against(Law::Padhye),
            );
        }
        for c in &laws.checks {
            let verdict = if c.holds() { "holds" } else { "FAILS" };
            let _ = writeln!(out, "{}: {:.3}, law {:.3}  {verdict}", c.what, c.measured, c.law);
        }
    }
    let _ = writeln!(
        out,
        "\n{} inside, {} outside, {} excused",
        count(comparisons, Standing::Inside),
        count(comparisons, Standing::Outside),
        count(comparisons, Standing::Excused)
    );
    out
}

fn line(row: &Row) -> String {
    let mean = |m: crate::compare::Mean| {
        let error = m.error.map_or(String::new(), |e| format!("{:.*}", row.decimals, e));
        format!("{:>9.*} ± {error:<6}", row.decimals, m.value)
    };
    let verdict = match row.verdict {
        Standing::Inside => "inside",
        Standing::Outside => "OUTSIDE",
        Standing::Excused => "excused",
    };
    let percent = match row.reference.value {
        0.0 => String::new(),
        x => format!("{:+.1} %", 100.0 * row.difference() / x),
    };
    format!(
        "  {:<17} {} {} {:>+9.*} {:>8}  {verdict}",
        row.figure,
        mean(row.reference),
        mean(row.quell),
        row.decimals,
        row.difference(),
        percent,
    )
}
