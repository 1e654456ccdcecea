//! Charts of results: the numbers are those of the results, and read back from CSV.

use std::sync::OnceLock;

use proptest::prelude::*;
use quell_lab::{Metric, Options, Results, View, run};
use quell_scenario::{Plugins, Study};
use quell_view::chart::{Chart, Choice, Curve, Diagram, Event, Form, Horizontal, Panel, csv, text};

/// Two fields, one of them not a number, and a point that the second lacks.
const SCENARIO: &str = r#"
schema = 1
duration = "8 s"
warmup = "2 s"
seeds = 3

[dumbbell]
rate = "2 Mbit/s"
delay = "20 ms"
buffer = "40 packets"
changes = [{ at = "4 s", rate = "1 Mbit/s" }]

[[aqm]]
algorithm = "drop-tail"

[[aqm]]
algorithm = "red"

[[flows]]
name = "ftp"
count = 4
start = { between = ["0 s", "1 s"] }

[flows.tcp]
recovery = "reno"

[[flows]]
name = "late"
count = 5
start = "5 s"

[sweep]
"flows.ftp.tcp.recovery" = ["reno", "sack"]
"flows.ftp.count" = [2, 4, 8]
"#;

fn results() -> &'static Results {
    static RESULTS: OnceLock<Results> = OnceLock::new();
    RESULTS.get_or_init(|| {
        let study = Study::parse(SCENARIO, "charts.toml", &Plugins::new()).expect("a sound scenario");
        run(&study, &Options::default()).expect("it runs")
    })
}

fn chart(diagram: Diagram, choice: &Choice<'_>) -> Chart {
    Chart::of(results(), diagram, choice).expect("there is something to show")
}

/// The index of the point with these settings.
fn point(count: &str, recovery: &str) -> usize {
    let has = |p: &quell_lab::PointInfo| p.settings.iter().all(|s| s.value == count || s.value == recovery);
    results().run.points.iter().position(has).expect("a point")
}

#[test]
fn a_metric_over_two_fields_has_a_panel_for_each_value_of_the_second() {
    let chart =
        chart(Diagram::Metric, &Choice { metric: Some(&Metric::QueueMean.into()), ..Choice::default() });
    assert_eq!((chart.x.label.as_str(), chart.x.log), ("flows.ftp.count", true));
    assert_eq!(chart.panel_key, "flows.ftp.tcp.recovery");
    assert_eq!(chart.panels.iter().map(|p| p.title.as_str()).collect::<Vec<_>>(), ["reno", "sack"]);
    for panel in &chart.panels {
        assert_eq!(panel.curves.iter().map(|c| c.label.as_str()).collect::<Vec<_>>(), ["drop-tail", "red"]);
        for curve in &panel.curves {
            assert_eq!(curve.x, [2.0, 4.0, 8.0]);
            for (i, count) in ["2", "4", "8"].iter().enumerate() {
                let view = View::of_point(point(count, &panel.title));
                let e = results().estimate(&view, &curve.label, Metric::QueueMean).expect("an estimate");
                assert_eq!((curve.y[i], Some(curve.half_width[i])), (e.mean, e.half_width));
            }
        }
    }
}

#[test]
fn names_are_categories_and_shares_are_percent() {
    let choice = Choice { over: Some("flows.ftp.tcp.recovery"), ..Choice::default() };
    let chart = chart(Diagram::Metric, &choice);
    assert_eq!((chart.x.names.len(), chart.x.log, chart.y.as_str()), (2, false, "utilization (%)"));
    assert_eq!(chart.panels.len(), 3);
    assert_eq!(chart.panels[0].curves[0].x, [0.0, 1.0]);
    let table = csv(&chart);
    let first = table.lines().nth(1).expect("a row");
    assert!(first.starts_with("2,drop-tail,reno,9"), "{first}");
}

