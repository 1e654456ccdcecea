//! The text of a scenario: hosts, their router with its queues, the modem with its own, and the network.

use quell_aqm::cake::{self, CakeParams, Diffserv, Isolation};
use quell_aqm::catalog::{self, AqmConfig};
use quell_units::{BitRate, Bytes, Duration, Framing, Layer, LinkLayer};

use crate::autorate;
use crate::candidate::Candidate;
use crate::course::Course;
use crate::load::{Carrier, FRAME};
use crate::request::Request;
use crate::size::Size;
use crate::span::Span;
use crate::typed;
use crate::way::Shape;
use crate::way::{Direction, Way, as_frames};

/// What a candidate is tried on.
pub(crate) struct Bed<'a> {
    pub(crate) request: &'a Request,
    pub(crate) down: Way,
    pub(crate) up: Way,
    /// The factor of the modem's rates, of which the router does not know.
    pub(crate) factor: f64,
    pub(crate) rtt: Span<Duration>,
    pub(crate) bulk: Option<u32>,
    pub(crate) duration: Duration,
    pub(crate) warmup: Duration,
    pub(crate) seeds: u32,
    /// What it is beside the plan, for the title.
    pub(crate) but: String,
}

impl<'a> Bed<'a> {
    /// The usual one of a request.
    pub(crate) fn of(request: &'a Request, (down, up): (&Way, &Way), size: Size, seeds: u32) -> Bed<'a> {
        Bed {
            request,
            down: down.clone(),
            up: up.clone(),
            factor: 1.0,
            rtt: request.rtt,
            bulk: None,
            duration: size.duration,
            warmup: size.warmup,
            seeds,
            but: String::new(),
        }
    }
}

/// The burst of a modem's: Maximum Traffic Burst of DOCSIS has this default (CableLabs MULPI), or one frame if that is more.
fn modem_burst(layer: LinkLayer) -> Bytes {
    Bytes::new(layer.seen_from(Layer::Ethernet).on_wire(FRAME).get().max(3044))
}

/// Writes the scenario of a candidate.
pub(crate) fn write(bed: &Bed<'_>, candidate: &Candidate) -> Result<String, String> {
    let (request, technology) = (bed.request, bed.request.technology);
    let fastest = bed.down.rate.most.max(bed.up.rate.most);
    let lan = fastest.bps().saturating_mul(4).clamp(1_000_000_000, 500_000_000_000);
    let lan = BitRate::from_bps(lan.div_ceil(1_000_000) * 1_000_000);
    let title = format!(
        "{} on {} {} down, {} up{}",
        candidate.name, technology.title, bed.down.rate, bed.up.rate, bed.but
    );
    let mut out = format!(
        "# {title}, as `quell recommend` wrote it.\n#\n# The hosts (home), their router, and the network (net) beyond the \
         modem. Of each link, forward is up.\n\nschema = 1\ntitle = {}\ndialect = \"linux\" # hosts as deployed: CUBIC, SACK, \
         delayed acknowledgments\n\nduration = \"{}\"\nwarmup = \"{}\"\nseeds = {}\nmean_packet = \"{FRAME}\"\n\n[graph]\n",
        toml::Value::String(title.clone()),
        bed.duration,
        bed.warmup,
        bed.seeds
    );
    // Most of the way is in the access links of flows, which have round-trip times of their own.
    let (near, far) = (bed.rtt.least.mul_f64(0.05), bed.rtt.least.mul_f64(0.25));
    let (down, up) = (of_direction(request, candidate, &bed.down), of_direction(request, candidate, &bed.up));
    let queue = |way: &Way| {
        let rate = as_frames(candidate.shaper(way));
        format!("{} packets", candidate.packets(rate, bed.rtt.most.max(Duration::from_millis(100))))
    };
    out.push_str(
        "\n# The router, which shapes or does not.\n[[graph.links]]\nfrom = \"home\"\nto = \"router\"\n",
    );
    out.push_str(&format!("delay = \"{near}\"\n"));
    let followed = (candidate.shape == Shape::Following).then(|| follow(bed, candidate));
    let of_router = |way: &Way| match candidate.shape {
        Shape::None | Shape::AtLink => Vec::new(),
        // Faster than the modem, so that nothing waits there.
        _ if !candidate.queues(way.direction) => vec![format!("rate = \"{lan}\"")],
        Shape::Following => {
            let mut keys = vec![format!("rate = \"{}\"", as_frames(candidate.shaper(way)))];
            let followed = followed.as_ref().map(|[down, up]| match way.direction {
                Direction::Down => down,
                Direction::Up => up,
            });
            keys.extend(followed.map(|course| changes(course, way, 1.0, bed.duration)));
            keys
        }
        _ if typed::is_cakes(request, candidate) => vec![format!("rate = \"{lan}\"")],
        _ => {
            let (layer, burst) = typed::shaper(request, candidate, way);
            vec![format!("rate = \"{lan}\""), format!("shaper = {}", shaper(layer, burst))]
        }
    };
    match candidate.shape {
        Shape::None | Shape::AtLink => out.push_str(&format!("rate = \"{lan}\"\n")),
        _ => {
            let mut up_keys = of_router(&bed.up);
            let mut down_keys = of_router(&bed.down);
            // Without changes of its own, the way back would have those of the way there.
            if !down_keys.iter().any(|key| key.starts_with("changes")) {
                down_keys.push("changes = []".to_string());
            }
            up_keys.extend([format!("buffer = \"{}\"", queue(&bed.up)), "ecn = true".to_string()]);
            down_keys.extend([
                format!("buffer = \"{}\"", queue(&bed.down)),
                format!("aqm = {}", inline(&table(&down)?)),
            ]);
            out.push_str(&lines(&up_keys));
            out.push_str("\n# What comes in, as an ifb device has it.\n[graph.links.reverse]\n");
            out.push_str(&lines(&down_keys));
        }
    }
    out.push_str(&format!(
        "\n# The modem and what is at its other end: {}.\n[[graph.links]]\nfrom = \"router\"\nto = \"net\"\ndelay = \"{far}\"\n",
        technology.counts
    ));
    let is_plain = bed.request.varies() || technology.instead.is_some();
    let of_modem = |way: &Way| {
        let mut keys = Vec::new();
        let link =
            LinkLayer { rate: crate::course::rate(way.link.rate.bps() as f64 * bed.factor), ..way.link };
        if is_plain {
            keys.push(format!("rate = \"{}\"", as_frames(link)));
            keys.extend(way.course.as_ref().map(|course| changes(course, way, bed.factor, bed.duration)));
        } else {
            keys.push(format!("rate = \"{lan}\""));
            keys.push(format!("shaper = {}", shaper(link, modem_burst(link))));
        }
        keys
    };
    let (mut up_keys, mut down_keys) = (of_modem(&bed.up), of_modem(&bed.down));
    if is_plain && !down_keys.iter().any(|key| key.starts_with("changes")) {
        down_keys.push("changes = []".to_string());
    }
    match candidate.shape {
        Shape::AtLink => {
            up_keys.extend([format!("buffer = \"{} packets\"", bed.up.modem), "ecn = true".to_string()]);
            down_keys.extend([
                format!("buffer = \"{} packets\"", bed.down.modem),
                format!("aqm = {}", inline(&table(&down)?)),
            ]);
        }
        _ => {
            up_keys.extend([
                format!("buffer = \"{} packets\"", bed.up.modem),
                "aqm = { algorithm = \"drop-tail\" }".to_string(),
            ]);
            down_keys.push(format!("buffer = \"{} packets\"", bed.down.modem));
        }
    }
    out.push_str(&lines(&up_keys));
    out.push_str("\n[graph.links.reverse]\n");
    out.push_str(&lines(&down_keys));
    out.push_str("\n[[aqm]]\n");
    for (key, value) in &table(&up)? {
        out.push_str(&format!("{key} = {}\n", value_of(value)));
    }
    let carrier = Carrier {
        down: bed.down.mean,
        up: bed.up.mean,
        rtt: bed.rtt,
        hosts: request.hosts,
        bulk: bed.bulk,
        duration: bed.duration,
        real: false,
    };
    out.push_str(&request.load.write(&carrier)?);
    Ok(out)
}

/// The rates of the shapers that cake-autorate sets on this link, down and up.
fn follow(bed: &Bed<'_>, candidate: &Candidate) -> [Course; 2] {
    let pipe = |way: &Way| {
        let wire = way.link.seen_from(Layer::Ethernet).on_wire(FRAME);
        let (least, most) =
            candidate.range(way).map_or((way.mean, way.mean), |range| (range.least, range.most));
        let kbps = |rate: BitRate| i64::try_from(rate.bps() / 1000).unwrap_or(i64::MAX).max(1);
        let course = match &way.course {
            Some(course) => course.times(bed.factor),
            None => Course { steps: vec![(Duration::default(), way.mean)], period: bed.duration }
                .times(bed.factor),
        };
        autorate::Pipe {
            limits: autorate::Limits {
                least: kbps(least),
                base: kbps(candidate.shaper(way).rate),
                most: kbps(most),
                moves: candidate.range(way).is_some(),
                packet: i64::try_from(8 * wire.get()).unwrap_or(i64::MAX),
            },
            course,
            buffer: (8 * wire.get() * way.modem) as f64,
            flows: bed.request.load.bulk(way.direction == Direction::Up, bed.request.hosts, bed.bulk),
        }
    };
    let middle = (bed.rtt.least + bed.rtt.most) / 2;
    autorate::follow([&pipe(&bed.down), &pipe(&bed.up)], middle, bed.duration)
}

/// The algorithm of a direction, with what it has to know of the link; drop-tail where the queue is the modem's.
pub(crate) fn of_direction(request: &Request, candidate: &Candidate, way: &Way) -> AqmConfig {
    if !candidate.queues(way.direction) {
        return AqmConfig::DropTail(Default::default());
    }
    let own = if way.direction == Direction::Down { &candidate.down } else { &candidate.up };
    match own {
        AqmConfig::Cake(params) => {
            let is_down = way.direction == Direction::Down;
            let isolation = if is_down { Isolation::DualDestination } else { Isolation::DualSource };
            // What was dropped has already taken its time of a link that comes in.
            let ingress = is_down && candidate.shape != Shape::AtLink;
            let mut params = CakeParams { isolation, ingress, ..params.clone() };
            if ingress {
                // Nobody knows who set the DSCPs that come in: tc-cake(8), under wash, and sqm-scripts by default.
                (params.diffserv, params.wash) = (Diffserv::Besteffort, true);
            }
            match candidate.shape {
                Shape::Shaped | Shape::AtLeast | Shape::AtMean if typed::is_cakes(request, candidate) => {
                    let layer = candidate.shaper(way);
                    AqmConfig::Cake(CakeParams {
                        bandwidth: Some(layer.rate),
                        overhead: layer.overhead,
                        mpu: layer.smallest,
                        framing: match layer.framing {
                            Framing::None => cake::Framing::None,
                            Framing::Atm => cake::Framing::Atm,
                            Framing::Ptm => cake::Framing::Ptm,
                        },
                        layer: cake::Layer::Ethernet,
                        ..params
                    })
                }
                _ => AqmConfig::Cake(params),
            }
        }
        other => other.clone(),
    }
}

/// The shaper of a link layer, on one line.
fn shaper(layer: LinkLayer, burst: Bytes) -> String {
    let mut keys = vec![
        format!("rate = \"{}\"", layer.rate),
        format!("burst = \"{burst}\""),
        "layer = \"ethernet\"".into(),
    ];
    keys.push(format!("overhead = \"{}\"", layer.overhead));
    if layer.smallest.get() > 0 {
        keys.push(format!("mpu = \"{}\"", layer.smallest));
    }
    match layer.framing {
        Framing::None => {}
        Framing::Atm => keys.push("framing = \"atm\"".to_string()),
        Framing::Ptm => keys.push("framing = \"ptm\"".to_string()),
    }
    format!("{{ {} }}", keys.join(", "))
}

/// The changes of a rate, all times `factor`, until the end.
fn changes(course: &Course, way: &Way, factor: f64, end: Duration) -> String {
    let frames = |rate: BitRate| as_frames(LinkLayer { rate, ..way.link });
    let steps = course.times(factor);
    let list: Vec<String> = steps
        .steps
        .iter()
        .filter(|(at, _)| *at < end)
        .map(|(at, rate)| format!("[\"{at}\", \"{}\"]", frames(*rate)))
        .collect();
    match course.period < end {
        true => format!("changes = {{ list = [{}], repeat = \"{}\" }}", list.join(", "), course.period),
        false => format!("changes = [{}]", list.join(", ")),
    }
}

/// The parameters that are not the defaults.
pub(crate) fn table(config: &AqmConfig) -> Result<toml::Table, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", config.name());
    // Through JSON, which routers' texts need anyway: another form of every algorithm is 10 kB of the page.
    let values = |config: &AqmConfig| serde_json::to_value(config).map_err(|error| wrong(&error));
    let default = catalog::find(config.name()).map(|entry| values(&(entry.default)()));
    let default = default.transpose()?.unwrap_or_default();
    let mut all = toml::Table::new();
    all.insert("algorithm".to_string(), config.name().into());
    for (key, value) in values(config)?.as_object().into_iter().flatten() {
        if key != "algorithm" && !value.is_null() && default.get(key) != Some(value) {
            all.insert(key.clone(), toml::Value::try_from(value).map_err(|error| wrong(&error))?);
        }
    }
    Ok(all)
}

pub(crate) fn inline(table: &toml::Table) -> String {
    let keys: Vec<String> = table.iter().map(|(key, value)| format!("{key} = {}", value_of(value))).collect();
    format!("{{ {} }}", keys.join(", "))
}

pub(crate) fn value_of(value: &toml::Value) -> String {
    match value {
        toml::Value::Table(table) => inline(table),
        other => other.to_string(),
    }
}

fn lines(keys: &[String]) -> String {
    keys.iter().map(|key| format!("{key}\n")).collect()
}
