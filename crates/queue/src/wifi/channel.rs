//! A channel as data: its contention, its frames, and the stations that share it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Display;

use quell_units::{BitRate, Bytes, Duration};

use crate::Refused;

/// A channel of IEEE 802.11 that an access point shares with its stations, as data.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// The rules by which it is won.
    pub contention: Contention,
    /// The parts of a frame that are not packets.
    pub frames: Frames,
    /// The limits of aggregates; `None` if every frame has one packet.
    pub aggregation: Option<Aggregation>,
    /// The queues of the access point.
    pub access_point: AccessPoint,
    /// The stations, in any order.
    pub stations: Vec<Station>,
}

/// The rules of the distributed coordination function (DCF). Names are those of the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contention {
    /// The length of a slot.
    pub slot: Duration,
    /// The gap between a frame and its acknowledgment.
    pub sifs: Duration,
    /// The time for which the channel is idle before slots are counted.
    pub difs: Duration,
    /// The most slots that the first attempt waits: it draws from 0 to this.
    pub cw_min: u32,
    /// The most slots that any attempt waits.
    pub cw_max: u32,
    /// The number of times that a packet is sent again before it is given up; `None`: until it arrives.
    pub retries: Option<u32>,
}

/// The parts of frames that carry no packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    /// The preamble and header of the physical layer, before each frame with data.
    pub preamble: Duration,
    /// The bytes of the MAC header and of the checksum (FCS), for each packet.
    pub header: Bytes,
    /// The preamble of an acknowledgment.
    pub ack_preamble: Duration,
    /// The bytes of an acknowledgment, or of a block acknowledgment.
    pub ack: Bytes,
    /// The rate of acknowledgments; `None`: that of the data that they acknowledge.
    pub ack_rate: Option<BitRate>,
}

/// The limits of an aggregate (A-MPDU): whichever comes first ends it. One packet always fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Packets; also the window of block acknowledgments: no packet leaves as many packets after one that is still
    /// missing.
    pub packets: u32,
    /// Bytes of the frame, with headers.
    pub bytes: Bytes,
    /// The time that the frame takes, with its preamble.
    pub duration: Duration,
    /// The bytes before each packet in an aggregate.
    pub delimiter: Bytes,
}

/// The queues of the access point, and whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessPoint {
    /// One queue for all stations, above a driver that takes packets from it while it holds fewer than this. The driver
    /// sorts them by station, and stations have turns of one frame each.
    One {
        /// The most packets that the driver holds.
        driver: u32,
    },
    /// A queue for each station. They have turns of one frame each.
    Turns,
    /// A queue for each station. Turns are paid for in airtime, by deficit round robin.
    Airtime {
        /// The airtime that each station is given in a round.
        quantum: Duration,
    },
}

/// A station.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// Its name.
    pub name: String,
    /// The rate of its frames and of those to it.
    pub rate: BitRate,
    /// The probability that a packet of a frame is not understood, either way.
    pub loss: f64,
    /// The most packets in an aggregate, either way; `None`: only the channel limits them.
    pub packets: Option<u32>,
}

/// The most stations of a channel: each has a lane in both directions, and lanes are numbered by a byte.
pub const MOST_STATIONS: usize = 127;

impl Contention {
    /// The times of OFDM at 5 GHz with the contention windows of data, as Høiland-Jørgensen et al. (2017) use them.
    pub const OFDM: Contention = Contention {
        slot: Duration::from_micros(9),
        sifs: Duration::from_micros(16),
        difs: Duration::from_micros(34),
        cw_min: 15,
        cw_max: 1023,
        retries: Some(7),
    };

    /// The window after another failure.
    pub(super) fn doubled(&self, window: u32) -> u32 {
        (2 * window + 1).min(self.cw_max)
    }
}

impl Channel {
    /// IEEE 802.11a: no aggregates.
    pub fn a(access_point: AccessPoint, stations: Vec<Station>) -> Self {
        let frames = Frames {
            preamble: Duration::from_micros(20),
            header: Bytes::new(36),
            ack_preamble: Duration::from_micros(20),
            ack: Bytes::new(14),
            ack_rate: Some(BitRate::from_bps(24_000_000)),
        };
        Channel { contention: Contention::OFDM, frames, aggregation: None, access_point, stations }
    }

    /// IEEE 802.11n, with the overheads of Høiland-Jørgensen et al. (2017).
    pub fn n(access_point: AccessPoint, stations: Vec<Station>) -> Self {
        let frames = Frames {
            preamble: Duration::from_micros(32),
            header: Bytes::new(38),
            ack_preamble: Duration::from_micros(20),
            ack: Bytes::new(58),
            ack_rate: None,
        };
        let aggregation = Aggregation {
            packets: 64,
            bytes: Bytes::new(65_535),
            duration: Duration::from_millis(4),
            delimiter: Bytes::new(4),
        };
        Channel {
            contention: Contention::OFDM,
            frames,
            aggregation: Some(aggregation),
            access_point,
            stations,
        }
    }

