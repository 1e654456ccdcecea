//! The digest of a run, and hexadecimal digits.

use sha2::{Digest, Sha256};

use crate::replication::Replication;

/// The hash over the replications' digests: it depends on what was simulated and on nothing else.
pub fn digest(replications: &[Replication]) -> String {
    let mut hash = Sha256::new();
    for r in replications {
        hash.update(format!("{} {} {} {:016x}\n", r.point, r.algorithm, r.seed, r.digest));
    }
    hex(&hash.finalize())
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
