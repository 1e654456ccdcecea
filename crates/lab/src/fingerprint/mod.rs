//! Fingerprints of the engine: a replication that was kept is used again only if the engine that kept it
//! computes the same.
//!
//! An algorithm's fingerprint is a hash over all that short golden runs with it find, one for each scenario in
//! this folder, which between them have most kinds of traffic, of link and of change. They are run when a
//! cache is first asked for that algorithm, some hundredths of a second: nobody has to remember to record what
//! a change of the code has changed. They see an algorithm's defaults, and what happens in a minute and a half;
//! for what they do not see there is `quell run --verify`.

use std::collections::HashMap;
use std::sync::Mutex;

use quell_metrics::{Replication, hex};
use quell_scenario::{Document, Plugins};
use quell_sim::{Control, Engine};
use sha2::{Digest, Sha256};

use crate::replicate::{Ended, bytes, replicate};

const SCENARIOS: [(&str, &str); 4] = [
    ("mixed.toml", include_str!("mixed.toml")),
    ("bytes.toml", include_str!("bytes.toml")),
    ("slow.toml", include_str!("slow.toml")),
    ("hosts.toml", include_str!("hosts.toml")),
];

static KNOWN: Mutex<Option<HashMap<String, String>>> = Mutex::new(None);

/// The fingerprint of an algorithm of the catalog on this engine.
///
/// # Errors
/// If the golden runs fail; says how.
pub fn fingerprint(algorithm: &str) -> Result<String, String> {
    // One thread at a time: two would compute the same.
    let mut known = KNOWN.lock().unwrap_or_else(|e| e.into_inner());
    let known = known.get_or_insert_default();
    if let Some(found) = known.get(algorithm) {
        return Ok(found.clone());
    }
    let found = golden_runs(algorithm)?;
    known.insert(algorithm.to_string(), found.clone());
    Ok(found)
}

fn golden_runs(algorithm: &str) -> Result<String, String> {
    let mut hash = Sha256::new();
    for (name, text) in SCENARIOS {
        let mut document = Document::parse(text, name).map_err(|e| e.to_string())?;
        let choice = toml::Table::from_iter([("algorithm".to_string(), algorithm.into())]);
        document.set("aqm", &toml::Value::Array(vec![choice.into()])).map_err(|e| e.to_string())?;
        let study = document.study(&Plugins::new()).map_err(|e| e.to_string())?;
        for (at, point) in study.points.iter().enumerate() {
            for seed in point.scenario.seeds.list() {
                let with = (Engine::default(), &Plugins::new());
                let found =
                    replicate(point, 0, seed, with, &Control::default(), None).map_err(
                        |ended| match ended {
                            Ended::Stopped => "stopped".to_string(),
                            Ended::Failed(why) => format!("{algorithm} with seed {seed}: {why}"),
                        },
                    )?;
                hash.update(bytes(&Replication { point: at, ..found })?);
            }
        }
    }
    Ok(hex(&hash.finalize()[..12]))
}

#[cfg(test)]
mod tests {
    use quell_aqm::catalog::CATALOG;

    use super::*;
    use crate::{Metric, Options, run};

    #[test]
    fn every_algorithm_has_a_fingerprint_of_its_own_and_it_stays() {
        let all: HashMap<String, &str> =
            CATALOG.iter().map(|entry| (fingerprint(entry.name).unwrap(), entry.name)).collect();
        assert_eq!(all.len(), CATALOG.len());
        assert_eq!(golden_runs("red").unwrap(), fingerprint("red").unwrap());
    }

    #[test]
    fn golden_runs_reach_what_they_are_for() {
        for (name, text) in SCENARIOS {
            let mut document = Document::parse(text, name).unwrap();
            document.set("aqm", &"all".into()).unwrap();
            let study = document.study(&Plugins::new()).unwrap();
            let mut transfers = 0;
            for r in run(&study, &Options::default()).unwrap().replications {
                let all = r.metrics.iter().filter(|m| m.scope == "all" && m.segment.is_none());
                let sum = |metric| all.clone().filter_map(|m| m.values.get(metric)).sum::<f64>();
                assert!(sum(Metric::LossRate) > 0.0, "{name}: {} loses nothing", r.algorithm);
                transfers += r.transfers.len();
            }
            assert!(transfers > CATALOG.len() || name == "bytes.toml", "{name}: {transfers} transfers end");
        }
    }
}
