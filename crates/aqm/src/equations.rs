//! Known answers of equations: each `[[equation]]` of `tests/vectors` names a pure function, its inputs
//! and its results.
//!
//! [`equations!`](crate) at the end of a file says which of the file's functions vectors may call: the
//! name, the inputs (numbers unless a type is given), the results, and the call.

/// ```ignore
/// equations! {
///     automatic_min_th(target_delay: Duration, capacity) -> min_th = automatic_min_th(target_delay, capacity);
///     Curve::thresholds(min_th, max_th) -> low, high = Curve { min_th, max_th }.thresholds();
/// }
/// ```
macro_rules! equations {
    ($( $($name:ident)::+ ( $($input:ident $(: $ty:ty)?),* ) -> $($output:ident),+ = $call:expr; )+) => {
        #[cfg(test)]
        #[allow(unused_parens)]
        pub(crate) const EQUATIONS: &[$crate::equations::Equation] = &[$( $crate::equations::Equation {
            name: concat!($( "::", stringify!($name) ),+),
            evaluate: |mut inputs| {
                $( let $input: equations!(@type $($ty)?) = inputs.take(stringify!($input))?; )*
                inputs.end()?;
                let ($($output),+) = $call;
                #[allow(clippy::useless_conversion)]
                Ok(alloc::vec![$( (stringify!($output), f64::from($output)) ),+])
            },
        } ),+];
    };
    (@type) => { f64 };
    (@type $ty:ty) => { $ty };
}

/// A pure function that vectors may call.
#[cfg(test)]
pub(crate) struct Equation {
    /// Its path below its file's module, with the colons before it.
    pub(crate) name: &'static str,
    /// Reads the inputs, and gives the results with their names.
    pub(crate) evaluate: fn(Inputs) -> Answer,
}

/// The results of a function with their names, or what is wrong with its inputs.
#[cfg(test)]
pub(crate) type Answer = Result<alloc::vec::Vec<(&'static str, f64)>, alloc::string::String>;

/// The inputs of a function. A derived struct for each of the functions would take a minute to compile.
#[cfg(test)]
#[derive(serde::Deserialize)]
pub(crate) struct Inputs(toml::Table);

#[cfg(test)]
impl Inputs {
    /// The input called `name`.
    pub(crate) fn take<T: serde::de::DeserializeOwned>(
        &mut self,
        name: &str,
    ) -> Result<T, alloc::string::String> {
        use serde::de::IntoDeserializer;
        match self.0.remove(name) {
            Some(value) => value.try_into().map_err(|e| alloc::format!("input.{name}: {e}")),
            // What may be missing is none then.
            None => T::deserialize(().into_deserializer())
                .map_err(|_: toml::de::Error| alloc::format!("input.{name} is missing")),
        }
    }

    /// All are taken.
    pub(crate) fn end(self) -> Result<(), alloc::string::String> {
        self.0.keys().next().map_or(Ok(()), |name| Err(alloc::format!("input.{name} is no input of it")))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use alloc::collections::{BTreeMap, BTreeSet};
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use serde::Deserialize;

    use super::Inputs;
    use crate::catalog;
    use crate::part;

    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        equation: Vec<Vector>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Vector {
        function: String,
        source: String,
        computed: String,
        input: Inputs,
        expect: BTreeMap<String, f64>,
        /// Relative.
        #[serde(default = "tight")]
        tolerance: f64,
    }

    fn tight() -> f64 {
        1e-9
    }

    #[test]
    fn equations_give_their_known_answers_and_each_has_one() {
        let functions: BTreeMap<String, _> = catalog::equations()
            .into_iter()
            .chain(part::EQUATIONS.iter().copied())
            .flat_map(|(module, all)| all.iter().map(move |e| (format!("{module}{}", e.name), e.evaluate)))
            .collect();
        let mut answered = BTreeSet::new();
        for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors")).unwrap() {
            let path = file.unwrap().path();
            let file: File = toml::from_str(&std::fs::read_to_string(&path).unwrap())
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            for (i, v) in file.equation.into_iter().enumerate() {
                let place = format!("{}, equation {i} ({}, {})", path.display(), v.function, v.source);
                assert!(!v.computed.is_empty(), "{place}: say how the answer was computed");
                let evaluate = functions.get(&v.function).unwrap_or_else(|| {
                    panic!(
                        "{place}: no function is called so: name it in `equations!` at the end of its file"
                    )
                });
                let got = evaluate(v.input).unwrap_or_else(|e| panic!("{place}: {e}"));
                let names: BTreeSet<_> = got.iter().map(|(name, _)| *name).collect();
                assert!(names.iter().copied().eq(v.expect.keys().map(String::as_str)), "{place}: {names:?}");
                for (name, got) in got {
                    let want = v.expect[name];
                    let close = (got - want).abs() <= 1e-15 + v.tolerance * want.abs();
                    assert!(close, "{place}: {name} is {got}, not {want}");
                }
                answered.insert(v.function);
            }
        }
        let unanswered: Vec<_> = functions.keys().filter(|f| !answered.contains(*f)).collect();
        assert!(unanswered.is_empty(), "no known answer: {unanswered:?}");
    }
}
