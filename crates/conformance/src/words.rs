//! The place at which an implementation differs, in words.

use std::collections::BTreeMap;
use std::fmt;

use quell_units::Time;

use crate::vector::{Answer, Event, Header, Hosts, Packet, Vector, Verdict, What};

/// The largest error of an internal signal, relative to its value: other orders of operations round
/// differently.
const TOLERANCE: f64 = 1e-6;

/// The first difference between an implementation and the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The vector.
    pub vector: String,
    /// The event's number.
    pub event: u32,
    /// Everything, as lines of text.
    pub text: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Compares an answer with what the reference answered. An implementation whose packets were marked and
/// dropped alike has the same queue, so the first difference is a wrong decision and not the consequence of
/// one.
pub(crate) fn compare(vector: &Vector, number: usize, came: &Answer) -> Result<usize, Difference> {
    let event = &vector.events[number];
    let expected = event.expect.clone().unwrap_or_default();
    let differs = |what: String| difference(vector, number, &what);
    let used = came.used.unwrap_or(0) as usize;
    let decision = match event.what {
        What::Enqueue => {
            came.verdict != expected.verdict || came.cause.is_some_and(|c| Some(c) != expected.cause)
        }
        What::Dequeue => {
            (came.sent, came.marked, came.not_before) != (expected.sent, expected.marked, expected.not_before)
        }
        What::Update | What::Idle => false,
    };
    if decision || came.dropped != expected.dropped {
        return Err(differs(format!(
            "  expected: {}\n  came:     {}",
            said(event, &expected, false),
            said(event, came, true)
        )));
    }
    if used != event.draws.len() {
        return Err(differs(format!(
            "  expected: {} draws are used (\"used\")\n  came:     {used}; the decision is the same",
            event.draws.len()
        )));
    }
    for (name, value) in &came.signals {
        let Some(want) = expected.signals.get(name) else {
            let known: Vec<&str> = vector.header.signals.keys().map(String::as_str).collect();
            return Err(differs(format!(
                "  came: a signal {name:?}, which {} does not have; it has: {}",
                vector.header.algorithm,
                known.join(", ")
            )));
        };
        // False of what is not a number.
        let near = (value - want).abs() <= TOLERANCE * want.abs() + 1e-9;
        if !near {
            return Err(differs(format!(
                "  expected: {name} = {want}{}\n  came:     {name} = {value}; the decision is the same",
                unit(&vector.header, name)
            )));
        }
    }
    Ok(came.signals.len())
}

fn unit(header: &Header, name: &str) -> String {
    match header.signals.get(name).map(String::as_str) {
        None | Some("1") => String::new(),
        Some(unit) => format!(" {unit}"),
    }
}

fn difference(vector: &Vector, number: usize, what: &str) -> Difference {
    let Vector { header, events } = vector;
    let event = &events[number];
    let mut text = format!(
        "{}: event {} of {}, {} at {:.6} s:\n{what}\n",
        header.vector,
        event.event,
        header.events,
        doing(event),
        Time::from_nanos(event.t).as_secs_f64()
    );
    if let [first, rest @ ..] = event.draws.as_slice() {
        let rest: String = rest.iter().map(|u| format!(", {u}")).collect();
        text.push_str(&format!("  draws:    {first}{rest}\n"));
    }
    let signals = |answer: Option<&Answer>| {
        let of = |all: &BTreeMap<String, f64>| {
            all.iter().map(|(name, x)| format!("{name} = {x}{}", unit(header, name))).collect::<Vec<_>>()
        };
        answer.map(|a| of(&a.signals)).unwrap_or_default().join(", ")
    };
    let before = signals(number.checked_sub(1).and_then(|i| events[i].expect.as_ref()));
    if !before.is_empty() {
        text.push_str(&format!("  before:   {before}\n"));
    }
    let after = signals(event.expect.as_ref());
    if !after.is_empty() && after != before {
        text.push_str(&format!("  after:    {after}\n"));
    }
    text.push_str(&format!("  decided by: {}", rule(header, event.what)));
    Difference { vector: header.vector.clone(), event: event.event, text }
}

