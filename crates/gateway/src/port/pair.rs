//! Two devices, with the gateway between them: TUN, or packet sockets where TUN is not allowed.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

use crate::header::{FlowKey, Header, ip_offset, set_ce};
use crate::{Packet, Ports};

/// The beginning of a device's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// The IP header: TUN.
    Ip,
    /// An Ethernet header: a packet socket.
    Ethernet,
}

/// Counts of packets outside the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairCounters {
    /// Frames that no algorithm may judge, passed on at once: ARP, neighbor discovery, what is not IP.
    pub passed: u64,
    /// Packets that the other device did not take.
    pub refused: u64,
    /// Reads that were put off because every buffer was in use.
    pub starved: u64,
}

/// Two devices; path 0 leads from the first to the second, path 1 back.
pub struct Pair {
    devices: [OwnedFd; 2],
    framing: Framing,
    key: FlowKey,
    /// Slots of equal size, and those that are free.
    slots: Vec<u8>,
    slot: usize,
    free: Vec<u32>,
    lengths: Vec<u32>,
    /// The device that is read first, in turn.
    first: usize,
    /// The packets' delay is chosen by the low 16 bits of their IPv4 source.
    by_address: bool,
    /// Counts of what happened beside the lines.
    pub counters: PairCounters,
}

/// Room for what a device puts before the IP header.
const LINK_HEADER: usize = 32;

impl Pair {
    /// Devices whose frames are at most `mtu` bytes of IP, with buffers for `packets` of them.
    pub fn new(devices: [OwnedFd; 2], framing: Framing, mtu: usize, packets: usize, key: FlowKey) -> Self {
        let slot = (mtu + LINK_HEADER).next_multiple_of(64);
        Pair {
            devices,
            framing,
            key,
            slots: vec![0; slot * packets],
            slot,
            free: (0..packets as u32).rev().collect(),
            lengths: vec![0; packets],
            first: 0,
            by_address: false,
            counters: PairCounters::default(),
        }
    }

    /// Chooses each packet's delay by the low 16 bits of its IPv4 source address.
    pub fn delay_by_address(mut self) -> Self {
        self.by_address = true;
        self
    }

    /// The devices, to wait for.
    pub fn devices(&self) -> [BorrowedFd<'_>; 2] {
        [self.devices[0].as_fd(), self.devices[1].as_fd()]
    }

    /// Buffers that are in use.
    pub fn in_use(&self) -> usize {
        self.lengths.len() - self.free.len()
    }

    /// Waits until a packet comes or the time is over.
    ///
    /// # Errors
    /// If the devices are gone.
    pub fn wait(&self, timeout: quell_units::Duration) -> io::Result<()> {
        super::wait(self.devices(), timeout)
    }

    #[inline]
    fn bytes(&mut self, handle: u32) -> &mut [u8] {
        let begin = handle as usize * self.slot;
        &mut self.slots[begin..begin + self.slot]
    }

    /// Reads one frame; false if none waits.
    #[inline]
    fn read(&mut self, device: usize, arrivals: &mut Vec<(u8, Packet)>) -> io::Result<bool> {
        let Some(handle) = self.free.pop() else {
            self.counters.starved += 1;
            return Ok(false);
        };
        let begin = handle as usize * self.slot;
        let buffer = &mut self.slots[begin..begin + self.slot];
        let length = match rustix::io::read(&self.devices[device], buffer) {
            Ok(length) => length,
            Err(e) => {
                self.free.push(handle);
                return match e {
                    // A device that is down gives nothing until it is up again.
                    Errno::AGAIN | Errno::INTR | Errno::NETDOWN | Errno::IO => Ok(false),
                    e => Err(e.into()),
                };
            }
        };
        let frame = &self.slots[begin..begin + length];
        let ip = match self.framing {
            Framing::Ip => Some(0),
            Framing::Ethernet => ip_offset(frame),
        };
        let header = ip.and_then(|at| Some((at, Header::parse(&frame[at..], &self.key)?)));
        let Some((at, header)) = header else {
            self.counters.passed += 1;
            let _ = rustix::io::write(&self.devices[1 - device], frame);
            self.free.push(handle);
            return Ok(true);
        };
        let mut packet = Packet::new(handle, (length - at) as u32, header);
        packet.tag = match (self.by_address, frame.get(at..at + 20)) {
            (true, Some(ip)) if ip[0] >> 4 == 4 => u16::from_be_bytes([ip[14], ip[15]]),
            _ => u16::MAX,
        };
        self.lengths[handle as usize] = length as u32;
        arrivals.push((device as u8, packet));
        Ok(true)
    }
}

