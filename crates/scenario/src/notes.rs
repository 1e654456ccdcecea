//! Notes on a study that a reader of it, or of its results, should know.

use quell_aqm::params::Marks;
use quell_sim::network;
use quell_tcp::catalog::Idle;
use quell_tcp::{Growth, TcpParams};
use quell_units::Bytes;
use quell_units::text::three_digits;

use crate::format::{AqmChoice, LinkFields, Scenario, TrafficClass};
use crate::plan::WireFact;
use crate::study::{Point, Study};
use crate::tree::Path;
use crate::values::{Bursts, Handovers, Loss};

impl Study {
    /// What may surprise in its points, each once.
    pub fn notes(&self) -> Vec<String> {
        notes(&self.points)
    }
}

/// What may surprise in points, each once.
pub fn notes(points: &[Point]) -> Vec<String> {
    let mut all = left_out(points);
    for note in points.iter().flat_map(of) {
        if !all.contains(&note) {
            all.push(note);
        }
    }
    all
}

/// The algorithms that cannot run at some of the points.
fn left_out(points: &[Point]) -> Vec<String> {
    let all = || points.iter().flat_map(|p| p.left_out.iter().map(move |out| (p, out)));
    let mut labels: Vec<&str> = Vec::new();
    for (_, out) in all() {
        if !labels.contains(&out.label.as_str()) {
            labels.push(&out.label);
        }
    }
    let note = |label: &str| {
        let mut of_label = all().filter(|(_, out)| out.label == label);
        let (first, out) = of_label.next()?;
        let (count, title) = (1 + of_label.count(), first.title());
        let example = if count == 1 { "" } else { "such as " };
        let of_all = points.len();
        Some(format!("{label}: left out at {count} of {of_all} points: {example}{title}: {}", out.reason))
    };
    labels.into_iter().filter_map(note).collect()
}

fn of(p: &Point) -> Vec<String> {
    let s = &p.scenario;
    let (remarks, unmarked) = p.remarks();
    let wires = p.wires();
    let notes = [
        ecn_note(s),
        marks_note(s, true),
        marks_note(s, false),
        share_note(s, true),
        share_note(s, false),
        access_note(p),
        host_note(p, true),
        host_note(p, false),
        wire_note(&wires),
        chain_note(s),
        jitter_note(&wires),
        order_note(&wires),
        gro_note(s),
        parent_note(s),
        handover_note(p),
        outage_note(&wires),
    ];
    let idle = |(group, value, Idle { key, why }): (&str, String, Idle)| {
        format!("{group}: tcp.{key} = {value} has no effect {why}")
    };
    // They say it in other words, if it is so with all algorithms.
    let said = notes[..3].iter().any(Option::is_some);
    let unmarked = (!said && !unmarked.is_empty()).then(|| {
        let names = unmarked.join(", ");
        format!("{names}: reacts to marks, but no queue on its path marks, so only losses reduce the window")
    });
    let all = notes.into_iter().flatten().chain(unmarked).chain(remarks);
    all.chain(p.idle().into_iter().map(idle)).collect()
}

/// Flows that are ECN-capable in vain.
fn ecn_note(s: &Scenario) -> Option<String> {
    let marks = s.dumbbell.as_ref().is_none_or(|d| d.ecn)
        && s.parking_lot.as_ref().is_none_or(|p| p.ecn)
        && s.graph.iter().flat_map(|g| &g.links).all(|l| l.ecn || l.buffer.is_none());
    let capable: Vec<&str> = s.flows.iter().filter(|g| g.is_capable()).map(|g| g.name.as_str()).collect();
    (!marks && !capable.is_empty()).then(|| {
        let names = capable.join(", ");
        format!("{names}: ECN-capable, but a queue has ecn = false; every signal there is a drop")
    })
}

