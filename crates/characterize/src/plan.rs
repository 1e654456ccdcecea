//! The plan of a characterization: algorithms and scenarios.

use std::ops::Range;

use quell_scenario::{Document, Plugins, Point, ScenarioError, Study};
use quell_units::{BitRate, Bytes, Duration};
use toml::Value;

use crate::candidate::{Candidate, DROP_TAIL};
use crate::suite::Section;

/// The request for a characterization.
#[derive(Clone, Debug)]
pub struct Request {
    /// The algorithms to be characterized.
    pub candidates: Vec<Candidate>,
    /// The algorithm that they are compared with beside drop-tail.
    pub baseline: Option<Candidate>,
    /// The link's rate.
    pub rate: BitRate,
    /// The round-trip time of the first group of each scenario, without queueing.
    pub rtt: Duration,
    /// The number of seeds.
    pub seeds: u32,
    /// The scenarios.
    pub sections: Vec<&'static Section>,
}

/// The simulations of a request.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The request.
    pub request: Request,
    /// The labels of the algorithms: drop-tail, the baseline, the candidates.
    pub algorithms: Vec<String>,
    /// All scenarios as one study.
    pub study: Study,
    /// The points of each section.
    pub parts: Vec<Part>,
}

/// The points of a section.
#[derive(Clone, Debug)]
pub struct Part {
    /// The section.
    pub section: &'static Section,
    /// Its points in the study.
    pub points: Range<usize>,
    /// The labels of algorithms that refuse its link, and why: a default may need a larger buffer.
    pub left_out: Vec<(String, String)>,
}

impl Plan {
    /// Puts the algorithms into the scenarios.
    ///
    /// # Errors
    /// The link is not valid, or drop-tail or the baseline refuses it. Candidates that do are left out of that section.
    pub fn of(request: Request) -> Result<Plan, ScenarioError> {
        let mut algorithms: Vec<Candidate> = Vec::new();
        let drop_tail = Candidate::named(DROP_TAIL).expect("the catalog has it");
        for candidate in [drop_tail].iter().chain(&request.baseline).chain(&request.candidates) {
            if !algorithms.iter().any(|other| other.label == candidate.label) {
                algorithms.push(candidate.clone());
            }
        }
        let mut parts = Vec::new();
        let mut studies = Vec::new();
        let mut points = 0;
        for section in &request.sections {
            let (study, left_out) = study(section, &algorithms, &request)?;
            parts.push(Part { section, points: points..points + study.points.len(), left_out });
            points += study.points.len();
            studies.push((section.name.to_string(), study));
        }
        let algorithms = algorithms.into_iter().map(|candidate| candidate.label).collect();
        Ok(Plan { request, algorithms, study: Study::join(studies), parts })
    }

    /// The label of the baseline: that of drop-tail without one.
    pub fn baseline(&self) -> &str {
        self.request.baseline.as_ref().map_or(DROP_TAIL, |baseline| &baseline.label)
    }
}

/// A section's scenario with these algorithms, and those that it had to leave out.
fn study(
    section: &Section,
    algorithms: &[Candidate],
    request: &Request,
) -> Result<(Study, Vec<(String, String)>), ScenarioError> {
    let mut kept: Vec<&Candidate> = algorithms.iter().collect();
    let mut left_out = Vec::new();
    loop {
        let error = match with(section, &kept, request) {
            Ok(study) => return Ok((study, left_out)),
            Err(error) => error,
        };
        let refuses = |at: &usize| {
            let field = format!("aqm[{at}]");
            kept[*at].label != DROP_TAIL
                && error.field.strip_prefix(&field).is_some_and(|f| !f.starts_with(char::is_numeric))
        };
        let Some(at) = (0..kept.len()).find(refuses) else { return Err(error) };
        let field = error.field.split_once('.').map_or("", |(_, field)| field);
        let value = error.value.as_ref().map_or(String::new(), |value| format!(" = {value}"));
        left_out.push((kept.remove(at).label.clone(), format!("{field}{value} {}", error.rule)));
    }
}

/// A section's scenario with these algorithms.
fn with(section: &Section, algorithms: &[&Candidate], request: &Request) -> Result<Study, ScenarioError> {
    let mut table = section.scenario.clone();
    let choices = algorithms.iter().map(|candidate| Value::Table(candidate.choice())).collect();
    table.insert("aqm".to_string(), Value::Array(choices));
    table.insert("seeds".to_string(), Value::Integer(i64::from(request.seeds)));
    table.insert(
        "title".to_string(),
        format!("RFC 7928 section {}: {}", section.section, section.title).into(),
    );
    let mut document = Document::from_table(&table, &format!("RFC 7928 section {}", section.section))?;
    document.set(&section.rate_at, &request.rate.to_string().into())?;
    document.set("flows[0].rtt", &request.rtt.to_string().into())?;
    let baseline = request.baseline.as_ref().map(|baseline| &baseline.table);
    let drop_tail = toml::Table::from_iter([("algorithm".to_string(), DROP_TAIL.into())]);
    for field in &section.baseline_at {
        document.set(field, &Value::Table(baseline.unwrap_or(&drop_tail).clone()))?;
    }
    let study = document.study(&Plugins::new())?;
    study.points.iter().try_for_each(|point| is_enough(point, request))?;
    Ok(study)
}

/// The packets that a link must be able to carry while a scenario is measured: fewer say nothing.
const PACKETS: f64 = 100.0;
/// The round trips that the measured time must have.
const ROUND_TRIPS: f64 = 10.0;

