//! `quell map`.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use quell_analysis::{Bottleneck, Swing, Variation};
use quell_aqm::catalog::AqmConfig;
use quell_aqm::params::ParamDoc;
use quell_lab::Axis;
use quell_scenario::Plugins;
use quell_theory::fluid::{Fluid, Options};
use quell_theory::map::{self, Grid, Shown as OfLoop};
use quell_theory::models::AnyModel;
use quell_theory::{Loop, TheoryError};
use quell_units::BitRate;
use quell_units::text::three_digits;
use quell_view::picture::{self, Sheet, Spot};
use serde::Serialize;
use serde_json::json;

use crate::args::{Format, FormatArgs, whole};
use crate::assess::{self, NetworkArgs, PlantChoice};
use crate::failure::{Failure, unknown_name};
use crate::terminal::Meter;
use crate::{folder, json, terminal};

/// Arguments of `map`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell map --rate 10Mbit/s --rtt 100ms --flows 100 --aqm pi --x flows=10..500:log --y rtt=10ms..500ms
  quell map scenarios/main.toml --aqm red --x max_p=0.01..0.5:log --y \"max_th=20 kB..200 kB\"
  quell map --rate 10Mbit/s --rtt 60ms --flows 100 --aqm pid --x k_p=0.0005..0.2:log --y k_i=0.0005..1:log --svg pid.svg

An axis is flows, rate, rtt (the round-trip time without queueing), or a parameter of the algorithm. The algorithm is \
rebuilt at each point, so automatic parameters follow the link.")]
pub struct Args {
    #[command(flatten)]
    network: NetworkArgs,
    /// The link; default: the first bottleneck.
    #[arg(long, value_name = "NAME")]
    link: Option<String>,
    /// Quantity that varies from left to right: NAME=FROM..TO, with :log at the end for a logarithmic axis.
    #[arg(long, value_name = "AXIS")]
    x: Axis,
    /// Quantity that varies from bottom to top.
    #[arg(long, value_name = "AXIS")]
    y: Axis,
    /// Quantity to show; where it has no value, the map says why.
    #[arg(long, value_enum, default_value_t, value_name = "QUANTITY")]
    show: Shown,
    /// Number of points along each axis; default: as many as fit the terminal, or 100 for SVG and JSON.
    #[arg(long, value_name = "N", value_parser = whole(2..=2000_u16))]
    points: Option<u16>,
    /// Which part of the flows' delay the model keeps.
    #[arg(long, value_enum, default_value_t, value_name = "PLANT")]
    plant: PlantChoice,
    /// Do not show progress.
    #[arg(long, short)]
    quiet: bool,
    /// Also write the map to this SVG file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArgs,
}

/// The quantity that a map shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Shown {
    /// Real part of the slowest mode's root, per second: negative is stable.
    #[default]
    Growth,
    /// The factor by which the gain may rise.
    GainMargin,
    /// The phase margin, in degrees.
    PhaseMargin,
    /// The delay margin, in seconds.
    DelayMargin,
    /// Time in which the slowest mode decays to 2%, in seconds.
    Settling,
    /// The queue at equilibrium, in packets.
    Queue,
    /// The probability of a signal at equilibrium.
    Probability,
    /// Swing of the fluid model's queue after 300 round trips, relative to its mean (time domain).
    Swing,
}

/// A reason for which points have no value.
#[derive(Debug, Serialize)]
struct Missing {
    reason: String,
    points: usize,
    /// The reason at one of them, in full.
    example: String,
}

/// The quantity that varies along an axis.
enum Varies {
    /// N, all classes alike.
    Flows,
    /// C.
    Rate,
    /// The propagation delays, all classes alike.
    Rtt,
    /// A parameter of the algorithm.
    Parameter(String),
}

/// An algorithm at a bottleneck, of which two things vary.
struct Setting {
    bottleneck: Bottleneck,
    label: String,
    algorithm: &'static str,
    parameters: toml::Table,
    varies: [Varies; 2],
    units: [String; 2],
    /// Its points.
    vary: Variation,
}

/// Reasons for blanks that are told.
const MOST_REASONS: usize = 5;
/// Points between two looks at the clock's face.
const SHOWN_EVERY: usize = 256;
/// Points along an axis of a map to look at.
const IN_PICTURE: usize = 100;
/// Points on a terminal, where a character is twice as high as wide.
const ON_TERMINAL: (usize, usize) = (64, 24);

