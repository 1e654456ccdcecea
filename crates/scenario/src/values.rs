//! Values of a scenario that are more than a number: quantities, distributions, spreads over flows.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use quell_units::{BitRate, Duration};
#[cfg(test)]
use schemars::JsonSchema;
use serde::de::{self, IntoDeserializer, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

#[cfg(test)]
use crate::described::{Described, Text};
use crate::tree::known;

/// A quantity that scenarios write as a string with its unit, or a number where it has none.
pub trait Quantity: Copy + FromStr<Err: fmt::Display> + fmt::Display {}

impl<Q: Copy + FromStr<Err: fmt::Display> + fmt::Display> Quantity for Q {}

/// How many of something, on average if it is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count(pub f64);

impl FromStr for Count {
    type Err = &'static str;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        s.parse().map(Count).map_err(|_| "must be a number, or a table")
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Count {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 as i64 {
            whole if whole as f64 == self.0 => serializer.serialize_i64(whole),
            _ => serializer.serialize_f64(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Count)
    }
}

/// A quantity as text with its unit, or as a number in the SI unit.
pub(crate) struct Si<Q>(pub Q);

/// A quantity that a bare number may stand for.
pub(crate) trait InSi: Quantity {
    /// The quantity that is `x` seconds or bit/s, if there is one.
    fn of(x: f64) -> Option<Self>;
}

impl InSi for Duration {
    fn of(x: f64) -> Option<Self> {
        // Nanoseconds that fit.
        (0.0..1.8e10).contains(&x).then(|| Duration::from_secs_f64(x))
    }
}

impl InSi for BitRate {
    fn of(x: f64) -> Option<Self> {
        (0.0..1e19).contains(&x).then(|| BitRate::from_bps(x.round() as u64))
    }
}

impl<'de, Q: InSi> Deserialize<'de> for Si<Q> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read<Q>(PhantomData<Q>);
        impl<'de, Q: InSi> Visitor<'de> for Read<Q> {
            type Value = Si<Q>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity with its unit in a string, or a number")
            }

            fn visit_str<E: de::Error>(self, s: &str) -> Result<Self::Value, E> {
                s.parse().map(Si).map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Self::Value, E> {
                self.visit_f64(n as f64)
            }

            fn visit_u64<E: de::Error>(self, n: u64) -> Result<Self::Value, E> {
                self.visit_f64(n as f64)
            }

            fn visit_f64<E: de::Error>(self, x: f64) -> Result<Self::Value, E> {
                let rule = "must be a number of seconds, or of bit/s, of at least 0";
                Q::of(x).map(Si).ok_or_else(|| E::custom(rule))
            }
        }
        deserializer.deserialize_any(Read(PhantomData))
    }
}

/// One value, or a table that says how the values are spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum OneOr<Q, T> {
    /// The same for all.
    One(Q),
    /// Spread.
    Spread(T),
}

impl<'de, Q, T> Deserialize<'de> for OneOr<Q, T>
where
    Q: Quantity,
    T: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<Q, T>(PhantomData<(Q, T)>);
        impl<'de, Q: Quantity, T: Deserialize<'de>> Visitor<'de> for Either<Q, T> {
            type Value = OneOr<Q, T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity with its unit in a string, or a table")
            }

            fn visit_str<E: de::Error>(self, s: &str) -> Result<Self::Value, E> {
                s.parse().map(OneOr::One).map_err(E::custom)
            }

            // A number without a unit: the quantity says which units it takes.
            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Self::Value, E> {
                self.visit_str(&n.to_string())
            }

            fn visit_f64<E: de::Error>(self, x: f64) -> Result<Self::Value, E> {
                self.visit_str(&x.to_string())
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(OneKey(map)).map(OneOr::Spread)
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

/// Reads an enum from a table with one key; serde's own reader ignores what else stands there.
struct OneKey<A>(A);

impl<'de, A: de::MapAccess<'de>> Deserializer<'de> for OneKey<A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_map(self.0)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let Some(key) = self.0.next_key::<String>()? else {
            return Err(de::Error::custom(known("must have one of", variants)));
        };
        if !variants.contains(&key.as_str()) {
            return Err(de::Error::unknown_field(&key, variants));
        }
        let value = visitor.visit_enum(Variant { key: &key, map: &mut self.0 })?;
        match self.0.next_key::<String>()? {
            None => Ok(value),
            Some(other) if variants.contains(&other.as_str()) => {
                Err(de::Error::custom(format!("has both {key} and {other}: give one of them")))
            }
            Some(other) => Err(de::Error::unknown_field(&other, variants)),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The key that was read, and the value that comes next.
struct Variant<'a, A> {
    key: &'a str,
    map: &'a mut A,
}

