//! Errors as Python exceptions.

use std::path::Path;

use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::{create_exception, exceptions};
use quell_units::text::visible;

create_exception!(
    quell,
    ScenarioError,
    PyValueError,
    "A scenario that cannot be used: the message says where, what and why.\n\n\
     Attributes\n----------\n\
     file : str\n    The file, or ``<dict>``.\n\
     line : int or None\n    The line, counted from 1; None for a dict.\n\
     field : str\n    The field, such as ``flows[1].rtt``; empty if the scenario as a whole is meant.\n\
     value : str or None\n    Its value as written.\n\
     rule : str\n    The rule that it breaks.\n\
     nearest : str or None\n    The nearest valid name, if a name is wrong.\n\n\
     Examples\n--------\n\
     >>> import quell\n\
     >>> try:\n\
     ...     quell.check({\"schema\": 1})\n\
     ... except quell.ScenarioError as error:\n\
     ...     print(\"refused\")\n\
     refused"
);
create_exception!(
    quell,
    RunError,
    PyRuntimeError,
    "A run that gave no results; the message says which replication and why.\n\n\
     Examples\n--------\n\
     >>> import quell\n\
     >>> issubclass(quell.RunError, RuntimeError)\n\
     True"
);
create_exception!(
    quell,
    TheoryError,
    PyValueError,
    "A question that the theory cannot answer; the message says why.\n\n\
     Attributes\n----------\n\
     kind : str\n    \"quantity\", \"no-equilibrium\", \"unstable-open-loop\", \"tolerance\", \"no-model\", \
     \"parameter\" or \"capture\".\n\
     quantity : str or None\n    The quantity, parameter, algorithm or file that is meant.\n\
     value : str or None\n    Its value with its unit.\n\
     reason : str\n    The rule that it breaks, or why there is no answer.\n\n\
     Examples\n--------\n\
     >>> from quell.theory import TheoryError, red_tail_delay_bound\n\
     >>> try:\n\
     ...     red_tail_delay_bound(240e3, 0)\n\
     ... except TheoryError:\n\
     ...     print(\"refused\")\n\
     refused"
);
create_exception!(
    quell,
    Interrupted,
    PyKeyboardInterrupt,
    "Ctrl-C during a run.\n\n\
     Attributes\n----------\n\
     results : Results\n    What was finished before; ``results.partial`` is true.\n\n\
     Examples\n--------\n\
     >>> import quell\n\
     >>> try:  # doctest: +SKIP\n\
     ...     results = quell.run(\"study.toml\")\n\
     ... except quell.Interrupted as stopped:\n\
     ...     results = stopped.results"
);

/// A message, which Python writes to the terminal as it is; the attributes of an error are exact.
pub fn message(text: &str) -> String {
    visible(text).into_owned()
}

/// A wrong scenario, with its parts as attributes.
pub fn scenario(py: Python<'_>, error: &quell_scenario::ScenarioError) -> PyErr {
    let e = ScenarioError::new_err(message(&error.to_string()));
    let value = e.value(py);
    let set = || {
        value.setattr("file", &error.file)?;
        value.setattr("line", error.line)?;
        value.setattr("field", &error.field)?;
        value.setattr("value", &error.value)?;
        value.setattr("rule", &error.rule)?;
        value.setattr("nearest", &error.nearest)
    };
    // A plain exception object always takes attributes.
    if let Err(failure) = set() { failure } else { e }
}

/// A question without an answer, with its parts as attributes.
pub fn theory(py: Python<'_>, error: &quell_theory::TheoryError) -> PyErr {
    use quell_theory::TheoryError as E;
    let (kind, quantity, value, reason) = match error {
        E::Quantity { quantity, value, rule } => ("quantity", Some(&**quantity), Some(value), &**rule),
        E::NoEquilibrium { quantity, reason } => ("no-equilibrium", Some(&**quantity), None, &**reason),
        E::UnstableOpenLoop { reason } => ("unstable-open-loop", None, None, &**reason),
        E::Tolerance { reason, .. } => ("tolerance", None, None, &**reason),
        E::NoModel { algorithm, reason } => ("no-model", Some(&**algorithm), None, &**reason),
        E::Parameter(p) => ("parameter", Some(p.field), Some(&p.value), &*p.rule),
        _ => ("other", None, None, ""),
    };
    unanswered(py, error.to_string(), kind, quantity, value, reason)
}