/// Draws a map.
pub fn run(args: &Args, _: Vec<String>) -> Result<(), Failure> {
    for (option, axis) in [("--x", &args.x), ("--y", &args.y)] {
        if !axis.values.is_empty() {
            return Err(bad_input!(
                "{option}: gives its own values; give only its ends, FROM..TO or FROM..TO:log, and set the number of \
                 points with --points"
            ));
        }
    }
    let setting = Setting::of(args)?;
    if let Some(file) = &args.svg {
        folder::check_writable(file)?;
    }
    let fine = args.points.map(usize::from);
    let shape = match (fine, &args.svg, args.format.format) {
        (Some(n), _, _) => (n, n),
        (None, None, Format::Table) => {
            let columns = terminal::width().map_or(ON_TERMINAL.0, |w| (w - 14).min(ON_TERMINAL.0).max(8));
            (columns, ON_TERMINAL.1)
        }
        _ => (IN_PICTURE, IN_PICTURE),
    };
    let axes = (axis(&args.x, shape.0), axis(&args.y, shape.1));
    let grid = setting.grid(args, &axes.0, &axes.1)?;
    let missing = setting.missing(args, &grid);
    if let (true, Some(first)) = (grid.values.iter().all(Result::is_err), missing.first()) {
        return Err(bad_input!("no point on the map has a value; {}", first.example));
    }
    if let Some(file) = &args.svg {
        folder::write_whole(&setting.picture(args, &grid, &missing), file)?;
    }
    match args.format.format {
        Format::Json => {
            let rows: Vec<Vec<Option<f64>>> = (0..grid.y.len())
                .map(|j| (0..grid.x.len()).map(|i| grid.at(i, j).as_ref().ok().copied()).collect())
                .collect();
            json::print(&json!({
                "algorithm": setting.label,
                "show": args.show.name(),
                "x": { "name": args.x.name, "unit": args.x.unit, "values": grid.x },
                "y": { "name": args.y.name, "unit": args.y.unit, "values": grid.y },
                // Row by row from the first `y`; null where there is no value.
                "values": rows,
                // The reasons for missing values.
                "missing": missing,
            }))
        }
        Format::Table => match &args.svg {
            None => terminal::print(&setting.text(args, &grid, &missing)),
            // What is in the picture would not fit here.
            Some(file) => terminal::print(&format!(
                "{}{}\npicture  {}\n",
                setting.title(args),
                remarks(&grid, &missing, args.show.border()),
                quell_files::name(file)
            )),
        },
    }
}

fn axis(arg: &Axis, count: usize) -> map::Axis {
    if arg.logarithmic {
        map::Axis::logarithmic(arg.from, arg.to, count)
    } else {
        map::Axis::linear(arg.from, arg.to, count)
    }
}

impl Setting {
    fn of(args: &Args) -> Result<Self, Failure> {
        let study = assess::study(&args.network)?;
        let ([point], []) = (&study.points[..], &study.holes[..]) else {
            return Err(bad_input!(
                "a map shows one network, but the scenario is a sweep; set its swept fields with --set"
            ));
        };
        let seed = point.scenario.seeds.list().first().copied().unwrap_or(1);
        let bottleneck = Bottleneck::of_point(point, args.link.as_deref(), None, seed, &Plugins::new())?;
        let [(label, config)] = &bottleneck.algorithms[..] else {
            let labels: Vec<&str> = bottleneck.algorithms.iter().map(|(l, _)| l.as_str()).collect();
            return Err(bad_input!(
                "a map shows one algorithm; choose one with --aqm: {}",
                labels.join(", ")
            ));
        };
        let written = toml::Table::try_from(config).map_err(|e| Failure::cannot("read the parameters", e))?;
        // What is a name or a table has no values between two others.
        let is_number = |p: &ParamDoc| p.unit != "name";
        let known: Vec<&str> = quell_aqm::catalog::find(config.name())
            .map(|entry| (entry.params)().iter().filter(|p| is_number(p)).map(|p| p.name).collect())
            .unwrap_or_default();
        let varies = |arg: &Axis| match arg.name.as_str() {
            "flows" => Ok(Varies::Flows),
            "rate" => Ok(Varies::Rate),
            "rtt" => Ok(Varies::Rtt),
            name if known.contains(&name) => Ok(Varies::Parameter(name.to_string())),
            name => {
                let all = ["flows", "rate", "rtt"].into_iter().chain(known.iter().copied());
                Err(unknown_name("axis", name, all))
            }
        };
        let mut parameters = written;
        parameters.remove("algorithm");
        if args.x.name == args.y.name {
            return Err(bad_input!(
                "--x and --y both vary {}: choose another quantity for one of them",
                args.x.name
            ));
        }
        let varies = [varies(&args.x)?, varies(&args.y)?];
        let axes = [&args.x, &args.y].map(|axis| (axis.name.as_str(), axis.unit.as_str()));
        let setting = Setting {
            vary: Variation::new(&bottleneck, config, axes)?,
            label: label.clone(),
            algorithm: config.name(),
            parameters,
            varies,
            units: [args.x.unit.clone(), args.y.unit.clone()],
            bottleneck,
        };
        let Setting { bottleneck: Bottleneck { link, network, algorithms, .. }, .. } = &setting;
        if let Err(e @ TheoryError::NoModel { .. }) = AnyModel::of(&algorithms[0].1, link, network) {
            return Err(e.into());
        }
        for (i, axis) in [&args.x, &args.y].into_iter().enumerate() {
            setting.check(i, axis)?;
        }
        Ok(setting)
    }

