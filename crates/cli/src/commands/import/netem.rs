//! `quell import netem`: the keys of a link for a line of Linux's netem.

use crate::failure::Failure;
use crate::netem::{Netem, check};
use crate::terminal;

/// Arguments of `import netem`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell import netem 'delay 50ms 10ms distribution normal loss gemodel 1% 20% duplicate 1%'
  quell import netem 'tc qdisc add dev eth0 root netem delay 20ms rate 10mbit'

Prints keys for [dumbbell], [parking_lot] or an item of [[graph.links]]. The options are those of tc, also as tc qdisc \
show prints them. Notes say what a link of Quell cannot do, and is left out. docs/links.md says what each \
option becomes.")]
pub struct Args {
    /// Options of netem, or the whole line of tc.
    #[arg(value_name = "LINE", required = true)]
    line: Vec<String>,
}

/// Prints the keys.
pub fn run(args: &Args) -> Result<(), Failure> {
    let line = args.line.join(" ");
    let netem = Netem::read(&line)?;
    let keys = netem.toml();
    check(&keys)?;
    terminal::print(&keys)?;
    netem.notes.iter().for_each(|note| terminal::note(note));
    terminal::note(netem.needs());
    Ok(())
}
