//! Checks of a scenario as a whole.

use std::collections::HashSet;

use quell_aqm::params::Marks;
use quell_sim::network::LinkId;
use quell_units::Duration;

use super::groups::{Group, Population, too_many_flows};
use super::links::LinkPlan;
use super::measure::{ACKS, classes, measure, series_step};
use super::routes::{Frame, Route};
use crate::error::{Problem, require};
use crate::format::{AqmChoice, Scenario};
use crate::limits;
use crate::tree::steps;
use crate::values::{Seeds, Segments};

pub(super) fn basics(s: &Scenario) -> Result<(), Problem> {
    require(s.schema == 1, steps!["schema"], "must be 1, the version of the format that this program reads")?;
    require(!s.duration.is_zero(), steps!["duration"], "must be longer than 0 s")?;
    require(
        s.duration.nanos() / 1_000_000_000 <= limits::SECONDS,
        steps!["duration"],
        format!("must be at most {} s", limits::SECONDS),
    )?;
    require(
        s.warmup < s.duration,
        steps!["warmup"],
        format!("must be shorter than duration ({})", s.duration),
    )?;
    check_segments(s)?;
    let step = series_step(s);
    require(!step.is_zero(), steps!["series_step"], "must be longer than 0 s")?;
    require(
        s.duration.nanos() / step.nanos() <= limits::SAMPLES,
        steps!["series_step"],
        format!("makes more than {} samples in {}", limits::SAMPLES, s.duration),
    )?;
    if let Some([from, to]) = s.steady_state {
        require(to <= s.duration, steps!["steady_state"], format!("must end by duration ({})", s.duration))?;
        require(
            from < to && (to - from).nanos() / step.nanos() >= limits::STEADY_SAMPLES,
            steps!["steady_state"],
            format!(
                "must be a start and an end with at least {} samples between them, one every {step} (series_step)",
                limits::STEADY_SAMPLES
            ),
        )?;
    }
    check_seeds(s)?;
    if let Some(bytes) = s.mean_packet {
        require(
            (1..=65_535).contains(&bytes.get()),
            steps!["mean_packet"],
            "must lie between 1 B and 65535 B",
        )?;
    }
    check_algorithms(s)?;
    require(!s.flows.is_empty(), steps!["flows"], "needs at least one [[flows]] group")?;
    let mut names = HashSet::new();
    for (i, group) in s.flows.iter().enumerate() {
        let ok = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let name = &group.name;
        require(
            !name.is_empty() && name.chars().all(ok),
            steps!["flows", i, "name"],
            "must consist of letters, digits, \"-\" and \"_\"",
        )?;
        require(
            names.insert(name.as_str()),
            steps!["flows", i, "name"],
            "is the name of another group, too",
        )?;
        let field = if group.class.is_some() { "class" } else { "name" };
        let reserved = ["all", "data", ACKS].contains(&group.class()) || group.class().trim().is_empty();
        require(
            !reserved,
            steps!["flows", i, field],
            "cannot be a class: \"all\", \"data\" and \"acks\" are reserved",
        )?;
    }
    Ok(())
}

fn check_segments(s: &Scenario) -> Result<(), Problem> {
    match &s.segments {
        None => Ok(()),
        Some(Segments::Every(length)) => {
            require(!length.is_zero(), steps!["segments"], "must be longer than 0 s")?;
            require(
                (s.duration - s.warmup).nanos() / length.nanos() <= limits::SEGMENTS,
                steps!["segments"],
                format!("makes more than {} segments", limits::SEGMENTS),
            )
        }
        Some(Segments::At(times)) => {
            require(
                times.len() as u64 <= limits::SEGMENTS,
                steps!["segments"],
                format!("makes more than {} segments", limits::SEGMENTS),
            )?;
            let mut before = s.warmup;
            for (i, t) in times.iter().enumerate() {
                require(
                    *t > before && *t < s.duration,
                    steps!["segments", i],
                    format!("must lie after {before} and before the end ({})", s.duration),
                )?;
                before = *t;
            }
            Ok(())
        }
    }
}

fn check_seeds(s: &Scenario) -> Result<(), Problem> {
    if let Seeds::Count(n) = s.seeds {
        require(
            n >= 1 && n as usize <= limits::SEEDS,
            steps!["seeds"],
            format!("must be between 1 and {} (or a list of seeds)", limits::SEEDS),
        )?;
    }
    let seeds = s.seeds.list();
    require(!seeds.is_empty(), steps!["seeds"], "needs at least one seed")?;
    let mut sorted = seeds;
    sorted.sort_unstable();
    let twice = sorted.windows(2).find(|w| w[0] == w[1]).map(|w| w[0]);
    match twice {
        Some(seed) => Err(Problem::new(steps!["seeds"], format!("contains the seed {seed} twice"))),
        None => Ok(()),
    }
}

