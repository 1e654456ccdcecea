//! The scenarios of RFC 7928: what the files in `suite/` say.

use std::str::FromStr;
use std::sync::LazyLock;

use quell_metrics::{Better, Quantity};
use serde::{Deserialize, Deserializer, Serialize};

/// A scenario of RFC 7928 and what is asked of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// The name of its file.
    #[serde(skip)]
    pub name: &'static str,
    /// The section of RFC 7928.
    pub section: String,
    /// Its title.
    pub title: String,
    /// The requirement level of the RFC.
    pub weight: Weight,
    /// The purpose of the scenario and what is run.
    pub says: String,
    /// The figures, in the order of the columns.
    pub figures: Vec<Figure>,
    /// The field that is the link's rate; all other rates follow it.
    #[serde(default = "rate_at")]
    pub(crate) rate_at: String,
    /// Fields that get the baseline's algorithm.
    #[serde(default)]
    pub(crate) baseline_at: Vec<String>,
    /// The scenario, without algorithms.
    pub(crate) scenario: toml::Table,
}

fn rate_at() -> String {
    "dumbbell.rate".to_string()
}

/// The requirement level of a scenario in RFC 7928.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// It must be considered.
    Must,
    /// It should be.
    Should,
    /// It may be.
    May,
}

impl Weight {
    /// The level as requirements are written.
    pub fn word(self) -> &'static str {
        match self {
            Weight::Must => "MUST",
            Weight::Should => "SHOULD",
            Weight::May => "MAY",
        }
    }
}

/// A figure of a section.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The quantity that is measured.
    pub of: Quantity,
    /// The better direction.
    pub wish: Wish,
    /// The link, if not the first that is measured.
    pub link: Option<String>,
}

/// The better direction of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Wish {
    /// A larger figure is better.
    #[serde(rename = "more")]
    More,
    /// A smaller figure is better.
    #[serde(rename = "less")]
    Less,
    /// A ratio near one is better: equal shares.
    #[serde(rename = "nearer 1")]
    NearOne,
    /// Neither is: the figure is shown and not judged.
    #[serde(rename = "neither")]
    Neither,
}

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Name(String),
            Table { of: String, better: Option<Wish>, link: Option<String> },
        }
        let (of, better, link) = match Written::deserialize(deserializer)? {
            Written::Name(of) => (of, None, None),
            Written::Table { of, better, link } => (of, better, link),
        };
        let of = Quantity::from_str(&of).map_err(serde::de::Error::custom)?;
        let own = || match of.better() {
            Better::Higher => Wish::More,
            Better::Lower => Wish::Less,
            Better::Neither => Wish::Neither,
        };
        // The figure of one class is better in the way of the metric.
        Ok(Figure { wish: better.unwrap_or_else(own), of, link })
    }
}

macro_rules! files {
    ($($name:literal)*) => {
        const FILES: &[(&str, &str)] = &[$( ($name, include_str!(concat!("../suite/", $name, ".toml"))), )*];
    };
}

files! {
    "04_4_packet_sizes"
    "04_5_ecn"
    "05_1_1_long"
    "05_1_2_short"
    "05_2_cubic"
    "05_3_a_unresponsive"
    "05_3_b_unresponsive"
    "05_4_ledbat"
    "06_2_rtt_fairness"
    "07_2_a_web_cbr"
    "07_2_b_web_cbr_bulk"
    "07_2_c_video_web_cbr"
    "07_2_d_video_web_cbr_bulk"
    "08_2_2_mild"
    "08_2_3_medium"
    "08_2_4_heavy"
    "08_2_5_varying_load"
    "08_2_6_a_varying_capacity"
    "08_2_6_b_varying_capacity"
    "09_1_mixture"
    "09_2_bidirectional"
    "10_2_a_two_queues"
    "10_2_b_two_algorithms"
}

/// Every scenario, in the order of the RFC.
pub fn suite() -> &'static [Section] {
    static SUITE: LazyLock<Vec<Section>> = LazyLock::new(|| {
        let read = |(name, text): &(&'static str, &str)| match toml::from_str::<Section>(text) {
            Ok(section) => Section { name, ..section },
            Err(error) => panic!("suite/{name}.toml is part of the program and is tested: {error}"),
        };
        FILES.iter().map(read).collect()
    });
    &SUITE
}

/// The scenarios that these texts name: a section of the RFC with all that is below it (`8.2`), or a file's name; all
/// without any.
///
/// # Errors
/// Says which text names none, and what there is.
pub fn select(names: &[String]) -> Result<Vec<&'static Section>, String> {
    let is = |section: &Section, name: &str| {
        let below =
            section.section.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        below || section.name == name
    };
    for name in names {
        if !suite().iter().any(|section| is(section, name)) {
            let mut known: Vec<&str> = suite().iter().map(|s| s.section.as_str()).collect();
            known.dedup();
            return Err(format!("section \"{name}\": has no scenario; must be one of: {}", known.join(", ")));
        }
    }
    Ok(suite().iter().filter(|section| names.is_empty() || names.iter().any(|n| is(section, n))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_suite_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/suite");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_string())
            .collect();
        names.sort();
        assert_eq!(names, FILES.iter().map(|f| f.0).collect::<Vec<_>>());
    }

    #[test]
    fn a_section_is_chosen_with_what_is_below_it() {
        let names =
            |of: &str| select(&[of.to_string()]).map(|s| s.iter().map(|s| s.name).collect::<Vec<_>>());
        assert_eq!(names("8.2").unwrap().len(), 6);
        assert_eq!(names("5.2").unwrap(), ["05_2_cubic"]);
        assert_eq!(names("05_2_cubic").unwrap(), ["05_2_cubic"]);
        assert!(names("3").unwrap_err().contains("must be one of: 4.4, 4.5, 5.1.1"));
        assert_eq!(select(&[]).unwrap().len(), FILES.len());
    }
}
