//! The commands.

// Which commands a build has: ARCHITECTURE.md.
#[cfg(not(all(feature = "all", target_os = "linux")))]
mod absent;
mod adversary;
#[cfg(feature = "theory")]
mod analyze;
mod aqm;
#[cfg(feature = "all")]
mod bundle;
mod cache;
#[cfg(feature = "all")]
mod characterize;
mod compare;
#[cfg(feature = "all")]
mod completions;
#[cfg(feature = "all")]
mod conformance;
#[cfg(feature = "theory")]
mod design;
#[cfg(feature = "all")]
mod export;
#[cfg(all(feature = "all", target_os = "linux"))]
mod gateway;
#[cfg(feature = "all")]
mod identify;
#[cfg(feature = "all")]
mod import;
#[cfg(feature = "all")]
mod lab;
#[cfg(feature = "all")]
mod man;
#[cfg(feature = "theory")]
mod map;
#[cfg(feature = "all")]
mod measure;
mod new;
mod plot;
#[cfg(feature = "all")]
mod recommend;
mod report;
#[cfg(feature = "all")]
mod reproduce;
mod run;
mod scale;
mod scenario;
mod search;
mod show;
mod tcp;
mod tune;
#[cfg(all(feature = "all", target_os = "linux"))]
mod wire;
mod worker;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};

use crate::failure::Failure;
#[cfg(not(all(feature = "all", target_os = "linux")))]
use {absent as gateway, absent as wire};
#[cfg(not(feature = "theory"))]
use {absent as analyze, absent as design, absent as map};
#[cfg(not(feature = "all"))]
use {
    absent as bundle, absent as characterize, absent as completions, absent as conformance, absent as export,
    absent as identify, absent as import, absent as lab, absent as man, absent as measure,
    absent as recommend, absent as reproduce,
};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Cyan.on_default().bold())
    .usage(AnsiColor::Cyan.on_default().bold())
    .literal(AnsiColor::Green.on_default());

/// A laboratory for active queue management: from a scenario to a comparison you can trust.
#[derive(Debug, Parser)]
#[command(name = "quell", version, styles = STYLES, arg_required_else_help = true, after_help = "\
Examples:
  quell recommend --down 95Mbit/s --up 18Mbit/s --rtt 10ms..80ms --link docsis
  quell new rrul --link home > my.toml
  quell run scenarios/main.toml
  quell compare scenarios/main.toml --baseline red
  quell plot results/main --diagram delay-cdf
  quell lab scenarios/main.toml
  quell bundle results/main --license CC-BY-4.0
  quell analyze scenarios/main.toml --check
  quell design --rate 10Mbit/s --rtt 100ms --flows 100 --aqm pi
  quell aqm describe pi
  quell tcp describe cubic
  quell scenario check my.toml
  quell measure trace.pcap
  quell identify trace.pcap
  quell import pcap trace.pcap
  quell export flent results/main
  quell conformance run -- ./my-aqm

Exit codes: 0 success, 1 failure, 2 invalid scenario or argument, 130 interrupted (143 terminated).")]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// What the help of a build without all commands ends with.
pub fn note_of_absent() -> Option<String> {
    let theory = ["analyze", "design", "map"].iter().filter(|_| !cfg!(feature = "theory"));
    let others = [
        "lab",
        "bundle",
        "reproduce",
        "characterize",
        "wire",
        "gateway",
        "measure",
        "identify",
        "recommend",
        "import",
        "export",
        "conformance",
        "completions",
        "man",
    ]
    .iter();
    let absent: Vec<&str> = theory.chain(others.filter(|_| !cfg!(feature = "all"))).copied().collect();
    (!absent.is_empty()).then(|| {
        format!(
            "Not in this build, but in the one from `cargo build --release --bin quell`: {}.",
            absent.join(", ")
        )
    })
}

/// Options that commands share, and that one of them refuses or that have no effect there: its help does not list them.
const REFUSED: &[(&str, &[&str])] = &[
    ("search", &["sweep"]),
    ("tune", &["sweep"]),
    ("adversary", &["sweep"]),
    ("scale", &["precision", "max_seeds", "sweep", "classes", "segments"]),
    ("tasks", &["precision", "max_seeds", "engine", "no_cache", "threads", "quiet", "fresh", "verify"]),
    ("worker", &["precision", "max_seeds", "engine", "no_cache"]),
];

/// Leaves out of each command's help the options that it refuses.
pub fn hide_refused(command: clap::Command) -> clap::Command {
    REFUSED.iter().fold(command, |command, (name, options)| {
        command.mut_subcommand(name, |command| {
            options.iter().fold(command, |command, option| command.mut_arg(option, |arg| arg.hide(true)))
        })
    })
}

/// The command line as its help shows it, for what is made of it.
#[cfg(feature = "all")]
fn definition() -> clap::Command {
    hide_refused(<Cli as clap::CommandFactory>::command())
}

