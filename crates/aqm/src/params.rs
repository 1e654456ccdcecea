//! Parameters that document, validate and describe themselves.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::marker::PhantomData;

use quell_units::{BitRate, Bytes, Duration, Prob, QueueSize};
use serde::de::{DeserializeSeed, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::Link;
pub use crate::error::{ParamError, require};

/// ECN-capable packets that an algorithm marks, in a queue that marks.
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
    /// Tells whether packets of ECT(1), or of ECT(0), are marked.
    pub fn any(self, ect1: bool) -> bool {
        match self {
            Marks::Nothing => false,
            Marks::Ect0 => !ect1,
            Marks::Ect1 => ect1,
            Marks::Alike | Marks::Apart | Marks::Capable => true,
        }
    }
}

/// The answer about marks for parameters without a method `marks` of their own.
pub(crate) trait MarksAlike {
    /// Most algorithms mark whatever is ECN-capable.
    fn marks(&self) -> Marks {
        Marks::Alike
    }
}

/// The answer about parameters of marks for parameters without a method `of_marks` of their own.
pub(crate) trait NothingOfMarks {
    /// Most parameters have an effect where nothing is marked, too.
    fn of_marks(&self) -> &'static [&'static str] {
        &[]
    }
}

/// The kind of a [`Remark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The buffer does not hold what the parameter waits for.
    Buffer,
    /// The probability is a step.
    Step,
    /// Another parameter makes this one void.
    Void,
}

/// A remark on a parameter that works and may surprise: an experiment may be meant so, a router hardly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The field's name, as in a scenario file.
    pub field: &'static str,
    /// Its value, with its unit.
    pub value: String,
    /// What follows from it.
    pub says: String,
    /// Its kind.
    pub about: About,
}

impl Remark {
    fn new(field: &'static str, value: impl ToString, says: String, about: About) -> Self {
        Remark { field, value: value.to_string(), says, about }
    }

    /// The remark on a delay that a full buffer never reaches.
    pub fn on_delay(field: &'static str, delay: Duration, link: &Link) -> Option<Remark> {
        let full = link.buffer.in_bytes(link.mean_packet) / link.rate.bytes_per_sec();
        (delay.as_secs_f64() >= full).then(|| {
            let full = quell_units::text::duration(full);
            let says = format!(
                "a full buffer ({}) takes {full} to drain at {}: no packet waits longer than this, so a full buffer \
                 drops packets, and the algorithm hardly any",
                link.buffer, link.rate
            );
            Remark::new(field, delay, says, About::Buffer)
        })
    }

    /// The remark on a queue that the buffer does not hold.
    pub fn on_queue(field: &'static str, q: QueueSize, link: &Link) -> Option<Remark> {
        let beyond = q.in_packets(link.mean_packet) >= link.buffer.in_packets(link.mean_packet);
        beyond.then(|| {
            let says = format!(
                "no longer queue fits into the buffer ({}), so a full buffer drops packets, and the algorithm hardly any",
                link.buffer
            );
            Remark::new(field, q, says, About::Buffer)
        })
    }

    /// The remark on a number of packets that the buffer does not hold, and without which nothing is signaled.
    pub(crate) fn on_backlog(min_backlog: u32, link: &Link) -> Option<Remark> {
        (f64::from(min_backlog) > link.buffer.in_packets(link.mean_packet)).then(|| {
            let says =
                format!("so many packets never wait in the buffer ({}), so nothing is signaled", link.buffer);
            Remark::new("min_backlog", min_backlog, says, About::Buffer)
        })
    }

    /// The remark on a limit of the delay that the target is not below.
    pub(crate) fn on_limit(limit: Duration, target: Duration) -> Remark {
        let says = format!(
            "not longer than target ({target}), so the limit drops packets, and the algorithm hardly any"
        );
        Remark::new("limit", limit, says, About::Buffer)
    }

    /// The remark on a threshold that is not below the other one.
    pub(crate) fn on_step(max_th: QueueSize, gentle: bool, max_p: f64) -> Remark {
        let to = if gentle { max_p } else { 1.0 };
        let says = format!("a step: min_th is the same, and the probability goes from 0 to {to} there");
        Remark::new("max_th", max_th, says, About::Step)
    }

