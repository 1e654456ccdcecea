//! Traces of replications in the formats of others.

use std::collections::BTreeSet;
use std::io::{self, Write};

use quell_lab::{Export, Exporter, TRACES, Traced};
use quell_scenario::{Scenario, Study};
use quell_sim::trace::{LinkTrace, SenderWhat, Trace, TracedFlow};
use quell_traces::{About, Format, pcapng, perfetto, qlog};

/// The parts of a trace that formats are made of, and the room that they take.
pub fn needs(formats: &[Format]) -> Export {
    let mut export = Export::default();
    for format in formats.iter().collect::<BTreeSet<_>>() {
        let (packet, sent) = format.bytes_per_packet();
        export.packets |= packet > 0;
        export.senders |= sent > 0;
        export.bytes_per_packet += packet as f64;
        export.bytes_per_sent += sent as f64;
    }
    export
}

/// Writes these formats: a file for each replication, of qlog one for each of its senders that sent anything.
pub fn exporter(study: &Study, formats: Vec<Format>) -> Box<Exporter> {
    let formats: BTreeSet<Format> = formats.into_iter().collect();
    let points: Vec<String> = study.points.iter().map(|point| point.title()).collect();
    let scenarios: Vec<Scenario> = study.points.iter().map(|point| point.scenario.clone()).collect();
    let title = if study.title().is_empty() { study.name() } else { study.title() }.to_string();
    Box::new(move |of, trace, out| {
        let mut out = Counted { out, written: 0 };
        let point = if points.len() > 1 { points.get(of.point).map_or("", String::as_str) } else { "" };
        let about = about(&of, trace, [&title, point], scenarios.get(of.point));
        let mut files = Vec::new();
        for format in &formats {
            match format {
                Format::Pcapng => pcapng::write(&mut out, trace, &about)?,
                Format::Perfetto => perfetto::write(&mut out, trace, &about)?,
                Format::Qlog => {
                    for flow in trace.flows.iter().filter(|flow| has_sent(flow)) {
                        qlog::write(&mut out, flow, &about)?;
                        files.push((name(&of, &points, Some(flow.flow), *format), out.written));
                    }
                    continue;
                }
            }
            files.push((name(&of, &points, None, *format), out.written));
        }
        Ok(files)
    })
}

/// The name of a file: its replication, and its flow if it is of one.
fn name(of: &Traced<'_>, points: &[String], flow: Option<u32>, format: Format) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.+".contains(c) { c } else { '_' };
    let algorithm: String = of.algorithm.chars().map(plain).collect();
    let point = if points.len() > 1 { format!("point{}-", of.point + 1) } else { String::new() };
    let flow = flow.map_or(String::new(), |flow| format!("-flow{flow}"));
    format!("{TRACES}/{point}{algorithm}-seed{}{flow}.{}", of.seed, format.extension())
}

/// Returns whether a flow sent anything: one that starts after the run's end has a state, and nothing to tell.
fn has_sent(flow: &TracedFlow) -> bool {
    flow.events.iter().any(|event| matches!(event.what, SenderWhat::Sent { .. }))
}

fn about(of: &Traced<'_>, trace: &Trace, [title, point]: [&str; 2], scenario: Option<&Scenario>) -> About {
    let seed = format!("seed {}", of.seed);
    let title = [title, point, of.algorithm, &seed].into_iter().filter(|part| !part.is_empty());
    // Of several links others may have algorithms of their own.
    let algorithm = |link: &LinkTrace| {
        let known = scenario.and_then(|scenario| scenario.algorithm_at(&link.name, of.algorithm));
        known.map_or(format!("the algorithm of {}", link.name), |choice| choice.label().to_string())
    };
    let facts = of.facts;
    let group = |group: usize| facts.groups.get(group).map_or("", String::as_str);
    let named = |(number, group): (usize, &str)| format!("{group} {number}");
    let groups = facts.flows.iter().map(|flow| group(flow.group.into()));
    About {
        title: title.collect::<Vec<_>>().join(", "),
        program: format!("Quell {}", env!("CARGO_PKG_VERSION")),
        flows: groups.enumerate().map(named).collect(),
        algorithms: trace.links.iter().map(algorithm).collect(),
        ..About::default()
    }
}

/// Counts what is written.
struct Counted<'a> {
    out: &'a mut dyn Write,
    written: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.written += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
