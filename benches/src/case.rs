//! The cases: scenarios that are built in, so that the program runs anywhere.

use quell_scenario::{Document, Plugins, Point, ScenarioError, Study};

use crate::Outcome;

/// A benchmark: a scenario whose algorithms "red" and "drop-tail" are measured.
pub struct Case {
    pub name: &'static str,
    /// The scenario, and what is added to it.
    parts: [(&'static str, &'static str); 2],
    /// Figures count from the start, so that every packet that costs time is counted.
    set: &'static [(&'static str, &'static str)],
}

/// The queues that every case is run with.
pub const QUEUES: [&str; 2] = ["red", "drop-tail"];

const NOTHING: (&str, &str) = ("", "");

pub const CASES: [Case; 6] = [
    Case { name: "a", parts: [("a.toml", include_str!("../cases/a.toml")), NOTHING], set: &[] },
    Case { name: "b", parts: [("b.toml", include_str!("../cases/b.toml")), NOTHING], set: &[] },
    Case { name: "c", parts: [("c.toml", include_str!("../cases/c.toml")), NOTHING], set: &[] },
    Case { name: "d", parts: [("d.toml", include_str!("../cases/d.toml")), NOTHING], set: &[] },
    Case { name: "e", parts: [("e.toml", include_str!("../cases/e.toml")), NOTHING], set: &[] },
    Case {
        name: "f",
        parts: [
            ("main.toml", include_str!("../../scenarios/main.toml")),
            ("f-udp.toml", include_str!("../cases/f-udp.toml")),
        ],
        set: &[("warmup", "0 s"), ("title", "f: scenarios/main.toml with UDP")],
    },
];

/// The cases to run.
#[derive(clap::Args)]
pub struct Which {
    /// The cases to run, such as `a c`; all if none is given
    #[arg(value_name = "CASE")]
    names: Vec<String>,
}

impl Which {
    pub fn cases(&self) -> Outcome<Vec<&'static Case>> {
        match self.names.is_empty() {
            true => Ok(CASES.iter().collect()),
            false => self.names.iter().map(|name| find(name)).collect(),
        }
    }
}

pub fn find(name: &str) -> Outcome<&'static Case> {
    CASES.iter().find(|c| c.name == name).ok_or_else(|| {
        let names: Vec<_> = CASES.iter().map(|c| c.name).collect();
        format!("there is no case \"{name}\"; known: {}", names.join(", "))
    })
}

impl Case {
    /// The scenario with some fields set to other values.
    pub fn point(&self, set: &[(String, String)]) -> Outcome<Point> {
        let mut points = self.study(set)?.points;
        if points.len() == 1 { Ok(points.remove(0)) } else { Err(format!("case {} sweeps", self.name)) }
    }

    /// The same as a study.
    pub fn study(&self, set: &[(String, String)]) -> Outcome<Study> {
        let [(name, text), (_, more)] = self.parts;
        #[allow(clippy::result_large_err)] // ends the program
        let read = || {
            let mut document = Document::parse(&format!("{text}{more}"), name)?;
            let own = self.set.iter().copied();
            for (field, value) in own.chain(set.iter().map(|(f, v)| (f.as_str(), v.as_str()))) {
                document.set_text(field, value)?;
            }
            document.study(&Plugins::new())
        };
        read().map_err(|e: ScenarioError| e.to_string())
    }

    /// Its title.
    pub fn title(&self) -> Outcome<String> {
        Ok(self.point(&[])?.scenario.title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_both_queues_and_counts_from_the_start() {
        for case in &CASES {
            let point = case.point(&[]).unwrap();
            assert!(point.scenario.title.starts_with(case.name), "{}", point.scenario.title);
            assert!(point.scenario.warmup.is_zero(), "{}", case.name);
            for queue in QUEUES {
                assert!(point.scenario.aqm.iter().any(|a| a.label() == queue), "{}: {queue}", case.name);
            }
        }
    }
}
