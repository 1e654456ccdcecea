//! What the commands about theory share: a network, from a scenario or from a few words.

use quell_lab::{Document, Plugins, Study};
use quell_theory::{Plant, TheoryError};
use quell_units::{Bytes, QueueSize};

use crate::args::{NetworkArgs, PlantChoice};
use crate::failure::Failure;
use crate::unknown_name;

use super::simulate;

/// The name in errors of a scenario that was made from options.
const FROM_OPTIONS: &str = "the network of --rate, --rtt and --flows";

/// The study that the arguments describe, with its algorithms chosen.
pub fn study(args: &NetworkArgs) -> Result<Study, Failure> {
    let Some(path) = &args.scenario else { return from_options(args) };
    let mut study = simulate::study(path, &args.set, None)?;
    for point in &mut study.points {
        choose(&mut point.scenario, &args.aqm)?;
    }
    Ok(study)
}

/// Leaves the algorithms with these labels; all, without any.
fn choose(scenario: &mut quell_lab::Scenario, labels: &[String]) -> Result<(), Failure> {
    if labels.is_empty() {
        return Ok(());
    }
    for label in labels {
        if !scenario.aqm.iter().any(|a| a.label() == label) {
            return Err(unknown_name(
                "algorithm of the scenario",
                label,
                scenario.aqm.iter().map(|a| a.label()),
            ));
        }
    }
    scenario.aqm.retain(|a| labels.iter().any(|l| l == a.label()));
    Ok(())
}

/// A dumbbell with flows of one kind.
fn from_options(args: &NetworkArgs) -> Result<Study, Failure> {
    let text = scenario_text(args).expect("clap asks for all of them where there is no scenario");
    let mut document = Document::parse(&text, FROM_OPTIONS)?;
    for (field, value) in &args.set {
        document.set_text(field, value)?;
    }
    Ok(document.study(&Plugins::new())?)
}

/// The scenario that the options describe.
pub fn scenario_text(args: &NetworkArgs) -> Option<String> {
    let (rate, rtt, flows) = (args.rate?, args.rtt?, args.flows?);
    let packet = args.packet.unwrap_or(Bytes::new(1000));
    let product = rate.packets_per_sec(packet) * rtt.as_secs_f64();
    let buffer = args.buffer.unwrap_or(QueueSize::Packets((2.0 * product).ceil().max(100.0)));
    let ecn = !args.drops;
    // Long enough for slow loops to settle: hundreds of round trips, and a minute.
    let length = (300.0 * rtt.as_secs_f64()).max(60.0).ceil();
    let mut text = format!(
        "schema = 1\ntitle = \"{flows} flows, {rate}, {rtt}\"\nduration = \"{} s\"\nwarmup = \"{length} s\"\nseeds = 3\n\n[dumbbell]\nrate = \"{rate}\"\ndelay = \"{}\"\nbuffer = \"{buffer}\"\necn = {ecn}\n",
        3.0 * length,
        rtt / 10,
    );
    for name in &args.aqm {
        text.push_str(&format!("\n[[aqm]]\nalgorithm = \"{name}\"\n"));
    }
    text.push_str(&format!(
        "\n[[flows]]\nname = \"tcp\"\ncount = {flows}\nrtt = \"{rtt}\"\nstart = {{ between = [\"0 s\", \"5 s\"] }}\ntcp = {{ ecn = {ecn}, packet = \"{packet}\" }}\n"
    ));
    Some(text)
}

impl From<PlantChoice> for Plant {
    fn from(choice: PlantChoice) -> Plant {
        match choice {
            PlantChoice::Exact => Plant::Exact,
            PlantChoice::Simplified => Plant::Simplified,
        }
    }
}

impl From<TheoryError> for Failure {
    fn from(error: TheoryError) -> Self {
        Failure::BadInput(error.to_string())
    }
}
