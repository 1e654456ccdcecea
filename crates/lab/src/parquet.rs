//! Columns as Parquet files, by the library `parquet` without Arrow: <https://parquet.apache.org/docs/>.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Stored};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader as _, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnDescriptor, ColumnPath, Type};
use quell_metrics::{Column, Texts};

/// Rows of a group. The library holds the values of one column and group in memory.
const GROUP: usize = 1 << 17;

/// The file with these columns.
///
/// # Errors
/// If the library cannot encode them.
pub(crate) fn write<'n, 'c>(
    columns: impl Iterator<Item = (&'n str, &'c Column)> + Clone,
) -> Result<Vec<u8>, ParquetError> {
    let schema = schema(columns.clone())?;
    let mut properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    for (name, _) in columns.clone().filter(|(_, column)| is_varied(column)) {
        properties = properties.set_column_dictionary_enabled(ColumnPath::from(name), false);
    }
    let properties = properties.build();
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::new(properties))?;
    let rows = columns.clone().next().map_or(0, |(_, column)| column.len());
    for from in (0..rows).step_by(GROUP) {
        let mut group = writer.next_row_group()?;
        for (_, column) in columns.clone() {
            write_column(&mut group, column, from..rows.min(from + GROUP))?;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(file)
}

fn schema<'n, 'c>(columns: impl Iterator<Item = (&'n str, &'c Column)>) -> Result<Arc<Type>, ParquetError> {
    let fields = columns.map(|(name, column)| declare(name, column)).collect::<Result<_, _>>()?;
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?))
}

/// A file that is written group by group, with the units of its columns in its metadata: keys "unit.COLUMN".
pub(crate) struct Stream<W: Write + Send> {
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> Stream<W> {
    /// A file with these columns.
    ///
    /// # Errors
    /// If the library cannot encode them.
    pub fn new<'n, 'c>(
        file: W,
        columns: impl Iterator<Item = (&'n str, &'c Column)>,
        units: impl Iterator<Item = (&'static str, &'static str)>,
    ) -> Result<Self, ParquetError> {
        let units = units.map(|(name, unit)| KeyValue::new(format!("unit.{name}"), unit.to_string()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(units.collect()))
            .build();
        Ok(Stream { writer: SerializedFileWriter::new(file, schema(columns)?, Arc::new(properties))? })
    }

    /// Adds a group of rows.
    ///
    /// # Errors
    /// If they cannot be encoded or written.
    pub fn add<'n, 'c>(
        &mut self,
        columns: impl Iterator<Item = (&'n str, &'c Column)>,
    ) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for (_, column) in columns {
            write_column(&mut group, column, 0..column.len())?;
        }
        group.close().map(drop)
    }

    /// The file, whole.
    ///
    /// # Errors
    /// If its end cannot be written.
    pub fn finish(self) -> Result<W, ParquetError> {
        self.writer.into_inner()
    }
}

/// True of numbers that hardly repeat each other, by some of them: a dictionary of these takes time and
/// room.
fn is_varied(column: &Column) -> bool {
    const SOME: usize = 64;
    let each = column.len().div_ceil(SOME).max(1);
    let mut some: Vec<u64> = match column {
        Column::F64(values) => values.iter().step_by(each).map(|x| x.to_bits()).collect(),
        Column::U64(counts) => counts.iter().step_by(each).copied().collect(),
        _ => return false,
    };
    let all = some.len();
    some.sort_unstable();
    some.dedup();
    4 * some.len() > 3 * all
}

/// A column as the schema has it.
fn declare(name: &str, column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (stored, meaning) = match column {
        Column::U32(_) => (Stored::INT32, Some(LogicalType::integer(32, false))),
        Column::U64(_) => (Stored::INT64, Some(LogicalType::integer(64, false))),
        Column::F64(_) => (Stored::DOUBLE, None),
        Column::Text(_) => (Stored::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let repetition = if column.is_nullable() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let column = Type::primitive_type_builder(name, stored).with_repetition(repetition);
    column.with_logical_type(meaning).build().map(Arc::new)
}

type Group<'a, W> = SerializedRowGroupWriter<'a, W>;

/// Writes some rows of a column. Parquet's integers have a sign only by their meaning.
fn write_column<W: Write + Send>(
    group: &mut Group<'_, W>,
    column: &Column,
    rows: Range<usize>,
) -> Result<(), ParquetError> {
    match column {
        Column::U32(v) => {
            write_cells::<Int32Type, W>(group, true, v[rows].iter().map(|x| x.map(u32::cast_signed)))
        }
        Column::U64(v) => {
            write_cells::<Int64Type, W>(group, false, v[rows].iter().map(|x| Some(x.cast_signed())))
        }
        Column::F64(v) => write_cells::<DoubleType, W>(
            group,
            true,
            v[rows].iter().map(|x| Some(*x).filter(|x| !x.is_nan())),
        ),
        Column::Text(v) => {
            let distinct: Vec<ByteArray> = v.distinct().map(ByteArray::from).collect();
            let text = |number: &u32| Some(distinct[*number as usize].clone());
            write_cells::<ByteArrayType, W>(group, false, v.numbers()[rows].iter().map(text))
        }
    }
}

/// Writes the next column of a group: values, and where cells may be empty which of them have one.
fn write_cells<T: DataType, W: Write + Send>(
    group: &mut Group<'_, W>,
    nullable: bool,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    for cell in cells {
        if nullable {
            levels.push(i16::from(cell.is_some()));
        }
        values.extend(cell);
    }
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("more columns than the schema has".into()));
    };
    column.typed::<T>().write_batch(&values, nullable.then_some(&levels), None)?;
    column.close()
}

/// The columns of a file that [`write`] wrote, with their names.
///
/// # Errors
/// If it is another file, or damaged; says what is wrong.
pub(crate) fn read(file: impl ChunkReader + 'static) -> Result<Vec<(String, Column)>, ParquetError> {
    read_only(file, None)
}

/// One of the columns, or all.
///
/// # Errors
/// If it is another file, or damaged; says what is wrong.
pub(crate) fn read_only(
    file: impl ChunkReader + 'static,
    wanted: Option<&str>,
) -> Result<Vec<(String, Column)>, ParquetError> {
    read_within(file, wanted, UNPACKED)
}

/// The bytes that columns may take, whatever their file has.
const UNPACKED: u64 = 512 << 20;

/// How often larger than their file columns may be beyond that: several times what those of any run are.
const MOST_PACKED: u64 = 500;

/// The same of columns that take at most so many bytes, or are packed as those of a run can be: one value for all rows
/// takes a few bytes in a file.
fn read_within(
    file: impl ChunkReader + 'static,
    wanted: Option<&str>,
    unpacked: u64,
) -> Result<Vec<(String, Column)>, ParquetError> {
    let most = file.len().saturating_mul(MOST_PACKED).max(unpacked);
    let reader = SerializedFileReader::new(file)?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let mut columns = (0..)
        .zip(schema.columns())
        .map(|(at, column)| (at, column.path().string(), column))
        .filter(|(_, name, _)| wanted.is_none_or(|wanted| name == wanted))
        .map(|(at, name, column)| empty(column).map(|values| (at, (name, values))))
        .collect::<Result<Vec<(usize, (String, Column))>, _>>()?;
    let rows =
        reader.metadata().row_groups().iter().try_fold(0_u64, |all, group| {
            u64::try_from(group.num_rows()).map(|rows| all.saturating_add(rows))
        })?;
    if rows.saturating_mul(8).saturating_mul(columns.len() as u64) > most {
        return Err(ParquetError::General(format!(
            "has {rows} rows, more than a run keeps in a file of this size"
        )));
    }
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        for (at, (name, column)) in &mut columns {
            read_column(&*group, *at, column)
                .map_err(|e| ParquetError::General(format!("column \"{name}\": {e}")))?;
        }
    }
    Ok(columns.into_iter().map(|(_, column)| column).collect())
}

