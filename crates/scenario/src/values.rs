//! Values of a scenario that are more than a number: quantities, distributions, spreads over flows.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use quell_sim::network;
use quell_units::{BitRate, Bytes, Duration, Framing, Layer, LinkLayer, QueueSize};
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

/// The law by which a wire loses packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Loss {
    /// Independent losses, with this probability.
    Random(f64),
    /// Losses in bursts.
    Bursts(Bursts),
}

/// Losses in bursts: a chain with a good and a bad state, or the mean and the length of bursts in which all packets are
/// lost (the simple Gilbert model).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    /// The parameters of the chain (Gilbert 1960, Elliott 1963); netem's gemodel has the same.
    pub gilbert_elliott: Option<GilbertElliott>,
    /// The share of packets that are lost, instead of a chain.
    pub mean: Option<f64>,
    /// The mean number of packets lost in a row, at least 1; beside `mean`.
    pub burst: Option<f64>,
}

/// A chain of two states, whose step is drawn after each packet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// The probability of a step from the good to the bad state.
    pub p: f64,
    /// The probability of a step from the bad to the good state.
    pub r: f64,
    /// The probability of a loss in the good state, 1 - k; default 0.
    #[serde(default)]
    pub good_loss: f64,
    /// The probability of a loss in the bad state, 1 - h; default 1.
    #[serde(default = "certain")]
    pub bad_loss: f64,
}

fn certain() -> f64 {
    1.0
}

impl Default for Loss {
    fn default() -> Self {
        Loss::Random(0.0)
    }
}

/// The forms of losses, for the schema.
#[cfg(test)]
#[derive(JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
enum LossForm {
    /// Independent losses, with this probability.
    Random(f64),
    /// Losses by a chain with a good and a bad state (Gilbert 1960, Elliott 1963); netem's gemodel has the same.
    Chain {
        /// The parameters of the chain.
        gilbert_elliott: GilbertElliott,
    },
    /// Bursts in which all packets are lost (the simple Gilbert model), by their mean and length.
    Bursts {
        /// The share of packets that are lost.
        mean: f64,
        /// The mean number of packets lost in a row, at least 1.
        burst: f64,
    },
}

#[cfg(test)]
impl JsonSchema for Loss {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Loss".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = LossForm::json_schema(generator);
        schema.insert("description".into(), "The law by which a wire loses packets.".into());
        schema
    }
}

impl<'de> Deserialize<'de> for Loss {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Loss;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a table")
            }

            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Loss, E> {
                Ok(Loss::Random(n as f64))
            }

            fn visit_u64<E: de::Error>(self, n: u64) -> Result<Loss, E> {
                Ok(Loss::Random(n as f64))
            }

            fn visit_f64<E: de::Error>(self, x: f64) -> Result<Loss, E> {
                Ok(Loss::Random(x))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Loss, A::Error> {
                let bursts = Bursts::deserialize(de::value::MapAccessDeserializer::new(map))?;
                let Bursts { gilbert_elliott, mean, burst } = bursts;
                match (gilbert_elliott.is_some(), mean.is_some(), burst.is_some()) {
                    (true, false, false) | (false, true, true) => Ok(Loss::Bursts(bursts)),
                    _ => Err(de::Error::custom(
                        "must have either gilbert_elliott, or mean and burst: write { gilbert_elliott = { p = 0.01, \
                         r = 0.2 } } or { mean = 0.01, burst = 5 }",
                    )),
                }
            }
        }
        deserializer.deserialize_any(Read)
    }
}

impl Loss {
    /// The chain that loses packets so; none for independent losses.
    pub fn chain(&self) -> Option<network::GilbertElliott> {
        let Loss::Bursts(Bursts { gilbert_elliott, mean, burst }) = *self else { return None };
        if let Some(GilbertElliott { p, r, good_loss, bad_loss }) = gilbert_elliott {
            return Some(network::GilbertElliott { p, r, good_loss, bad_loss });
        }
        // The bad state lasts for 1/r packets, and p/(p + r) of all packets meet it.
        let (mean, r) = (mean?, 1.0 / burst?);
        let p = (mean * r / (1.0 - mean)).min(1.0);
        Some(network::GilbertElliott { p, r, good_loss: 0.0, bad_loss: 1.0 })
    }

    /// The share of packets that are lost.
    pub fn mean(&self) -> f64 {
        match self {
            Loss::Random(p) => *p,
            Loss::Bursts(Bursts { mean: Some(mean), .. }) => *mean,
            Loss::Bursts(_) => self.chain().map_or(0.0, |chain| chain.mean()),
        }
    }
}

/// The variation of a link's delay from packet to packet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// The unit of the distribution, netem's JITTER: half the width of the uniform one, the standard deviation of the
    /// normal one. At most the delay.
    #[cfg_attr(test, schemars(with = "Text<Duration>"))]
    pub size: Duration,
    /// The distribution around the delay, by netem's name; default "uniform".
    #[serde(default)]
    pub distribution: JitterKind,
    /// The weight of the last packet's deviation in the next one, from 0 (the default) to below 1. netem's manual
    /// describes it so, but Linux loses the correlation (docs/links.md): leave it out to repeat a run with netem.
    #[serde(default)]
    pub correlation: f64,
    /// True if packets overtake each other, as netem's do unless netem has a rate too; default false: none arrives
    /// before the one sent before it.
    #[serde(default)]
    pub reorder: bool,
}

