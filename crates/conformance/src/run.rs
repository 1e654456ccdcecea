//! Vectors spoken to a process, one process for each vector.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use quell_units::text::cut;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::strays::{Watch, mark};
use crate::vector::{Answer, Event, Greeting, Vector, not_json};
use crate::words::{Agreed, Difference, Part, Warning, compare};

/// A runner of vectors: the command and its limits.
#[derive(Clone, Debug)]
pub struct Runner {
    /// The implementation and its arguments.
    pub command: Vec<String>,
    /// The working directory; `None`: this one.
    pub dir: Option<PathBuf>,
    /// The longest time for an answer.
    pub timeout: Duration,
    /// Differences beside the decisions fail a vector.
    pub strict: bool,
}

/// The outcome of one vector.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Every decision was the reference's.
    Passed {
        /// Events.
        events: usize,
        /// Internal signals that it reported and that agreed.
        signals: usize,
        /// Differences beside the decisions, by their parts; none if the runner is strict.
        warnings: Vec<Warning>,
    },
    /// It does not implement this.
    Skipped(String),
    /// It decided otherwise.
    Differs(Box<Difference>),
    /// It ended, or printed something else. The text says where.
    Broke(String),
    /// It hung, and was ended. The text says where.
    Silent(String),
}

/// The reason for which nothing was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The command cannot be started.
    Start(String),
    /// It was asked to stop.
    Interrupted,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Start(why) => f.write_str(why),
            RunError::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for RunError {}

/// The longest answer that is read; one with every signal has some hundred bytes.
const LONGEST: u64 = 1 << 16;

/// A process, which ends with all that it has started when this is dropped.
struct Process {
    child: Child,
    /// What it is told; none once its input is to end.
    told: Option<Sender<Vec<u8>>>,
    lines: Receiver<Line>,
    /// Dropped last.
    watch: Watch,
}

/// The reason for which there is no answer.
enum Mute {
    /// What came instead.
    Broke(String),
    /// Nothing did.
    Silent(String),
}

enum Line {
    Text(String),
    TooLong,
    NotText,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.watch.kill_below(self.child.id());
        #[cfg(unix)]
        if let Some(group) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hands over what a process prints, line by line.
fn read(output: impl Read, lines: &SyncSender<Line>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        let read = (&mut output).take(LONGEST).read_until(b'\n', &mut line);
        let line = match read {
            Err(_) | Ok(0) => return,
            Ok(n) if n as u64 == LONGEST && !line.ends_with(b"\n") => Line::TooLong,
            Ok(_) => String::from_utf8(line).map_or(Line::NotText, Line::Text),
        };
        let last = !matches!(line, Line::Text(_));
        if lines.send(line).is_err() || last {
            return;
        }
    }
}

