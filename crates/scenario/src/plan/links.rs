//! The links between routers, both directions of each.

use std::sync::Arc;

use quell_aqm::Seed;
use quell_queue::Shaper;
use quell_sim::network::{self as sim, Schedule};
use quell_units::{BitRate, Duration, QueueSize};

use super::cell::{self, CellPlan};
use super::classes::{self, Classes};
use super::handovers::HandoverPlan;
use super::measure::at;
use super::packets::{Finest, check_buffer, largest_packet};
use super::wifi::{self, WifiPlan};
use crate::error::{Problem, require};
use crate::files::{Contents, Loaded, follow};
use crate::format::{
    AqmChoice, BackAqm, CellUser, Change, Changes, GraphLink, LinkFields, Scenario, TrafficClass, Wifi,
};
use crate::limits;
use crate::tree::{Path, steps};
use crate::values::{Bursts, DelaySpread, Handovers, Jitter, Loss, OneOr, Shaper as Shaped};

/// A link between two routers, before its queue is built.
pub(super) struct LinkPlan {
    pub(super) name: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) rate: Schedule<BitRate>,
    pub(super) delay: Schedule<Duration>,
    /// The draw of its delay; without one, or where nothing is drawn, the delay is as above.
    pub(super) drawn: Option<Drawn>,
    pub(super) impairments: sim::Impairments,
    pub(super) handovers: Option<HandoverPlan>,
    pub(super) queue: Option<QueuePlan>,
    pub(super) shaper: Option<Shaper>,
    /// Classes that share the link, and where they are written: they take the place of its queue.
    pub(super) classes: Option<(Classes, Path)>,
    /// The users of a cell: then `classes` are theirs, and `rate` is the highest of their rates.
    pub(super) cell: Option<CellPlan>,
    /// The channel that the link is: it takes the place of its queue and of both directions. The link of the other
    /// direction, which follows it, is on no route.
    pub(super) wifi: Option<WifiPlan>,
    pub(super) observe: bool,
}

/// A delay that differs between replications.
#[derive(Clone)]
pub(super) struct Drawn {
    between: [Duration; 2],
    /// The link that it belongs to, in both directions.
    name: String,
}

impl LinkPlan {
    /// The rate at which it can send for long: its own, or that of its shaper or of its classes, if this is lower.
    pub(super) fn capacity(&self) -> Schedule<BitRate> {
        let plan = self.classes.as_ref().map(|(classes, _)| &classes.plan);
        sim::capacity(&self.rate, self.shaper.as_ref(), plan)
    }

    /// The number of its queues that have figures of their own.
    pub(super) fn lanes(&self) -> usize {
        let leaves = self.classes.as_ref().map(|(classes, _)| classes.leaves.len());
        leaves.or(self.wifi.as_ref().map(|wifi| wifi.lanes.len())).unwrap_or(0)
    }

    /// Their names.
    pub(super) fn lane_names(&self) -> Vec<String> {
        if let Some(wifi) = &self.wifi {
            return wifi.lanes.iter().map(|lane| lane.name.clone()).collect();
        }
        let leaves = self.classes.as_ref().and_then(|(classes, _)| classes.plan.leaves().ok());
        leaves.unwrap_or_default().into_iter().map(str::to_string).collect()
    }

    /// The shortest delay that it ever has.
    pub(super) fn least_delay(&self) -> Duration {
        let drawn = self.drawn.as_ref().map(|d| d.between[0]);
        self.delay.values().chain(drawn).min().unwrap_or_default()
    }

    /// Its delay in a replication, without what handovers add; without a seed the mean.
    pub(super) fn delay(&self, seed: Option<Seed>) -> Schedule<Duration> {
        let mut delay = self.delay.clone();
        if let (Some(Drawn { between: [low, high], name }), Some(seed)) = (&self.drawn, seed) {
            let mut rng = seed.stream(&format!("links.{name}.delay"));
            delay.initial = *low + (*high - *low).mul_f64(rng.uniform());
        }
        delay
    }
}