/// Refuses a link on which nothing that is measured would mean anything.
fn is_enough(point: &Point, request: &Request) -> Result<(), ScenarioError> {
    let scenario = &point.scenario;
    let measured = scenario.duration - scenario.warmup;
    let packet = scenario.mean_packet.unwrap_or(Bytes::new(1500));
    let least = PACKETS * packet.get() as f64 * 8.0 / measured.as_secs_f64();
    if (request.rate.bps() as f64) < least {
        return Err(point.refuse(format!(
            "its link must carry at least {PACKETS} packets of {packet} in the measured {measured}, which takes {}",
            BitRate::from_bps(least.ceil() as u64)
        )));
    }
    let most = Duration::from_secs_f64(measured.as_secs_f64() / ROUND_TRIPS);
    if request.rtt > most {
        return Err(point.refuse(format!(
            "the measured {measured} must have at least {ROUND_TRIPS} round trips of at most {most}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{select, suite};
    use quell_metrics::check_class;

    fn request(names: &[&str]) -> Request {
        Request {
            candidates: names.iter().map(|name| Candidate::named(name).unwrap()).collect(),
            baseline: Some(Candidate::named("red").unwrap()),
            rate: "10 Mbit/s".parse().unwrap(),
            rtt: "100 ms".parse().unwrap(),
            seeds: 2,
            sections: select(&[]).unwrap(),
        }
    }

    #[test]
    fn every_algorithm_of_the_catalog_is_taken_by_every_scenario() {
        let all: Vec<&str> = quell_aqm::catalog::CATALOG.iter().map(|entry| entry.name).collect();
        let plan = Plan::of(request(&all)).unwrap();
        assert!(plan.study.holes.is_empty(), "{:?}", plan.study.holes);
        assert!(plan.parts.iter().all(|part| part.left_out.is_empty()));
        assert_eq!(plan.algorithms.len(), all.len());
        assert_eq!(plan.algorithms[..2], ["drop-tail", "red"]);
        assert_eq!(plan.parts.last().unwrap().points.end, plan.study.points.len());
        for part in &plan.parts {
            let study = plan.study.with_points(plan.study.points[part.points.clone()].to_vec());
            for figure in &part.section.figures {
                check_class(&figure.of, &study).unwrap_or_else(|e| panic!("{}: {e}", part.section.name));
                let links = study.points[0].links();
                assert!(
                    figure.link.as_ref().is_none_or(|l| links.contains(l)),
                    "{}: {links:?}",
                    part.section.name
                );
            }
        }
    }

    #[test]
    fn the_link_is_the_one_that_is_asked_for() {
        for (rate, rtt) in [("1 Mbit/s", "20 ms"), ("200 Mbit/s", "300 ms")] {
            let request =
                Request { rate: rate.parse().unwrap(), rtt: rtt.parse().unwrap(), ..request(&["codel"]) };
            let plan = Plan::of(request).unwrap();
            assert!(plan.study.holes.is_empty(), "{:?}", plan.study.holes);
        }
    }

    /// Half of the buffer is held where the buffer is shorter than the queue that a document holds.
    #[test]
    fn a_small_link_takes_every_algorithm_with_its_defaults() {
        let names: Vec<&str> = quell_aqm::catalog::CATALOG.iter().map(|entry| entry.name).collect();
        let plan = Plan::of(Request {
            rate: "1 Mbit/s".parse().unwrap(),
            rtt: "20 ms".parse().unwrap(),
            ..request(&names)
        })
        .unwrap();
        for part in &plan.parts {
            let without: Vec<&String> = part
                .left_out
                .iter()
                .filter(|(_, why)| why.contains("q_ref"))
                .map(|(label, _)| label)
                .collect();
            assert!(without.is_empty(), "{}: {without:?}", part.section.name);
        }
    }

    #[test]
    fn an_algorithm_that_refuses_a_link_is_left_out_with_the_reason() {
        let small = Request {
            candidates: vec![
                Candidate::parse("policer,rate=2Mbit/s").unwrap(),
                Candidate::named("codel").unwrap(),
            ],
            rate: "1 Mbit/s".parse().unwrap(),
            rtt: "10 ms".parse().unwrap(),
            sections: select(&["5.1.1".to_string()]).unwrap(),
            ..request(&[])
        };
        let plan = Plan::of(small).unwrap();
        let [(label, why)] = &plan.parts[0].left_out[..] else { panic!("{:?}", plan.parts[0].left_out) };
        assert_eq!(label, "policer rate=2Mbit/s");
        assert!(why.starts_with("rate = 2 Mbit/s must be at most the link's (1 Mbit/s)"), "{why}");
        assert_eq!(plan.study.points[0].scenario.aqm.len(), 3);
    }

    /// RFC 7928 sections 8.2.2 to 8.2.4: 0.036, 0.081 and 0.114 of the bandwidth-delay product and the buffer. At 10
    /// Mbit/s, 100 ms and packets of 1514 bytes that is 82.6 packets, and a buffer of 83.
    #[test]
    fn congestion_is_what_the_rfc_computes() {
        let plan = Plan::of(request(&["codel"])).unwrap();
        let flows = |name: &str| {
            let part = plan.parts.iter().find(|part| part.section.name == name).unwrap();
            plan.study.points[part.points.start].scenario.flows[0].count
        };
        assert_eq!(flows("08_2_2_mild"), Some(6));
        assert_eq!(flows("08_2_3_medium"), Some(13));
        assert_eq!(flows("08_2_4_heavy"), Some(19));
    }

    #[test]
    fn sections_come_in_the_order_of_the_rfc() {
        let number = |text: &str| text.split('.').map(|n| n.parse::<u32>().unwrap()).collect::<Vec<_>>();
        assert!(suite().windows(2).all(|w| number(&w[0].section) <= number(&w[1].section)));
    }
}
