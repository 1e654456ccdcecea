//! Charts from results.

use quell_metrics::{
    Estimate, LinkSeries, Metric, PointInfo, Quantity, Replication, Results, SIZE, SIZES, TransferRow, View,
    distinct, quantile,
};

use super::curves::{ALGORITHM, Chart, Curve, Form, Horizontal, Panel, SIZES_OF_TRANSFERS};
use super::events::events;
use super::queue;
use super::sweep::{Parameter, parameters};
use crate::{figures, style};

macro_rules! diagrams {
    ($( $variant:ident, $name:literal, $doc:literal; )+) => {
        /// The subject of a chart.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Diagram { $( #[doc = $doc] $variant, )+ }

        impl Diagram {
            /// Every diagram.
            pub const ALL: &[Diagram] = &[$( Diagram::$variant, )+];

            /// Its name, such as `queue-cdf`.
            pub fn name(self) -> &'static str {
                match self { $( Diagram::$variant => $name, )+ }
            }

            /// Its meaning, in a phrase.
            pub fn doc(self) -> &'static str {
                match self { $( Diagram::$variant => $doc, )+ }
            }
        }
    };
}

diagrams! {
    Metric, "metric", "A metric over one or two fields of a sweep, over segments, sizes or links; for a single point, \
        as bars";
    Queue, "queue", "The queue over time: its mean over each step";
    Delay, "delay", "The queueing delay over time";
    Throughput, "throughput", "Throughput over time";
    Input, "input", "The rate at which data enters the queue over time";
    Drops, "drops", "Drops over time";
    Marks, "marks", "Marks over time";
    Jain, "jain", "Jain's fairness index of the bulk flows' goodputs over time";
    QueueCdf, "queue-cdf", "The distribution function of the queue over the measured window";
    QueuePdf, "queue-pdf", "The density of the queue over the measured window";
    DelayCdf, "delay-cdf", "The distribution function of the queueing delay";
    CompletionCdf, "completion-cdf", "The distribution function of the completion times of transfers";
    SlowdownCdf, "slowdown-cdf", "The distribution function of the slowdowns of transfers";
}

impl Diagram {
    /// The diagram called `name`.
    pub fn find(name: &str) -> Option<Diagram> {
        Diagram::ALL.iter().copied().find(|d| d.name() == name)
    }
}

/// What stands for the links, the segments of the window, the sizes of transfers and the algorithms of a point along an axis;
/// no field of a scenario is called so.
const LINK: &str = "link";
const SEGMENT: &str = "segment";
const SIZE_OF_TRANSFER: &str = "size";
/// Shares of transfers at which a distribution is drawn.
const SHARES: usize = 200;
/// The most over the least from which on times are drawn over a logarithmic axis.
const WIDE: f64 = 50.0;

/// The choice of what a chart is of.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// The point; of a [`Diagram::Metric`], the one whose other parameters are kept.
    pub point: usize,
    /// The link; `None`: the first.
    pub link: Option<&'a str>,
    /// The seed of the replication, over time; `None`: the first.
    pub seed: Option<u64>,
    /// The algorithms; `None`: all.
    pub algorithms: Option<&'a [String]>,
    /// The traffic: "all", a class or, but for throughput, "data".
    pub scope: &'a str,
    /// The figure; `None`: the utilization.
    pub metric: Option<&'a Quantity>,
    /// The field along the axis, or "link", "segment", "size" or "algorithm" for those of the point; `None`: the first field
    /// that varies, numbers before names, or else the algorithms.
    pub over: Option<&'a str>,
    /// The field that has a panel for each of its values; `None`: the next that varies, if there is one.
    pub by: Option<&'a str>,
    /// Of a [`Diagram::Queue`]: the bytes that wait at the end of each step, in place of the mean of the packets over it.
    pub in_bytes: bool,
}

impl Default for Choice<'_> {
    fn default() -> Self {
        Choice {
            point: 0,
            link: None,
            seed: None,
            algorithms: None,
            scope: "all",
            metric: None,
            over: None,
            by: None,
            in_bytes: false,
        }
    }
}

