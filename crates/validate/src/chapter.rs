//! The chapters of the comparison.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What Quell is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Chapter {
    /// The simulator of the source papers
    #[default]
    Ns2,
    /// Linux's queues and TCP, in virtual time
    Linux,
    /// A later simulator
    Ns3,
    /// What holds without another implementation
    Laws,
}

impl Chapter {
    /// The name on the command line, and in the marks around it in the page.
    pub fn id(self) -> &'static str {
        match self {
            Chapter::Ns2 => "ns2",
            Chapter::Linux => "linux",
            Chapter::Ns3 => "ns3",
            Chapter::Laws => "laws",
        }
    }

    /// The name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Chapter::Ns2 => "ns-2",
            Chapter::Linux => "Linux",
            Chapter::Ns3 => "ns-3",
            Chapter::Laws => "the laws",
        }
    }
}
