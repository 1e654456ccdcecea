//! Columns as Parquet files: of the format (<https://parquet.apache.org/docs/file-format/>), what
//! results need.
//!
//! Written are row groups of one data page (version 1) per column, a dictionary before it where that
//! is shorter, compressed with Snappy. Read is that, and several pages per column, some of them without
//! the dictionary: so did the library `parquet` write, which earlier versions of Quell used. It knows every
//! type and encoding, and compiling that was more than a quarter of building Quell.

mod hybrid;
mod thrift;

use std::collections::HashMap;
use std::ops::Range;

use self::thrift::{Reader, Struct, Value};
use crate::columns::{Column, Columns};

const MAGIC: &[u8; 4] = b"PAR1";
/// Rows of a group. At most a mebibyte per column is encoded at a time.
const GROUP: usize = 1 << 17;
/// Rows of a group that is read: those of the earlier library.
const LARGEST_GROUP: usize = 1 << 20;
/// Snappy's longest copy is 64 bytes and takes three.
const LARGEST_COMPRESSION: usize = 22;

// Numbers of the format's enumerations.
const SNAPPY: i32 = 1;
const PLAIN: i32 = 0;
const PLAIN_DICTIONARY: i64 = 2;
const RLE: i32 = 3;
const RLE_DICTIONARY: i32 = 8;
const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;
const REQUIRED: i32 = 0;
const OPTIONAL: i32 = 1;

/// How a column's values are stored, and what they mean if that is not the same.
fn types(column: &Column) -> (i32, Option<i32>) {
    let (int32, int64, double, byte_array) = (1, 2, 5, 6);
    let (utf8, uint_32, uint_64) = (0, 13, 14);
    match column {
        Column::U32(_) => (int32, Some(uint_32)),
        Column::U64(_) => (int64, Some(uint_64)),
        Column::F64(_) => (double, None),
        Column::Text(_) => (byte_array, Some(utf8)),
    }
}

/// The newer way to say what stored values mean; readers need one or the other.
fn logical_type(column: &Column) -> Option<Value> {
    let unsigned = |bits| {
        let integer = Struct(vec![(1, Value::I8(bits)), (2, Value::Bool(false))]);
        Struct(vec![(10, Value::Struct(integer))])
    };
    match column {
        Column::U32(_) => Some(Value::Struct(unsigned(32))),
        Column::U64(_) => Some(Value::Struct(unsigned(64))),
        Column::F64(_) => None,
        Column::Text(_) => Some(Value::Struct(Struct(vec![(1, Value::Struct(Struct::default()))]))),
    }
}

fn text(text: &str) -> Value {
    Value::Bytes(text.as_bytes().to_vec())
}

/// The file with these columns.
///
/// # Errors
/// If a page is longer than Snappy compresses: 4 GiB.
pub(crate) fn write(columns: &Columns) -> Result<Vec<u8>, snap::Error> {
    let mut out = MAGIC.to_vec();
    let mut groups = Vec::new();
    for from in (0..columns.rows()).step_by(GROUP) {
        let rows = from..columns.rows().min(from + GROUP);
        let (mut chunks, mut bytes) = (Vec::new(), 0);
        for (name, column) in columns.iter() {
            let (chunk, length) = write_chunk(&mut out, name, column, rows.clone())?;
            chunks.push(Value::Struct(chunk));
            bytes += length;
        }
        groups.push(Value::Struct(Struct(vec![
            (1, Value::List(chunks)),
            (2, Value::I64(bytes as i64)),
            (3, Value::I64(rows.len() as i64)),
        ])));
    }
    let root = Struct(vec![(4, text("schema")), (5, Value::I32(columns.iter().len() as i32))]);
    let elements = columns.iter().map(|(name, column)| {
        let (stored, converted) = types(column);
        let repetition = if column.is_nullable() { OPTIONAL } else { REQUIRED };
        let mut element = vec![(1, Value::I32(stored)), (3, Value::I32(repetition)), (4, text(name))];
        element.extend(converted.map(|meaning| (6, Value::I32(meaning))));
        element.extend(logical_type(column).map(|meaning| (10, meaning)));
        Struct(element)
    });
    let schema = std::iter::once(root).chain(elements).map(Value::Struct).collect();
    let start = out.len();
    Struct(vec![
        (1, Value::I32(1)),
        (2, Value::List(schema)),
        (3, Value::I64(columns.rows() as i64)),
        (4, Value::List(groups)),
        (6, text(concat!("quell version ", env!("CARGO_PKG_VERSION")))),
    ])
    .write(&mut out);
    let length = (out.len() - start) as u32;
    out.extend(length.to_le_bytes());
    out.extend(MAGIC);
    Ok(out)
}