impl Chart {
    /// The chart of a diagram.
    ///
    /// # Errors
    /// A sentence, if the results have nothing to show in it.
    pub fn of(results: &Results, diagram: Diagram, choice: &Choice<'_>) -> Result<Chart, String> {
        let Some(point) = results.run.points.get(choice.point) else {
            let points = results.run.points.len();
            return Err(format!("point {}: the results have {points}", choice.point + 1));
        };
        let found = ChartSource { results, choice, point, styles: style::of_results(results) };
        let chart = match diagram {
            Diagram::Queue if choice.in_bytes => {
                found.over_time("queue", |s| Some((&s.queue_bytes, 1.0)), "queue (B)")
            }
            Diagram::Queue => {
                found.over_time("queue", |s| Some((&s.queue_mean_packets, 1.0)), "queue (packets)")
            }
            Diagram::Delay => found.over_time(
                "queueing delay",
                |s| Some((&s.queue_delay_mean_s, 1e3)),
                "queueing delay (ms)",
            ),
            Diagram::Throughput => found.throughput(),
            Diagram::Input => found.input(),
            Diagram::Drops => found.events_per_second("drops", |s| &s.dropped_packets),
            Diagram::Marks => found.events_per_second("marks", |s| &s.marked_packets),
            Diagram::Jain => found.jain(),
            Diagram::QueueCdf => found.queue(queue::cdf, "share of time with no more"),
            Diagram::QueuePdf => found.queue(queue::pdf, "share of time per packet"),
            Diagram::DelayCdf => found.delays(),
            Diagram::CompletionCdf => found.completions(),
            Diagram::SlowdownCdf => found.slowdowns(),
            Diagram::Metric => return found.metric(),
        };
        if chart.curves().next().is_none() && matches!(diagram, Diagram::CompletionCdf | Diagram::SlowdownCdf)
        {
            return Err(format!("{}: no transfer that began in the window was completed", chart.title));
        }
        if diagram == Diagram::Jain && chart.curves().next().is_none() {
            return Err(format!(
                "{}: fewer than two bulk flows share the link, or the results do not have their goodput over time: \
                 series are kept for the first seeds, or for all with --series all; earlier versions did not keep it",
                chart.title
            ));
        }
        if chart.curves().next().is_none() {
            return Err(format!(
                "{}: the results do not have it; time series are kept for the first seeds, or for all with --series \
                 all",
                chart.title
            ));
        }
        Ok(chart)
    }
}

/// The source of a chart: results at a point and a link.
struct ChartSource<'a> {
    results: &'a Results,
    choice: &'a Choice<'a>,
    point: &'a PointInfo,
    /// The style of each label.
    styles: Vec<(String, usize)>,
}

