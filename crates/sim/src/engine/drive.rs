//! The fast engine's clock: which timer or node comes next.

use quell_units::Time;

use super::net::Net;
use super::{CHECK_EVERY, report};
use crate::{Control, Error};

/// Whoever takes packets between the links where flows merge.
pub(super) trait Ahead {
    fn net(&mut self) -> &mut Net;
    /// The timer that is due first in a part.
    fn wake(&mut self, part: u32);
    /// Runs a node as far as it can go.
    fn visit(&mut self, node: u32);
}

/// Takes all that happens before `end`, in its order.
pub(super) fn drive(ahead: &mut impl Ahead, end: Time, control: &Control) -> Result<(), Error> {
    let mut checked = 0;
    loop {
        let net = ahead.net();
        let (node_due, node) = net.waiting.first();
        let (timer_due, part) = net.timers.first();
        let now = node_due.min(timer_due);
        if now >= end {
            return Ok(());
        }
        if net.events >= checked {
            checked = net.events + CHECK_EVERY;
            report(control, now)?;
        }
        // At one instant timers come before arrivals.
        if timer_due <= node_due {
            net.events += 1;
            ahead.wake(part);
        } else {
            ahead.visit(node);
        }
    }
}
