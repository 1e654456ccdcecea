//! Parameters that document, validate and describe themselves.

use alloc::format;
use alloc::string::{String, ToString};

use quell_units::{BitRate, Bytes, Duration, Prob, QueueSize};

use crate::Link;

/// A parameter that cannot be built: which, what it was, and the rule it breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError {
    /// The field's name, as in a scenario file.
    pub field: &'static str,
    /// Its value, with its unit.
    pub value: String,
    /// The rule, with its source where it has one, and what would satisfy it.
    pub rule: String,
}

impl ParamError {
    /// An error about `field`, whose value is `value`.
    pub fn new(field: &'static str, value: impl ToString, rule: impl Into<String>) -> Self {
        let mut value = value.to_string();
        // Written out, 1e300 has 301 digits.
        if let (true, Ok(x)) = (value.len() > 20, value.parse::<f64>()) {
            value = format!("{x:e}");
        }
        ParamError { field, value, rule: rule.into() }
    }
}

impl core::fmt::Display for ParamError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} = {}: {}", self.field, self.value, self.rule)
    }
}

impl core::error::Error for ParamError {}

/// Which ECN-capable packets an algorithm marks, in a queue that marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// None: it has no signals, or all of them are drops.
    Nothing,
    /// Those of ECT(0) alone.
    Ect0,
    /// Those of ECT(1) alone.
    Ect1,
    /// Those of either code point, which mean the same to it.
    Alike,
    /// Those of either, and ECT(1) in its own way (RFC 9331 section 5).
    Apart,
    /// Those of either, and packets that are not ECN-capable are dropped in another way.
    Capable,
}

impl Marks {
    /// Whether packets of ECT(1), or of ECT(0), are marked.
    pub fn any(self, ect1: bool) -> bool {
        match self {
            Marks::Nothing => false,
            Marks::Ect0 => !ect1,
            Marks::Ect1 => ect1,
            Marks::Alike | Marks::Apart | Marks::Capable => true,
        }
    }
}

/// What parameters say of marks that have no method `marks` of their own.
pub(crate) trait MarksAlike {
    /// Most algorithms mark whatever is ECN-capable.
    fn marks(&self) -> Marks {
        Marks::Alike
    }
}

/// Refuses `field` unless `ok`; the rule is a sentence such as "must exceed min_th (20 packets)".
pub fn require(
    ok: bool,
    field: &'static str,
    value: impl ToString,
    rule: impl Into<String>,
) -> Result<(), ParamError> {
    if ok { Ok(()) } else { Err(ParamError::new(field, value, rule)) }
}

/// What a user may read about one parameter; made by [`params!`](crate::params!) from its
/// declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamDoc {
    /// The name in scenario files and papers.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub doc: &'static str,
    /// Its unit ("packets or bytes", "1/packet", "s", "1" for a pure number, "name" for a choice).
    pub unit: &'static str,
    /// The default, as it would be written in a scenario file.
    pub default: String,
    /// Where the default comes from.
    pub source: &'static str,
}

/// How a value is written in a scenario file and in a table of defaults.
pub trait ParamValue {
    /// The value as text.
    fn show(&self) -> String;
}

macro_rules! show_as_displayed {
    ($($t:ty),*) => { $(impl ParamValue for $t { fn show(&self) -> String { self.to_string() } })* };
}
show_as_displayed!(bool, i32, u32, u64, Prob, BitRate, Bytes, Duration, QueueSize, AutoSize);

impl ParamValue for f64 {
    fn show(&self) -> String {
        // Gains are easier to read, and to compare with the papers, as 1.822e-5.
        if *self != 0.0 && self.abs() < 1e-3 { format!("{self:e}") } else { self.to_string() }
    }
}

impl<T: ParamValue> ParamValue for Option<T> {
    fn show(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_string(), |x| x.show())
    }
}

/// A queue size, or the rule that computes it from the link; written `"auto"` in scenario files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AutoSize {
    /// By the rule that the parameter's documentation states.
    Auto,
    /// This size.
    Size(QueueSize),
}

impl AutoSize {
    /// The size, or what `rule` says.
    pub fn or_else(self, rule: impl FnOnce() -> QueueSize) -> QueueSize {
        match self {
            AutoSize::Auto => rule(),
            AutoSize::Size(s) => s,
        }
    }

    /// A queue to hold: the size; or the published one, or half of a buffer that cannot hold that.
    pub fn or_target(self, published: QueueSize, link: &Link) -> QueueSize {
        self.or_else(|| {
            let buffer = link.buffer.in_packets(link.mean_packet);
            if published.in_packets(link.mean_packet) < buffer {
                published
            } else {
                QueueSize::Packets(buffer / 2.0)
            }
        })
    }
}

impl core::fmt::Display for AutoSize {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            AutoSize::Auto => f.write_str("auto"),
            AutoSize::Size(s) => s.fmt(f),
        }
    }
}

impl serde::Serialize for AutoSize {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for AutoSize {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let s = <alloc::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(d)?;
        match s.as_ref() {
            "auto" => Ok(AutoSize::Auto),
            size => size.parse().map(AutoSize::Size).map_err(serde::de::Error::custom),
        }
    }
}