impl<'a> ChartSource<'a> {
    fn link(&self) -> &'a str {
        self.choice.link.or(self.point.links.first().map(String::as_str)).unwrap_or("")
    }

    fn style(&self, label: &str) -> usize {
        self.styles.iter().find(|(own, _)| own == label).map_or(0, |(_, style)| *style)
    }

    /// The algorithms of a point that are shown, each with its style.
    fn algorithms(&self, point: usize) -> impl Iterator<Item = (usize, &'a str)> {
        let wanted = |a: &&'a String| self.choice.algorithms.is_none_or(|some| some.contains(a));
        let labels = self.results.algorithms(point).iter().filter(wanted);
        labels.map(|label| (self.style(label), label.as_str()))
    }

    fn replications(&self, algorithm: &str) -> Vec<&'a Replication> {
        let mine = |r: &&Replication| r.point == self.choice.point && r.algorithm == algorithm;
        self.results.replications.iter().filter(mine).collect()
    }

    /// A chart of one panel at this point and link.
    fn chart(&self, what: &str, x: &str, y: &str, form: Form, curves: Vec<Curve>) -> Chart {
        let over_time = form == Form::OverTime;
        let place = [what.to_string(), format!("link {}", self.link()), self.point.title()];
        Chart {
            title: place.iter().filter(|t| !t.is_empty()).cloned().collect::<Vec<_>>().join(", "),
            x: Horizontal { label: x.to_string(), log: false, names: Vec::new() },
            y: y.to_string(),
            y_factor: 1.0,
            panel_key: String::new(),
            curve_key: ALGORITHM.to_string(),
            panels: vec![Panel { title: String::new(), curves }],
            form,
            warmup: self.point.segments.first().map(|s| s.0).filter(|t| over_time && *t > 0.0),
            events: if over_time { events(self.point) } else { Vec::new() },
        }
    }

    /// The curves of one replication of each algorithm over time.
    fn series(&self, of: impl Fn(&LinkSeries) -> Option<Vec<f64>>) -> (Option<u64>, Vec<Curve>) {
        let seed = self.choice.seed.or_else(|| {
            let here = self.results.replications.iter().filter(|r| r.point == self.choice.point);
            here.map(|r| r.seed).min_by_key(|s| self.point.seeds.iter().position(|p| p == s))
        });
        let curve = |(style, label): (usize, &str)| {
            let runs = self.replications(label);
            let run = runs.iter().find(|r| Some(r.seed) == seed)?;
            let series = run.series.iter().find(|s| s.link == self.link())?;
            let (x, y) = (series.time_s.clone(), of(series)?);
            Some(Curve::new(label, style, x, y))
        };
        (seed, self.algorithms(self.choice.point).filter_map(curve).collect())
    }

    fn over_time<'s>(
        &self,
        what: &str,
        of: impl Fn(&LinkSeries) -> Option<(&Vec<f64>, f64)> + 's,
        y: &str,
    ) -> Chart {
        let (seed, curves) = self.series(|s| of(s).map(|(v, factor)| v.iter().map(|x| x * factor).collect()));
        self.chart(&of_seed(what, seed), "time (s)", y, Form::OverTime, curves)
    }

    fn jain(&self) -> Chart {
        // It has gaps where fewer than two flows share; a curve of nothing else is none.
        let known = |s: &LinkSeries| s.jain_index.iter().any(|x| x.is_finite());
        self.over_time("Jain index", |s| known(s).then_some((&s.jain_index, 1.0)), "Jain index")
    }

    fn throughput(&self) -> Chart {
        let scope = self.choice.scope;
        let class = (scope != "all").then_some(scope);
        // A class that sent nothing with one algorithm sent nothing, rather than being unknown.
        let of = |s: &LinkSeries| Some(throughput(s, class).unwrap_or_else(|| vec![0.0; s.time_s.len()]));
        let (seed, mut curves) = self.series(of);
        if curves.iter().all(|c| c.y.iter().all(|y| *y == 0.0)) {
            curves.clear();
        }
        let largest = curves.iter().flat_map(|c| &c.y).copied().fold(0.0, f64::max);
        let scale = figures::scale(Metric::Throughput, largest);
        curves.iter_mut().flat_map(|c| &mut c.y).for_each(|y| *y *= scale.factor);
        let what = if scope == "all" { "throughput".to_string() } else { format!("throughput of {scope}") };
        let y = format!("throughput ({})", scale.unit);
        self.chart(&of_seed(&what, seed), "time (s)", &y, Form::OverTime, curves)
    }

    fn input(&self) -> Chart {
        let (seed, mut curves) = self.series(input);
        let largest = curves.iter().flat_map(|c| &c.y).copied().fold(0.0, f64::max);
        let scale = figures::scale(Metric::Throughput, largest);
        curves.iter_mut().flat_map(|c| &mut c.y).for_each(|y| *y *= scale.factor);
        let y = format!("input rate ({})", scale.unit);
        self.chart(&of_seed("input rate", seed), "time (s)", &y, Form::OverTime, curves)
    }

    fn events_per_second(&self, what: &str, of: impl Fn(&LinkSeries) -> &Vec<u64>) -> Chart {
        let (seed, curves) = self.series(|s| Some(per_second(&s.time_s, of(s))));
        self.chart(&of_seed(what, seed), "time (s)", &format!("{what} (packets/s)"), Form::OverTime, curves)
    }

    fn queue(&self, of: fn(&[Vec<f64>]) -> queue::Curves, y: &str) -> Chart {
        let window = window(self.point);
        let shares = |(style, label): (usize, &str)| {
            let shares = queue::shares(&self.replications(label), self.link(), window);
            (!shares.is_empty()).then(|| ((style, label.to_string()), shares))
        };
        let (names, shares): (Vec<_>, Vec<_>) = self.algorithms(self.choice.point).filter_map(shares).unzip();
        let (x, ys) = of(&shares);
        let curve = |((style, label), y): ((usize, String), _)| Curve::new(label, style, x.clone(), y);
        let curves = names.into_iter().zip(ys).map(curve).collect();
        self.chart("queue", "queue (packets)", y, Form::Line, curves)
    }

    fn delays(&self) -> Chart {
        let scope = self.choice.scope;
        let curve = |(style, label): (usize, &str)| {
            let rows = |r: &&'a Replication| {
                let mine = r.delays.iter().filter(|d| *d.link == *self.link() && *d.scope == *scope);
                mine.map(|d| (d.queue_delay_s * 1e3, d.cumulative_probability)).collect::<Vec<_>>()
            };
            let each: Vec<Vec<(f64, f64)>> = self.replications(label).iter().map(rows).collect();
            let each: Vec<&Vec<(f64, f64)>> = each.iter().filter(|e| !e.is_empty()).collect();
            let first = each.first()?;
            // All have the same shares; the mean delay at each.
            let x =
                |i: usize| each.iter().filter_map(|e| e.get(i)).map(|p| p.0).sum::<f64>() / each.len() as f64;
            let y = first.iter().map(|p| p.1).collect();
            Some(Curve::new(label, style, (0..first.len()).map(x).collect(), y))
        };
        let curves = self.algorithms(self.choice.point).filter_map(curve).collect();
        let what =
            if scope == "all" { "queueing delay".to_string() } else { format!("queueing delay of {scope}") };
        self.chart(&what, "queueing delay (ms)", "share of packets that waited no longer", Form::Line, curves)
    }

    fn completions(&self) -> Chart {
        let (mut curves, largest) = self.of_transfers(|t| Some(t.flow_completion_time_s));
        let scale = figures::scale(Metric::FctMean, largest);
        curves.iter_mut().flat_map(|c| &mut c.x).for_each(|x| *x *= scale.factor);
        let unit = format!("completion time ({})", scale.unit);
        self.distribution("completion time", &unit, curves)
    }

    fn slowdowns(&self) -> Chart {
        let (curves, _) = self.of_transfers(|t| t.slowdown);
        self.distribution("slowdown", "slowdown", curves)
    }

    fn distribution(&self, what: &str, x: &str, curves: Vec<Curve>) -> Chart {
        let what = match self.choice.scope {
            "all" => what.to_string(),
            scope => format!("{what} of {scope}"),
        };
        let mut chart = self.chart(&what, x, "share of transfers with no more", Form::Line, curves);
        let positive = || chart.xs().filter(|x| *x > 0.0);
        let (least, most) = (positive().fold(f64::INFINITY, f64::min), positive().fold(0.0, f64::max));
        chart.x.log = chart.xs().all(|x| x > 0.0) && most > WIDE * least;
        chart
    }

    /// The distribution of a figure of transfers that began in the window, the mean over seeds at each share, and the
    /// largest value.
    fn of_transfers(&self, of: fn(&TransferRow) -> Option<f64>) -> (Vec<Curve>, f64) {
        let (from, to) = window(self.point);
        // The classes whose data crosses the link.
        let rows = self.results.replications.iter().filter(|r| r.point == self.choice.point);
        let rows = rows.flat_map(|r| &r.metrics).filter(|m| m.link == self.link() && m.segment.is_none());
        let counted = rows.filter(|m| m.values.get(Metric::Transfers).is_some());
        let classes: Vec<&str> = distinct(counted.map(|m| m.scope.as_str()));
        let scope = self.choice.scope;
        let wanted = |t: &&TransferRow| {
            let of_scope = match scope.strip_prefix(SIZE) {
                Some(size) => t.size_bytes.is_some_and(|bytes| size_name(bytes) == size),
                None => matches!(scope, "all" | "data") || *t.class == *scope,
            };
            of_scope && classes.contains(&&*t.class) && t.start_s >= from && t.start_s < to
        };
        let curve = |(style, label): (usize, &str)| {
            let sorted = |r: &&Replication| {
                let mut all: Vec<f64> = r.transfers.iter().filter(wanted).filter_map(of).collect();
                all.sort_by(f64::total_cmp);
                all
            };
            let each: Vec<Vec<f64>> = self.replications(label).iter().map(sorted).collect();
            let each: Vec<&Vec<f64>> = each.iter().filter(|e| !e.is_empty()).collect();
            let share = |i: usize| i as f64 / SHARES as f64;
            let mean =
                |i: usize| each.iter().filter_map(|e| quantile(e, share(i))).sum::<f64>() / each.len() as f64;
            let x = (0..=SHARES).map(mean).collect();
            (!each.is_empty()).then(|| Curve::new(label, style, x, (0..=SHARES).map(share).collect()))
        };
        let curves: Vec<Curve> = self.algorithms(self.choice.point).filter_map(curve).collect();
        let largest = curves.iter().flat_map(|c| &c.x).copied().fold(0.0, f64::max);
        (curves, largest)
    }

    fn figure(&self) -> Quantity {
        self.choice.metric.cloned().unwrap_or_else(|| Metric::Utilization.into())
    }

    fn metric(&self) -> Result<Chart, String> {
        if let Some(why) = self.results.lacks(&self.figure()) {
            return Err(format!("metric {why}"));
        }
        let (choice, points) = (self.choice, &self.results.run.points);
        match choice.over {
            Some(LINK) => return self.over_links(),
            Some(SEGMENT) => return self.over_segments(),
            Some(SIZE_OF_TRANSFER) => return self.over_sizes(),
            Some(ALGORITHM) => return self.over_algorithms(),
            _ => {}
        }
        if points.len() < 2 && choice.over.is_none() && choice.by.is_none() {
            return self.over_algorithms();
        }
        let all = parameters(points);
        let named = |field: &str| {
            let fields = || all.iter().map(|p| p.field).collect::<Vec<_>>().join(", ");
            all.iter().find(|p| p.field == field).ok_or_else(|| match all.is_empty() {
                true => format!(
                    "{field} does not vary: the results have a single point, whose metric can be drawn over {LINK}, \
                     {SEGMENT}, {SIZE_OF_TRANSFER} or {ALGORITHM}"
                ),
                false => format!("{field} does not vary; the fields that vary are {}", fields()),
            })
        };
        let varies = |p: &&Parameter<'a>| p.along(&all, choice.point, None).len() > 1;
        let by = choice.by.map(named).transpose()?;
        let over = match choice.over {
            Some(field) => Some(named(field)?),
            // Numbers along an axis say more than names.
            None => {
                let other = |p: &&Parameter<'a>| by.is_none_or(|b| b.field != p.field && !b.leads(&all, p));
                let free = || all.iter().filter(varies).filter(other);
                free().find(|p| p.numbers.is_some()).or_else(|| free().next())
            }
        };
        if over.is_some() && over.map(|p| p.field) == by.map(|p| p.field) {
            return Err(format!(
                "{} cannot be both on the axis and in the panels",
                by.map_or("", |p| p.field)
            ));
        }
        let apart = |o: &Parameter<'a>, p: &Parameter<'a>| p.field != o.field && !o.leads(&all, p);
        let by = by.or_else(|| over.and_then(|o| all.iter().filter(varies).find(|p| apart(o, p))));
        // Cases that set several fields at once have only their number.
        let Some(over) = over else { return Ok(self.over_cases()) };
        let within = over.along(&all, choice.point, by);
        let (places, x) = Places::of(over, &within);
        let mut panels = Vec::new();
        let values = by.map_or(vec![""], |by| {
            let mut order = by.along(&all, choice.point, Some(over));
            // Where the field along the axis is set too.
            order.retain(|i| within.contains(i));
            distinct(order.iter().map(|i| by.labels[*i]))
        });
        for value in &values {
            let here = |i: &&usize| by.is_none_or(|by| by.labels[**i] == *value);
            let at: Vec<usize> = within.iter().filter(here).copied().collect();
            let point_of = |place: usize| at.iter().copied().find(|i| places.of_point(over, *i) == place);
            let place_of = |place: usize| Some((point_of(place)?, choice.link));
            panels.push(Panel { title: value.to_string(), curves: self.estimates(&places.xs, place_of) });
        }
        Ok(self.of_metric(x, by.map_or("", |p| p.field), panels))
    }

    fn over_cases(&self) -> Chart {
        let names: Vec<String> = self.results.run.points.iter().map(PointInfo::title).collect();
        let xs: Vec<f64> = (0..names.len()).map(|i| i as f64).collect();
        let curves = self.estimates(&xs, |point| Some((point, self.choice.link)));
        let x = Horizontal { label: "case".to_string(), log: false, names };
        self.of_metric(x, "", vec![Panel { title: String::new(), curves }])
    }

    /// The metric at each link of the point.
    fn over_links(&self) -> Result<Chart, String> {
        if self.choice.by.is_some() || self.choice.link.is_some() {
            return Err("a metric over the links covers all links of one point".to_string());
        }
        let names = self.point.links.clone();
        let xs: Vec<f64> = (0..names.len()).map(|i| i as f64).collect();
        let link_of = |place: usize| Some((self.choice.point, names.get(place).map(String::as_str)));
        let curves = self.estimates(&xs, link_of);
        let x = Horizontal { label: LINK.to_string(), log: false, names: names.clone() };
        let chart = self.of_metric(x, "", vec![Panel { title: String::new(), curves }]);
        self.with_values(chart)
    }

    /// The metric in each segment of the point, where its middle is.
    fn over_segments(&self) -> Result<Chart, String> {
        self.of_one_point(SEGMENT)?;
        let segments = &self.point.segments;
        if segments.len() < 2 {
            return Err(
                "the measured window is one segment; divide it with `segments` in the scenario".to_string()
            );
        }
        let xs: Vec<f64> = segments.iter().map(|(from, to)| f64::midpoint(*from, *to)).collect();
        let view_of = |place: usize| Some(View { segment: Some(place as u32), ..self.view() });
        let curves = self.of_views(&xs, view_of);
        let x = Horizontal { label: "middle of the segment (s)".to_string(), log: false, names: Vec::new() };
        let mut chart = self.of_metric(x, "", vec![Panel { title: String::new(), curves }]);
        chart.events = events(self.point);
        self.with_values(chart)
    }

    /// The metric of the transfers of each size.
    fn over_sizes(&self) -> Result<Chart, String> {
        self.of_one_point(SIZE_OF_TRANSFER)?;
        if self.choice.scope != "all" {
            return Err("a metric over the sizes covers all transfers; leave out the class".to_string());
        }
        let here = self.results.scopes(self.choice.point);
        let sizes = SIZES.iter().map(|(name, _)| *name);
        let names: Vec<String> =
            sizes.filter(|name| here.contains(&format!("{SIZE}{name}"))).map(str::to_string).collect();
        if names.is_empty() {
            return Err("no transfer of any size was completed".to_string());
        }
        let xs: Vec<f64> = (0..names.len()).map(|i| i as f64).collect();
        let view_of =
            |place: usize| Some(View { scope: format!("{SIZE}{}", names.get(place)?), ..self.view() });
        let curves = self.of_views(&xs, view_of);
        let x = Horizontal { label: SIZES_OF_TRANSFERS.to_string(), log: false, names: names.clone() };
        let figure = self.figure();
        let at_links =
            |name: &String| self.results.links_with(self.choice.point, &figure, &format!("{SIZE}{name}"));
        if curves.is_empty() && names.iter().all(|name| at_links(name).is_empty()) {
            return Err(format!(
                "metric {figure} does not apply to transfers of one size; use, e.g., flow_completion_time_p99_s or \
                 slowdown_p99"
            ));
        }
        let chart = self.of_metric(x, "", vec![Panel { title: String::new(), curves }]);
        self.with_values(chart)
    }

    /// The metric of each algorithm at the point, as bars.
    fn over_algorithms(&self) -> Result<Chart, String> {
        self.of_one_point(ALGORITHM)?;
        let mut curves = self.of_views(&[0.0], |_| Some(self.view()));
        for (i, curve) in curves.iter_mut().enumerate() {
            curve.x = vec![i as f64];
        }
        let names = curves.iter().map(|curve| curve.label.clone()).collect();
        let x = Horizontal { label: ALGORITHM.to_string(), log: false, names };
        let chart = self.of_metric(x, "", vec![Panel { title: String::new(), curves }]);
        let settings = self.point.title();
        let settings = if settings.is_empty() { settings } else { format!(", {settings}") };
        let title = chart.title.replace(" over algorithm", "") + &settings;
        self.with_values(Chart { form: Form::Bars, title, ..chart })
    }

    fn of_one_point(&self, over: &str) -> Result<(), String> {
        match self.choice.by {
            Some(by) => Err(format!("with {over} on the axis the point stays the same, so {by} cannot vary")),
            None => Ok(()),
        }
    }

    /// Refuses a chart of nothing.
    fn with_values(&self, chart: Chart) -> Result<Chart, String> {
        if chart.curves().next().is_some() {
            return Ok(chart);
        }
        let figure = self.figure();
        let elsewhere = self.results.links_with(self.choice.point, &figure, self.choice.scope);
        Err(match elsewhere.split_first() {
            Some((first, _)) => format!(
                "metric {figure} does not apply at link {}, but it does at {}; use --link {first}",
                self.link(),
                elsewhere.join(", ")
            ),
            None => format!("metric {figure} does not apply to any link here"),
        })
    }

    /// The view of the point, the link and the traffic.
    fn view(&self) -> View {
        View {
            link: self.choice.link.map(str::to_string),
            scope: self.choice.scope.to_string(),
            ..View::of_point(self.choice.point)
        }
    }

    /// The metric of each algorithm at each place: at a point, and a link of it.
    fn estimates<'l>(
        &self,
        xs: &[f64],
        place_of: impl Fn(usize) -> Option<(usize, Option<&'l str>)>,
    ) -> Vec<Curve> {
        let view_of = |place: usize| {
            let (point, link) = place_of(place)?;
            Some(View { link: link.map(str::to_string), point, ..self.view() })
        };
        self.of_views(xs, view_of)
    }

    /// The metric of each algorithm in each of some views.
    fn of_views(&self, xs: &[f64], view_of: impl Fn(usize) -> Option<View>) -> Vec<Curve> {
        let mut labels = labels_of(self.results);
        if let Some(wanted) = self.choice.algorithms {
            labels.retain(|l| wanted.contains(l));
        }
        let (figure, range) = (self.figure(), self.figure().range());
        let curve = |label: &&String| {
            let estimate = |place: usize| self.results.estimate(&view_of(place)?, label, &figure);
            let found: Vec<Option<Estimate>> = (0..xs.len()).map(estimate).collect();
            let each = |of: &dyn Fn(&Estimate) -> Option<f64>| {
                found.iter().map(|e| e.as_ref().and_then(of).unwrap_or(f64::NAN)).collect::<Vec<f64>>()
            };
            found.iter().any(Option::is_some).then(|| Curve {
                label: label.to_string(),
                style: self.style(label),
                x: xs.to_vec(),
                y: each(&|e| Some(e.mean)),
                half_width: each(&|e| e.half_width),
                low: each(&|e| e.interval_within(range).map(|ends| ends.0)),
                high: each(&|e| e.interval_within(range).map(|ends| ends.1)),
                seeds: found.iter().map(|e| e.map_or(0, |e| e.n)).collect(),
            })
        };
        labels.iter().filter_map(curve).collect()
    }

    fn of_metric(&self, x: Horizontal, panel_key: &str, mut panels: Vec<Panel>) -> Chart {
        let figure = self.figure();
        let curves = || panels.iter().flat_map(|p| &p.curves);
        let largest = curves()
            .flat_map(|c| c.y.iter().chain(&c.high))
            .map(|y| y.abs())
            .filter(|y| y.is_finite())
            .fold(0.0, f64::max);
        let (scale, unit) = figures::scale_of(&figure, &self.results.unit(&figure), largest);
        for curve in panels.iter_mut().flat_map(|p| &mut p.curves) {
            curve.scale(scale.factor);
        }
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        let scope =
            if self.choice.scope == "all" { String::new() } else { format!(" of {}", self.choice.scope) };
        let link = self.choice.link.map_or(String::new(), |l| format!(", link {l}"));
        Chart {
            title: format!(
                "{}{scope} over {}{link}",
                figure.title(),
                x.label.replace("middle of the segment (s)", SEGMENT)
            ),
            x,
            y: format!("{}{unit}", figure.title()),
            y_factor: scale.factor,
            panel_key: panel_key.to_string(),
            curve_key: ALGORITHM.to_string(),
            panels,
            form: Form::Points,
            warmup: None,
            events: Vec::new(),
        }
    }
}

