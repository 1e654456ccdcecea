//! The path in expressions: the bandwidth-delay product, by which buffers and numbers of flows are chosen.

use super::parse::{Expression, Function, Operator, read};
use crate::fields::resolve;
use crate::number::{Amount, Unit};
use crate::tree::{Node, Path, Step, Value};

/// The bandwidth-delay product of a link, in packets of the mean size, with the longest round-trip time that a group of
/// flows has.
pub(super) const BDP: &str = "bdp";

/// The bandwidth-delay product and the buffer of the link, in packets, as a plain number: S of RFC 7928 section 8.2.2.
pub(super) const CAPACITY: &str = "bdp_and_buffer";

/// Levels of congestion: the flows that make drop-tail lose 0.1, 0.5 and 1% of packets, as a share of the packets that
/// path and buffer hold (RFC 7928 sections 8.2.2 to 8.2.4).
const CONGESTION: [(&str, f64); 3] = [("mild", 0.036), ("medium", 0.081), ("heavy", 0.114)];

/// The expression that stands for a word of a field: a buffer of so many bandwidth-delay products, or a number of flows
/// by the congestion that they make.
pub(super) fn words(key: &str, text: &str) -> Option<Result<Expression, String>> {
    let text = text.trim();
    match key {
        "buffer" => {
            let number = text.strip_suffix(BDP)?.trim();
            let plain = number.starts_with(|c: char| c.is_ascii_digit() || c == '.');
            (plain && number.parse::<f64>().is_ok()).then(|| read(&format!("round({number} * {BDP})")))?
        }
        "count" => {
            let (_, share) = CONGESTION.iter().find(|(word, _)| *word == text)?;
            let share = Box::new(Expression::Amount(Amount::number(*share)));
            let capacity = Expression::Field(CAPACITY.to_string());
            let flows = Expression::Chain(share, vec![(Operator::Times, capacity)]);
            let flows = Expression::Call(Function::Round, vec![flows]);
            Some(Ok(Expression::Call(Function::Max, vec![Expression::Amount(Amount::number(1.0)), flows])))
        }
        _ => None,
    }
}

/// The link that an expression speaks of, and what is known of it.
pub(super) struct Link<'a, E> {
    pub(super) tree: &'a Node,
    /// The path of the expression.
    pub(super) at: &'a Path,
    /// Gives the value of a field by its name.
    pub(super) field: &'a mut dyn FnMut(&str) -> Result<Amount, E>,
}