/// Writes a column's pages for some rows; gives their description and uncompressed length.
fn write_chunk(
    out: &mut Vec<u8>,
    name: &str,
    column: &Column,
    rows: Range<usize>,
) -> Result<(Struct, usize), snap::Error> {
    let keys: Vec<Option<u64>> = rows.clone().map(|row| key(column, row)).collect();
    let present: Vec<u64> = keys.iter().flatten().copied().collect();
    let (start, mut bytes) = (out.len(), 0);

    let mut page = Vec::new();
    if column.is_nullable() {
        let levels: Vec<u32> = keys.iter().map(|key| u32::from(key.is_some())).collect();
        let mut runs = Vec::new();
        hybrid::write(&mut runs, &levels, 1);
        page.extend((runs.len() as u32).to_le_bytes());
        page.extend(runs);
    }
    let dictionary = dictionary(column, &present);
    let encoding = if let Some((distinct, numbers)) = &dictionary {
        let mut values = Vec::new();
        distinct.iter().for_each(|key| plain(column, *key, &mut values));
        let header = vec![(1, Value::I32(distinct.len() as i32)), (2, Value::I32(PLAIN))];
        bytes += write_page(out, &values, DICTIONARY_PAGE, (7, header))?;
        let width = hybrid::width(distinct.len()).max(1);
        page.push(width as u8);
        hybrid::write(&mut page, numbers, width);
        RLE_DICTIONARY
    } else {
        present.iter().for_each(|key| plain(column, *key, &mut page));
        PLAIN
    };
    let data = out.len();
    let header = [keys.len() as i32, encoding, RLE, RLE].map(Value::I32);
    bytes += write_page(out, &page, DATA_PAGE, (5, (1..).zip(header).collect()))?;

    let mut metadata = vec![
        (1, Value::I32(types(column).0)),
        (2, Value::List([PLAIN, RLE, RLE_DICTIONARY].map(Value::I32).to_vec())),
        (3, Value::List(vec![text(name)])),
        (4, Value::I32(SNAPPY)),
        (5, Value::I64(rows.len() as i64)),
        (6, Value::I64(bytes as i64)),
        (7, Value::I64((out.len() - start) as i64)),
        (9, Value::I64(data as i64)),
    ];
    metadata.extend(dictionary.map(|_| (11, Value::I64(start as i64))));
    Ok((Struct(vec![(2, Value::I64(start as i64)), (3, Value::Struct(Struct(metadata)))]), bytes))
}

/// Writes one page; gives its uncompressed length.
fn write_page(
    out: &mut Vec<u8>,
    page: &[u8],
    kind: i32,
    (id, of_kind): (i16, Vec<(i16, Value)>),
) -> Result<usize, snap::Error> {
    let compressed = snap::raw::Encoder::new().compress_vec(page)?;
    let start = out.len();
    Struct(vec![
        (1, Value::I32(kind)),
        (2, Value::I32(page.len() as i32)),
        (3, Value::I32(compressed.len() as i32)),
        (id, Value::Struct(Struct(of_kind))),
    ])
    .write(out);
    let header = out.len() - start;
    out.extend(compressed);
    Ok(header + page.len())
}