#[test]
fn linked_fields_are_one_axis_of_numbers() {
    let text = &SCENARIO[..SCENARIO.find("[sweep]").expect("a sweep")];
    let linked = "[[sweep.linked]]\nflows.ftp.count = [8, 2]\ndumbbell.buffer = [\"40 packets\", \"10 packets\"]\n\
                  [sweep.aqm.red]\nmax_p = [0.1, 0.2]\n";
    let study =
        Study::parse(&format!("{text}{linked}"), "x.toml", &Plugins::new()).expect("a sound scenario");
    let results = run(&study, &Options::default()).expect("it runs");
    let axis = |over| {
        let choice = Choice { over, ..Choice::default() };
        let chart = Chart::of(&results, Diagram::Metric, &choice).expect("a chart");
        assert!(chart.curves().all(|c| c.y.iter().all(|y| y.is_finite())), "{chart:?}");
        (chart.x.label.clone(), chart.panel_key.clone(), chart.curves().next().expect("a curve").x.clone())
    };
    let by = "aqm.red.max_p".to_string();
    assert_eq!(axis(None), ("flows.ftp.count".to_string(), by.clone(), vec![2.0, 8.0]));
    assert_eq!(
        axis(Some("dumbbell.buffer")),
        ("dumbbell.buffer (packets)".to_string(), by, vec![10.0, 40.0])
    );
    let over_p = axis(Some("aqm.red.max_p"));
    assert_eq!((over_p.1.as_str(), over_p.2), ("flows.ftp.count", vec![0.1, 0.2]));
}

#[test]
fn a_metric_may_be_drawn_over_the_links() {
    let text = r#"
schema = 1
duration = "4 s"
seeds = 2
[parking_lot]
bottlenecks = 3
rate = "2 Mbit/s"
delay = "5 ms"
buffer = "40 packets"
[[aqm]]
algorithm = "drop-tail"
[[aqm]]
algorithm = "red"
[[flows]]
name = "through"
count = 3
[[flows]]
name = "cross"
from = "r1"
to = "r2"
count = 2
"#;
    let study = Study::parse(text, "x.toml", &Plugins::new()).expect("a sound scenario");
    let results = run(&study, &Options::default()).expect("it runs");
    let mean = Metric::QueueMean.into();
    let choice = Choice { over: Some("link"), metric: Some(&mean), ..Choice::default() };
    let chart = Chart::of(&results, Diagram::Metric, &choice).expect("a chart");
    assert_eq!((chart.x.label.as_str(), chart.x.names.join(" ").as_str()), ("link", "r0-r1 r1-r2 r2-r3"));
    assert_eq!(chart.panels.len(), 1);
    for curve in chart.curves() {
        for (y, link) in curve.y.iter().zip(["r0-r1", "r1-r2", "r2-r3"]) {
            let view = View { link: Some(link.to_string()), ..View::of_point(0) };
            let e = results.estimate(&view, &curve.label, Metric::QueueMean).expect("an estimate");
            assert_eq!(*y, e.mean, "{} {link}", curve.label);
        }
    }
    let of_one = Choice { link: Some("r1-r2"), ..choice };
    assert!(Chart::of(&results, Diagram::Metric, &of_one).is_err());
}

#[test]
fn a_missing_point_is_a_gap() {
    let mut holed = results().clone();
    let gone = point("4", "sack");
    holed.replications.retain(|r| r.point != gone);
    let whole = Chart::of(&holed, Diagram::Metric, &Choice::default()).expect("a chart");
    assert!(whole.panels[1].curves.iter().all(|c| c.x.len() == 3 && c.y[1].is_nan() && c.y[0].is_finite()));
    // And where the study never had the point.
    holed.replications.retain(|r| r.point < gone);
    holed.run.points.truncate(gone);
    let cut = Chart::of(&holed, Diagram::Metric, &Choice::default()).expect("a chart");
    assert_eq!(cut.panels[1].curves[0].x.len(), cut.panels[1].curves[0].y.len());
    assert!(cut.panels[1].curves[0].y.iter().any(|y| y.is_nan()), "{cut:?}");
}

