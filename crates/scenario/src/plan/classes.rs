//! The shaper and the classes of traffic between the queues of a link and its transmitter.

use std::collections::HashMap;

use quell_queue::{self as queue, Limit, Refused};
use quell_sim::network::{App, Classifier, FlowSpec, MOST_LEAVES, Traffic};
use quell_units::{BitRate, Bytes, QueueSize};

use super::packets::{check_buffer, check_rate};
use crate::error::{Problem, require};
use crate::format::{AqmChoice, Match, Scenario, TrafficClass};
use crate::tree::Path;
use crate::values::{Any, Shaper};

/// The burst of a class that nobody sets: tc's.
const USUAL_BURST: Bytes = Bytes::new(1600);

/// The most classes of a link, leaves or not.
const MOST_CLASSES: usize = 1000;

/// The classes of a link, each with a number, and where packets wait.
pub(super) struct Classes {
    pub(super) plan: queue::Plan,
    /// In the order of [`queue::Plan::leaves`].
    pub(super) leaves: Vec<Leaf>,
    /// In the order in which they are asked. The last takes all packets.
    pub(super) rules: Vec<Rule>,
}

/// A class in which packets wait.
pub(super) struct Leaf {
    /// The name of its class in the file.
    pub(super) class: String,
    /// It is not the first of several that are alike.
    pub(super) repeated: bool,
    pub(super) buffer: QueueSize,
    /// Its own algorithm and where that is written.
    pub(super) own: Option<(AqmChoice, Path)>,
    /// The most that it may get.
    pub(super) ceil: Option<BitRate>,
}

/// Packets, and the leaves in which they wait: that of number i for the i-th host, and around again.
pub(super) struct Rule {
    groups: Option<Vec<u16>>,
    dscps: Option<Vec<u8>>,
    hosts: Option<Vec<u32>>,
    leaves: Vec<u8>,
    /// The field that is its match; none for the rule that takes all packets.
    pub(super) at: Option<Path>,
}

impl Rule {
    /// The rule that takes all packets.
    pub(super) fn of_all(leaves: Vec<u8>) -> Rule {
        Rule { groups: None, dscps: None, hosts: None, leaves, at: None }
    }

    /// Says whether it takes all packets of a group.
    pub(super) fn takes_all_of(&self, group: u16) -> bool {
        self.groups.as_ref().is_none_or(|groups| groups.contains(&group))
            && self.dscps.is_none()
            && self.hosts.is_none()
    }

    /// The last host that it names, from 1; 0 if it names none.
    pub(super) fn last_host(&self) -> u32 {
        self.hosts.iter().flatten().max().copied().unwrap_or(0)
    }

    /// The leaf of a packet, if the rule takes it: its group, its host within that, from 0, and its DSCP.
    pub(super) fn leaf(&self, group: u16, host: u32, dscp: u8) -> Option<u8> {
        let takes = self.groups.as_ref().is_none_or(|groups| groups.contains(&group))
            && self.dscps.as_ref().is_none_or(|dscps| dscps.contains(&dscp))
            && self.hosts.as_ref().is_none_or(|hosts| hosts.contains(&(host + 1)));
        takes.then(|| self.leaves[host as usize % self.leaves.len()])
    }
}

impl Classes {
    /// The classifier of the flows of a network, each of which is given with its group's number.
    pub(super) fn classifier<'a>(
        &self,
        s: &Scenario,
        flows: impl Iterator<Item = (&'a FlowSpec, u16)>,
    ) -> Classifier {
        let mut rows: Vec<[u8; 64]> = Vec::new();
        let mut numbers: HashMap<[u8; 64], u32> = HashMap::new();
        let mut next = vec![0_u32; s.flows.len()];
        let mut of_flow: Vec<u32> = Vec::new();
        for (flow, group) in flows {
            if let (Traffic::Tcp { app: App::Connection { .. }, .. }, Some(row)) =
                (&flow.traffic, of_flow.last())
            {
                of_flow.push(*row);
                continue;
            }
            let number = &mut next[usize::from(group)];
            let host = s.flows[usize::from(group)].hosts.map_or(*number, |hosts| *number % u32::from(hosts));
            *number += 1;
            let leaf = |dscp: usize| {
                let of = |rule: &Rule| rule.leaf(group, host, dscp as u8);
                self.rules.iter().find_map(of).unwrap_or_default()
            };
            let row: [u8; 64] = std::array::from_fn(leaf);
            let new = rows.len() as u32;
            of_flow.push(*numbers.entry(row).or_insert_with(|| {
                rows.push(row);
                new
            }));
        }
        if rows.is_empty() {
            rows.push([0; 64]);
        }
        Classifier { rows: rows.into(), of_flow: of_flow.into() }
    }
}

