//! The place at which an implementation differs, in words.

use std::collections::BTreeMap;
use std::fmt;

use quell_units::Time;

use crate::rules::rule;
use crate::vector::{Answer, Event, Header, Hosts, Packet, Vector, Verdict, What};

/// A difference between an implementation and the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The vector.
    pub vector: String,
    /// The event's number.
    pub event: u32,
    /// The part of the answer that differs.
    pub part: Part,
    /// The answer of the reference, with the number of draws.
    pub expected: Answer,
    /// The answer that came.
    pub came: Answer,
    /// The rule from which the decision follows, in words.
    pub decided_by: String,
    /// Everything, as lines of text.
    pub text: String,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The fate of packets. From here on the queues are not the same.
    Decision,
    /// The cause of a drop that both decided.
    Cause,
    /// The number of draws.
    Draws,
    /// The internal signal of this name.
    Signal(String),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Decision => f.write_str("decision"),
            Part::Cause => f.write_str("cause"),
            Part::Draws => f.write_str("draws"),
            Part::Signal(name) => f.write_str(name),
        }
    }
}

/// Differences of one part that decide nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Warning {
    /// The first of them.
    pub first: Difference,
    /// The number of events that have one.
    pub events: usize,
}

/// An answer with the same decision.
#[derive(Debug, Default)]
pub(crate) struct Agreed {
    /// Internal signals that agree.
    pub(crate) signals: usize,
    /// Parts that do not.
    pub(crate) others: Vec<Difference>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Compares an answer with what the reference answered. An implementation whose packets were marked and
/// dropped alike has the same queue, so the first difference is a wrong decision and not the consequence of
/// one. What it reports beside its decisions may differ without any: each event brings its own draws, so that one
/// draw less, or more, moves no other.
pub(crate) fn compare(vector: &Vector, number: usize, came: &Answer) -> Result<Agreed, Box<Difference>> {
    let event = &vector.events[number];
    let expected = event.expect.clone().unwrap_or_default();
    let differs = |part, what: String| difference(vector, number, part, came, &what);
    let decision = match event.what {
        What::Enqueue => came.verdict != expected.verdict,
        What::Dequeue => {
            (came.sent, came.marked, came.not_before) != (expected.sent, expected.marked, expected.not_before)
        }
        What::Update | What::Idle => false,
    };
    let answers =
        || format!("  expected: {}\n  came:     {}", said(event, &expected, false), said(event, came, true));
    if decision || came.dropped != expected.dropped {
        return Err(Box::new(differs(Part::Decision, answers())));
    }
    let mut agreed = Agreed::default();
    if event.what == What::Enqueue && came.cause.is_some_and(|cause| Some(cause) != expected.cause) {
        agreed.others.push(differs(Part::Cause, format!("{}; the decision is the same", answers())));
    }
    let used = came.used.unwrap_or(0) as usize;
    if used != event.draws.len() {
        let what = format!(
            "  expected: {} draws are used (\"used\")\n  came:     {used}; the decision is the same",
            event.draws.len()
        );
        agreed.others.push(differs(Part::Draws, what));
    }
    for (name, value) in &came.signals {
        let Some(want) = expected.signals.get(name) else {
            let known: Vec<&str> = vector.header.signals.keys().map(String::as_str).collect();
            let what = format!(
                "  came: a signal {name:?}, which {} does not have; it has: {}",
                vector.header.algorithm,
                known.join(", ")
            );
            agreed.others.push(differs(Part::Signal(name.clone()), what));
            continue;
        };
        // False of what is not a number.
        let near = (value - want).abs() <= vector.header.error_of(name, *want);
        if near {
            agreed.signals += 1;
            continue;
        }
        let what = format!(
            "  expected: {name} = {want}{}\n  came:     {name} = {value}; the decision is the same",
            unit(&vector.header, name)
        );
        agreed.others.push(differs(Part::Signal(name.clone()), what));
    }
    Ok(agreed)
}

fn unit(header: &Header, name: &str) -> String {
    match header.signals.get(name).map(String::as_str) {
        None | Some("1") => String::new(),
        Some(unit) => format!(" {unit}"),
    }
}

fn difference(vector: &Vector, number: usize, part: Part, came: &Answer, what: &str) -> Difference {
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
    let decided_by = rule(header, event.what);
    text.push_str(&format!("  decided by: {decided_by}"));
    let used = (!event.draws.is_empty()).then_some(event.draws.len() as u32);
    let expected = Answer { used, ..event.expect.clone().unwrap_or_default() };
    Difference {
        vector: header.vector.clone(),
        event: event.event,
        part,
        expected,
        came: came.clone(),
        decided_by,
        text,
    }
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
