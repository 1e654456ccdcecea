//! Results as tables: columns with their units in their names. A table's columns are the fields of
//! its row.

use std::sync::Arc;

use crate::columns::{Cells, Column, Columns, Field, TableRow, row};
use crate::info::RunInfo;
use crate::metric::{Metric, Values};
use crate::reduce::internal_means;
use crate::replication::{
    DelayRow, FlowRow, InternalRow, InternalSeries, LinkSeries, MetricRow, Replication, TransferRow,
};
use crate::results::Results;

/// Declares the tables: what each is, its name, and its row.
macro_rules! tables {
    ($( $( #[$doc:meta] )* $table:ident, $name:literal, $row:ty; )+) => {
        /// The tables of a result. Each row names its replication by `point`, `algorithm` and `seed`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Table { $( $( #[$doc] )* $table, )+ }

        impl Table {
            /// Every table.
            pub const ALL: &[Table] = &[$( Table::$table, )+];

            /// Its name: that of its file, without ".parquet".
            pub fn name(self) -> &'static str {
                match self { $( Table::$table => $name, )+ }
            }

            /// Its columns, of these replications.
            pub fn columns(self, all: &[Replication]) -> Columns {
                match self { $( Table::$table => columns::<$row>(all), )+ }
            }

            fn read(self, found: NamedColumns, all: &mut Vec<Replication>) -> Result<(), String> {
                match self { $( Table::$table => read::<$row>(found, all), )+ }
            }
        }
    };
}

tables! {
    /// One row per replication: digest, events, time taken.
    Replications, "replications", Summary;
    /// One row per link, segment (null: the whole window) and scope; one column per [`Metric`].
    Metrics, "metrics", MetricRow;
    /// Queue, delay, drops and marks over time, per link.
    Series, "series", Sample;
    /// Throughput over time, per link and class.
    Throughput, "throughput", ThroughputSample;
    /// The algorithms' internal signals over time, per link.
    Internals, "internals", InternalSample;
    /// One row per flow, over the measured window.
    Flows, "flows", FlowRow;
    /// One row per finished transfer.
    Transfers, "transfers", TransferRow;
    /// Queueing delay distributions, per link and scope.
    Delays, "delays", DelayRow;
    /// Averages of the algorithms' internal signals, per link and segment (null: the whole window).
    InternalMeans, "internal_means", InternalRow;
}

impl Table {
    /// The table called `name`.
    pub fn find(name: &str) -> Option<Table> {
        Table::ALL.iter().copied().find(|t| t.name() == name)
    }
}

impl Results {
    /// One of the tables.
    pub fn columns(&self, table: Table) -> Columns {
        table.columns(&self.replications)
    }
}

/// Columns as a file has them.
pub type NamedColumns = Vec<(String, Column)>;

/// Puts results together again from their tables; `file` gives a table's columns.
pub fn results(
    run: RunInfo,
    file: impl FnMut(Table) -> Result<NamedColumns, String>,
) -> Result<Results, String> {
    // Earlier versions did not write averages; they follow from the series.
    let averaged = run.files.iter().any(|f| f.name == format!("{}.parquet", Table::InternalMeans.name()));
    let tables = Table::ALL.iter().filter(|table| averaged || **table != Table::InternalMeans);
    let mut replications = read_all(tables, file)?;
    if !averaged {
        for r in &mut replications {
            r.internal_means = internal_means(&r.metrics, &r.series);
        }
    }
    Ok(Results { run, replications })
}

/// Puts replications together again from their tables.
pub fn replications(
    file: impl FnMut(Table) -> Result<NamedColumns, String>,
) -> Result<Vec<Replication>, String> {
    read_all(Table::ALL, file)
}

fn read_all<'a>(
    tables: impl IntoIterator<Item = &'a Table>,
    mut file: impl FnMut(Table) -> Result<NamedColumns, String>,
) -> Result<Vec<Replication>, String> {
    let mut all = Vec::new();
    for table in tables {
        let read = table.read(file(*table)?, &mut all);
        read.map_err(|why| format!("{}.parquet {why}", table.name()))?;
    }
    Ok(all)
}

/// The rows of a table, and where they belong.
trait Rows: TableRow {
    /// Gives those of a replication to `each`, in order.
    fn of(replication: &Replication, each: &mut dyn FnMut(&Self));
    /// Adds this one.
    fn add_to(self, replication: &mut Replication) -> Result<(), String>;
    /// True for the table in which replications are first named.
    const NEW: bool = false;