    /// The remark on a parameter that another one makes void: `by` is that one as it is written, `why` says the reason and
    /// what to do.
    pub(crate) fn on_void(field: &'static str, value: impl ParamValue, by: &str, why: &str) -> Remark {
        Remark::new(field, value.show(), format!("has no effect with {by}: {why}"), About::Void)
    }

    /// [`Remark::on_void`] on parameters that are not what their defaults are.
    pub(crate) fn on_all_void<P: Changed>(params: &P, fields: &[&str], by: &str, why: &str) -> Vec<Remark> {
        let changed = params.changed().into_iter().filter(|(field, _)| fields.contains(field));
        let remark = |(field, value)| {
            Remark::new(field, value, format!("has no effect with {by}: {why}"), About::Void)
        };
        changed.map(remark).collect()
    }
}

impl core::fmt::Display for Remark {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let colon = if self.about == About::Void { "" } else { ":" };
        write!(f, "{} = {}{colon} {}", self.field, self.value, self.says)
    }
}

/// The answer about remarks for parameters without a method `remarks` of their own.
pub(crate) trait NothingRemarkable {
    /// Most parameters have none.
    fn remarks(&self, _: &Link) -> Vec<Remark> {
        Vec::new()
    }
}

/// Documentation of one parameter, which [`params!`](crate::params!) makes from its declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamDoc {
    /// The name in scenario files and papers.
    pub name: &'static str,
    /// Its effect, in a sentence.
    pub doc: &'static str,
    /// Its unit ("packets or bytes", "1/packet", "s", "1" for a pure number, "name" for a choice).
    pub unit: &'static str,
    /// The default, as it would be written in a scenario file.
    pub default: String,
    /// Source of the default.
    pub source: &'static str,
    /// The names of a choice as scenario files have them; empty of what is none.
    pub choices: &'static [&'static str],
}

/// A value as scenario files and tables of defaults show it.
pub trait ParamValue {
    /// The value as text.
    fn show(&self) -> String;

    /// The values that there are, if they are names.
    fn choices() -> &'static [&'static str]
    where
        Self: Sized,
    {
        &[]
    }
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

    fn choices() -> &'static [&'static str] {
        T::choices()
    }
}

/// A queue size, or the rule that computes it from the link; written `"auto"` in scenario files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AutoSize {
    /// The rule that the parameter's documentation states.
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

    /// The size in packets, or `auto`.
    pub fn in_packets(self, link: &Link, auto: f64) -> f64 {
        match self {
            AutoSize::Auto => auto,
            AutoSize::Size(size) => size.in_packets(link.mean_packet),
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

        impl Default for $name {
            fn default() -> Self {
                $name { $( $field: $default, )* }
            }
        }

        impl $crate::params::ReadFields for $name {
            const NAME: &'static str = stringify!($name);
            const FIELDS: &'static [&'static str] = &[$( stringify!($field) ),*];

            #[allow(unused_assignments, unused_mut, unused_variables)]
            fn read<'de, A: serde::de::MapAccess<'de>>(&mut self, field: usize, map: &mut A) -> Result<(), A::Error> {
                let mut number = 0;
                $(
                    if field == number {
                        return $crate::params::read_value(&mut self.$field, map);
                    }
                    number += 1;
                )*
                Ok(())
            }
        }

        impl $crate::params::Changed for $name {
            fn changed(&self) -> alloc::vec::Vec<(&'static str, alloc::string::String)> {
                #[allow(unused_variables)]
                let default = $name::default();
                #[allow(unused_mut)]
                let mut all = alloc::vec::Vec::new();
                $(
                    if self.$field != default.$field {
                        all.push((stringify!($field), $crate::params::ParamValue::show(&self.$field)));
                    }
                )*
                all
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                $crate::params::deserialize(d)
            }
        }

        impl $name {
            /// Documentation of each parameter.
            pub fn docs() -> alloc::vec::Vec<$crate::params::ParamDoc> {
                #[allow(unused_variables)]
                let default = $name::default();
                alloc::vec![$( $crate::params::ParamDoc {
                    name: stringify!($field),
                    doc: concat!($($doc),+).trim_ascii_start(),
                    unit: $unit,
                    default: $crate::params::ParamValue::show(&default.$field),
                    source: $source,
                    choices: <$ty as $crate::params::ParamValue>::choices(),
                }, )*]
            }
        }
    };
}

