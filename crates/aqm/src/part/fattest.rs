//! Choice of the lane that loses packets to a full buffer.

use crate::{Lanes, Victim};

/// The lane with the most bytes, an arrival at `lane` counted with it (RFC 8290 section 4.1); of several the first.
/// Those of `active` are looked at, in any order: every lane in which something waits is one of them, so that it
/// does not matter how many there are in all.
pub fn fattest(active: impl Iterator<Item = usize>, lanes: &Lanes<'_>, lane: usize, arrival: u64) -> usize {
    let (mut fattest, mut most) = (lane, lanes.each[lane].bytes.get() + arrival);
    for i in active {
        let bytes = lanes.each[i].bytes.get() + if i == lane { arrival } else { 0 };
        if bytes > most || bytes == most && i < fattest {
            (fattest, most) = (i, bytes);
        }
    }
    fattest
}

/// The packet at the head of `fat`, or the arrival at `lane` where nothing else of that lane is left.
#[inline]
pub fn head_of(lanes: &Lanes<'_>, fat: usize, lane: usize) -> Victim {
    match lanes.each[fat].packets.get() {
        0 => {
            debug_assert_eq!(fat, lane, "the fattest lane holds something");
            Victim::Arrival
        }
        _ => Victim::Head(fat),
    }
}
