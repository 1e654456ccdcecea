//! The tests of the crate, in one binary, which links once; `no_allocation` counts what its process allocates and is
//! alone.

mod asta;
mod bbr;
mod clients;
mod common;
mod completion;
mod delay_control;
mod drop_front;
mod dualpi2;
mod engines_agree;
mod golden;
mod paced;
mod queueing_theory;
mod record;
mod red_tail;
mod reordering;
mod requests;
mod sizes;
mod small_queues;
mod steady;
mod tcp_laws;
mod timed;
mod traces;
mod tracing;
mod vrc;
mod windows;
