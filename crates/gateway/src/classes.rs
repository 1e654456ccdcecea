//! The shaper and the classes of a line, as a user configures them and as a log keeps them. What they do is
//! quell-queue's.

use quell_aqm::catalog::AqmConfig;
use quell_queue::{Class, Classifier, Classify, Limit, Limits, Match, Peak, Plan, Refused, Shaper, Table};
use quell_units::{BitRate, Bytes, LinkLayer, QueueSize};
use serde::{Deserialize, Serialize};

use crate::Packet;

/// A token bucket between what waits and the link. Names are those of tbf(8).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShaperConfig {
    /// The rate at which it fills.
    pub rate: BitRate,
    /// The most that leaves at once.
    pub burst: Bytes,
    /// The rate at which a burst leaves, below the line's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rate: Option<BitRate>,
    /// The most that leaves at once at that rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
    /// The most that may wait, with the packet that waits for tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueSize>,
}

/// Classes that share a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassesConfig {
    /// The classes. Packets wait in those that no other names as its parent.
    pub classes: Vec<ClassConfig>,
    /// The largest packet, which bursts and turns must hold.
    pub largest: Bytes,
    /// The way in which packets find theirs.
    pub lead: Lead,
}

/// A class. See [`Class`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassConfig {
    /// Its name.
    pub name: String,
    /// The class that lends to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its rates, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsConfig>,
    /// Lower ones go first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// The bytes that it sends in a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Bytes>,
    /// Its buffer, if it is not the line's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<QueueSize>,
    /// Its algorithm, if it is not the line's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aqm: Option<AqmConfig>,
}

/// The rates of a class. See [`Limits`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsConfig {
    /// What it gets whatever others do.
    pub rate: BitRate,
    /// What it may get.
    pub ceil: BitRate,
    /// The most that leaves at once at `rate`.
    pub burst: Bytes,
    /// The most that leaves at once at `ceil`.
    pub cburst: Bytes,
}

/// The way in which packets find their classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Lead {
    /// By what a packet carries.
    Rules {
        /// The rules; a mark precedes a DSCP.
        rules: Vec<LeadRule>,
        /// The class of packets that no rule leads anywhere.
        default: String,
    },
    /// By the flow that a packet belongs to, as its [`Packet::tag`] tells, and by its DSCP. The lists say how often a
    /// number comes, and which.
    Flows {
        /// The tag of the first flow.
        first: u16,
        /// The leaves by DSCP, for each kind of flow.
        rows: Vec<Vec<(u32, u32)>>,
        /// The kind of each flow.
        of_flow: Vec<(u32, u32)>,
    },
}

/// A rule that leads packets to a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeadRule {
    /// The class.
    pub class: String,
    /// The DSCP of its packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// Their mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<u16>,
}

impl ShaperConfig {
    /// The shaper, as a scenario has it.
    pub fn of(shaper: &Shaper) -> Self {
        let Shaper { rate, burst, peak, limit } = *shaper;
        let limit = limit.map(|limit| match limit {
            Limit::Packets(n) => QueueSize::Packets(f64::from(n)),
            Limit::Bytes(n) => QueueSize::Bytes(n as f64),
        });
        ShaperConfig {
            rate: rate.rate,
            burst,
            peak_rate: peak.map(|peak| peak.rate),
            mtu: peak.map(|peak| peak.mtu),
            limit,
        }
    }

    /// The shaper of packets of up to `largest`.
    pub(crate) fn shaper(&self, largest: Bytes) -> Result<Shaper, Refused> {
        let shaper = Shaper {
            rate: LinkLayer::plain(self.rate),
            burst: self.burst,
            peak: self.peak_rate.map(|rate| Peak { rate, mtu: self.mtu.unwrap_or(largest) }),
            limit: self.limit.map(Limit::of),
        };
        shaper.check(largest).map(|()| shaper)
    }
}

impl ClassesConfig {
    /// The classes of a scenario, whose flows have tags from `first` on. What waits in their leaves, by its number, `leaf`
    /// knows: the buffer and the algorithm.
    ///
    /// # Errors
    /// Of a plan that is not a tree.
    pub fn of(
        plan: &Plan,
        classifier: &Classifier,
        first: u16,
        mut leaf: impl FnMut(usize) -> (QueueSize, AqmConfig),
    ) -> Result<Self, Refused> {
        let leaves = plan.leaves()?;
        let class = |class: &Class| {
            let queue = leaves.iter().position(|leaf| *leaf == class.name).map(&mut leaf);
            let (buffer, aqm) = queue.unzip();
            ClassConfig {
                name: class.name.clone(),
                parent: class.parent.clone(),
                limits: class.limits.map(|Limits { rate, ceil, burst, cburst }| LimitsConfig {
                    rate,
                    ceil,
                    burst,
                    cburst,
                }),
                priority: class.priority,
                quantum: class.quantum,
                buffer,
                aqm,
            }
        };
        let classes = plan.classes.iter().map(class).collect();
        let rows = classifier.rows.iter().map(|row| runs(row.iter().map(|leaf| u32::from(*leaf)))).collect();
        let of_flow = runs(classifier.of_flow.iter().copied());
        Ok(ClassesConfig { classes, largest: plan.largest, lead: Lead::Flows { first, rows, of_flow } })
    }

