//! Differences whose cause is known: `excuses.toml`, with the reason and the evidence.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::chapter::Chapter;

const TEXT: &str = include_str!("../excuses.toml");

/// Figures that differ for a known cause: in ns-2, where it is known to be wrong.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Excuse {
    /// The chapter of the cases.
    #[serde(default)]
    pub chapter: Chapter,
    /// The cases, by name.
    pub cases: Vec<String>,
    /// The figures; all of them if there are none.
    #[serde(default)]
    pub figures: Vec<String>,
    /// The error of ns-2, or the place where the two part.
    pub reason: String,
    /// The evidence.
    pub evidence: String,
}

impl Excuse {
    fn covers(&self, case: &str, figure: &str) -> bool {
        self.cases.iter().any(|c| c == case)
            && (self.figures.is_empty() || self.figures.iter().any(|f| f == figure))
    }
}

/// Every excuse.
pub fn all() -> &'static [Excuse] {
    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        excuse: Vec<Excuse>,
    }
    static ALL: LazyLock<Vec<Excuse>> = LazyLock::new(|| {
        let file: File = toml::from_str(TEXT).expect("the excuses are part of the program");
        file.excuse
    });
    &ALL
}

/// The excuse for a figure of a case, if there is one.
pub fn find(case: &str, figure: &str) -> Option<&'static Excuse> {
    all().iter().find(|e| e.covers(case, figure))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Case;
    use crate::{linux, ns2, ns3, windows};

    fn names(cases: &[impl Case]) -> Vec<String> {
        cases.iter().map(Case::name).collect()
    }

    #[test]
    fn excuses_name_cases_and_figures_that_exist() {
        for excuse in all() {
            let cases = match excuse.chapter {
                Chapter::Ns2 => names(&ns2::cases()),
                Chapter::Linux => names(&linux::cases()),
                Chapter::Ns3 => names(&ns3::cases()),
                Chapter::Laws => Vec::new(),
            };
            assert!(excuse.cases.iter().all(|c| cases.contains(c)), "{:?}", excuse.cases);
            let known = |figure: &String| match excuse.chapter {
                Chapter::Ns2 => ns2::FIGURES.iter().any(|(f, _)| f.name == figure),
                _ => linux::figures().any(|f| f.name == figure) || windows::FIGURES.contains(&&figure[..]),
            };
            assert!(excuse.figures.iter().all(known), "{:?}", excuse.figures);
        }
    }
}