/// Parameters that tell which of them are not what their defaults are.
pub trait Changed {
    /// These, with their values as scenario files show them.
    fn changed(&self) -> Vec<(&'static str, String)>;
}

/// Parameters that are read field by field; those that are not given have their defaults, and unknown ones are refused.
///
/// What serde derives for this is several times as much code, for each struct and each format.
pub trait ReadFields: Default {
    /// The name of the type.
    const NAME: &'static str;
    /// The names of the fields.
    const FIELDS: &'static [&'static str];
    /// Reads the value of a field, by its number.
    ///
    /// # Errors
    /// If the value is none of the field's type.
    fn read<'de, A: MapAccess<'de>>(&mut self, field: usize, map: &mut A) -> Result<(), A::Error>;
}

/// Reads the value of a field.
///
/// # Errors
/// If it is none of the field's type.
#[inline(never)]
pub fn read_value<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    to: &mut T,
    map: &mut A,
) -> Result<(), A::Error> {
    map.next_value().map(|value| *to = value)
}

/// Reads parameters.
///
/// # Errors
/// Names the field that is unknown, given twice or of another type.
pub fn deserialize<'de, T: ReadFields, D: Deserializer<'de>>(d: D) -> Result<T, D::Error> {
    struct Fields<T>(PhantomData<T>);

    impl<'de, T: ReadFields> Visitor<'de> for Fields<T> {
        type Value = T;

        fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            write!(f, "struct {}", T::NAME)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
            let (mut params, mut given) = (T::default(), 0u64);
            while let Some(field) = map.next_key_seed(FieldNumber(T::FIELDS))? {
                if given & (1 << field) != 0 {
                    return Err(A::Error::duplicate_field(T::FIELDS[field]));
                }
                given |= 1 << field;
                params.read(field, &mut map)?;
            }
            Ok(params)
        }
    }
    const { assert!(T::FIELDS.len() <= 64) };
    d.deserialize_struct(T::NAME, T::FIELDS, Fields(PhantomData))
}

/// Reads the name of a field as its number.
struct FieldNumber(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for FieldNumber {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<usize, D::Error> {
        d.deserialize_identifier(self)
    }
}

impl Visitor<'_> for FieldNumber {
    type Value = usize;

    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("field identifier")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<usize, E> {
        self.0.iter().position(|field| *field == name).ok_or_else(|| E::unknown_field(name, self.0))
    }
}

/// A choice between alternatives, which is read as the number of one: by one type for all choices, as fields are.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Choice {
    /// The name of the type.
    pub name: &'static str,
    /// The alternatives as scenario files have them.
    pub texts: &'static [&'static str],
}

impl<'de> DeserializeSeed<'de> for Choice {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<'de> Visitor<'de> for Choice {
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

/// `x` is a finite number of at least `min` and at most `max`, or the error that says so.
pub fn in_range(field: &'static str, x: f64, min: f64, max: f64, source: &str) -> Result<(), ParamError> {
    require((min..=max).contains(&x), field, x, format!("must lie in [{min}, {max}] [{source}]"))
}

/// `x` is positive and at most `max`, or the error that says so.
pub fn positive_to(field: &'static str, x: f64, max: f64, source: &str) -> Result<(), ParamError> {
    require(x > 0.0 && x <= max, field, x, format!("must lie in (0, {max}] [{source}]"))
}

/// `x` is finite and positive, or the error that says so.
pub fn positive(field: &'static str, x: f64, source: &str) -> Result<(), ParamError> {
    require(x > 0.0 && x.is_finite(), field, x, format!("must be positive [{source}]"))
}

/// `d` is longer than nothing, or the error that says so.
pub fn positive_duration(field: &'static str, d: Duration, source: &str) -> Result<(), ParamError> {
    require(!d.is_zero(), field, d, format!("must be longer than 0 s [{source}]"))
}

/// `q` in packets if it is positive, or the error that says so.
pub fn positive_queue(field: &'static str, q: QueueSize, link: &Link) -> Result<f64, ParamError> {
    let packets = q.in_packets(link.mean_packet);
    require(packets > 0.0 && packets.is_finite(), field, q, "must be positive")?;
    Ok(packets)
}
