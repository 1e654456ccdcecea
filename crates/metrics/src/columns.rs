//! Columns in memory: what a table is before and after it is a file.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Columns of one length, in order and by name; units are in the names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns(pub Vec<(&'static str, Column)>);

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Column {
    /// Numbers of things; some may be absent.
    U32(Vec<Option<u32>>),
    /// Counts.
    U64(Vec<u64>),
    /// Measured values; NaN where there is none, and never infinite.
    F64(Vec<f64>),
    /// Names.
    Text(Texts),
}

/// A column of texts, each stored once however many rows have it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(into = "PlainTexts", try_from = "PlainTexts")]
pub struct Texts {
    distinct: Vec<Arc<str>>,
    rows: Vec<u32>,
    numbers: HashMap<Arc<str>, u32>,
}

/// The stored form.
#[derive(Serialize, Deserialize)]
struct PlainTexts {
    distinct: Vec<String>,
    rows: Vec<u32>,
}

impl From<Texts> for PlainTexts {
    fn from(texts: Texts) -> Self {
        PlainTexts { distinct: texts.distinct.iter().map(|t| t.to_string()).collect(), rows: texts.rows }
    }
}

impl TryFrom<PlainTexts> for Texts {
    type Error = &'static str;

    fn try_from(plain: PlainTexts) -> Result<Self, Self::Error> {
        if plain.rows.iter().any(|row| *row as usize >= plain.distinct.len()) {
            return Err("a text that is not there");
        }
        let distinct: Vec<Arc<str>> = plain.distinct.into_iter().map(Arc::from).collect();
        let numbers = (0u32..).zip(&distinct).map(|(i, text)| (text.clone(), i)).collect();
        Ok(Texts { distinct, rows: plain.rows, numbers })
    }
}

impl Texts {
    /// The texts, one per row.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.rows.iter().map(|i| &*self.distinct[*i as usize])
    }

    /// Each text once, in the order of first use.
    pub fn distinct(&self) -> impl Iterator<Item = &str> {
        self.distinct.iter().map(|text| &**text)
    }

    /// The number among the distinct texts of each row's.
    pub fn numbers(&self) -> &[u32] {
        &self.rows
    }

    fn at(&self, row: usize) -> &Arc<str> {
        &self.distinct[self.rows[row] as usize]
    }

    /// Adds a row.
    pub fn push(&mut self, text: &str) {
        // Most rows repeat the text before them.
        let before = self.rows.last().copied().filter(|i| *self.distinct[*i as usize] == *text);
        let number = before.or_else(|| self.numbers.get(text).copied()).unwrap_or_else(|| {
            let (text, number) = (Arc::<str>::from(text), self.distinct.len() as u32);
            self.distinct.push(text.clone());
            self.numbers.insert(text, number);
            number
        });
        self.rows.push(number);
    }
}

impl PartialEq for Texts {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Column {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::U32(v) => v.len(),
            Column::U64(v) => v.len(),
            Column::F64(v) => v.len(),
            Column::Text(v) => v.rows.len(),
        }
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds the cells of another column of the same type.
    pub fn append(&mut self, other: &Column) {
        match (self, other) {
            (Column::U32(all), Column::U32(more)) => all.extend(more),
            (Column::U64(all), Column::U64(more)) => all.extend(more),
            (Column::F64(all), Column::F64(more)) => all.extend(more),
            (Column::Text(all), Column::Text(more)) => more.iter().for_each(|text| all.push(text)),
            _ => {}
        }
    }

    /// True if cells may be empty.
    pub fn is_nullable(&self) -> bool {
        matches!(self, Column::U32(_) | Column::F64(_))
    }
}

impl Columns {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.0.first().map_or(0, |(_, column)| column.len())
    }

    /// The columns with their names, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&'static str, &Column)> + Clone {
        self.0.iter().map(|(name, column)| (*name, column))
    }

    /// The column called `name`.
    pub fn get(&self, name: &str) -> Option<&Column> {
        self.iter().find(|(n, _)| *n == name).map(|(_, column)| column)
    }

    /// Takes from `found` what these columns are called, whatever else there is and in whatever order. Columns
    /// of figures that earlier versions of Quell did not know, by `later`, may be missing: their cells are empty.
    pub(crate) fn fill(
        mut self,
        mut found: Vec<(String, Column)>,
        later: fn(&str) -> bool,
    ) -> Result<Columns, String> {
        let rows = found.first().map_or(0, |(_, column)| column.len());
        if let Some((name, column)) = found.iter().find(|(_, column)| column.len() != rows) {
            return Err(format!(
                "has {} cells in \"{name}\" and {rows} in \"{}\": it is damaged; run the scenario again (run.json has \
                 the command)",
                column.len(),
                found[0].0
            ));
        }
        for (name, column) in &mut self.0 {
            if let Column::F64(cells) = column
                && later(name)
                && !found.iter().any(|(n, _)| n == name)
            {
                cells.resize(rows, f64::NAN);
                continue;
            }
            let is = |(n, c): &(String, Column)| {
                n == name && std::mem::discriminant(c) == std::mem::discriminant(column)
            };
            let at = found.iter().position(is).ok_or_else(|| {
                format!(
                    "has no column \"{name}\" of the right type: it is damaged, or from another version \
                     of Quell; run the scenario again (run.json has the command)"
                )
            })?;
            *column = found.swap_remove(at).1;
        }
        Ok(self)
    }
}

