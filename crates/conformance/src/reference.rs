//! The reference itself as an implementation: what `quell conformance answer` is.

use std::io::{self, BufRead, Write};

use quell_aqm::catalog::AqmConfig;
use quell_aqm::{Aqm, Discipline};
use quell_queue::{Limit, Qdisc, Queue};
use quell_units::{BitRate, Bytes, QueueSize, Time};

use crate::generate::{Carried, arrive, depart, dynamic, generator, signals};
use crate::vector::{Answer, Event, Greeting, Header, Size, What};

type Plain = Queue<Carried, Box<dyn Aqm>, Box<dyn Discipline>>;

fn build(header: &Header) -> Result<Plain, String> {
    let config: AqmConfig = serde_json::from_value(header.config.clone()).map_err(|e| e.to_string())?;
    let buffer = match header.link.buffer {
        Size::Packets(n) => QueueSize::Packets(n),
        Size::Bytes(n) => QueueSize::Bytes(n),
    };
    let rate = BitRate::from_bps(header.link.rate_bps);
    let link = quell_aqm::Link { rate, buffer, mean_packet: Bytes::new(header.link.mean_packet_bytes) };
    let algorithm = dynamic(config.build(&link).map_err(|e| e.to_string())?);
    Ok(Queue::new(algorithm, generator(header.seed), Limit::of(buffer), header.ecn, Some(rate)))
}

/// Answers one event. Quell draws from the generator that the header seeds, and says what the event says of
/// draws.
fn respond(queue: &mut Plain, event: &Event) -> Answer {
    let now = Time::from_nanos(event.t);
    let mut answer = match (event.what, event.packet) {
        (What::Enqueue, Some(packet)) => arrive(queue, now, Carried::new(packet)).1,
        (What::Enqueue, None) => Answer::default(),
        (What::Dequeue, _) => depart(queue, now).1,
        (What::Update, _) => {
            queue.advance(now);
            Answer { signals: signals(queue).values, ..Answer::default() }
        }
        (What::Idle, _) => {
            queue.idle(now);
            Answer { signals: signals(queue).values, ..Answer::default() }
        }
    };
    answer.used = Some(event.draws.len() as u32);
    answer
}

/// Speaks the protocol over `input` and `output` as the implementation, for one vector.
///
/// # Errors
/// What could not be read or written, or what breaks the form.
pub fn answer(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let mut lines = input.lines();
    let Some(first) = lines.next() else { return Ok(()) };
    let header: Header = serde_json::from_str(&first?).map_err(|e| wrong(e.to_string()))?;
    let mut queue = build(&header).map_err(wrong)?;
    writeln!(output, "{}", serde_json::to_string(&Greeting { ready: true, skip: None })?)?;
    output.flush()?;
    for line in lines {
        let event: Event = serde_json::from_str(&line?).map_err(|e| wrong(e.to_string()))?;
        writeln!(output, "{}", serde_json::to_string(&respond(&mut queue, &event))?)?;
        output.flush()?;
    }
    Ok(())
}
