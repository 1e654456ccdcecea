//! Parts of loss recovery that stand alone.

pub(crate) mod prr;
pub(crate) mod rack;