#[test]
fn panels_for_algorithms_have_a_curve_for_each_value() {
    let apart = chart(Diagram::Metric, &Choice::default()).apart();
    assert_eq!((apart.panel_key.as_str(), apart.curve_key.as_str()), ("algorithm", "flows.ftp.tcp.recovery"));
    let labels: Vec<_> = apart.panels[1].curves.iter().map(|c| c.label.as_str()).collect();
    assert_eq!((apart.panels[1].title.as_str(), labels), ("red", vec!["reno", "sack"]));
}

#[test]
fn over_time_there_is_what_the_series_have_and_what_changes() {
    let choice = Choice { point: 1, seed: Some(2), ..Choice::default() };
    let run = results().replications.iter().find(|r| r.point == 1 && r.seed == 2).expect("a run");
    let series = &run.series[0];
    let queue = chart(Diagram::Queue, &choice);
    assert_eq!(
        (&queue.panels[0].curves[0].x, &queue.panels[0].curves[0].y),
        (&series.time_s, &series.queue_mean_packets)
    );
    assert_eq!(queue.warmup, Some(2.0));
    let events: Vec<_> = queue.events.iter().map(|e| (e.at_s, e.label.as_str())).collect();
    assert_eq!(events, [(4.0, "rate 1 Mbit/s"), (5.0, "+5 late")]);
    // The rate times the step is what was dropped.
    let drops = chart(Diagram::Drops, &choice);
    let step = series.time_s[1] - series.time_s[0];
    let dropped = drops.panels[0].curves[0].y.iter().sum::<f64>() * step;
    assert!((dropped - series.dropped_packets.iter().sum::<u64>() as f64).abs() < 1e-6 * dropped.max(1.0));
    // All traffic is the sum of the classes, and on the whole no more than the link sends.
    let scopes = ["all", "ftp", "late"].map(|scope| chart(Diagram::Throughput, &Choice { scope, ..choice }));
    assert!(scopes.iter().all(|c| c.panels[0].curves.len() == 2), "zero is a value");
    let unit = |c: &Chart| if c.y.contains("kbit") { 1e-3 } else { 1.0 };
    let y =
        scopes.each_ref().map(|c| c.panels[0].curves[0].y.iter().map(|y| y * unit(c)).collect::<Vec<_>>());
    let sums = y[1].iter().zip(&y[2]).map(|(a, b)| a + b);
    for (i, (all, sum)) in y[0].iter().zip(sums).enumerate() {
        assert!((all - sum).abs() < 1e-9, "sample {i}: {all} {sum} {:?}", scopes.each_ref().map(|c| &c.y));
    }
    // What enters the queue is sent, or waits at the end.
    let entered = chart(Diagram::Input, &choice);
    let input = entered.panels[0].curves[0].y.iter().map(|y| y * unit(&entered)).sum::<f64>();
    let sent = y[0].iter().sum::<f64>();
    let waiting = 8e-6 * series.queue_bytes.last().expect("a sample");
    assert!(((input - sent) * step - waiting).abs() < 1e-9, "{input} {sent} {waiting}");
    let mean = y[0].iter().sum::<f64>() / y[0].len() as f64;
    assert!(mean > 1.0 && mean <= 1.5, "half the time at 2 Mbit/s, half at 1: {mean}");
}

#[test]
fn the_distribution_of_the_queue_has_its_mean() {
    for label in ["drop-tail", "red"] {
        let only = [label.to_string()];
        let choice = Choice { algorithms: Some(&only), ..Choice::default() };
        let pdf = chart(Diagram::QueuePdf, &choice);
        let curve = &pdf.panels[0].curves[0];
        let width = curve.x[1] - curve.x[0];
        let area: f64 = curve.y.iter().sum::<f64>() * width;
        assert!((area - 1.0).abs() < 1e-9, "{area}");
        // Of samples at ends of steps, not exact: within a packet of the time average.
        let mean: f64 = curve.x.iter().zip(&curve.y).map(|(x, y)| x * y * width).sum();
        let exact = results().estimate(&View::default(), label, Metric::QueueMean).expect("a mean").mean;
        assert!((mean - exact).abs() < 1.0, "{mean} {exact}");
        let cdf = chart(Diagram::QueueCdf, &choice);
        let y = &cdf.panels[0].curves[0].y;
        assert!(y.is_sorted() && (y[y.len() - 1] - 1.0).abs() < 1e-9);
    }
}