    /// Refuses an axis whose values cannot be read: that is wrong with the question, not with a place on the
    /// map.
    fn check(&self, i: usize, axis: &Axis) -> Result<(), Failure> {
        let refuse = |rule: String| {
            let end = |x: f64| format!("{x} {}", axis.unit).trim().to_string();
            Err(bad_input!("{} = {}..{}: {rule}", axis.name, end(axis.from), end(axis.to)))
        };
        match &self.varies[i] {
            Varies::Flows | Varies::Rate | Varies::Rtt if axis.from <= 0.0 => {
                refuse("must be positive over its whole range".into())
            }
            Varies::Flows if !axis.unit.is_empty() => refuse("must be a number without a unit".into()),
            Varies::Flows => Ok(()),
            Varies::Rate => with_unit::<BitRate>("rate", axis.to, &axis.unit)
                .map(drop)
                .or_else(|_| refuse("must have a unit of rate, such as rate=1..100Mbit/s".into())),
            Varies::Rtt => with_unit::<quell_units::Duration>("rtt", axis.to, &axis.unit)
                .map(drop)
                .or_else(|_| refuse("must have a unit of time, such as rtt=10..500ms".into())),
            Varies::Parameter(name) => {
                // The parameter alone: whether it suits the others may differ over the map.
                let mut parameters = self.parameters.clone();
                parameters.insert(name.clone(), parameter(axis.to, &axis.unit));
                match AqmConfig::deserialize_named(self.algorithm, toml::Value::Table(parameters)) {
                    Some(Err(_)) if axis.unit.is_empty() => {
                        let doc = quell_aqm::catalog::find(self.algorithm)
                            .and_then(|entry| (entry.params)().into_iter().find(|p| p.name == name));
                        let unit = doc.map_or("", |p| p.unit);
                        refuse(format!(
                            "must have its unit ({unit}), such as {name}=10..50packets or 1..20ms"
                        ))
                    }
                    Some(Err(e)) => refuse(e.message().trim().to_string()),
                    _ => Ok(()),
                }
            }
        }
    }

    /// The quantity shown at a point of the map; `None` where the loop has none.
    fn found(&self, args: &Args, x: f64, y: f64) -> Result<Option<f64>, TheoryError> {
        let (model, network) = self.vary.at(x, y)?;
        if args.show == Shown::Swing {
            return swing(network, model).map(Some);
        }
        let equilibrium = model.equilibrium(&network)?;
        let of_loop = |shown: OfLoop| {
            shown.of(&Loop::new(&equilibrium.point, &model.controller(&equilibrium)?, args.plant.into())?)
        };
        let if_stable = |shown: OfLoop| {
            let control = Loop::new(&equilibrium.point, &model.controller(&equilibrium)?, args.plant.into())?;
            if control.stable() { shown.of(&control) } else { Ok(None) }
        };
        match args.show {
            Shown::Growth => of_loop(OfLoop::Growth),
            Shown::GainMargin => of_loop(OfLoop::GainMargin),
            // Between two crossovers an unstable loop has a positive phase margin, which says nothing.
            Shown::PhaseMargin => Ok(if_stable(OfLoop::PhaseMargin)?.map(f64::to_degrees)),
            Shown::DelayMargin => if_stable(OfLoop::DelayMargin),
            Shown::Settling => of_loop(OfLoop::Settling),
            Shown::Queue => Ok(Some(equilibrium.point.queue)),
            Shown::Probability => Ok(Some(equilibrium.point.probability)),
            Shown::Swing => unreachable!("it needs no equilibrium"),
        }
    }

