//! The cost of a simulated packet, in Quell and in other simulators. The method and the figures are
//! in `docs/performance.md`.

mod case;
mod cost;
mod decisions;
mod fluid;
#[cfg(target_os = "linux")]
mod gateway;
mod instructions;
mod lanes;
mod maps;
mod memory;
mod one;
mod outcome;
mod peers;
mod progress;
mod ratios;
mod scaling;
mod senders;
mod store;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use outcome::Outcome;
use table::Section;

#[derive(Parser)]
#[command(version, about = "What a simulated packet costs in Quell, and in other simulators", long_about = None)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// CPU time per packet, events per packet and memory of every case
    Cases {
        #[command(flatten)]
        which: case::Which,
        #[command(flatten)]
        times: Times,
        #[command(flatten)]
        write: Write,
    },
    /// Memory per flow: what twice as many flows take more
    Memory {
        #[command(flatten)]
        write: Write,
    },
    /// Cost of one decision of every algorithm of the catalog
    Decisions {
        #[command(flatten)]
        write: Write,
    },
    /// Cost of a packet in a queue of 2 lanes, and of 1024
    Lanes {
        #[command(flatten)]
        write: Write,
    },
    /// Cost of real packets in the gateway, and accuracy of its rate
    #[cfg(target_os = "linux")]
    Gateway {
        /// Number of pairs of rounds, with a line and without, for each algorithm and kind of ports
        #[arg(short = 'n', long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=1000))]
        rounds: u32,
        /// Time for which each rate is measured
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=3600))]
        seconds: u32,
        #[command(flatten)]
        write: Write,
    },
    /// Cost of a map of a million points on one core
    Map {
        #[command(flatten)]
        times: Times,
        #[command(flatten)]
        write: Write,
    },
    /// Speedup of the same replications on all cores
    Scaling {
        #[command(flatten)]
        times: Times,
        #[command(flatten)]
        write: Write,
    },
    /// One run on several cores
    OneRun {
        #[command(flatten)]
        times: Times,
        #[command(flatten)]
        write: Write,
    },
    /// Cost of keeping replications, and computed effect of a thousand cores
    Store {
        #[command(flatten)]
        times: Times,
        #[command(flatten)]
        write: Write,
    },
    /// The fluid model against jitcdde, where that is installed
    Fluid {
        #[command(flatten)]
        times: Times,
        #[command(flatten)]
        write: Write,
    },
    /// The same cases in ns-2 and ns-3, and how much faster Quell is
    Peers {
        #[command(flatten)]
        which: peers::Which,
        #[command(flatten)]
        times: Times,
        /// Leave ns-2 out
        #[arg(long)]
        no_ns2: bool,
        /// Leave ns-3 out
        #[arg(long)]
        no_ns3: bool,
        /// Compare with the ns-3 that is installed in this folder too, such as one built without its logging
        #[arg(long, value_name = "FOLDER", conflicts_with = "no_ns3")]
        ns3: Vec<PathBuf>,
        #[command(flatten)]
        write: Write,
    },
    /// Instructions per packet of today's queues and senders beside drop-tail and Reno
    Ratios {
        /// Times that each is also timed, in turn; 0: not timed
        #[arg(short = 'n', long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1000))]
        times: u32,
        #[command(flatten)]
        write: Write,
    },
    /// Instructions per packet under valgrind, compared with those of benches/instructions.toml
    Instructions(instructions::Options),
    /// Runs one case once and prints what it cost as JSON
    One(one::Args),
}

#[derive(Args, Clone, Copy)]
struct Times {
    /// Times that each is run, in turn with the others
    #[arg(short = 'n', long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    times: u32,
}

#[derive(Args)]
struct Write {
    /// Also put the table into this file, between the markers with its name
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

impl Write {
    /// Shows a section, and puts it into the file.
    fn publish(&self, section: &Section) -> Outcome<()> {
        println!("{}", section.text());
        self.write.as_deref().map_or(Ok(()), |file| section.write(file))
    }
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Cases { which, times, write } => {
            cost::cases(&which, times.times).and_then(|s| write.publish(&s))
        }
        Command::Memory { write } => memory::per_flow().and_then(|s| write.publish(&s)),
        Command::Decisions { write } => decisions::every().and_then(|s| write.publish(&s)),
        Command::Lanes { write } => lanes::few_and_many().and_then(|s| write.publish(&s)),
        #[cfg(target_os = "linux")]
        Command::Gateway { rounds, seconds, write } => gateway::all(rounds, seconds, |s| write.publish(s)),
        Command::Map { times, write } => maps::million(times.times).and_then(|s| write.publish(&s)),
        Command::Scaling { times, write } => scaling::cores(times.times).and_then(|s| write.publish(&s)),
        Command::OneRun { times, write } => scaling::one_run(times.times).and_then(|s| write.publish(&s)),
        Command::Store { times, write } => store::overhead(times.times)
            .and_then(|s| write.publish(&s))
            .and_then(|()| store::thousand_cores())
            .and_then(|s| write.publish(&s)),
        Command::Fluid { times, write } => fluid::against_jitcdde(times.times)
            .and_then(|section| section.map_or(Ok(()), |s| write.publish(&s))),
        Command::Peers { which, times, no_ns2, no_ns3, ns3, write } => {
            peers((!no_ns2).then_some(&which), (!no_ns3).then_some(&ns3), times.times, &write)
        }
        Command::Ratios { times, write } => {
            ratios::all(times).and_then(|sections| sections.iter().try_for_each(|s| write.publish(s)))
        }
        Command::Instructions(options) => instructions::check(&options),
        Command::One(args) => one::command(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Each is published before the next one begins.
fn peers(ns2: Option<&peers::Which>, ns3: Option<&Vec<PathBuf>>, times: u32, write: &Write) -> Outcome<()> {
    if let Some(which) = ns2 {
        peers::ns2_ratios(which, times)?.iter().try_for_each(|s| write.publish(s))?;
    }
    if let Some(sections) = ns3.map(|folders| peers::ns3::ratios(folders, times)).transpose()?.flatten() {
        sections.iter().try_for_each(|s| write.publish(s))?;
    }
    Ok(())
}
