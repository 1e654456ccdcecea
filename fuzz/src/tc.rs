//! The fuzz target of tc's lines and dumps, and of the files of sqm-scripts and systemd-networkd.

use quell_tc::{Kernel, Link, Meaning, Place, links, read, translation, write};
use quell_units::Bytes;

/// Any text is an answer: something is read, or a line is named. What is read can be written, or Linux has no such
/// qdisc; the line, read again, means what it is written for, and is written alike.
pub fn tc(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let dump = read(&text, Kernel::NEWEST);
    assert!(!dump.queues.is_empty() || !dump.classes.is_empty() || !dump.problems.is_empty());
    assert!(dump.problems.iter().all(|problem| problem.line > 0 && !problem.says.is_empty()));
    let _ = (links(&dump), translation(&text));
    for meaning in dump.queues.iter().filter_map(|queue| queue.meaning.as_ref()) {
        // What no line can say is lost once.
        let Some(line) = line(meaning) else { continue };
        let first = again(&line);
        let second = again(&self::line(&first).unwrap_or_default());
        assert_eq!((&first.aqm, first.buffer, first.ecn), (&second.aqm, second.buffer, second.ecn), "{line}");
    }
}

/// The line of a queue; none if Linux cannot have it.
fn line(of: &Meaning) -> Option<String> {
    let link = Link { rate: None, buffer: of.buffer, ecn: of.ecn, mean_packet: Bytes::new(1000) };
    let place = Place::Root { device: "eth0".into() };
    write(&of.aqm, &link, &place, Kernel::NEWEST).ok().map(|written| written.lines.join("\n"))
}

/// The meaning of a line that was written.
fn again(line: &str) -> Meaning {
    let dump = read(line, Kernel::NEWEST);
    assert!(dump.problems.is_empty(), "{line}: {:?}", dump.problems);
    dump.queues.into_iter().find_map(|queue| queue.meaning).unwrap_or_else(|| panic!("{line}: is not read"))
}