    /// A value, or the kind of reason for which there is none.
    fn value(&self, args: &Args, x: f64, y: f64) -> Result<f64, String> {
        match self.found(args, x, y) {
            Ok(Some(value)) => Ok(value),
            Ok(None) if args.show == Shown::GainMargin => Err("no gain makes it marginally stable".into()),
            Ok(None) => Err(format!("unstable, or without a limit: no {}", args.show.name())),
            Err(TheoryError::NoEquilibrium { .. } | TheoryError::Quantity { .. }) => {
                Err("no equilibrium".into())
            }
            // With its value it would be another reason at each point.
            Err(TheoryError::Parameter(e)) => Err(format!("the algorithm refuses {}", e.field)),
            Err(e) => Err(e.to_string()),
        }
    }

    /// The whole map, with progress if it takes long.
    fn grid(&self, args: &Args, x: &map::Axis, y: &map::Axis) -> Result<Grid<Result<f64, String>>, Failure> {
        let (meter, begun, total) = (Meter::new(args.quiet), Instant::now(), x.count * y.count);
        let done = AtomicUsize::new(0);
        let grid = map::map(x, y, |x, y| {
            let value = self.value(args, x, y);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(SHOWN_EVERY) {
                meter.advance_since(begun, done as f64 / total as f64);
            }
            value
        });
        meter.finish();
        Ok(grid?)
    }

    /// The reasons why points have no value, the most frequent first.
    fn missing(&self, args: &Args, grid: &Grid<Result<f64, String>>) -> Vec<Missing> {
        let mut all: Vec<(&String, usize, usize)> = Vec::new();
        for (k, value) in grid.values.iter().enumerate() {
            let Err(reason) = value else { continue };
            match all.iter_mut().find(|(r, ..)| *r == reason) {
                Some((_, points, _)) => *points += 1,
                None => all.push((reason, 1, k)),
            }
        }
        all.sort_by_key(|(_, points, _)| std::cmp::Reverse(*points));
        all.truncate(MOST_REASONS);
        let n = grid.x.len();
        let place = |axis: &Axis, value: f64| {
            format!("{} = {} {}", axis.name, three_digits(value), axis.unit).trim_end().to_string()
        };
        let example = |k: usize| {
            let (x, y) = (grid.x[k % n], grid.y[k / n]);
            let why = match self.found(args, x, y) {
                Err(e) => e.to_string(),
                Ok(_) => grid.values[k].as_ref().err().cloned().unwrap_or_default(),
            };
            format!("at {}, {}: {why}", place(&args.x, x), place(&args.y, y))
        };
        let missing = |(reason, points, k): (&String, usize, usize)| Missing {
            reason: reason.clone(),
            points,
            example: example(k),
        };
        all.into_iter().map(missing).collect()
    }

    fn title(&self, args: &Args) -> String {
        format!("{}: {} over {} and {}", self.label, args.show.name(), args.x.name, args.y.name)
    }