    /// True if a column may be missing, because earlier versions did not have it.
    fn later(_: &str) -> bool {
        false
    }
}

row! {
    /// The beginning of every row: its replication.
    struct Key {
        point: u32,
        algorithm: Arc<str>,
        seed: u64,
    }
}

fn columns<R: Rows>(all: &[Replication]) -> Columns {
    let mut columns = Columns::default();
    Key::declare(&mut columns);
    R::declare(&mut columns);
    for r in all {
        let key = Key { point: r.point as u32, algorithm: r.algorithm.as_str().into(), seed: r.seed };
        R::of(r, &mut |row| {
            let mut cells = columns.0.iter_mut();
            key.push(&mut cells);
            row.push(&mut cells);
        });
    }
    columns
}

fn read<R: Rows>(found: NamedColumns, all: &mut Vec<Replication>) -> Result<(), String> {
    let mut declared = Columns::default();
    Key::declare(&mut declared);
    R::declare(&mut declared);
    let columns = declared.fill(found, R::later)?;
    // Rows of one replication stand together, so the last one found is mostly the right one.
    let mut last = 0;
    for row in 0..columns.rows() {
        let mut cells = Cells::of(&columns, row);
        let key = Key::read(&mut cells)?;
        let point = key.point as usize;
        let is = |r: &Replication| r.point == point && r.seed == key.seed && *r.algorithm == *key.algorithm;
        if R::NEW {
            let algorithm = key.algorithm.to_string();
            last = all.len();
            all.push(Replication { point, algorithm, seed: key.seed, ..Replication::default() });
        } else if !all.get(last).is_some_and(is) {
            last = all.iter().position(is).ok_or("has a row from an unknown replication")?;
        }
        R::read(&mut cells)?.add_to(&mut all[last])?;
    }
    Ok(())
}

row! {
    /// A replication without its rows in the other tables.
    struct Summary {
        /// Sixteen hexadecimal digits: programs that read tables may take large integers for floats.
        digest: String,
        events: u64,
        elapsed_s: f64,
    }
}

impl Rows for Summary {
    const NEW: bool = true;

    fn of(r: &Replication, each: &mut dyn FnMut(&Self)) {
        let digest = format!("{:016x}", r.digest);
        each(&Summary { digest, events: r.events, elapsed_s: r.elapsed_s });
    }

    fn add_to(self, r: &mut Replication) -> Result<(), String> {
        r.digest = u64::from_str_radix(&self.digest, 16).map_err(|e| format!("has a wrong digest: {e}"))?;
        (r.events, r.elapsed_s) = (self.events, self.elapsed_s);
        Ok(())
    }
}

/// Tables whose rows a replication has in a list.
macro_rules! listed {
    ($( $row:ty, $list:ident $( , later $later:expr )?; )+) => { $(
        impl Rows for $row {
            fn of(r: &Replication, each: &mut dyn FnMut(&Self)) {
                r.$list.iter().for_each(each);
            }

            fn add_to(self, r: &mut Replication) -> Result<(), String> {
                r.$list.push(self);
                Ok(())
            }

            $(
                fn later(name: &str) -> bool {
                    $later(name)
                }
            )?
        }
    )+ };
}

listed! {
    MetricRow, metrics, later |name: &str| Metric::ALL.iter().any(|m| m.name() == name);
    FlowRow, flows, later |name: &str| name == "round_trip_time_mean_s";
    TransferRow, transfers, later |name: &str| {
        ["size_bytes", "slowdown", "flow_acknowledgment_time_s"].contains(&name)
    };
    DelayRow, delays;
    InternalRow, internal_means;
}

/// One column per metric.
impl Field for Values {
    fn declare(_: &'static str, columns: &mut Columns) {
        Metric::ALL.iter().for_each(|metric| f64::declare(metric.name(), columns));
    }

    fn push(&self, columns: &mut std::slice::IterMut<'_, (&'static str, Column)>) {
        Metric::ALL.iter().for_each(|metric| self.get(*metric).push(columns));
    }

    fn read(cells: &mut Cells<'_>) -> Result<Self, String> {
        let mut values = Values::default();
        for metric in Metric::ALL {
            values.set(*metric, f64::read(cells)?);
        }
        Ok(values)
    }
}

