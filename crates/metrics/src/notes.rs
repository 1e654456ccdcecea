//! The remarks that a reader of results needs: no intervals, no steady state, dropped acknowledgments, the cap on
//! seeds.

use quell_scenario::{ACKS, Decides, Scenario};

use crate::metric::Metric;
use crate::quantity::Quantity;
use crate::replication::Replication;
use crate::results::{Results, View};
use crate::seeds::{Reason, Stop};
use crate::stats::{Estimate, distinct};

/// The share of acknowledgments that an algorithm may drop before [`Results::notes`] says so. They are
/// cumulative: a flow with a window of several packets does not notice the loss of one in a hundred.
const ACKS_DROPPED: f64 = 0.01;
/// The mean of (length, value) over time.
fn mean_over_time(parts: &[(f64, f64)]) -> Option<f64> {
    let length: f64 = parts.iter().map(|p| p.0).sum();
    (length > 0.0).then(|| parts.iter().map(|p| p.0 * p.1).sum::<f64>() / length)
}

/// An algorithm that drops many acknowledgments at a link.
struct AckDrops<'a> {
    algorithm: &'a str,
    link: &'a str,
    /// The share of those that reach the link.
    share: f64,
    /// True if a parameter of it would spare them.
    can_spare: bool,
    /// True if it marks other packets there.
    marks: bool,
    /// True if the other direction has a queue of its own: not on a channel of Wi-Fi.
    has_reverse: bool,
}

impl Results {
    /// The algorithms whose mean queue in the last third of the segments differs from that in the first
    /// third, over all seeds, by more than chance and by more than a fifth: the window is not a steady
    /// state for them. None are named where the scenario itself changes within the window.
    pub fn drifting(&self, point: usize) -> Vec<&str> {
        let Some(info) = self.run.points.get(point) else { return Vec::new() };
        let third = info.segments.len() / 3;
        if third == 0 {
            return Vec::new();
        }
        let Some(link) = info.links.first() else { return Vec::new() };
        let drifts = |algorithm: &&str| {
            let change = |r: &Replication| {
                let rows = r.metrics.iter().filter(|m| m.link == *link && m.scope == "all");
                let queues: Vec<(f64, f64)> = rows
                    .filter(|m| m.segment.is_some())
                    .filter_map(|m| Some((m.to_s - m.from_s, m.values.get(Metric::QueueMean)?)))
                    .collect();
                let first = mean_over_time(queues.get(..third)?)?;
                let last = mean_over_time(&queues[queues.len().checked_sub(third)?..])?;
                Some((last - first, mean_over_time(&queues)?))
            };
            let changes: Vec<(f64, f64)> =
                self.replications_of(point, algorithm).filter_map(change).collect();
            let of =
                |value: fn(&(f64, f64)) -> f64| Estimate::of(&changes.iter().map(value).collect::<Vec<_>>());
            let (Some(change), Some(queue)) = (of(|c| c.0), of(|c| c.1)) else { return false };
            change.excludes_zero() && change.mean.abs() > 0.2 * queue.mean
        };
        let found: Vec<&str> = info.algorithms.iter().map(String::as_str).filter(drifts).collect();
        // To read the scenario takes longer than all this.
        if found.is_empty() || info.changes_within() { Vec::new() } else { found }
    }