impl<'de, A: de::MapAccess<'de>> de::EnumAccess<'de> for Variant<'_, A> {
    type Error = A::Error;
    type Variant = Self;

    fn variant_seed<V: de::DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), A::Error> {
        let name: de::value::StrDeserializer<'_, A::Error> = self.key.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de, A: de::MapAccess<'de>> de::VariantAccess<'de> for Variant<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.map.next_value()
    }

    fn newtype_variant_seed<T: de::DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, A::Error> {
        self.map.next_value_seed(seed)
    }

    // No value of a scenario has variants of these two forms.
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, A::Error> {
        Err(de::Error::custom("cannot be a list"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, A::Error> {
        Err(de::Error::custom("cannot be a table"))
    }
}

/// Text that stands in quotes: a number without them is not taken for a name.
struct Quoted(String);

impl<'de> Deserialize<'de> for Quoted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let other = |found| Err(de::Error::invalid_type(found, &"text in quotes"));
        match toml::Value::deserialize(deserializer)? {
            toml::Value::String(text) => Ok(Quoted(text)),
            toml::Value::Array(_) => other(de::Unexpected::Seq),
            toml::Value::Table(_) => other(de::Unexpected::Map),
            _ => Err(de::Error::custom("must be text in quotes")),
        }
    }
}

/// A name or a title: one line, which tables and terminals can show as it is.
pub(crate) struct Line(pub String);

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Quoted(text) = Deserialize::deserialize(deserializer)?;
        if text.chars().any(char::is_control) {
            return Err(de::Error::custom("must be a single line without control characters"));
        }
        Ok(Line(text))
    }
}

/// Reads a field that is a [`Line`].
pub(crate) fn line<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Line::deserialize(deserializer).map(|line| line.0)
}

/// The longest title: tables and reports show it whole.
const LONGEST_TITLE: usize = 200;

/// Reads a title: a [`Line`] that fits where titles are shown.
pub(crate) fn title<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = line(deserializer)?;
    match text.chars().count() {
        0..=LONGEST_TITLE => Ok(text),
        n => Err(de::Error::custom(format!(
            "has {n} characters: must have at most {LONGEST_TITLE}; put longer text in description"
        ))),
    }
}

/// Reads a field that may be absent: a [`Line`].
pub(crate) fn some_line<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    line(deserializer).map(Some)
}

/// Reads text that may have several lines.
pub(crate) fn lines<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let Quoted(text) = Deserialize::deserialize(deserializer)?;
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(de::Error::custom("must not contain control characters other than line ends and tabs"));
    }
    Ok(text)
}

/// The one-way propagation delay of a link between routers.
pub type Delay = OneOr<Duration, DelaySpread>;

/// How a link's delay differs between replications.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DelaySpread {
    /// Drawn uniformly between two values in each replication.
    Uniform(#[cfg_attr(test, schemars(with = "[Text<Duration>; 2]"))] [Duration; 2]),
}

impl Delay {
    /// Its mean over replications.
    pub fn mean(&self) -> Duration {
        match *self {
            OneOr::One(delay) => delay,
            OneOr::Spread(DelaySpread::Uniform([low, high])) => (low + high) / 2,
        }
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OneOr::One(delay) => delay.fmt(f),
            OneOr::Spread(DelaySpread::Uniform([low, high])) => write!(f, "{low} to {high}"),
        }
    }
}

/// Round-trip propagation times of a group's flows.
pub type Rtt = OneOr<Duration, RttSpread>;

