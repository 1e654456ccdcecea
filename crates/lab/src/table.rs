//! Results as tables: Arrow columns with their units in their names.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema};

use crate::metrics::{Metric, Values};
use crate::results::{
    DelayRow, FlowRow, InternalSeries, LinkSeries, MetricRow, Replication, Results, RunInfo, TransferRow,
};

/// The tables of a result. Each row names its replication by `point`, `algorithm` and `seed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// One row per replication: digest, events, time taken.
    Replications,
    /// One row per link, segment (null: the whole window) and scope; one column per [`Metric`].
    Metrics,
    /// Queue, delay, drops and marks over time, per link.
    Series,
    /// Throughput over time, per link and class.
    Throughput,
    /// The algorithms' internal signals over time, per link.
    Internals,
    /// One row per flow, over the measured window.
    Flows,
    /// One row per finished transfer.
    Transfers,
    /// Queueing delay distributions, per link and scope.
    Delays,
}

impl Table {
    /// Every table.
    pub const ALL: &[Table] = &[
        Table::Replications,
        Table::Metrics,
        Table::Series,
        Table::Throughput,
        Table::Internals,
        Table::Flows,
        Table::Transfers,
        Table::Delays,
    ];

    /// Its name: that of its file, without ".parquet".
    pub fn name(self) -> &'static str {
        match self {
            Table::Replications => "replications",
            Table::Metrics => "metrics",
            Table::Series => "series",
            Table::Throughput => "throughput",
            Table::Internals => "internals",
            Table::Flows => "flows",
            Table::Transfers => "transfers",
            Table::Delays => "delays",
        }
    }

    /// The table called `name`.
    pub fn find(name: &str) -> Option<Table> {
        Table::ALL.iter().copied().find(|t| t.name() == name)
    }
}

/// Columns while they grow.
#[derive(Default)]
struct Columns(Vec<(&'static str, Column)>);

enum Column {
    U32(Vec<Option<u32>>),
    U64(Vec<u64>),
    F64(Vec<Option<f64>>),
    Text(Vec<String>),
}

/// One cell; what is not finite becomes null.
enum Cell<'a> {
    U32(Option<u32>),
    U64(u64),
    F64(Option<f64>),
    Text(&'a str),
}

impl From<u32> for Cell<'_> {
    fn from(x: u32) -> Self {
        Cell::U32(Some(x))
    }
}
impl From<Option<u32>> for Cell<'_> {
    fn from(x: Option<u32>) -> Self {
        Cell::U32(x)
    }
}
impl From<u64> for Cell<'_> {
    fn from(x: u64) -> Self {
        Cell::U64(x)
    }
}
impl From<f64> for Cell<'_> {
    fn from(x: f64) -> Self {
        Cell::F64(x.is_finite().then_some(x))
    }
}
impl From<Option<f64>> for Cell<'_> {
    fn from(x: Option<f64>) -> Self {
        Cell::F64(x)
    }
}
impl<'a> From<&'a str> for Cell<'a> {
    fn from(x: &'a str) -> Self {
        Cell::Text(x)
    }
}
impl<'a> From<&'a String> for Cell<'a> {
    fn from(x: &'a String) -> Self {
        Cell::Text(x)
    }
}

impl Columns {
    /// The columns that every table begins with, then `rest`.
    fn with(rest: Vec<(&'static str, Column)>) -> Self {
        let mut columns = vec![
            ("point", Column::U32(Vec::new())),
            ("algorithm", Column::Text(Vec::new())),
            ("seed", Column::U64(Vec::new())),
        ];
        columns.extend(rest);
        Columns(columns)
    }

    fn push<'a>(&mut self, of: &'a Replication, cells: impl IntoIterator<Item = Cell<'a>>) {
        let key = [(of.point as u32).into(), (&of.algorithm).into(), of.seed.into()];
        for ((_, column), cell) in self.0.iter_mut().zip(key.into_iter().chain(cells)) {
            match (column, cell) {
                (Column::U32(v), Cell::U32(x)) => v.push(x),
                (Column::U64(v), Cell::U64(x)) => v.push(x),
                (Column::F64(v), Cell::F64(x)) => v.push(x),
                (Column::Text(v), Cell::Text(x)) => v.push(x.to_string()),
                // The cells of a table are written below its columns, in the same order.
                _ => debug_assert!(false, "a cell whose type differs from its column"),
            }
        }
    }