/// The shaper that is written at `at`, where packets have up to `largest` bytes.
pub(super) fn shaper(shaper: &Shaper, largest: Bytes, at: &Path) -> Result<queue::Shaper, Problem> {
    let mtu = shaper.mtu.unwrap_or(largest);
    let rule = "requires a peak_rate, of which it is the burst";
    require(shaper.mtu.is_none() || shaper.peak_rate.is_some(), at.then("mtu"), rule)?;
    let built = queue::Shaper {
        rate: shaper.link_layer(),
        burst: shaper.burst,
        peak: shaper.peak_rate.map(|rate| queue::Peak { rate, mtu }),
        limit: shaper.limit.map(Limit::of),
    };
    shaper.limit.map_or(Ok(()), |limit| check_buffer(limit, at.then("limit")))?;
    for (rate, field) in [(Some(shaper.rate), "rate"), (shaper.peak_rate, "peak_rate")] {
        rate.map_or(Ok(()), |rate| check_rate(rate, at.then(field)))?;
    }
    built.check(largest).map_err(|Refused { field, value, rule, fix, .. }| {
        let field = if field == "peak" { "peak_rate" } else { field };
        Problem::new(at.then(field), format!("{rule}; {fix}")).with_value(value)
    })?;
    Ok(built)
}

/// The same classes with every default that is a value.
pub(super) fn completed(classes: &[TrafficClass], largest: Bytes) -> Vec<TrafficClass> {
    let mut all = classes.to_vec();
    for class in &mut all {
        let written = class.rate.is_some() || class.ceil.is_some();
        let ceil = class.ceil.or(class.rate).or_else(|| inherited(classes, class));
        let Some(ceil) = ceil else { continue };
        // What has no rate at the top is refused as it is written.
        if written && class.rate.is_none() && class.parent.is_none() {
            continue;
        }
        (class.rate, class.ceil) = (class.rate.or(Some(BitRate::from_bps(0))), Some(ceil));
        class.burst = class.burst.or(Some(USUAL_BURST.max(largest)));
        class.cburst = class.cburst.or(class.burst);
    }
    all
}

/// The ceiling of the nearest ancestor that has a rate.
fn inherited(classes: &[TrafficClass], class: &TrafficClass) -> Option<BitRate> {
    let mut at = class;
    // No way to the top is longer, unless it is a cycle, which is refused elsewhere.
    for _ in 0..classes.len() {
        let parent = at.parent.as_ref()?;
        at = classes.iter().find(|other| other.name == *parent)?;
        if let Some(ceil) = at.ceil.or(at.rate) {
            return Some(ceil);
        }
    }
    None
}