    /// IEEE 802.11ac: as 802.11n, with a longer preamble and more bytes in an aggregate.
    pub fn ac(access_point: AccessPoint, stations: Vec<Station>) -> Self {
        let mut channel = Channel::n(access_point, stations);
        channel.frames.preamble = Duration::from_micros(40);
        if let Some(aggregation) = &mut channel.aggregation {
            aggregation.bytes = Bytes::new(1_048_575);
        }
        channel
    }

    /// The names of its lanes: the queues in which packets wait. First that of the access point, "ap", or one for each
    /// station, with its name; then those of the stations themselves, with "-up" behind the name.
    pub fn lanes(&self) -> Vec<String> {
        let down = match self.access_point {
            AccessPoint::One { .. } => alloc::vec![String::from("ap")],
            _ => self.stations.iter().map(|station| station.name.clone()).collect(),
        };
        down.into_iter().chain(self.stations.iter().map(|station| format!("{}-up", station.name))).collect()
    }

    /// The number of lanes that are the access point's.
    pub fn down_lanes(&self) -> usize {
        match self.access_point {
            AccessPoint::One { .. } => 1,
            _ => self.stations.len(),
        }
    }

    /// The bytes that a packet takes in a frame.
    pub fn in_frame(&self, packet: Bytes) -> Bytes {
        let plain = packet.get() + self.frames.header.get();
        // Høiland-Jørgensen et al. (2017), section 2.2: packets of an aggregate end at multiples of four bytes.
        let aggregated = |a: Aggregation| (plain + a.delimiter.get()).next_multiple_of(4);
        Bytes::new(self.aggregation.map_or(plain, aggregated))
    }

    /// The time of a frame to or from a station with so many bytes, [in the frame](Channel::in_frame).
    pub fn frame_time(&self, station: usize, bytes: Bytes) -> Duration {
        self.frames.preamble + self.stations[station].rate.transmission_time(bytes)
    }

    /// The time from the end of a frame to the end of its acknowledgment.
    pub fn ack_time(&self, station: usize) -> Duration {
        let Frames { ack_preamble, ack, ack_rate, .. } = self.frames;
        let rate = ack_rate.unwrap_or(self.stations[station].rate);
        self.contention.sifs + ack_preamble + rate.transmission_time(ack)
    }

    /// The rate of packets of this size to a station that has the channel for itself, `count` of them in each frame.
    pub fn rate_alone(&self, station: usize, packet: Bytes, count: u32) -> BitRate {
        let Contention { slot, difs, cw_min, .. } = self.contention;
        let frame = Bytes::new(self.in_frame(packet).get() * u64::from(count));
        let time = difs + self.frame_time(station, frame) + self.ack_time(station);
        // The mean of the slots is half of the window.
        let nanos = u128::from(time.nanos()) + u128::from(slot.nanos()) * u128::from(cw_min) / 2;
        let bits = u128::from(packet.get()) * u128::from(count) * 8_000_000_000;
        BitRate::from_bps(u64::try_from(bits / nanos.max(1)).unwrap_or(u64::MAX))
    }

    /// The most packets of this size in a frame of a station.
    pub fn most_packets(&self, station: usize, packet: Bytes) -> u32 {
        let own = self.stations[station].packets.unwrap_or(u32::MAX);
        let Some(aggregation) = self.aggregation else { return 1 };
        let bytes = self.most_bytes(station) / self.in_frame(packet).get().max(1);
        u32::try_from(bytes).unwrap_or(u32::MAX).min(aggregation.packets).min(own).max(1)
    }

    /// The most bytes in an aggregate of a station, by the channel's limits of bytes and of time.
    pub(super) fn most_bytes(&self, station: usize) -> u64 {
        let Some(Aggregation { bytes, duration, .. }) = self.aggregation else { return 0 };
        let rate = u128::from(self.stations[station].rate.bps());
        let nanos = u128::from((duration - self.frames.preamble).nanos());
        bytes.get().min(u64::try_from(rate * nanos / 8_000_000_000).unwrap_or(u64::MAX))
    }