fn doing(event: &Event) -> String {
    match (event.what, &event.packet) {
        (What::Enqueue, Some(Packet { id, bytes, flow, ecn, hosts, .. })) => {
            let between = match *hosts == Hosts::default() {
                true => String::new(),
                false => format!(", from host {} to {}", hosts.source, hosts.destination),
            };
            let ecn = format!("{ecn:?}").to_lowercase();
            format!("arrival of packet {id} ({bytes} bytes, flow {flow}, {ecn}{between})")
        }
        (What::Enqueue, None) => "arrival".into(),
        (What::Dequeue, _) => "departure".into(),
        (What::Update, _) => "update".into(),
        (What::Idle, _) => "the link is idle".into(),
    }
}

fn said(event: &Event, answer: &Answer, came: bool) -> String {
    let mut text = match event.what {
        What::Enqueue => {
            let verdict = match answer.verdict {
                Some(Verdict::Queued) => "queued",
                Some(Verdict::Marked) => "marked",
                Some(Verdict::Dropped) => "dropped",
                None => "no verdict",
            };
            let cause = answer.cause.map(|c| format!(" ({})", format!("{c:?}").to_lowercase()));
            format!("{verdict}{}", cause.unwrap_or_default())
        }
        What::Dequeue => match (answer.sent, answer.not_before) {
            (Some(id), _) => format!("packet {id} is sent{}", if answer.marked { ", marked" } else { "" }),
            (None, Some(time)) => format!("nothing is sent before {}", Time::from_nanos(time)),
            (None, None) => "nothing is sent".into(),
        },
        What::Update | What::Idle => "nothing is dropped".into(),
    };
    if !answer.dropped.is_empty() {
        let ids: Vec<String> = answer.dropped.iter().map(u32::to_string).collect();
        text.push_str(&format!("; dropped of those that waited: {}", ids.join(", ")));
    } else if !came && event.what == What::Dequeue {
        text.push_str("; none is dropped");
    }
    text
}

/// The rule from which a decision follows, where it can be said more exactly than by the name of the document.
fn rule(header: &Header, what: What) -> String {
    let page = header.algorithm.replace(['-', '+'], "_");
    let rule = match (header.algorithm.as_str(), what) {
        ("codel", What::Dequeue) => {
            "RFC 8289 section 5.5 and 5.6: a packet that has waited for the target or longer, for an interval, \
             with more than an MTU left behind it, begins the drop state; then one each interval / sqrt(count)"
        }
        ("codel", What::Idle) => "RFC 8289 section 5.5: a queue that is empty ends the drop state",
        ("pie", What::Enqueue) => {
            "RFC 8033 section 4.1 (bypass below half of the target or two packets), 4.4 (burst allowance), 5.4 \
             (derandomization: none below an accumulated 0.85, for certain from 8.5) and 5.1 (mark_ecnth)"
        }
        ("pie", What::Update) => {
            "RFC 8033 section 4.2: p += scale(p) (alpha (delay - target) + beta (delay - delay_old)), decay 0.98, \
             and section 5.5, the cap"
        }
        ("red" | "ared", What::Enqueue) => {
            "Floyd and Jacobson 1993, section 4: avg += w (q - avg), aged by (1 - w)^m after idle time; p_b on \
             the line between the thresholds; p_a = p_b / (1 - count p_b); the count restarts with every signal \
             and every loss"
        }
        ("ared", What::Update) => {
            "Floyd et al. 2001, figure 1: max_p + alpha above the band, max_p beta below it"
        }
        ("pi" | "st-pi", What::Update) => {
            "Hollot et al. 2001b, section IV: p += a (q - q_ref) - b (q_old - q_ref), kept in [0, 1]"
        }
        ("pi", What::Enqueue) => "Hollot et al. 2001b: every arrival with probability p, independently",
        ("blue", _) => {
            "Feng et al. 1999b: p + d1 on a loss, p - d2 when the link falls idle, at most once per freeze_time"
        }
        ("drop-tail", _) => "an arrival is dropped if the buffer has no room for it",
        _ => return format!("{}; docs/algorithms/{page}.md", header.source),
    };
    format!("{rule} (docs/algorithms/{page}.md)")
}
