//! Captures of simulated queues that are known, identified: the table of docs/how-to/identify.md.
//!
//! `cargo run -p quell-identify --example confusion [SEEDS]`. Values, rates, round trips and seeds are others
//! than those that the method tries.

use std::sync::atomic::AtomicBool;

use quell_identify::{Discipline, Observed, Question, identify, simulate_at_sender};

/// A path: rate in Mbit/s, round trip in ms, flows; the path with the most packets is tried with every other queue.
const PATHS: [(f64, f64, usize, usize); 3] = [(7.3, 31.0, 1, 1), (7.3, 31.0, 3, 1), (23.0, 62.0, 3, 2)];

/// Queues: the discipline, the parameter in ms, and the tables of a scenario.
const QUEUES: [(&str, f64, &str, &str); 9] = [
    ("drop-tail", 40.0, "", "algorithm = \"drop-tail\""),
    ("drop-tail", 170.0, "", "algorithm = \"drop-tail\""),
    ("codel", 5.0, "1000 packets", "algorithm = \"codel\""),
    ("codel", 13.0, "1000 packets", "algorithm = \"codel\"\ntarget = \"13 ms\"\ninterval = \"260 ms\""),
    ("fq-codel", 5.0, "10240 packets", "algorithm = \"fq-codel\""),
    ("pie", 15.0, "1000 packets", "algorithm = \"pie\""),
    ("pie", 34.0, "1000 packets", "algorithm = \"pie\"\ntarget = \"34 ms\""),
    ("ared", 17.0, "1000 packets", "algorithm = \"ared\"\ntarget_delay = \"17 ms\""),
    ("cake", 5.0, "10240 packets", "algorithm = \"cake\""),
];

fn scenario(rate: f64, rtt: f64, flows: usize, queue: (&str, f64, &str, &str), seed: u64) -> String {
    let (name, value, buffer, aqm) = queue;
    let buffer = if name == "drop-tail" {
        format!("{} packets", (value * rate * 1e3 / 8.0 / 1514.0).round())
    } else {
        buffer.to_string()
    };
    let mut text = format!(
        "schema = 1\ndialect = \"linux\"\nduration = \"30 s\"\nwarmup = \"0 s\"\nseeds = [{seed}]\n\n[dumbbell]\nrate = \"{} \
         bit/s\"\ndelay = \"{} us\"\nbuffer = \"{buffer}\"\necn = true\naccess_rate = \"1 Gbit/s\"\n\n[dumbbell.reverse]\nrate = \
         \"1 Gbit/s\"\ndelay = \"1 us\"\n\n[[aqm]]\n{aqm}\n",
        (rate * 1e6).round(),
        rtt * 1e3 - 1.0
    );
    for i in 0..flows {
        text += &format!(
            "\n[[flows]]\nname = \"f{i}\"\nrtt = \"{rtt} ms\"\nstart = \"{} ms\"\ntcp = {{ congestion = \"cubic\", ecn = false, \
             packet = \"1448 B\" }}\n",
            4100 * i
        );
    }
    text
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seeds = std::env::args().nth(1).map_or(Ok(8), |n| n.parse())?;
    let question = Question { disciplines: Discipline::ALL.to_vec(), seeds, tcp: "cubic".to_string() };
    println!("| truth | path | said | interval |\n| --- | --- | --- | --- |");
    let (mut named, mut held, mut all) = (0, 0, 0);
    for (rate, rtt, flows, step) in PATHS {
        for queue in QUEUES.into_iter().step_by(step) {
            let found = simulate_at_sender(&scenario(rate, rtt, flows, queue, 1234), 1234)?;
            let observed = Observed::of(&found, 60.0, None, None)?;
            let answer = identify(&observed, &question, &|_| {}, &AtomicBool::new(false))?;
            let answer = answer.ok_or("stopped")?;
            let likely = answer.likely();
            let said: Vec<&str> = likely.iter().map(|found| found.discipline.name()).collect();
            let own = answer.found.iter().find(|found| found.discipline.name() == queue.0);
            let own = own.ok_or("a truth that is not tried")?;
            let [low, high] = own.parameter.within.map(|s| s * 1e3);
            all += 1;
            named += usize::from(said.contains(&queue.0));
            held += usize::from((low..=high).contains(&queue.1));
            println!(
                "| {} {} ms | {rate} Mbit/s, {rtt} ms, {flows} | {} | {low:.1} to {high:.1} ms |",
                queue.0,
                queue.1,
                if said.is_empty() { "none of these".to_string() } else { said.join(" or ") },
            );
        }
    }
    println!(
        "\nThe truth is among those named in {named} of {all}, its value within the interval in {held} of {all}."
    );
    Ok(())
}
