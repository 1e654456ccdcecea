//! The changes of a scenario on the way, for axes of time.

use quell_metrics::PointInfo;
use quell_scenario::Scenario;
use quell_scenario::format::{Change, Changes, FlowGroup};
use quell_scenario::values::{OneOr, Rtt, RttSpread, When, WhenSpread};
use quell_units::Duration;
use serde::Serialize;

/// Something that changes at a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// The time.
    pub at_s: f64,
    /// The change in a few words: `rate 3 Mbit/s`, `+10 ftp`.
    pub label: String,
}

/// Times of a group's flows that are told one by one; of more, only when the first and the last is.
const MOST_TIMES: usize = 6;

/// Lines of one link that can be told from each other.
const MOST_CHANGES: u64 = 60;

/// Later than at this share of a run nothing can be seen of a change: its line would be the end of the axis. A group
/// that only gives others its number starts so late.
const LATEST: f64 = 0.9999;

/// A change: its time, whose it is (may be empty), and what changes.
type Found = (Duration, String, String);

/// The changes within a point's run, in order: rates and delays of links, flows that start and stop, their
/// round-trip times and rates. Changes at the same time are one event.
pub fn events(point: &PointInfo) -> Vec<Event> {
    let Some(scenario) = Scenario::parse(&point.scenario) else { return Vec::new() };
    let mut found: Vec<Found> = Vec::new();
    let links = scenario.dumbbell.iter().map(|l| (String::new(), &l.changes));
    let links = links.chain(scenario.parking_lot.iter().map(|l| (String::new(), &l.changes)));
    let graph = scenario.graph.iter().flat_map(|g| &g.links);
    let links = links.chain(graph.map(|l| (format!("{}-{}", l.from, l.to), &l.changes)));
    for (name, changes) in links {
        found.extend(of_course(changes, scenario.duration).map(|(at, c)| (at, name.clone(), of_link(c))));
    }
    for group in &scenario.flows {
        of_group(group, &mut found);
    }
    let end = point.segments.last().map_or(f64::INFINITY, |s| s.1);
    // A stable sort: the order of the scenario among equals.
    found.sort_by_key(|(at, ..)| *at);
    let mut events: Vec<Event> = Vec::new();
    for (at, label) in told_once(found) {
        let at_s = at.nanos() as f64 / 1e9;
        match events.last_mut() {
            _ if at_s <= 0.0 || at_s >= LATEST * end => {}
            Some(last) if last.at_s == at_s => last.label = format!("{}, {label}", last.label),
            _ => events.push(Event { at_s, label }),
        }
    }
    events
}

/// Changes in words: what happens to several at the same time is said once, after all of their names.
fn told_once(found: Vec<Found>) -> Vec<(Duration, String)> {
    let mut told: Vec<Found> = Vec::new();
    for (at, who, what) in found {
        let same = |t: &&mut Found| t.0 == at && !who.is_empty() && !t.1.is_empty() && t.2 == what;
        match told.iter_mut().find(same) {
            Some((_, names, _)) => names.push_str(&format!(", {who}")),
            None => told.push((at, who, what)),
        }
    }
    let words = |who: String, what: String| if who.is_empty() { what } else { format!("{who} {what}") };
    told.into_iter().map(|(at, who, what)| (at, words(who, what))).collect()
}

/// The changes of a link and their times, once or over and over; none if they are too many to be lines, or in a
/// file, whose changes mostly are.
fn of_course(changes: &Changes, end: Duration) -> impl Iterator<Item = (Duration, &Change)> {
    let (list, repeat) = match changes {
        Changes::List(list) => (&list[..], None),
        Changes::Course(course) => (course.list.as_deref().unwrap_or_default(), course.repeat),
    };
    let period = repeat.map_or(u64::MAX, |repeat| repeat.nanos().max(1));
    let rounds = end.nanos().div_ceil(period);
    let few = rounds.saturating_mul(list.len() as u64) <= MOST_CHANGES;
    let rounds = if few { rounds } else { 0 };
    (0..rounds).flat_map(move |round| {
        let from = if round == 0 { 0 } else { period.saturating_mul(round) };
        list.iter().map(move |c| (Duration::from_nanos(c.at.nanos().saturating_add(from)), c))
    })
}

