//! A scenario with real packets.

use std::path::Path;

use crate::args::WireArgs;
use crate::failure::Failure;

/// A scenario that can be run live.
pub struct Live {}

impl Live {
    /// Reads a scenario and refuses what no wire is.
    pub fn read(file: &Path, _: &WireArgs) -> Result<Live, Failure> {
        let _ = (file, super::FASTEST);
        Err(Failure::BadInput("not yet".into()))
    }

    /// Runs it.
    pub fn run(self, _: &WireArgs, _: Vec<String>) -> Result<(), Failure> {
        Ok(())
    }
}