    /// The tree.
    pub(crate) fn plan(&self) -> Plan {
        let class = |class: &ClassConfig| Class {
            name: class.name.clone(),
            parent: class.parent.clone(),
            limits: class.limits.map(|LimitsConfig { rate, ceil, burst, cburst }| Limits {
                rate,
                ceil,
                burst,
                cburst,
            }),
            priority: class.priority,
            quantum: class.quantum,
        };
        Plan { largest: self.largest, ..Plan::new(self.classes.iter().map(class).collect()) }
    }

    /// The classes in which packets wait, in their order.
    pub(crate) fn leaves(&self) -> impl Iterator<Item = &ClassConfig> {
        let is_inner = |name: &str| self.classes.iter().any(|other| other.parent.as_deref() == Some(name));
        self.classes.iter().filter(move |class| !is_inner(&class.name))
    }

    /// The leaf of each packet.
    pub(crate) fn finder(&self, plan: &Plan) -> Result<Finder, Refused> {
        match &self.lead {
            Lead::Rules { rules, default } => {
                let matches = rules.iter().flat_map(|LeadRule { class, dscp, mark }| {
                    let mark = mark.map(|mark| Match::Mark(u32::from(mark)));
                    [mark, dscp.map(Match::Dscp)].into_iter().flatten().map(|rule| (rule, class.as_str()))
                });
                Ok(Finder::Rules(Table::new(plan, &matches.collect::<Vec<_>>(), default)?))
            }
            Lead::Flows { first, rows, of_flow } => {
                let leaves = plan.leaves()?.len();
                let row = |runs: &Vec<(u32, u32)>| -> Option<[u8; 64]> {
                    let row: Vec<u8> = spread(runs, 64)?
                        .iter()
                        .map(|leaf| u8::try_from(*leaf).ok())
                        .collect::<Option<_>>()?;
                    let row: [u8; 64] = row.try_into().ok()?;
                    row.iter().all(|leaf| usize::from(*leaf) < leaves).then_some(row)
                };
                let rows: Option<Vec<[u8; 64]>> = rows.iter().map(row).collect();
                let rows = rows.filter(|rows| !rows.is_empty());
                let of_flow = spread(of_flow, 1 << 16);
                let (Some(rows), Some(of_flow)) = (rows, of_flow) else { return Err(unsound()) };
                if of_flow.iter().any(|row| *row as usize >= rows.len()) {
                    return Err(unsound());
                }
                let classifier = Classifier { rows: rows.into(), of_flow: of_flow.into() };
                Ok(Finder::Flows { first: *first, classifier })
            }
        }
    }
}

/// A list of leaves that is none.
fn unsound() -> Refused {
    let (rule, fix) = ("its lists must lead each flow to a leaf", "use the log as it was written");
    Refused { class: String::new(), field: "lead", value: "flows".into(), rule: rule.into(), fix: fix.into() }
}

/// The leaf of each packet.
#[derive(Clone, Debug)]
pub enum Finder {
    /// By what a packet carries.
    Rules(Table),
    /// By its flow and its DSCP.
    Flows {
        /// The tag of the first flow.
        first: u16,
        /// The leaves by flow and DSCP.
        classifier: Classifier,
    },
}

impl Classify<Packet> for Finder {
    #[inline]
    fn leaf(&self, packet: &Packet) -> usize {
        match self {
            Finder::Rules(table) => table.leaf(packet),
            Finder::Flows { first, classifier } => {
                classifier.of(u32::from(packet.tag.wrapping_sub(*first)), packet.header.dscp)
            }
        }
    }
}

/// How often each number comes.
fn runs(numbers: impl Iterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut all: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match all.last_mut() {
            Some((count, last)) if *last == number => *count += 1,
            _ => all.push((1, number)),
        }
    }
    all
}

/// The numbers of which [`runs`] says how often they come; none if there are more than `most`.
fn spread(runs: &[(u32, u32)], most: usize) -> Option<Vec<u32>> {
    let sum: u64 = runs.iter().map(|(count, _)| u64::from(*count)).sum();
    (sum <= most as u64).then(|| {
        runs.iter().flat_map(|(count, number)| core::iter::repeat_n(*number, *count as usize)).collect()
    })
}
