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
    Memory(Write),
    /// Cost of one decision of every algorithm of the catalog
    Decisions(Write),
    /// Cost of a packet in a queue of 2 lanes, and of 1024
    Lanes(Write),
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
    Map(Timed),
    /// Speedup of the same replications on all cores
    Scaling(Timed),
    /// One run on several cores
    OneRun(Timed),
    /// Cost of keeping replications, and computed effect of a thousand cores
    Store(Timed),
    /// The fluid model against jitcdde, where that is installed
    Fluid(Timed),
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
struct Timed {
    #[command(flatten)]
    times: Times,
    #[command(flatten)]
    write: Write,
}

#[derive(Args)]
struct Write {
    /// Also put the table into this file, between the markers with its name
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

impl Write {
    /// Shows sections, and puts them into the file.
    fn publish<'a>(&self, sections: impl IntoIterator<Item = &'a Section>) -> Outcome<()> {
        for section in sections {
            println!("{}", section.text());
            self.write.as_deref().map_or(Ok(()), |file| section.write(file))?;
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Outcome<()> {
    match command {
        Command::Cases { which, times, write } => write.publish(&[cost::cases(&which, times.times)?]),
        Command::Memory(write) => write.publish(&[memory::per_flow()?]),
        Command::Decisions(write) => write.publish(&[decisions::every()?]),
        Command::Lanes(write) => write.publish(&[lanes::few_and_many()?]),
        #[cfg(target_os = "linux")]
        Command::Gateway { rounds, seconds, write } => gateway::all(rounds, seconds, |s| write.publish([s])),
        Command::Map(Timed { times, write }) => write.publish(&[maps::million(times.times)?]),
        Command::Scaling(Timed { times, write }) => write.publish(&[scaling::cores(times.times)?]),
        Command::OneRun(Timed { times, write }) => write.publish(&[scaling::one_run(times.times)?]),
        Command::Store(Timed { times, write }) => {
            write.publish(&[store::overhead(times.times)?])?;
            write.publish(&[store::thousand_cores()?])
        }
        Command::Fluid(Timed { times, write }) => write.publish(&fluid::against_jitcdde(times.times)?),
        Command::Peers { which, times, no_ns2, no_ns3, ns3, write } => {
            // Each is published before the next one begins.
            if !no_ns2 {
                write.publish(&peers::ns2_ratios(&which, times.times)?)?;
            }
            if !no_ns3 {
                write.publish(peers::ns3::ratios(&ns3, times.times)?.iter().flatten())?;
            }
            Ok(())
        }
        Command::Ratios { times, write } => write.publish(&ratios::all(times)?),
        Command::Instructions(options) => instructions::check(&options),
        Command::One(args) => one::command(&args),
    }
}
