//! The winner's queue as one bottleneck, which `quell wire` can send real packets through.

use quell_aqm::cake::{self, CakeParams};
use quell_aqm::catalog::AqmConfig;
use quell_units::{BitRate, Bytes, Duration};

use crate::candidate::Candidate;
use crate::load::{Carrier, FRAME};
use crate::measure::Column;
use crate::plan::{Plan, Row};
use crate::request::Request;
use crate::scenario::{inline, of_direction, table, value_of};
use crate::typed;
use crate::way::{Shape, Way, as_frames};

/// A scenario for real packets, and the figures to compare.
#[derive(Clone, Debug)]
pub struct Wire {
    /// The scenario: a dumbbell whose forward way is down.
    pub row: Row,
    /// The figures, at its links.
    pub columns: Vec<Column>,
}

/// The time of a run with real packets.
const TIME: Duration = Duration::from_secs(20);
/// The part of it that does not count.
const WARM_UP: Duration = Duration::from_secs(5);
/// What one machine relays for sure.
const FASTEST: BitRate = BitRate::from_bps(1_000_000_000);

/// The winner's queue as one bottleneck with the calls and the transfers of the load that have no congestion control of their
/// own: what `quell wire` can send.
///
/// # Errors
/// Says why no wire can be this link.
pub fn wire(request: &Request, plan: &Plan, candidate: &Candidate) -> Result<Wire, String> {
    if plan.down.rate.most.max(plan.up.rate.most) > FASTEST {
        return Err(format!("verify: real packets are relayed at up to {FASTEST}; leave --verify out"));
    }
    let shapes = |way: &Way| {
        !matches!(candidate.shape, Shape::None | Shape::AtLink) && candidate.queues(way.direction)
    };
    let rate = |way: &Way| match shapes(way) {
        true => as_frames(typed::shaper(request, candidate, way).0),
        false => as_frames(candidate.shaper(way)),
    };
    let buffer = |way: &Way| match shapes(way) {
        true => candidate.queue(way).to_string(),
        false => format!("{} packets", way.modem),
    };
    let config = |way: &Way| match of_direction(request, candidate, way) {
        // The wire itself has the rate.
        AqmConfig::Cake(params) => AqmConfig::Cake(CakeParams {
            bandwidth: None,
            overhead: Bytes::new(0),
            mpu: Bytes::new(0),
            framing: cake::Framing::None,
            layer: cake::Layer::Ip,
            ingress: false,
            ..params
        }),
        other => other,
    };
    let (down, up) = (&plan.down, &plan.up);
    let mut text = format!(
        "schema = 1\ntitle = \"{} as one bottleneck\"\ndialect = \"linux\"\n\nduration = \"{TIME}\"\nwarmup = \
         \"{WARM_UP}\"\nseeds = 1\nmean_packet = \"{FRAME}\"\n\n[dumbbell]\nrate = \"{}\"\ndelay = \"{}\"\nbuffer = \
         \"{}\"\necn = true\n\n[dumbbell.reverse]\nrate = \"{}\"\nbuffer = \"{}\"\naqm = {}\n\n[[aqm]]\n",
        candidate.name,
        rate(down),
        request.rtt.least.mul_f64(0.25),
        buffer(down),
        rate(up),
        buffer(up),
        inline(&table(&config(up))?)
    );
    for (key, value) in &table(&config(down))? {
        text.push_str(&format!("{key} = {}\n", value_of(value)));
    }
    let carrier = Carrier {
        down: down.mean,
        up: up.mean,
        rtt: request.rtt,
        hosts: request.hosts,
        bulk: None,
        duration: TIME,
        real: true,
    };
    text.push_str(&request.load.write(&carrier)?);
    let at = |column: &Column| {
        let sent = request.load.uses_of_wire().any(|group| column.metric.contains(&format!("[{group}]")));
        let link = if column.is_up() { "reverse" } else { "bottleneck" };
        // Hosts on a wire do not report one-way delays, but the queue does.
        let metric = column.metric.replace("delay_variation_p99_s", "queue_delay_p99_s");
        (sent || !column.metric.contains('[')).then(|| Column { link, metric, ..column.clone() })
    };
    let columns: Vec<Column> = plan.columns.iter().filter_map(at).collect();
    let candidate = Candidate { name: "wire".to_string(), ..candidate.clone() };
    Ok(Wire { row: Row::of_text("wire", candidate, text)?, columns })
}