/// An empty column of the type that a file says.
fn empty(column: &ColumnDescriptor) -> Result<Column, ParquetError> {
    let flat = column.max_rep_level() == 0 && column.max_def_level() <= 1;
    match (flat, column.physical_type(), column.converted_type()) {
        (true, Stored::INT32, ConvertedType::UINT_32) => Ok(Column::U32(Vec::new())),
        (true, Stored::INT64, ConvertedType::UINT_64) => Ok(Column::U64(Vec::new())),
        (true, Stored::DOUBLE, ConvertedType::NONE) => Ok(Column::F64(Vec::new())),
        (true, Stored::BYTE_ARRAY, ConvertedType::UTF8) => Ok(Column::Text(Texts::default())),
        (_, stored, meaning) => Err(ParquetError::General(format!(
            "column \"{}\" is {stored} ({meaning}), which Quell does not write",
            column.path().string()
        ))),
    }
}

/// Adds a group's cells to a column.
fn read_column(group: &dyn RowGroupReader, at: usize, column: &mut Column) -> Result<(), ParquetError> {
    let empty = || ParquetError::General("a cell is empty".into());
    match column {
        Column::U32(v) => {
            v.extend(read_cells::<Int32Type>(group, at)?.into_iter().map(|x| x.map(i32::cast_unsigned)));
        }
        Column::U64(v) => {
            for cell in read_cells::<Int64Type>(group, at)? {
                v.push(cell.ok_or_else(empty)?.cast_unsigned());
            }
        }
        Column::F64(v) => {
            v.extend(read_cells::<DoubleType>(group, at)?.into_iter().map(|x| x.unwrap_or(f64::NAN)));
        }
        Column::Text(v) => {
            for cell in read_cells::<ByteArrayType>(group, at)? {
                v.push(std::str::from_utf8(cell.ok_or_else(empty)?.data())?);
            }
        }
    }
    Ok(())
}