/// What distinguishes a cell's value from others of its column.
fn key(column: &Column, row: usize) -> Option<u64> {
    match column {
        Column::U32(v) => v[row].map(u64::from),
        Column::U64(v) => Some(v[row]),
        Column::F64(v) => Some(v[row]).filter(|x| !x.is_nan()).map(f64::to_bits),
        Column::Text(v) => Some(u64::from(v.rows[row])),
    }
}

/// Writes the value that has this key.
fn plain(column: &Column, key: u64, out: &mut Vec<u8>) {
    match column {
        Column::U32(_) => out.extend((key as u32).to_le_bytes()),
        Column::U64(_) | Column::F64(_) => out.extend(key.to_le_bytes()),
        Column::Text(v) => {
            let text = v.distinct[key as usize].as_bytes();
            out.extend((text.len() as u32).to_le_bytes());
            out.extend(text);
        }
    }
}

/// The distinct keys, and the number of each cell's among them, where that is shorter than the keys.
fn dictionary(column: &Column, keys: &[u64]) -> Option<(Vec<u64>, Vec<u32>)> {
    let most = if matches!(column, Column::Text(_)) { keys.len() } else { keys.len() / 2 };
    let mut numbers_of = HashMap::new();
    let (mut distinct, mut numbers) = (Vec::new(), Vec::with_capacity(keys.len()));
    for key in keys {
        numbers.push(*numbers_of.entry(*key).or_insert_with(|| {
            distinct.push(*key);
            distinct.len() as u32 - 1
        }));
        if distinct.len() > most {
            return None;
        }
    }
    (!keys.is_empty()).then_some((distinct, numbers))
}

/// The columns of a file that [`write`] wrote, or the library before it, with their names.
///
/// # Errors
/// If it is another file, or damaged.
pub(crate) fn read(file: &[u8]) -> Result<Vec<(String, Column)>, String> {
    let metadata = metadata(file).ok_or("is not a Parquet file, or damaged")?;
    let wrong = "has a type or an encoding that Quell does not write, or is damaged";
    let mut columns = schema(&metadata).ok_or(wrong)?;
    for group in metadata.structures(4).ok_or(wrong)? {
        let chunks = group.structures(1).filter(|chunks| chunks.len() == columns.len()).ok_or(wrong)?;
        let rows = group.size(3).filter(|rows| *rows <= LARGEST_GROUP).ok_or(wrong)?;
        for (chunk, (name, column)) in chunks.into_iter().zip(&mut columns) {
            let pages = chunk.structure(3).and_then(|m| read_chunk(file, m, column, rows));
            pages.ok_or_else(|| format!("column \"{name}\" {wrong}"))?;
        }
    }
    Ok(columns.into_iter().map(|(name, column)| (name, column.values)).collect())
}

/// The description at the end of a file.
fn metadata(file: &[u8]) -> Option<Struct> {
    let rest = file.strip_suffix(MAGIC)?;
    let (rest, length) = rest.split_last_chunk()?;
    let start = rest.len().checked_sub(u32::from_le_bytes(*length) as usize)?;
    Reader(&rest[start..]).structure()
}

/// A column that is being read.
struct Reading {
    values: Column,
    optional: bool,
}

/// The empty columns.
fn schema(metadata: &Struct) -> Option<Vec<(String, Reading)>> {
    let elements = metadata.structures(2)?;
    let (_, leaves) = elements.split_first()?;
    let column = |element: &&Struct| {
        let is = (element.int(1)?, element.int(6));
        let known = [
            Column::U32(Vec::new()),
            Column::U64(Vec::new()),
            Column::F64(Vec::new()),
            Column::Text(Default::default()),
        ];
        let values = known.into_iter().find(|column| {
            let (stored, meaning) = types(column);
            is == (i64::from(stored), meaning.map(i64::from))
        })?;
        let optional = match i32::try_from(element.int(3)?).ok()? {
            REQUIRED => false,
            OPTIONAL => true,
            _ => return None,
        };
        Some((element.text(4)?, Reading { values, optional }))
    };
    leaves.iter().map(column).collect()
}