/// The cells of one row, from left to right.
pub(crate) struct Cells<'a> {
    columns: std::slice::Iter<'a, (&'static str, Column)>,
    row: usize,
}

impl<'a> Cells<'a> {
    pub(crate) fn of(columns: &'a Columns, row: usize) -> Self {
        Cells { columns: columns.0.iter(), row }
    }

    /// The value of the next cell, by `get`.
    fn next<T>(&mut self, get: impl FnOnce(&'a Column, usize) -> Option<T>) -> Result<T, String> {
        let (name, column) = self.columns.next().ok_or("has too few columns")?;
        get(column, self.row).ok_or_else(|| format!("has an empty cell in \"{name}\""))
    }
}

/// A field of a row: one column, or several.
pub(crate) trait Field: Sized {
    /// Adds the empty columns of a field of this name.
    fn declare(name: &'static str, columns: &mut Columns);
    /// Adds a cell to each of them.
    fn push(&self, columns: &mut std::slice::IterMut<'_, (&'static str, Column)>);
    /// Takes them from a row.
    fn read(cells: &mut Cells<'_>) -> Result<Self, String>;
}

macro_rules! fields {
    ($( $type:ty, $column:ident, |$x:ident| $cell:expr, |$v:ident, $row:ident| $read:expr; )+) => { $(
        impl Field for $type {
            fn declare(name: &'static str, columns: &mut Columns) {
                columns.0.push((name, Column::$column(Default::default())));
            }

            fn push(&self, columns: &mut std::slice::IterMut<'_, (&'static str, Column)>) {
                // The row that declared the columns fills them, in the same order.
                if let Some((_, Column::$column(v))) = columns.next() {
                    let $x = self;
                    v.push($cell);
                }
            }

            fn read(cells: &mut Cells<'_>) -> Result<Self, String> {
                cells.next(|column, $row| match column {
                    Column::$column($v) => $read,
                    _ => None,
                })
            }
        }
    )+ };
}

fields! {
    u32, U32, |x| Some(*x), |v, row| v[row];
    Option<u32>, U32, |x| *x, |v, row| Some(v[row]);
    u64, U64, |x| *x, |v, row| Some(v[row]);
    f64, F64, |x| if x.is_finite() { *x } else { f64::NAN }, |v, row| Some(v[row]);
    Option<f64>, F64, |x| x.unwrap_or(f64::NAN), |v, row| Some(Some(v[row]).filter(|x| !x.is_nan()));
    String, Text, |x| x, |v, row| Some(v.at(row).to_string());
    Arc<str>, Text, |x| x, |v, row| Some(v.at(row).clone());
}

/// A row of a table.
pub(crate) trait TableRow: Sized {
    /// Adds its empty columns.
    fn declare(columns: &mut Columns);
    /// Adds its cells.
    fn push(&self, columns: &mut std::slice::IterMut<'_, (&'static str, Column)>);
    /// Reads it.
    fn read(cells: &mut Cells<'_>) -> Result<Self, String>;
}

/// Declares a row and with it the columns of its table: every field is a column by the same name,
/// written and read by its type.
macro_rules! row {
    ($( #[$doc:meta] )* $vis:vis struct $row:ident {
        $( $( #[$field_doc:meta] )* $field_vis:vis $field:ident: $type:ty, )+
    }) => {
        $( #[$doc] )*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $row { $( $( #[$field_doc] )* $field_vis $field: $type, )+ }

        impl $crate::columns::TableRow for $row {
            fn declare(columns: &mut $crate::columns::Columns) {
                $( <$type as $crate::columns::Field>::declare(stringify!($field), columns); )+
            }

            fn push(
                &self,
                columns: &mut std::slice::IterMut<'_, (&'static str, $crate::columns::Column)>,
            ) {
                $( $crate::columns::Field::push(&self.$field, columns); )+
            }

            fn read(cells: &mut $crate::columns::Cells<'_>) -> Result<Self, String> {
                Ok($row { $( $field: $crate::columns::Field::read(cells)?, )+ })
            }
        }
    };
}
pub(crate) use row;