impl Pair {
    /// Reads at most `most` frames; gives how many.
    fn take(&mut self, device: usize, most: usize, arrivals: &mut Vec<(u8, Packet)>) -> io::Result<usize> {
        for taken in 0..most {
            if !self.read(device, arrivals)? {
                return Ok(taken);
            }
        }
        Ok(most)
    }
}

impl Ports for Pair {
    fn receive(&mut self, most: usize, arrivals: &mut Vec<(u8, Packet)>) -> io::Result<()> {
        self.first = 1 - self.first;
        let (one, other) = (self.first, 1 - self.first);
        // Half of a turn's packets for each device, so that one cannot starve the other; what one leaves is the
        // other's, so that a turn that takes fewer than it may has seen both empty.
        let half = most.div_ceil(2);
        let taken = self.take(one, half, arrivals)?;
        let left = most - taken;
        let left = left - self.take(other, left, arrivals)?;
        if taken == half {
            self.take(one, left, arrivals)?;
        }
        Ok(())
    }

    #[inline]
    fn forward(&mut self, path: u8, packet: &Packet) {
        self.copy(path, packet);
        self.free.push(packet.handle);
    }

    #[inline]
    fn copy(&mut self, path: u8, packet: &Packet) {
        let length = self.lengths[packet.handle as usize] as usize;
        let framing = self.framing;
        let frame = &mut self.bytes(packet.handle)[..length];
        if packet.marked {
            let at = if framing == Framing::Ip { Some(0) } else { ip_offset(frame) };
            if let Some(at) = at {
                set_ce(&mut frame[at..]);
            }
        }
        let begin = packet.handle as usize * self.slot;
        let to = &self.devices[1 - usize::from(path)];
        if rustix::io::write(to, &self.slots[begin..begin + length]).is_err() {
            self.counters.refused += 1;
        }
    }

    #[inline]
    fn discard(&mut self, _: u8, packet: &Packet) {
        self.free.push(packet.handle);
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    /// A turn's packets are shared by the devices, and nobody's share is wasted.
    #[test]
    fn one_busy_device_may_use_the_whole_turn() {
        let devices = [(); 2].map(|()| UnixDatagram::pair().unwrap());
        let [(near, a), (far, b)] = devices;
        for socket in [&near, &far, &a, &b] {
            socket.set_nonblocking(true).unwrap();
        }
        let key = FlowKey::random().unwrap();
        let mut pair = Pair::new([a.into(), b.into()], Framing::Ip, 1500, 64, key);
        let mut ip = [0u8; 40];
        ip[0] = 0x45;
        ip[3] = 40;
        ip[9] = 17;
        // As many as a socket of any system holds.
        let send = |from: &UnixDatagram| (0..8).for_each(|_| assert_eq!(from.send(&ip).unwrap(), ip.len()));
        let mut arrivals = Vec::new();
        let mut turn = |pair: &mut Pair, most| {
            pair.receive(most, &mut arrivals).unwrap();
            let of = |path| arrivals.iter().filter(|(p, _)| *p == path).count();
            let counts = [of(0), of(1)];
            arrivals.drain(..).for_each(|(path, packet)| pair.discard(path, &packet));
            counts
        };
        for busy in [0, 1] {
            send([&near, &far][busy]);
            // Whichever device is read first.
            for _ in 0..2 {
                let counts = turn(&mut pair, 4);
                assert_eq!((counts[busy], counts[1 - busy]), (4, 0));
            }
        }
        send(&near);
        send(&far);
        assert_eq!(turn(&mut pair, 4), [2, 2]);
        assert_eq!(turn(&mut pair, 8), [4, 4]);
        assert_eq!(turn(&mut pair, 8), [2, 2]);
        assert_eq!(pair.in_use(), 0);
    }
}
