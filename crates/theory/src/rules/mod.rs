//! Questions to a network and an algorithm: the [analysis] with the published [criteria], how far it
//! [reaches](reach), and parameters by a published [design] rule.

pub mod analysis;
pub mod criteria;
pub mod design;
pub mod reach;
