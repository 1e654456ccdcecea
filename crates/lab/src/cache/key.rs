//! The key of a replication.

use quell_metrics::hex;
use quell_scenario::Identity;
use sha2::{Digest, Sha256};

use crate::fingerprint::fingerprint;

/// The version of what a replication has; part of every key.
const SCHEMA: u32 = 5;

/// Identifies a replication by all it depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub(super) [u8; 32]);

impl Key {
    /// The key of a replication.
    ///
    /// # Errors
    /// If an algorithm has no fingerprint; says why.
    pub fn new(identity: &Identity, seed: u64) -> Result<Key, String> {
        let mut hash = Sha256::new();
        hash.update(format!("quell replication {SCHEMA}\n"));
        for algorithm in &identity.algorithms {
            hash.update(format!("{algorithm} {}\n", fingerprint(algorithm)?));
        }
        hash.update(format!("seed {seed}\n"));
        hash.update(&identity.text);
        Ok(Key(hash.finalize().into()))
    }

    /// Its position between the least key, 0, and the largest, 1: keys are spread evenly.
    pub(crate) fn position(&self) -> f64 {
        f64::from(u32::from_be_bytes([self.0[0], self.0[1], self.0[2], self.0[3]])) / f64::from(u32::MAX)
    }

    /// The key that is written so, in 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Key> {
        let mut key = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (i, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).ok()?;
        }
        Some(Key(key))
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex(&self.0))
    }
}