#[test]
fn what_is_not_there_is_refused_in_words() {
    let refused =
        |diagram, choice: &Choice<'_>| Chart::of(results(), diagram, choice).expect_err("nothing to show");
    assert!(
        refused(Diagram::Queue, &Choice { point: 9, ..Choice::default() }).contains("the results have 6")
    );
    let over = Choice { over: Some("dumbbell.rate"), ..Choice::default() };
    assert!(refused(Diagram::Metric, &over).contains("flows.ftp.tcp.recovery, flows.ftp.count"));
    let both = Choice { over: Some("flows.ftp.count"), by: Some("flows.ftp.count"), ..Choice::default() };
    assert!(refused(Diagram::Metric, &both).contains("cannot be both on the axis"));
    let mut one = results().clone();
    one.run.points.truncate(1);
    one.replications.retain(|r| r.point == 0);
    let bars = Chart::of(&one, Diagram::Metric, &Choice::default()).expect("bars of one point");
    assert_eq!((bars.form, bars.x.names.as_slice()), (Form::Bars, one.algorithms(0)));
    for curve in bars.curves() {
        let e = one.estimate(&View::default(), &curve.label, Metric::Utilization).expect("an estimate");
        assert_eq!((curve.y[0], curve.seeds[0]), (100.0 * e.mean, e.n));
        assert!(curve.high[0] <= 100.0 && curve.low[0] >= 0.0, "{curve:?}");
    }
    let table = csv(&bars);
    assert!(table.starts_with("algorithm,utilization (%),half-width,low,high,seeds\r\n"), "{table}");
    let refused = Choice { over: Some("dumbbell.rate"), ..Choice::default() };
    let refused = Chart::of(&one, Diagram::Metric, &refused).expect_err("nothing varies");
    assert!(refused.contains("does not vary"), "{refused}");
}

/// Two curves, a hole, an interval, and what changes.
fn example(form: Form) -> Chart {
    let curve = |label: &str, style, y: &[f64], half_width: &[f64]| Curve {
        label: label.into(),
        style,
        x: vec![1.0, 10.0, 100.0, 1000.0],
        y: y.into(),
        half_width: half_width.into(),
        ..Curve::default()
    };
    let curves = vec![
        curve("drop-tail", 0, &[10.0, 40.0, 70.0, 100.0], &[f64::NAN, 10.0, 0.0, 0.0]),
        curve("red", 1, &[0.0, 0.0, f64::NAN, 30.0], &[]),
    ];
    Chart {
        title: "mean queue over N".into(),
        x: Horizontal { label: "N".into(), log: true, names: Vec::new() },
        y: "mean queue (packets)".into(),
        y_factor: 1.0,
        panel_key: String::new(),
        curve_key: "algorithm".into(),
        panels: vec![Panel { title: String::new(), curves }],
        form,
        warmup: None,
        events: Vec::new(),
    }
}

/// Compares with a file, or writes it.
fn same(shown: &str, name: &str) {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/charts").join(name);
    if std::env::var_os("QUELL_UPDATE_DOCS").is_some() {
        std::fs::write(&file, shown).expect("written");
    }
    assert_eq!(shown, std::fs::read_to_string(&file).expect("the file"), "\n{shown}");
}

#[test]
fn points_in_a_terminal_of_60_columns() {
    same(&text(&example(Form::Points), 60, false), "points-60.txt");
    assert!(text(&example(Form::Points), 60, true).contains("\u{1b}[34ma\u{1b}[0m drop-tail"));
}

