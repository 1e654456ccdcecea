//! Fields of OPNsense's and pfSense's pages.

use quell_units::BitRate;

use super::job::Job;

pub(super) fn opnsense(job: &mut Job<'_>) {
    let shaped = job.numbers();
    for number in [0, 1].into_iter().filter(|number| shaped.contains(number)) {
        let (rate, _) = job.told(number);
        let queue = &job.queues[number];
        let (bandwidth, metric) = bandwidth(rate, ["bit/s", "kbit/s"]);
        let mut fields: Vec<(&str, String)> = vec![
            ("Enabled", "checked".into()),
            ("Bandwidth", bandwidth),
            ("Bandwidth Metric", metric.into()),
        ];
        let scheduler = match queue.offer.algorithm {
            "fq-codel" | "fq-pie" => queue.offer.native,
            _ => "FIFO",
        };
        fields.push(("Scheduler type", scheduler.into()));
        match queue.offer.algorithm {
            "codel" => fields.push(("Enable CoDel", "checked".into())),
            "pie" => fields.push(("Enable PIE", "checked".into())),
            _ => {}
        }
        fields.extend(queue.settings.iter().map(|s| (s.knob, s.text.clone())));
        fields.push(("Description", format!("quell-{}", queue.direction)));
        job.part("Firewall > Shaper > Pipes > Add", lines(&fields));
    }
    for (number, direction, way) in [(0, "down", "in"), (1, "up", "out")] {
        if !shaped.contains(&number) {
            continue;
        }
        let fields = [
            ("Interface", job.shaped.wan.clone()),
            ("Proto", "ip".into()),
            ("Source", "any".into()),
            ("Destination", "any".into()),
            ("Direction", way.into()),
            ("Target", format!("quell-{direction}")),
        ];
        job.part("Firewall > Shaper > Rules > Add", lines(&fields));
    }
}

pub(super) fn pfsense(job: &mut Job<'_>) {
    let shaped = job.numbers();
    for number in [0, 1].into_iter().filter(|number| shaped.contains(number)) {
        let (rate, _) = job.told(number);
        let queue = &job.queues[number];
        let (bandwidth, metric) = bandwidth(rate, ["Bit/s", "Kbit/s"]);
        let fair = queue.is("fq-codel");
        let mut fields: Vec<(&str, String)> = vec![
            ("Enable", "checked".into()),
            ("Name", format!("quell-{}", queue.direction)),
            ("Bandwidth", format!("{bandwidth} {metric}")),
            ("Mask", "None".into()),
            ("Queue Management Algorithm", (if fair { "Tail Drop" } else { queue.offer.native }).into()),
            ("Scheduler", (if fair { queue.offer.native } else { "FIFO" }).into()),
        ];
        fields.extend(queue.settings.iter().map(|s| (s.knob, s.text.clone())));
        let direction = queue.direction;
        job.part("Firewall > Traffic Shaper > Limiters > New Limiter", lines(&fields));
        let name = format!("quell-{direction}-queue");
        let fields = [("Enable", "checked".into()), ("Name", name), ("Mask", "None".into())];
        job.part(format!("below the limiter quell-{direction}: Add new Queue"), lines(&fields));
    }
    let pipe = |number: usize, name: &'static str| if shaped.contains(&number) { name } else { "none" };
    let pipes = format!("{} / {}", pipe(1, "quell-up-queue"), pipe(0, "quell-down-queue"));
    let fields = [
        ("Action", "Match".into()),
        ("Interface", job.shaped.wan.clone()),
        ("Direction", "out".into()),
        ("Address Family", "IPv4".into()),
        ("Protocol", "Any".into()),
        ("Gateway", "the gateway of the link".into()),
        ("In / Out pipe", pipes),
    ];
    job.part("Firewall > Rules > Floating > Add", lines(&fields));
}

/// A rate as a whole number and its unit.
fn bandwidth(rate: BitRate, units: [&'static str; 2]) -> (String, &'static str) {
    match rate.bps() % 1000 {
        0 => ((rate.bps() / 1000).to_string(), units[1]),
        _ => (rate.bps().to_string(), units[0]),
    }
}

fn lines(fields: &[(&str, String)]) -> String {
    fields.iter().map(|(field, value)| format!("{field}: {value}\n")).collect()
}