/// Adds a column's pages in one row group.
fn read_chunk(file: &[u8], metadata: &Struct, to: &mut Reading, rows: usize) -> Option<()> {
    if metadata.int(4)? != i64::from(SNAPPY) {
        return None;
    }
    // The dictionary stands before the data, if there is one.
    let start = metadata.size(11).filter(|at| *at > 0).unwrap_or(metadata.size(9)?);
    let mut reader = Reader(file.get(start..)?.get(..metadata.size(7)?)?);
    let (mut dictionary, mut read) = (None, 0);
    while read < rows {
        let header = reader.structure()?;
        let compressed = reader.take(header.size(3)?)?;
        let length = header.size(2)?;
        if snap::raw::decompress_len(compressed).ok()? != length
            || length / LARGEST_COMPRESSION > compressed.len()
        {
            return None;
        }
        let page = snap::raw::Decoder::new().decompress_vec(compressed).ok()?;
        match i32::try_from(header.int(1)?).ok()? {
            DICTIONARY_PAGE => {
                let n = header.structure(7)?.size(1)?;
                dictionary = Some(read_plain(&mut Reader(&page), &to.values, n)?);
            }
            DATA_PAGE => {
                let header = header.structure(5)?;
                let n = header.size(1).filter(|n| *n <= rows - read)?;
                read_page(&page, header, dictionary.as_ref(), to, n)?;
                read += n;
            }
            _ => return None,
        }
    }
    Some(())
}

/// Adds a page of `n` cells.
fn read_page(
    page: &[u8],
    header: &Struct,
    dictionary: Option<&Column>,
    to: &mut Reading,
    n: usize,
) -> Option<()> {
    let mut reader = Reader(page);
    let mut present = vec![1; n];
    if to.optional {
        let (length, rest) = reader.0.split_first_chunk()?;
        reader = Reader(rest);
        let levels = reader.take(u32::from_le_bytes(*length) as usize)?;
        present = hybrid::read(&mut Reader(levels), 1, n)?;
    }
    let values = present.iter().filter(|p| **p == 1).count();
    let (plain, numbers): (Column, Vec<u32>);
    let (from, at) = match (header.int(2)?, dictionary) {
        (0, _) => {
            plain = read_plain(&mut reader, &to.values, values)?;
            numbers = (0..values as u32).collect();
            (&plain, &numbers)
        }
        (encoding, Some(dictionary))
            if encoding == PLAIN_DICTIONARY || encoding == i64::from(RLE_DICTIONARY) =>
        {
            // Where every cell is empty the width may be left out, too.
            let width = if values == 0 { 0 } else { u32::from(reader.byte()?) };
            numbers = hybrid::read(&mut reader, width, values)?;
            (dictionary, &numbers)
        }
        _ => return None,
    };
    let mut at = <[u32]>::iter(at);
    for present in present {
        let row = if present == 1 { Some(*at.next()? as usize) } else { None };
        copy(from, row, &mut to.values)?;
    }
    Some(())
}

/// Reads `n` values of the type of `like`.
fn read_plain(reader: &mut Reader<'_>, like: &Column, n: usize) -> Option<Column> {
    fn each<const N: usize>(reader: &mut Reader<'_>, n: usize) -> Option<impl Iterator<Item = [u8; N]>> {
        Some(reader.take(n.checked_mul(N)?)?.as_chunks().0.iter().copied())
    }
    Some(match like {
        Column::U32(_) => Column::U32(each(reader, n)?.map(|x| Some(u32::from_le_bytes(x))).collect()),
        Column::U64(_) => Column::U64(each(reader, n)?.map(u64::from_le_bytes).collect()),
        Column::F64(_) => Column::F64(each(reader, n)?.map(f64::from_le_bytes).collect()),
        Column::Text(_) => {
            let mut texts = crate::columns::Texts::default();
            for _ in 0..n {
                let length = u32::from_le_bytes(reader.take(4)?.try_into().ok()?);
                texts.push(std::str::from_utf8(reader.take(length as usize)?).ok()?);
            }
            Column::Text(texts)
        }
    })
}

