//! `quell import netem`: the keys of a link for a line of Linux's netem.

use quell_scenario::{Plugins, Study};

use crate::failure::Failure;
use crate::netem::Netem;
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
    terminal::note(needs(&keys));
    Ok(())
}

/// Refuses keys that no scenario can have, with the words of a scenario's check.
///
/// # Errors
/// Names the key.
fn check(keys: &str) -> Result<(), Failure> {
    let needs = |key: &str, value: &str| match keys.lines().any(|line| line.starts_with(&format!("{key} = ")))
    {
        true => String::new(),
        false => format!("{key} = \"{value}\"\n"),
    };
    let link = ["rate 1 Gbit/s", "delay 0 s", "buffer 100 packets"];
    let link: String =
        link.iter().filter_map(|key| key.split_once(' ')).map(|(key, value)| needs(key, value)).collect();
    let rest = "schema = 1\nduration = \"1 s\"\naqm = [{ algorithm = \"drop-tail\" }]\nflows = [{ name = \"any\" }]\n";
    let text = format!("{rest}[dumbbell]\n{link}{keys}");
    let checked = Study::parse(&text, "netem", &Plugins::new());
    checked.map(|_| ()).map_err(|mut e| {
        // Nobody has a file with these lines.
        (e.line, e.column) = (None, None);
        e.into()
    })
}

/// What else the keys of a link need.
fn needs(keys: &str) -> &'static str {
    match keys.lines().any(|line| line.starts_with("rate = ")) {
        false => "give the link a rate and a buffer, of which the line says nothing",
        true => {
            "give the link a buffer; the reverse direction has the same rate, unless reverse.rate says otherwise"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_no_scenario_can_have_are_refused() {
        for (line, field) in
            [("delay 3600s", "delay"), ("rate 900tbit", "rate"), ("loss gemodel 100% 0.00001%", "loss")]
        {
            let keys = Netem::read(line).unwrap().toml();
            match check(&keys) {
                Err(Failure::BadInput(message)) => assert!(message.contains(field), "{line}: {message}"),
                other => panic!("{line}: {other:?}"),
            }
        }
        for line in
            ["delay 50ms 10ms distribution normal loss gemodel 1% 20% duplicate 1%", "rate 10mbit delay 5ms"]
        {
            assert!(check(&Netem::read(line).unwrap().toml()).is_ok());
        }
    }
}