fn check_algorithms(s: &Scenario) -> Result<(), Problem> {
    require(!s.aqm.is_empty(), steps!["aqm"], "needs at least one [[aqm]]")?;
    let mut labels: Vec<&str> = Vec::new();
    for (i, choice) in s.aqm.iter().enumerate() {
        let field = if choice.label.is_some() { "label" } else { "algorithm" };
        require(!choice.label().trim().is_empty(), steps!["aqm", i, field], "must not be empty")?;
        require(
            !labels.contains(&choice.label()),
            steps!["aqm", i, field],
            "is the label of another algorithm: give this one its own label",
        )?;
        labels.push(choice.label());
    }
    Ok(())
}

/// The groups whose congestion control lives on marks, and that cross no queue that gives some.
pub(super) fn unmarked<'a>(s: &'a Scenario, groups: &[Group], frame: &Frame) -> Vec<&'a str> {
    let shared: Vec<Marks> = s.aqm.iter().map(AqmChoice::marks).collect();
    let marks = |link: &LinkId, ect1: bool| {
        let stations =
            frame.links.get(link.0 as usize).map(|link| link.stations(s.mean_packet.unwrap_or_default()));
        stations.unwrap_or_default().iter().any(|station| {
            let some = || shared.iter().any(|marks| marks.any(ect1));
            station.ecn && station.own.map_or_else(some, |(own, _)| own.marks().any(ect1))
        })
    };
    let is_unmarked = |(g, routes): &(&Group, &Vec<Route>)| {
        let scalable = g.tcp().filter(|tcp| tcp.congestion.is_scalable());
        scalable.is_some_and(|tcp| {
            let marked = |route: &Route| route.there.iter().any(|link| marks(link, tcp.is_l4s()));
            !routes.iter().all(marked)
        })
    };
    let found = groups.iter().zip(&frame.routes).zip(&s.flows).filter(|(group, _)| is_unmarked(group));
    found.map(|(_, g)| g.name.as_str()).collect()
}

/// Refuses more packets of a connection, or of a class at a link, than 32 bits count.
pub(super) fn check_packets(s: &Scenario, groups: &[Group], frame: &Frame) -> Result<(), Problem> {
    let seconds = s.duration.as_secs_f64();
    let (mut tcp, mut udp) = (vec![0.0_f64; frame.links.len()], vec![0.0_f64; frame.links.len()]);
    for (g, routes) in groups.iter().zip(&frame.routes) {
        for route in routes {
            let links =
                route.there.iter().chain(&route.back).map(|&LinkId(link)| &frame.links[link as usize]);
            let way = links.fold(Duration::ZERO, |sum, link| sum + link.least_delay());
            for &LinkId(link) in &route.there {
                let link = link as usize;
                let Some(params) = g.tcp() else {
                    udp[link] += g.offered(seconds);
                    continue;
                };
                // All of a link's rate, or a full window in each of the shortest round trips.
                let fastest = frame.links[link].capacity().values().max().unwrap_or_default();
                let carried = fastest.packets_per_sec(params.wire_bytes());
                let flows = match g.population {
                    Population::Sessions { .. } => f64::INFINITY,
                    Population::Fixed(_) => g.flows(),
                };
                let round = g.shortest_rtt().max(way).as_secs_f64();
                let windows = flows * f64::from(params.max_window) / round;
                tcp[link] = tcp[link].max(carried.min(windows) * seconds);
            }
        }
    }
    for (link, packets) in frame.links.iter().zip(tcp.iter().zip(&udp).map(|(tcp, udp)| tcp + udp)) {
        require(
            packets <= limits::PACKETS,
            steps!["duration"],
            format!(
                "is long enough for about {packets:.0} packets on the link {}, which are numbered up to {}: shorten it, \
                 lower the rate or max_window, or send larger packets",
                link.name,
                limits::PACKETS
            ),
        )?;
    }
    Ok(())
}

/// Refuses more flows, or more figures, than fit into memory.
pub(super) fn check_totals(s: &Scenario, groups: &[Group], frame: &Frame) -> Result<(), Problem> {
    let mut total = 0.0;
    for (i, (g, routes)) in groups.iter().zip(&frame.routes).enumerate() {
        total += g.flows() * routes.len() as f64;
        let field = match g.population {
            Population::Sessions { .. } => "sessions_per_second",
            Population::Fixed(_) => "count",
        };
        require(total <= limits::FLOWS, steps!["flows", i, field], too_many_flows(total))?;
    }
    let classes = classes(s).len();
    let segments = measure(s).segments().len();
    let observed = || frame.links.iter().filter(|l| l.observe);
    let leaves: usize = observed().map(LinkPlan::lanes).sum();
    let links = observed().count();
    let cells = (classes * links + leaves) * segments;
    require(
        cells <= limits::CLASS_SEGMENTS,
        steps!["segments"],
        format!(
            "{segments} segments x {classes} classes x {links} links{} make {cells} delay distributions, which exceeds \
             the limit of {}: use longer segments, or one class for several groups",
            if leaves > 0 { format!(", and {leaves} leaves in each segment,") } else { String::new() },
            limits::CLASS_SEGMENTS
        ),
    )
}