/// The classes that are written at `at`; `buffer` is that of leaves that have none of their own. None if there are none.
pub(super) fn classes(
    s: &Scenario,
    written: &[TrafficClass],
    largest: Bytes,
    buffer: QueueSize,
    at: &Path,
) -> Result<Option<Classes>, Problem> {
    if written.is_empty() {
        return Ok(None);
    }
    let parents = parents(written, at)?;
    let copies = copies(written, &parents, at)?;
    let is_inner = |i: usize| parents.contains(&Some(i));
    let count = |those: &dyn Fn(usize) -> bool| -> usize {
        (0..written.len()).filter(|i| those(*i)).map(|i| copies[i] as usize).sum()
    };
    let (leaves, all) = (count(&|i| !is_inner(i)), count(&|_| true));
    let rule = format!("make {leaves} leaves, and at most {MOST_LEAVES} are allowed: lower repeat");
    require(leaves <= MOST_LEAVES, at.clone(), rule)?;
    let rule = format!("are {all}, and at most {MOST_CLASSES} are allowed: lower repeat");
    require(all <= MOST_CLASSES, at.clone(), rule)?;
    for (i, class) in written.iter().enumerate() {
        check_class(class, is_inner(i), &at.then(i))?;
    }
    let mut plan = queue::Plan { largest, ..queue::Plan::new(Vec::with_capacity(all)) };
    let mut built = Vec::with_capacity(leaves);
    let mut rules = Vec::new();
    let mut rest = None;
    let mut origins = HashMap::new();
    for (i, class) in completed(written, largest).into_iter().enumerate() {
        let here = at.then(i);
        let first = built.len();
        for copy in 0..copies[i] {
            let parent = parents[i].map(|parent| name(&written[parent], copies[parent], copy));
            let limits = class.rate.zip(class.ceil).map(|(rate, ceil)| queue::Limits {
                rate,
                ceil,
                burst: class.burst.unwrap_or(USUAL_BURST),
                cburst: class.cburst.unwrap_or(USUAL_BURST),
            });
            let name = name(&class, copies[i], copy);
            origins.insert(name.clone(), i);
            let (priority, quantum) = (class.priority, class.quantum);
            plan.classes.push(queue::Class { name, parent, limits, priority, quantum });
            if !is_inner(i) {
                built.push(Leaf {
                    class: class.name.clone(),
                    repeated: copy > 0,
                    buffer: class.buffer.unwrap_or(buffer),
                    own: class.aqm.clone().map(|choice| (choice, here.then("aqm"))),
                    ceil: limits.map(|limits| limits.ceil),
                });
            }
        }
        if is_inner(i) {
            continue;
        }
        let leaves = (first..built.len()).map(|leaf| leaf as u8).collect();
        if class.traffic.is_some() {
            rules.push(matching(s, class.traffic.as_ref(), leaves, &here)?);
            continue;
        }
        if let Some((other, _)) = &rest {
            let other: &TrafficClass = &written[*other];
            let rule = format!(
                "lacks a match: `{}` has none either, and one class takes what no other does; write match = {{ group = \
                 \"{}\" }}",
                other.name,
                s.flows.first().map_or("NAME", |g| g.name.as_str())
            );
            return Err(Problem::new(here, rule).with_value(""));
        }
        rest = Some((i, Rule::of_all(leaves)));
    }
    plan.leaves().map_err(|refused| of_class(&refused, &origins, at))?;
    let Some((_, rest)) = rest else {
        let rule = "need a leaf without a match, which takes what no other does: leave out one match, or add a class";
        return Err(Problem::new(at.clone(), rule).with_value(""));
    };
    rules.push(rest);
    Ok(Some(Classes { plan, leaves: built, rules }))
}

/// The name of a class of several that are alike, as many as `of`.
fn name(class: &TrafficClass, of: u32, copy: u32) -> String {
    if of == 1 { class.name.clone() } else { format!("{}-{}", class.name, copy + 1) }
}

/// The numbers of the parents: names are sound and each is there once.
fn parents(written: &[TrafficClass], at: &Path) -> Result<Vec<Option<usize>>, Problem> {
    let names: Vec<&str> = written.iter().map(|class| class.name.as_str()).collect();
    for (i, name) in names.iter().enumerate() {
        let ok = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let here = at.then(i).then("name");
        let is_sound = !name.is_empty() && name.chars().all(ok);
        require(is_sound, here.clone(), "must consist of letters, digits, \"-\" and \"_\"")?;
        require(
            !names[..i].contains(name),
            here,
            "is the name of another class, too; give each its own name",
        )?;
    }
    let number = |(i, class): (usize, &TrafficClass)| {
        let Some(parent) = &class.parent else { return Ok(None) };
        match names.iter().position(|name| name == parent) {
            Some(number) => Ok(Some(number)),
            None => {
                let here = at.then(i).then("parent");
                Err(Problem::unknown(here, "class", parent, "the classes are", &names))
            }
        }
    };
    written.iter().enumerate().map(number).collect()
}