/// Adds the cell `row` of another column, or an empty one. None: there is no such cell.
fn copy(from: &Column, row: Option<usize>, to: &mut Column) -> Option<()> {
    match (from, to) {
        (Column::U32(from), Column::U32(to)) => to.push(row.map_or(Some(None), |i| from.get(i).copied())?),
        (Column::U64(from), Column::U64(to)) => to.push(*from.get(row?)?),
        (Column::F64(from), Column::F64(to)) => {
            to.push(row.map_or(Some(f64::NAN), |i| from.get(i).copied())?);
        }
        (Column::Text(from), Column::Text(to)) => {
            let number = *from.rows.get(row?)?;
            to.push(&from.distinct[number as usize]);
        }
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::columns::Texts;

    fn texts(list: &[String]) -> Column {
        let mut texts = Texts::default();
        list.iter().for_each(|text| texts.push(text));
        Column::Text(texts)
    }

    /// Few and many distinct values, with and without empty cells.
    fn columns() -> impl Strategy<Value = Columns> {
        use proptest::collection::vec;
        (0usize..300, 1u64..400).prop_flat_map(|(n, distinct)| {
            let float = prop_oneof![
                3 => (0..distinct).prop_map(|x| x as f64 / 7.0 - 3.0),
                1 => Just(f64::NAN),
                1 => any::<f64>().prop_filter("finite", |x| x.is_finite()),
            ];
            (
                vec(proptest::option::weighted(0.8, 0..distinct as u32), n),
                vec((0..distinct).prop_map(|x| x << 50), n),
                vec(float, n),
                vec((0..distinct).prop_map(|x| "ü".repeat(x as usize % 9) + &x.to_string()), n),
            )
                .prop_map(|(a, b, c, d)| {
                    Columns(vec![
                        ("a", Column::U32(a)),
                        ("b_s", Column::U64(b)),
                        ("c_bps", Column::F64(c)),
                        ("d", texts(&d)),
                    ])
                })
        })
    }

    /// Bit for bit: empty cells are NaN, which equals nothing.
    fn bits(column: &Column) -> Vec<Option<u64>> {
        (0..column.len()).map(|row| key(column, row)).collect()
    }

    fn same(columns: &Columns, read: &[(String, Column)]) -> bool {
        columns.iter().len() == read.len()
            && columns.iter().zip(read).all(|((name, a), (other, b))| {
                name == other
                    && match (a, b) {
                        (Column::Text(_), Column::Text(_)) => a == b,
                        _ => std::mem::discriminant(a) == std::mem::discriminant(b) && bits(a) == bits(b),
                    }
            })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(columns in columns()) {
            let file = write(&columns).unwrap();
            prop_assert!(same(&columns, &read(&file).unwrap()));
        }

        #[test]
        fn damage_is_an_error_or_other_values(
            columns in columns(),
            damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
            end in any::<proptest::sample::Index>(),
        ) {
            let mut file = write(&columns).unwrap();
            for (at, byte) in damage {
                let at = at.index(file.len());
                file[at] = byte;
            }
            let _ = read(&file);
            let _ = read(&file[..end.index(file.len())]);
        }
    }

    #[test]
    fn many_rows_are_several_groups() {
        let n = 2 * GROUP + 5;
        let columns = Columns(vec![
            ("count", Column::U64((0..n as u64).collect())),
            ("seldom", Column::U32((0..n as u32).map(|i| (i % 1000 == 0).then_some(i)).collect())),
            ("never", Column::F64(vec![f64::NAN; n])),
            ("always", texts(&vec!["red".to_string(); n])),
        ]);
        let file = write(&columns).unwrap();
        assert!(same(&columns, &read(&file).unwrap()));
    }

    #[test]
    fn other_files_are_refused() {
        assert!(read(b"").is_err());
        assert!(read(b"PAR1").is_err());
        assert!(read(b"PAR1\0\0\0\0PAR1").is_err());
        assert!(read(b"point,algorithm,seed\n0,red,1\n").unwrap_err().contains("not a Parquet file"));
    }
}