/// The cells of a column in one group.
fn read_cells<T: DataType>(group: &dyn RowGroupReader, at: usize) -> Result<Vec<Option<T::T>>, ParquetError> {
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(at)?);
    let rows = usize::try_from(group.metadata().num_rows())?;
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let (read, _, _) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    if read < rows {
        return Err(ParquetError::General(format!("has {read} of {rows} rows")));
    }
    if group.metadata().column(at).column_descr().max_def_level() == 0 {
        return Ok(values.into_iter().map(Some).collect());
    }
    let mut values = values.into_iter();
    Ok(levels.into_iter().map(|level| if level == 1 { values.next() } else { None }).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use bytes::Bytes;

    use super::*;

    fn read_bytes(file: Vec<u8>) -> Result<Vec<(String, Column)>, ParquetError> {
        read(Bytes::from(file))
    }
    use quell_metrics::Columns;

    fn texts(list: impl IntoIterator<Item = String>) -> Column {
        let mut texts = Texts::default();
        list.into_iter().for_each(|text| texts.push(&text));
        Column::Text(texts)
    }

    /// Few and many distinct values, with and without empty cells.
    fn columns() -> impl Strategy<Value = Columns> {
        use proptest::collection::vec;
        let float = prop_oneof![
            3 => (-3i32..9).prop_map(|x| f64::from(x) / 7.0),
            1 => Just(f64::NAN),
            1 => any::<f64>().prop_filter("finite", |x| x.is_finite()),
        ];
        let cell = (proptest::option::weighted(0.8, any::<u32>()), any::<u64>(), float, "[a-zü]{0,2}");
        vec(cell, 0..300).prop_map(|rows| {
            Columns(vec![
                ("a", Column::U32(rows.iter().map(|row| row.0).collect())),
                ("b_s", Column::U64(rows.iter().map(|row| row.1).collect())),
                ("c_bps", Column::F64(rows.iter().map(|row| row.2).collect())),
                ("d", texts(rows.into_iter().map(|row| row.3))),
            ])
        })
    }

    /// True if a file's columns are these; empty cells are NaN, which equals nothing.
    fn same(columns: &Columns, read: &[(String, Column)]) -> bool {
        let bits = |v: &[f64]| -> Vec<_> { v.iter().map(|x| (!x.is_nan()).then(|| x.to_bits())).collect() };
        columns.iter().len() == read.len()
            && columns.iter().zip(read).all(|((name, a), (other, b))| {
                name == other
                    && match (a, b) {
                        (Column::F64(a), Column::F64(b)) => bits(a) == bits(b),
                        _ => a == b,
                    }
            })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(columns in columns()) {
            prop_assert!(same(&columns, &read_bytes(write(columns.iter()).unwrap()).unwrap()));
        }
    }

    /// One value for all rows takes a few bytes, and memory for each row.
    #[test]
    fn more_rows_than_a_file_of_a_run_has_are_not_read() {
        let column = Column::U32(vec![Some(7); 2_000_000]);
        let file = write([("a", &column)].into_iter()).unwrap();
        let size = file.len() as u64;
        assert!(size * MOST_PACKED < 16_000_000, "{size}");
        let read = |unpacked| read_within(Bytes::from(file.clone()), None, unpacked);
        assert_eq!(read(16_000_000).unwrap()[0].1.len(), 2_000_000);
        let said = read(15_999_999).unwrap_err().to_string();
        assert!(said.contains("has 2000000 rows, more than a run keeps"), "{said}");
    }

    #[test]
    fn many_rows_are_several_groups() {
        let n = GROUP + 5;
        let columns = Columns(vec![
            ("count", Column::U64((0..n as u64).collect())),
            ("seldom", Column::U32((0..n as u32).map(|i| (i % 1000 == 0).then_some(i)).collect())),
            ("never", Column::F64(vec![f64::NAN; n])),
            ("always", texts(std::iter::repeat_n("red".to_string(), n))),
        ]);
        let file = write(columns.iter()).unwrap();
        let groups = SerializedFileReader::new(Bytes::from(file.clone())).unwrap().num_row_groups();
        assert_eq!(groups, 2);
        assert!(same(&columns, &read_bytes(file).unwrap()));
    }

    #[test]
    fn other_files_are_refused() {
        for file in [&b""[..], b"PAR1", b"PAR1\0\0\0\0PAR1", b"point,algorithm,seed\n0,red,1\n"] {
            assert!(read_bytes(file.to_vec()).is_err());
        }
        let mut file = Vec::new();
        let flag = Type::primitive_type_builder("steady", Stored::BOOLEAN).build().unwrap();
        let schema = Type::group_type_builder("schema").with_fields(vec![Arc::new(flag)]).build().unwrap();
        SerializedFileWriter::new(&mut file, Arc::new(schema), Default::default()).unwrap().close().unwrap();
        let error = read_bytes(file).unwrap_err().to_string();
        assert!(error.contains("\"steady\" is BOOLEAN"), "{error}");
    }
}