/// How many there are of each class; one of each if their names or parents are not sound.
pub(crate) fn copies_of(written: &[TrafficClass]) -> Vec<u32> {
    let here = crate::tree::steps![];
    let all = parents(written, &here).and_then(|parents| copies(written, &parents, &here));
    all.unwrap_or_else(|_| vec![1; written.len()])
}

/// How many there are of each class: as many as of its parent, or as it says.
fn copies(written: &[TrafficClass], parents: &[Option<usize>], at: &Path) -> Result<Vec<u32>, Problem> {
    let mut copies = vec![1; written.len()];
    for (i, class) in written.iter().enumerate() {
        let here = at.then(i).then("repeat");
        if let Some(repeat) = class.repeat {
            let rule = format!("must be a whole number from 1 to {MOST_LEAVES}");
            require((1..=MOST_LEAVES as u32).contains(&repeat), here.clone(), rule)?;
        }
        // Up to the first class that says so; a cycle, which is refused elsewhere, has an end here too.
        let (mut above, mut steps) = (i, 0);
        while written[above].repeat.is_none()
            && steps < written.len()
            && let Some(parent) = parents[above]
        {
            (above, steps) = (parent, steps + 1);
        }
        copies[i] = written[above].repeat.unwrap_or(1);
        let parent = class.repeat.and(parents[i]).filter(|parent| repeats(written, parents, *parent));
        if let Some(parent) = parent {
            let rule =
                format!("`{}` above is repeated, and this class with it; leave it out", written[parent].name);
            return Err(Problem::new(here, rule));
        }
    }
    Ok(copies)
}

/// Says whether a class or one above it is repeated.
fn repeats(written: &[TrafficClass], parents: &[Option<usize>], class: usize) -> bool {
    let way = std::iter::successors(Some(class), |at| parents[*at]).take(written.len());
    way.into_iter().any(|at| written[at].repeat.is_some())
}

/// Refuses what a class cannot have.
fn check_class(class: &TrafficClass, is_inner: bool, at: &Path) -> Result<(), Problem> {
    for (rate, field) in [(class.rate, "rate"), (class.ceil, "ceil")] {
        let positive = rate.filter(|rate| rate.bps() > 0);
        positive.map_or(Ok(()), |rate| check_rate(rate, at.then(field)))?;
    }
    if class.ceil.is_some() && class.rate.is_none() && class.parent.is_none() {
        let rule = "requires a rate: a class without a parent borrows from nobody; write rate instead";
        return Err(Problem::new(at.then("ceil"), rule));
    }
    let limited = class.rate.is_some() || class.ceil.is_some();
    for (given, field) in [(class.burst.is_some(), "burst"), (class.cburst.is_some(), "cburst")] {
        require(!given || limited, at.then(field), "requires a rate or a ceil, of which it is the burst")?;
    }
    if is_inner {
        let of_leaf = [
            (class.traffic.is_some(), "match"),
            (class.aqm.is_some(), "aqm"),
            (class.buffer.is_some(), "buffer"),
        ];
        let rule = "belongs to a class without children, where packets wait; write it there";
        return of_leaf.into_iter().try_for_each(|(given, field)| require(!given, at.then(field), rule));
    }
    class.buffer.map_or(Ok(()), |buffer| check_buffer(buffer, at.then("buffer")))
}

