//! A scenario with every default in its place.

use quell_aqm::catalog::AqmConfig;
use quell_units::{Bytes, Duration, QueueSize};

use super::cell;
use super::classes::completed;
use super::measure::series_step;
use super::packets::{UDP_PACKET, access_rate, largest_packet, mean_packet};
use super::wifi;
use crate::files::Loaded;
use crate::format::{
    AqmChoice, BackAqm, Cell, Changes, ConnectionKind, FlowGroup, GapKind, Kind, Load, Reverse, Scenario,
    TrafficClass, Wifi,
};
use crate::tree::Node;
use crate::values::{Access, Count, Handovers, Jitter, Loss, OneOr, Shaper};

/// The losses of a link, its jitter, its copies, its handovers and its changes.
type Losses<'a> = (Loss, Option<Jitter>, Option<f64>, Option<Handovers>, &'a Changes);

/// The same scenario with every default that is a value written out: what it draws and decides is the same.
/// What is left out then has no value, such as the stop of a flow that never stops.
pub(crate) fn resolved(s: Loaded<'_>) -> Scenario {
    let mut out = s.scenario.clone();
    out.dialect = Some(s.dialect.unwrap_or_default());
    out.series_step = Some(series_step(&s));
    out.mean_packet = Some(mean_packet(s)).filter(|bytes| (1..=65_535).contains(&bytes.get()));
    let access = access_rate(s);
    let largest = largest_packet(s);
    let serve = |shaper: &mut Option<Shaper>, classes: &mut Vec<TrafficClass>, buffer: Option<QueueSize>| {
        if let Some(shaper) = shaper {
            shaper.mtu = shaper.mtu.or(shaper.peak_rate.map(|_| largest));
        }
        *classes = completed(classes, largest);
        let names: Vec<String> = classes.iter().filter_map(|class| class.parent.clone()).collect();
        for class in classes.iter_mut().filter(|class| !names.contains(&class.name)) {
            class.priority = class.priority.or(Some(0));
            class.buffer = class.buffer.or(buffer);
            class.aqm.iter_mut().for_each(complete);
        }
    };
    let of_cell = |cell: &mut Option<Cell>, buffer: Option<QueueSize>| {
        if let Some(cell) = cell {
            cell::complete(cell, buffer);
            cell.users.iter_mut().filter_map(|user| user.aqm.as_mut()).for_each(complete);
        }
    };
    let air = |written: &mut Option<Wifi>, buffer: Option<QueueSize>| {
        let (Some(channel), Some(buffer)) = (written, buffer) else { return false };
        *channel = wifi::completed(channel, buffer);
        if let Some(BackAqm::Own(choice)) = channel.uplink.as_mut().and_then(|uplink| uplink.aqm.as_mut()) {
            complete(choice);
        }
        true
    };
    // Both directions, by the rules by which links are built.
    let back = |r: &mut Reverse, buffer, ecn, (loss, jitter, duplicate, handovers, changes): Losses<'_>| {
        r.buffer = r.buffer.or(buffer);
        r.ecn = r.ecn.or(r.buffer.map(|_| ecn));
        // Losses that change with the forward ones are not its own.
        let follows = r.changes.is_none() && changes_loss(s, changes);
        r.loss = r.loss.or(Some(loss).filter(|_| !follows));
        r.jitter = r.jitter.or(jitter);
        r.duplicate = r.duplicate.or(duplicate);
        r.handovers = r.handovers.or(handovers);
        r.handovers.iter_mut().for_each(begin);
        serve(&mut r.shaper, &mut r.classes, r.buffer);
        of_cell(&mut r.cell, r.buffer);
        if r.buffer.is_some() {
            let aqm = r.aqm.get_or_insert_with(|| BackAqm::Own(AqmChoice::named("drop-tail")));
            if let BackAqm::Own(choice) = aqm {
                complete(choice);
            }
        }
    };
    if let Some(d) = &mut out.dumbbell {
        d.access_rate = Some(access);
        d.handovers.iter_mut().for_each(begin);
        serve(&mut d.shaper, &mut d.classes, Some(d.buffer));
        of_cell(&mut d.cell, Some(d.buffer));
        if !air(&mut d.wifi, Some(d.buffer)) {
            back(
                &mut d.reverse,
                Some(d.buffer),
                d.ecn,
                (d.loss, d.jitter, d.duplicate, d.handovers, &d.changes),
            );
        }
    }
    if let Some(p) = &mut out.parking_lot {
        p.access_rate = Some(access);
        p.handovers.iter_mut().for_each(begin);
        serve(&mut p.shaper, &mut p.classes, Some(p.buffer));
        of_cell(&mut p.cell, Some(p.buffer));
        if !air(&mut p.wifi, Some(p.buffer)) {
            back(
                &mut p.reverse,
                Some(p.buffer),
                p.ecn,
                (p.loss, p.jitter, p.duplicate, p.handovers, &p.changes),
            );
        }
    }
    if let Some(g) = &mut out.graph {
        g.access_rate = Some(access);
        for l in &mut g.links {
            l.handovers.iter_mut().for_each(begin);
            serve(&mut l.shaper, &mut l.classes, l.buffer);
            of_cell(&mut l.cell, l.buffer);
            if !air(&mut l.wifi, l.buffer) {
                back(
                    &mut l.reverse,
                    l.buffer,
                    l.ecn,
                    (l.loss, l.jitter, l.duplicate, l.handovers, &l.changes),
                );
            }
            l.aqm.iter_mut().for_each(complete);
        }
    }
    for changes in out.changes_mut() {
        if let Changes::Course(course) = changes
            && let Some(file) = s.contents.changes(course)
        {
            course.file = Some(file.found.clone());
            course.sha256 = Some(file.sha256.clone());
            course.bin = file.bin;
        }
    }
    out.aqm.iter_mut().for_each(complete);
    for group in &mut out.flows {
        if let Some(file) = s.contents.arrivals(group) {
            group.file = Some(file.found.clone());
            group.sha256 = Some(file.sha256.clone());
        }
        fill(group, access);
    }
    out
}