pub(super) struct QueuePlan {
    pub(super) buffer: QueueSize,
    /// Its own algorithm and where that is written; none for the one under comparison.
    pub(super) own: Option<(AqmChoice, Path)>,
    pub(super) ecn: bool,
}

/// The wire of a link between routers, in one direction.
pub struct WireFact {
    /// The link's name.
    pub name: String,
    /// True in the reverse direction.
    pub is_back: bool,
    /// The impairments of its packets.
    pub impairments: sim::Impairments,
    /// True if a shaper lets bursts pass before it.
    pub shaped: bool,
    /// The highest rate at which it sends.
    pub fastest: BitRate,
    /// The shortest delay that it ever has, without jitter.
    pub least_delay: Duration,
    /// True if its delay changes, or differs between replications.
    pub varies: bool,
    /// True if it loses what is sent during outages of handovers, or has handovers at all.
    pub loses: bool,
    /// See `loses`.
    pub handed_over: bool,
}

/// The wires between routers, if the scenario is sound.
pub(crate) fn wires(s: Loaded<'_>) -> Vec<WireFact> {
    let fact = |(i, link): (usize, LinkPlan)| WireFact {
        least_delay: link.least_delay(),
        varies: link.drawn.is_some() || !link.delay.is_constant() || link.handovers.is_some(),
        loses: link.handovers.as_ref().is_some_and(HandoverPlan::loses),
        handed_over: link.handovers.is_some(),
        is_back: i % 2 == 1,
        shaped: link.shaper.is_some(),
        fastest: link.capacity().values().max().unwrap_or_default(),
        name: link.name,
        impairments: link.impairments,
    };
    links(s).unwrap_or_default().into_iter().enumerate().map(fact).collect()
}

/// A link in both directions, and where it is written.
struct Duplex<'a> {
    at: Path,
    names: [String; 2],
    ends: [String; 2],
    link: LinkFields<'a>,
    /// Its algorithm, if it is not one of those that are compared.
    aqm: Option<&'a AqmChoice>,
    s: Loaded<'a>,
    finest: &'a Finest,
}

/// The links of the topology, each in both directions.
pub(super) fn links(s: Loaded<'_>) -> Result<Vec<LinkPlan>, Problem> {
    let mut out = Vec::new();
    let finest = &Finest::of(s);
    match (&s.dumbbell, &s.parking_lot, &s.graph) {
        (Some(d), None, None) => out.extend(duplex(Duplex {
            at: steps!["dumbbell"],
            names: ["bottleneck".into(), "reverse".into()],
            ends: ["r1".into(), "r2".into()],
            link: d.link(),
            aqm: None,
            s,
            finest,
        })?),
        (None, Some(p), None) => {
            require(
                (1..=limits::BOTTLENECKS).contains(&p.bottlenecks),
                steps!["parking_lot", "bottlenecks"],
                format!("must be between 1 and {}", limits::BOTTLENECKS),
            )?;
            for i in 0..p.bottlenecks {
                let [a, b] = [format!("r{i}"), format!("r{}", i + 1)];
                out.extend(duplex(Duplex {
                    at: steps!["parking_lot"],
                    names: [format!("{a}-{b}"), format!("{b}-{a}")],
                    ends: [a, b],
                    link: p.link(),
                    aqm: None,
                    s,
                    finest,
                })?);
            }
        }
        (None, None, Some(g)) => {
            require(!g.links.is_empty(), steps!["graph", "links"], "needs at least one link")?;
            require(
                g.links.len() <= limits::BOTTLENECKS as usize,
                steps!["graph", "links"],
                format!("must be at most {} links", limits::BOTTLENECKS),
            )?;
            for (i, l) in g.links.iter().enumerate() {
                let at = steps!["graph", "links", i];
                require(!l.from.trim().is_empty(), at.then("from"), "must not be empty")?;
                require(!l.to.trim().is_empty(), at.then("to"), "must not be empty")?;
                require(l.from != l.to, at.then("to"), "must not be the node at the other end of the link")?;
                let same =
                    |m: &GraphLink| (m.from == l.from && m.to == l.to) || (m.from == l.to && m.to == l.from);
                require(
                    !g.links[..i].iter().any(same),
                    at,
                    format!("{} and {} are already linked (a link has both directions)", l.from, l.to),
                )?;
                out.extend(duplex(Duplex {
                    at: steps!["graph", "links", i],
                    names: [format!("{}-{}", l.from, l.to), format!("{}-{}", l.to, l.from)],
                    ends: [l.from.clone(), l.to.clone()],
                    link: l.link(),
                    aqm: l.aqm.as_ref(),
                    s,
                    finest,
                })?);
            }
        }
        (None, None, None) => {
            return Err(Problem::new(
                steps![],
                "a topology is missing: give [dumbbell], [parking_lot] or [graph]",
            ));
        }
        _ => {
            let second = if s.graph.is_some() { "graph" } else { "parking_lot" };
            let rule = "there is already a topology: a scenario has exactly one of [dumbbell], [parking_lot] and [graph]";
            return Err(Problem::new(steps![second], rule).with_value(""));
        }
    }
    Ok(out)
}

