//! The events of several links in one order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use quell_sim::trace::{LinkTrace, PacketEvent};

/// The events of all links by time, those of one time in the order of the links; each with its link's index.
pub(crate) fn merged(links: &[LinkTrace]) -> impl Iterator<Item = (usize, &PacketEvent)> {
    let next = |link: usize, place: usize| Some(Reverse((links[link].events.get(place)?.time, link, place)));
    let mut heads: BinaryHeap<_> = (0..links.len()).filter_map(|link| next(link, 0)).collect();
    std::iter::from_fn(move || {
        let Reverse((_, link, place)) = heads.pop()?;
        heads.extend(next(link, place + 1));
        Some((link, &links[link].events[place]))
    })
}