    fn batch(self) -> RecordBatch {
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = self
            .0
            .into_iter()
            .map(|(name, column)| {
                let array: ArrayRef = match column {
                    Column::U32(v) => Arc::new(UInt32Array::from(v)),
                    Column::U64(v) => Arc::new(UInt64Array::from(v)),
                    Column::F64(v) => Arc::new(Float64Array::from(v)),
                    Column::Text(v) => Arc::new(StringArray::from(v)),
                };
                let nullable = matches!(array.data_type(), DataType::UInt32 | DataType::Float64);
                (Field::new(name, array.data_type().clone(), nullable), array)
            })
            .unzip();
        let schema = Arc::new(Schema::new(fields));
        // Every push fills every column, so the lengths agree.
        RecordBatch::try_new(schema.clone(), arrays).unwrap_or_else(|_| RecordBatch::new_empty(schema))
    }
}

fn u32s(name: &'static str) -> (&'static str, Column) {
    (name, Column::U32(Vec::new()))
}
fn u64s(name: &'static str) -> (&'static str, Column) {
    (name, Column::U64(Vec::new()))
}
fn f64s(name: &'static str) -> (&'static str, Column) {
    (name, Column::F64(Vec::new()))
}
fn texts(name: &'static str) -> (&'static str, Column) {
    (name, Column::Text(Vec::new()))
}

impl Results {
    /// One of the tables, as Arrow columns.
    pub fn batch(&self, table: Table) -> RecordBatch {
        let all = &self.replications;
        let columns = match table {
            Table::Replications => replications(all),
            Table::Metrics => metrics(all),
            Table::Series => series(all),
            Table::Throughput => throughput(all),
            Table::Internals => internals(all),
            Table::Flows => flows(all),
            Table::Transfers => transfers(all),
            Table::Delays => delays(all),
        };
        columns.batch()
    }
}

fn replications(all: &[Replication]) -> Columns {
    let mut c = Columns::with(vec![texts("digest"), u64s("events"), f64s("elapsed_s")]);
    for r in all {
        let digest = format!("{:016x}", r.digest);
        c.push(r, [Cell::from(&digest), r.events.into(), r.elapsed_s.into()]);
    }
    c
}

fn metrics(all: &[Replication]) -> Columns {
    let mut columns = vec![texts("link"), u32s("segment"), texts("scope"), f64s("from_s"), f64s("to_s")];
    columns.extend(Metric::ALL.iter().map(|m| f64s(m.name())));
    let mut c = Columns::with(columns);
    for r in all {
        for m in &r.metrics {
            let place =
                [(&m.link).into(), m.segment.into(), (&m.scope).into(), m.from_s.into(), m.to_s.into()];
            let values = Metric::ALL.iter().map(|metric| Cell::from(m.values.get(*metric)));
            c.push(r, place.into_iter().chain(values));
        }
    }
    c
}

fn series(all: &[Replication]) -> Columns {
    let mut c = Columns::with(vec![
        texts("link"),
        f64s("time_s"),
        f64s("queue_packets"),
        f64s("queue_bytes"),
        f64s("queue_mean_packets"),
        f64s("queue_delay_mean_s"),
        u64s("dropped_packets"),
        u64s("marked_packets"),
    ]);
    for r in all {
        for s in &r.series {
            for i in 0..s.time_s.len() {
                let row = [
                    (&s.link).into(),
                    s.time_s[i].into(),
                    s.queue_packets[i].into(),
                    s.queue_bytes[i].into(),
                    s.queue_mean_packets[i].into(),
                    s.queue_delay_mean_s[i].into(),
                    s.dropped_packets[i].into(),
                    s.marked_packets[i].into(),
                ];
                c.push(r, row);
            }
        }
    }
    c
}

fn throughput(all: &[Replication]) -> Columns {
    let mut c = Columns::with(vec![texts("link"), texts("class"), f64s("time_s"), f64s("throughput_bps")]);
    for r in all {
        for s in &r.series {
            for (class, values) in &s.throughput_bps {
                for (t, x) in s.time_s.iter().zip(values) {
                    c.push(r, [(&s.link).into(), class.into(), (*t).into(), (*x).into()]);
                }
            }
        }
    }
    c
}

fn internals(all: &[Replication]) -> Columns {
    let mut c =
        Columns::with(vec![texts("link"), texts("signal"), texts("unit"), f64s("time_s"), f64s("value")]);
    for r in all {
        for s in &r.series {
            for signal in &s.internals {
                for (t, x) in s.time_s.iter().zip(&signal.values) {
                    let row = [
                        (&s.link).into(),
                        (&signal.name).into(),
                        (&signal.unit).into(),
                        (*t).into(),
                        (*x).into(),
                    ];
                    c.push(r, row);
                }
            }
        }
    }
    c
}