impl Scenario {
    /// The algorithm that decides at a link in the runs of the algorithm called `label`: the link's own, or that one.
    pub fn algorithm_at(&self, link: &str, label: &str) -> Option<AqmChoice> {
        let links = links(Loaded { scenario: self, contents: &Contents::default() }).ok()?;
        let link = links.into_iter().find(|l| l.name == link)?;
        match link.queue?.own {
            Some((own, _)) => Some(own),
            None => self.aqm.iter().find(|choice| choice.label() == label).cloned(),
        }
    }
}

impl Scenario {
    /// The shaper and the classes of a link, as they are written: of the direction that has this name.
    pub fn served(&self, link: &str) -> (Option<Shaped>, &[TrafficClass]) {
        let row = self.parking_lot.iter().flat_map(|p| {
            (0..p.bottlenecks).map(|i| (format!("r{i}-r{}", i + 1), format!("r{}-r{i}", i + 1), p.link()))
        });
        let dumbbell = self.dumbbell.iter().map(|d| ("bottleneck".into(), "reverse".into(), d.link()));
        let graph = self.graph.iter().flat_map(|graph| &graph.links);
        let graph = graph.map(|l| (format!("{}-{}", l.from, l.to), format!("{}-{}", l.to, l.from), l.link()));
        for (there, back, fields) in dumbbell.chain(row).chain(graph) {
            if there == link {
                return (fields.shaper, fields.classes);
            }
            if back == link {
                return (fields.reverse.shaper, &fields.reverse.classes);
            }
        }
        (None, &[])
    }

    /// True if the link of this name is a channel of Wi-Fi.
    pub fn is_wifi(&self, link: &str) -> bool {
        let all = links(Loaded { scenario: self, contents: &Contents::default() }).unwrap_or_default();
        all.iter().any(|l| l.name == link && l.wifi.is_some())
    }
}

/// An algorithm that decides at a queue of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Decides {
    /// The algorithm, with the parameters that are written.
    pub choice: AqmChoice,
    /// The link, or a class or a user of it, has it whichever algorithms are compared.
    pub is_own: bool,
}

impl Scenario {
    /// The algorithms that decide at the queues of a link in the runs of the algorithm called `label`: one, or that of
    /// each class or user. None are known if the scenario is not sound without its files.
    pub fn algorithms_at(&self, link: &str, label: &str) -> Vec<Decides> {
        let all = links(Loaded { scenario: self, contents: &Contents::default() }).unwrap_or_default();
        let Some(link) = all.into_iter().find(|l| l.name == link) else { return Vec::new() };
        let of_link = link.queue.and_then(|queue| queue.own).map(|(choice, _)| choice);
        let leaves = link.classes.map(|(classes, _)| classes.leaves).unwrap_or_default();
        let mut owns: Vec<_> = leaves.into_iter().map(|leaf| leaf.own.map(|(choice, _)| choice)).collect();
        if owns.is_empty() {
            owns.push(None);
        }
        let decides = |own: Option<AqmChoice>| {
            let own = own.or_else(|| of_link.clone());
            let is_own = own.is_some();
            let choice = own.or_else(|| self.aqm.iter().find(|choice| choice.label() == label).cloned())?;
            Some(Decides { choice, is_own })
        };
        owns.into_iter().filter_map(decides).collect()
    }
}

