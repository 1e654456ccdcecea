//! `quell map`.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use quell_analysis::{Bottleneck, Map, MapAxis, MapRequest, MapShown, Mapper, Missing, Variation};
use quell_lab::Axis;
use quell_scenario::Plugins;
use quell_theory::map;
use quell_units::text::three_digits;
use quell_view::picture::{self, Sheet, Spot};
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
    #[arg(long, value_parser = shown(), default_value = MapShown::default().name(), value_name = "QUANTITY")]
    show: MapShown,
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

/// An algorithm at a bottleneck, of which two things vary.
struct Setting {
    label: String,
    mapper: Mapper,
}

/// Points between two looks at the clock's face.
const SHOWN_EVERY: usize = 256;
/// Points along an axis of a map to look at.
const IN_PICTURE: usize = 100;
/// Points on a terminal, where a character is twice as high as wide.
const ON_TERMINAL: (usize, usize) = (64, 24);

/// Reads what a map shows.
fn shown() -> impl TypedValueParser<Value = MapShown> {
    let all = MapShown::ALL.map(|shown| PossibleValue::new(shown.name()).help(shown.doc()));
    // No other name comes through.
    PossibleValuesParser::new(all)
        .map(|name| MapShown::ALL.into_iter().find(|shown| shown.name() == name).unwrap_or_default())
}

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
    let fine = args.points.map(usize::from);
    let shape = match (fine, &args.svg, args.format.format) {
        (Some(n), _, _) => (n, n),
        (None, None, Format::Table) => {
            let columns = terminal::width().map_or(ON_TERMINAL.0, |w| (w - 14).min(ON_TERMINAL.0).max(8));
            (columns, ON_TERMINAL.1)
        }
        _ => (IN_PICTURE, IN_PICTURE),
    };
    let setting = Setting::of(args, shape)?;
    if let Some(file) = &args.svg {
        folder::check_writable(file)?;
    }
    let map = setting.map(args, shape)?;
    let Map { grid, missing, .. } = &map;
    if let (true, Some(first)) = (grid.values.iter().all(Result::is_err), missing.first()) {
        return Err(bad_input!("no point on the map has a value; {}", first.example));
    }
    if let Some(file) = &args.svg {
        folder::write_whole(&setting.picture(args, &map), file)?;
    }
    match args.format.format {
        Format::Json => {
            let rows: Vec<Vec<Option<f64>>> = (0..grid.y.len())
                .map(|j| (0..grid.x.len()).map(|i| grid.at(i, j).as_ref().ok().copied()).collect())
                .collect();
            json::print(&json!({
                "algorithm": setting.label,
                "show": args.show.title(),
                "x": { "name": args.x.name, "unit": args.x.unit, "values": grid.x },
                "y": { "name": args.y.name, "unit": args.y.unit, "values": grid.y },
                // Row by row from the first `y`; null where there is no value.
                "values": rows,
                // The reasons for missing values.
                "missing": missing,
            }))
        }
        Format::Table => match &args.svg {
            None => terminal::print(&setting.text(args, &map)),
            // What is in the picture would not fit here.
            Some(file) => terminal::print(&format!(
                "{}{}\npicture  {}\n",
                setting.title(args),
                remarks(&map),
                quell_files::name(file)
            )),
        },
    }
}

fn axis(arg: &Axis, count: usize) -> MapAxis {
    let values = if arg.logarithmic {
        map::Axis::logarithmic(arg.from, arg.to, count)
    } else {
        map::Axis::linear(arg.from, arg.to, count)
    };
    MapAxis { name: arg.name.clone(), unit: arg.unit.clone(), values }
}

impl Setting {
    fn of(args: &Args, shape: (usize, usize)) -> Result<Self, Failure> {
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
        if args.x.name == args.y.name {
            return Err(bad_input!(
                "--x and --y both vary {}: choose another quantity for one of them",
                args.x.name
            ));
        }
        let parameters = Variation::parameters(config);
        for axis in [&args.x, &args.y] {
            let all = ["flows", "rate", "rtt"].into_iter().chain(parameters.iter().copied());
            if !all.clone().any(|name| name == axis.name) {
                return Err(unknown_name("axis", &axis.name, all));
            }
        }
        let request = MapRequest {
            x: axis(&args.x, shape.0),
            y: axis(&args.y, shape.1),
            show: args.show,
            plant: args.plant.into(),
        };
        Ok(Setting { mapper: Mapper::new(&bottleneck, config, request)?, label: label.clone() })
    }

    /// The whole map, with progress if it takes long.
    fn map(&self, args: &Args, shape: (usize, usize)) -> Result<Map, Failure> {
        let (meter, begun, total) = (Meter::new(args.quiet), Instant::now(), shape.0 * shape.1);
        let done = AtomicUsize::new(0);
        let map = self.mapper.map(|| {
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(SHOWN_EVERY) {
                meter.advance_since(begun, done as f64 / total as f64);
            }
        });
        meter.finish();
        Ok(map?)
    }

    fn title(&self, args: &Args) -> String {
        format!("{}: {} over {} and {}", self.label, args.show.title(), args.x.name, args.y.name)
    }

    /// The map in characters: the lowest `y` below.
    fn text(&self, args: &Args, map: &Map) -> String {
        let grid = &map.grid;
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
                let (factor, unit) = self.mapper.scale();
                let [low, high] = [low, high]
                    .map(|value| format!("{} {unit}", three_digits(value * factor)).trim_end().to_string());
                text.push_str(&format!("0 is {low}, 9 is {high}"));
            }
        }
        text.push_str(&remarks(map));
        text.push('\n');
        text
    }

    fn picture(&self, args: &Args, map: &Map) -> String {
        let Map { grid, missing, .. } = map;
        let [x, y] = [&args.x, &args.y].map(|arg| axis(arg, 0).label());
        let kind = |arg: &Axis, label| {
            if arg.logarithmic { picture::Axis::log(label) } else { picture::Axis::linear(label) }
        };
        let (factor, unit) = self.mapper.scale();
        let shown = match unit {
            "" => args.show.title().to_string(),
            unit => format!("{} ({unit})", args.show.title()),
        };
        let values: Vec<f64> =
            grid.values.iter().map(|v| v.as_ref().map_or(f64::NAN, |value| value * factor)).collect();
        let why = missing.first().map_or("no value", |m| m.reason.as_str());
        let contour = args.show.border().map(|border| (border.at() * factor, "stability boundary"));
        let here = self.mapper.here().map(|(x, y)| Spot { label: "now", x, y });
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
                spots: here.as_slice(),
            },
        )
    }
}

/// The stable share of the map and the reasons for blank points, each on a line of its own.
fn remarks(map: &Map) -> String {
    let mut text = String::new();
    if let Some(stable) = map.stable {
        text.push_str(&format!("\n{:.1}% of the points are stable", 100.0 * stable));
    }
    for Missing { reason, points, example } in &map.missing {
        let points = if *points == 1 { "1 point".into() } else { format!("{points} points") };
        text.push_str(&format!("\nblank: {reason} ({points}); {example}"));
    }
    let mut text = terminal::prose(&text);
    // The last line ends where the text goes on.
    text.truncate(text.trim_end().len());
    text
}