fn of_link(change: &Change) -> String {
    let rate = change.rate.map(|r| format!("rate {r}"));
    let delay = change.delay.map(|d| format!("delay {d}"));
    [rate, delay].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn of_group(group: &FlowGroup, found: &mut Vec<Found>) {
    let count = group.count.unwrap_or(1);
    for (sign, when) in [("+", &group.start), ("\u{2212}", &group.stop)] {
        for (at, flows, until) in when.iter().flat_map(|w| times(w, count)) {
            // Sessions come by themselves: their number is not the scenario's.
            let what = match group.sessions_per_second {
                Some(_) => group.name.clone(),
                None => format!("{flows} {}", group.name),
            };
            let until = until.map_or(String::new(), |u| format!(" until {u}"));
            found.push((at, String::new(), format!("{sign}{what}{until}")));
        }
    }
    for change in &group.rtt_changes {
        found.push((change.at, group.name.clone(), format!("RTT {}", of_rtt(&change.rtt))));
    }
    for change in &group.rate_changes {
        found.push((change.at, group.name.clone(), format!("rate {}", change.rate)));
    }
}

/// The times at which flows start or stop, with their numbers, and until when if they are not told one by one.
fn times(when: &When, count: u32) -> Vec<(Duration, u32, Option<Duration>)> {
    let each: Vec<Duration> = match when {
        OneOr::One(at) => return vec![(*at, count, None)],
        OneOr::Spread(WhenSpread::Between([from, to])) => return vec![(*from, count, Some(*to))],
        OneOr::Spread(WhenSpread::Linear(line)) => {
            let at = |i: u32| {
                let nanos = line.step.nanos().saturating_mul(u64::from(i)).saturating_add(line.first.nanos());
                Duration::from_nanos(nanos)
            };
            (0..count).map(at).collect()
        }
        OneOr::Spread(WhenSpread::List(list)) => list.iter().copied().cycle().take(count as usize).collect(),
    };
    let mut each = each;
    each.sort();
    let runs: Vec<&[Duration]> = each.chunk_by(|a, b| a == b).collect();
    match (runs.first(), runs.last()) {
        (Some(first), Some(last)) if runs.len() > MOST_TIMES => vec![(first[0], count, Some(last[0]))],
        _ => runs.iter().map(|run| (run[0], run.len() as u32, None)).collect(),
    }
}

fn of_rtt(rtt: &Rtt) -> String {
    match rtt {
        OneOr::One(one) => one.to_string(),
        OneOr::Spread(RttSpread::Uniform([from, to]) | RttSpread::Grid([from, to])) => {
            format!("{from} to {to}")
        }
        OneOr::Spread(RttSpread::Linear(line)) => format!("from {}", line.first),
        OneOr::Spread(RttSpread::List(list)) => {
            list.iter().map(Duration::to_string).collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(scenario: &str) -> PointInfo {
        PointInfo {
            settings: Vec::new(),
            scenario: scenario.to_string(),
            algorithms: Vec::new(),
            seeds: Vec::new(),
            links: Vec::new(),
            classes: Vec::new(),
            segments: vec![(5.0, 40.0)],
        }
    }

    #[test]
    fn changes_of_links_and_flows_are_told_in_order() {
        let text = r#"
            schema = 1
            duration = "40 s"
            [dumbbell]
            rate = "5 Mbit/s"
            delay = "20 ms"
            buffer = "100 packets"
            changes = [{ at = "20 s", rate = "3 Mbit/s", delay = "40 ms" }, { at = "40 s", rate = "1 Mbit/s" }]
            [[flows]]
            name = "ftp"
            count = 10
            start = "0 s"
            stop = "20 s"
            [[flows]]
            name = "late"
            count = 3
            start = { linear = { first = "10 s", step = "1 s" } }
            [[flows]]
            name = "many"
            count = 30
            start = { between = ["1 s", "2 s"] }
            rtt_changes = [{ at = "30 s", rtt = "100 ms" }]
            [[flows]]
            name = "never"
            start = "39.9999 s"
            [[flows]]
            name = "more"
            rtt_changes = [{ at = "30 s", rtt = "100 ms" }]
        "#;
        let found: Vec<(f64, String)> = events(&point(text)).into_iter().map(|e| (e.at_s, e.label)).collect();
        let expected = [
            (1.0, "+30 many until 2 s"),
            (10.0, "+1 late"),
            (11.0, "+1 late"),
            (12.0, "+1 late"),
            (20.0, "rate 3 Mbit/s, delay 40 ms, \u{2212}10 ftp"),
            (30.0, "many, more RTT 100 ms"),
        ];
        assert_eq!(found, expected.map(|(at, label)| (at, label.to_string())));
    }

    #[test]
    fn what_cannot_be_read_has_no_events() {
        assert!(events(&point("schema = [")).is_empty());
    }
}