/// Both directions of a link.
fn duplex(d: Duplex<'_>) -> Result<[LinkPlan; 2], Problem> {
    let link = &d.link;
    let channel = link.wifi.map(|written| d.channel(written)).transpose()?;
    let rate_at = d.at.then("rate");
    match link.changes.is_empty() {
        true => d.finest.check_lasting(link.rate, rate_at)?,
        false => d.finest.check(link.rate, rate_at)?,
    }
    let drawn = match link.delay {
        OneOr::One(_) => None,
        OneOr::Spread(DelaySpread::Uniform([low, high])) => {
            check_delay(high, d.at.then("delay"))?;
            require(low <= high, d.at.then("delay"), "must increase from the first value to the second")?;
            Some(Drawn { between: [low, high], name: d.names[0].clone() })
        }
    };
    let usual = link.delay.mean();
    check_delay(usual, d.at.then("delay"))?;
    check_loss(&link.loss, &d.at.then("loss"))?;
    let back = d.at.then("reverse");
    if let Some(buffer) = link.buffer {
        check_buffer(buffer, d.at.then("buffer"))?;
    } else {
        require(d.aqm.is_none(), d.at.then("aqm"), "requires a buffer")?;
        require(!link.ecn, d.at.then("ecn"), "requires a buffer")?;
    }
    let there = d.course(link.changes, d.at.then("changes"))?;
    let rate = Schedule::following(link.rate, &there.rate);
    let delay = Schedule::following(usual, &there.delay);
    let loss = there.losses(&link.loss, d.at.then("loss"))?;
    let own = d.aqm.map(|choice| (choice.clone(), d.at.then("aqm")));
    let r = link.reverse;
    match (r.rate, &r.changes) {
        (Some(rate), None) => d.finest.check_lasting(rate, back.then("rate"))?,
        (Some(rate), Some(_)) => d.finest.check(rate, back.then("rate"))?,
        (None, _) => {}
    }
    r.delay.map_or(Ok(()), |delay| check_delay(delay, back.then("delay")))?;
    let back_changes = back.then("changes");
    let own_course = r.changes.as_ref().map(|c| d.course(c, back_changes.clone())).transpose()?;
    r.loss.map_or(Ok(()), |loss| check_loss(&loss, &back.then("loss")))?;
    let (rate_back, delay_back, loss_back) = match &own_course {
        Some(own) => (
            Schedule::following(r.rate.unwrap_or(link.rate), &own.rate),
            Schedule::following(r.delay.unwrap_or(usual), &own.delay),
            own.losses(&r.loss.unwrap_or(link.loss), back.then("loss"))?,
        ),
        None => (
            r.rate.map_or(rate.clone(), Schedule::constant),
            r.delay.map_or(delay.clone(), Schedule::constant),
            r.loss.map_or(loss.clone(), |own| losses(&own)),
        ),
    };
    r.buffer.map_or(Ok(()), |buffer| check_buffer(buffer, back.then("buffer")))?;
    let own_back = match &r.aqm {
        Some(BackAqm::Same) => own.clone(),
        Some(BackAqm::Own(choice)) => Some((choice.clone(), back.then("aqm"))),
        None => Some((AqmChoice::named("drop-tail"), back.then("aqm"))),
    };
    let [name, name_back] = d.names.clone();
    let [from, to] = d.ends.clone();
    let buffer_back = r.buffer.or(link.buffer);
    if buffer_back.is_none() {
        require(r.aqm.is_none(), back.then("aqm"), "requires a buffer")?;
        require(r.ecn.is_none(), back.then("ecn"), "requires a buffer")?;
    }
    let largest = largest_packet(d.s);
    let served = |shaper: Option<Shaped>, written: &[TrafficClass], buffer: Option<QueueSize>, at: &Path| {
        let Some(buffer) = buffer else {
            require(shaper.is_none(), at.then("shaper"), "requires a buffer")?;
            require(written.is_empty(), at.then("classes"), "requires a buffer")?;
            return Ok((None, None));
        };
        let shaper_at = at.then("shaper");
        let shaper = shaper.map(|shaper| {
            d.finest.check_lasting(shaper.rate, shaper_at.then("rate"))?;
            classes::shaper(&shaper, largest, &shaper_at)
        });
        let classes_at = at.then("classes");
        let classes = classes::classes(&d.s, written, largest, buffer, &classes_at)?;
        Ok::<_, Problem>((shaper.transpose()?, classes.map(|classes| (classes, classes_at))))
    };
    let (shaper, mut classes) = served(link.shaper, link.classes, link.buffer, &d.at)?;
    let (shaper_back, mut classes_back) = served(r.shaper, &r.classes, buffer_back, &back)?;
    let (mut rate, mut rate_back) = (rate, rate_back);
    let mut cells = [None, None];
    let ways = [
        (link.cell, &d.at, link.buffer, shaper.is_some(), &mut rate, &mut classes),
        (r.cell.as_ref(), &back, buffer_back, shaper_back.is_some(), &mut rate_back, &mut classes_back),
    ];
    for (slot, (written, at, buffer, shaped, rate, classes)) in cells.iter_mut().zip(ways) {
        let Some(written) = written else { continue };
        let at = at.then("cell");
        let rule = "cannot be combined with a shaper or classes: its scheduler takes their place";
        require(!shaped && classes.is_none(), at.clone(), rule)?;
        let Some(buffer) = buffer else { return Err(Problem::new(at, "requires a buffer").with_value("")) };
        let of_user = |user: &CellUser, at: &Path| d.channel_of(user, rate, at);
        let (plan, users) = cell::cell(d.s, written, (largest, buffer), &at, of_user)?;
        *rate = sim::highest(plan.rates.iter(), super::measure::at(d.s.duration));
        *classes = Some((users, at.then("users")));
        *slot = Some(plan);
    }
    let [cell, cell_back] = cells;
    let jitters = [link.jitter, r.jitter.or(link.jitter)];
    let duplicates = [link.duplicate, r.duplicate.or(link.duplicate)].map(Option::unwrap_or_default);
    for (p, at) in [(link.duplicate, &d.at), (r.duplicate, &back)] {
        p.map_or(Ok(()), |p| require((0.0..1.0).contains(&p), at.then("duplicate"), BELOW_1))?;
    }
    let handed = |own: Option<Handovers>, at: &Path, idle: bool, way: Changed<'_>| {
        let Some(own) = own else { return Ok(None) };
        let at = at.then("handovers");
        let (course, changes_at) = way;
        course.written_out(d.s.duration, changes_at)?;
        HandoverPlan::new(own, &d.names[0], d.s.duration, idle, &at).map(Some)
    };
    let changes_at = d.at.then("changes");
    let handovers = handed(link.handovers, &d.at, false, (&there, &changes_at))?;
    let handovers_back = match (&r.handovers, &own_course) {
        (None, None) => handovers.clone(),
        (own, course) => {
            let place = if own.is_some() { &back } else { &d.at };
            let way = course.as_ref().map_or((&there, &changes_at), |own| (own, &back_changes));
            handed(own.or(link.handovers), place, handovers.is_some(), way)?
        }
    };
    let impairments = |loss, way: usize| sim::Impairments {
        loss,
        jitter: jitters[way].filter(|jitter| !jitter.size.is_zero()).map(Into::into),
        duplicate: duplicates[way],
        outages: Default::default(),
    };
    let mut both = [
        LinkPlan {
            name,
            from: from.clone(),
            to: to.clone(),
            rate,
            delay,
            drawn: drawn.clone(),
            impairments: impairments(loss, 0),
            handovers,
            queue: link.buffer.map(|buffer| QueuePlan { buffer, own, ecn: link.ecn }),
            shaper,
            classes,
            cell,
            wifi: None,
            observe: false,
        },
        LinkPlan {
            name: name_back,
            from: to,
            to: from,
            rate: rate_back,
            delay: delay_back,
            // With a delay of its own it takes no part in the other's.
            drawn: drawn.filter(|_| r.delay.is_none()),
            impairments: impairments(loss_back, 1),
            handovers: handovers_back,
            queue: buffer_back.map(|buffer| QueuePlan {
                buffer,
                own: own_back,
                ecn: r.ecn.unwrap_or(link.ecn),
            }),
            shaper: shaper_back,
            classes: classes_back,
            cell: cell_back,
            wifi: None,
            observe: false,
        },
    ];
    if channel.is_some() {
        both[0].wifi = channel;
        both[1].queue = None;
    }
    let places = [&d.at, if r.jitter.is_some() { &back } else { &d.at }];
    for ((plan, jitter), at) in both.iter().zip(jitters).zip(places) {
        jitter.map_or(Ok(()), |jitter| check_jitter(&jitter, plan, &at.then("jitter")))?;
    }
    Ok(both)
}