/// The command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a scenario file from a named load and a named link, or list them.
    New(new::Args),
    /// Run a scenario: every algorithm with every seed.
    Run(run::Args),
    /// Compare algorithms with a baseline, paired by seed.
    Compare(compare::Args),
    /// Find the value of a scenario's field at which a metric crosses a threshold.
    Search(search::Args),
    /// Find the values of a scenario's fields with which a metric is best, or the front of two metrics.
    Tune(tune::Args),
    /// Find the traffic under which one algorithm loses most against another, and the other way around.
    Adversary(adversary::Args),
    /// Run a scenario as it is and N times as large, and show which metrics agree.
    Scale(scale::Args),
    /// Print the tables of a results folder.
    Show(show::Args),
    /// Make the HTML report of a results folder.
    Report(report::Args),
    /// Plot results in the terminal or as SVG, PDF or PNG, or export the plotted numbers as CSV.
    Plot(plot::Args),
    /// Open a scenario or results in the browser laboratory on this machine.
    Lab(lab::Args),
    /// Pack a study into one archive that others can check and rerun, or check such an archive.
    Bundle(bundle::Args),
    /// Reproduce the experiments of published documents, and judge their printed numbers and claims.
    Reproduce(reproduce::Args),
    /// Run algorithms through the scenarios of RFC 7928, compared with drop-tail and a baseline.
    Characterize(characterize::Args),
    /// Show, check, prune or export the cache of finished replications.
    Cache(cache::Args),
    /// List a study's replications as tasks that a scheduler can spread over processes and machines.
    Tasks(worker::TasksArgs),
    /// Run replications of a study and put them into the cache, where `quell run` finds them.
    Worker(worker::WorkerArgs),
    /// Find an answer for a link: which queue at which rates, why, how far it carries, and what to type on the router.
    Recommend(recommend::Args),
    /// Analyze a scenario with control theory: its equilibrium, whether it is stable, and by what margin.
    Analyze(analyze::Args),
    /// Choose parameters for a link by published design rules, with the assumptions of each rule.
    Design(design::Args),
    /// Map where an algorithm is stable, over two of its parameters or two properties of the network.
    Map(map::Args),
    /// Send real packets through a bottleneck on this machine: a command's packets or a scenario's traffic.
    Wire(wire::Args),
    /// Run a gateway, which applies an algorithm to a router's packets; check, watch and replay it.
    Gateway(gateway::Args),
    /// Estimate R, N and C (round-trip time, flows, capacity) from a packet capture.
    Measure(measure::Args),
    /// Identify the queue of a path from a capture at a sender: its discipline, buffer or target, by simulation.
    Identify(identify::Args),
    /// Import traffic for scenarios from packet captures, links from netem, or results from Flent.
    Import(import::Args),
    /// Write results in the formats of other programs.
    Export(export::Args),
    /// List the algorithms, or describe one.
    #[command(subcommand)]
    Aqm(aqm::Command),
    /// List the parts of senders (congestion control, loss recovery, slow start and so on), or describe one.
    #[command(subcommand)]
    Tcp(tcp::Command),
    /// Check scenario files, show them with all defaults, list the dialects, or print the JSON Schema.
    #[command(subcommand)]
    Scenario(scenario::Command),
    /// Test implementations in any language against what the algorithms decide, event by event.
    Conformance(conformance::Args),
    /// Print completions for a shell.
    Completions(completions::Args),
    /// Write the manual pages into a folder.
    Man(man::Args),
}

/// Carries out a command; `line` is the command as results record it.
pub fn execute(command: Command, line: Vec<String>) -> Result<(), Failure> {
    match command {
        Command::New(args) => new::run(&args),
        Command::Run(args) => run::run(&args, line),
        Command::Compare(args) => compare::run(&args, line),
        Command::Search(args) => search::run(&args, line),
        Command::Tune(args) => tune::run(&args, line),
        Command::Adversary(args) => adversary::run(&args, line),
        Command::Scale(args) => scale::run(&args, line),
        Command::Show(args) => show::run(&args),
        Command::Report(args) => report::run(&args, line),
        Command::Plot(args) => plot::run(&args),
        Command::Lab(args) => lab::run(&args, line),
        Command::Bundle(args) => bundle::run(&args, line),
        Command::Reproduce(args) => reproduce::run(&args, line),
        Command::Characterize(args) => characterize::run(&args, line),
        Command::Cache(args) => cache::run(&args),
        Command::Tasks(args) => worker::tasks(&args),
        Command::Worker(args) => worker::worker(&args),
        Command::Recommend(args) => recommend::run(&args, line),
        Command::Analyze(args) => analyze::run(&args, line),
        Command::Design(args) => design::run(&args, line),
        Command::Map(args) => map::run(&args, line),
        Command::Wire(args) => wire::run(&args, line),
        Command::Gateway(args) => gateway::run(&args, line),
        Command::Measure(args) => measure::run(&args, line),
        Command::Identify(args) => identify::run(&args, line),
        Command::Import(args) => import::run(&args, line),
        Command::Export(args) => export::run(&args, line),
        Command::Aqm(command) => aqm::run(&command),
        Command::Tcp(command) => tcp::run(&command),
        Command::Scenario(command) => scenario::run(&command),
        Command::Conformance(args) => conformance::run(&args, line),
        #[cfg(feature = "all")]
        Command::Completions(args) => completions::run(&args, definition()),
        #[cfg(feature = "all")]
        Command::Man(args) => man::run(&args, definition()),
        #[cfg(not(feature = "all"))]
        Command::Completions(args) => completions::run(&args, line),
        #[cfg(not(feature = "all"))]
        Command::Man(args) => man::run(&args, line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn a_wrong_number_is_answered_with_the_rule() {
        let said = |words: &[&str]| Cli::try_parse_from(words).unwrap_err().to_string();
        #[cfg(feature = "theory")]
        {
            let text = said(&["quell", "analyze", "--flows", "1.5"]);
            assert!(
                text.contains("'1.5' for '--flows <N>': must be a whole number from 1 to 200000"),
                "{text}"
            );
        }
        let text = said(&["quell", "run", "a.toml", "--seed", "x"]);
        assert!(text.contains("must be a whole number from 0 to"), "{text}");
    }
}
