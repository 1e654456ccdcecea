//! The links between routers, both directions of each.

use std::sync::Arc;

use quell_aqm::Seed;
use quell_sim::network::{self as sim, Schedule};
use quell_units::{BitRate, Duration, QueueSize, Time};

use super::measure::at;
use super::packets::Finest;
use crate::error::{Problem, require};
use crate::files::{Contents, Loaded};
use crate::format::{AqmChoice, BackAqm, Change, Changes, GraphLink, LinkFields, Scenario};
use crate::limits;
use crate::tree::{Path, steps};
use crate::values::{DelaySpread, OneOr};

/// A link between two routers, before its queue is built.
pub(super) struct LinkPlan {
    pub(super) name: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) rate: Schedule<BitRate>,
    pub(super) delay: Schedule<Duration>,
    /// The draw of its delay; without one, or where nothing is drawn, the delay is as above.
    pub(super) drawn: Option<Drawn>,
    pub(super) loss: f64,
    pub(super) queue: Option<QueuePlan>,
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
    /// The shortest delay that it ever has.
    pub(super) fn least_delay(&self) -> Duration {
        let drawn = self.drawn.as_ref().map(|d| d.between[0]);
        self.delay.values().chain(drawn).min().unwrap_or_default()
    }

    /// Its delay in a replication; without a seed the mean.
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

/// Both directions of a link.
fn duplex(d: Duplex<'_>) -> Result<[LinkPlan; 2], Problem> {
    let link = &d.link;
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
    check_loss(link.loss, d.at.then("loss"))?;
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
    let own = d.aqm.map(|choice| (choice.clone(), d.at.then("aqm")));
    let r = link.reverse;
    match (r.rate, &r.changes) {
        (Some(rate), None) => d.finest.check_lasting(rate, back.then("rate"))?,
        (Some(rate), Some(_)) => d.finest.check(rate, back.then("rate"))?,
        (None, _) => {}
    }
    r.delay.map_or(Ok(()), |delay| check_delay(delay, back.then("delay")))?;
    let own_course = r.changes.as_ref().map(|c| d.course(c, back.then("changes"))).transpose()?;
    let (rate_back, delay_back) = match own_course {
        Some(own) => (
            Schedule::following(r.rate.unwrap_or(link.rate), &own.rate),
            Schedule::following(r.delay.unwrap_or(usual), &own.delay),
        ),
        None => (
            r.rate.map_or(rate.clone(), Schedule::constant),
            r.delay.map_or(delay.clone(), Schedule::constant),
        ),
    };
    r.loss.map_or(Ok(()), |loss| check_loss(loss, back.then("loss")))?;
    r.buffer.map_or(Ok(()), |buffer| check_buffer(buffer, back.then("buffer")))?;
    let own_back = match &r.aqm {
        Some(BackAqm::Same) => own.clone(),
        Some(BackAqm::Own(choice)) => Some((choice.clone(), back.then("aqm"))),
        None => Some((AqmChoice::named("drop-tail"), back.then("aqm"))),
    };
    let [name, name_back] = d.names;
    let [from, to] = d.ends;
    let buffer_back = r.buffer.or(link.buffer);
    if buffer_back.is_none() {
        require(r.aqm.is_none(), back.then("aqm"), "requires a buffer")?;
        require(r.ecn.is_none(), back.then("ecn"), "requires a buffer")?;
    }
    Ok([
        LinkPlan {
            name,
            from: from.clone(),
            to: to.clone(),
            rate,
            delay,
            drawn: drawn.clone(),
            loss: link.loss,
            queue: link.buffer.map(|buffer| QueuePlan { buffer, own, ecn: link.ecn }),
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
            loss: r.loss.unwrap_or(link.loss),
            queue: buffer_back.map(|buffer| QueuePlan {
                buffer,
                own: own_back,
                ecn: r.ecn.unwrap_or(link.ecn),
            }),
            observe: false,
        },
    ])
}

/// The changes of one direction of a link.
struct Way {
    rate: Arc<sim::Changes<BitRate>>,
    delay: Arc<sim::Changes<Duration>>,
}

impl Duplex<'_> {
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
            let Change { at, rate, delay } = *change;
            let sound = before.is_none_or(|b| at > b)
                && at < self.s.duration
                && (rate.is_some() || delay.is_some())
                && rate.is_none_or(|rate| rate.bps() == 0 || self.finest.allows(rate))
                && delay.is_none_or(|delay| delay <= Duration::from_secs(limits::DELAY_SECONDS));
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

    fn way(&self, changes: &Changes) -> Way {
        Way::of(changes, self.s.contents)
    }

    /// Refuses a change that is not sound, which is written at `at`.
    fn check(&self, change: &Change, before: Option<Duration>, at: Path) -> Result<(), Problem> {
        check_change(change.at, before, self.s.duration, at.then("at"))?;
        require(
            change.rate.is_some() || change.delay.is_some(),
            at.clone(),
            "changes nothing: give a rate or a delay",
        )?;
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
                    return Way { rate: file.rate.clone(), delay: file.delay.clone() };
                }
                (course.list.as_deref().unwrap_or(&[]), course.repeat)
            }
        };
        fn follow<T>(list: Vec<(Time, T)>, repeat: Option<Duration>) -> Arc<sim::Changes<T>> {
            Arc::new(match repeat {
                Some(period) => sim::Changes::every(period, list),
                None => sim::Changes::once(list),
            })
        }
        let rates = list.iter().filter_map(|c| Some((at(c.at), c.rate?))).collect();
        let delays = list.iter().filter_map(|c| Some((at(c.at), c.delay?))).collect();
        Way { rate: follow(rates, repeat), delay: follow(delays, repeat) }
    }

    /// Refuses what changes more often than can be simulated.
    fn checked(self, end: Duration, binned: bool, path: &Path) -> Result<Way, Problem> {
        let most = self.rate.count(at(end)).max(self.delay.count(at(end)));
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

fn check_loss(loss: f64, path: Path) -> Result<(), Problem> {
    require((0.0..1.0).contains(&loss), path, "must be a probability from 0 to below 1")
}

fn check_buffer(buffer: QueueSize, path: Path) -> Result<(), Problem> {
    let most = match buffer {
        QueueSize::Packets(_) => QueueSize::Packets(limits::BUFFER_PACKETS),
        QueueSize::Bytes(_) => QueueSize::Bytes(limits::BUFFER_BYTES),
    };
    require(
        buffer.value() >= 1.0 && buffer.value() <= most.value(),
        path,
        format!("must lie between {} and {most}", buffer.with_value(1.0)),
    )
}

/// The rate of a link over time.
pub(super) fn rate_over_time(link: &LinkFields<'_>, contents: &Contents) -> Schedule<BitRate> {
    Schedule::following(link.rate, &Way::of(link.changes, contents).rate)
}