/// Changes, and where they are written.
type Changed<'a> = (&'a Way, &'a Path);

/// The changes of one direction of a link.
struct Way {
    rate: Arc<sim::Changes<BitRate>>,
    delay: Arc<sim::Changes<Duration>>,
    loss: Arc<sim::Changes<f64>>,
}

impl Duplex<'_> {
    /// The channel that the link is.
    fn channel(&self, written: &Wifi) -> Result<WifiPlan, Problem> {
        let (link, at) = (&self.link, self.at.then("wifi"));
        let Some(buffer) = link.buffer else {
            return Err(
                Problem::new(at, "requires a buffer: that of each queue of the access point").with_value("")
            );
        };
        let others = [
            (link.shaper.is_some(), "shaper", "cannot be before a channel; leave it out"),
            (!link.classes.is_empty(), "classes", "cannot be before a channel; leave them out"),
            (link.cell.is_some(), "cell", "cannot be before a channel; leave it out"),
            (!link.changes.is_empty(), "changes", "cannot change a channel; leave them out"),
            (link.handovers.is_some(), "handovers", "cannot change a channel; leave them out"),
            (
                !link.reverse.is_default(),
                "reverse",
                "has no effect: a channel has one place for both directions; write wifi.uplink for the stations' queues",
            ),
        ];
        for (given, field, rule) in others {
            require(!given, self.at.then(field), rule)?;
        }
        let plan = wifi::wifi(&self.s, written, buffer, &at)?;
        let fastest = plan.channel.stations.iter().map(|station| station.rate).max().unwrap_or_default();
        let rule = format!(
            "must be the rate of the fastest station ({fastest}), to which utilization is relative; leave it out"
        );
        require(link.rate == fastest, self.at.then("rate"), rule)?;
        Ok(plan)
    }

    /// Checks changes, which are written at `path`, and follows them.
    fn course(&self, changes: &Changes, path: Path) -> Result<Way, Problem> {
        let (list, path, repeat) = match changes {
            Changes::List(list) => (&list[..], path, None),
            Changes::Course(course) => {
                if let Some(file) = self.s.contents.changes(course) {
                    if let Some((rate, line)) = file.fastest {
                        let of_line = |p: Problem| Problem {
                            path: path.clone(),
                            value: None,
                            rule: format!("{}:{line}: {rate} {}", file.name, p.rule),
                            ..p
                        };
                        self.finest.check(rate, path.clone()).map_err(of_line)?;
                    }
                    return self.way(changes).checked(self.s.duration, file.bin.is_some(), &path);
                }
                let list = course.list.as_deref().unwrap_or(&[]);
                (list, path.then("list"), course.repeat.map(|r| (r, path.then("repeat"))))
            }
        };
        let mut before = None;
        for (i, change) in list.iter().enumerate() {
            let Change { at, rate, delay, loss } = *change;
            let sound = before.is_none_or(|b| at > b)
                && at < self.s.duration
                && (rate.is_some() || delay.is_some() || loss.is_some())
                && rate.is_none_or(|rate| rate.bps() == 0 || self.finest.allows(rate))
                && delay.is_none_or(|delay| delay <= Duration::from_secs(limits::DELAY_SECONDS))
                && loss.is_none_or(|p| (0.0..1.0).contains(&p));
            // Lists may be long, and what is wrong with a change takes long to say.
            if !sound {
                self.check(change, before, path.then(i))?;
            }
            before = Some(at);
        }
        let Some((period, repeat_path)) = repeat else { return Ok(self.way(changes)) };
        let last = before.unwrap_or_default();
        let rule = format!("must be later than the last change ({last})");
        require(period > last, repeat_path.clone(), rule)?;
        self.way(changes).checked(self.s.duration, false, &repeat_path)
    }

    /// The rate of the channel of a user that is written at `path`, over a link whose rate is `link`.
    fn channel_of(
        &self,
        user: &CellUser,
        link: &Schedule<BitRate>,
        path: &Path,
    ) -> Result<Schedule<BitRate>, Problem> {
        user.rate.map_or(Ok(()), |rate| self.finest.check(rate, path.then("rate")))?;
        let Some(changes) = &user.changes else {
            return Ok(user.rate.map_or_else(|| link.clone(), Schedule::constant));
        };
        let here = path.then("changes");
        let course = self.course(changes, here.clone())?;
        course.written_out(self.s.duration, &here)?;
        let rule = "change more than the rate: delays and losses are those of the link, so leave them out";
        require(course.delay.list().is_empty() && course.loss.list().is_empty(), here, rule)?;
        Ok(Schedule::following(user.rate.unwrap_or(link.initial), &course.rate))
    }

    fn way(&self, changes: &Changes) -> Way {
        Way::of(changes, self.s.contents)
    }

    /// Refuses a change that is not sound, which is written at `at`.
    fn check(&self, change: &Change, before: Option<Duration>, at: Path) -> Result<(), Problem> {
        check_change(change.at, before, self.s.duration, at.then("at"))?;
        require(
            change.rate.is_some() || change.delay.is_some() || change.loss.is_some(),
            at.clone(),
            "changes nothing: give a rate, a delay or a loss",
        )?;
        change.loss.map_or(Ok(()), |p| check_loss(&Loss::Random(p), &at.then("loss")))?;
        change.rate.map_or(Ok(()), |rate| self.finest.check(rate, at.then("rate")))?;
        change.delay.map_or(Ok(()), |delay| check_delay(delay, at.then("delay")))
    }
}