    /// Refuses a channel that cannot be shared so.
    ///
    /// # Errors
    /// Names the station, the field, its value, the rule, and the fix.
    pub fn check(&self) -> Result<(), Refused> {
        let no = |station: &str, field, value: &dyn Display, rule: &str, fix: &str| {
            Err(Refused::new(station, field, value, rule, fix))
        };
        let Contention { slot, sifs, difs, cw_min, cw_max, retries } = self.contention;
        let (least, most) = (Duration::from_micros(1), Duration::from_millis(1));
        let times = [(slot, "slot"), (difs, "difs")];
        if let Some((time, field)) = times.into_iter().find(|(time, _)| *time < least) {
            return no("", field, &time, "must be at least 1 us", "write 9 us, say");
        }
        let Frames { preamble, ack_preamble, header, ack, ack_rate } = self.frames;
        let times = [
            (slot, "slot"),
            (sifs, "sifs"),
            (difs, "difs"),
            (preamble, "preamble"),
            (ack_preamble, "ack_preamble"),
        ];
        if let Some((time, field)) = times.into_iter().find(|(time, _)| *time > most) {
            return no("", field, &time, "must be at most 1 ms", "write a time of microseconds");
        }
        if cw_max < cw_min {
            let rule = format!("must be at least cw_min ({cw_min})");
            return no("", "cw_max", &cw_max, &rule, "write one slot less than a power of two, such as 1023");
        }
        for (slots, field) in [(cw_min, "cw_min"), (cw_max, "cw_max")] {
            if !(u64::from(slots) + 1).is_power_of_two() {
                let fix = format!("write {}, say", u64::from(slots).next_power_of_two() - 1);
                return no("", field, &slots, "must be one less than a power of two", &fix);
            }
        }
        if cw_max == 0 {
            return no(
                "",
                "cw_max",
                &0,
                "must be at least 1: two that never wait collide forever",
                "write 1023, say",
            );
        }
        if sifs >= difs {
            let rule = format!("must be shorter than difs ({difs})");
            return no("", "sifs", &sifs, &rule, "write 16 us, say");
        }
        if cw_max > 65_535 {
            return no("", "cw_max", &cw_max, "must be at most 65535", "write 1023, say");
        }
        if let Some(retries @ 256..) = retries {
            return no("", "retries", &retries, "must be at most 255", "write 7, say");
        }
        for (bytes, field) in [(header, "header"), (ack, "ack")] {
            if bytes.get() > 10_000 {
                return no("", field, &bytes, "must be at most 10000 B", "write the bytes of a header");
            }
        }
        if let Some(rate) = ack_rate.filter(|rate| rate.bps() < 1000) {
            return no("", "ack_rate", &rate, "must be at least 1 kbit/s", "write 24 Mbit/s, say");
        }
        self.check_aggregation()?;
        match self.access_point {
            AccessPoint::One { driver: driver @ (0 | 100_001..) } => {
                return no("", "driver", &driver, "must be from 1 to 100000", "write 128, say");
            }
            AccessPoint::Airtime { quantum } if quantum < least || quantum > Duration::from_secs(1) => {
                return no("", "quantum", &quantum, "must be from 1 us to 1 s", "write 300 us, say");
            }
            _ => {}
        }
        self.check_stations()
    }

    fn check_aggregation(&self) -> Result<(), Refused> {
        let Some(Aggregation { packets, duration, delimiter, bytes }) = self.aggregation else {
            return Ok(());
        };
        let no = |field, value: &dyn Display, rule: &str, fix: &str| {
            Err(Refused::new("", field, value, rule, fix))
        };
        if packets == 0 || packets > 1024 {
            let fix = "write 64, the window of block acknowledgments";
            return no("packets", &packets, "must be from 1 to 1024", fix);
        }
        if bytes < self.in_frame(Bytes::new(1500)) {
            let rule =
                format!("must hold a packet of 1500 B with its header ({})", self.in_frame(Bytes::new(1500)));
            return no("bytes", &bytes, &rule, "write 65535 B, say");
        }
        if duration <= self.frames.preamble || duration > Duration::from_secs(1) {
            let rule =
                format!("must be longer than the preamble ({}), and at most 1 s", self.frames.preamble);
            return no("duration", &duration, &rule, "write 4 ms, say");
        }
        if delimiter.get() > 1000 {
            return no("delimiter", &delimiter, "must be at most 1000 B", "write 4 B");
        }
        Ok(())
    }

    fn check_stations(&self) -> Result<(), Refused> {
        let count = self.stations.len();
        if count == 0 || count > MOST_STATIONS {
            let rule = format!("must be from 1 to {MOST_STATIONS}");
            return Err(Refused::new(
                "",
                "stations",
                count,
                rule,
                "write fewer, or another channel for the rest",
            ));
        }
        let lanes = self.lanes();
        for (i, Station { name, rate, loss, packets }) in self.stations.iter().enumerate() {
            let no = |field, value: &dyn Display, rule: &str, fix: &str| {
                Err(Refused::new(name, field, value, rule, fix))
            };
            let twice = self.stations[..i].iter().any(|other| other.name == *name);
            if twice || lanes.iter().filter(|lane| **lane == *name).count() > 1 || name == "ap" {
                return no(
                    "name",
                    name,
                    "is the name of another queue, too",
                    "give each station its own name",
                );
            }
            if rate.bps() < 1000 {
                return no("rate", rate, "must be at least 1 kbit/s", "write the rate of its frames");
            }
            if !(0.0..1.0).contains(loss) {
                return no("loss", loss, "must be a probability from 0 to below 1", "write 0.1, say");
            }
            if *packets == Some(0) {
                return no("packets", &0, "must be at least 1", "write 1 for frames of one packet");
            }
            match (packets, self.aggregation) {
                (Some(own), None) => {
                    return no(
                        "packets",
                        own,
                        "has no effect on a channel without aggregates",
                        "leave it out",
                    );
                }
                (Some(own), Some(Aggregation { packets: most, .. })) if *own > most => {
                    let rule = format!("must be at most that of the channel ({most})");
                    return no("packets", own, &rule, "lower it, or leave it out");
                }
                _ => {}
            }
        }
        Ok(())
    }
}