impl<E: From<String>> Link<'_, E> {
    /// Its field: the link of a graph in which the expression stands, or the topology's only kind.
    fn name(&self) -> Result<String, E> {
        if let [Step::Key(graph), Step::Key(links), Step::Index(k), ..] = &self.at.0[..]
            && graph == "graph"
            && links == "links"
        {
            return Ok(format!("graph.links[{k}]"));
        }
        let topology = ["dumbbell", "parking_lot"].into_iter().find(|name| self.tree.get(name).is_some());
        topology.map(String::from).ok_or_else(|| {
            let rule = "needs the bandwidth-delay product, which differs for each link of a graph: write 1 packet * \
                        graph.links[0].rate * 100 ms / mean_packet";
            E::from(rule.to_string())
        })
    }

    /// See [`BDP`].
    pub(super) fn bdp(&mut self) -> Result<Amount, E> {
        let link = self.name()?;
        let back = self.at.0.iter().any(|step| matches!(step, Step::Key(key) if key == "reverse"));
        let rate = self.shaped_rate(&link, back)?;
        let rtt = self.longest_rtt(&link)?;
        let packet = (self.field)("mean_packet")?;
        if packet.value <= 0.0 {
            return Err(E::from("needs a mean_packet above 0 B".to_string()));
        }
        Ok(Amount {
            value: rate.value * rtt.value / packet.value,
            unit: Unit::PACKETS.times(rate.unit, 1).times(rtt.unit, 1).times(packet.unit, -1),
        })
    }

    /// See [`CAPACITY`].
    pub(super) fn capacity(&mut self) -> Result<Amount, E> {
        let link = self.name()?;
        let bdp = self.bdp()?;
        let buffer = (self.field)(&format!("{link}.buffer"))?;
        let buffer = if buffer.unit == Unit::PACKETS {
            buffer.value
        } else {
            buffer.value / (self.field)("mean_packet")?.value
        };
        Ok(Amount::number(bdp.value + buffer))
    }

    /// The rate of a link or, if it is lower, that of its shaper in this direction.
    fn shaped_rate(&mut self, link: &str, back: bool) -> Result<Amount, E> {
        let rate = self.directed(link, "rate", back)?;
        let shaper = format!("{link}{}.shaper.rate", if back { ".reverse" } else { "" });
        if !resolve(self.tree, &shaper).is_ok_and(|path| self.tree.at(&path).is_some()) {
            return Ok(rate);
        }
        let shaped = (self.field)(&shaper)?;
        Ok(if shaped.value < rate.value { shaped } else { rate })
    }

    /// The value that a link has forward or, if it says so, back.
    fn directed(&mut self, link: &str, key: &str, back: bool) -> Result<Amount, E> {
        let own = format!("{link}.reverse.{key}");
        let has = |node: &Node, name: &str| resolve(node, name).is_ok_and(|path| node.at(&path).is_some());
        let name = if back && has(self.tree, &own) { own } else { format!("{link}.{key}") };
        (self.field)(&name)
    }

    /// The longest round-trip time that a group of flows says to have; without any, that of the links.
    fn longest_rtt(&mut self, link: &str) -> Result<Amount, E> {
        let mut longest: Option<Amount> = None;
        for name in self.tree.get("flows").map(rtts).unwrap_or_default() {
            let rtt = match name {
                Rtt::Of(name) => (self.field)(&name)?,
                Rtt::Last { first, step, count } => {
                    let (first, step) = ((self.field)(&first)?, (self.field)(&step)?);
                    let count = match count {
                        Some(count) => (self.field)(&count)?.value,
                        None => 1.0,
                    };
                    Amount { value: first.value + step.value * (count - 1.0), ..first }
                }
            };
            longest = longest.filter(|longest| longest.value >= rtt.value).or(Some(rtt));
        }
        match longest {
            Some(rtt) => Ok(rtt),
            None if link.starts_with("graph") => {
                let rule = "needs the bandwidth-delay product, but no group of flows sets rtt";
                Err(E::from(rule.to_string()))
            }
            None => {
                let there = self.directed(link, "delay", false)?;
                let back = self.directed(link, "delay", true)?;
                let hops = match link {
                    "parking_lot" => (self.field)("parking_lot.bottlenecks")?.value,
                    _ => 1.0,
                };
                Ok(Amount { value: (there.value + back.value) * hops, ..there })
            }
        }
    }
}

/// The fields that give the longest round-trip time of a group.
enum Rtt {
    Of(String),
    Last { first: String, step: String, count: Option<String> },
}

/// The fields of all groups.
fn rtts(flows: &Node) -> Vec<Rtt> {
    let mut all = Vec::new();
    for (k, group) in flows.items().iter().enumerate() {
        let Some(rtt) = group.get("rtt") else { continue };
        let at = format!("flows[{k}].rtt");
        let Value::Table(entries) = &rtt.value else {
            all.push(Rtt::Of(at));
            continue;
        };
        for entry in entries {
            let key = &entry.key;
            match key.as_str() {
                "linear" => all.push(Rtt::Last {
                    first: format!("{at}.linear.first"),
                    step: format!("{at}.linear.step"),
                    count: group.get("count").map(|_| format!("flows[{k}].count")),
                }),
                _ => {
                    let items = 0..entry.node.items().len();
                    all.extend(items.map(|n| Rtt::Of(format!("{at}.{key}[{n}]"))));
                }
            }
        }
    }
    all
}
