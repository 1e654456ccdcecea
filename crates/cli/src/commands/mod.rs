//! The commands.

mod analyze;
mod aqm;
mod cache;
mod characterize;
mod compare;
mod conformance;
mod design;
mod map;
mod measure;
mod plot;
mod report;
mod reproduce;
mod run;
mod scenario;
mod search;
mod show;
mod tcp;
#[cfg(target_os = "linux")]
mod wire;
mod worker;

use crate::args::{AqmCommand, Command, ConformanceCommand, ScenarioCommand, TcpCommand};
use crate::failure::Failure;

/// Carries out a command; `line` is the command as results record it.
pub fn execute(command: Command, line: Vec<String>) -> Result<(), Failure> {
    match command {
        Command::Run(args) => run::run(&args, line),
        Command::Compare(args) => compare::compare(&args, line),
        Command::Search(args) => search::search(&args, line),
        Command::Show(args) => show::show(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args, line),
        Command::Characterize(args) => characterize::characterize(&args, line),
        Command::Report(args) => report::report(&args, line),
        Command::Plot(args) => plot::plot(&args),
        Command::Cache(args) => cache::cache(&args),
        Command::Tasks(args) => worker::tasks(&args),
        Command::Worker(args) => worker::worker(&args),
        Command::Analyze(args) => analyze::analyze(&args, line),
        Command::Design(args) => design::design(&args, line),
        Command::Map(args) => map::map(&args),
        Command::Measure(args) => measure::measure(&args),
        #[cfg(target_os = "linux")]
        Command::Wire(args) => wire::wire(&args, line),
        #[cfg(target_os = "linux")]
        Command::Gateway(command) => {
            quell_gateway::commands::execute(&command, &["gateway"]).map_err(|e| match e {
                quell_gateway::commands::Failure::BadInput(why) => Failure::BadInput(why),
                quell_gateway::commands::Failure::Failed(why) => Failure::Failed(why),
            })
        }
        Command::Aqm(AqmCommand::List(args)) => aqm::list(args.format),
        Command::Aqm(AqmCommand::Describe { name, format }) => aqm::describe(&name, format.format),
        Command::Tcp(TcpCommand::List(args)) => tcp::list(args.format),
        Command::Tcp(TcpCommand::Describe { name, format }) => tcp::describe(&name, format.format),
        Command::Scenario(ScenarioCommand::Check { files, format }) => scenario::check(&files, format.format),
        Command::Scenario(ScenarioCommand::Show { file, point, changes }) => {
            scenario::show(&file, &changes, point)
        }
        Command::Scenario(ScenarioCommand::Dialects { names, format }) => {
            scenario::dialects(&names, format.format)
        }
        Command::Scenario(ScenarioCommand::Schema) => scenario::schema(),
        Command::Conformance(ConformanceCommand::List(args)) => conformance::list(args.format),
        Command::Conformance(ConformanceCommand::Show { vectors }) => conformance::show(&vectors),
        Command::Conformance(ConformanceCommand::Write { dir, vectors }) => {
            conformance::write(&dir, &vectors)
        }
        Command::Conformance(ConformanceCommand::Run(args)) => conformance::run(&args),
        Command::Conformance(ConformanceCommand::Museum(args)) => conformance::museum(&args),
        Command::Conformance(ConformanceCommand::Answer) => conformance::answer(),
        Command::Conformance(ConformanceCommand::Schema) => conformance::schema(),
    }
}