impl Way {
    /// The effect of changes, sound or not. A file that nobody has read, in a scenario that is only looked
    /// at, changes nothing.
    fn of(changes: &Changes, contents: &Contents) -> Way {
        let (list, repeat) = match changes {
            Changes::List(list) => (&list[..], None),
            Changes::Course(course) => {
                if let Some(file) = contents.changes(course) {
                    let (rate, delay, loss) = (file.rate.clone(), file.delay.clone(), file.loss.clone());
                    return Way { rate, delay, loss };
                }
                (course.list.as_deref().unwrap_or(&[]), course.repeat)
            }
        };
        let rates = list.iter().filter_map(|c| Some((at(c.at), c.rate?))).collect();
        let delays = list.iter().filter_map(|c| Some((at(c.at), c.delay?))).collect();
        let losses = list.iter().filter_map(|c| Some((at(c.at), c.loss?))).collect();
        Way { rate: follow(rates, repeat), delay: follow(delays, repeat), loss: follow(losses, repeat) }
    }

    /// The losses that begin as `loss`, which is written at `path`, and change.
    fn losses(&self, loss: &Loss, path: Path) -> Result<sim::Loss, Problem> {
        match loss {
            Loss::Random(p) => Ok(sim::Loss::Random(Schedule::following(*p, &self.loss))),
            _ if self.loss.list().is_empty() => Ok(losses(loss)),
            _ => Err(Problem::new(
                path,
                "must be a probability, such as 0.01, because changes give others later; leave the losses out of \
                 changes to have bursts",
            )),
        }
    }