/// The TCP groups whose congestion control is such.
fn groups_with(s: &Scenario, such: impl Fn(&TcpParams) -> bool) -> Option<String> {
    let names: Vec<&str> =
        s.flows.iter().filter(|g| g.tcp.as_ref().is_some_and(&such)).map(|g| g.name.as_str()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Congestion controls that live on marks, with ECT(1) or ECT(0), beside an algorithm that gives none.
fn marks_note(s: &Scenario, ect1: bool) -> Option<String> {
    let none: Vec<&str> =
        s.aqm.iter().filter(|choice| !choice.marks().any(ect1)).map(|c| c.label()).collect();
    let names = groups_with(s, |tcp| tcp.congestion.is_scalable() && tcp.is_l4s() == ect1)?;
    let labels = none.join(", ");
    (!none.is_empty()).then(|| {
        format!(
            "{names}: reacts to marks, but gets none from {labels}, so only losses reduce the window there"
        )
    })
}

/// Wires that lose packets, which is not what the usual column of losses counts. The note is about the worst of them.
fn wire_note(wires: &[WireFact]) -> Option<String> {
    let lossy = wires.iter().filter(|wire| !wire.impairments.loss.is_none());
    // Of several with the same losses, the last counts for `max_by`: it is the first link's, in the forward direction.
    let worst = lossy.rev().max_by(|a, b| a.impairments.loss.most().total_cmp(&b.impairments.loss.most()))?;
    let most = worst.impairments.loss.most();
    let percent = match 100.0 * most {
        small if small < 0.01 => three_digits(small),
        percent => format!("{percent:.2}"),
    };
    let field = if worst.is_back { "reverse.loss" } else { "loss" };
    let what = match &worst.impairments.loss {
        network::Loss::GilbertElliott(_) => format!("{field}: {percent}% in the mean"),
        loss if loss.constant().is_none() => format!("{field}: up to {percent}%"),
        _ => format!("{field} = {most}"),
    };
    Some(format!(
        "{what}: wire_loss_rate counts what wires lose, and loss_rate what queues drop; show both with --metric"
    ))
}

/// A chain of losses that never gets into its bad state.
fn chain_note(s: &Scenario) -> Option<String> {
    let both = |(_, link): (_, LinkFields<'_>)| [Some(link.loss), link.reverse.loss];
    let written = |loss: Loss| matches!(loss, Loss::Bursts(Bursts { gilbert_elliott: Some(_), .. }));
    let all = s.links().flat_map(both).flatten();
    let mut chains = all.filter(|loss| written(*loss)).filter_map(|loss| loss.chain());
    let chain = chains.find(|chain| chain.p <= 0.0)?;
    Some(format!(
        "loss.gilbert_elliott.p = 0: the chain never enters the bad state, so packets are lost independently, with the \
         probability good_loss = {}",
        chain.good_loss
    ))
}

/// Handovers that begin after the end.
fn handover_note(p: &Point) -> Option<String> {
    let end = p.scenario.duration;
    let both = |(_, link): (_, LinkFields<'_>)| {
        [(link.handovers, "handovers"), (link.reverse.handovers, "reverse.handovers")]
    };
    let mut all = p.scenario.links().flat_map(both);
    let late = |(of, field): (Option<Handovers>, &'static str)| {
        of.map(|of| (of.first.unwrap_or(of.every), field)).filter(|(first, _)| *first >= end)
    };
    let (first, field) = all.find_map(late)?;
    Some(format!(
        "{field}: the first comes at {first}, after the end ({end}), so none happens; set first, or a longer duration"
    ))
}

/// Losses of wires during handovers, where wires lose nothing else.
fn outage_note(wires: &[WireFact]) -> Option<String> {
    let loses =
        wires.iter().any(|wire| wire.loses) && wires.iter().all(|wire| wire.impairments.loss.is_none());
    loses.then(|| {
        "handovers.lost: wire_loss_rate counts what outages lose, and loss_rate what queues drop; show both with --metric"
            .to_string()
    })
}

/// The packets that a link sends in the size of its jitter, from which on their order moves the mean delay far.
const MANY_PACKETS: f64 = 50.0;

/// Jitter of many packets that stay in order: each waits for the latest ahead of it.
fn order_note(wires: &[WireFact]) -> Option<String> {
    let packets = |wire: &WireFact| {
        let jitter = wire.impairments.jitter.filter(|jitter| !jitter.reorder)?;
        let packets = wire.fastest.packets_per_sec(Bytes::new(1500)) * jitter.size.as_secs_f64();
        (packets > MANY_PACKETS).then_some((jitter.size, packets))
    };
    let (size, packets) = wires.iter().find_map(packets)?;
    Some(format!(
        "jitter: packets stay in order, and about {packets:.0} of 1500 B are sent in size = {size}, so that each waits for \
         later ones ahead of it: the mean delay is longer than delay, and packets arrive in clumps; reorder = true keeps \
         the mean"
    ))
}

/// Jitter by which packets would arrive before they are sent.
fn jitter_note(wires: &[WireFact]) -> Option<String> {
    let early = |wire: &WireFact| {
        let most = wire.impairments.jitter?.most_early();
        (most > wire.least_delay).then_some((most, wire.least_delay, wire.varies))
    };
    let (most, delay, varies) = wires.iter().find_map(early)?;
    let shortest = if varies { " at its shortest" } else { "" };
    Some(format!(
        "jitter: packets may be up to {most} early, but the delay is {delay}{shortest}; those that would arrive before \
         they are sent have no delay, as in netem, so the mean delay is longer than without jitter"
    ))
}

/// Windows that grow by the few acknowledgments of receivers that gather packets.
fn gro_note(s: &Scenario) -> Option<String> {
    let names = groups_with(s, |tcp| tcp.gro.is_some() && tcp.growth == Growth::Acknowledgments)?;
    Some(format!(
        "{names}: tcp.gro leaves one acknowledgment for many packets, and tcp.growth = \"acknowledgments\" lets the window \
         grow as if each were for one, so it grows slowly; growth = \"whole-packets\" (part of dialect = \"linux\") does \
         not"
    ))
}

/// Classes with children that have no rate, and none above: they do not make a level.
fn parent_note(s: &Scenario) -> Option<String> {
    let of_link = |(at, link): (Path, LinkFields<'_>)| {
        let ways = [(at.clone(), link.classes), (at.then("reverse"), &link.reverse.classes[..])];
        ways.into_iter().find_map(|(at, classes)| {
            let names: Vec<&str> = rateless_parents(classes).collect();
            let names = (!names.is_empty()).then(|| names.join("`, `"))?;
            let at = at.then("classes");
            Some(format!(
                "{at}: `{names}` has children but no rate, so it is no level: its children take turns with all other \
                 leaves; give it a rate"
            ))
        })
    };
    s.links().find_map(of_link)
}

fn rateless_parents(classes: &[TrafficClass]) -> impl Iterator<Item = &str> {
    let is_parent =
        |class: &TrafficClass| classes.iter().any(|other| other.parent.as_ref() == Some(&class.name));
    // No way to the top is longer, unless it is a cycle, which is refused elsewhere.
    let has_rate = |class: &TrafficClass| {
        let above = |class: &&TrafficClass| {
            let parent = class.parent.as_ref();
            classes.iter().find(|other| Some(&other.name) == parent)
        };
        let mut way = std::iter::successors(classes.iter().find(|other| other.name == class.name), above);
        (0..classes.len()).map_while(|_| way.next()).any(|class| class.rate.or(class.ceil).is_some())
    };
    let bare = classes.iter().filter(move |class| is_parent(class) && !has_rate(class));
    bare.map(|class| class.name.as_str())
}

/// A link that becomes faster than what leads to it.
fn access_note(p: &Point) -> Option<String> {
    let (field, most, access) = p.lifted_above_access()?;
    Some(format!(
        "{field}: up to {most}, but all access links together carry only {access}, so they are the bottleneck then; \
         raise access_rate"
    ))
}

/// Senders whose own access link is their bottleneck: those whose hosts keep little there, or those that fill it.
fn host_note(p: &Point, small: bool) -> Option<String> {
    let is_small = |name: &str| {
        let mut groups = p.scenario.flows.iter().filter(|g| g.name == name);
        groups.any(|g| g.tcp.as_ref().is_some_and(TcpParams::keeps_small_queues)) == small
    };
    let limited: Vec<_> = p.limited_by_access().into_iter().filter(|(name, _)| is_small(name)).collect();
    let (_, rate) = limited.first()?;
    let names: Vec<&str> = limited.iter().map(|(name, _)| name.as_str()).collect();
    let why = format!(
        "{}: access_rate = {rate} is less than a flow's share of the link, so the queue is in the sender's own",
        names.join(", ")
    );
    Some(match small {
        true => format!(
            "{why} host, which keeps a few packets (tcp.small_queues), and the algorithm does not matter; raise \
             access_rate"
        ),
        false => format!(
            "{why} access link, which has no limit and no algorithm, although a real host keeps only a few packets; \
             raise access_rate, set tcp.small_queues with recovery = \"rack\" and a send_quantum (as dialect = \
             \"linux\" does), or limit max_window"
        ),
    })
}

/// Congestion controls that live on marks, with ECT(1) or ECT(0), beside others where a mark means the same to both.
fn share_note(s: &Scenario, ect1: bool) -> Option<String> {
    let names = groups_with(s, |tcp| tcp.congestion.is_scalable() && tcp.is_l4s() == ect1)?;
    let classic = |tcp: &TcpParams| !tcp.congestion.is_scalable() && !tcp.congestion.is_model();
    let others = groups_with(s, classic)?;
    let all_capable = s.flows.iter().filter_map(|g| g.tcp.as_ref()).all(|tcp| !classic(tcp) || tcp.ecn);
    let alike = |marks: Marks| match marks {
        Marks::Alike => true,
        Marks::Capable => all_capable,
        Marks::Apart | Marks::Ect0 => !ect1,
        Marks::Ect1 | Marks::Nothing => false,
    };
    let labels: Vec<&str> = s.aqm.iter().filter(|c| alike(c.marks())).map(AqmChoice::label).collect();
    let labels = (!labels.is_empty()).then(|| labels.join(", "))?;
    Some(match ect1 {
        true => format!(
            "{names}: sends ECT(1), which counts as ECT(0) for {labels}: in the same queue as {others} it takes more \
             than its share (RFC 9331 section 4.3)"
        ),
        false => format!(
            "{names}: sends ECT(0), which {labels} may signal as often as {others}: in the same queue it takes more \
             than its share (RFC 8257 section 5)"
        ),
    })
}
