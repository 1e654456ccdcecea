//! The wire behind a link's transmitter: what it does to packets beside delaying all alike.

mod impaired;
mod impairments;
mod schedule;

pub use impaired::{Flight, Impaired};
pub use impairments::{Deviation, GilbertElliott, Impairments, Jitter, Loss};
pub use schedule::{Changes, Schedule, ToCome};