/// The rule of what has a match, in the table that is written at `at`.
pub(super) fn matching(
    s: &Scenario,
    found: Option<&Match>,
    leaves: Vec<u8>,
    at: &Path,
) -> Result<Rule, Problem> {
    let at = at.then("match");
    let (group, dscp, host) = (
        found.and_then(|m| m.group.as_ref()),
        found.and_then(|m| m.dscp.as_ref()),
        found.and_then(|m| m.host.as_ref()),
    );
    let rule =
        "must have a group, a dscp or a host; leave it out for the class that takes what no other does";
    require(group.is_some() || dscp.is_some() || host.is_some(), at.clone(), rule)?;
    let names: Vec<&str> = s.flows.iter().map(|g| g.name.as_str()).collect();
    let number = |name: &String| match names.iter().position(|other| other == name) {
        Some(number) => Ok(number as u16),
        None => Err(Problem::unknown(at.then("group"), "group", name, "the groups are", &names)),
    };
    let groups = group.map(|Any(all)| all.iter().map(number).collect::<Result<Vec<_>, _>>()).transpose()?;
    let dscps = dscp.map(|Any(all)| all.clone());
    let hosts = host.map(|Any(all)| all.clone());
    let empty = |list: bool, field| require(!list, at.then(field), "must not be an empty list");
    empty(groups.as_ref().is_some_and(Vec::is_empty), "group")?;
    empty(dscps.as_ref().is_some_and(Vec::is_empty), "dscp")?;
    empty(hosts.as_ref().is_some_and(Vec::is_empty), "host")?;
    let rule = "must be at most 63, such as 46 for EF (RFC 2474 section 3)";
    require(dscps.iter().flatten().all(|dscp| *dscp < 64), at.then("dscp"), rule)?;
    let rule = "must be at least 1: the hosts of each group are numbered from 1";
    require(hosts.iter().flatten().all(|host| *host > 0), at.then("host"), rule)?;
    Ok(Rule { groups, dscps, hosts, leaves, at: Some(at) })
}

/// The problem that the scheduler finds, where it is written.
fn of_class(refused: &Refused, origins: &HashMap<String, usize>, at: &Path) -> Problem {
    let Refused { class, field, value, rule, fix } = refused;
    let number = origins.get(class);
    let path = number.map_or(at.clone(), |number| at.then(*number));
    let field = if *field == "limits" { "rate" } else { field };
    Problem::new(if number.is_some() { path.then(field) } else { path }, format!("{rule}; {fix}"))
        .with_value(value)
}

/// Groups of flows whose packets come to a link, data or acknowledgments, with the number of their hosts.
pub(super) struct Comer {
    pub(super) group: u16,
    pub(super) hosts: u32,
    /// The DSCP of its packets; none where each has its own.
    pub(super) dscp: Option<u8>,
}

/// Notes on classes, which are written at `at`, that no packet of `comers` meets.
pub(super) fn unmet(classes: &Classes, comers: &[Comer], at: &Path) -> Vec<String> {
    // As many hosts as there are leaves, or as matches name.
    let named = classes.rules.iter().map(Rule::last_host).max();
    let most = named.unwrap_or(0).max(MOST_LEAVES as u32);
    let mut met = vec![false; classes.leaves.len()];
    for Comer { group, hosts, dscp } in comers {
        let dscps = dscp.map_or(0..64, |dscp| dscp..dscp + 1);
        for host in 0..(*hosts).min(most) {
            let leaf = |dscp| classes.rules.iter().find_map(|rule| rule.leaf(*group, host, dscp));
            dscps.clone().filter_map(leaf).for_each(|leaf| met[usize::from(leaf)] = true);
        }
    }
    let note = |rule: &Rule| {
        let all = rule.leaves.len();
        let reached = rule.leaves.iter().filter(|leaf| met[usize::from(**leaf)]).count();
        let class = &classes.leaves[usize::from(*rule.leaves.first()?)].class;
        match reached {
            0 if rule.at.is_some() => {
                Some(format!("{at}: no packet meets the match of `{class}`, so it stays empty"))
            }
            n if n < all && n > 0 => Some(format!(
                "{at}: {n} of the {all} leaves `{class}` get packets; {}",
                match rule.hosts {
                    Some(_) => "`match` names hosts, and number i of them is for host i, and around again",
                    None => "groups have no more hosts",
                }
            )),
            _ => None,
        }
    };
    classes.rules.iter().filter_map(note).collect()
}
