//! What is to be traced, and what that is in a replication.

use quell_scenario::{Facts, Plan, Plugins, Point, Study};
use quell_sim::network::LinkId;
use quell_sim::trace::{Chosen, TraceRequest};
use quell_units::Duration;

/// The traces that a run is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceOptions {
    /// The state of senders over time: `flow_trace.parquet`.
    pub flows: bool,
    /// Each packet at the chosen links: `packet_trace.parquet`.
    pub packets: bool,
    /// The time between two samples of a sender; `None`: one after each change.
    pub step: Option<Duration>,
    /// The flows that are traced, by the name of their group or by number; empty: all.
    pub of_flows: Vec<String>,
    /// The links whose packets are traced, by name; empty: all that are measured.
    pub links: Vec<String>,
    /// The first so many seeds of each algorithm at each point are traced.
    pub seeds: usize,
    /// The needs of an [`Exporter`](crate::Exporter), beside the tables.
    pub export: Export,
}

/// The needs of an [`Exporter`](crate::Exporter), and the room that its files take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Export {
    /// Senders, with each packet that they send and lose.
    pub senders: bool,
    /// Packets at links.
    pub packets: bool,
    /// Bytes for each packet of data at a sender.
    pub bytes_per_sent: f64,
    /// Bytes for each packet at a link that it comes to and leaves.
    pub bytes_per_packet: f64,
}

/// A trace that was asked for cannot be made; says what is wrong, and what helps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TraceError(String);

impl TraceOptions {
    /// Returns whether anything is asked for.
    pub fn any(&self) -> bool {
        self.flows || self.packets || self.export.senders || self.export.packets
    }

    /// The request for a replication whose plan is known.
    ///
    /// # Errors
    /// If a flow or a link is not there.
    pub fn request(&self, plan: &Plan) -> Result<TraceRequest, TraceError> {
        let flows = self.chosen_flows(&plan.facts)?;
        let (mut links, mut wrong) = (Chosen::None, None);
        let (senders, packets) = (self.flows || self.export.senders, self.packets || self.export.packets);
        if packets {
            let observed =
                |name: &str| plan.network.links.iter().position(|link| link.observe && link.name == name);
            links = match self.links.as_slice() {
                [] => Chosen::All,
                names => Chosen::These(
                    names
                        .iter()
                        .filter_map(|name| {
                            let found = observed(name).map(|i| LinkId(i as u32));
                            wrong = wrong.take().or(found.is_none().then_some(name));
                            found
                        })
                        .collect(),
                ),
            };
        }
        if let Some(name) = wrong {
            let there: Vec<&str> =
                plan.network.links.iter().filter(|l| l.observe).map(|l| l.name.as_str()).collect();
            return Err(TraceError(format!(
                "\"{name}\" is not a measured link; the links are {}",
                there.join(", ")
            )));
        }
        if packets && let Some(why) = plan.network.untraceable() {
            return Err(TraceError(why));
        }
        let none = Chosen::None;
        Ok(TraceRequest {
            senders: if senders { flows.clone() } else { none.clone() },
            step: self.step,
            events: self.export.senders,
            links,
            packets: if packets { flows } else { none },
        })
    }

    fn chosen_flows(&self, facts: &Facts) -> Result<Chosen<u32>, TraceError> {
        if self.of_flows.is_empty() {
            return Ok(Chosen::All);
        }
        let mut chosen = Vec::new();
        for name in &self.of_flows {
            let of_group = facts.groups.iter().position(|group| group == name);
            let before = chosen.len();
            match (of_group, name.parse::<u32>()) {
                (Some(group), _) => {
                    let flows = (0..).zip(&facts.flows).filter(|(_, f)| usize::from(f.group) == group);
                    chosen.extend(flows.map(|(i, _)| i));
                }
                (None, Ok(number)) if (number as usize) < facts.flows.len() => chosen.push(number),
                _ => {}
            }
            if chosen.len() == before {
                return Err(TraceError(format!(
                    "\"{name}\" is neither a group with flows nor the number of a flow; the groups are {}, and the \
                     flows have the numbers 0 to {}",
                    facts.groups.join(", "),
                    facts.flows.len().saturating_sub(1)
                )));
            }
        }
        chosen.sort_unstable();
        chosen.dedup();
        Ok(Chosen::These(chosen))
    }

    /// Finds what is wrong with it in a study, before anything runs.
    ///
    /// # Errors
    /// If a flow or a link is not there, or a step is zero.
    pub fn check(&self, study: &Study) -> Result<(), TraceError> {
        if self.step.is_some_and(|step| step.is_zero()) {
            return Err(TraceError(
                "the step of a trace must be longer than zero, such as 10 ms".to_string(),
            ));
        }
        for point in &study.points {
            let seed = point.scenario.seeds.list().first().copied().unwrap_or(1);
            self.of(point, 0, seed, &Plugins::new())?;
        }
        Ok(())
    }

    /// The request for a replication.
    pub(crate) fn of(
        &self,
        point: &Point,
        aqm: usize,
        seed: u64,
        plugins: &Plugins,
    ) -> Result<TraceRequest, TraceError> {
        let plan = point.plan(aqm, seed, plugins).map_err(|e| TraceError(e.to_string()))?;
        self.request(&plan)
    }
}

/// A replication as traces name it.
#[derive(Clone, Copy)]
pub struct Traced<'a> {
    /// The number of its point.
    pub point: usize,
    /// The label of its algorithm.
    pub algorithm: &'a str,
    /// Its seed.
    pub seed: u64,
    /// What its flows and classes are.
    pub facts: &'a Facts,
}
