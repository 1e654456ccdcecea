//! Replications as bytes: all their tables in one piece, as the cache and remote workers hand them over.

use serde::{Deserialize, Serialize};

use crate::replication::Replication;
use crate::table::{NamedColumns, Table, replications};

/// All tables of some replications, as stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    tables: Vec<(String, NamedColumns)>,
}

/// Replications as bytes, which [`unpack`] reads.
///
/// # Errors
/// If they cannot be encoded; says why.
pub fn pack(all: &[Replication]) -> Result<Vec<u8>, String> {
    let tables = Table::ALL
        .iter()
        .map(|table| {
            let columns = table.columns(all);
            let found = columns.0.into_iter().map(|(name, column)| (name.to_string(), column)).collect();
            (table.name().to_string(), found)
        })
        .collect();
    postcard::to_stdvec(&Stored { tables }).map_err(|e| e.to_string())
}

/// The replications that [`pack`] made bytes of. None of the bytes is trusted.
///
/// # Errors
/// If they are not replications; says why.
pub fn unpack(bytes: &[u8]) -> Result<Vec<Replication>, String> {
    let Stored { tables } = postcard::from_bytes(bytes).map_err(|e| e.to_string())?;
    let mut tables: Vec<(String, Option<NamedColumns>)> =
        tables.into_iter().map(|(name, table)| (name, Some(table))).collect();
    replications(|table| {
        let found = tables.iter_mut().find(|(name, _)| name == table.name());
        found.and_then(|(_, found)| found.take()).ok_or_else(|| format!("it has no table {}", table.name()))
    })
}
