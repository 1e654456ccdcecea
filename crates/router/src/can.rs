//! What a router can do, as a user says it.

use quell_aqm::catalog::{AqmConfig, CATALOG};
use quell_tc::Kernel;

use crate::platform::Platform;

/// Abilities of a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Can {
    /// Those of this platform.
    Platform(Platform),
    /// These algorithms, as the catalog names them.
    Algorithms(Vec<&'static str>),
}

impl Can {
    /// Reads a platform's name, or algorithms with commas between them, in the catalog's words or in tc's (`fq_codel`).
    ///
    /// # Errors
    /// Names the word that is neither, and what may be meant.
    pub fn parse(text: &str) -> Result<Can, String> {
        let lower = text.trim().to_ascii_lowercase();
        if let Some(platform) = Platform::find(&lower) {
            return Ok(Can::Platform(platform));
        }
        let mut algorithms = Vec::new();
        for word in lower.split(',').map(str::trim) {
            let name = match word {
                "fifo" | "pfifo" | "bfifo" | "pfifo-fast" | "pfifo_fast" => "drop-tail".to_string(),
                _ => word.replace('_', "-"),
            };
            let Some(entry) = CATALOG.iter().find(|entry| entry.name == name) else {
                if Platform::find(word).is_some() {
                    return Err(format!("\"{word}\" is a router: give one router, or algorithms"));
                }
                return Err(unknown(word));
            };
            if !algorithms.contains(&entry.name) {
                algorithms.push(entry.name);
            }
        }
        Ok(Can::Algorithms(algorithms))
    }

    /// The algorithms, as the catalog names them.
    pub fn algorithms(&self) -> Vec<&'static str> {
        match self {
            Can::Platform(platform) => platform.algorithms(),
            Can::Algorithms(names) => names.clone(),
        }
    }

    /// An algorithm by the rules of the kernel that has it. Where only algorithms are named, that is Linux.
    pub fn as_there(&self, config: AqmConfig) -> AqmConfig {
        let kernel = match self {
            Can::Platform(platform) => platform.kernel(),
            Can::Algorithms(_) => Some(Kernel::default()),
        };
        match kernel {
            Some(kernel) => quell_tc::as_in(kernel, config),
            None => config,
        }
    }

    /// Whether cake-autorate runs there. Where only algorithms are named, the router is Linux.
    pub fn follows(&self) -> bool {
        match self {
            Can::Platform(platform) => platform.follows(),
            Can::Algorithms(_) => true,
        }
    }

    /// Whether it has this algorithm.
    pub fn has(&self, config: &AqmConfig) -> bool {
        self.algorithms().contains(&config.name())
    }
}

fn unknown(word: &str) -> String {
    let platforms =
        || Platform::all().flat_map(|p| [p.name()].into_iter().chain(p.aliases().iter().copied()));
    let names = platforms().chain(CATALOG.iter().map(|entry| entry.name));
    let nearest = quell_names::nearest(word, names);
    let known: Vec<&str> = Platform::all().map(Platform::name).collect();
    let known = format!("known routers: {}; algorithms: `quell aqm list`", known.join(", "));
    let rule = format!("\"{}\" is neither a router nor an algorithm", quell_units::text::cut(word));
    quell_names::suggest(&rule, nearest.as_deref(), Some(&known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routers_and_algorithms_are_read() {
        assert_eq!(Can::parse("OpenWrt"), Ok(Can::Platform(Platform::OpenWrt)));
        assert_eq!(Can::parse("cake, fq_codel,cake"), Ok(Can::Algorithms(vec!["cake", "fq-codel"])));
        assert_eq!(Can::parse("pfifo"), Ok(Can::Algorithms(vec!["drop-tail"])));
        let said = Can::parse("openwtr").unwrap_err();
        assert!(said.contains("did you mean \"openwrt\"?"), "{said}");
        assert!(Can::parse("cake,junos").unwrap_err().contains("is a router"));
        assert!(Can::parse("cake,").unwrap_err().contains("neither"));
        assert!(Can::parse("fq_kodel").unwrap_err().contains("fq-codel"));
    }

    #[test]
    fn what_only_comes_near_is_not_had() {
        let junos = Can::parse("junos").unwrap();
        assert_eq!(junos.algorithms(), ["red", "drop-tail"]);
    }
}