/// The places along an axis of a parameter.
struct Places<'a> {
    xs: Vec<f64>,
    names: Vec<&'a str>,
}

impl<'a> Places<'a> {
    fn of(over: &Parameter<'a>, points: &[usize]) -> (Places<'a>, Horizontal) {
        let mut places = Places { xs: Vec::new(), names: Vec::new() };
        for i in points {
            match &over.numbers {
                Some(numbers) if !places.xs.contains(&numbers[*i]) => places.xs.push(numbers[*i]),
                None if !places.names.contains(&over.labels[*i]) => places.names.push(over.labels[*i]),
                _ => {}
            }
        }
        if over.numbers.is_none() {
            places.xs = (0..places.names.len()).map(|i| i as f64).collect();
        }
        let names = places.names.iter().map(|n| n.to_string()).collect();
        let x = Horizontal { label: over.label(), log: over.geometric, names };
        (places, x)
    }

    /// The place of a point.
    fn of_point(&self, over: &Parameter<'_>, point: usize) -> usize {
        let at = match &over.numbers {
            Some(numbers) => self.xs.iter().position(|x| *x == numbers[point]),
            None => self.names.iter().position(|n| *n == over.labels[point]),
        };
        at.unwrap_or(usize::MAX)
    }
}

/// Every label of an algorithm, in the order in which points name them.
pub(crate) fn labels_of(results: &Results) -> Vec<&String> {
    distinct(results.run.points.iter().flat_map(|p| &p.algorithms))
}

