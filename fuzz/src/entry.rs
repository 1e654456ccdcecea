//! Any bytes as an entry of the cache: it is read, or refused; nothing else happens.

use quell_lab::{Key, read_entry};
use sha2::{Digest as _, Sha256};

/// The first 32 bytes are the key, the others the file; once as they are, once with a hash that is right, so that
/// what stands behind the hash is reached.
pub fn entry(data: &[u8]) {
    let Some((key, file)) = data.split_at_checked(32) else { return };
    let text: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    let Some(key) = Key::parse(&text) else { panic!("{text} is a key") };
    let _ = read_entry(file, &key);
    if let Some((start, body)) = file.split_at_checked(48) {
        let sealed = [&start[..16], &Sha256::digest(body)[..], body].concat();
        let _ = read_entry(&sealed, &key);
    }
}
