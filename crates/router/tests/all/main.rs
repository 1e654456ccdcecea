//! Tests of what is written for routers.

mod curves;
mod golden;
mod numbers;
mod page;
mod refused;

use quell_aqm::catalog::{AqmConfig, find};
use quell_router::{Shaped, Side, Which, technology};
use quell_units::QueueSize;

/// An algorithm with its defaults.
fn default(name: &str) -> AqmConfig {
    (find(name).unwrap().default)()
}

/// An algorithm with parameters as scenarios have them.
fn with(name: &str, parameters: &str) -> AqmConfig {
    toml::from_str(&format!("algorithm = \"{name}\"\n{parameters}")).unwrap()
}

/// A direction of a technology.
fn side(link: &str, rate: &str, aqm: AqmConfig) -> Side {
    Side {
        link: technology::find(link).unwrap().shaped(rate.parse().unwrap()),
        aqm,
        ecn: true,
        buffer: QueueSize::Packets(100.0),
        range: None,
    }
}

/// A link of 100 and 20 Mbit/s.
fn shaped(link: &str, aqm: AqmConfig) -> Shaped {
    Shaped {
        wan: "eth0".into(),
        lan: Some("eth1".into()),
        down: side(link, "100 Mbit/s", aqm.clone()),
        up: side(link, "20 Mbit/s", aqm),
        which: Which::Both,
    }
}
