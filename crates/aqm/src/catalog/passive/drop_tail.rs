//! Drop-tail: no active management; an arrival that does not fit is dropped by the host.

use crate::params::{Marks, ParamError};
use crate::{Aqm, Link, params};

params! {
    /// Drop-tail has no parameters: the buffer belongs to the queue.
    pub struct DropTailParams {}
}

impl DropTailParams {
    /// It has no signals.
    pub fn marks(&self) -> Marks {
        Marks::Nothing
    }

    /// Always succeeds.
    pub fn build(&self, _link: &Link) -> Result<DropTail, ParamError> {
        Ok(DropTail)
    }
}

/// Passes every packet.
#[derive(Clone, Debug)]
pub struct DropTail;

impl Aqm for DropTail {}