/// Mirrors [`network::Deviation`] for files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum JitterKind {
    /// Uniform, up to `size` earlier or later.
    #[default]
    Uniform,
    /// Normal with the standard deviation `size`, cut off at four of it.
    Normal,
    /// Pareto of shape 3 with a mean close to 0, cut off at four times `size`.
    Pareto,
    /// A quarter of the normal one and three quarters of the Pareto one.
    ParetoNormal,
}

impl From<Jitter> for network::Jitter {
    fn from(Jitter { size, distribution, correlation, reorder }: Jitter) -> Self {
        let distribution = match distribution {
            JitterKind::Uniform => network::Deviation::Uniform,
            JitterKind::Normal => network::Deviation::Normal,
            JitterKind::Pareto => network::Deviation::Pareto,
            JitterKind::ParetoNormal => network::Deviation::ParetoNormal,
        };
        network::Jitter { size, distribution, correlation, reorder }
    }
}

/// Handovers of a link: at regular times, its path becomes another, as those of satellites in low orbit do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Handovers {
    /// The time from one handover to the next.
    #[cfg_attr(test, schemars(with = "Text<Duration>"))]
    pub every: Duration,
    /// The time of the first one; default `every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Duration>>"))]
    pub first: Option<Duration>,
    /// The delay that the path has in addition to the link's, such as { uniform = ["0 ms", "15 ms"] }: drawn for the
    /// start and at each handover. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// The time after each handover during which nothing gets through; { uniform = ["20 ms", "80 ms"] } is drawn each
    /// time. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage: Option<Delay>,
    /// True if packets that are sent during an outage are lost; default false: they wait in the queue.
    #[serde(default)]
    pub lost: bool,
}

/// A token bucket between a link's queue and its transmitter, with the parameters of tc-tbf(8).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shaper {
    /// The rate at which packets leave the queue in the long run.
    #[cfg_attr(test, schemars(with = "Text<BitRate>"))]
    pub rate: BitRate,
    /// The most that leaves at once: at the link's rate, or at `peak_rate`. At least the largest packet.
    #[cfg_attr(test, schemars(with = "Text<Bytes>"))]
    pub burst: Bytes,
    /// The rate at which a burst leaves; default that of the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<BitRate>>"))]
    pub peak_rate: Option<BitRate>,
    /// The most that leaves at once at `peak_rate`; default the largest packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Bytes>>"))]
    pub mtu: Option<Bytes>,
    /// The most that may wait in all; packets beyond it are dropped without asking the algorithm. Default: only the
    /// buffer limits what waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<QueueSize>>"))]
    pub limit: Option<QueueSize>,
    /// Bytes that the link adds to an IP packet, which `rate` counts too: tc-stab(8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Bytes>>"))]
    pub overhead: Option<Bytes>,
    /// The fewest bytes that a packet with its overhead takes on the wire; default 0 B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<Text<Bytes>>"))]
    pub mpu: Option<Bytes>,
    /// The framing of what that makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framing: Option<FramingKind>,
    /// The layer at which sizes of packets are given. Default: IP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<LayerKind>,
}

impl Shaper {
    /// The rate, and what a packet takes of it.
    pub fn link_layer(&self) -> LinkLayer {
        LinkLayer {
            rate: self.rate,
            layer: match self.layer {
                None | Some(LayerKind::Ip) => Layer::Ip,
                Some(LayerKind::Ethernet) => Layer::Ethernet,
            },
            overhead: self.overhead.unwrap_or_default(),
            smallest: self.mpu.unwrap_or_default(),
            framing: match self.framing {
                None | Some(FramingKind::None) => Framing::None,
                Some(FramingKind::Atm) => Framing::Atm,
                Some(FramingKind::Ptm) => Framing::Ptm,
            },
        }
    }
}

/// Framing that a link adds to packets beside the overhead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FramingKind {
    /// None.
    None,
    /// Cells of ATM: 48 bytes are sent as 53, the last ones of a packet too.
    Atm,
    /// Code words of PTM: 64 bytes are sent as 65.
    Ptm,
}

/// The layer at which sizes of packets are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LayerKind {
    /// IP packets.
    Ip,
    /// Ethernet frames with their header of 14 bytes, which the overhead takes the place of.
    Ethernet,
}

/// The rule by which a cell gives each transmission interval to one user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CellScheduler {
    /// The user whose rate is the largest multiple of what it has been getting (Viswanath et al. 2002).
    #[default]
    ProportionalFair,
    /// Each user in its turn.
    RoundRobin,
    /// The user with the highest rate.
    MaxRate,
}

/// One value, or a list of alternatives. It is written out as a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Any<T>(pub Vec<T>);

#[cfg(test)]
impl<T: JsonSchema> JsonSchema for Any<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Any{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one = generator.subschema_for::<T>();
        schemars::json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Any<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Read<T> {
            type Value = Any<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value, or a list of values")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Any<T>, E> {
                T::deserialize(text.into_deserializer()).map(|one| Any(vec![one]))
            }

            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Any<T>, E> {
                T::deserialize(n.into_deserializer()).map(|one| Any(vec![one]))
            }

            fn visit_u64<E: de::Error>(self, n: u64) -> Result<Any<T>, E> {
                T::deserialize(n.into_deserializer()).map(|one| Any(vec![one]))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Any<T>, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(Any)
            }
        }
        deserializer.deserialize_any(Read(PhantomData))
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
