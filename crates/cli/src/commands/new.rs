//! `quell new`.

use std::path::PathBuf;

use quell_presets::{Options, Preset, PresetError, find_load, links, loads, scenario};
use quell_units::Duration;
use serde_json::{Value, json};

use crate::args::{Format, FormatArgs};
use crate::failure::Failure;
use crate::{folder, json, terminal};

/// Arguments of `new`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell new                                   # lists the loads and the links
  quell new rrul --link home > my.toml
  quell new web --link lte --aqm codel,fq-codel --duration \"120 s\" --out web-lte.toml
  quell new call --link dsl | quell run -
  quell new bulk --link dsl | quell run - --set dumbbell.rate=\"20 Mbit/s\"    # a rate of your own

The file is complete, and its comments say where the numbers come from (docs/presets.md).")]
pub struct Args {
    /// The load, such as rrul, web or call; without it, all loads and links are listed.
    load: Option<String>,
    /// The link that carries it, such as home, lte or satellite.
    #[arg(long, short, value_name = "NAME", requires = "load")]
    link: Option<String>,
    /// Algorithms, separated by commas; default: those of the load.
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "link")]
    aqm: Vec<String>,
    /// Simulated time; default: the load's own, or less on a fast link.
    #[arg(long, value_name = "TIME", requires = "link")]
    duration: Option<Duration>,
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE", requires = "link")]
    out: Option<PathBuf>,
    /// Replace an existing file.
    #[arg(long, requires = "out")]
    overwrite: bool,
    #[command(flatten)]
    format: FormatArgs,
}

impl From<PresetError> for Failure {
    fn from(error: PresetError) -> Self {
        Failure::BadInput(error.to_string())
    }
}

/// Lists the loads and links, or writes the scenario of one of each.
pub fn run(args: &Args) -> Result<(), Failure> {
    let Some(load) = &args.load else { return list(args.format.format) };
    let name = find_load(load)?.preset.name;
    let Some(link) = &args.link else {
        let names: Vec<&str> = links().iter().map(|link| link.preset.name).collect();
        return Err(bad_input!(
            "the load \"{name}\" needs a link: write --link NAME with one of {}",
            names.join(", ")
        ));
    };
    let options = Options { aqm: args.aqm.clone(), duration: args.duration };
    let text = scenario(load, link, &options)?;
    let Some(out) = &args.out else { return terminal::print_data(&text) };
    if out.is_file() && !args.overwrite {
        return Err(bad_input!(
            "{} already exists; use --overwrite to replace it, or name another file",
            quell_files::name(out)
        ));
    }
    folder::write_whole(&text, out)?;
    let file = quell_files::name(out);
    terminal::say(&format!("wrote {file}; quell run {file}"));
    Ok(())
}

/// Lists the loads and links, one line each.
fn list(format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        let all = |presets: Vec<&Preset>| presets.into_iter().map(output).collect::<Vec<_>>();
        let (loads, links) = (loads().iter().map(|l| &l.preset), links().iter().map(|l| &l.preset));
        return json::print(&json!({ "loads": all(loads.collect()), "links": all(links.collect()) }));
    }
    let mut text = String::new();
    let mut section = |title: &str, presets: Vec<&Preset>| {
        text.push_str(&format!("{title}\n"));
        let named: Vec<(String, &str)> =
            presets.into_iter().map(|preset| (names(preset), &*preset.about)).collect();
        let width = named.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, about) in named {
            text.push_str(&format!("  {name:<width$}  {about}\n"));
        }
    };
    section("Loads", loads().iter().map(|load| &load.preset).collect());
    section("\nLinks", links().iter().map(|link| &link.preset).collect());
    text.push_str(
        "\nquell new LOAD --link LINK writes a scenario file: quell new rrul --link home > my.toml\n",
    );
    terminal::print(&text)
}

/// The name of a preset, and its others: "cable (home)".
fn names(preset: &Preset) -> String {
    match preset.aliases.is_empty() {
        true => preset.name.to_string(),
        false => format!("{} ({})", preset.name, preset.aliases.join(", ")),
    }
}

fn output(preset: &Preset) -> Value {
    let sources = preset.sources.iter().map(|(what, source)| json!({ "what": what, "source": source }));
    json!({
        "name": preset.name,
        "title": preset.title,
        "about": preset.about,
        "aliases": preset.aliases,
        "sources": sources.collect::<Vec<_>>(),
    })
}