/// The name of the class of sizes that a transfer belongs to.
fn size_name(bytes: f64) -> &'static str {
    SIZES.iter().rev().find(|(_, least)| bytes >= *least as f64).map_or("", |(name, _)| *name)
}

/// The measured window.
pub(crate) fn window(point: &PointInfo) -> (f64, f64) {
    let from = point.segments.first().map_or(0.0, |s| s.0);
    (from, point.segments.last().map_or(f64::INFINITY, |s| s.1))
}

/// Bits per second of a class, or of all; `None` where the class has no traffic.
pub(crate) fn throughput(series: &LinkSeries, class: Option<&str>) -> Option<Vec<f64>> {
    let Some(class) = class else {
        let at = |i: usize| series.throughput_bps.iter().filter_map(|(_, v)| v.get(i)).sum();
        return (!series.throughput_bps.is_empty()).then(|| (0..series.time_s.len()).map(at).collect());
    };
    series.throughput_bps.iter().find(|(name, _)| name == class).map(|(_, values)| values.clone())
}

/// Bits per second that enter the queue: what is sent of it, and what it grows by; `None` without traffic.
fn input(series: &LinkSeries) -> Option<Vec<f64>> {
    let (sent, step) = (throughput(series, None)?, step(&series.time_s)?);
    let before = std::iter::once(&0.0).chain(&series.queue_bytes);
    let grown = series.queue_bytes.iter().zip(before).map(|(now, before)| 8.0 * (now - before) / step);
    Some(sent.iter().zip(grown).map(|(sent, grown)| sent + grown).collect())
}

/// The length of a step. They are equally long, and the first begins at 0.
fn step(time_s: &[f64]) -> Option<f64> {
    match time_s {
        [first, .., last] => Some((last - first) / (time_s.len() - 1) as f64),
        [only] => Some(*only),
        [] => None,
    }
}

/// Counts of steps as rates.
pub(crate) fn per_second(time_s: &[f64], counts: &[u64]) -> Vec<f64> {
    step(time_s).map_or(Vec::new(), |step| counts.iter().map(|n| *n as f64 / step).collect())
}

fn of_seed(what: &str, seed: Option<u64>) -> String {
    seed.map_or(what.to_string(), |s| format!("{what}, seed {s}"))
}