#[test]
fn time_in_a_terminal_of_60_columns() {
    let mut over_time = example(Form::OverTime);
    over_time.x = Horizontal { label: "time (s)".into(), log: false, names: Vec::new() };
    over_time.warmup = Some(100.0);
    over_time.events = vec![Event { at_s: 500.0, label: "rate 3 Mbit/s".into() }];
    same(&text(&over_time, 60, false), "time-60.txt");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [30, 47, 80, 200] {
        // Nothing marks here, and nothing is a transfer.
        let none = [Diagram::Marks, Diagram::CompletionCdf, Diagram::SlowdownCdf];
        for diagram in Diagram::ALL.iter().filter(|d| !none.contains(d)) {
            let text = text(&chart(*diagram, &Choice::default()), width, false);
            assert!(text.lines().all(|l| l.chars().count() <= width), "{diagram:?} at {width}:\n{text}");
            assert!(!text.contains('\u{1b}'));
        }
    }
}

/// The fields of CSV, by row.
fn read(table: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut characters = table.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => field.extend(characters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            c => field.push(c),
        }
    }
    rows
}

#[test]
fn csv_names_its_columns() {
    let table = csv(&example(Form::Points));
    assert!(table.starts_with(
        "algorithm,N,mean queue (packets),half-width\r\ndrop-tail,1,10,\r\ndrop-tail,10,40,10\r\n"
    ));
    assert!(table.contains("\r\nred,100,,\r\n"), "a hole: {table}");
}

proptest! {
    #[test]
    fn csv_reads_back_the_same(
        labels in prop::collection::vec(any::<String>(), 1..4),
        values in prop::collection::vec((any::<f64>(), any::<f64>(), any::<f64>()), 0..8),
    ) {
        let mut chart = example(Form::Points);
        let curve = |label: &String| Curve {
            label: label.clone(),
            style: 0,
            x: values.iter().map(|v| v.0).collect(),
            y: values.iter().map(|v| v.1).collect(),
            half_width: values.iter().map(|v| v.2).collect(),
            ..Curve::default()
        };
        chart.panels[0].curves = labels.iter().map(curve).collect();
        let rows = read(&csv(&chart));
        let half = values.is_empty();
        prop_assert_eq!(rows[0].len(), if half { 3 } else { 4 });
        prop_assert_eq!(rows.len(), 1 + labels.len() * values.len());
        for (row, (label, v)) in rows[1..].iter().zip(labels.iter().flat_map(|l| values.iter().map(move |v| (l, v)))) {
            prop_assert_eq!(&row[0], &label.to_string());
            // Twelve digits of a place; of a value seven, or to the third digit of half its interval.
            let exact = |x: f64, digits: i32| 10f64.powi(1 - digits) * x.abs();
            let fine = if v.2 > 0.0 && v.2.is_finite() { v.2 * 1e-2 } else { 0.0 };
            let errors = [exact(v.0, 12), exact(v.1, 7).max(fine), exact(v.2, 3)];
            for ((field, x), error) in row[1..].iter().zip([v.0, v.1, v.2]).zip(errors) {
                prop_assert_eq!(field.is_empty(), !x.is_finite());
                if x.is_finite() {
                    prop_assert!((field.parse::<f64>().unwrap() - x).abs() <= error, "{} for {}", field, x);
                }
            }
        }
    }

    #[test]
    fn no_numbers_make_broken_text(
        values in prop::collection::vec((any::<f64>(), any::<f64>(), any::<f64>()), 0..8),
        width in 0usize..120,
        log in any::<bool>(),
    ) {
        for form in [Form::Points, Form::Line, Form::OverTime] {
            let mut chart = example(form);
            chart.x.log = log;
            for curve in &mut chart.panels[0].curves {
                (curve.x, curve.y) = values.iter().map(|v| (v.0, v.1)).unzip();
                curve.half_width = values.iter().map(|v| v.2).collect();
            }
            prop_assert!(text(&chart, width, false).contains("mean"));
            let sheet = quell_view::picture::Sheet::new("t", "");
            prop_assert!(roxmltree::Document::parse(&quell_view::picture::chart(&sheet, &chart)).is_ok());
        }
    }
}