    /// Refuses more changes than fit into memory, where they are written out because handovers come between them.
    fn written_out(&self, end: Duration, path: &Path) -> Result<(), Problem> {
        let most = self.rate.count(at(end)).max(self.delay.count(at(end)));
        let rule = format!(
            "makes about {most} changes in {end}; at most {} are allowed with handovers or in a cell",
            limits::STEPS
        );
        require(most <= limits::STEPS, path.clone(), rule)
    }

    /// Refuses what changes more often than can be simulated.
    fn checked(self, end: Duration, binned: bool, path: &Path) -> Result<Way, Problem> {
        let most = self.rate.count(at(end)).max(self.delay.count(at(end))).max(self.loss.count(at(end)));
        let help = if binned { "a longer bin" } else { "a longer period" };
        let rule = format!(
            "makes about {most} changes in {end}; at most {} are allowed: use {help}",
            limits::CHANGES
        );
        match most <= limits::CHANGES {
            true => Ok(self),
            false => Err(Problem::new(path.clone(), rule)),
        }
    }
}

/// Changes come one after another, and before the end.
pub(super) fn check_change(
    at: Duration,
    before: Option<Duration>,
    end: Duration,
    path: Path,
) -> Result<(), Problem> {
    require(before.is_none_or(|b| at > b), path.clone(), "must be later than the preceding change")?;
    require(at < end, path, format!("must be before the end ({end})"))
}