row! {
    /// A sample of a [`LinkSeries`].
    struct Sample {
        link: Arc<str>,
        time_s: f64,
        queue_packets: f64,
        queue_bytes: f64,
        queue_mean_packets: f64,
        queue_delay_mean_s: f64,
        dropped_packets: u64,
        marked_packets: u64,
        jain_index: f64,
    }
}

impl Rows for Sample {
    fn later(name: &str) -> bool {
        name == "jain_index"
    }

    fn of(r: &Replication, each: &mut dyn FnMut(&Self)) {
        for s in &r.series {
            let link = Arc::<str>::from(s.link.as_str());
            for (i, time_s) in s.time_s.iter().enumerate() {
                each(&Sample {
                    link: link.clone(),
                    time_s: *time_s,
                    queue_packets: s.queue_packets[i],
                    queue_bytes: s.queue_bytes[i],
                    queue_mean_packets: s.queue_mean_packets[i],
                    queue_delay_mean_s: s.queue_delay_mean_s[i],
                    dropped_packets: s.dropped_packets[i],
                    marked_packets: s.marked_packets[i],
                    jain_index: s.jain_index.get(i).copied().unwrap_or(f64::NAN),
                });
            }
        }
    }

    fn add_to(self, r: &mut Replication) -> Result<(), String> {
        let s = link_series(r, &self.link);
        s.time_s.push(self.time_s);
        s.queue_packets.push(self.queue_packets);
        s.queue_bytes.push(self.queue_bytes);
        s.queue_mean_packets.push(self.queue_mean_packets);
        s.queue_delay_mean_s.push(self.queue_delay_mean_s);
        s.dropped_packets.push(self.dropped_packets);
        s.marked_packets.push(self.marked_packets);
        s.jain_index.push(self.jain_index);
        Ok(())
    }
}

row! {
    /// A sample of a class's throughput.
    struct ThroughputSample {
        link: Arc<str>,
        class: Arc<str>,
        time_s: f64,
        throughput_bps: f64,
    }
}

impl Rows for ThroughputSample {
    fn of(r: &Replication, each: &mut dyn FnMut(&Self)) {
        for s in &r.series {
            let link = Arc::<str>::from(s.link.as_str());
            for (class, values) in &s.throughput_bps {
                let class = Arc::<str>::from(class.as_str());
                for (time_s, throughput_bps) in s.time_s.iter().copied().zip(values.iter().copied()) {
                    let (link, class) = (link.clone(), class.clone());
                    each(&ThroughputSample { link, class, time_s, throughput_bps });
                }
            }
        }
    }

    fn add_to(self, r: &mut Replication) -> Result<(), String> {
        let s = link_series(r, &self.link);
        match s.throughput_bps.last_mut().filter(|(class, _)| **class == *self.class) {
            Some((_, values)) => values.push(self.throughput_bps),
            None => s.throughput_bps.push((self.class.to_string(), vec![self.throughput_bps])),
        }
        Ok(())
    }
}

row! {
    /// A sample of an [`InternalSeries`].
    struct InternalSample {
        link: Arc<str>,
        signal: Arc<str>,
        unit: Arc<str>,
        time_s: f64,
        value: f64,
    }
}

impl Rows for InternalSample {
    fn of(r: &Replication, each: &mut dyn FnMut(&Self)) {
        for s in &r.series {
            let link = Arc::<str>::from(s.link.as_str());
            for of in &s.internals {
                let (signal, unit) = (Arc::<str>::from(of.name.as_str()), Arc::<str>::from(of.unit.as_str()));
                for (time_s, value) in s.time_s.iter().copied().zip(of.values.iter().copied()) {
                    let (link, signal, unit) = (link.clone(), signal.clone(), unit.clone());
                    each(&InternalSample { link, signal, unit, time_s, value });
                }
            }
        }
    }

    fn add_to(self, r: &mut Replication) -> Result<(), String> {
        let s = link_series(r, &self.link);
        match s.internals.last_mut().filter(|i| *i.name == *self.signal) {
            Some(signal) => signal.values.push(self.value),
            None => s.internals.push(InternalSeries {
                name: self.signal.to_string(),
                unit: self.unit.to_string(),
                values: vec![self.value],
            }),
        }
        Ok(())
    }
}

fn link_series<'a>(replication: &'a mut Replication, link: &str) -> &'a mut LinkSeries {
    let series = &mut replication.series;
    let at = series.iter().position(|s| s.link == link).unwrap_or_else(|| {
        series.push(LinkSeries { link: link.to_string(), ..LinkSeries::default() });
        series.len() - 1
    });
    &mut series[at]
}
