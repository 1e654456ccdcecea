//! The comparison as text for a terminal.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::compare::{ComparedFigure, Standing, count};
use crate::findings::ChapterFindings;
use crate::laws::{Law, Laws};

/// `whole` says whether all cases of the chapters were run.
pub fn table(found: &[ChapterFindings], whole: bool) -> String {
    let mut out = String::new();
    for found in found.iter().filter(|f| !f.comparisons.is_empty()) {
        let _ = writeln!(out, "{}, then Quell\n", found.chapter.name());
        cases(&mut out, found, whole);
    }
    if let Some(laws) = found.iter().find_map(|f| f.laws.as_ref()) {
        self::laws(&mut out, laws);
    }
    let all = |standing| found.iter().map(|f| count(&f.comparisons, standing)).sum::<usize>();
    let _ = writeln!(
        out,
        "\n{} inside, {} outside, {} excused",
        all(Standing::Inside),
        all(Standing::Outside),
        all(Standing::Excused)
    );
    out
}

fn cases(out: &mut String, found: &ChapterFindings, whole: bool) {
    for c in &found.comparisons {
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
    let own = crate::excuse::all().iter().filter(|e| whole && e.chapter == found.chapter);
    for excuse in own.filter(|e| !crate::compare::needed(e, &found.comparisons)) {
        let _ = writeln!(out, "\nno longer needs its excuse: {}", excuse.cases.join("; "));
    }
    out.push('\n');
}

fn laws(out: &mut String, laws: &Laws) {
    out.push_str("window at a loss rate: measured, 1.31/sqrt(p), Padhye\n");
    for w in &laws.windows {
        let verdict = match (w.bound, w.holds()) {
            (None, _) => "shown",
            (_, true) => "holds",
            (_, false) => "FAILS",
        };
        let _ = writeln!(
            out,
            "  {:<8} p {:<7} {:>8.2} {:>8.2} {:>+6.1}% {:>8.2} {:>+6.1}%  {verdict}",
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

fn line(row: &ComparedFigure) -> String {
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
        x => format!("{:+.1}%", 100.0 * row.difference() / x),
    };
    format!(
        "  {:<27} {} {} {:>+9.*} {:>8}  {verdict}",
        row.figure,
        mean(row.reference),
        mean(row.quell),
        row.decimals,
        row.difference(),
        percent,
    )
}
/// The cells of each queue all of whose figures are inside.
pub fn cells(found: &[ChapterFindings]) -> String {
    let mut queues: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for comparison in found.iter().flat_map(|f| &f.comparisons) {
        // What was not run is not inside.
        let inside = comparison.left_out.is_none()
            && !comparison.rows.is_empty()
            && comparison.rows.iter().all(|row| row.verdict == Standing::Inside);
        for queue in [&comparison.queue, "all"] {
            let count = queues.entry(queue).or_default();
            *count = (count.0 + usize::from(inside), count.1 + 1);
        }
    }
    let line = |(queue, (inside, all)): (&str, (usize, usize))| {
        format!("{queue:<10} {inside:>4} of {all:>4} cells\n")
    };
    "\nCells with all metrics inside:\n".to_string() + &queues.into_iter().map(line).collect::<String>()
}