/// An option of a capture's measurement that breaks a rule, with its parts as attributes.
pub fn option(py: Python<'_>, error: &quell_capture::OptionError) -> PyErr {
    unanswered(py, error.to_string(), "quantity", Some(error.option), Some(&error.value), error.rule)
}

/// A file that is not a packet capture.
pub fn capture(py: Python<'_>, path: &Path, error: &quell_capture::CaptureError) -> PyErr {
    let (name, reason) = (path.display().to_string(), error.to_string());
    unanswered(py, format!("{}: {reason}", quell_files::name(path)), "capture", Some(&name), None, &reason)
}

fn unanswered(
    py: Python<'_>,
    message: String,
    kind: &str,
    quantity: Option<&str>,
    value: Option<&String>,
    reason: &str,
) -> PyErr {
    let e = TheoryError::new_err(self::message(&message));
    let object = e.value(py);
    let set = || {
        object.setattr("kind", kind)?;
        object.setattr("quantity", quantity)?;
        object.setattr("value", value)?;
        object.setattr("reason", reason)
    };
    if let Err(failure) = set() { failure } else { e }
}

/// A file that cannot be read or written: the subclass of `OSError` that fits.
pub fn io(error: &std::io::Error, path: &Path) -> PyErr {
    let path = path.display().to_string();
    match error.raw_os_error() {
        // OSError chooses its subclass by the number.
        Some(number) => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default().to_string();
            PyOSError::new_err((number, text, path))
        }
        None => PyOSError::new_err(message(&format!("{path}: {error}"))),
    }
}

/// Ctrl-C, with what was finished.
pub fn interrupted(py: Python<'_>, results: Bound<'_, PyAny>) -> PyErr {
    let e = Interrupted::new_err("the run was interrupted; what was finished is in the attribute results");
    match e.value(py).setattr("results", results) {
        Ok(()) => e,
        Err(failure) => failure,
    }
}

/// A name that nothing has, with the one that was meant and the names that there are.
pub fn unknown(kind: &str, name: &str, known: impl Iterator<Item: std::fmt::Display>) -> PyErr {
    let known: Vec<String> = known.map(|k| k.to_string()).collect();
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    let (rule, nearest) = quell_scenario::unknown(kind, name, &names);
    let mut message = format!("no {kind} is called \"{}\"", quell_units::text::cut(name));
    if !rule.starts_with("unknown ") {
        message.push_str(&format!(": {rule}"));
    }
    let known = format!("there are {}", names.join(", "));
    argument(quell_scenario::suggest(&message, nearest.as_deref(), Some(&known)))
}

/// A question about the theory, or how it was put, is refused.
pub enum Refusal {
    Theory(quell_theory::TheoryError),
    Python(PyErr),
}

/// The answer to a question about the theory.
pub type Answer<T> = Result<T, Refusal>;

impl From<quell_theory::TheoryError> for Refusal {
    fn from(error: quell_theory::TheoryError) -> Self {
        Refusal::Theory(error)
    }
}

impl From<PyErr> for Refusal {
    fn from(error: PyErr) -> Self {
        Refusal::Python(error)
    }
}

impl From<Refusal> for PyErr {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Theory(error) => Python::attach(|py| theory(py, &error)),
            Refusal::Python(error) => error,
        }
    }
}

/// A wrong argument.
pub fn argument(message: impl Into<String>) -> PyErr {
    exceptions::PyValueError::new_err(self::message(&message.into()))
}
