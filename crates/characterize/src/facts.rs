//! Facts that no scenario shows: stability (RFC 7928 section 8.3), implementation cost (11), and control knobs (12, 13).

use std::time::Instant;

use quell_analysis::{Assessment, Bottleneck};
use quell_aqm::catalog::{AqmConfig, Visitor, find};
use quell_aqm::{Aqm, Departures, Discipline, Ecn, FlowId, Link, Seed};
use quell_queue::{Dropped, Host, Limit, Line, Packet, Queue, Sent};
use quell_scenario::Plugins;
use quell_theory::Plant;
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};
use serde::Serialize;

use crate::candidate::{Candidate, DROP_TAIL};
use crate::plan::Plan;

/// Facts about an algorithm beside its figures.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// Its label.
    pub algorithm: String,
    /// The linear model's verdicts under mild, medium and heavy congestion, where those are run.
    pub stability: Vec<StabilityAt>,
    /// The cost of running it.
    pub cost: Cost,
    /// Its parameters.
    pub knobs: Vec<Knob>,
}

/// The verdict of the linear model at one load.
#[derive(Clone, Debug, Serialize)]
pub struct StabilityAt {
    /// "mild", "medium" or "heavy".
    pub load: &'static str,
    /// The theory's verdict.
    #[serde(flatten)]
    pub assessment: Assessment,
}

/// The cost of an algorithm (RFC 7928 section 11).
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// The place of its decisions, in words.
    pub decides: &'static str,
    /// The number of queues that it manages.
    pub lanes: usize,
    /// The bytes of its state, without tables that it allocates.
    pub state_bytes: usize,
    /// The time between its updates in seconds, if it has a timer.
    pub update_s: Option<f64>,
    /// The time that a packet takes through its queue, over that of drop-tail, measured here side by side.
    pub time_over_drop_tail: f64,
}

/// A parameter (RFC 7928 section 12).
#[derive(Clone, Debug, Serialize)]
pub struct Knob {
    /// Its name.
    pub name: String,
    /// Its value here.
    pub value: String,
    /// Its default.
    pub default: String,
    /// True if it was tuned: section 13 asks that it be said.
    pub tuned: bool,
    /// The source of the default.
    pub source: &'static str,
}

impl Facts {
    /// The facts of every algorithm of a plan, drop-tail first.
    ///
    /// # Errors
    /// Says which algorithm refuses the link. The plan has been checked, so none does.
    pub fn of(plan: &Plan) -> Result<Vec<Facts>, String> {
        let request = &plan.request;
        let drop_tail = Candidate::named(DROP_TAIL)?;
        let mut all: Vec<&Candidate> = vec![&drop_tail];
        for candidate in request.baseline.iter().chain(&request.candidates) {
            if !all.iter().any(|other| other.label == candidate.label) {
                all.push(candidate);
            }
        }
        let mean_packet = Bytes::new(1514);
        let product = request.rate.packets_per_sec(mean_packet) * request.rtt.as_secs_f64();
        let buffer = QueueSize::Packets(product.round().max(20.0));
        let link = Link { rate: request.rate, buffer, mean_packet };
        all.into_iter().map(|candidate| facts(plan, candidate, &link)).collect()
    }
}

fn facts(plan: &Plan, candidate: &Candidate, link: &Link) -> Result<Facts, String> {
    Ok(Facts {
        algorithm: candidate.label.clone(),
        stability: stability(plan, candidate)?,
        cost: cost(&candidate.config, link)?,
        knobs: knobs(candidate),
    })
}

/// Section 8.3. Algorithms without a model have that said of them.
fn stability(plan: &Plan, candidate: &Candidate) -> Result<Vec<StabilityAt>, String> {
    let loads = [("mild", "08_2_2_mild"), ("medium", "08_2_3_medium"), ("heavy", "08_2_4_heavy")];
    let mut found = Vec::new();
    for (load, name) in loads {
        let Some(part) = plan.parts.iter().find(|part| part.section.name == name) else { continue };
        let point = &plan.study.points[part.points.start];
        let bottleneck =
            Bottleneck::of_point(point, None, None, 1, &Plugins::new()).map_err(|e| e.to_string())?;
        let assessment =
            Assessment::of(&candidate.label, &candidate.config, &bottleneck, Plant::Exact, false)
                .map_err(|e| e.to_string())?;
        found.push(StabilityAt { load, assessment });
    }
    Ok(found)
}

/// A visitor that reads an algorithm's own type.
struct Look;

struct TypeFacts {
    decides: &'static str,
    lanes: usize,
    state_bytes: usize,
    update: Option<Time>,
}

impl Visitor for Look {
    type Output = TypeFacts;