/// The keys of a table of parameters, and which of them were read. One type reads those of all tables, and one the
/// names of all choices: what serde derives for each takes the compiler many times as long.
#[doc(hidden)]
pub struct Keys {
    names: &'static [&'static str],
    read: u128,
}

impl Keys {
    /// The keys with these names, at most 128, none of them read.
    pub fn of(names: &'static [&'static str]) -> Keys {
        Keys { names, read: 0 }
    }
}

impl<'de> serde::de::DeserializeSeed<'de> for &mut Keys {
    type Value = usize;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl serde::de::Visitor<'_> for &mut Keys {
    type Value = usize;

    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<usize, E> {
        let at = self.names.iter().position(|name| *name == key);
        let at = at.ok_or_else(|| E::unknown_field(key, self.names))?;
        if self.read >> at & 1 == 1 {
            return Err(E::duplicate_field(self.names[at]));
        }
        self.read |= 1 << at;
        Ok(at)
    }
}

/// A choice between alternatives, which is read as the number of one.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Choice {
    pub name: &'static str,
    pub texts: &'static [&'static str],
}

impl<'de> serde::de::DeserializeSeed<'de> for Choice {
    type Value = usize;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<'de> serde::de::Visitor<'de> for Choice {
    type Value = usize;

    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "enum {}", self.name)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<usize, E> {
        let at = self.texts.iter().position(|t| *t == text);
        at.ok_or_else(|| E::unknown_variant(text, self.texts))
    }

    fn visit_enum<A: serde::de::EnumAccess<'de>>(self, access: A) -> Result<usize, A::Error> {
        let (at, variant) = access.variant_seed(self)?;
        serde::de::VariantAccess::unit_variant(variant).map(|()| at)
    }
}

/// Declares a parameter struct: each field with its documentation, unit, default and the source of
/// the default, from which the struct, `Default`, serde and [`ParamDoc`]s are made.
#[macro_export]
macro_rules! params {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[doc = $doc:literal])+ $field:ident : $ty:ty = $default:expr, unit $unit:literal, source $source:literal; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $ty, )*
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                const NAMES: &[&str] = &[$( stringify!($field) ),*];
                #[allow(non_camel_case_types, dead_code)]
                enum Field { $( $field, )* }
                struct Read;
                impl<'de> serde::de::Visitor<'de> for Read {
                    type Value = $name;

                    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                        f.write_str(concat!("struct ", stringify!($name)))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        #[allow(unused_mut)]
                        let mut read = $name::default();
                        let mut keys = $crate::params::Keys::of(NAMES);
                        #[allow(unused_variables, clippy::never_loop)]
                        while let Some(key) = map.next_key_seed(&mut keys)? {
                            $( if key == Field::$field as usize {
                                read.$field = map.next_value()?;
                            } )*
                        }
                        Ok(read)
                    }
                }
                deserializer.deserialize_struct(stringify!($name), NAMES, Read)
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $( $field: $default, )* }
            }
        }

        impl $name {
            /// What a user may read about each parameter.
            pub fn docs() -> alloc::vec::Vec<$crate::params::ParamDoc> {
                #[allow(unused_variables)]
                let default = $name::default();
                alloc::vec![$( $crate::params::ParamDoc {
                    name: stringify!($field),
                    doc: concat!($($doc),+).trim_ascii_start(),
                    unit: $unit,
                    default: $crate::params::ParamValue::show(&default.$field),
                    source: $source,
                }, )*]
            }
        }
    };
}

/// `x` is a finite number of at least `min` and at most `max`, or the error that says so.
pub fn in_range(field: &'static str, x: f64, min: f64, max: f64, source: &str) -> Result<(), ParamError> {
    require((min..=max).contains(&x), field, x, format!("must lie in [{min}, {max}] [{source}]"))
}

/// `x` is finite and positive, or the error that says so.
pub fn positive(field: &'static str, x: f64, source: &str) -> Result<(), ParamError> {
    require(x > 0.0 && x.is_finite(), field, x, format!("must be positive [{source}]"))
}

/// `d` is longer than nothing, or the error that says so.
pub fn positive_duration(field: &'static str, d: Duration, source: &str) -> Result<(), ParamError> {
    require(!d.is_zero(), field, d, format!("must be longer than 0 s [{source}]"))
}

/// `delay` is shorter than the link's buffer takes to drain, or the error that says so: a controller whose
/// target lies beyond the buffer never acts.
pub fn reachable_delay(field: &'static str, delay: Duration, link: &Link) -> Result<(), ParamError> {
    let full = link.buffer.in_bytes(link.mean_packet) / link.rate.bytes_per_sec();
    require(
        delay.as_secs_f64() < full,
        field,
        delay,
        format!(
            "must be shorter than a full buffer ({}) takes to drain: {}",
            link.buffer,
            quell_units::text::duration(full)
        ),
    )
}

/// `q` in packets if it is positive and the link's buffer can hold it, or the error that says so: a
/// controller whose target lies beyond the buffer never acts.
pub fn reachable(field: &'static str, q: QueueSize, link: &Link) -> Result<f64, ParamError> {
    let packets = q.in_packets(link.mean_packet);
    let buffer = link.buffer.in_packets(link.mean_packet);
    require(
        packets > 0.0 && packets < buffer,
        field,
        q,
        format!("must be positive and smaller than the buffer ({})", link.buffer),
    )?;
    Ok(packets)
}
