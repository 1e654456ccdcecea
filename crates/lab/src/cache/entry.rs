//! An entry's file: a line that says what it is, the SHA-256 of the rest, a head, and the replication's tables.

use std::fs::File;
use std::io::{self, Read as _};

use quell_metrics::{Replication, pack, unpack};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::key::Key;

/// The beginning of a file. Whatever changes the format changes this line.
const MAGIC: &[u8; 16] = b"quell entry   2\n";
const HASH: usize = 32;
/// The beginning of the body, of which the hash is.
const BODY: usize = MAGIC.len() + HASH;
/// The bytes of the head's length, which stands before it.
const LENGTH: usize = 4;
/// More than any replication has, and less than a machine has: the length in a damaged file is any number.
const MOST: usize = 1 << 31;

/// The description that an entry has of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The scenario's title.
    pub title: String,
    /// The settings that distinguish the point from others of its study.
    pub point: String,
    /// The algorithm's name in the catalog.
    pub algorithm: String,
    /// The scenario with every default and this algorithm alone, as TOML.
    pub scenario: String,
    /// The version of Quell that ran it.
    pub version: String,
}

/// A replication that a cache has.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// All of it, or all but its time series.
    pub replication: Replication,
    /// True if its time series were kept.
    pub series: bool,
    /// Its description.
    pub about: About,
}

/// The part of an entry before its tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    key: [u8; 32],
    series: bool,
    pub(super) about: About,
}

/// The file of a replication.
pub(super) fn encode(key: &Key, hit: &Hit) -> Result<Vec<u8>, String> {
    // Its point and its label are those of the run that kept it; who finds it puts his own there.
    let plain = pack(std::slice::from_ref(&hit.replication))?;
    let head = Head { key: key.0, series: hit.series, about: hit.about.clone() };
    let head = postcard::to_stdvec(&head).map_err(|e| e.to_string())?;
    let length = u32::try_from(head.len()).map_err(|e| e.to_string())?;
    let mut file = Vec::with_capacity(BODY + LENGTH + head.len() + snap::raw::max_compress_len(plain.len()));
    file.extend(MAGIC);
    file.extend([0; HASH]);
    file.extend(length.to_le_bytes());
    file.extend(head);
    let from = file.len();
    file.resize(file.capacity(), 0);
    let written = snap::raw::Encoder::new().compress(&plain, &mut file[from..]).map_err(|e| e.to_string())?;
    file.truncate(from + written);
    let hash = Sha256::digest(&file[BODY..]);
    file[MAGIC.len()..BODY].copy_from_slice(&hash);
    Ok(file)
}

/// The head of a file, unless it is that of another kind or of another replication. It is not checked against
/// the hash, which is over the whole file.
pub(super) fn head(file: &mut File, key: &Key) -> Result<Head, String> {
    let mut start = [0; BODY + LENGTH];
    let cut = |e: io::Error| match e.kind() {
        io::ErrorKind::UnexpectedEof => "it is cut off".to_string(),
        _ => e.to_string(),
    };
    file.read_exact(&mut start).map_err(cut)?;
    let length = length(&start)?;
    let mut head = Vec::new();
    file.take(length as u64).read_to_end(&mut head).map_err(cut)?;
    parse_head(&head, length, key)
}

fn length(start: &[u8]) -> Result<usize, String> {
    if !start.starts_with(MAGIC) {
        return Err("it is not an entry of this version".into());
    }
    let length = start.get(BODY..BODY + LENGTH).and_then(|bytes| bytes.try_into().ok());
    length.map(|bytes| u32::from_le_bytes(bytes) as usize).ok_or_else(|| "it is cut off".into())
}

fn parse_head(head: &[u8], length: usize, key: &Key) -> Result<Head, String> {
    if head.len() < length {
        return Err("it is cut off".into());
    }
    let head: Head = postcard::from_bytes(&head[..length]).map_err(|e| e.to_string())?;
    if head.key != key.0 {
        return Err("it is another replication's".into());
    }
    Ok(head)
}

/// The contents of a file, none of which is trusted.
pub(super) fn decode(file: &[u8], key: &Key) -> Result<Hit, String> {
    let length = length(file)?;
    if Sha256::digest(&file[BODY..])[..] != file[MAGIC.len()..BODY] {
        return Err("its contents differ from what was written".into());
    }
    let rest = &file[BODY + LENGTH..];
    let head = parse_head(rest, length, key)?;
    let tables = &rest[length..];
    if snap::raw::decompress_len(tables).map_err(|e| e.to_string())? > MOST {
        return Err("it claims to be larger than any entry".into());
    }
    let plain = snap::raw::Decoder::new().decompress_vec(tables).map_err(|e| e.to_string())?;
    let mut all = unpack(&plain)?;
    match (all.pop(), all.len()) {
        (Some(replication), 0) => Ok(Hit { replication, series: head.series, about: head.about }),
        _ => Err("it is not one replication".into()),
    }
}

/// Reads the bytes of an entry's file as that of `key`, trusting none of them.
///
/// # Errors
/// If it is damaged; says how.
pub fn read_entry(bytes: &[u8], key: &Key) -> Result<Replication, String> {
    decode(bytes, key).map(|hit| hit.replication)
}