    /// The map in characters: the lowest `y` below.
    fn text(&self, args: &Args, grid: &Grid<Result<f64, String>>, missing: &[Missing]) -> String {
        let values: Vec<f64> = grid.values.iter().filter_map(|v| v.as_ref().ok().copied()).collect();
        let (low, high) =
            values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
        let border = args.show.border();
        let sign = |v: &Result<f64, String>| match (v, border) {
            (Err(_), _) => ' ',
            (Ok(v), Some(border)) if border.is_stable(*v) => '#',
            (Ok(_), Some(_)) => '.',
            (Ok(v), None) => {
                let share = if high > low { (v - low) / (high - low) } else { 0.0 };
                b"0123456789"[((share * 10.0) as usize).min(9)] as char
            }
        };
        let mut text = format!("{}\n\n", self.title(args));
        for j in (0..grid.y.len()).rev() {
            let label = if j == 0 || j + 1 == grid.y.len() || j == grid.y.len() / 2 {
                three_digits(grid.y[j])
            } else {
                String::new()
            };
            let row: String = (0..grid.x.len()).map(|i| sign(grid.at(i, j))).collect();
            text.push_str(&format!("{label:>10} |{}\n", row.trim_end()));
        }
        let ends = (three_digits(grid.x[0]), three_digits(grid.x[grid.x.len() - 1]));
        let room = grid.x.len().saturating_sub(ends.0.len()).max(ends.1.len() + 1);
        text.push_str(&format!(
            "{:>10} +{}\n{:>12}{}{:>room$}\n",
            "",
            "-".repeat(grid.x.len()),
            "",
            ends.0,
            ends.1
        ));
        let unit = |a: &Axis| {
            let of = if a.unit.is_empty() { a.name.clone() } else { format!("{} ({})", a.name, a.unit) };
            if a.logarithmic { format!("{of}, logarithmic") } else { of }
        };
        text.push_str(&format!("\nacross {}, up {}\n", unit(&args.x), unit(&args.y)));
        match border {
            Some(_) => text.push_str("# stable   . unstable"),
            None if values.is_empty() => {}
            None => {
                let (factor, unit) = self.scale(args);
                let [low, high] = [low, high]
                    .map(|value| format!("{} {unit}", three_digits(value * factor)).trim_end().to_string());
                text.push_str(&format!("0 is {low}, 9 is {high}"));
            }
        }
        text.push_str(&remarks(grid, missing, border));
        text.push('\n');
        text
    }

    fn picture(&self, args: &Args, grid: &Grid<Result<f64, String>>, missing: &[Missing]) -> String {
        let side = |arg: &Axis| {
            if arg.unit.is_empty() { arg.name.clone() } else { format!("{} ({})", arg.name, arg.unit) }
        };
        let (x, y) = (side(&args.x), side(&args.y));
        let kind = |arg: &Axis, label| {
            if arg.logarithmic { picture::Axis::log(label) } else { picture::Axis::linear(label) }
        };
        let (factor, unit) = self.scale(args);
        let shown = match unit {
            "" => args.show.name().to_string(),
            unit => format!("{} ({unit})", args.show.name()),
        };
        let values: Vec<f64> =
            grid.values.iter().map(|v| v.as_ref().map_or(f64::NAN, |value| value * factor)).collect();
        let why = missing.first().map_or("no value", |m| m.reason.as_str());
        let contour = args.show.border().map(|border| {
            let (Border::Below(b) | Border::Above(b)) = border;
            (b * factor, "stability boundary")
        });
        let title = self.title(args);
        let sheet =
            Sheet::new(&title, "A map of the linear model over two quantities, with the stability boundary.");
        picture::map(
            &sheet,
            &picture::Map {
                x: kind(&args.x, &x),
                xs: &grid.x,
                y: kind(&args.y, &y),
                ys: &grid.y,
                value: picture::Axis::linear(&shown),
                values: &values,
                missing: why,
                contour,
                spots: &self.here(),
            },
        )
    }

    /// The factor and the unit of what is shown: a time is in the unit that an axis has times in, since one map with
    /// milliseconds beside seconds is read wrongly.
    fn scale<'a>(&'a self, args: &Args) -> (f64, &'a str) {
        let second = |unit: &str| one::<quell_units::Duration>(unit).map(|one| 1.0 / one.as_secs_f64());
        let of_axis = || self.units.iter().find_map(|unit| Some((second(unit)?, unit.as_str())));
        match args.show.unit() {
            "s" => of_axis().unwrap_or((1.0, "s")),
            unit => (1.0, unit),
        }
    }

    /// The place of the scenario's network on the map, if both axes are quantities that it has.
    fn here(&self) -> Vec<Spot<'static>> {
        let network = &self.bottleneck.network;
        let flows: f64 = network.classes.iter().map(|c| c.flows).sum();
        let rtt = network.classes.iter().map(|c| c.flows * c.propagation).sum::<f64>() / flows;
        let place = |varies: &Varies, unit: &str| match varies {
            Varies::Flows => Some(flows),
            Varies::Rate => Some(self.bottleneck.link.rate.bps() as f64 / one::<BitRate>(unit)?.bps() as f64),
            Varies::Rtt => Some(rtt / one::<quell_units::Duration>(unit)?.as_secs_f64()),
            Varies::Parameter(name) => self.parameters.get(name)?.as_float(),
        };
        let [x, y] = [0, 1].map(|i| place(&self.varies[i], &self.units[i]));
        x.zip(y).map(|(x, y)| Spot { label: "now", x, y }).into_iter().collect()
    }
}