    fn visit<A: Aqm + 'static>(self, aqm: A) -> TypeFacts {
        let decides = match aqm.departures() {
            Departures::Ignored => "on arrival",
            Departures::Watched => "on arrival, and watches departures",
            Departures::Decided => "at the head",
        };
        TypeFacts { decides, lanes: 1, state_bytes: size_of::<A>(), update: aqm.next_update() }
    }

    fn visit_discipline<D: Discipline + 'static>(self, discipline: D) -> TypeFacts {
        TypeFacts {
            decides: "on arrival and at the head, and schedules",
            lanes: discipline.lanes(),
            state_bytes: size_of::<D>(),
            update: discipline.next_update(),
        }
    }
}

/// Section 11.
fn cost(config: &AqmConfig, link: &Link) -> Result<Cost, String> {
    let built = config.build(link).map_err(|e| e.to_string())?;
    let TypeFacts { decides, lanes, state_bytes, update } = built.visit(Look);
    Ok(Cost {
        decides,
        lanes,
        state_bytes,
        update_s: update.map(|at| (at - Time::ZERO).as_secs_f64()),
        time_over_drop_tail: time_over_drop_tail(config, link)?,
    })
}

/// A packet that costs nothing.
#[derive(Clone, Copy)]
struct Plain {
    flow: u32,
    ecn: Ecn,
}

impl Packet for Plain {
    fn bytes(&self) -> Bytes {
        Bytes::new(1514)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn flow(&self) -> FlowId {
        FlowId(self.flow)
    }
}

/// Counts what leaves.
struct Counter(u64);

impl Host<Plain> for Counter {
    fn sent(&mut self, _: Sent<Plain>) {
        self.0 += 1;
    }
    fn dropped(&mut self, _: Time, _: Dropped<Plain>) {}
}

/// Packets of one measurement, and measurements, of which the fastest counts.
const PACKETS: u32 = 40_000;
const ROUNDS: usize = 5;

fn time_over_drop_tail(config: &AqmConfig, link: &Link) -> Result<f64, String> {
    let drop_tail = Candidate::named(DROP_TAIL)?.config;
    let (mut own, mut other) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        own = own.min(pass(config, link)?);
        other = other.min(pass(&drop_tail, link)?);
    }
    Ok(own / other)
}

/// The seconds that packets take through a queue that 100 flows offer 1.05 times what it can send, marked so that
/// all algorithms hand on as many.
fn pass(config: &AqmConfig, link: &Link) -> Result<f64, String> {
    let built = config.build(link).map_err(|e| e.to_string())?;
    let limit = Limit::of(link.buffer);
    let queue = Queue::new(built, Seed(1).stream("cost"), limit, true, Some(link.rate));
    let mut line = Line::new(queue, link.rate);
    let gap = Duration::from_secs_f64(1.0 / (1.05 * link.capacity()));
    let mut rng = Seed(1).stream("arrivals");
    let mut now = Time::ZERO;
    let began = Instant::now();
    let mut sent = Counter(0);
    for i in 0..PACKETS {
        now += Duration::from_secs_f64(gap.as_secs_f64() * rng.uniform_in(0.5, 1.5));
        line.run(now, &mut sent);
        let _ = line.arrive(now, Plain { flow: i % 100, ecn: Ecn::Ect0 }, &mut sent);
    }
    std::hint::black_box(sent.0);
    Ok(began.elapsed().as_secs_f64())
}

/// Sections 12 and 13.
fn knobs(candidate: &Candidate) -> Vec<Knob> {
    let Some(entry) = find(candidate.config.name()) else { return Vec::new() };
    let values = toml::Table::try_from(&candidate.config).unwrap_or_default();
    let docs = (entry.params)();
    let knob = |doc: &quell_aqm::params::ParamDoc| {
        let given = candidate.table.get(doc.name);
        let default = if doc.default == "none" { "left out".to_string() } else { doc.default.clone() };
        let value = match (given, values.get(doc.name)) {
            (Some(_), Some(value)) => value.as_str().map_or_else(|| value.to_string(), str::to_string),
            _ => default.clone(),
        };
        let defaults = toml::Table::try_from((entry.default)()).unwrap_or_default();
        let tuned = values.get(doc.name) != defaults.get(doc.name);
        Knob { name: doc.name.to_string(), value, default, tuned, source: doc.source }
    };
    docs.iter().map(knob).collect()
}

/// The rate and the round-trip time that a plan is for, in words.
pub(crate) fn network(rate: BitRate, rtt: Duration) -> String {
    format!(
        "{rate}, {rtt}, packets of 1514 bytes, a buffer of one bandwidth-delay product (at least 20 packets)"
    )
}