fn flows(all: &[Replication]) -> Columns {
    let mut c = Columns::with(vec![
        u32s("flow"),
        texts("group"),
        texts("class"),
        f64s("base_rtt_s"),
        f64s("start_s"),
        f64s("stop_s"),
        f64s("goodput_bps"),
        u64s("delivered_bytes"),
        u64s("sent_packets"),
        u64s("retransmitted_packets"),
        u64s("timeouts"),
        u64s("fast_retransmits"),
        u64s("ecn_responses"),
    ]);
    for r in all {
        for f in &r.flows {
            let row = [
                f.flow.into(),
                (&f.group).into(),
                (&f.class).into(),
                f.base_rtt_s.into(),
                f.start_s.into(),
                f.stop_s.into(),
                f.goodput_bps.into(),
                f.delivered_bytes.into(),
                f.sent_packets.into(),
                f.retransmitted_packets.into(),
                f.timeouts.into(),
                f.fast_retransmits.into(),
                f.ecn_responses.into(),
            ];
            c.push(r, row);
        }
    }
    c
}

fn transfers(all: &[Replication]) -> Columns {
    let mut c = Columns::with(vec![
        u32s("flow"),
        texts("class"),
        f64s("start_s"),
        f64s("flow_completion_time_s"),
        u32s("size_packets"),
    ]);
    for r in all {
        for t in &r.transfers {
            let row = [
                t.flow.into(),
                (&t.class).into(),
                t.start_s.into(),
                t.flow_completion_time_s.into(),
                t.packets.into(),
            ];
            c.push(r, row);
        }
    }
    c
}

fn delays(all: &[Replication]) -> Columns {
    let mut c = Columns::with(vec![
        texts("link"),
        texts("scope"),
        f64s("cumulative_probability"),
        f64s("queue_delay_s"),
    ]);
    for r in all {
        for d in &r.delays {
            c.push(r, [(&d.link).into(), (&d.scope).into(), d.probability.into(), d.queue_delay_s.into()]);
        }
    }
    c
}

/// Columns as they are read back.
pub(crate) struct Reader<'a> {
    batch: &'a RecordBatch,
    row: usize,
}

impl Reader<'_> {
    fn column<T: Array + 'static>(&self, name: &str) -> Result<&T, String> {
        self.batch.column_by_name(name).and_then(|c| c.as_any().downcast_ref::<T>()).ok_or_else(|| {
            format!(
                "has no column \"{name}\" of the right type: it is damaged, or from another version of \
                 Quell; run the scenario again (run.json has the command)"
            )
        })
    }

    fn u32(&self, name: &str) -> Result<Option<u32>, String> {
        let c = self.column::<UInt32Array>(name)?;
        Ok((!c.is_null(self.row)).then(|| c.value(self.row)))
    }

    fn index(&self, name: &str) -> Result<u32, String> {
        self.u32(name)?.ok_or_else(|| format!("has an empty cell in \"{name}\""))
    }

    fn u64(&self, name: &str) -> Result<u64, String> {
        Ok(self.column::<UInt64Array>(name)?.value(self.row))
    }

    fn f64(&self, name: &str) -> Result<Option<f64>, String> {
        let c = self.column::<Float64Array>(name)?;
        Ok((!c.is_null(self.row)).then(|| c.value(self.row)))
    }

    /// A number whose absence is NaN in memory.
    fn number(&self, name: &str) -> Result<f64, String> {
        Ok(self.f64(name)?.unwrap_or(f64::NAN))
    }

    fn text(&self, name: &str) -> Result<&str, String> {
        Ok(self.column::<StringArray>(name)?.value(self.row))
    }
}

/// Puts results together again from their tables; `read` gives a table's batches.
pub(crate) fn results(
    run: RunInfo,
    mut read: impl FnMut(Table) -> Result<Vec<RecordBatch>, String>,
) -> Result<Results, String> {
    let mut all: Vec<Replication> = Vec::new();
    for table in Table::ALL {
        let wrong = |why: String| format!("{}.parquet {why}", table.name());
        // Rows of one replication stand together, so the last one found is mostly the right one.
        let mut last = 0;
        for batch in read(*table)? {
            for row in 0..batch.num_rows() {
                let reader = Reader { batch: &batch, row };
                read_row(*table, &reader, &mut all, &mut last).map_err(wrong)?;
            }
        }
    }
    Ok(Results { run, replications: all })
}

