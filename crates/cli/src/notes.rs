//! Notes on a study that its reader should know before it runs, on stderr.

use quell_scenario::{Hole, Study};

use crate::terminal;

/// Lines about points that are not valid; beyond this they are only counted.
pub const MOST_HOLES: usize = 20;

/// Says on stderr what may surprise in a study, with at most `most` lines about points that are not valid.
pub fn say(study: &Study, most: usize) {
    study.notes().iter().for_each(|note| terminal::note(note));
    say_holes(study, most);
}

/// Says on stderr which points are not valid, in at most `most` lines.
pub fn say_holes(study: &Study, most: usize) {
    let holes = study.holes.len();
    let Some(first) = study.holes.first() else { return };
    let are = if holes == 1 { "is" } else { "are" };
    let what = format!("{holes} of {} points {are} left out", study.points.len() + holes);
    if most == 1 {
        let example = if holes == 1 { "" } else { "such as " };
        terminal::note(&format!("{what}: {example}{}: {}", first.title(), first.reason));
    } else {
        terminal::note(&format!("{what}:\n  {}", Hole::lines(&study.holes, most).join("\n  ")));
    }
}