impl Process {
    fn start(runner: &Runner) -> Result<Self, RunError> {
        let [program, arguments @ ..] = runner.command.as_slice() else {
            return Err(RunError::Start("no command: write it after --".into()));
        };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(dir) = &runner.dir {
            command.current_dir(dir);
        }
        // In a group of its own, with whatever it starts: Ctrl-C is for the runner, which ends them all.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        mark(&mut command);
        let watch = Watch::begin();
        let mut child =
            command.spawn().map_err(|e| RunError::Start(format!("cannot start {}: {e}", cut(program))))?;
        // Lines wait here until they are asked for; who prints more than it is asked blocks.
        let (send, lines) = sync_channel(8);
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || read(output, &send));
        }
        // Who does not read blocks the thread that writes, and nobody else.
        let (told, words) = channel::<Vec<u8>>();
        if let Some(mut input) = child.stdin.take() {
            std::thread::spawn(move || words.iter().try_for_each(|line| input.write_all(&line)));
        }
        Ok(Process { child, told: Some(told), lines, watch })
    }

    fn say(&mut self, what: &impl Serialize) {
        let Ok(mut line) = serde_json::to_vec(what) else { return };
        line.push(b'\n');
        // A process that does not read has ended, or will not answer: what it says, or does not, tells more.
        let _ = self.told.as_ref().map(|told| told.send(line));
    }

    /// The next line; `Ok(Err)` says why there is none.
    fn hear<T: DeserializeOwned>(
        &mut self,
        timeout: Duration,
        stop: &AtomicBool,
    ) -> Result<Result<T, Mute>, RunError> {
        let end = Instant::now() + timeout;
        let line = loop {
            if stop.load(Ordering::Relaxed) {
                return Err(RunError::Interrupted);
            }
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left.min(Duration::from_millis(50))) {
                Ok(line) => break line,
                Err(RecvTimeoutError::Disconnected) => return Ok(Err(self.ended(stop)?)),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    let why = format!("no answer within {} s; it was ended", timeout.as_secs_f64());
                    return Ok(Err(Mute::Silent(why)));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        let heard = match line {
            Line::TooLong => Err(format!("printed a line of more than {LONGEST} bytes")),
            Line::NotText => Err("printed bytes that are not UTF-8".into()),
            Line::Text(text) => {
                let text = text.trim_end();
                serde_json::from_str(text).map_err(|e| match e.classify() {
                    serde_json::error::Category::Data => {
                        let why = e.to_string();
                        let why = why.rsplit_once(" at line").map_or(why.as_str(), |(why, _)| why);
                        format!("printed {}: {why}", cut(text))
                    }
                    _ => format!("printed {}, which {}", cut(text), not_json(&e)),
                })
            }
        };
        Ok(heard.map_err(Mute::Broke))
    }

    /// Says why there are no more lines.
    fn ended(&mut self, stop: &AtomicBool) -> Result<Mute, RunError> {
        Ok(match self.wait(Duration::from_secs(1), stop)? {
            Some(status) => Mute::Broke(format!("it ended without an answer: {status}")),
            None => Mute::Silent("it closed its output without an answer, and did not end".into()),
        })
    }

    fn wait(&mut self, timeout: Duration, stop: &AtomicBool) -> Result<Option<ExitStatus>, RunError> {
        let end = Instant::now() + timeout;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Ok(Some(status)),
                _ if stop.load(Ordering::Relaxed) => return Err(RunError::Interrupted),
                Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(2)),
                _ => return Ok(None),
            }
        }
    }
}

/// Runs one vector; `stop` is looked at while an answer is waited for.
///
/// # Errors
/// The command cannot be started, or it was interrupted; the process has ended in any case.
pub fn run(runner: &Runner, vector: &Vector, stop: &AtomicBool) -> Result<Outcome, RunError> {
    let mut process = Process::start(runner)?;
    let at = |place: &str, why: String| format!("{}: {place}: {why}", vector.header.vector);
    let broke = |place: &str, why| Ok(Outcome::Broke(at(place, why)));
    let mute = |place: &str, why| match why {
        Mute::Broke(why) => broke(place, why),
        Mute::Silent(why) => Ok(Outcome::Silent(at(place, why))),
    };
    process.say(&vector.header);
    let greeting: Greeting = match process.hear(runner.timeout, stop)? {
        Ok(greeting) => greeting,
        Err(why) => return mute("the header", why),
    };
    if let Some(why) = greeting.skip {
        return Ok(Outcome::Skipped(why));
    }
    if !greeting.ready {
        return broke("the header", "answered neither \"ready\" nor \"skip\"".into());
    }
    let mut signals = 0;
    let mut warnings: BTreeMap<Part, Warning> = BTreeMap::new();
    for (number, event) in vector.events.iter().enumerate() {
        let question = Event { expect: None, ..event.clone() };
        let place = format!("event {} of {}", event.event, vector.events.len());
        process.say(&question);
        let came: Answer = match process.hear(runner.timeout, stop)? {
            Ok(answer) => answer,
            Err(why) => return mute(&place, why),
        };
        match compare(vector, number, &came) {
            Ok(Agreed { signals: agreed, others }) => {
                signals += agreed;
                for other in others {
                    if runner.strict {
                        return Ok(Outcome::Differs(Box::new(other)));
                    }
                    let part = other.part.clone();
                    warnings.entry(part).or_insert(Warning { first: other, events: 0 }).events += 1;
                }
            }
            Err(difference) => return Ok(Outcome::Differs(difference)),
        }
    }
    // The end of its input ends it.
    process.told = None;
    let place = "after the last event";
    match process.wait(runner.timeout, stop)? {
        Some(status) if status.success() => {
            let warnings = warnings.into_values().collect();
            Ok(Outcome::Passed { events: vector.events.len(), signals, warnings })
        }
        Some(status) => broke(place, format!("it ended with {status}")),
        None => mute(place, Mute::Silent("it does not end when its input does".into())),
    }
}