fn read_row(
    table: Table,
    r: &Reader<'_>,
    all: &mut Vec<Replication>,
    last: &mut usize,
) -> Result<(), String> {
    let (point, algorithm, seed) = (r.index("point")? as usize, r.text("algorithm")?, r.u64("seed")?);
    if table == Table::Replications {
        let digest =
            u64::from_str_radix(r.text("digest")?, 16).map_err(|e| format!("has a wrong digest: {e}"))?;
        all.push(Replication {
            point,
            algorithm: algorithm.to_string(),
            seed,
            digest,
            events: r.u64("events")?,
            elapsed_s: r.number("elapsed_s")?,
            metrics: Vec::new(),
            series: Vec::new(),
            flows: Vec::new(),
            transfers: Vec::new(),
            delays: Vec::new(),
        });
        return Ok(());
    }
    let is = |x: &Replication| x.point == point && x.seed == seed && x.algorithm == algorithm;
    if !all.get(*last).is_some_and(is) {
        *last = all.iter().position(is).ok_or("has a row from an unknown replication")?;
    }
    let replication = &mut all[*last];
    match table {
        Table::Replications => {}
        Table::Metrics => {
            let mut values = Values::default();
            for metric in Metric::ALL {
                if let Some(x) = r.f64(metric.name())? {
                    values.set(*metric, x);
                }
            }
            replication.metrics.push(MetricRow {
                link: r.text("link")?.to_string(),
                segment: r.u32("segment")?,
                scope: r.text("scope")?.to_string(),
                from_s: r.number("from_s")?,
                to_s: r.number("to_s")?,
                values,
            });
        }
        Table::Series => {
            let s = link_series(replication, r.text("link")?);
            s.time_s.push(r.number("time_s")?);
            s.queue_packets.push(r.number("queue_packets")?);
            s.queue_bytes.push(r.number("queue_bytes")?);
            s.queue_mean_packets.push(r.number("queue_mean_packets")?);
            s.queue_delay_mean_s.push(r.number("queue_delay_mean_s")?);
            s.dropped_packets.push(r.u64("dropped_packets")?);
            s.marked_packets.push(r.u64("marked_packets")?);
        }
        Table::Throughput => {
            let (class, x) = (r.text("class")?, r.number("throughput_bps")?);
            let s = link_series(replication, r.text("link")?);
            match s.throughput_bps.last_mut().filter(|(c, _)| c == class) {
                Some((_, values)) => values.push(x),
                None => s.throughput_bps.push((class.to_string(), vec![x])),
            }
        }
        Table::Internals => {
            let (name, unit, x) = (r.text("signal")?, r.text("unit")?, r.number("value")?);
            let s = link_series(replication, r.text("link")?);
            match s.internals.last_mut().filter(|i| i.name == name) {
                Some(signal) => signal.values.push(x),
                None => s.internals.push(InternalSeries {
                    name: name.to_string(),
                    unit: unit.to_string(),
                    values: vec![x],
                }),
            }
        }
        Table::Flows => replication.flows.push(FlowRow {
            flow: r.index("flow")?,
            group: r.text("group")?.to_string(),
            class: r.text("class")?.to_string(),
            base_rtt_s: r.number("base_rtt_s")?,
            start_s: r.number("start_s")?,
            stop_s: r.f64("stop_s")?,
            goodput_bps: r.number("goodput_bps")?,
            delivered_bytes: r.u64("delivered_bytes")?,
            sent_packets: r.u64("sent_packets")?,
            retransmitted_packets: r.u64("retransmitted_packets")?,
            timeouts: r.u64("timeouts")?,
            fast_retransmits: r.u64("fast_retransmits")?,
            ecn_responses: r.u64("ecn_responses")?,
        }),
        Table::Transfers => replication.transfers.push(TransferRow {
            flow: r.index("flow")?,
            class: r.text("class")?.to_string(),
            start_s: r.number("start_s")?,
            flow_completion_time_s: r.number("flow_completion_time_s")?,
            packets: r.index("size_packets")?,
        }),
        Table::Delays => replication.delays.push(DelayRow {
            link: r.text("link")?.to_string(),
            scope: r.text("scope")?.to_string(),
            probability: r.number("cumulative_probability")?,
            queue_delay_s: r.number("queue_delay_s")?,
        }),
    }
    Ok(())
}

fn link_series<'a>(replication: &'a mut Replication, link: &str) -> &'a mut LinkSeries {
    let series = &mut replication.series;
    let at = series.iter().position(|s| s.link == link).unwrap_or_else(|| {
        series.push(LinkSeries { link: link.to_string(), ..LinkSeries::default() });
        series.len() - 1
    });
    &mut series[at]
}