/// Gives handovers the time of the first.
fn begin(handovers: &mut Handovers) {
    handovers.first = handovers.first.or(Some(handovers.every));
}

/// Says whether changes of a link give it other losses.
fn changes_loss(s: Loaded<'_>, changes: &Changes) -> bool {
    let list = match changes {
        Changes::List(list) => list,
        Changes::Course(course) => match s.contents.changes(course) {
            Some(file) => return !file.loss.list().is_empty(),
            None => course.list.as_deref().unwrap_or(&[]),
        },
    };
    list.iter().any(|change| change.loss.is_some())
}

/// Every parameter of an algorithm of the catalog; plug-ins keep theirs to themselves.
fn complete(choice: &mut AqmChoice) {
    choice.label = Some(choice.label().to_string());
    let given = Node::from_toml(&toml::Value::Table(choice.parameters.clone()));
    let config = AqmConfig::deserialize_named(&choice.algorithm, given.reader());
    if let Some(Ok(mut all)) = config.and_then(Result::ok).map(|config| Node::of(&config)) {
        all.remove("algorithm");
        choice.parameters = all.to_table();
    }
}

/// The size of a request for an object or a chunk.
const REQUEST: Bytes = Bytes::new(500);

/// Puts the defaults of a group's kind in their places; `access` is that of its access links.
pub(super) fn fill(g: &mut FlowGroup, access: Access) {
    g.class = Some(g.class().to_string());
    g.start = g.start.take().or(Some(OneOr::One(Duration::ZERO)));
    if g.kind == Kind::Trace {
        return;
    }
    g.access_rate = g.access_rate.or(Some(access));
    g.receiver_rate = g.receiver_rate.or(Some(Access::None));
    g.precedence = g.precedence.or(if g.dscp.is_none() { Some(0) } else { None });
    if g.kind != Kind::Sessions {
        g.count = g.count.or(Some(1));
    }
    match g.kind {
        Kind::Bulk => g.gaps = g.gaps.or(g.rate.map(|_| GapKind::Constant)),
        Kind::Transfers | Kind::Sessions => {
            g.think = g.think.or(Some(OneOr::One(Duration::ZERO)));
            g.connection = g.connection.or(Some(ConnectionKind::Fresh));
            if g.kind == Kind::Sessions {
                g.transfers = g.transfers.or(Some(OneOr::One(Count(1.0))));
            }
        }
        Kind::Pages => {
            g.think = g.think.or(Some(OneOr::One(Duration::ZERO)));
            g.connection = g.connection.or(Some(ConnectionKind::Persistent));
            g.connections = g.connections.or(Some(6)); // RFC 7928 section 7.2
            g.request = g.request.or(Some(OneOr::One(REQUEST)));
        }
        Kind::Video => {
            g.request = g.request.or(Some(OneOr::One(REQUEST)));
            g.chunk = g.chunk.or(Some(Duration::from_secs(4)));
            g.playback_buffer = g.playback_buffer.or(Some(Duration::from_secs(30)));
            g.start_up = g.start_up.or(g.chunk);
            // The defaults of dash.js.
            g.averaged_chunks = g.averaged_chunks.or(Some(4));
            g.throughput_share = g.throughput_share.or(Some(0.9));
        }
        // The defaults of draft-ietf-ippm-responsiveness-08, section "Test Parameters".
        Kind::Responsiveness => {
            g.load = g.load.or(Some(Load::Download));
            g.connections = g.connections.or(Some(16));
            g.initial_connections = g.initial_connections.or(g.connections.map(|most| most.min(1)));
            g.added_connections = g.added_connections.or(Some(1));
            g.interval = g.interval.or(Some(Duration::from_secs(1)));
            g.averaged_intervals = g.averaged_intervals.or(Some(4));
            g.tolerance = g.tolerance.or(Some(0.05));
            g.probes_per_second = g.probes_per_second.or(Some(100.0));
            g.probe_share = g.probe_share.or(Some(0.05));
            g.unsent = g.unsent.or(Some(QueueSize::Packets(0.0)));
        }
        Kind::Udp => {
            g.packet = g.packet.or(Some(OneOr::One(UDP_PACKET)));
            g.gaps = g.gaps.or(Some(GapKind::Constant));
            g.ecn = g.ecn.or(Some(false));
        }
        Kind::Trace => {}
    }
}