    /// The algorithms that drop more than [`ACKS_DROPPED`] of the acknowledgments at a link (a drop for
    /// want of room is not the algorithm's, and one by a filter of superfluous acknowledgments is on purpose), the link,
    /// and that share as the mean over the seeds. Links whose algorithm is their own are left out.
    fn ack_drops(&self, point: usize) -> Vec<AckDrops<'_>> {
        let Some(info) = self.run.points.get(point) else { return Vec::new() };
        let scenario = std::cell::OnceCell::new();
        let all_at = |algorithm: &str, link: &str| {
            let scenario = scenario.get_or_init(|| Scenario::parse(&info.scenario));
            scenario.as_ref().map(|scenario| scenario.algorithms_at(link, algorithm)).unwrap_or_default()
        };
        // With its defaults filled in, an algorithm that knows the key has it.
        let spares = |at: &Decides| Some(at.choice.parameters.get("signal")?.as_str() == Some("by-size"));
        let can_spare = |all: &[Decides]| all.iter().any(|at| !at.is_own && spares(at) == Some(false));
        let filters = |at: &Decides| {
            at.choice
                .parameters
                .get("ack_filter")
                .and_then(|mode| mode.as_str())
                .is_some_and(|mode| mode != "off")
        };
        let share = |algorithm: &str, link: &String, filtered: bool| {
            let view = View { link: Some(link.clone()), scope: ACKS.into(), ..View::of_point(point) };
            let of = |metric| self.estimate(&view, algorithm, metric).map(|e| e.mean);
            // A filter's drops are forced ones.
            let forced = if filtered { 0.0 } else { of(Metric::ForcedLossRate)? };
            Some(of(Metric::EarlyLossRate)? + forced)
        };
        let pairs = info.algorithms.iter().flat_map(|a| info.links.iter().map(move |l| (a, l)));
        pairs
            .filter_map(|(algorithm, link)| {
                // To read the scenario takes longer.
                share(algorithm, link, false).filter(|x| *x > ACKS_DROPPED)?;
                let all = all_at(algorithm, link);
                if !all.is_empty() && all.iter().all(|at| at.is_own) {
                    return None;
                }
                let share = share(algorithm, link, all.iter().any(filters)).filter(|x| *x > ACKS_DROPPED)?;
                let view = View { link: Some(link.clone()), ..View::of_point(point) };
                let marks = self.estimate(&view, algorithm, Metric::MarkRate).is_some_and(|e| e.mean > 0.0);
                let is_channel = |scenario: &Scenario| scenario.is_wifi(link);
                let has_reverse = !scenario.get().and_then(Option::as_ref).is_some_and(is_channel);
                Some(AckDrops { algorithm, link, share, can_spare: can_spare(&all), marks, has_reverse })
            })
            .collect()
    }

    /// What a reader of the figures should know, in sentences: what may surprise in the scenarios, then
    /// [`Results::remarks`].
    pub fn notes(&self) -> Vec<String> {
        distinct(self.run.notes.iter().cloned().chain(self.remarks()))
    }

    /// The remarks that the figures call for, in sentences: see [`Results::is_fixed`] and [`Results::drifting`]; and
    /// where an algorithm drops acknowledgments.
    pub fn remarks(&self) -> Vec<String> {
        let points = 0..self.run.points.len();
        let fixed = points.clone().map(|p| {
            let algorithms = self.algorithms(p).iter().map(String::as_str);
            algorithms.filter(|a| self.is_fixed(p, a)).collect::<Vec<_>>()
        });
        let drifting = points.map(|p| self.drifting(p));
        let note = |named: Vec<Vec<&str>>, what: &str| {
            let count = named.iter().filter(|n| !n.is_empty()).count();
            let names = distinct(named.iter().flatten().copied());
            let at = match named.len() {
                0 | 1 => String::new(),
                all => format!(" (at {count} of {all} points)"),
            };
            (count > 0).then(|| format!("{}{at}: {what}", names.join(", ")))
        };
        let fixed = note(
            fixed.collect(),
            "every seed gave the same figures, as where nothing is random, so no intervals are shown",
        );
        let drifting = note(
            drifting.collect(),
            "not steady: the mean queue in the last third of the window differs from that in the first; a longer \
             warmup may help",
        );
        let ack_drops: Vec<_> = (0..self.run.points.len()).map(|p| self.ack_drops(p)).collect();
        let starving = [true, false].map(|can_spare| {
            let all = || ack_drops.iter().flatten().filter(|d| d.can_spare == can_spare);
            let most = all().max_by(|a, b| a.share.total_cmp(&b.share))?;
            let spares = can_spare.then_some("signal = \"by-size\" spares small packets");
            let way_back = "the reverse direction can have its own algorithm (the link's reverse.aqm)";
            let help: Vec<&str> = spares.into_iter().chain(most.has_reverse.then_some(way_back)).collect();
            let help = help.iter().enumerate().map(|(i, help)| format!("{}{help}", if i == 0 { "; " } else { ", and " }));
            let help: String = help.collect();
            let what = format!(
                "drops acknowledgments, up to {:.1}% of those that reach {}{}; a flow with a small window starves \
                 without them{help}",
                100.0 * most.share,
                most.link,
                if most.marks { ", because they are not ECN-capable" } else { "" }
            );
            let named = ack_drops.iter().map(|at| {
                let these = at.iter().filter(|d| d.can_spare == can_spare);
                these.map(|d| d.algorithm).collect()
            });
            note(named.collect(), &what)
        });
        let capped = (0..self.run.points.len()).map(|p| self.stopped(p, Reason::Cap)).collect::<Vec<_>>();
        let open = self.run.sequential.iter().flat_map(|s| {
            let metrics = s.asked.aims.iter().map(|aim| &aim.metric);
            metrics.filter(|m| capped.iter().flatten().any(|stop| stop.open.contains(m)))
        });
        let mut open: Vec<String> = open.map(Quantity::to_string).collect();
        open.dedup();
        let most = capped.iter().flatten().map(|stop| stop.seeds).max().unwrap_or(0);
        let capped = note(
            capped.iter().map(|at| at.iter().map(|stop| stop.algorithm.as_str()).collect()).collect(),
            &format!(
                "{most} seeds (the cap) were not enough to reach the requested precision of {}",
                open.join(", ")
            ),
        );
        [fixed, drifting].into_iter().chain(starving).chain([capped]).flatten().collect()
    }

    /// The algorithms that stopped at a point for this reason.
    fn stopped(&self, point: usize, reason: Reason) -> Vec<&Stop> {
        let stops = self.run.sequential.iter().flat_map(|s| &s.stops);
        stops.filter(|stop| stop.point == point && stop.reason == reason).collect()
    }
}