/// How round-trip times are spread over a group's flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RttSpread {
    /// Drawn uniformly between two values for each flow.
    Uniform(#[cfg_attr(test, schemars(with = "[Text<Duration>; 2]"))] [Duration; 2]),
    /// Evenly spaced between two values: flow i of N is in the middle of the i-th of N equal parts.
    Grid(#[cfg_attr(test, schemars(with = "[Text<Duration>; 2]"))] [Duration; 2]),
    /// Flow i has `first + i * step`.
    Linear(Linear),
    /// One value for each flow, in order; repeated if there are more flows.
    List(#[cfg_attr(test, schemars(with = "Vec<Text<Duration>>"))] Vec<Duration>),
}

/// `first + i * step`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Linear {
    /// The value of flow 0.
    #[cfg_attr(test, schemars(with = "Text<Duration>"))]
    pub first: Duration,
    /// The difference from one flow to the next.
    #[cfg_attr(test, schemars(with = "Text<Duration>"))]
    pub step: Duration,
}

/// When the flows of a group start or stop.
pub type When = OneOr<Duration, WhenSpread>;

/// How starts or stops are spread over a group's flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WhenSpread {
    /// Drawn uniformly between two times for each flow.
    Between(#[cfg_attr(test, schemars(with = "[Text<Duration>; 2]"))] [Duration; 2]),
    /// Flow i at `first + i * step`.
    Linear(Linear),
    /// One time for each flow, in order; repeated if there are more flows.
    List(#[cfg_attr(test, schemars(with = "Vec<Text<Duration>>"))] Vec<Duration>),
}

/// A quantity that is drawn each time: always the same, or from a distribution.
pub type Dist<Q> = OneOr<Q, Shape<Q>>;

/// A distribution of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[serde(bound(serialize = "Q: Serialize", deserialize = "Q: Deserialize<'de>"))]
#[cfg_attr(test, schemars(bound = "Q: Described"))]
pub enum Shape<Q> {
    /// Exponential with this mean.
    Exponential(#[cfg_attr(test, schemars(with = "Text<Q>"))] Q),
    /// Uniform between two values.
    Uniform(#[cfg_attr(test, schemars(with = "[Text<Q>; 2]"))] [Q; 2]),
    /// Pareto.
    Pareto(Pareto<Q>),
}

/// A Pareto distribution, given by its smallest value or by its mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
#[serde(bound(serialize = "Q: Serialize", deserialize = "Q: Deserialize<'de>"))]
#[cfg_attr(test, schemars(bound = "Q: Described"))]
pub struct Pareto<Q> {
    /// The tail index; the mean is finite above 1.
    pub shape: f64,
    /// The smallest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Q>>"))]
    pub min: Option<Q>,
    /// The mean, instead of the smallest value: `shape * min / (shape - 1)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Q>>"))]
    pub mean: Option<Q>,
}

/// The seeds to replicate over: a number of them (1, 2, ...) or a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged)]
pub enum Seeds {
    /// The seeds 1 to this number.
    Count(u32),
    /// These seeds.
    List(Vec<u64>),
}

impl Seeds {
    /// The seeds, in order.
    pub fn list(&self) -> Vec<u64> {
        match self {
            Seeds::Count(n) => (1..=u64::from(*n)).collect(),
            Seeds::List(list) => list.clone(),
        }
    }
}

impl<'de> Deserialize<'de> for Seeds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Seeds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of seeds or a list of them")
            }

            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Seeds, E> {
                u32::try_from(n).map(Seeds::Count).map_err(|_| {
                    E::invalid_value(de::Unexpected::Signed(n), &"a number of seeds (at least 1)")
                })
            }

            fn visit_u64<E: de::Error>(self, n: u64) -> Result<Seeds, E> {
                self.visit_i64(i64::try_from(n).unwrap_or(i64::MAX))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Seeds, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(Seeds::List)
            }
        }
        deserializer.deserialize_any(Read)
    }
}

/// How the measured window is divided: into pieces of equal length, or at given times.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged)]
pub enum Segments {
    /// Pieces of this length, starting at the end of the warm-up; the last may be shorter.
    Every(#[cfg_attr(test, schemars(with = "Text<Duration>"))] Duration),
    /// One segment ends and the next begins at each of these times.
    At(#[cfg_attr(test, schemars(with = "Vec<Text<Duration>>"))] Vec<Duration>),
}

impl<'de> Deserialize<'de> for Segments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Segments;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a length of time, or a list of times")
            }

            fn visit_str<E: de::Error>(self, s: &str) -> Result<Segments, E> {
                s.parse().map(Segments::Every).map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Segments, E> {
                self.visit_str(&n.to_string())
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Segments, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(Segments::At)
            }
        }
        deserializer.deserialize_any(Read)
    }
}

/// The rate of an access link, or none at all: the endpoint sits on the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A link of this rate.
    Rate(BitRate),
    /// No link.
    None,
}

impl Serialize for Access {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Access::Rate(rate) => rate.serialize(serializer),
            Access::None => serializer.serialize_str("none"),
        }
    }
}

impl<'de> Deserialize<'de> for Access {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            "none" => Ok(Access::None),
            rate => {
                rate.parse().map(Access::Rate).map_err(|e| de::Error::custom(format!("{e}, or \"none\"")))
            }
        }
    }
}
