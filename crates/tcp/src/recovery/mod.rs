//! Parts of loss recovery that stand alone.

pub(crate) mod prr;
