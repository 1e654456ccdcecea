//! Transfers as their sender sees them.

use super::*;

const CLIENT: (u8, u16) = (1, 40_000);

/// Three segments of 1000 bytes, of which the second is lost and sent again; the third is acknowledged selectively.
fn one_loss() -> Vec<Sent> {
    let data = |ms: u64, seq| tcp(START + ms * MS, CLIENT, SERVER, seq, 1000).ack(9001);
    let ack = |ms: u64, ack| tcp(START + ms * MS, SERVER, CLIENT, 9001, 0).ack(ack);
    let mut selective = ack(133, 2001);
    let (left, right) = (3001_u32.to_be_bytes(), 4001_u32.to_be_bytes());
    selective.header.set_options_raw(&[&[1, 1, 5, 10][..], &left, &right].concat()).unwrap();
    let mut packets = handshake(START, CLIENT, 26 * MS, 25 * MS).to_vec();
    packets.extend([data(100, 1001), data(101, 2001), data(102, 3001)]);
    packets.extend([ack(130, 2001), selective, data(140, 2001), ack(170, 4001)]);
    packets
}

#[test]
fn a_transfer_has_its_trips_and_what_was_sent_again() {
    let found = transfers(simple(&one_loss()).as_slice(), &[]).unwrap();
    assert_eq!((found.packets, found.duration, found.cut), ((10, 10), 170 * MS, false));
    let [flow] = found.transfers.as_slice() else { panic!("{found:?}") };
    assert_eq!((flow.handshake, flow.beyond), (Some((0, 26 * MS)), Some(25 * MS)));
    assert_eq!(flow.span, (100 * MS, 140 * MS));
    // From 100 to 130 ms by the number, from 102 to 133 ms by the range; what was sent twice has none.
    let trip = |sent, trip| Trip { sent: sent * MS, trip: trip * MS, bytes: 1000 };
    assert_eq!(flow.trips, [trip(100, 30), trip(102, 31)]);
    assert_eq!(flow.again, [Again { first: 101 * MS, at: 140 * MS, packets: 1 }]);
    assert_eq!(flow.delivered, [(130 * MS, 1000), (133 * MS, 1000), (170 * MS, 1000)]);
    assert_eq!((flow.packets, flow.frames), ((4, 0, 4000), (4, 0)));
    assert_eq!(flow.acknowledgments, [130, 133, 170].map(|ms| (ms * MS, false)));
    assert_eq!((flow.payload, flow.headers, flow.marks.len()), (1000, 40, 0));
    assert_eq!((flow.path.0[15], flow.path.1[15]), (CLIENT.0, SERVER.0));
}

#[test]
fn a_repeated_syn_has_no_handshake() {
    let mut packets = one_loss();
    let mut again = packets[0].clone();
    again.at += 10 * MS;
    packets.insert(1, again);
    let found = transfers(simple(&packets).as_slice(), &[]).unwrap();
    assert_eq!((found.transfers[0].handshake, found.transfers[0].beyond), (None, None));
}

#[test]
fn a_part_of_a_transfer_has_its_own_times_and_counts() {
    let found = transfers(simple(&one_loss()).as_slice(), &[]).unwrap();
    let whole = &found.transfers[0];
    let part = whole.between(101 * MS, 150 * MS).unwrap();
    assert_eq!((part.span, part.handshake), ((0, 39 * MS), None));
    assert_eq!(part.trips, [Trip { sent: MS, trip: 31 * MS, bytes: 1000 }]);
    assert_eq!(part.again, [Again { first: 0, at: 39 * MS, packets: 1 }]);
    assert_eq!(part.delivered, [(29 * MS, 1000), (32 * MS, 1000)]);
    assert_eq!(part.acknowledgments, [29, 32].map(|ms| (ms * MS, false)));
    assert_eq!(whole.between(0, 171 * MS).as_ref(), Some(whole));
    assert_eq!((whole.between(0, 100 * MS), whole.between(141 * MS, 200 * MS)), (None, None));
}

#[test]
fn frames_above_the_segment_are_segmentation_offload() {
    let mut packets = handshake(START, CLIENT, 26 * MS, 25 * MS).to_vec();
    packets.push(tcp(START + 100 * MS, CLIENT, SERVER, 1001, 1000).ack(9001));
    packets.push(tcp(START + 101 * MS, CLIENT, SERVER, 2001, 20_000).ack(9001));
    let found = transfers(simple(&packets).as_slice(), &[]).unwrap();
    assert_eq!(found.transfers[0].frames, (2, 1));
}