/// A value of a parameter as a scenario has it.
fn parameter(value: f64, unit: &str) -> toml::Value {
    if unit.is_empty() { toml::Value::Float(value) } else { toml::Value::String(format!("{value} {unit}")) }
}

/// The fluid model runs for so many round trips from an empty queue; the second half is looked at.
const ROUND_TRIPS: f64 = 600.0;

/// The swing of the fluid model's queue in the end, over its mean.
fn swing(network: quell_theory::FluidNetwork, model: AnyModel) -> Result<f64, TheoryError> {
    let full = network.buffer / network.capacity;
    let longest = network.classes.iter().map(|c| c.propagation).fold(0.0, f64::max) + 0.25 * full;
    let shortest = network.classes.iter().map(|c| c.propagation).fold(f64::INFINITY, f64::min);
    let options = Options { sample: shortest / 4.0, ..Options::default() };
    let duration = ROUND_TRIPS * longest;
    let run = Fluid::new(network, model)?.run(duration, &options)?;
    let summary = run.summary(0.5 * duration)?;
    Ok(if summary.mean > 0.0 { std::f64::consts::SQRT_2 * summary.deviation / summary.mean } else { 0.0 })
}

/// The quantity 1 of a unit.
fn one<T: std::str::FromStr>(unit: &str) -> Option<T> {
    format!("1 {unit}").parse().ok()
}

fn with_unit<T>(name: &str, value: f64, unit: &str) -> Result<T, TheoryError>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    let text = format!("{value} {unit}");
    text.parse().map_err(|e: T::Err| TheoryError::Quantity {
        quantity: name.into(),
        value: text.trim().into(),
        rule: e.to_string(),
    })
}

/// The stable side of a value.
#[derive(Clone, Copy)]
enum Border {
    Below(f64),
    Above(f64),
}

impl Border {
    fn is_stable(self, value: f64) -> bool {
        match self {
            Border::Below(border) => value < border,
            Border::Above(border) => value > border,
        }
    }
}

impl Shown {
    /// Its name, its unit, and the border between its stable and its unstable values.
    fn about(self) -> (&'static str, &'static str, Option<Border>) {
        match self {
            Shown::Growth => ("growth rate", "1/s", Some(Border::Below(0.0))),
            Shown::GainMargin => ("gain margin", "", Some(Border::Above(1.0))),
            Shown::PhaseMargin => ("phase margin", "degrees", None),
            Shown::DelayMargin => ("delay margin", "s", None),
            Shown::Settling => ("settling time", "s", None),
            Shown::Queue => ("queue at equilibrium", "packets", None),
            Shown::Probability => ("signal probability", "", None),
            Shown::Swing => ("swing of the fluid", "", Some(Border::Below(Swing::SETTLED))),
        }
    }

    fn name(self) -> &'static str {
        self.about().0
    }

    fn unit(self) -> &'static str {
        self.about().1
    }

    fn border(self) -> Option<Border> {
        self.about().2
    }
}

/// The stable share of the map and the reasons for blank points, each on a line of its own.
fn remarks(grid: &Grid<Result<f64, String>>, missing: &[Missing], border: Option<Border>) -> String {
    let mut text = String::new();
    if let Some(border) = border {
        let n = grid.values.iter().filter(|v| v.as_ref().is_ok_and(|v| border.is_stable(*v))).count();
        text.push_str(&format!(
            "\n{:.1}% of the points are stable",
            100.0 * n as f64 / grid.values.len() as f64
        ));
    }
    for Missing { reason, points, example } in missing {
        let points = if *points == 1 { "1 point".into() } else { format!("{points} points") };
        text.push_str(&format!("\nblank: {reason} ({points}); {example}"));
    }
    let mut text = terminal::prose(&text);
    // The last line ends where the text goes on.
    text.truncate(text.trim_end().len());
    text
}
