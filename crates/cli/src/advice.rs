//! What to type for a recommendation, on the router that there is.

use quell_aqm::catalog::AqmConfig;
use quell_recommend::{Candidate, Plan, Request, Shape, Way};
use quell_router::{Can, Platform, Range, Shaped, Side};
use quell_tc::{Kernel, Link, Place};
use quell_units::{BitRate, Bytes};
use serde::Serialize;

use crate::failure::Failure;

/// The router that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Router {
    /// A Linux host whose queues tc sets.
    Linux,
    /// Something else, or a list of algorithms.
    Other(Can),
}

/// What to type.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Advice {
    /// Texts, and where each goes.
    pub parts: Vec<Text>,
    /// What they do not say, and what else is to be done.
    pub notes: Vec<String>,
}

/// A text, and where it goes.
#[derive(Clone, Debug, Serialize)]
pub struct Text {
    /// A file, a shell, or a page of the router.
    pub place: String,
    /// The text.
    pub text: String,
}

/// The algorithms for which Linux has a qdisc.
const OF_LINUX: [&str; 9] =
    ["cake", "fq-codel", "dualpi2", "fq-pie", "pie", "codel", "sfq", "red", "drop-tail"];

impl Router {
    /// Reads `--can`.
    pub fn parse(text: &str) -> Result<Router, Failure> {
        match text.trim().to_ascii_lowercase().as_str() {
            "linux" | "tc" | "debian" | "ubuntu" => Ok(Router::Linux),
            _ => Can::parse(text).map(Router::Other).map_err(|why| bad_input!("--can {text}: {why}, or linux")),
        }
    }

    /// The algorithms that it has, or comes near to.
    pub fn algorithms(&self) -> Vec<&'static str> {
        match self {
            Router::Linux => OF_LINUX.to_vec(),
            Router::Other(can) => can.algorithms(),
        }
    }
}

/// What to type for a candidate.
pub fn of(request: &Request, plan: &Plan, candidate: &Candidate, router: &Router) -> Advice {
    if candidate.shape == Shape::None {
        let notes = vec!["there is nothing to type: the link stays as it is".to_string()];
        return Advice { parts: Vec::new(), notes };
    }
    let mut advice = match router {
        Router::Other(Can::Platform(platform)) => of_platform(request, plan, candidate, *platform),
        _ => of_tc(plan, candidate),
    };
    if candidate.shape == Shape::Following {
        advice.notes.push(
            "the simulation follows the link's rate at once; cake-autorate does within seconds, from the delays that it \
             measures, so the truth lies between this row and the one at the mean"
                .to_string(),
        );
    }
    advice
}

/// A direction as routers are told.
fn side(candidate: &Candidate, way: &Way) -> Side {
    let link = way.shaper(candidate);
    let share = link.rate.bps() as f64 / way.mean.bps().max(1) as f64;
    let of = |rate: BitRate| BitRate::from_bps((rate.bps() as f64 * share) as u64);
    let moves = way.rate.moves() && candidate.shape == Shape::Following;
    Side {
        link,
        aqm: quell_recommend::of_direction(candidate, way),
        ecn: true,
        buffer: candidate.queue(way),
        range: moves.then(|| Range { least: of(way.rate.least), most: of(way.rate.most) }),
    }
}

fn of_platform(request: &Request, plan: &Plan, candidate: &Candidate, platform: Platform) -> Advice {
    let (wan, lan) = platform.devices();
    let shaped = Shaped {
        wan: wan.to_string(),
        lan: Some(lan.to_string()),
        down: side(candidate, &plan.down),
        up: side(candidate, &plan.up),
    };
    let mut notes: Vec<String> = request.cpu_limit.and_then(|limit| platform.beyond(limit, &shaped)).into_iter().collect();
    match quell_router::write(platform, &shaped) {
        Ok(written) => {
            let parts = written.parts.into_iter().map(|part| Text { place: part.place, text: part.text });
            notes.extend(written.notes);
            Advice { parts: parts.collect(), notes }
        }
        Err(why) => {
            notes.push(why.to_string());
            Advice { parts: Vec::new(), notes }
        }
    }
}

/// Lines of tc for both directions.
fn of_tc(plan: &Plan, candidate: &Candidate) -> Advice {
    let mut advice = Advice::default();
    let device = "eth0".to_string();
    let at_link = candidate.shape == Shape::AtLink;
    for (way, aqm) in [(&plan.up, &candidate.up), (&plan.down, &candidate.down)] {
        let is_up = way.direction == quell_recommend::Direction::Up;
        let layer = way.shaper(candidate);
        let config = quell_recommend::of_direction(candidate, way);
        let link = Link {
            rate: (!at_link).then_some(layer.rate),
            buffer: candidate.queue(way),
            ecn: true,
            mean_packet: Bytes::new(1514),
        };
        let cake = matches!(aqm, AqmConfig::Cake(_));
        if at_link && !is_up {
            advice.notes.push("what comes in waits at the other end of the link: do the same there".to_string());
            continue;
        }
        let place = match (is_up, cake || at_link) {
            (true, true) => Place::Root { device: device.clone() },
            (true, false) => Place::Htb { device: device.clone(), shaped: layer },
            (false, _) => Place::Ifb { device: device.clone(), ifb: "ifb0".to_string() },
        };
        match quell_tc::write(&config, &link, &place, Kernel::NEWEST) {
            Ok(written) => {
                let direction = if is_up { "up" } else { "down" };
                let text = written.lines.join("\n") + "\n";
                advice.parts.push(Text { place: format!("{direction}, in a shell of root"), text });
                // CAKE's own limit is the smaller one.
                let own = |note: &String| !(cake && note.starts_with("buffer = "));
                for note in written.notes.into_iter().filter(own) {
                    if !advice.notes.contains(&note) {
                        advice.notes.push(note);
                    }
                }
            }
            Err(why) => advice.notes.push(why.to_string()),
        }
    }
    advice.notes.push(format!(
        "{device} is the device toward the modem; turn off hardware offload of flows, whose packets go around the queue; IPv4 \
         and IPv6 share it"
    ));
    advice
}