fn check_delay(delay: Duration, path: Path) -> Result<(), Problem> {
    let most = Duration::from_secs(limits::DELAY_SECONDS);
    require(delay <= most, path, format!("must be at most {most}"))
}

/// Losses that never change.
fn losses(loss: &Loss) -> sim::Loss {
    match loss.chain().filter(|chain| chain.mean() > 0.0) {
        Some(chain) => sim::Loss::GilbertElliott(chain),
        None => sim::Loss::from(loss.mean()),
    }
}

const BELOW_1: &str = "must be a probability from 0 to below 1, such as 0.01";

fn check_loss(loss: &Loss, path: &Path) -> Result<(), Problem> {
    let Bursts { mean, burst, .. } = match *loss {
        Loss::Random(p) => return require((0.0..1.0).contains(&p), path.clone(), BELOW_1),
        Loss::Bursts(bursts) => bursts,
    };
    if let (Some(mean), Some(burst)) = (mean, burst) {
        require((0.0..1.0).contains(&mean), path.then("mean"), BELOW_1)?;
        let at = path.then("burst");
        require((1.0..=1e9).contains(&burst), at.clone(), "must be a number of packets from 1 to 1e9")?;
        // From one burst to the next there is a packet at least that is not lost.
        let least = mean / (1.0 - mean);
        let rule =
            format!("must be at least mean / (1 - mean) = {least:.3}: shorter bursts leave no room between");
        require(burst >= least, at, rule)?;
        let is_possible = loss.chain().is_none_or(|chain| chain.fault().is_none());
        let rule = "must be at most 0.999999: a link that loses more is none";
        return require(is_possible, path.then("mean"), rule);
    }
    match loss.chain().and_then(|chain| chain.fault()) {
        Some((field, rule)) => Err(Problem::new(path.then("gilbert_elliott").then(field), rule)),
        None => Ok(()),
    }
}

fn check_jitter(jitter: &Jitter, link: &LinkPlan, path: &Path) -> Result<(), Problem> {
    let (least, name) = (link.least_delay(), &link.name);
    let rule =
        format!("must be at most the least delay of {name} ({least}): no packet arrives before it is sent");
    require(jitter.size <= least, path.then("size"), rule)?;
    let rule = "must be a number from 0 to below 1, such as 0.25";
    require((0.0..1.0).contains(&jitter.correlation), path.then("correlation"), rule)
}

/// The rate of a link over time, or that of its shaper or of its classes where it is lower.
pub(super) fn rate_over_time(link: &LinkFields<'_>, contents: &Contents) -> Schedule<BitRate> {
    let own = Schedule::following(link.rate, &Way::of(link.changes, contents).rate);
    match link.is_shaped() || link.cell.is_some() {
        false => own,
        true => own.map(|rate| link.fastest(link.shaped(rate))),
    }
}
